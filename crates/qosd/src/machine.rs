//! What the kernel admits on this machine.

use tactus_model::facts::MachineFacts;

use crate::{Bandwidth, Policy};

/// The share of each CPU that the kernel keeps for its fair server, in per cent, where that cannot
/// be read: debugfs is not mounted everywhere.
const FAIR_SERVER: u64 = 5;

/// What may be reserved: the policy's share of all CPUs, within what the kernel admits.
pub fn capacity(facts: &MachineFacts, policy: &Policy) -> Bandwidth {
    let cpus = cpus(facts);
    let admitted = admitted_percent(facts);
    Bandwidth::percent_of_cpus(admitted.min(policy.share.into()), cpus.into())
}

/// The CPUs that are online; one if that is unknown.
pub fn cpus(facts: &MachineFacts) -> u32 {
    let online = facts.cpu.online.as_ref().map_or(1, |cpus| cpus.iter().count());
    u32::try_from(online).unwrap_or(u32::MAX).max(1)
}

/// The share of each CPU that the kernel admits to the deadline class, in per cent, rounded down:
/// the real-time budget less the fair server's.
fn admitted_percent(facts: &MachineFacts) -> u64 {
    let scheduling = &facts.scheduling;
    let budget = match (scheduling.rt_runtime_us, scheduling.rt_period_us) {
        (Some(runtime @ 0..), Some(period @ 1..)) => {
            (runtime.unsigned_abs() * 100 / period.unsigned_abs()).min(100)
        }
        _ => 100,
    };
    let server = match (scheduling.fair_server_runtime, scheduling.fair_server_period) {
        (Some(runtime), Some(period)) if period.as_nanos() > 0 => {
            (runtime.as_nanos() * 100).div_ceil(period.as_nanos())
        }
        _ => FAIR_SERVER,
    };
    budget.saturating_sub(server).max(1)
}

#[cfg(test)]
mod tests {
    use tactus_model::time::Nanos;

    use super::*;

    #[test]
    fn the_fair_server_and_the_budget_are_kept() {
        let mut facts = MachineFacts::unknown(tactus_model::time::Instant::from_nanos(0));
        facts.cpu.online = Some("0-1".parse().unwrap());
        facts.scheduling.rt_runtime_us = Some(950_000);
        facts.scheduling.rt_period_us = Some(1_000_000);
        facts.scheduling.fair_server_runtime = Some(Nanos::from_millis(50));
        facts.scheduling.fair_server_period = Some(Nanos::from_secs(1));
        let mut policy = Policy::default();
        policy.share = 100;
        assert_eq!(capacity(&facts, &policy), Bandwidth::percent_of_cpus(90, 2));
        assert_eq!(capacity(&facts, &Policy::default()), Bandwidth::percent_of_cpus(75, 2));
        facts.scheduling.rt_runtime_us = Some(-1);
        assert_eq!(capacity(&facts, &policy), Bandwidth::percent_of_cpus(95, 2));
    }
}
