//! The quantum of the scheduling classes of a cell's tasks.

use std::collections::BTreeSet;

use tactus_model::cell::Cell;
use tactus_model::policy::Quanta;
use tactus_model::time::Nanos;
use tactus_settings::{NotChanged, SettingChange};

/// The quantum of the rr class in milliseconds
/// ([sched(7)](https://man7.org/linux/man-pages/man7/sched.7.html)).
const ROUND_ROBIN: &str = "proc/sys/kernel/sched_rr_timeslice_ms";
/// The quantum of ordinary tasks in nanoseconds, since Linux 6.6, in debugfs.
const ORDINARY: &str = "sys/kernel/debug/sched/base_slice_ns";

/// The changes that give the classes of the cell's tasks the requested quantum, on a kernel with
/// this tick; no change if the cell leaves the quantum untouched.
pub(crate) fn changes(cell: &Cell, tick: Nanos) -> Result<Vec<SettingChange>, NotChanged> {
    let Some(length) = cell.quantum.length(tick) else { return Ok(Vec::new()) };
    let classes: BTreeSet<Quanta> = cell.quanta().collect();
    classes.into_iter().map(|class| change(class, length)).collect()
}

fn change(class: Quanta, length: Nanos) -> Result<SettingChange, NotChanged> {
    match class {
        Quanta::RoundRobin => {
            let (millis, rest) = (length.as_nanos() / 1_000_000, length.as_nanos() % 1_000_000);
            if rest > 0 || millis == 0 {
                return Err(NotChanged::new(
                    format!(
                        "the kernel takes quanta of the rr class only in whole milliseconds, not {length}"
                    ),
                    None,
                ));
            }
            Ok(SettingChange::new(ROUND_ROBIN, millis))
        }
        Quanta::Ordinary => Ok(SettingChange::new(ORDINARY, length.as_nanos())),
    }
}

#[cfg(test)]
mod tests {
    use tactus_model::experiment::{Experiment, Overrides};

    use super::*;

    fn asked(settings: &str, tick_us: u64) -> Result<Vec<SettingChange>, String> {
        let text = format!("[settings]\n{settings}\n");
        let plan = Experiment::parse(&text).unwrap().plan(&Overrides::default()).unwrap();
        let changes = changes(&plan.cells[0], Nanos::from_micros(tick_us));
        changes.map_err(|refused| refused.reason)
    }

    #[test]
    fn each_class_of_a_cell_has_its_quantum_in_its_own_unit() {
        let rr = "policy = \"rr:50\"\nquantum = \"60ms\"";
        assert_eq!(asked(rr, 10_000), Ok(vec![SettingChange::new(ROUND_ROBIN, 60)]));
        let ticks = "policy = \"rr:50\"\nquantum = \"6ticks\"";
        assert_eq!(asked(ticks, 10_000), Ok(vec![SettingChange::new(ROUND_ROBIN, 60)]));
        let both = "policy = \"rr:50\"\nload = \"compute:2\"\nquantum = \"2ms\"";
        let changed =
            vec![SettingChange::new(ROUND_ROBIN, 2), SettingChange::new(ORDINARY, 2_000_000)];
        assert_eq!(asked(both, 1000), Ok(changed));
        assert_eq!(asked("policy = \"rr:50\"", 1000), Ok(Vec::new()));
        let ordinary = "quantum = \"2ticks\"";
        assert_eq!(asked(ordinary, 50), Ok(vec![SettingChange::new(ORDINARY, 100_000)]));
    }

    #[test]
    fn what_the_kernel_cannot_set_is_refused_with_the_reason() {
        let reason = asked("policy = \"rr:50\"\nquantum = \"2ticks\"", 50).unwrap_err();
        assert!(reason.contains("whole milliseconds") && reason.contains("100us"), "{reason}");
    }
}
