//! What limits the costs of operations that a run measured.

use tactus_model::format;
use tactus_model::label::operation_label;
use tactus_model::policy::Scheduling;
use tactus_model::result::{ClockFindings, Shortfall};
use tactus_model::run::Run;
use tactus_model::warning::Warning;
use tactus_stats::costs::{CostRow, RunCosts};
use tactus_stats::interrupt_cost::refused;
use tactus_stats::modes::{Mode, Modes};

use crate::doctor::scheduling;
use crate::finding::{Finding, State};

/// What limits the costs of a run.
pub fn warnings(run: &Run, costs: &RunCosts) -> Vec<Warning> {
    let rows = costs.rows.iter().filter_map(|row| Some((row, row.cost.clock.as_ref()?)));
    let backwards = rows.filter_map(|(row, clock)| backwards(run, row, clock));
    let two_speeds = costs.modes.as_ref().map(two_speeds);
    let refused = refused(run).map(without_interrupts);
    let first = [contaminated(run, costs), two_speeds, autogroup(run), refused];
    first.into_iter().flatten().chain(backwards).collect()
}

/// The share of contaminated batches from which on figures of long operations mean little.
const CONTAMINATED_MAX: f64 = 0.5;

/// Others that had the CPUs where no load was asked for.
fn contaminated(run: &Run, costs: &RunCosts) -> Option<Warning> {
    let is_unloaded = |row: &&CostRow| {
        let cell = run.header.plan.cells.get(row.cell);
        cell.is_some_and(|cell| cell.load.load.is_idle())
    };
    let counts = costs.rows.iter().filter(is_unloaded).map(|row| row.cost.contamination);
    let counts = counts.filter(|counts| counts.is_judged);
    let [any, all] = counts.fold([0, 0], |[any, all], counts| {
        [any + counts.contaminated as u64, all + counts.batches as u64]
    });
    (any as f64 > CONTAMINATED_MAX * all as f64).then(|| Warning {
        name: "contamination",
        fact: format!("others had a CPU in {} of the batches", format::share(any, all)),
        effect:
            "An operation that is longer than a time slice contains the turns of others, so its \
                 cost is too high, and ratios to short operations are too."
                .to_owned(),
        fix: Some("measure on a quiet machine, or with --policy fifo:50".to_owned()),
    })
}

fn two_speeds(modes: &Modes) -> Warning {
    let mode = |mode: Mode| {
        format!(
            "{} in {} of the batches",
            format::fine_latency(mode.median),
            format::whole_percent(mode.share)
        )
    };
    Warning {
        name: "two speeds",
        fact: format!("a system call takes {}, {}", mode(modes.fast), mode(modes.slow)),
        effect: "A median can be that of either.".to_owned(),
        fix: Some(
            "compare only figures of one mode (--json has both), or measure on dedicated hardware"
                .to_owned(),
        ),
    }
}

/// A clock whose readings were not in order.
fn backwards(run: &Run, row: &CostRow, clock: &ClockFindings) -> Option<Warning> {
    (!clock.is_in_order()).then_some(())?;
    let across = clock.across_cpus.unwrap_or_default();
    let by = clock.on_one_cpu.earlier_max.max(across.earlier_max);
    Some(Warning {
        name: "clock",
        fact: format!(
            "{} ran backwards by up to {}, {} times in {} comparisons",
            operation_label(&run.header.plan.cells, row.cell),
            format::latency(by),
            format::count(clock.on_one_cpu.earlier + across.earlier),
            format::count(clock.on_one_cpu.compared + across.compared),
        ),
        effect: "Durations measured by it can be negative.".to_owned(),
        fix: Some("use CLOCK_MONOTONIC".to_owned()),
    })
}

/// What the doctor says of autogroup, if a cell has a nice value.
fn autogroup(run: &Run) -> Option<Warning> {
    let has_nice = run.header.plan.cells.iter().any(|cell| match cell.policy.scheduling {
        Scheduling::Other { nice } | Scheduling::Batch { nice } => nice != 0,
        _ => false,
    });
    let found = scheduling::autogroup(&run.header.facts_before);
    let Finding { check, fact, effect: Some(effect), fix, state: State::Warning, .. } = found
    else {
        return None;
    };
    has_nice.then_some(Warning { name: check, fact, effect, fix })
}

fn without_interrupts(Shortfall { reason, fix, .. }: &Shortfall) -> Warning {
    Warning {
        name: "clock interrupts",
        fact: format!("those requested were not added: {}", reason.trim_end_matches('.')),
        effect: "Their cost is not known.".to_owned(),
        fix: fix.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::tests::run;

    fn names(run: &Run, costs: &RunCosts) -> Vec<&'static str> {
        warnings(run, costs).into_iter().map(|warning| warning.name).collect()
    }

    #[test]
    fn autogroup_limits_cells_with_a_nice_value() {
        let costs = RunCosts::default();
        let mut run = run("a", "", 1, 0);
        run.header.facts_before.scheduling.autogroup = Some(true);
        assert_eq!(names(&run, &costs), [""; 0]);
        run.header.plan.cells[0].policy.scheduling = Scheduling::Other { nice: -5 };
        assert_eq!(names(&run, &costs), ["autogroup"]);
        run.header.facts_before.scheduling.autogroup = Some(false);
        assert_eq!(names(&run, &costs), [""; 0]);
    }

    #[test]
    fn two_speeds_are_named_with_their_shares() {
        let [fast, slow] =
            [(100.0, 0.4), (125.0, 0.6)].map(|(median, share)| Mode { median, share });
        let found = two_speeds(&Modes { fast, slow, limit: 110.0 }).fact;
        let expected =
            "a system call takes 100 ns in 40 % of the batches, 125 ns in 60 % of the batches";
        assert_eq!(found.replace(format::THIN_SPACE, " "), expected);
    }

    #[test]
    fn interrupts_that_were_not_granted_are_named_with_their_fix() {
        let mut run = run("a", "", 1, 0);
        run.measurements[0].shortfalls.push(Shortfall {
            asked: "extra-interrupts 20000".to_owned(),
            granted: "extra-interrupts 0".to_owned(),
            reason: "it needs CAP_PERFMON".to_owned(),
            fix: Some("sudo".to_owned()),
        });
        let found = warnings(&run, &RunCosts::default());
        assert_eq!(found[0].fact, "those requested were not added: it needs CAP_PERFMON");
        assert_eq!(found[0].fix.as_deref(), Some("sudo"));
    }
}
