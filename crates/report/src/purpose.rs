//! Whether cells meet the deadlines of a purpose, in words.

use tactus_judge::purpose::{PurposeVerdict, notes};

use crate::format;
use crate::table::{TableOptions, paragraph};
use crate::wrap::wrapped;

/// The cells of a run, judged for one purpose.
pub(crate) struct PurposeView {
    pub(crate) purpose: String,
    /// Its period and deadline, and why.
    pub(crate) about: String,
    /// The name of each cell and its verdict.
    pub(crate) cells: Vec<(String, String)>,
    /// What to change for better verdicts.
    pub(crate) notes: Vec<String>,
}

impl PurposeView {
    /// Groups consecutive verdicts by purpose.
    pub(crate) fn of(verdicts: &[PurposeVerdict]) -> Vec<Self> {
        let of_purpose = |verdicts: &[PurposeVerdict]| {
            let PurposeVerdict { purpose, period, deadline, reason, .. } = &verdicts[0];
            Self {
                purpose: purpose.clone(),
                about: format!(
                    "every {}, at most {} late: {reason}",
                    format::axis_length(*period),
                    format::axis_length(*deadline)
                ),
                cells: verdicts.iter().map(|it| (it.label.clone(), it.words.clone())).collect(),
                notes: notes(verdicts),
            }
        };
        verdicts.chunk_by(|a, b| a.purpose == b.purpose).map(of_purpose).collect()
    }
}

/// Writes the verdicts, grouped by purpose; empty if there are none.
pub fn purposes_text(verdicts: &[PurposeVerdict], options: &TableOptions) -> String {
    let sections = PurposeView::of(verdicts).into_iter().map(
        |PurposeView { purpose, about, cells, notes }| {
            let head = format!("\n{}\n", paragraph(&format!("For {purpose}"), &about, options));
            let cells = cells.iter().map(|(label, words)| paragraph(label, words, options));
            let notes = notes.iter().map(|note| wrapped(note, "", options.width));
            head + &cells.chain(notes).collect::<String>()
        },
    );
    sections.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn each_purpose_has_a_head_and_each_cell_its_words() {
        let run = fixture::quick();
        let verdicts: Vec<PurposeVerdict> = ["audio:48000/64", "control:1kHz:50us"]
            .iter()
            .flat_map(|purpose| PurposeVerdict::of_run(&run, purpose.parse().unwrap()))
            .collect();
        insta::assert_snapshot!(purposes_text(&verdicts, &TableOptions::default()));
        assert_eq!(purposes_text(&[], &TableOptions::default()), "");
    }
}
