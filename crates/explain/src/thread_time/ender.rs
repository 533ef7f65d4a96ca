//! What ends a sleep.

use std::fmt;

use serde::{Deserialize, Serialize};
use tactus_model::recording::{Dictionary, FunctionId, InterruptVector, NameId, Softirq, ThreadId};
use tactus_model::time::{Instant, Nanos};

use super::classify::ended_by_own_timer;
use crate::blame::Scene;
use crate::machine::{Absence, Activity, Machine, Waker, Waking};

/// What ended a sleep.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "kebab-case")]
pub enum Ender {
    /// The thread's own timer.
    OwnTimer,
    /// Another timer, which calls this function.
    Timer {
        /// The function.
        function: String,
    },
    /// A thread.
    Thread {
        /// Its name.
        name: String,
        /// Its thread id; `None` for all threads of that name.
        thread: Option<ThreadId>,
    },
    /// A device's interrupt.
    Interrupt {
        /// The handler's name.
        name: String,
    },
    /// An interrupt of the CPU itself.
    Vector {
        /// The vector.
        vector: InterruptVector,
    },
    /// A softirq.
    Softirq {
        /// The softirq.
        softirq: Softirq,
        /// The device's interrupt that its CPU had served just before, which raised it.
        device: Option<String>,
    },
    /// An interrupt on an idle CPU, without events of its own.
    UnrecordedInterrupt,
    /// The wakeup was not recorded.
    Unknown,
    /// Nothing: the recording or the thread ended first.
    Nothing,
    /// More than are kept apart.
    Others,
}

/// An ender without its names, which compares fast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EnderKey {
    OwnTimer,
    Timer(FunctionId),
    Thread(ThreadId, NameId),
    Interrupt(NameId),
    Vector(InterruptVector),
    Softirq(Softirq, Option<NameId>),
    UnrecordedInterrupt,
    Unknown,
    Nothing,
    Others,
}

impl EnderKey {
    /// What ended an absence.
    pub(super) fn of(absence: &Absence, scene: &Scene<'_>) -> Self {
        let Some(waking) = absence.waking else {
            return if absence.is_over() { Self::Unknown } else { Self::Nothing };
        };
        if ended_by_own_timer(absence, scene.names) {
            return Self::OwnTimer;
        }
        match waking.by {
            Waker::Timer(fire) => Self::Timer(fire.function),
            Waker::Thread(thread) if thread.is_idle() => Self::UnrecordedInterrupt,
            Waker::Thread(thread) => Self::Thread(thread, scene.machine.known(thread).0),
            Waker::Interrupt(activity) => match activity {
                Activity::Irq { name, .. } => Self::Interrupt(name),
                Activity::Vector(vector) => Self::Vector(vector),
                Activity::Softirq(softirq) => Self::Softirq(softirq, device_before(scene, &waking)),
                Activity::Timer { function } | Activity::JiffyTimer { function } => {
                    Self::Timer(function)
                }
                Activity::Idle { .. } | Activity::Thread | Activity::Reclaim => Self::Unknown,
            },
        }
    }

    /// The same with all threads of one name together. A thread whose name is not known yet stays
    /// apart.
    pub(super) fn by_name(self) -> Self {
        match self {
            Self::Thread(_, name) if name != NameId::UNKNOWN => Self::Thread(ThreadId::IDLE, name),
            other => other,
        }
    }

    /// The same by name, with the name that the thread has by now.
    pub(super) fn by_later_name(self, machine: &Machine) -> Self {
        match self {
            Self::Thread(thread, NameId::UNKNOWN) => {
                Self::Thread(ThreadId::IDLE, machine.known(thread).0)
            }
            other => other.by_name(),
        }
    }

    pub(super) fn named(self, names: &Dictionary) -> Ender {
        match self {
            Self::OwnTimer => Ender::OwnTimer,
            Self::Timer(function) => {
                Ender::Timer { function: names.function_name(function).to_owned() }
            }
            Self::Thread(thread, name) => Ender::Thread {
                name: names.name(name).to_owned(),
                thread: (!thread.is_idle()).then_some(thread),
            },
            Self::Interrupt(name) => Ender::Interrupt { name: names.name(name).to_owned() },
            Self::Vector(vector) => Ender::Vector { vector },
            Self::Softirq(softirq, device) => {
                Ender::Softirq { softirq, device: device.map(|name| names.name(name).to_owned()) }
            }
            Self::UnrecordedInterrupt => Ender::UnrecordedInterrupt,
            Self::Unknown => Ender::Unknown,
            Self::Nothing => Ender::Nothing,
            Self::Others => Ender::Others,
        }
    }
}

/// How long before a softirq wakes a thread the interrupt that raised it may have ended: a softirq
/// may serve a whole batch.
const RAISED_WITHIN: Nanos = Nanos::from_millis(2);

/// How many slices of its CPU before a wakeup are looked through for that interrupt.
const SLICES_BEFORE: usize = 64;

/// The device whose interrupt a CPU had served just before a softirq on it woke a thread.
fn device_before(scene: &Scene<'_>, waking: &Waking) -> Option<NameId> {
    let before = scene.log.between(Instant::from_nanos(0), waking.at).slices(waking.cpu);
    let before = before.iter().rev().take(SLICES_BEFORE);
    let mut before = before.take_while(|slice| waking.at - slice.to <= RAISED_WITHIN);
    before.find_map(|slice| match slice.activity {
        Activity::Irq { name, .. } => Some(name),
        _ => None,
    })
}

impl Ender {
    /// What ended an absence.
    pub(super) fn of(absence: &Absence, scene: &Scene<'_>) -> Self {
        EnderKey::of(absence, scene).named(scene.names)
    }
}

impl fmt::Display for Ender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OwnTimer => f.write_str("its own timer"),
            Self::Timer { function } => write!(f, "timer {function}"),
            Self::Thread { name, thread } => {
                let is_unknown = name == Dictionary::UNKNOWN_NAME;
                let name = if is_unknown { "an unknown thread" } else { name };
                match thread {
                    Some(thread) => write!(f, "{name} ({thread})"),
                    None => f.write_str(name),
                }
            }
            Self::Interrupt { name } => write!(f, "interrupt {name}"),
            Self::Vector { vector } => write!(f, "interrupt {vector}"),
            Self::Softirq { softirq, device: Some(device) } => {
                write!(f, "softirq {softirq} (interrupt {device})")
            }
            Self::Softirq { softirq, device: None } => write!(f, "softirq {softirq}"),
            Self::UnrecordedInterrupt => f.write_str("an interrupt without events"),
            Self::Unknown => f.write_str("unknown"),
            Self::Nothing => f.write_str("nothing yet"),
            Self::Others => f.write_str("others"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_without_a_name_is_called_unknown() {
        let shown = |thread| Ender::Thread { name: "?".to_owned(), thread }.to_string();
        assert_eq!(shown(None), "an unknown thread");
        assert_eq!(shown(Some(ThreadId(7))), "an unknown thread (7)");
    }
}
