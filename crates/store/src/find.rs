//! Lists runs and finds a run by name.

use rusqlite::params;
use tactus_model::origin::Origin;
use tactus_model::run::{RunId, RunStatus, RunSummary};
use tactus_model::text::nearest;
use tactus_model::time::{Instant, Nanos};

use crate::engine::{Database, Row};
use crate::fault::Fault;
use crate::load::parsed;
use crate::name::LAST;
use crate::{Store, StoreError};

impl Store {
    /// All runs, the last added first.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn list(&self) -> Result<Vec<RunSummary>, StoreError> {
        self.read(|database| {
            // Sums of fractions do not overflow where sums of integers would.
            let runs = database.rows(
                "SELECT run.id, run.name, run.created_ns, run.version, run.status, run.cells,
                    run.rounds,
                    (SELECT count(*) FROM measurement WHERE measurement.run = run.number),
                    (SELECT count(*) FROM failure WHERE failure.run = run.number),
                    total.observed, total.max_ns, run.origin
                 FROM run LEFT JOIN
                    (SELECT measurement.run AS run, max(task.max_ns) AS max_ns,
                        sum(CAST(task.observed AS DOUBLE PRECISION)) AS observed
                     FROM measurement JOIN task ON task.measurement = measurement.number
                     GROUP BY measurement.run) AS total
                    ON total.run = run.number
                 ORDER BY run.number DESC",
                params![],
            )?;
            runs.iter().map(summary).collect()
        })
    }

    /// Finds the run that `text` names: its full name, a beginning of its name that is unique,
    /// or `last` for the run that was added last, measured or imported. The start time does not
    /// matter: that of an imported run may be any.
    ///
    /// # Errors
    /// [`StoreError::AmbiguousRun`], [`StoreError::UnknownRun`] with the nearest
    /// names, [`StoreError::NoRuns`], or the database cannot be read.
    pub fn find(&self, text: &str) -> Result<RunId, StoreError> {
        self.read(|database| Ok(choose(text, &names(database)?)?))
    }

    /// Finds a run to continue on the machine `machine_id`: like [`Store::find`], but `last` is
    /// the last run that began on this machine.
    ///
    /// # Errors
    /// [`StoreError::NoneOfMachine`], or those of [`Store::find`].
    pub fn find_to_continue(
        &self,
        text: &str,
        machine_id: Option<&str>,
    ) -> Result<RunId, StoreError> {
        if text != LAST {
            return self.find(text);
        }
        self.read(|database| {
            let query = "SELECT id FROM run WHERE machine = ?1 ORDER BY number DESC LIMIT 1";
            let last = database.row_if_any(query, params![machine_id])?;
            Ok(RunId::new(last.ok_or(StoreError::NoneOfMachine)?.get::<String>(0)?))
        })
    }
}

/// Converts one row of the query of [`Store::list`].
fn summary(row: &Row) -> Result<RunSummary, Fault> {
    let (cells, rounds): (u64, u64) = (row.get(5)?, row.get(6)?);
    Ok(RunSummary {
        id: RunId::new(row.get::<String>(0)?),
        name: row.get(1)?,
        created: Instant::from_nanos(row.get(2)?),
        version: row.get(3)?,
        status: status(&row.get::<String>(4)?)?,
        cells,
        turns_planned: cells.saturating_mul(rounds),
        turns_done: row.get(7)?,
        failures: row.get(8)?,
        // Saturates.
        observed: row.get::<Option<f64>>(9)?.unwrap_or_default() as u64,
        max: row.get::<Option<u64>>(10)?.map(Nanos::from_nanos),
        origin: row
            .get::<Option<String>>(11)?
            .map(|origin| parsed::<Origin>(origin.as_bytes()).map(|origin| origin.program()))
            .transpose()?,
    })
}

/// The data needed to access what belongs to a run.
pub(crate) struct RunRow {
    /// Its key in the tables.
    pub(crate) number: i64,
    pub(crate) id: RunId,
    pub(crate) status: RunStatus,
    pub(crate) rounds: u32,
    pub(crate) cells: u64,
}

