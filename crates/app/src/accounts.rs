//! Where the CPU time of a recording or a run went.

use std::path::Path;

use tactus_explain::account::{AccountOptions, Accounts, TickRate, account};
use tactus_record::file::RecordingFile;
use tactus_report::NamedAccounts;

use crate::error::OrError;
use crate::{Result, Subject, explain, recording};

/// The accounts of a recording, with simulated ticks of these rates.
///
/// # Errors
/// The file at `path` is damaged.
pub fn of_recording(
    recording: &mut RecordingFile,
    path: &Path,
    rates: &[TickRate],
) -> Result<NamedAccounts> {
    let options = AccountOptions { rates: rates.to_vec() };
    let accounts = account(recording, &options);
    let accounts = recording::damaged(accounts, path)?;
    Ok(NamedAccounts { label: name_of(path), accounts })
}

/// The name of a file without its folders.
fn name_of(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// The accounts of the chosen cells of a run that were recorded.
///
/// # Errors
/// Nothing was recorded, or it cannot be read.
pub fn of_cells(subject: &Subject<'_>, rates: &[TickRate]) -> Result<Vec<NamedAccounts>> {
    let accounts = of_run(subject, rates)?;
    if accounts.is_empty() { Err(explain::nothing_recorded(subject.run())) } else { Ok(accounts) }
}

/// The accounts of the chosen cells of a run, each pooled from its recorded stretches; empty if
/// nothing was recorded.
///
/// # Errors
/// A recording cannot be read.
pub fn of_run(subject: &Subject<'_>, rates: &[TickRate]) -> Result<Vec<NamedAccounts>> {
    let options = AccountOptions { rates: rates.to_vec() };
    let plan = &subject.run().header.plan;
    let labels = plan.labels();
    let mut found = Vec::new();
    for cell in subject.cells() {
        if !plan.cells[cell].traced_events.show_who_ran() {
            // The recording contains only the measured tasks, so time cannot be attributed.
            continue;
        }
        let mut stretches = Vec::new();
        for found in subject.recorded(cell) {
            let (_, data) = found?;
            let mut source = recording::held(data.recording)?;
            stretches.push(account(&mut source, &options).or_internal()?);
        }
        if let Some(accounts) = Accounts::pool(stretches) {
            found.push(NamedAccounts { label: labels[cell].clone(), accounts });
        }
    }
    Ok(found)
}
