//! Runs as one self-contained page.

use tactus_explain::account::TickRate;
use tactus_judge::purpose::Purpose;
use tactus_report::{CellExplanation, Conclusions};

use crate::{Result, Subject, accounts, explain, overview, tail};

/// The largest run that its page contains as a file; a larger one would make the page slow to open.
const DOCUMENT_BYTES: usize = 2 << 20;

/// What a page contains besides the runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct PageOptions<'a> {
    /// The purposes of the machine; the page says whether each run is fit for them.
    pub purposes: &'a [Purpose],
    /// The rates of simulated ticks, shown beside the kernel's own tick.
    pub ticks: &'a [TickRate],
}

/// Writes the page of runs with all conclusions from each.
///
/// # Errors
/// There is no run, or samples or recordings cannot be read.
pub fn of_runs(subjects: Vec<Subject<'_>>, options: &PageOptions<'_>) -> Result<String> {
    let concluded = subjects
        .iter()
        .map(|subject| conclusions(subject, explain::of_run(subject)?, options))
        .collect::<Result<Vec<_>>>()?;
    let runs: Vec<_> = subjects.into_iter().map(Subject::into_run).collect();
    Ok(tactus_report::page_of(&runs, &concluded)?)
}

/// Writes the page of a run that [`explain::of_run`] has explained.
///
/// # Errors
/// Samples or recordings cannot be read.
pub fn of_explained(
    subject: Subject<'_>,
    explanations: Vec<CellExplanation>,
    options: &PageOptions<'_>,
) -> Result<String> {
    let concluded = conclusions(&subject, explanations, options)?;
    Ok(tactus_report::page_of(&[subject.into_run()], &[concluded])?)
}

fn conclusions(
    subject: &Subject<'_>,
    explanations: Vec<CellExplanation>,
    options: &PageOptions<'_>,
) -> Result<Conclusions> {
    Ok(Conclusions {
        causes: explain::causes(subject.run(), &explanations),
        explanations,
        accounts: accounts::of_run(subject, options.ticks)?,
        tails: tail::of_run(subject)?,
        purposes: overview::purposes(subject.run(), options.purposes),
        document: Some(tactus_store::document(subject.run())?)
            .filter(|document| document.len() <= DOCUMENT_BYTES),
    })
}
