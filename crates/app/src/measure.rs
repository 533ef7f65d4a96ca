//! Carrying out a plan, and continuing a run.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tactus_cluster::NoticeListener;
use tactus_guests::{GuestError, Guests};
use tactus_judge::verdict::{ChangedFact, other_machine};
use tactus_lab::engine::Engine;
use tactus_lab::event::Event;
use tactus_lab::host::Host;
use tactus_lab::target::Stopper;
use tactus_lab::targets::Targets;
use tactus_model::address::Address;
use tactus_model::bytes::Bytes;
use tactus_model::cell::Cell;
use tactus_model::experiment::Plan;
use tactus_model::facts::MachineFacts;
use tactus_model::guest::{Guest, GuestTime};
use tactus_model::kernel::Architecture;
use tactus_model::result::Shortfall;
use tactus_model::run::{Run, RunHeader, RunId, RunStatus};
use tactus_model::time::{Nanos, Realtime};
use tactus_store::{Store, StoreError};
use tactus_sys::memory;

use crate::build_event::BuildListener;
use crate::cluster::ClusterSettings;
use crate::places::facts;
use crate::{Error, ErrorKind, Places, Result, guest_program};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The settings of a plan's guests.
#[derive(Clone, Debug, Default)]
pub struct GuestSettings {
    /// How time passes in guests; replaces the experiment's value.
    pub time: Option<GuestTime>,
    /// The time limit of each guest on the host.
    pub limit: Option<Nanos>,
    /// How many separately booted machines must agree in deterministic time.
    pub proofs: Option<usize>,
    /// How many machines run at a time in deterministic time; by default one for each CPU, as far
    /// as memory allows.
    pub jobs: Option<usize>,
    /// The cluster whose nodes measure instead of this machine.
    pub cluster: Option<ClusterSettings>,
}

/// Follows a run.
pub trait Listener {
    /// A run begins; `stopper` stops it.
    ///
    /// # Errors
    /// Anything that prevents `stopper` from being used later; the run is not carried out then.
    fn begins(&mut self, stopper: &Stopper) -> io::Result<()>;

    /// An event of the run.
    fn on_event(&mut self, event: &Event<'_>);

    /// What the cells will lack on this machine, before the run begins.
    fn lacks(&self, _shortfall: &Shortfall) {}

    /// Returns a listener for kernel builds, which happen before the run begins.
    fn building(&self) -> BuildListener;

    /// Returns a listener for the job of a cluster.
    fn cluster(&self) -> NoticeListener {
        Arc::new(|_| ())
    }
}

/// A run that was carried out, to its end or until it was stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CarriedOut {
    /// The run, which is in the store.
    pub run: RunId,
    /// Whether it is complete.
    pub status: RunStatus,
}

/// Carries out a plan as a new run. Missing kernels are fetched or built before the run is
/// created.
///
/// # Errors
/// A guest cannot be prepared, or the store cannot be written.
pub fn new_run(
    places: &Places,
    store: &mut Store,
    plan: &Plan,
    guests: &GuestSettings,
    listener: &mut dyn Listener,
) -> Result<CarriedOut> {
    guests.cluster.as_ref().map_or(Ok(()), |cluster| cluster.check(plan))?;
    let (targets, jobs) = targets(places, &plan.cells, guests, listener)?;
    let now = tactus_sys::clock::now::<Realtime>();
    let here = MachineFacts { node: places.node.clone(), ..facts() };
    let run = store.create_run(plan, &here, VERSION, now, places.command.as_deref())?;
    carry_out(places, store, run, targets, jobs, guests, listener)
}

/// Measures the remaining turns of an interrupted run, and failed turns again.
///
/// # Errors
/// There is no such run, it is complete, it did not begin on this machine, or those of
/// [`new_run`].
pub fn continue_run(
    places: &Places,
    store: &mut Store,
    address: &Address,
    guests: &GuestSettings,
    listener: &mut dyn Listener,
) -> Result<CarriedOut> {
    let run = unfinished(store, address.whole_run()?)?;
    let plan = store.header(&run)?.plan;
    guests.cluster.as_ref().map_or(Ok(()), |cluster| cluster.check(&plan))?;
    let (targets, jobs) = targets(places, &plan.cells, guests, listener)?;
    carry_out(places, store, run, targets, jobs, guests, listener)
}

