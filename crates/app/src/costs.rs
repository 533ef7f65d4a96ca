//! What operations cost on this machine.

use tactus_model::experiment::{Overrides, Plan};
use tactus_model::probe::Probe;
use tactus_model::run::Run;
use tactus_stats::costs::RunCosts;
use tactus_stats::interrupt_cost::refused;

use crate::{Error, ErrorKind, Result, plan};

/// The plan that measures the shipped operations, or with `is_quick` a few of them. If `overrides`
/// choose operations, it measures nothing else.
///
/// # Errors
/// The settings contradict each other.
pub fn plan(is_quick: bool, mut overrides: Overrides) -> Result<Plan> {
    let name = if is_quick { "costs-quick" } else { "costs" };
    let mut experiment = plan::read(name)?;
    if let Some(chosen) = overrides.settings.remove("operation") {
        experiment.choose_operations(&chosen).map_err(Error::usage)?;
    }
    overrides.seed = Some(plan::seed(&experiment, &overrides));
    let plan = plan::plan_of(name, &experiment, &overrides)?;
    let has_cost = |probe: &Probe| probe.cost().is_some() || probe.sort().is_some();
    match plan.cells.iter().map(|cell| &cell.probe).find(|probe| !has_cost(probe)) {
        Some(probe) => {
            let cause = format!("probe = \"{}\" does not measure operations", probe.kind());
            Err(Error::usage(cause).with_hint("remove it, or use tactus measure"))
        }
        None => Ok(plan),
    }
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
    let refused = || refused(run).and_then(|shortfall| shortfall.fix.clone());
    let hint = run.failures.first().and_then(|failure| failure.hint.clone()).or_else(refused);
    Err(error.with_hint(hint.unwrap_or_else(|| "measure with: tactus costs".to_owned())))
}

#[cfg(test)]
mod tests {
    use tactus_model::cell::Cell;
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

    #[track_caller]
    fn overrides(settings: &[(&str, &str)]) -> Overrides {
        let mut overrides = Overrides::default();
        for (name, value) in settings {
            overrides.settings.set(name, vec![(*value).to_owned()]).unwrap();
        }
        overrides
    }

    #[test]
    fn a_chosen_operation_has_no_sizes_of_others() {
        for operation in Operation::ALL {
            let chosen = overrides(&[("operation", operation.word())]);
            let cells = plan(false, chosen).unwrap().cells;
            let all = cells.iter().map(|cell| cell.probe.cost().unwrap());
            assert!(all.clone().all(|cost| cost.operation == *operation) && all.count() > 0);
        }
        let read = plan(false, overrides(&[("operation", "file-read"), ("directory", "/tmp")]));
        assert_eq!(read.unwrap().cells.len(), 1);
    }

    #[test]
    fn a_probe_without_costs_is_refused() {
        for settings in [&[("probe", "timer")][..], &[("operation", "getppid"), ("probe", "timer")]]
        {
            let error = plan(true, overrides(settings)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
        }
    }
}
