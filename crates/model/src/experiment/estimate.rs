//! An estimate of how long a plan takes, for display before the run.

use std::collections::HashSet;

use super::{Plan, Turn};
use crate::cell::Cell;
use crate::guest::GuestTime;
use crate::time::Nanos;

impl Plan {
    /// The approximate time to start and end a cell's process and its load.
    const CELL_OVERHEAD: Nanos = Nanos::from_millis(150);
    /// The approximate extra time of an operation: its partner, file or server, counting beside each
    /// batch, and storing the batches.
    const OPERATION_OVERHEAD: Nanos = Nanos::from_millis(50);
    /// The approximate extra time of a traced window: enabling its events, storing the recording,
    /// and removing the two instances of tracefs.
    const TRACING_OVERHEAD: Nanos = Nanos::from_millis(400);
    /// The approximate time to boot a guest.
    const BOOT: Nanos = Nanos::from_secs(25);
    /// The approximate time to boot the guests for exact time, which stay booted for a round.
    const EXACT_BOOT: Nanos = Nanos::from_secs(10);
    /// Approximate speed of an instruction-counting emulator while guests compute, in million
    /// instructions per second; idle time passes faster.
    const EMULATOR_MIPS: u64 = 150;

    /// Estimates how long these turns take.
    pub fn estimate<'a>(&self, turns: impl IntoIterator<Item = &'a Turn>) -> Nanos {
        let mut booted = HashSet::new();
        turns
            .into_iter()
            .filter_map(|turn| Some((turn.round, self.cells.get(turn.cell)?)))
            .map(|(round, cell)| {
                let tracing = cell.while_traced().map_or(Nanos::ZERO, |_| Self::TRACING_OVERHEAD);
                let length = cell.length() + overrun(cell) + Self::CELL_OVERHEAD;
                let Some(guest) = cell.target.guest() else { return length + tracing };
                match guest.time {
                    GuestTime::Wall => length + tracing + Self::BOOT,
                    // The guest ends after the recording, so its events need not be disabled.
                    GuestTime::Exact(speed) => {
                        let emulated = length.saturating_mul(u64::from(speed.mips()));
                        let boot = booted.insert((round, guest)).then_some(Self::EXACT_BOOT);
                        Nanos::from_nanos(emulated.as_nanos() / Self::EMULATOR_MIPS)
                            + boot.unwrap_or(Nanos::ZERO)
                    }
                }
            })
            .sum()
    }
}

/// The approximate time that an operation takes beside its window. Its samples can last longer than the
/// window: each process takes two at least, the first of which is not measured.
fn overrun(cell: &Cell) -> Nanos {
    const BYTES_PER_NANOSECOND: u64 = 10;
    const CALL: Nanos = Nanos::from_nanos(100);
    let Some(cost) = cell.probe.cost() else { return Nanos::ZERO };
    let moved = cost.moved().map_or(0, |bytes| bytes.get() / BYTES_PER_NANOSECOND);
    let each = CALL.max(Nanos::from_nanos(moved));
    let samples = each.saturating_mul(2 * u64::from(cost.per_sample()));
    Plan::OPERATION_OVERHEAD + samples.saturating_sub(cell.duration)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Experiment, Overrides};

    #[test]
    fn large_samples_prolong_the_estimate_and_long_pauses_are_refused() {
        let plan = |settings: &str| {
            let text = format!(
                "[settings]\nprobe = \"cost\"\noperation = \"memory-copy\"\nduration = \"150ms\"\n{settings}"
            );
            Experiment::parse(&text).unwrap().plan(&Overrides::default())
        };
        let estimate = |settings: &str| {
            let plan = plan(settings).unwrap();
            plan.estimate(&plan.turns())
        };
        assert_eq!(estimate("times = 1"), estimate(""));
        assert!(estimate("times = 1000000\nsize = \"1MiB\"") > Nanos::from_secs(100));
        let error = plan("pause = \"1h\"").unwrap_err().to_string();
        assert!(error.contains("duration = \"150ms\"; use a shorter pause"), "{error}");
    }

    #[test]
    fn the_estimate_for_exact_time_depends_on_its_speed_with_one_boot_per_round() {
        let plan = |mips: u32| {
            let text = format!(
                "name = \"x\"\nrounds = 2\nguest-time = \"exact:{mips}\"\n[settings]\n\
                 kernel = \"debian\"\npolicy = [\"other\", \"fifo:90\"]"
            );
            Experiment::parse(&text).unwrap().plan(&Overrides::default()).unwrap()
        };
        let (slow, fast) = (plan(125), plan(1000));
        let turns = slow.turns();
        assert!(slow.estimate(&turns) < fast.estimate(&turns));
        let each: Nanos = turns.iter().map(|turn| slow.estimate([turn])).sum();
        let booted_again = Plan::EXACT_BOOT.saturating_mul(2);
        assert_eq!(slow.estimate(&turns) + booted_again, each);
    }
}
