//! The other side of an operation: where it runs, and why it does not go on.

use tactus_model::cost::{CostProbe, Operation, PartnerCpu};
use tactus_model::cpus::CpuList;
use tactus_model::time::{Monotonic, Nanos};
use tactus_sys::clock;
use tactus_sys::fork::{Fork, Halt};
use tactus_sys::sleep::{Nanosleep, Sleeper};

use super::Unmeasurable;

/// The CPU of the partner of a task on `cpu`: that one, or the next of `cpus`.
pub(super) fn place(cost: &CostProbe, cpu: u32, cpus: &CpuList) -> Result<u32, Unmeasurable> {
    // A yield gives up only its own CPU.
    let is_same = cost.partner_cpu == PartnerCpu::Same || cost.operation == Operation::Yield;
    match is_same {
        true => Ok(cpu),
        false => next(cpu, cpus).ok_or(Unmeasurable::OneCpu),
    }
}

/// The CPU after `cpu`, from the beginning after the last; `None` if there is no other.
fn next(cpu: u32, cpus: &CpuList) -> Option<u32> {
    let after = cpus.iter().find(|other| *other > cpu);
    after.or_else(|| cpus.iter().next()).filter(|other| *other != cpu)
}

/// Why the process of a partner does not go on, after its side has failed; `None` if it goes on, or
/// has ended by itself after a failure of its own.
pub(super) fn halt_of(process: &mut Fork) -> Option<Halt> {
    // Its descriptors are closed, so that the other side fails, shortly before it has ended.
    for _ in 0..10 {
        match process.halt() {
            Ok(None) => {}
            found => return found.ok()?.filter(|halt| !matches!(halt, Halt::Ended(_))),
        }
        Nanosleep.sleep_until(clock::now::<Monotonic>() + Nanos::from_millis(10)).ok()?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_partner_has_the_next_cpu_if_there_is_one() {
        let cpus: CpuList = [0, 2, 5].into_iter().collect();
        assert_eq!([0, 2, 5].map(|cpu| next(cpu, &cpus)), [Some(2), Some(5), Some(0)]);
        assert_eq!(next(2, &std::iter::once(2).collect()), None);
    }
}
