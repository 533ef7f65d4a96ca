//! The kernel's account of deadline bandwidth, compared with what is really reserved.
//!
//! Some kernels lose count: if the root domains are rebuilt after a deadline thread has ended and
//! before the end of its last period (its zero-lag time), Linux 6.18 subtracts its bandwidth
//! twice. The account is unsigned, so below zero it exceeds every limit.

use tactus_model::facts::{DeadlineAccount, MachineFacts, ThrottledThread};
use tactus_model::format::{counted, quoted};
use tactus_model::time::Nanos;

use super::on_machine;
use crate::finding::{Check, Finding};

pub(crate) const ACCOUNT: Check = Check {
    name: "deadline account",
    why: "The kernel admits deadline threads by its account of reserved bandwidth, and a wrong \
          account stays wrong.",
};

pub(crate) const THROTTLED: Check = Check {
    name: "deadline threads",
    why: "A deadline thread that has used its runtime waits for the next period, and the kernel can \
          forget one that changed its class meanwhile.",
};

/// Each bandwidth is rounded; less than this share of a CPU, in millionths, is not a leak.
const TOLERANCE_PPM: i128 = 1000;

/// The kernel's default for the longest period of a deadline thread (2^22 µs).
const LONGEST_PERIOD: Nanos = Nanos::from_micros(1 << 22);

/// Judges the account by one reading.
pub(super) fn account(facts: &MachineFacts) -> Finding {
    let Some(accounts) = facts.scheduling.deadline_accounts.as_deref() else {
        return ACCOUNT
            .unknown("/sys/kernel/debug/sched/debug cannot be read")
            .fixed_by(on_machine(facts, "sudo mount -t debugfs none /sys/kernel/debug"));
    };
    if let Some(wrong) = accounts.iter().find(|account| account.reserved_ppm < 0) {
        return leaked(
            facts,
            format!("below zero on CPUs {}: {}", wrong.cpus, cpus(wrong.reserved_ppm.into())),
            "The kernel refuses every deadline thread with EBUSY.",
        );
    }
    if let Some((wrong, least)) = accounts.iter().find_map(short) {
        return leaked(
            facts,
            format!(
                "too low on CPUs {}: {}, and their servers alone reserve {}",
                wrong.cpus,
                cpus(wrong.reserved_ppm.into()),
                cpus(least)
            ),
            "The kernel admits more deadline threads than the CPUs can serve.",
        );
    }
    match accounts.iter().find_map(|account| Some((account, excess(account, accounts, facts)?))) {
        None => ACCOUNT.unknown("the bandwidth of servers or threads cannot be read"),
        Some((account, excess)) if excess > TOLERANCE_PPM => ACCOUNT
            .unknown(format!(
                "{} more on CPUs {} than servers and threads reserve; a thread that has ended keeps \
                 its part for up to one period",
                cpus(excess),
                account.cpus
            ))
            .fixed_by("tactus doctor --look 10s  # shows whether it stays".to_owned()),
        Some(_) => ACCOUNT.fine("agrees with servers and threads"),
    }
}

/// Judges the account by two readings: an excess that outlives the longest period is a leak.
///
/// `None` if the readings do not show more than one does.
pub(super) fn account_between(
    before: &MachineFacts,
    after: &MachineFacts,
    over: Nanos,
) -> Option<Finding> {
    if over <= longest_period(after) {
        return None;
    }
    let accounts = after.scheduling.deadline_accounts.as_deref()?;
    let earlier = before.scheduling.deadline_accounts.as_deref()?;
    let stays = |account: &DeadlineAccount| {
        let same = earlier.iter().find(|before| before.cpus == account.cpus)?;
        let least = excess(account, accounts, after)?.min(excess(same, earlier, before)?);
        (least > TOLERANCE_PPM).then(|| (account.cpus.to_string(), least))
    };
    let (on, excess) = accounts.iter().find_map(stays)?;
    Some(leaked(
        after,
        format!("{} too high on CPUs {on}", cpus(excess)),
        "The kernel refuses deadline threads that would fit.",
    ))
}