/// Requires that a run is complete.
///
/// # Errors
/// The run was interrupted, or turns failed; the error contains the kept turns and the command
/// that continues it.
pub fn require_end(run: &Run) -> Result<()> {
    match run.header.status {
        RunStatus::Complete => Ok(()),
        RunStatus::Partial => Err(partial(run)),
        RunStatus::Interrupted | RunStatus::Unfinished => Err(interrupted(run)),
    }
}

/// The error for a run with failed turns.
fn partial(run: &Run) -> Error {
    let (failed, all) = (run.failures.len(), run.header.plan.turns().len());
    let nothing = failed == all;
    let kept = if nothing { "nothing was measured" } else { "the others are kept" };
    let id = &run.header.id;
    // Turns with the same reason would fail again.
    let remedy = run.failures.first().and_then(|failure| failure.hint.clone());
    let hint = remedy.filter(|_| nothing).unwrap_or_else(|| {
        format!("measure the failed turns again: tactus measure --continue {id}")
    });
    Error::new(ErrorKind::NoResult, format!("failed turns of {id}: {failed} of {all}; {kept}"))
        .with_hint(hint)
}

/// The error for an interrupted run.
pub(crate) fn interrupted(run: &Run) -> Error {
    let kept = run.measurements.len() + run.failures.len();
    let all = run.header.plan.turns().len();
    let reason = format!("finished and kept: {kept} of {all} turns");
    Error::new(ErrorKind::Interrupted, reason)
        .with_hint(format!("continue with: tactus measure --continue {}", run.header.id))
}

/// Finds a run that can be continued here.
pub(crate) fn unfinished(store: &Store, name: &str) -> Result<RunId> {
    let now = facts();
    let id = store.find_to_continue(name, now.machine_id.as_deref())?;
    let header = store.header(&id)?;
    require_this_machine(&header, &now)?;
    if header.status != RunStatus::Complete {
        return Ok(id);
    }
    let error = Error::usage(format!("{id} is complete; there is nothing to continue"));
    Err(match header.plan.until {
        Some(until) => error.with_hint(format!(
            "a complete run is never altered; for more rounds, measure again with a limit of {}",
            until.limit.saturating_mul(2)
        )),
        None => error,
    })
}

/// Requires that a run began in this store and on this machine: the plan of another person's
/// run may contain commands, and a run describes a single machine.
fn require_this_machine(header: &RunHeader, now: &MachineFacts) -> Result<()> {
    let (id, before) = (&header.id, &header.facts_before);
    let reason = if before.machine_id.is_none() {
        format!("{id} was imported or began with an earlier version of tactus")
    } else if before.machine_id != now.machine_id {
        format!("{id} began on another machine: its machine-id differs")
    } else {
        let changed: Vec<String> = other_machine(before, now)
            .iter()
            .map(|ChangedFact { group, name, before, after }| {
                format!("{group} {name} was {before}, is {after}")
            })
            .collect();
        if changed.is_empty() {
            return Ok(());
        }
        format!("the machine has changed since {id} began: {}", changed.join("; "))
    };
    let hint = "a run continues only in the store and on the machine where it began; \
                measure again from the start with `tactus measure`";
    Err(Error::new(ErrorKind::Unavailable, format!("cannot continue: {reason}")).with_hint(hint))
}

/// The memory that a guest may take on the host, beside other programs.
const OF_A_MACHINE: Bytes = Bytes::new(1 << 30);

