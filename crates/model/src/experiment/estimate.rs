//! About how long a plan takes, only for telling beforehand.

use std::collections::HashSet;

use super::{Plan, Turn};
use crate::guest::GuestTime;
use crate::time::Nanos;

impl Plan {
    /// What starting and ending a cell's process and its load takes, roughly.
    const CELL_OVERHEAD: Nanos = Nanos::from_millis(150);
    /// What a traced window takes besides: the kernel takes back the events that
    /// were recorded one by one, some 20 ms each.
    const TRACING_OVERHEAD: Nanos = Nanos::from_millis(2500);
    /// What booting a guest takes, roughly.
    const BOOT: Nanos = Nanos::from_secs(25);
    /// What booting the machines of a guest in exact time takes, which are kept for a round.
    const EXACT_BOOT: Nanos = Nanos::from_secs(10);
    /// How many million instructions an emulator that counts them executes in a second,
    /// roughly, where guests compute; an idle one's time goes by faster.
    const EMULATOR_MIPS: u64 = 150;

    /// About how long these turns take.
    pub fn estimate<'a>(&self, turns: impl IntoIterator<Item = &'a Turn>) -> Nanos {
        let mut booted = HashSet::new();
        turns
            .into_iter()
            .filter_map(|turn| Some((turn.round, self.cells.get(turn.cell)?)))
            .map(|(round, cell)| {
                let tracing = cell.while_traced().map_or(Nanos::ZERO, |_| Self::TRACING_OVERHEAD);
                let length = cell.length() + Self::CELL_OVERHEAD;
                let Some(guest) = cell.target.guest() else { return length + tracing };
                match guest.time {
                    GuestTime::Wall => length + tracing + Self::BOOT,
                    // What was recorded ends with the guest, so nothing is taken back.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Experiment, Overrides};

    #[test]
    fn exact_time_is_expected_to_take_by_its_speed_and_to_boot_once_a_round() {
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
