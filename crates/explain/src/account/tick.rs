//! Finds the kernel's tick in a recording: which events it consists of, and how often
//! it comes.

use std::fmt;

use serde::{Deserialize, Serialize};
use tactus_model::recording::{Dictionary, Event, EventKind, FunctionId, InterruptVector};
use tactus_model::time::{Instant, Monotonic, Nanos};

use crate::lengths::Lengths;
use crate::symbol::source_name;

/// The functions of the tick's timer in different kernels: Linux 6.9 changed the name.
const TICK_FUNCTIONS: [&str; 2] = ["tick_nohz_handler", "tick_sched_timer"];

/// The shortest plausible period: 25 µs, a tick of 40 000 Hz.
const PERIOD_MIN: u64 = 25_000;

/// The kernel's tick as recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelTick {
    /// How the tick was recognised.
    pub kind: TickKind,
    /// The number of recorded ticks. The kernel stops the tick on an idle CPU.
    pub ticks: u64,
    /// The time between two ticks while the tick is not stopped.
    pub period: Nanos,
    /// An instant at which a tick is due, on the grid that all CPUs share; `None` if
    /// due times were not recorded.
    pub due: Option<Instant<Monotonic>>,
}

impl KernelTick {
    /// Ticks per second, rounded: the kernel's `CONFIG_HZ`.
    #[doc(alias = "CONFIG_HZ")]
    pub fn hertz(&self) -> u64 {
        let period = self.period.as_nanos().max(1);
        (1_000_000_000 + period / 2) / period
    }
}

/// The events by which the tick was recognised.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum TickKind {
    /// A high-resolution timer that calls this function.
    Timer {
        /// The function's name.
        function: String,
    },
    /// Every interrupt of the local timer; the kernel has no high-resolution tick.
    Periodic,
}

/// Why the kernel's tick is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TickUnknown {
    /// The kernel hid the names of its functions from the recorder.
    Unnamed,
    /// The events of timers and their interrupts were not recorded, or there were none.
    NotRecorded,
    /// There were too few ticks to determine the period.
    TooRare,
}

impl fmt::Display for TickUnknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Unnamed => {
                "the kernel hid the names of its functions; record as root or with \
                 kernel.kptr_restrict=0"
            }
            Self::NotRecorded => "no tick was recorded",
            Self::TooRare => "too few ticks were recorded to determine their period",
        })
    }
}

/// What is known of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    NotAsked,
    Tick,
    Other,
}

/// Finds the tick in the events.
#[derive(Clone, Debug, Default)]
pub(super) struct TickFinder {
    /// What is known of each function, by its number.
    functions: Vec<Known>,
    function: Option<FunctionId>,
    /// Whether a timer's function had no name.
    unnamed: bool,
    pub(super) timer_ticks: u64,
    pub(super) vector_ticks: u64,
    /// When the next tick is due, by CPU.
    due: Vec<Option<Nanos>>,
    /// When the last local timer interrupt came, by CPU.
    vector_at: Vec<Option<Instant<Monotonic>>>,
    vector_gaps: Lengths,
    grid: Option<Nanos>,
    /// The greatest common divisor of all distances between due times.
    divisor: u64,
    /// The shortest distance between two due times.
    least: u64,
}

/// What an event means for the tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beat {
    /// The tick's timer handler begins.
    Timer,
    /// A local timer interrupt.
    Vector,
    /// Neither.
    None,
}

impl TickFinder {
    /// Takes an event and returns what it means for the tick.
    pub(super) fn event(&mut self, event: &Event, names: &Dictionary) -> Beat {
        match event.kind {
            EventKind::HrtimerStart { function, expires, .. } => {
                if self.is_tick(function, names) {
                    self.due(event.cpu, expires);
                }
                Beat::None
            }
            EventKind::HrtimerExpireEntry { function, .. } if self.is_tick(function, names) => {
                self.timer_ticks += 1;
                Beat::Timer
            }
            EventKind::VectorEntry(InterruptVector::LocalTimer) => {
                self.vector_ticks += 1;
                let last = slot(&mut self.vector_at, event.cpu);
                if let Some(last) = last.replace(event.at) {
                    self.vector_gaps.record(event.at - last);
                }
                Beat::Vector
            }
            _ => Beat::None,
        }
    }

    /// Whether a timer was recognised as the tick.
    pub(super) fn has_timer(&self) -> bool {
        self.function.is_some()
    }

    /// Whether every interrupt of the local timer counts as a tick: function names are
    /// known, and none of them is a tick function.
    pub(super) fn is_periodic(&self) -> bool {
        !self.has_timer() && !self.unnamed && self.vector_ticks > 0
    }

    /// A due time, once one is known.
    pub(super) fn grid(&self) -> Option<Instant<Monotonic>> {
        self.grid.map(|due| Instant::from_nanos(due.as_nanos()))
    }

    /// Whether `function` is known to be the tick's.
    pub(super) fn knows_as_tick(&self, function: FunctionId) -> bool {
        self.functions.get(function.index() as usize) == Some(&Known::Tick)
    }

    pub(super) fn finish(&self, names: &Dictionary) -> Result<KernelTick, TickUnknown> {
        let (kind, ticks, period) = match self.function {
            Some(function) => {
                let function = names.function_name(function).to_owned();
                (TickKind::Timer { function }, self.timer_ticks, self.period())
            }
            None if self.is_periodic() => {
                let gaps =
                    tactus_stats::LatencyHistogram::from_record(&self.vector_gaps.to_record());
                (TickKind::Periodic, self.vector_ticks, gaps.quantile(0.5))
            }
            None if self.unnamed => return Err(TickUnknown::Unnamed),
            None => return Err(TickUnknown::NotRecorded),
        };
        let period = period.ok_or(TickUnknown::TooRare)?;
        Ok(KernelTick { kind, ticks, period, due: self.grid() })
    }

    fn is_tick(&mut self, function: FunctionId, names: &Dictionary) -> bool {
        let index = function.index() as usize;
        if index >= self.functions.len() {
            self.functions.resize(index + 1, Known::NotAsked);
        }
        if self.functions[index] == Known::NotAsked {
            let name = names.function_name(function);
            if name == "?" {
                self.unnamed = true;
                return false;
            }
            let is_tick = TICK_FUNCTIONS.contains(&source_name(name));
            self.functions[index] = if is_tick { Known::Tick } else { Known::Other };
        }
        let is_tick = self.functions[index] == Known::Tick;
        if is_tick {
            self.function = Some(function);
        }
        is_tick
    }

    fn due(&mut self, cpu: u32, due: Nanos) {
        self.grid.get_or_insert(due);
        let last = slot(&mut self.due, cpu);
        let Some(last) = last.replace(due) else { return };
        let distance = due.as_nanos().abs_diff(last.as_nanos());
        if distance >= PERIOD_MIN {
            self.divisor = greatest_common_divisor(self.divisor, distance);
            self.least = if self.least == 0 { distance } else { self.least.min(distance) };
        }
    }

    /// The period according to due times, which the kernel keeps on one grid.
    fn period(&self) -> Option<Nanos> {
        let period = if self.divisor >= PERIOD_MIN { self.divisor } else { self.least };
        (period > 0).then(|| Nanos::from_nanos(period))
    }
}

fn slot<T>(slots: &mut Vec<Option<T>>, cpu: u32) -> &mut Option<T> {
    let index = cpu.min(tactus_model::cpus::CpuList::LIMIT) as usize;
    if index >= slots.len() {
        slots.resize_with(index + 1, || None);
    }
    &mut slots[index]
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}