/// How many machines may run at a time.
///
/// In deterministic time the host has no effect on figures, so machines share all CPUs. All other
/// cells are measured one after another, since they would disturb each other.
fn jobs(cells: &[Cell], wanted: Option<usize>) -> Result<usize> {
    let is_exact = |cell: &Cell| cell.target.guest().is_some_and(|guest| guest.time.is_exact());
    match (cells.iter().all(is_exact), wanted) {
        (true, Some(wanted)) => Ok(wanted),
        (true, None) => {
            let cpus = thread::available_parallelism().map_or(1, |count| count.get());
            let fit = memory::available().map_or(cpus, |available| {
                usize::try_from(available.get() / OF_A_MACHINE.get()).unwrap_or(cpus)
            });
            Ok(cpus.min(fit).max(1))
        }
        (false, None | Some(1)) => Ok(1),
        (false, Some(wanted)) => Err(Error::usage(format!(
            "`--jobs {wanted}` needs deterministic time: cells on this machine and guests in wall time \
             would disturb each other"
        ))
        .with_hint("leave out --jobs, or measure guests with --exact")),
    }
}

/// Prepares the targets of `cells`; also returns how many machines may run at a time.
pub(crate) fn targets(
    places: &Places,
    cells: &[Cell],
    settings: &GuestSettings,
    listener: &dyn Listener,
) -> Result<(Targets, usize)> {
    let jobs = jobs(cells, settings.jobs)?;
    let host = Host::new(places.executable()?.to_owned(), &["internal", "cell"]);
    let wanted: Vec<&Guest> = cells.iter().filter_map(|cell| cell.target.guest()).collect();
    if wanted.is_empty() {
        return Ok((Targets { host, guests: None }, 1));
    }
    // Cells on this machine do the same, and more.
    tactus_sys::tracefs::remove_stale_instances(Path::new("/"));
    let kernels = places.kernels(listener.building())?;
    let limit = settings.limit.map(Duration::from);
    let prepare = || -> Result<_> {
        Ok(Guests::prepare(places.guests()?, &kernels, limit, wanted.iter().copied()))
    };
    let mut prepared = prepare()?;
    // Each failure is of another architecture.
    for _ in Architecture::ALL {
        let missing = prepared.as_ref().err().and_then(GuestError::missing_program);
        let Some((architecture, source)) = missing.zip(guest_program::source(places)) else {
            break;
        };
        guest_program::build(&source, places, architecture, &listener.building())?;
        prepared = prepare()?;
    }
    let mut guests = prepared?.with_jobs(jobs);
    guests.shortfalls().for_each(|shortfall| listener.lacks(shortfall));
    if let Some(proofs) = settings.proofs {
        guests.proofs = proofs;
    }
    Ok((Targets { host, guests: Some(guests) }, jobs))
}

/// Measures the remaining turns of a run.
fn carry_out(
    places: &Places,
    store: &mut Store,
    run: RunId,
    mut targets: Targets,
    jobs: usize,
    settings: &GuestSettings,
    listener: &mut dyn Listener,
) -> Result<CarriedOut> {
    if let (Some(cluster), Some(guests)) = (&settings.cluster, &targets.guests) {
        let status = cluster.carry_out(places, store, &run, guests, settings, listener)?;
        return Ok(CarriedOut { run, status });
    }
    let longest = store.header(&run)?.plan.cells.iter().map(Cell::length).max();
    // The target of the guests has its own limit for each machine, which ends first and gives a
    // better reason. A machine may have to wait for those of all turns that began before.
    let guests = targets.guests.as_ref().map(|guests| {
        let machines =
            u32::try_from(guests.machines_max().saturating_mul(jobs)).unwrap_or(u32::MAX);
        guests.limit(longest.unwrap_or(Nanos::ZERO)).saturating_mul(machines)
    });
    let mut engine = Engine::new(store, &mut targets, &facts);
    engine.patience = engine.patience.saturating_add(guests.unwrap_or_default());
    engine.turns_at_a_time = jobs;
    listener.begins(&engine.stopper())?;
    let status = engine
        .carry_out(&run, &mut |event| listener.on_event(&event))
        .map_err(|error| unkept(error, &run))?;
    Ok(CarriedOut { run, status })
}

/// The error of a store that failed during a run.
pub(crate) fn unkept(error: StoreError, run: &RunId) -> Error {
    let hint = format!(
        "the finished turns are kept; afterwards, continue with: tactus measure --continue {run}"
    );
    Error::from(error).with_hint(hint)
}
