//! The best scheduling that is permitted instead of one that was refused.

use tactus_model::facts::{MachineFacts, PermissionFacts};
use tactus_model::policy::{RealtimePriority, Scheduling};

/// The most favoured nice value there is.
const NICE_BEST: i8 = -20;

/// The best scheduling to try after the kernel refused `refused`.
///
/// It is always a lesser one, so whoever tries its answer, and asks again when
/// that is refused too, comes after a few turns to time sharing at the nice
/// value the process already has. That one is never refused, and for it the
/// answer is itself.
///
/// What is not known counts as not permitted.
pub fn best_permitted(refused: Scheduling, facts: &MachineFacts) -> Scheduling {
    let permission = &facts.permission;
    match refused {
        Scheduling::Fifo(priority) => {
            below(priority.get(), permission).map_or_else(|| favoured(permission), Scheduling::Fifo)
        }
        Scheduling::RoundRobin(priority) => below(priority.get(), permission)
            .map_or_else(|| favoured(permission), Scheduling::RoundRobin),
        // A deadline task goes before every fixed priority, so the highest of
        // those is its nearest neighbour: 100 stands for just above them.
        Scheduling::Deadline { .. } => {
            below(100, permission).map_or_else(|| favoured(permission), Scheduling::Fifo)
        }
        Scheduling::Other { nice } => Scheduling::Other { nice: less_favoured(nice, permission) },
        Scheduling::Batch { nice } => match less_favoured(nice, permission) {
            // The class itself was refused.
            same if same == nice => Scheduling::Other { nice },
            lesser => Scheduling::Batch { nice: lesser },
        },
        Scheduling::Idle => Scheduling::Other { nice: own_nice(permission) },
    }
}

/// The highest permitted priority below `priority`, if the refusal can have been
/// about its height at all.
fn below(priority: u8, permission: &PermissionFacts) -> Option<RealtimePriority> {
    let highest = if permission.holds("CAP_SYS_NICE") == Some(true) {
        // With the capability every priority is permitted alike, so a lower one
        // will be refused for the same reason.
        if priority <= 99 {
            return None;
        }
        99
    } else {
        permission.rtprio_limit.unwrap_or(0).min(99) as u8
    };
    if highest < priority { RealtimePriority::new(highest) } else { None }
}

/// Time sharing at the most favoured permitted nice value.
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

/// The most favoured permitted nice value after `nice` was refused: the limit
/// when it is lesser, else the value we have, which needs no permission.
fn less_favoured(nice: i8, permission: &PermissionFacts) -> i8 {
    let best = best_nice(permission);
    if best > nice { best } else { own_nice(permission) }
}