/// Finds the run with this name.
pub(crate) fn row(database: &dyn Database, id: &RunId) -> Result<RunRow, Fault> {
    match row_if_any(database, id)? {
        Some(row) => Ok(row),
        None => Err(unknown(id.as_str(), &names(database)?).into()),
    }
}

/// Finds the run with this name, if it exists.
pub(crate) fn row_if_any(database: &dyn Database, id: &RunId) -> Result<Option<RunRow>, Fault> {
    let query = "SELECT number, status, rounds, cells FROM run WHERE id = ?1";
    let Some(row) = database.row_if_any(query, params![id.as_str()])? else { return Ok(None) };
    Ok(Some(RunRow {
        number: row.get(0)?,
        id: id.clone(),
        status: status(&row.get::<String>(1)?)?,
        rounds: row.get(2)?,
        cells: row.get(3)?,
    }))
}

/// The names of all runs, the last added first.
fn names(database: &dyn Database) -> Result<Vec<RunId>, Fault> {
    let names = database.rows("SELECT id FROM run ORDER BY number DESC", params![])?;
    names.iter().map(|row| Ok(RunId::new(row.get::<String>(0)?))).collect()
}

fn status(word: &str) -> Result<RunStatus, Fault> {
    word.parse().map_err(|_| Fault::Damaged(format!("`{word}` is not a run status")))
}

/// Selects the run that `text` names from `names`, the last added first.
fn choose(text: &str, names: &[RunId]) -> Result<RunId, StoreError> {
    let last = names.first().ok_or(StoreError::NoRuns)?;
    if text == LAST {
        return Ok(last.clone());
    }
    if let Some(exact) = names.iter().find(|id| id.as_str() == text) {
        return Ok(exact.clone());
    }
    let candidates: Vec<RunId> = names
        .iter()
        .filter(|id| !text.is_empty() && id.as_str().starts_with(text))
        .cloned()
        .collect();
    match &candidates[..] {
        [] => Err(unknown(text, names)),
        [only] => Ok(only.clone()),
        _ => Err(StoreError::AmbiguousRun { text: text.to_owned(), candidates }),
    }
}

fn unknown(text: &str, names: &[RunId]) -> StoreError {
    /// More would hide the best match.
    const OFFERED: usize = 3;
    if names.is_empty() {
        return StoreError::NoRuns;
    }
    let mut rest: Vec<&str> = names.iter().map(RunId::as_str).collect();
    let near = std::iter::from_fn(|| {
        let name = nearest(text, &rest)?;
        rest.retain(|other| *other != name);
        Some(RunId::new(name))
    });
    StoreError::UnknownRun { text: text.to_owned(), nearest: near.take(OFFERED).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<&str, &str>) {
        let names =
            ["quick-20261121-113355", "quick-20261121-113355-2", "standard-20261120-080000"]
                .map(RunId::new);
        match (choose(text, &names), expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found.as_str(), expected),
            (Err(error), Err(expected)) => {
                let error = error.to_string();
                assert!(error.contains(expected), "{error}\n  does not contain: {expected}");
            }
            (found, expected) => panic!("{text}: {found:?}, not {expected:?}"),
        }
    }

    #[test]
    fn a_run_is_found_by_a_unique_beginning_of_its_name() {
        check("last", Ok("quick-20261121-113355"));
        check("quick-20261121-113355", Ok("quick-20261121-113355"));
        check("quick-20261121-113355-", Ok("quick-20261121-113355-2"));
        check("st", Ok("standard-20261120-080000"));
        check(
            "quick",
            Err("`quick` matches several runs: quick-20261121-113355, quick-20261121-113355-2; \
                 write more"),
        );
        check("qiuck-20261121-113355", Err("(did you mean quick-20261121-113355"));
        check("20261120", Err("did you mean standard-20261120-080000?"));
        check("zzz", Err("there is no run `zzz`; `tactus list`"));
        check("", Err("there is no run ``"));
    }

    #[test]
    fn an_empty_store_names_the_command_that_creates_a_run() {
        assert!(matches!(choose("last", &[]), Err(StoreError::NoRuns)));
    }
}
