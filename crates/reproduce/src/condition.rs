//! What a machine must be like for its figures to stand beside a paper's.

use serde::Deserialize;
use tactus_model::facts::MachineFacts;
use tactus_model::format::count;
use tactus_model::guest::Guest;

/// Demands on the machine; what is none is not demanded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Condition {
    /// Whether the kernel preempts itself.
    pub preemption: Option<Preemption>,
    /// How many ticks a second the kernel has.
    pub tick_rate: Option<u32>,
    /// How many ticks a second the kernel has where its timers expire at those alone. One
    /// whose timers are precise meets it, since ticks of any rate can be laid over what it did.
    pub timer_ticks: Option<u32>,
}

/// One of the demands of a [`Condition`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Aspect {
    /// Whether the kernel preempts itself.
    Preemption,
    /// How many ticks a second the kernel has.
    TickRate,
}

impl Condition {
    /// The same without the demands about `aspects`.
    #[must_use]
    pub fn without(self, aspects: &[Aspect]) -> Self {
        aspects.iter().fold(self, |condition, aspect| match aspect {
            Aspect::Preemption => Self { preemption: None, ..condition },
            Aspect::TickRate => Self { tick_rate: None, timer_ticks: None, ..condition },
        })
    }
}

/// Whether a task in the kernel gives way to a more urgent one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preemption {
    /// It does, but where it holds a lock: `full`, `lazy` and `rt`.
    On,
    /// It does at points of its own choice or on its way out: `none` and `voluntary`.
    Off,
}

impl Preemption {
    /// What a kernel's preemption model comes to for a real-time task; none for a
    /// model that is not known.
    pub fn of_model(model: &str) -> Option<Self> {
        match model {
            "full" | "lazy" | "rt" => Some(Self::On),
            "none" | "voluntary" => Some(Self::Off),
            _ => None,
        }
    }
}

/// What a figure or a claim is about and a guest, or an old kernel, may not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Need {
    /// Devices that move blocks by themselves.
    BlockDevices,
    /// Caches and address translation, which make the same instructions take longer.
    Caches,
    /// Timers that expire when they are due: what is later is the kernel's doing, and not the
    /// wait for a tick.
    PreciseTimers,
    /// Timers that expire at ticks alone, as those of old kernels.
    TimersOnTicks,
}

/// Which of these a machine has not, in a sentence; none where it has all. A guest lacks
/// what others have.
pub fn lacking(needs: &[Need], guest: Option<&Guest>, facts: &MachineFacts) -> Option<String> {
    let is_exact = guest.is_some_and(|guest| guest.time.is_exact());
    let reason = needs.iter().find_map(|need| match need {
        Need::BlockDevices if guest.is_some() => {
            Some("it is about transfers of block devices, and guests are given none")
        }
        Need::Caches if is_exact => {
            Some("it is about what caches cost, and exact time does not know them")
        }
        Need::PreciseTimers if facts.kernel.high_resolution_timers == Some(false) => Some(
            "the paper counts from the tick that serves a timer; here latencies are counted from \
             when it was due, up to a tick before",
        ),
        Need::TimersOnTicks if facts.kernel.high_resolution_timers != Some(false) => {
            Some("it needs a kernel whose timers expire at ticks alone")
        }
        Need::BlockDevices | Need::Caches | Need::PreciseTimers | Need::TimersOnTicks => None,
    });
    reason.map(str::to_owned)
}

/// Why a machine does not meet a condition, in a sentence; none when it does.
pub fn unmet(condition: &Condition, facts: &MachineFacts) -> Option<String> {
    preemption(condition, facts).or_else(|| ticks(condition, facts))
}

fn preemption(condition: &Condition, facts: &MachineFacts) -> Option<String> {
    let wanted = condition.preemption?;
    let Some(model) = facts.kernel.preemption.as_deref() else {
        return Some(
            "this kernel does not tell whether it preempts itself (--preemption can say it)"
                .to_owned(),
        );
    };
    if Preemption::of_model(model) == Some(wanted) {
        return None;
    }
    let wanted = match wanted {
        Preemption::On => "preempts itself (preempt=full)",
        Preemption::Off => "does not preempt itself (preempt=none or voluntary)",
    };
    Some(format!("it needs a kernel that {wanted}; this one has preempt={model}"))
}

fn ticks(condition: &Condition, facts: &MachineFacts) -> Option<String> {
    let is_coarse = facts.kernel.high_resolution_timers == Some(false);
    let wanted = condition.tick_rate.or(condition.timer_ticks.filter(|_| is_coarse))?;
    let has = match facts.kernel.tick_rate_hz {
        Some(rate) if rate == wanted => return None,
        Some(rate) => format!("has {}", count(rate.into())),
        None => "does not tell how many it has".to_owned(),
    };
    Some(format!("it needs a kernel of {} ticks a second; this one {has}", count(wanted.into())))
}
