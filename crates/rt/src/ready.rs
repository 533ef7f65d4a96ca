//! Preparing the calling thread by the options of its builder.

use std::sync::Arc;

use tactus_lint::Lint;
use tactus_model::policy::Scheduling;
use tactus_model::recording::ThreadId;
use tactus_model::reserve::Capacity;
use tactus_model::result::Shortfall;
use tactus_model::time::Nanos;
use tactus_prepare::{Preparation, Prepared, ThreadRef, touch_stack};
use tactus_reserve::{Reserve, Rung};
use tactus_sys::memory::Lock;
use tactus_sys::section::HANDLER_STACK;
use tactus_sys::thread::current_id;

use crate::job::{Recovery, Shared};
use crate::observed::{Marks, Observed};
use crate::refused::Refused;
use crate::report::Reporter;
use crate::supervisor::{Charge, Supervisor};
use crate::thread::{Options, Policy};

/// What a prepared thread holds while it runs.
pub(crate) struct Ready {
    reporter: Reporter,
    /// What a demotion takes; `None` with a reserve.
    scheduling: Option<Scheduling>,
    /// Ends before the reserve, which returns the thread to its policy.
    _supervisor: Option<Supervisor>,
    _reserve: Option<Reserve>,
}

/// What a prepared thread has.
#[derive(Debug)]
pub(crate) struct Description {
    pub(crate) id: ThreadId,
    pub(crate) rung: Option<Rung>,
    pub(crate) prepared: Prepared,
}

impl Ready {
    /// Prepares the calling thread, guarded by `lint` if it is watched.
    pub(crate) fn prepare(
        options: &Options,
        shared: &Shared,
        lint: Option<Arc<Lint>>,
    ) -> Result<(Self, Observed, Description), Refused> {
        let mut preparation = Preparation::new();
        preparation.set_timer_slack(Nanos::ZERO)?;
        let mut others = Vec::new();
        let (scheduling, reserve) = place(options, &mut preparation, &mut others)?;
        let (inbox, name) = (options.process.inbox(), options.name.clone());
        let reporter = Reporter { inbox, name, thread: current_id() };
        let supervisor = supervise(options, shared, &reporter, scheduling)?;
        let marks = options.is_marked.then(|| Marks::open(&options.name));
        let marks = marks.and_then(|opened| opened.map_err(|missing| others.push(missing)).ok());
        let guard = lint.map(|lint| lint.guard()).transpose()?;
        // In a watched job, handlers need stack beneath that of the body.
        touch_stack(options.stack + guard.as_ref().map_or(0, |_| HANDLER_STACK));
        // Last: it locks what is mapped by then.
        if options.process.locks_memory() {
            preparation.lock_memory(Lock::Present);
        }
        let mut prepared = preparation.finish()?;
        prepared.shortfalls.append(&mut others);
        prepared.shortfalls.extend(supervisor.iter().flat_map(|own| own.shortfalls.clone()));
        let rung = reserve.as_ref().map(Reserve::rung);
        let description = Description { id: reporter.thread, rung, prepared };
        let observed = Observed { marks, guard };
        let ready = Self { reporter, scheduling, _supervisor: supervisor, _reserve: reserve };
        Ok((ready, observed, description))
    }

    /// How the thread recovers from a failed job.
    pub(crate) fn recovery(&self, options: &Options) -> Recovery {
        Recovery {
            restart: options.restart,
            reporter: self.reporter.clone(),
            scheduling: self.scheduling,
        }
    }
}

/// Gives the calling thread its CPUs and its policy or reserve; returns the policy that it got
/// without a reserve, and the reserve.
fn place(
    options: &Options,
    preparation: &mut Preparation,
    shortfalls: &mut Vec<Shortfall>,
) -> Result<(Option<Scheduling>, Option<Reserve>), Refused> {
    let cpus = match &options.cpus {
        Some(cpus) => cpus.clone(),
        None => ThreadRef::Calling.cpus()?,
    };
    preparation.place(&cpus, options.scheduling()?.unwrap_or(Scheduling::ORDINARY))?;
    match options.policy {
        Policy::Reserve(capacity) => Ok((None, reserve(capacity, shortfalls))),
        _ => Ok((Some(ThreadRef::Calling.scheduling()?), None)),
    }
}

/// Grants the calling thread a reserve; a refusal is a shortfall.
fn reserve(capacity: Capacity, shortfalls: &mut Vec<Shortfall>) -> Option<Reserve> {
    let refused = match Reserve::grant(ThreadRef::Calling, capacity, Rung::KEEPING) {
        Ok(reserve) => return Some(reserve),
        Err(refused) => refused,
    };
    let fix = match &refused {
        tactus_reserve::Refused::Rungs { rungs, .. } => {
            rungs.iter().find_map(|rung| rung.fix.clone())
        }
        tactus_reserve::Refused::Thread(_) => None,
    };
    shortfalls.push(Shortfall {
        asked: format!("reserve {capacity}"),
        granted: "policy other".to_owned(),
        reason: refused.to_string(),
        fix,
    });
    None
}

/// Starts the supervisor of the calling thread, if it has one.
fn supervise(
    options: &Options,
    shared: &Shared,
    reporter: &Reporter,
    scheduling: Option<Scheduling>,
) -> Result<Option<Supervisor>, Refused> {
    let Some(supervision) = options.supervision else { return Ok(None) };
    let charge = Charge {
        watched: Arc::clone(&shared.watched),
        recorder: Arc::clone(&shared.recorder),
        reporter: reporter.clone(),
        scheduling,
        cpus: ThreadRef::Calling.cpus()?,
    };
    Ok(Some(Supervisor::start(charge, supervision)?))
}
