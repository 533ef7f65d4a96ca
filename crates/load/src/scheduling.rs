//! Puts a copy where the plan wants it, or as near as is permitted.

use std::path::Path;

use tactus_model::cpus::{CpuChoice, CpuList};
use tactus_model::load::LoadPlan;
use tactus_model::policy::Scheduling;
use tactus_model::result::Shortfall;
use tactus_sys::permission::{Asked, Diagnosis, best_permitted, diagnose};
use tactus_sys::{SysError, affinity, facts, sched};

use crate::error::{During, LoadError};

/// Confines the calling thread to the plan's processors and gives it the plan's class;
/// threads and processes that it makes later inherit both.
///
/// `makes_tasks` tells whether there will be such threads or processes. Answers what
/// was not granted.
pub(crate) fn apply(plan: &LoadPlan, makes_tasks: bool) -> Result<Vec<Shortfall>, LoadError> {
    let mut shortfalls = Vec::new();
    let confined_to = match &plan.cpus {
        CpuChoice::All => None,
        CpuChoice::These(cpus) => match affinity::set(cpus) {
            Ok(()) => Some(cpus.clone()),
            Err(refused) => {
                shortfalls.push(not_confined(cpus, refused));
                None
            }
        },
    };
    let scheduling = match plan.scheduling {
        Scheduling::Deadline { .. } if makes_tasks => {
            shortfalls.push(no_tasks_by_deadline(plan));
            Scheduling::ORDINARY
        }
        scheduling => scheduling,
    };
    shortfalls.extend(schedule(scheduling, confined_to)?);
    Ok(shortfalls)
}

/// Gives the calling thread a class, or the best that is permitted.
fn schedule(
    scheduling: Scheduling,
    confined_to: Option<CpuList>,
) -> Result<Option<Shortfall>, LoadError> {
    // What is there already needs no permission: an ordinary user cannot set even
    // the nice value that he has, when it is below what his limit allows.
    if sched::get().is_ok_and(|current| current == scheduling) {
        return Ok(None);
    }
    let Err(refused) = sched::set(scheduling) else { return Ok(None) };
    let facts = facts::read(Path::new("/"));
    let mut next = best_permitted(scheduling, &facts);
    // Every turn takes a lesser class, so this ends; its limit is for the case that
    // the facts are wrong.
    const ATTEMPTS: u32 = 8;
    for _ in 0..ATTEMPTS {
        if sched::set(next).is_ok() {
            let asked = Asked::Scheduling { scheduling, confined_to };
            let diagnosis = diagnose(&asked, refused.errno, &facts);
            return Ok(Some(shortfall("load-policy", scheduling, next, diagnosis)));
        }
        next = best_permitted(next, &facts);
    }
    Err(refused).during(&format!("schedule the load as {scheduling}, or as anything less"))
}

fn not_confined(cpus: &CpuList, refused: SysError) -> Shortfall {
    let facts = facts::read(Path::new("/"));
    let diagnosis = diagnose(&Asked::Processors(cpus.clone()), refused.errno, &facts);
    shortfall("load-cpus", cpus, &CpuChoice::All, diagnosis)
}

fn no_tasks_by_deadline(plan: &LoadPlan) -> Shortfall {
    let diagnosis = Diagnosis {
        reason: format!(
            "the load {} makes threads or processes, and the kernel lets no task of the deadline class make any (sched(7))",
            plan.load
        ),
        mend: Some(
            "take load-policy = \"fifo:1\", or a load of one task such as compute".to_owned(),
        ),
    };
    shortfall("load-policy", plan.scheduling, Scheduling::ORDINARY, diagnosis)
}

fn shortfall(
    setting: &str,
    asked: impl std::fmt::Display,
    granted: impl std::fmt::Display,
    diagnosis: Diagnosis,
) -> Shortfall {
    Shortfall {
        asked: format!("{setting} {asked}"),
        granted: format!("{setting} {granted}"),
        reason: diagnosis.reason,
        mend: diagnosis.mend,
    }
}