/// Judges by one reading which threads wait for a replenishment; `None` if none does.
pub(super) fn throttled(facts: &MachineFacts) -> Option<Finding> {
    let threads = facts.scheduling.throttled_threads.as_deref()?;
    let first = threads.first()?;
    let fact = format!(
        "out of runtime: {}, e.g. {}; the kernel replenishes each in its next period, or has \
         forgotten it",
        counted(threads.len() as u64, "thread"),
        named(first),
    );
    let fix = "tactus doctor --look 10s  # shows whether they stay".to_owned();
    Some(THROTTLED.unknown(fact).fixed_by(fix))
}

/// Judges by two readings: threads that were ready all the time, have not run, and are still out of
/// runtime after the longest period. `None` if there are none.
pub(super) fn throttled_between(
    before: &MachineFacts,
    after: &MachineFacts,
    over: Nanos,
) -> Option<Finding> {
    let earlier = before.scheduling.throttled_threads.as_deref()?;
    let threads = after.scheduling.throttled_threads.as_deref()?;
    let stuck: Vec<&ThrottledThread> =
        threads.iter().filter(|thread| earlier.contains(thread)).collect();
    let first = stuck.first().filter(|_| over > longest_period(after))?;
    let ids: Vec<String> = stuck.iter().map(|thread| thread.thread.to_string()).collect();
    let fact = format!(
        "{} did not run for {over}, e.g. {}",
        counted(stuck.len() as u64, "ready thread"),
        named(first)
    );
    let effect =
        "The kernel has left them throttled: they never run again, and no signal ends them.";
    let fix = format!("for t in {}; do sudo chrt --other --pid 0 $t; done", ids.join(" "));
    Some(THROTTLED.warning(fact, effect).fixed_by(on_machine(after, &fix)))
}

fn named(thread: &ThrottledThread) -> String {
    format!("{} ({})", thread.thread, quoted(&thread.name))
}

/// The longest period of a deadline thread.
fn longest_period(facts: &MachineFacts) -> Nanos {
    facts.scheduling.deadline_period_max_us.map_or(LONGEST_PERIOD, Nanos::from_micros)
}

/// An account that is less than what the CPU's own servers reserve, with that bandwidth.
fn short(account: &DeadlineAccount) -> Option<(&DeadlineAccount, i128)> {
    let least = i128::from(account.server_ppm?);
    (i128::from(account.reserved_ppm) + TOLERANCE_PPM < least).then_some((account, least))
}

/// By how much an account exceeds all that it can contain: the servers of all CPUs, and all
/// threads. `None` if that is unknown.
fn excess(
    account: &DeadlineAccount,
    accounts: &[DeadlineAccount],
    facts: &MachineFacts,
) -> Option<i128> {
    let servers = accounts
        .iter()
        .map(|account| Some(i128::from(account.server_ppm?) * account.cpus.len() as i128));
    let threads = i128::from(facts.scheduling.deadline_threads_ppm?);
    Some(i128::from(account.reserved_ppm) - servers.sum::<Option<i128>>()? - threads)
}

/// A bandwidth as a number of CPUs.
fn cpus(ppm: i128) -> String {
    format!("{:.2} CPUs", ppm as f64 / 1e6)
}

fn leaked(facts: &MachineFacts, fact: String, effect: &str) -> Finding {
    ACCOUNT.warning(fact, effect).fixed_by(on_machine(facts, &repair(facts)))
}

/// The command that makes the kernel build its root domains, and with them the accounts, anew. It
/// first waits until no ended thread has bandwidth left, which would be subtracted twice again.
fn repair(facts: &MachineFacts) -> String {
    let mount = facts.cgroup.cpuset_mount.as_deref();
    let last = facts.cpu.online.as_ref().filter(|online| online.len() > 1);
    let last = last.and_then(|online| online.iter().last());
    match (facts.cgroup.cpuset_version, mount, last) {
        (Some(1), Some(mount), _) => format!(
            "sudo sh -c 'sleep 5; cd {mount} && old=$(cat cpuset.sched_load_balance) && \
             echo $((1 - old)) >cpuset.sched_load_balance; echo $old >cpuset.sched_load_balance'"
        ),
        (Some(2), Some(mount), Some(cpu)) => format!(
            "sudo sh -c 'sleep 5; cd {mount} && echo +cpuset >cgroup.subtree_control && \
             mkdir rebuild && echo {cpu} >rebuild/cpuset.cpus && \
             echo root >rebuild/cpuset.cpus.partition; rmdir rebuild'"
        ),
        _ => "restart the machine".to_owned(),
    }
}
