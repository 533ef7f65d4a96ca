//! Gives a copy the CPUs and the policy of the plan, or the best that is permitted.

use tactus_model::cpus::CpuChoice;
use tactus_model::load::LoadPlan;
use tactus_model::policy::Scheduling;
use tactus_model::result::Shortfall;
use tactus_prepare::ThreadRef;

use crate::error::{During, LoadError};
use crate::not_granted::NotGranted;

/// Confines the calling thread to the plan's CPUs and gives it the plan's class. Threads and
/// processes that it creates later inherit both.
///
/// The CPUs come first: a copy runs nowhere else, even if that costs it a deadline.
/// `makes_tasks` says whether the copy will create threads or processes. Returns what was not
/// granted.
pub(crate) fn apply(plan: &LoadPlan, makes_tasks: bool) -> Result<Vec<NotGranted>, LoadError> {
    let copy = ThreadRef::Calling;
    let mut missing = Vec::new();
    if let CpuChoice::These(cpus) = &plan.cpus {
        let refused = copy.pin(cpus).during("confine the load to its CPUs")?;
        missing.extend(refused.map(NotGranted::ToThread));
    }
    let scheduling = match plan.scheduling {
        Scheduling::Deadline { .. } if makes_tasks => {
            missing.push(NotGranted::Known(no_tasks_by_deadline(plan)));
            Scheduling::ORDINARY
        }
        scheduling => scheduling,
    };
    let refused =
        copy.schedule(scheduling).during(&format!("schedule the load as {scheduling}"))?;
    missing.extend(refused.map(NotGranted::ToThread));
    Ok(missing)
}

fn no_tasks_by_deadline(plan: &LoadPlan) -> Shortfall {
    Shortfall {
        asked: format!("load-policy {}", plan.scheduling),
        granted: format!("load-policy {}", Scheduling::ORDINARY),
        reason: format!(
            "the load {} creates threads or processes, which the kernel forbids to tasks of the deadline class (sched(7))",
            plan.load
        ),
        fix: Some("use load-policy = \"fifo:1\", or a load of one task such as compute".to_owned()),
    }
}
