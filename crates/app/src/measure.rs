//! Carrying out a plan, and continuing a run.

use std::io;
use std::time::Duration;

use tactus_guests::Guests;
use tactus_lab::engine::Engine;
use tactus_lab::event::Event;
use tactus_lab::host::Host;
use tactus_lab::target::Stopper;
use tactus_lab::targets::Targets;
use tactus_model::cell::Cell;
use tactus_model::experiment::Plan;
use tactus_model::guest::GuestTime;
use tactus_model::run::{Run, RunId, RunStatus};
use tactus_model::time::{Nanos, Realtime};
use tactus_store::Store;

use crate::places::{BuildListener, facts};
use crate::{Error, ErrorKind, Places, Result};

/// What is wished of the guests of a plan that has some.
#[derive(Clone, Copy, Debug, Default)]
pub struct GuestWishes {
    /// How time passes there, in place of what the experiment says.
    pub time: Option<GuestTime>,
    /// How long each may take on the host.
    pub limit: Option<Nanos>,
    /// How many machines must say the same in exact time.
    pub proofs: Option<usize>,
}

/// Follows what is carried out.
pub trait Listener {
    /// Takes the means to stop the run that begins.
    ///
    /// # Errors
    /// Whatever prevents it from being used later; the run is not carried out then.
    fn begins(&mut self, stopper: &Stopper) -> io::Result<()>;

    /// Hears what happens.
    fn hear(&mut self, event: &Event<'_>);

    /// Gives a listener for the building of kernels, before the run begins.
    fn building(&self) -> BuildListener;
}

/// A run that was carried out, to its end or until it was stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CarriedOut {
    /// The run, which is in the store.
    pub run: RunId,
    /// How far it came.
    pub status: RunStatus,
}

/// Carries out a plan as a new run. Kernels that are not there are fetched or built first,
/// before there is a run.
///
/// # Errors
/// A guest cannot be prepared, or the store cannot be written.
pub fn new_run(
    places: &Places,
    store: &mut Store,
    plan: &Plan,
    guests: &GuestWishes,
    listener: &mut dyn Listener,
) -> Result<CarriedOut> {
    let targets = targets(places, &plan.cells, guests, listener)?;
    let now = tactus_sys::clock::now::<Realtime>();
    let run = store.create_run(plan, &facts(), env!("CARGO_PKG_VERSION"), now)?;
    carry_out(store, run, targets, listener)
}

/// Takes the turns that an interrupted run has left.
///
/// # Errors
/// There is no such run, or it is complete; and as [`new_run`].
pub fn continue_run(
    places: &Places,
    store: &mut Store,
    name: &str,
    guests: &GuestWishes,
    listener: &mut dyn Listener,
) -> Result<CarriedOut> {
    let run = unfinished(store, name)?;
    let targets = targets(places, &store.header(&run)?.plan.cells, guests, listener)?;
    carry_out(store, run, targets, listener)
}

/// Requires that a run was not interrupted.
///
/// # Errors
/// It was, with how much of it is kept and how it goes on.
pub fn require_end(run: &Run, status: RunStatus) -> Result<()> {
    match status {
        RunStatus::Complete => Ok(()),
        RunStatus::Interrupted | RunStatus::Unfinished => Err(interrupted(run)),
    }
}

/// The error that a run was interrupted.
pub(crate) fn interrupted(run: &Run) -> Error {
    let kept = run.measurements.len() + run.failures.len();
    let all = run.header.plan.turns().len();
    let reason = format!("{kept} of {all} turns are taken and kept");
    Error::new(ErrorKind::Interrupted, reason)
        .with_hint(format!("tactus measure --continue {}", run.header.id))
}

/// Finds a run that can be continued.
fn unfinished(store: &Store, name: &str) -> Result<RunId> {
    let id = store.find(name)?;
    let header = store.header(&id)?;
    if header.status != RunStatus::Complete {
        return Ok(id);
    }
    let error = Error::usage(format!("{id} is complete; there is nothing left to take"));
    Err(match header.plan.until {
        Some(until) => error.with_hint(format!(
            "a complete run is never altered; to have more rounds, measure anew with --limit {}",
            until.limit.saturating_mul(2)
        )),
        None => error,
    })
}

/// Prepares the targets of `cells`.
fn targets(
    places: &Places,
    cells: &[Cell],
    wishes: &GuestWishes,
    listener: &dyn Listener,
) -> Result<Targets> {
    let host = Host::new(places.executable()?.to_owned(), &["internal", "cell"]);
    let mut wanted = cells.iter().filter_map(|cell| cell.target.guest()).peekable();
    if wanted.peek().is_none() {
        return Ok(Targets { host, guests: None });
    }
    let kernels = places.kernels(listener.building())?;
    let limit = wishes.limit.map(Duration::from);
    let mut guests = Guests::prepare(places.guests()?, &kernels, limit, wanted)?;
    if let Some(proofs) = wishes.proofs {
        guests.proofs = proofs;
    }
    Ok(Targets { host, guests: Some(guests) })
}

/// Takes the turns of a run that are left.
fn carry_out(
    store: &mut Store,
    run: RunId,
    mut targets: Targets,
    listener: &mut dyn Listener,
) -> Result<CarriedOut> {
    let longest = store.header(&run)?.plan.cells.iter().map(Cell::length).max();
    // Guests are given up by their target, which knows more of them, and first.
    let guests = targets.guests.as_ref().map(|guests| guests.limit(longest.unwrap_or(Nanos::ZERO)));
    let mut engine = Engine::new(store, &mut targets, &facts);
    engine.patience += guests.unwrap_or_default();
    listener.begins(&engine.stopper())?;
    let status = engine.carry_out(&run, &mut |event| listener.hear(&event))?;
    Ok(CarriedOut { run, status })
}
