//! The machine's counters since boot.
//!
//! Sources: `/proc/stat`, `/proc/vmstat`, `/proc/loadavg`
//! ([proc(5)](https://man7.org/linux/man-pages/man5/proc.5.html)), `/proc/pressure`
//! (`Documentation/accounting/psi.rst`), and `cpu.stat` of this process's cgroup and
//! its ancestors. A reading takes about ten small files.

mod timer_interrupts;

use std::path::Path;
use std::time::Instant;

use tactus_model::result::MachineRates;
use tactus_model::time::Nanos;

use crate::facts::{self, Tree};

pub use timer_interrupts::timer_interrupts;

/// The length of a tick in which `/proc/stat` counts time. `USER_HZ` is 100 on every
/// architecture of today's Linux, whatever the kernel's own tick rate
/// (`include/asm-generic/param.h`).
pub(crate) const USER_TICK: Nanos = Nanos::from_millis(10);

/// The machine's counters at one instant; `None` for counters that cannot be read.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineCounters {
    read_at: Instant,
    events: EventCounts,
    times: CpuTimes,
    faults: FaultCounts,
    cpu_pressure: Option<Nanos>,
    io_pressure: Option<Nanos>,
    memory_pressure: Option<Nanos>,
    throttled: Option<Nanos>,
    load_average: Option<f64>,
}

impl MachineCounters {
    /// Reads the counters from `proc` below `root`, normally `/`.
    pub fn read(root: &Path) -> Self {
        let tree = Tree::new(root);
        let stat = tree.text("proc/stat").unwrap_or_default();
        let pressure = |name| tree.text(&format!("proc/pressure/{name}")).and_then(some_pressure);
        Self {
            read_at: Instant::now(),
            events: EventCounts::parse(&stat),
            times: CpuTimes::parse(&stat),
            faults: FaultCounts::parse(&tree.text("proc/vmstat").unwrap_or_default()),
            cpu_pressure: pressure("cpu"),
            io_pressure: pressure("io"),
            memory_pressure: pressure("memory"),
            throttled: facts::throttled(&tree),
            load_average: tree
                .text("proc/loadavg")
                .and_then(|text| load_averages(&text))
                .map(|[one, ..]| one),
        }
    }

    /// How much the counters grew since `earlier`. A counter that decreased counts as
    /// unchanged; some do when a CPU goes offline.
    pub fn since(&self, earlier: &Self) -> MachineRates {
        let count =
            |of: fn(&EventCounts) -> Option<u64>| growth(of(&self.events), of(&earlier.events));
        let time = |of: fn(&Self) -> Option<Nanos>| Some(of(self)?.saturating_sub(of(earlier)?));
        MachineRates {
            over: self.read_at.saturating_duration_since(earlier.read_at).into(),
            context_switches: count(|events| events.context_switches),
            interrupts: count(|events| events.interrupts),
            softirqs: count(|events| events.softirqs),
            forks: count(|events| events.forks),
            page_faults: growth(self.faults.all, earlier.faults.all),
            major_faults: growth(self.faults.major, earlier.faults.major),
            busy: time(|counters| counters.times.busy),
            steal: time(|counters| counters.times.steal),
            cpu_pressure: time(|counters| counters.cpu_pressure),
            io_pressure: time(|counters| counters.io_pressure),
            memory_pressure: time(|counters| counters.memory_pressure),
            throttled: time(|counters| counters.throttled),
            load_average: self.load_average,
        }
    }
}

fn growth(later: Option<u64>, earlier: Option<u64>) -> Option<u64> {
    Some(later?.saturating_sub(earlier?))
}

/// The number that follows `name` at the start of a line.
fn labelled(text: &str, name: &str) -> Option<u64> {
    text.lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?
        .split_whitespace()
        .next()?
        .parse()
        .ok()
}

/// Events counted in `/proc/stat`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct EventCounts {
    context_switches: Option<u64>,
    interrupts: Option<u64>,
    softirqs: Option<u64>,
    forks: Option<u64>,
}

impl EventCounts {
    fn parse(stat: &str) -> Self {
        Self {
            context_switches: labelled(stat, "ctxt"),
            // The first number of these lines is the sum of the numbers that follow.
            interrupts: labelled(stat, "intr"),
            softirqs: labelled(stat, "softirq"),
            forks: labelled(stat, "processes"),
        }
    }
}

/// CPU time since boot, summed over all CPUs, from the `cpu` line of `/proc/stat`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CpuTimes {
    /// In user mode, in the kernel and in interrupts.
    pub(crate) busy: Option<Nanos>,
    /// Steal time.
    pub(crate) steal: Option<Nanos>,
}

impl CpuTimes {
    /// Reads `cpu user nice system idle iowait irq softirq steal guest guest_nice`.
    pub(crate) fn parse(stat: &str) -> Self {
        let ticks: Vec<u64> = stat
            .lines()
            .find_map(|line| line.strip_prefix("cpu "))
            .into_iter()
            .flat_map(str::split_whitespace)
            .map_while(|word| word.parse().ok())
            .collect();
        let time = |ticks: u64| USER_TICK.saturating_mul(ticks);
        // Guest time is already part of user time. Waiting for I/O is idle time.
        let busy = match ticks[..] {
            [user, nice, system, _idle, _iowait, irq, softirq, ..] => {
                Some([user, nice, system, irq, softirq].into_iter().map(time).sum())
            }
            _ => None,
        };
        Self { busy, steal: ticks.get(7).copied().map(time) }
    }
}

/// Page faults counted in `/proc/vmstat`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct FaultCounts {
    all: Option<u64>,
    major: Option<u64>,
}

impl FaultCounts {
    fn parse(vmstat: &str) -> Self {
        Self { all: labelled(vmstat, "pgfault"), major: labelled(vmstat, "pgmajfault") }
    }
}

/// The time in which at least one task waited, from a file of `/proc/pressure`.
fn some_pressure(text: impl AsRef<str>) -> Option<Nanos> {
    let some = text.as_ref().lines().find_map(|line| line.strip_prefix("some "))?;
    let micros = some.split_whitespace().find_map(|word| word.strip_prefix("total="))?;
    micros.parse().ok().map(Nanos::from_micros)
}

/// The averages over 1, 5 and 15 minutes of `/proc/loadavg`.
pub(crate) fn load_averages(text: &str) -> Option<[f64; 3]> {
    let mut averages = text
        .split_whitespace()
        .map(|word| word.parse::<f64>().ok().filter(|average| average.is_finite()));
    Some([averages.next()??, averages.next()??, averages.next()??])
}

#[cfg(test)]
mod tests;
