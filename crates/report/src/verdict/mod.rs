//! The outcome of a run in a sentence, and what to hold against it.
//!
//! ```no_run
//! # fn show(run: &tactus_model::run::Run) {
//! let verdict = tactus_report::verdict(run);
//! println!("{}", verdict.sentence);
//! # }
//! ```

mod reservations;
mod sentence;

use std::fmt;

use tactus_model::run::Run;

pub(crate) use reservations::shortfalls;

use crate::summary::{CellResult, cell_results};
use crate::table::wrapped;

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// What was found, in a sentence, computed from the run alone.
    pub sentence: String,
    /// What to hold against it, the gravest first.
    pub reservations: Vec<Reservation>,
}

/// Something that limits what a run can say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// What it is, in a sentence.
    pub text: String,
    /// The command or change that would remove it, where there is one.
    pub mend: Option<String>,
}

impl Reservation {
    fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), mend: None }
    }

    fn mended_by(text: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { text: text.into(), mend: Some(mend.into()) }
    }
}

/// Computes the verdict of a run.
///
/// Latencies in it go by the *intended schedule*: a due time that was missed
/// counts as a late one. A share is named only when the run holds enough
/// samples for it in every cell.
pub fn verdict(run: &Run) -> Verdict {
    of_results(run, &cell_results(run))
}

pub(crate) fn of_results(run: &Run, results: &[CellResult<'_>]) -> Verdict {
    Verdict {
        sentence: sentence::sentence(run, results),
        reservations: reservations::reservations(run, results),
    }
}

/// The columns that a verdict's lines are broken at.
const WIDTH: usize = 100;

impl fmt::Display for Verdict {
    /// Writes the sentence, then each reservation on lines of its own.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = wrapped(&self.sentence, "", WIDTH);
        for reservation in &self.reservations {
            let lines = wrapped(&reservation.text, "    ", WIDTH);
            text.push_str("  - ");
            text.push_str(lines.trim_start());
            if let Some(mend) = &reservation.mend {
                // Not broken into lines: it is there to be copied.
                text.push_str(&format!("    to mend it: {}\n", crate::format::printable(mend)));
            }
        }
        f.write_str(text.trim_end())
    }
}

#[cfg(test)]
mod tests;
