//! What a machine must be like for its figures to stand beside a paper's.

use serde::Deserialize;
use tactus_model::facts::MachineFacts;
use tactus_model::format::count;

/// Demands on the machine; what is none is not demanded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Condition {
    /// Whether the kernel preempts itself.
    pub preemption: Option<Preemption>,
    /// How many ticks a second the kernel has.
    pub tick_rate: Option<u32>,
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
            Aspect::TickRate => Self { tick_rate: None, ..condition },
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
    let wanted = condition.tick_rate?;
    let has = match facts.kernel.tick_rate_hz {
        Some(rate) if rate == wanted => return None,
        Some(rate) => format!("has {}", count(rate.into())),
        None => "does not tell how many it has".to_owned(),
    };
    Some(format!("it needs a kernel of {} ticks a second; this one {has}", count(wanted.into())))
}
