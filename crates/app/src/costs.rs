//! What operations cost on this machine.

use tactus_model::cell::Cell;
use tactus_model::experiment::{Overrides, Plan};
use tactus_model::run::Run;
use tactus_stats::costs::RunCosts;

use crate::{Error, ErrorKind, Result};

/// The plan that measures the shipped operations, or with `is_quick` a few of them. If `overrides`
/// choose operations, it measures nothing else, and without a load unless they choose one.
///
/// # Errors
/// The settings contradict each other.
pub fn plan(is_quick: bool, overrides: Overrides) -> Result<Plan> {
    let name = if is_quick { "costs-quick" } else { "costs" };
    let is_given = |setting: &str| overrides.settings.values(setting).is_some();
    let (are_chosen, is_loaded) = (is_given("operation"), is_given("load"));
    let mut plan = crate::plan::plan(Some(name), overrides, None)?;
    if are_chosen {
        let is_wanted = |cell: &Cell| is_loaded || cell.load.load.is_idle();
        plan.cells.retain(|cell| cell.probe.cost().is_some() && is_wanted(cell));
    }
    Ok(plan)
}

/// The costs that a run measured.
///
/// # Errors
/// It has no result of an operation.
pub fn of(run: &Run) -> Result<RunCosts> {
    let costs = RunCosts::of(run);
    if !costs.rows.is_empty() || !costs.interrupts.is_empty() {
        return Ok(costs);
    }
    let id = &run.header.id;
    let error = Error::new(ErrorKind::NoResult, format!("{id} has no result of an operation"));
    let hint = run.failures.first().and_then(|failure| failure.hint.clone());
    Err(error.with_hint(hint.unwrap_or_else(|| "measure with: tactus costs".to_owned())))
}

#[cfg(test)]
mod tests {
    use tactus_model::cost::Operation;

    use super::*;

    #[test]
    fn only_chosen_operations_are_measured() {
        let all = plan(false, Overrides::default()).unwrap();
        assert!(all.cells.iter().any(|cell| cell.probe.sort().is_some()), "clock interrupts");
        let sleeps = |cell: &&Cell| {
            cell.probe.cost().is_some_and(|cost| cost.operation == Operation::ClockSleep)
        };
        assert_eq!(all.cells.iter().filter(sleeps).count(), 3, "one for each sleep method");
        let mut overrides = Overrides::default();
        overrides.settings.set("operation", vec!["getppid".to_owned()]).unwrap();
        assert_eq!(plan(false, overrides).unwrap().cells.len(), 1);
    }
}
