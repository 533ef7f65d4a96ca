//! The result of accounting for a recording, in a form to store and to send.

use serde::{Deserialize, Serialize};
use tactus_model::recording::{ProcessId, ThreadId};
use tactus_model::result::Histogram;
use tactus_model::time::{Instant, Monotonic, Nanos};

use super::billing::Billing;
use super::clock::TickClock;
use super::end::End;
use super::rate::TickRate;
use super::tick::{KernelTick, TickUnknown};

/// What to account for in addition to what every recording shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountOptions {
    /// The tick rates to simulate.
    pub rates: Vec<TickRate>,
}

/// Where the CPU time of a recording went.
///
/// The times of all programs, the idle time and the unknown time add up to the recorded
/// CPU time exactly; so do the times of all threads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Accounts {
    /// The instant from which everything was recorded.
    pub started: Instant<Monotonic>,
    /// The last event, or the end of the last loss.
    pub ended: Instant<Monotonic>,
    /// The CPUs that were recorded, by number.
    pub cpus: Vec<CpuUse>,
    /// Every program, the greatest user of CPU time first. Processes with one name
    /// count as one program.
    pub programs: Vec<Account>,
    /// Every thread, the greatest user of CPU time first. A thread that changed its
    /// name has an account under each name.
    pub threads: Vec<Account>,
    /// The idle threads of all CPUs, taken together.
    pub idle: Account,
    /// The number of missing sched_switch events, inferred from the events around them:
    /// the thread before such a switch may have left earlier than the replay shows, and
    /// the thread after it may have come earlier.
    pub missing_switches: u64,
    /// The kernel's own tick, or the reason why it is unknown.
    pub tick: Result<KernelTick, TickUnknown>,
}

/// How the time of one CPU was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuUse {
    /// The CPU.
    pub cpu: u32,
    /// The time in which a thread was current.
    pub used: Nanos,
    /// The time in which the idle thread was current.
    pub idle: Nanos,
    /// The time for which the current thread is not known: events were lost, or there
    /// were none.
    pub unknown: Nanos,
}

/// The CPU time of a thread, or of all threads of a program, and how it was scheduled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Account {
    /// The name of the thread; for a program, the name of its main thread.
    pub name: String,
    /// The thread; `None` for a program.
    pub thread: Option<ThreadId>,
    /// The process of the thread, where that was recorded; `None` for a program with
    /// several processes.
    pub process: Option<ProcessId>,
    /// The program of the thread; for a program, its own name.
    pub program: String,
    /// How many threads there are.
    pub threads: u64,
    /// The time in which the threads were current.
    pub used: Nanos,
    /// The part of that time that interrupts, softirqs and timers took.
    pub interrupted: Nanos,
    /// The part of that time that was steal time, as far as charges show it.
    pub stolen: Nanos,
    /// The lengths of the effective quanta for which both ends were recorded.
    pub quanta: Histogram,
    /// The quanta that were cut off.
    pub cut: Cut,
    /// Why quanta ended, the most frequent reason first. Counts whole quanta and cut
    /// quanta with a recorded end.
    pub ends: Vec<EndCount>,
    /// The times from a wakeup to the switch to the woken thread.
    pub wakeup_latency: Histogram,
    /// What ticks billed: first the kernel's own tick where it is known, then an entry
    /// for each rate of the options.
    pub billing: Vec<Billing>,
}

/// Quanta for which an end was not recorded: they cross an edge of the recording, a
/// loss, or a missing sched_switch event. Their time counts as used time, but their
/// lengths are unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    /// The number of quanta.
    pub count: u64,
    /// The recorded part of their time.
    pub time: Nanos,
}

/// How many quanta ended for one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndCount {
    /// The reason.
    #[serde(flatten)]
    pub end: End,
    /// The number of quanta.
    pub count: u64,
    /// The total time of these quanta.
    pub time: Nanos,
}

impl Accounts {
    /// The duration of the recording.
    pub fn length(&self) -> Nanos {
        self.ended - self.started
    }

    /// The recorded CPU time: the duration of the recording times the number of CPUs.
    pub fn time(&self) -> Nanos {
        self.length().saturating_mul(self.cpus.len() as u64)
    }

    /// The time that threads used.
    pub fn used(&self) -> Nanos {
        self.cpus.iter().map(|cpu| cpu.used).sum()
    }

    /// The time for which the current thread is not known.
    pub fn unknown(&self) -> Nanos {
        self.cpus.iter().map(|cpu| cpu.unknown).sum()
    }

    /// The used time in quanta that were cut off, without the idle threads.
    pub fn cut(&self) -> Cut {
        self.programs.iter().fold(Cut::default(), |sum, program| Cut {
            count: sum.count + program.cut.count,
            time: sum.time + program.cut.time,
        })
    }

    /// The program of this name.
    pub fn program(&self, name: &str) -> Option<&Account> {
        self.programs.iter().find(|program| program.name == name)
    }

    /// The accounts of a thread, one for each name it had.
    pub fn of_thread(&self, thread: ThreadId) -> impl Iterator<Item = &Account> {
        self.threads.iter().filter(move |account| account.thread == Some(thread))
    }
}

impl Account {
    /// The number of quanta in the recording, including cut ones.
    pub fn turns(&self) -> u64 {
        self.quanta.count + self.cut.count
    }

    /// Quanta per second for a recording of this duration, including cut ones; `None`
    /// if the duration is zero.
    pub fn quanta_per_second(&self, length: Nanos) -> Option<f64> {
        (length > Nanos::ZERO).then(|| self.turns() as f64 / length.as_secs_f64())
    }

    /// What the ticks of a clock billed.
    pub fn billing(&self, clock: TickClock) -> Option<&Billing> {
        self.billing.iter().find(|billing| billing.clock == clock)
    }
}
