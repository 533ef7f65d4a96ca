//! Two runs, or two cells, side by side.

use tactus_judge::compare::{CompareOptions, Comparison, Selection, compare};
use tactus_model::address::Address;
use tactus_model::run::Run;

use crate::runs::Runs;
use crate::{Result, Subject};

/// Two runs and the differences between them.
#[derive(Debug)]
pub struct Compared<'r> {
    /// The run to compare with.
    pub a: Subject<'r>,
    /// The run to compare.
    pub b: Subject<'r>,
    /// The pairs of cells with their differences.
    pub comparison: Comparison,
}

/// Compares two runs, or cells of runs.
///
/// # Errors
/// There is no such run or cell, or the two cannot be compared.
pub fn named<'r>(
    runs: &'r Runs<'_>,
    a: &Address,
    b: &Address,
    options: &CompareOptions,
) -> Result<Compared<'r>> {
    let (a, b) = (runs.find(a)?, runs.find(b)?);
    let comparison = compare(side(&a), side(&b), options)?;
    Ok(Compared { a, b, comparison })
}

/// The run of a subject, with its chosen cell.
const fn side<'a>(subject: &'a Subject<'_>) -> Selection<'a> {
    Selection { run: subject.run(), cell: subject.cell() }
}

/// Compares two whole runs.
pub(crate) fn whole(a: &Run, b: &Run, options: &CompareOptions) -> Result<Comparison> {
    let whole = |run| Selection { run, cell: None };
    Ok(compare(whole(a), whole(b), options)?)
}
