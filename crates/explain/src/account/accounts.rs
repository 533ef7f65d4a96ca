//! What accounting for a recording yields, in a form to keep and to send.

use serde::{Deserialize, Serialize};
use tactus_model::recording::{ProcessId, ThreadId};
use tactus_model::result::Histogram;
use tactus_model::time::{Instant, Monotonic, Nanos};

use super::billing::Billing;
use super::clock::TickClock;
use super::end::End;
use super::rate::TickRate;
use super::tick::{KernelTick, TickUnknown};

/// What is to be accounted for beside what every recording tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountOptions {
    /// The rates of ticks to simulate.
    pub rates: Vec<TickRate>,
}

/// Where the processor time of a recording went.
///
/// The times of all programs, of idle and what is unknown add up to the
/// recorded processor time exactly; so do those of all threads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Accounts {
    /// From when on everything was recorded.
    pub started: Instant<Monotonic>,
    /// The last event, or the end of the last loss.
    pub ended: Instant<Monotonic>,
    /// The processors that were recorded, by number.
    pub processors: Vec<ProcessorUse>,
    /// Every program, the one that used most first. Processes of one name are
    /// taken together.
    pub programs: Vec<Account>,
    /// Every thread, the one that used most first. A thread that took another
    /// name stands under each of them.
    pub threads: Vec<Account>,
    /// The idle threads of all processors, taken together.
    pub idle: Account,
    /// Switches that were not recorded, as the events around them show: who ran
    /// before such a one may have left, and who ran after it have come, earlier.
    pub missing_switches: u64,
    /// The kernel's own tick, or why nothing is told of it.
    pub tick: Result<KernelTick, TickUnknown>,
}

/// How the time of one processor was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessorUse {
    /// The processor.
    pub cpu: u32,
    /// The time in which a thread was current.
    pub used: Nanos,
    /// The time in which the idle thread was current.
    pub idle: Nanos,
    /// The time of which it is not known who was current: events were lost, or
    /// none came.
    pub unknown: Nanos,
}

/// What a thread, or all threads of a program, got from the processors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Account {
    /// The name of the thread, or of the program: that of its main thread.
    pub name: String,
    /// The thread; none for a program.
    pub thread: Option<ThreadId>,
    /// The process that the thread belongs to, where that was recorded; none for
    /// a program of several processes.
    pub process: Option<ProcessId>,
    /// The program that the thread belongs to; for a program its name.
    pub program: String,
    /// How many threads there are.
    pub threads: u64,
    /// The time in which they were current.
    pub used: Nanos,
    /// The time that interrupts, softirqs and timers took of that.
    pub interrupted: Nanos,
    /// The time that the host took of that, so far as charges show it.
    pub stolen: Nanos,
    /// The lengths of the effective quanta whose both ends were recorded.
    pub quanta: Histogram,
    /// The quanta that were cut off.
    pub cut: Cut,
    /// Why whole quanta and those of which the end was recorded ended, the most
    /// frequent first.
    pub ends: Vec<EndCount>,
    /// The times from a wakeup to the switch to the thread that was woken.
    pub wakeup_latency: Histogram,
    /// What ticks billed: the kernel's own where it is known, then one entry for
    /// each rate of the options.
    pub billing: Vec<Billing>,
}

/// Quanta of which an end was not recorded: they reach over an edge of the
/// recording, a loss, or a switch that is missing. Their time is used time, but
/// their lengths are not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    /// How many.
    pub count: u64,
    /// What was recorded of their time.
    pub time: Nanos,
}

/// How many quanta ended for a reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndCount {
    /// The reason.
    #[serde(flatten)]
    pub end: End,
    /// How many quanta.
    pub count: u64,
    /// How long they were, all together.
    pub time: Nanos,
}

impl Accounts {
    /// How long the recording was.
    pub fn length(&self) -> Nanos {
        self.ended - self.started
    }

    /// The recorded processor time: the length of the recording on each processor.
    pub fn time(&self) -> Nanos {
        self.length().saturating_mul(self.processors.len() as u64)
    }

    /// The time that threads used.
    pub fn used(&self) -> Nanos {
        self.processors.iter().map(|processor| processor.used).sum()
    }

    /// The time of which it is not known who was current.
    pub fn unknown(&self) -> Nanos {
        self.processors.iter().map(|processor| processor.unknown).sum()
    }

    /// The used time that lies in quanta which were cut off, those of idle left out.
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

    /// The accounts of a thread, one for each name that it had.
    pub fn of_thread(&self, thread: ThreadId) -> impl Iterator<Item = &Account> {
        self.threads.iter().filter(move |account| account.thread == Some(thread))
    }
}

impl Account {
    /// Quanta in the recording, cut ones among them.
    pub fn turns(&self) -> u64 {
        self.quanta.count + self.cut.count
    }

    /// Quanta a second of a recording of this length, cut ones among them; none
    /// where no time passed.
    pub fn quanta_per_second(&self, length: Nanos) -> Option<f64> {
        (length > Nanos::ZERO).then(|| self.turns() as f64 / length.as_secs_f64())
    }

    /// What the ticks of a clock billed.
    pub fn billing(&self, clock: TickClock) -> Option<&Billing> {
        self.billing.iter().find(|billing| billing.clock == clock)
    }
}
