//! Puts a copy where the plan wants it, or as near as is permitted.

use std::path::Path;

use tactus_model::cpus::{CpuChoice, CpuList};
use tactus_model::load::LoadPlan;
use tactus_model::policy::Scheduling;
use tactus_model::result::Shortfall;
use tactus_sys::permission::best_permitted;
use tactus_sys::{affinity, facts, sched};

use crate::error::{During, LoadError};
use crate::not_granted::NotGranted;

/// Confines the calling thread to the plan's processors and gives it the plan's class;
/// threads and processes that it makes later inherit both.
///
/// `makes_tasks` tells whether there will be such threads or processes. Answers what
/// was not granted.
pub(crate) fn apply(plan: &LoadPlan, makes_tasks: bool) -> Result<Vec<NotGranted>, LoadError> {
    let mut missing = Vec::new();
    let mut confined_to = None;
    if let CpuChoice::These(cpus) = &plan.cpus {
        match affinity::set(cpus) {
            Ok(()) => confined_to = Some(cpus.clone()),
            Err(refused) => missing.push(NotGranted::Processors {
                asked: cpus.clone(),
                errno: refused.errno.raw_os_error(),
            }),
        }
    }
    let scheduling = match plan.scheduling {
        Scheduling::Deadline { .. } if makes_tasks => {
            missing.push(NotGranted::Known(no_tasks_by_deadline(plan)));
            Scheduling::ORDINARY
        }
        scheduling => scheduling,
    };
    missing.extend(schedule(scheduling, confined_to)?);
    Ok(missing)
}

/// Gives the calling thread a class, or the best that is permitted.
fn schedule(
    asked: Scheduling,
    confined_to: Option<CpuList>,
) -> Result<Option<NotGranted>, LoadError> {
    // What is there already needs no permission, so it is not asked for: an ordinary
    // user must not set even the nice value he has, when it is below his limit.
    if sched::get().is_ok_and(|current| current == asked) {
        return Ok(None);
    }
    let Err(refused) = sched::set(asked) else { return Ok(None) };
    let facts = facts::read(Path::new("/"));
    let mut granted = asked;
    // Every turn takes a lesser class, so this ends; its limit is for the case that
    // the facts are wrong.
    const ATTEMPTS: u32 = 8;
    for _ in 0..ATTEMPTS {
        granted = best_permitted(granted, &facts);
        if sched::set(granted).is_ok() {
            let errno = refused.errno.raw_os_error();
            return Ok(Some(NotGranted::Scheduling { asked, confined_to, granted, errno }));
        }
    }
    Err(refused).during(&format!("schedule the load as {asked}, or as anything less"))
}

fn no_tasks_by_deadline(plan: &LoadPlan) -> Shortfall {
    Shortfall {
        asked: format!("load-policy {}", plan.scheduling),
        granted: format!("load-policy {}", Scheduling::ORDINARY),
        reason: format!(
            "the load {} makes threads or processes, and the kernel lets no task of the deadline class make any (sched(7))",
            plan.load
        ),
        fix: Some(
            "take load-policy = \"fifo:1\", or a load of one task such as compute".to_owned(),
        ),
    }
}
