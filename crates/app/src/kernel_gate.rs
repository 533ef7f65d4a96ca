//! Whether one kernel is worse than another, in deterministic time.

use std::io;

use tactus_cluster::NoticeListener;
use tactus_judge::gate::GateReport;
use tactus_judge::kernels::{self, Decision, GateOptions, KernelComparison};
use tactus_lab::event::Event;
use tactus_lab::target::Stopper;
use tactus_model::cell::Cell;
use tactus_model::experiment::{Overrides, Plan};
use tactus_model::guest::{GuestTime, Speed};
use tactus_model::kernel::GuestKernel;
use tactus_model::run::{Run, RunStatus};
use tactus_store::Store;

use crate::measure::{self, CarriedOut, GuestSettings, Listener};
use crate::places::BuildListener;
use crate::{Error, Places, Result, plan};

/// The cells of an experiment, each under the kernel of `overrides` and then under `against`.
/// They are measured in deterministic time: at the speed of `overrides`, else of the experiment,
/// else the fastest.
///
/// # Errors
/// A side does not have exactly one kernel, there is no such experiment, it is wrong, or it has too
/// few seeds to decide.
pub fn plan(
    name: &str,
    mut overrides: Overrides,
    against: Option<&GuestKernel>,
    options: &GateOptions,
) -> Result<Plan> {
    let wanted = overrides.settings.values("kernel").unwrap_or_default();
    let ([_], Some(against)) = (wanted, against) else {
        return Err(Error::usage(
            "a gate compares exactly two kernels: the one to judge, and a baseline",
        )
        .with_hint("tactus lab gate --kernel ./after/bzImage --against ./before/bzImage"));
    };
    let experiment = plan::read(name)?;
    let seed = overrides.seed.or(experiment.seed).unwrap_or_else(plan::new_seed);
    let exact = experiment.guest_time.filter(|time| time.is_exact());
    overrides.seed = Some(seed);
    overrides.guest_time =
        overrides.guest_time.or(exact).or(Some(GuestTime::Exact(Speed::FASTEST)));
    let kernel = plan::plan_of(name, &experiment, &overrides)?;
    overrides.settings.set("kernel", vec![against.to_string()]).map_err(Error::usage)?;
    let plan = kernels::plan(plan::plan_of(name, &experiment, &overrides)?, kernel);
    match kernels::check_seeds(&plan, options) {
        Ok(()) => Ok(plan),
        Err(few) => {
            let hint = format!("--seeds {}, fewer cells, or a higher --false-alarms", few.needed);
            Err(Error::usage(few).with_hint(hint))
        }
    }
}

/// Checks that the emulator, the program of guests and the baseline kernel of a plan by [`plan()`] are
/// available.
///
/// # Errors
/// One of them is not.
pub fn check_baseline(places: &Places, plan: &Plan, listener: &dyn Listener) -> Result<()> {
    check(places, &plan.cells[..plan.cells.len() / 2], listener)
}

/// Checks that the kernel to judge of a plan by [`plan()`] can be had, after [`check_baseline`].
///
/// # Errors
/// It cannot.
pub fn check_kernel(places: &Places, plan: &Plan, listener: &dyn Listener) -> Result<()> {
    check(places, &plan.cells[plan.cells.len() / 2..], listener)
}

fn check(places: &Places, cells: &[Cell], listener: &dyn Listener) -> Result<()> {
    measure::targets(places, cells, &GuestSettings::default(), listener).map(drop)
}

/// Measures both kernels. The first turn that fails ends the run, because the comparison needs
/// every turn.
///
/// # Errors
/// A guest cannot be prepared, the store cannot be written, or it was interrupted.
pub fn measure(
    places: &Places,
    store: &mut Store,
    plan: &Plan,
    guests: &GuestSettings,
    listener: &mut dyn Listener,
) -> Result<Run> {
    let mut listener = UpToFailure { listener, stopper: None };
    let CarriedOut { run, status } = measure::new_run(places, store, plan, guests, &mut listener)?;
    let run = store.load(&run)?;
    if status == RunStatus::Interrupted && run.failures.is_empty() {
        let id = &run.header.id;
        let hint = format!("tactus measure --continue {id} && tactus lab gate --run {id}");
        return Err(measure::interrupted(&run).with_hint(hint));
    }
    Ok(run)
}

/// Passes events on, and stops the run when a turn fails.
struct UpToFailure<'l> {
    listener: &'l mut dyn Listener,
    stopper: Option<Stopper>,
}

impl Listener for UpToFailure<'_> {
    fn begins(&mut self, stopper: &Stopper) -> io::Result<()> {
        self.stopper = Some(stopper.clone());
        self.listener.begins(stopper)
    }

    fn on_event(&mut self, event: &Event<'_>) {
        self.listener.on_event(event);
        if let (Event::TurnFailed { .. }, Some(stopper)) = (event, &self.stopper) {
            stopper.stop();
        }
    }

    fn building(&self) -> BuildListener {
        self.listener.building()
    }

    fn site(&self) -> NoticeListener {
        self.listener.site()
    }
}

/// The comparison of a kernel with another.
#[derive(Clone, Debug)]
pub struct KernelGate {
    /// Whether the kernel passes.
    pub decision: Decision,
    /// The figures of both kernels.
    pub comparison: KernelComparison,
    /// The same as a list of judgements.
    pub report: GateReport,
}

/// Compares the two kernels of a run.
///
/// # Errors
/// The run was not measured by a gate.
pub fn judge(run: &Run, options: &GateOptions) -> Result<KernelGate> {
    let comparison = kernels::compare(run, options)?;
    let (decision, report) = (comparison.decision(options), comparison.report(options));
    Ok(KernelGate { decision, comparison, report })
}
