//! The bandwidth that the deadline class has reserved.
//!
//! The kernel's own accounts are in `/sys/kernel/debug/sched/debug` (`kernel/sched/debug.c`);
//! if it cannot be read, the parameters of deadline tasks show what they have reserved.

use std::path::Path;

use tactus_model::cpus::CpuList;
use tactus_model::facts::{DeadlineAccount, ThrottledThread};
use tactus_model::policy::Scheduling;
use tactus_model::recording::ThreadId;
use tactus_model::time::Nanos;

use super::Tree;
use super::process::Task;
use crate::{deadline_thread, sched};

/// The unit in which the kernel counts bandwidth: this fraction of a CPU (`BW_SHIFT`,
/// `kernel/sched/sched.h`).
const BANDWIDTH_UNIT: i128 = 1 << 20;

const DIRECTORY: &str = "sys/kernel/debug/sched";

/// The servers that reserve bandwidth on each CPU for tasks of other classes: since Linux 6.12
/// and 7.0.
const SERVERS: [&str; 2] = ["fair_server", "ext_server"];

/// The kernel's accounts of all CPUs; `None` if they cannot be read.
pub(super) fn accounts(tree: &Tree<'_>) -> Option<Vec<DeadlineAccount>> {
    let text = tree.text(&format!("{DIRECTORY}/debug"))?;
    let mut accounts: Vec<DeadlineAccount> = Vec::new();
    for (cpu, reserved_ppm) in totals(&text) {
        let server_ppm = servers_ppm(tree, cpu);
        let same = |account: &&mut DeadlineAccount| {
            (account.reserved_ppm, account.server_ppm) == (reserved_ppm, server_ppm)
        };
        match accounts.iter_mut().find(same) {
            Some(account) => account.cpus = account.cpus.iter().chain([cpu]).collect(),
            None => {
                let cpus = CpuList::from_iter([cpu]);
                accounts.push(DeadlineAccount { cpus, reserved_ppm, server_ppm });
            }
        }
    }
    Some(accounts).filter(|accounts| !accounts.is_empty())
}

/// Millionths of a CPU that are reserved in the root domain of the first CPU, servers included;
/// `None` if they are unknown or the account is below zero.
pub(super) fn reserved_ppm(accounts: Option<&[DeadlineAccount]>) -> Option<u64> {
    u64::try_from(accounts?.first()?.reserved_ppm).ok()
}

/// Each CPU with the total of its root domain, in millionths of a CPU.
///
/// The kernel counts in an unsigned number that it prints as a signed one.
fn totals(text: &str) -> impl Iterator<Item = (u32, i64)> {
    let mut cpu = None;
    text.lines().filter_map(move |line| {
        let line = line.trim();
        if let Some(number) = line.strip_prefix("dl_rq[") {
            cpu = number.strip_suffix("]:")?.parse().ok();
            return None;
        }
        let total = line.strip_prefix(".dl_bw->total_bw")?.trim().strip_prefix(':')?;
        let total: i64 = total.trim().parse().ok()?;
        let ppm = (i128::from(total) * 1_000_000).div_euclid(BANDWIDTH_UNIT);
        Some((cpu?, i64::try_from(ppm).unwrap_or(if ppm < 0 { i64::MIN } else { i64::MAX })))
    })
}

/// What the servers of a CPU reserve together; `None` if one of them cannot be read. A kernel
/// without servers has no directories of them.
fn servers_ppm(tree: &Tree<'_>, cpu: u32) -> Option<u64> {
    let present = SERVERS.iter().map(|server| format!("{DIRECTORY}/{server}"));
    present.filter(|directory| tree.has(directory)).try_fold(0_u64, |sum, directory| {
        let value = |file: &str| tree.value::<u64>(&format!("{directory}/cpu{cpu}/{file}"));
        sum.checked_add(ppm(value("runtime")?, value("period")?)?)
    })
}

/// The maximum bandwidth that a task may have reserved, in millionths of a CPU.
///
/// Of this machine's tasks, the kernel is asked: their `sched` files have what is left of the
/// runtime and the instant of the deadline. In a simulated tree, the file has both parameters;
/// admission counts runtime over period, which is never more than runtime over deadline.
pub(super) fn task_ppm(tree: &Tree<'_>, directory: &str, task: &Task) -> Option<u64> {
    if tree.root() == Path::new("/") {
        let thread = ThreadId(i32::try_from(task.id).ok()?);
        return match sched::get_of(thread).ok()? {
            Scheduling::Deadline { runtime, period, .. } => {
                ppm(runtime.as_nanos(), period.as_nanos())
            }
            _ => None,
        };
    }
    let text = tree.text(&format!("{directory}/sched"))?;
    let value = |name| -> Option<u64> {
        let line = text.lines().find_map(|line| line.trim().strip_prefix(name))?;
        line.trim().strip_prefix(':')?.trim().parse().ok()
    };
    ppm(value("dl.runtime")?, value("dl.deadline")?)
}

/// The thread, if it has no runtime left.
pub(super) fn throttled(tree: &Tree<'_>, directory: &str, task: &Task) -> Option<ThrottledThread> {
    let left = deadline_thread::runtime_in(&tree.text(&format!("{directory}/sched"))?)?;
    let counted = tree.text(&format!("{directory}/schedstat"))?;
    let ran = counted.split_whitespace().next()?.parse().ok()?;
    let thread = || ThrottledThread {
        thread: task.id,
        name: task.name.clone(),
        ran: Nanos::from_nanos(ran),
    };
    (left <= 0).then(thread)
}

fn ppm(runtime: u64, period: u64) -> Option<u64> {
    runtime.checked_mul(1_000_000)?.checked_div(period)
}
