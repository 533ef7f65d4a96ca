//! The papers that come with the program.

use tactus_model::text::UnknownWord;

use crate::paper::{BadPaper, Paper};

/// Names and data files of the papers that come with the program.
pub const PAPERS: [(&str, &str); 6] = [
    ("address-spaces", include_str!("../../../papers/address-spaces.toml")),
    ("clock-resolution", include_str!("../../../papers/clock-resolution.toml")),
    ("latency-method", include_str!("../../../papers/latency-method.toml")),
    ("mach-testbed", include_str!("../../../papers/mach-testbed.toml")),
    ("midi-output", include_str!("../../../papers/midi-output.toml")),
    ("reserves", include_str!("../../../papers/reserves.toml")),
];

/// Why a shipped paper cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoPaper {
    /// No paper has that name.
    #[error(transparent)]
    Unknown(#[from] UnknownWord),
    /// Its data file is invalid, which is a defect of Tactus.
    #[error(transparent)]
    Bad(#[from] BadPaper),
}

/// Reads a shipped paper by name.
///
/// # Errors
/// No paper has that name; the error suggests the nearest one.
pub fn find(name: &str) -> Result<Paper, NoPaper> {
    let names = PAPERS.map(|(name, _)| name);
    let text = PAPERS.iter().find(|(shipped, _)| *shipped == name).map(|(_, text)| *text);
    let text = text.ok_or_else(|| UnknownWord::new("paper", name, &names))?;
    Ok(Paper::parse(text)?)
}
