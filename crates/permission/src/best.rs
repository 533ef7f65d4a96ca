//! The best scheduling that is permitted instead of one that was refused.

use tactus_model::facts::{MachineFacts, PermissionFacts};
use tactus_model::policy::{RealtimePriority, Scheduling};

/// The most favourable nice value.
const NICE_BEST: i8 = -20;

/// The best scheduling to try after the kernel refused `refused`.
///
/// The result is always weaker than `refused`. A caller that tries it, and calls
/// again if the kernel refuses it too, reaches time sharing at the current nice
/// value of the process after a few steps. The kernel never refuses that; for it,
/// this function returns its argument.
///
/// Unknown permissions count as not granted.
pub fn best_permitted(refused: Scheduling, facts: &MachineFacts) -> Scheduling {
    let permission = &facts.permission;
    match refused {
        Scheduling::Fifo(priority) => {
            below(priority.get(), permission).map_or_else(|| favoured(permission), Scheduling::Fifo)
        }
        Scheduling::RoundRobin(priority) => below(priority.get(), permission)
            .map_or_else(|| favoured(permission), Scheduling::RoundRobin),
        // A deadline task runs before every fixed priority, so the highest fixed
        // priority is the closest substitute: 100 means just above all of them.
        Scheduling::Deadline { .. } => {
            below(100, permission).map_or_else(|| favoured(permission), Scheduling::Fifo)
        }
        Scheduling::Other { nice } => Scheduling::Other { nice: less_favoured(nice, permission) },
        Scheduling::Batch { nice } => match less_favoured(nice, permission) {
            // The kernel refused the class itself.
            same if same == nice => Scheduling::Other { nice },
            lesser => Scheduling::Batch { nice: lesser },
        },
        Scheduling::Idle => Scheduling::Other { nice: own_nice(permission) },
    }
}

/// The highest permitted priority below `priority`; `None` if a lower priority would
/// be refused for the same reason.
fn below(priority: u8, permission: &PermissionFacts) -> Option<RealtimePriority> {
    let highest = if permission.holds("CAP_SYS_NICE") == Some(true) {
        // The capability permits all priorities equally, so the refusal has another
        // cause, which holds for lower priorities too.
        if priority <= 99 {
            return None;
        }
        99
    } else {
        permission.rtprio_limit.unwrap_or(0).min(99) as u8
    };
    if highest < priority { RealtimePriority::new(highest) } else { None }
}

/// Time sharing at the most favourable permitted nice value.
fn favoured(permission: &PermissionFacts) -> Scheduling {
    Scheduling::Other { nice: best_nice(permission) }
}

fn own_nice(permission: &PermissionFacts) -> i8 {
    permission.nice.unwrap_or(0)
}

fn best_nice(permission: &PermissionFacts) -> i8 {
    if permission.holds("CAP_SYS_NICE") == Some(true) {
        return NICE_BEST;
    }
    let limit = permission.nice_limit.unwrap_or(20);
    limit.min(own_nice(permission)).max(NICE_BEST)
}

/// The most favourable permitted nice value after `nice` was refused: the limit if
/// it is weaker than `nice`, otherwise the current value, which needs no permission.
fn less_favoured(nice: i8, permission: &PermissionFacts) -> i8 {
    let best = best_nice(permission);
    if best > nice { best } else { own_nice(permission) }
}
