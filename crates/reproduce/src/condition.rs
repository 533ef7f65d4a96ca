//! Conditions on a machine for comparing its figures with a paper's.

use serde::Deserialize;
use tactus_model::facts::MachineFacts;
use tactus_model::format::{THIN_SPACE, count};
use tactus_model::guest::Guest;

/// Requirements on the machine; `None` requires nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Condition {
    /// Whether the kernel is preemptible.
    pub preemption: Option<Preemption>,
    /// The kernel's tick rate in Hz.
    pub tick_rate: Option<u32>,
    /// The tick rate in Hz of a kernel whose timers expire only at ticks. A kernel with precise
    /// timers always meets it, since ticks of any rate can be simulated on its recording.
    pub timer_ticks: Option<u32>,
}

/// A requirement of a [`Condition`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Aspect {
    /// Whether the kernel is preemptible.
    Preemption,
    /// The kernel's tick rate.
    TickRate,
}

impl Condition {
    /// The condition without the requirements about `aspects`.
    #[must_use]
    pub fn without(self, aspects: &[Aspect]) -> Self {
        aspects.iter().fold(self, |condition, aspect| match aspect {
            Aspect::Preemption => Self { preemption: None, ..condition },
            Aspect::TickRate => Self { tick_rate: None, timer_ticks: None, ..condition },
        })
    }
}

/// Whether a more urgent task preempts a task that runs in the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preemption {
    /// It does, except where the task holds a lock: `full`, `lazy` and `rt`.
    On,
    /// It does only at preemption points or on the return to user mode: `none` and `voluntary`.
    Off,
}

impl Preemption {
    /// The effect of a kernel's preemption model on a real-time task; `None` for an unknown
    /// model.
    pub fn of_model(model: &str) -> Option<Self> {
        match model {
            "full" | "lazy" | "rt" => Some(Self::On),
            "none" | "voluntary" => Some(Self::Off),
            _ => None,
        }
    }
}

/// A feature that a figure or a claim needs and that a guest or an old kernel may lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Need {
    /// Block devices with DMA.
    BlockDevices,
    /// Caches and address translation, which change the duration of the same instructions.
    Caches,
    /// Timers that expire when they are due: latency does not include a wait for a tick.
    PreciseTimers,
    /// Timers that expire only at ticks, like those of old kernels.
    TimersOnTicks,
}

/// The first of `needs` that a machine lacks, in a sentence; `None` if it has all of them.
/// `guest` is the guest that the figures are from.
pub fn lacking(needs: &[Need], guest: Option<&Guest>, facts: &MachineFacts) -> Option<String> {
    let is_exact = guest.is_some_and(|guest| guest.time.is_exact());
    let reason = needs.iter().find_map(|need| match need {
        Need::BlockDevices if guest.is_some() => {
            Some("it is about transfers of block devices, and guests have no block device")
        }
        Need::Caches if is_exact => {
            Some("it is about the cost of caches, which deterministic time does not model")
        }
        Need::PreciseTimers if facts.kernel.high_resolution_timers == Some(false) => Some(
            "the paper counts latency from the tick that serves a timer; here it counts from the \
             due time, up to a tick earlier",
        ),
        Need::TimersOnTicks if facts.kernel.high_resolution_timers != Some(false) => {
            Some("it needs a kernel whose timers expire only at ticks")
        }
        Need::BlockDevices | Need::Caches | Need::PreciseTimers | Need::TimersOnTicks => None,
    });
    reason.map(str::to_owned)
}

/// Why a machine does not meet a condition, in a sentence; `None` if it does.
pub fn unmet(condition: &Condition, facts: &MachineFacts) -> Option<String> {
    preemption(condition, facts).or_else(|| ticks(condition, facts))
}

fn preemption(condition: &Condition, facts: &MachineFacts) -> Option<String> {
    let wanted = condition.preemption?;
    let Some(model) = facts.kernel.preemption.as_deref() else {
        return Some(
            "the preemption model of this kernel is unknown (`--preemption` sets it)".to_owned(),
        );
    };
    if Preemption::of_model(model) == Some(wanted) {
        return None;
    }
    let wanted = match wanted {
        Preemption::On => "preemptible kernel (preempt=full)",
        Preemption::Off => "non-preemptible kernel (preempt=none or voluntary)",
    };
    Some(format!("it needs a {wanted}; this kernel has preempt={model}"))
}

fn ticks(condition: &Condition, facts: &MachineFacts) -> Option<String> {
    let is_coarse = facts.kernel.high_resolution_timers == Some(false);
    let wanted = condition.tick_rate.or(condition.timer_ticks.filter(|_| is_coarse))?;
    let has = match facts.kernel.tick_rate_hz {
        Some(rate) if rate == wanted => return None,
        Some(rate) => format!("this kernel has {}{THIN_SPACE}Hz", count(rate.into())),
        None => "the tick rate of this kernel is unknown".to_owned(),
    };
    Some(format!(
        "it needs a kernel with a tick rate of {}{THIN_SPACE}Hz; {has}",
        count(wanted.into())
    ))
}
