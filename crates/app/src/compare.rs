//! Two runs, or two cells, side by side.

use tactus_judge::compare::{CompareOptions, Comparison, Selection, compare, find_cell};
use tactus_model::run::Run;

use crate::runs::Runs;
use crate::{Error, Result, Subject};

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

/// Compares two runs by name, each written as `RUN` or, for one cell of it, `RUN#CELL`.
///
/// # Errors
/// There is no such run or cell, or the two cannot be compared.
pub fn named<'r>(
    runs: &'r Runs<'_>,
    a: &str,
    b: &str,
    options: &CompareOptions,
) -> Result<Compared<'r>> {
    let ((a, cell_a), (b, cell_b)) = (side(runs, a)?, side(runs, b)?);
    let select = |subject, cell| Selection { run: Subject::run(subject), cell };
    let comparison = compare(select(&a, cell_a), select(&b, cell_b), options)?;
    Ok(Compared { a, b, comparison })
}

fn side<'r>(runs: &'r Runs<'_>, text: &str) -> Result<(Subject<'r>, Option<usize>)> {
    let (run, cell) = text.split_once('#').map_or((text, None), |(run, cell)| (run, Some(cell)));
    let subject = runs.find(run)?;
    let cell = cell.map(|cell| find_cell(subject.run(), cell)).transpose().map_err(Error::usage)?;
    Ok((subject, cell))
}

/// Compares two whole runs.
pub(crate) fn whole(a: &Run, b: &Run, options: &CompareOptions) -> Result<Comparison> {
    let whole = |run| Selection { run, cell: None };
    Ok(compare(whole(a), whole(b), options)?)
}
