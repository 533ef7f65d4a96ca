//! Results of other tools, in every format.

use tactus_import::{File, Format, Options, run_of};
use tactus_model::run::Run;
use tactus_report::TableOptions;
use tactus_stats::CellSummary;

use crate::seeds;

/// The formats that a user can request for any file.
const FORMATS: [Format; 6] = [
    Format::CyclictestJson,
    Format::CyclictestHistogram,
    Format::TimerlatHistogram,
    Format::JitterdebuggerJson,
    Format::OslatJson,
    Format::HdrLog,
];

/// Real results of the tools.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    seeds::files("tests/data/import", &[".json", ".txt", ".hlog"])
}

/// Reads a file by its detected format, and by a format chosen by its length.
pub(crate) fn run(bytes: &[u8]) {
    let requested = FORMATS[bytes.len() % FORMATS.len()];
    for format in [None, Some(requested)] {
        let file = File { name: "input".to_owned(), content: bytes.to_vec(), modified: None };
        if let Ok(run) = run_of(&[file], &Options { format, unit: None }) {
            for task in run.measurements.iter().flat_map(|measurement| &measurement.tasks) {
                assert!(task.accounting.balances(), "{:?}", task.accounting);
            }
            show(&run);
        }
    }
}

/// Judges a run and formats its tables, like the command.
pub(crate) fn show(run: &Run) {
    let options = TableOptions::of_width(100);
    for measurement in &run.measurements {
        let _ = CellSummary::pool(&[measurement]);
    }
    let _ = tactus_judge::verdict::verdict(run);
    let _ = tactus_report::outcome_text(run, &options);
    let _ = tactus_report::cells_table(run, &options);
    let _ = tactus_report::run_details(run, &[], &options);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_is_among_the_seeds() {
        let found: Vec<Format> =
            seeds().iter().filter_map(|seed| Format::recognise(seed).ok()).collect();
        for format in FORMATS {
            assert!(found.contains(&format), "{format}");
        }
    }
}
