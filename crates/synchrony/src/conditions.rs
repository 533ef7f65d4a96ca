//! What the machine did while a player played.

use serde::{Deserialize, Serialize};
use tactus_model::result::{LoadResult, MachineRates};
use tactus_model::time::Nanos;

/// What the machine did during one playback.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Conditions {
    /// What the load achieved.
    pub load: LoadResult,
    /// The counters of the whole machine.
    pub machine: MachineRates,
    /// The CPUs of the machine.
    pub cpus: u32,
    /// CPU time of the player and of the processes that it started and waited for, user and system;
    /// `None` if the kernel does not show it. Neither the X server nor the sound server is in it.
    pub player_cpu: Option<Nanos>,
}

/// The conditions of several playbacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PooledConditions {
    /// The player's CPU time for each frame that appeared.
    pub cpu_per_frame: Option<Nanos>,
    /// The share of the time of all CPUs that was not idle, from 0 to 1.
    pub busy: Option<f64>,
    /// The share of the time of all CPUs that the hypervisor took, from 0 to 1.
    pub steal: Option<f64>,
    /// The mean of the load averages of a minute at the ends of the playbacks.
    pub load_average: Option<f64>,
}

impl PooledConditions {
    /// Of these playbacks, each with the number of frames that appeared.
    pub fn of(all: &[(&Conditions, Option<u32>)]) -> Self {
        let shown = all.iter().filter_map(|(one, shown)| Some((one.player_cpu?, (*shown)?)));
        let (cpu, frames) = shown.fold((Nanos::ZERO, 0), |(cpu, frames), (used, shown)| {
            (cpu + used, frames + u64::from(shown))
        });
        let averages = all.iter().filter_map(|(one, _)| one.machine.load_average);
        Self {
            cpu_per_frame: (frames > 0).then(|| Nanos::from_nanos(cpu.as_nanos() / frames.max(1))),
            busy: share(all, |rates| rates.busy),
            steal: share(all, |rates| rates.steal),
            load_average: mean(averages),
        }
    }
}

/// A time of all CPUs as a share of their whole time, over the playbacks that have it.
fn share(
    all: &[(&Conditions, Option<u32>)],
    of: impl Fn(&MachineRates) -> Option<Nanos>,
) -> Option<f64> {
    let known = all.iter().filter_map(|(one, _)| {
        let whole = one.machine.over.as_secs_f64() * f64::from(one.cpus);
        Some((of(&one.machine)?.as_secs_f64(), whole))
    });
    let (time, whole) =
        known.fold((0.0, 0.0), |(time, whole), (more, of)| (time + more, whole + of));
    (whole > 0.0).then(|| time / whole)
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0_u32), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_the_time_of_all_cpus_and_cpu_time_is_of_shown_frames() {
        let secs = Nanos::from_secs;
        let machine = MachineRates {
            over: secs(10),
            busy: Some(secs(15)),
            load_average: Some(3.0),
            ..MachineRates::default()
        };
        let one =
            Conditions { machine, cpus: 2, player_cpu: Some(secs(5)), ..Conditions::default() };
        let none = Conditions { player_cpu: None, ..one.clone() };
        let pooled = PooledConditions::of(&[(&one, Some(500)), (&none, Some(500)), (&one, None)]);
        assert_eq!(pooled.cpu_per_frame, Some(Nanos::from_millis(10)));
        assert_eq!((pooled.busy, pooled.steal), (Some(0.75), None));
        assert_eq!(pooled.load_average, Some(3.0));
        assert_eq!(PooledConditions::of(&[]), PooledConditions::default());
    }
}
