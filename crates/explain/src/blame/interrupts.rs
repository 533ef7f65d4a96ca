//! Interrupts, softirqs and timers by name.

use tactus_model::recording::{Dictionary, InterruptVector, Softirq};

use crate::cause::Cause;
use crate::machine::Activity;

/// Whether a CPU in this activity serves an interrupt or a softirq: it neither runs a thread nor
/// is idle.
pub(super) const fn is_one(activity: Activity) -> bool {
    !activity.is_idle() && !activity.is_thread()
}

/// The cause of time in which a CPU served an interrupt or a softirq; `None` if it
/// ran a thread or was idle.
///
/// The innermost open activity counts, so an interrupt within a softirq takes only its
/// own time (DESIGN, "an irq or softirq span open").
pub(super) fn cause(cpu: u32, activity: Activity, names: &Dictionary) -> Option<Cause> {
    match activity {
        Activity::Idle { .. } | Activity::Thread | Activity::Reclaim => None,
        Activity::Vector(InterruptVector::LocalTimer) => {
            Some(Cause::TimerWork { function: None, cpu })
        }
        Activity::Vector(vector) => Some(Cause::Vector { vector, cpu }),
        Activity::Irq { name, .. } => {
            Some(Cause::Interrupt { name: names.name(name).to_owned(), cpu })
        }
        Activity::Softirq(softirq) => Some(Cause::Softirq { softirq, cpu }),
        Activity::Timer { function } => {
            let function = Some(names.function_name(function).to_owned());
            Some(Cause::TimerWork { function, cpu })
        }
        // Jiffies timers run only in the timer softirq.
        Activity::JiffyTimer { .. } => Some(Cause::Softirq { softirq: Softirq::TIMER, cpu }),
    }
}

/// The name of an interrupt or softirq that a thread waited for.
pub(crate) fn name(activity: Activity, names: &Dictionary) -> String {
    match activity {
        Activity::Vector(vector) => vector.to_string(),
        Activity::Irq { name, .. } => names.name(name).to_owned(),
        Activity::Softirq(softirq) => softirq.to_string(),
        Activity::Timer { function } | Activity::JiffyTimer { function } => {
            names.function_name(function).to_owned()
        }
        Activity::Idle { .. } | Activity::Thread | Activity::Reclaim => "?".to_owned(),
    }
}
