//! Whether one kernel is worse than another, in deterministic time.

use std::io;

use tactus_cluster::NoticeListener;
use tactus_judge::gate::GateReport;
use tactus_judge::kernels::{self as judged, Decision, KernelComparison};
use tactus_lab::event::Event;
use tactus_lab::target::Stopper;
use tactus_model::address::Address;
use tactus_model::cell::Cell;
use tactus_model::experiment::{Overrides, Plan};
use tactus_model::gate_rule::GateRule;
use tactus_model::guest::{GuestTime, Speed};
use tactus_model::kernel::GuestKernel;
use tactus_model::result::{Failure, Shortfall};
use tactus_model::run::{Run, RunId, RunStatus};
use tactus_store::Store;

use crate::build_event::BuildListener;
use crate::measure::{self, CarriedOut, GuestSettings, Listener};
use crate::{Error, ErrorKind, Places, Result, kernels, plan};

/// The cells of an experiment, each under the kernel of `overrides` and then under `against`. They are
/// measured in deterministic time: at the speed of `overrides`, else of the experiment, else the
/// fastest. The run will be judged by `rule`.
///
/// # Errors
/// A side does not have exactly one kernel, there is no such experiment, it is wrong, or it has too
/// few seeds to decide.
pub fn plan(
    name: &str,
    mut overrides: Overrides,
    against: Option<&GuestKernel>,
    rule: &GateRule,
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
    let plan = judged::plan(plan::plan_of(name, &experiment, &overrides)?, kernel, *rule);
    match judged::check_seeds(&plan, rule) {
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

/// Checks the kernels of a plan by [`plan()`] that are files: that they are kernels, for the same
/// CPUs. Returns a warning if the kernel equals its baseline.
///
/// # Errors
/// A file is not a kernel, or the kernels are for different CPUs.
pub fn check_files(places: &Places, plan: &Plan) -> Result<Option<String>> {
    let (before, after) = plan.cells.split_at(plan.cells.len() / 2);
    let kernel = |cells: &[Cell]| cells.first()?.target.guest().map(|guest| guest.kernel.clone());
    let (Some(baseline), Some(kernel)) = (kernel(before), kernel(after)) else {
        return Ok(None);
    };
    let [from, to] = [&baseline, &kernel].map(|kernel| kernels::file(places, &kernel.source));
    let (from, to) = (from?, to?);
    let known = kernels::unbuilt(places);
    let architecture = |kernel: &GuestKernel| known.architecture(&kernel.source);
    if let (Some(one), Some(other)) = (architecture(&kernel), architecture(&baseline))
        && one != other
    {
        let text =
            format!("{kernel} is a kernel for {one}, and its baseline {baseline} for {other}");
        let hint = "instructions of different CPUs are different units: compare kernels for the \
                    same CPUs";
        return Err(Error::usage(text).with_hint(hint));
    }
    let is_same_file = || {
        let digests = from.as_ref().zip(to.as_ref());
        digests.is_some_and(|(from, to)| from.sha256 == to.sha256)
    };
    let is_same = kernel.source == baseline.source || is_same_file();
    Ok((is_same && kernel.parameters == baseline.parameters).then(|| {
        format!(
            "{kernel} and its baseline are the same kernel with the same parameters. The gate can find \
             no difference; that tests the gate only."
        )
    }))
}

fn check(places: &Places, cells: &[Cell], listener: &dyn Listener) -> Result<()> {
    measure::targets(places, cells, &GuestSettings::default(), listener).map(drop)
}

/// How the run of a gate is carried out.
pub struct Conduct<'c> {
    /// The settings of its guests.
    pub guests: GuestSettings,
    /// A run with the same plan that was interrupted, which is continued if possible.
    pub interrupted: Option<RunId>,
    /// The command that continues a run and judges it, for hints.
    pub again: &'c dyn Fn(&RunId) -> String,
    /// Called when the run is in the store, before its first turn.
    pub on_run: &'c dyn Fn(&RunId),
}

/// Measures both kernels. The first turn that fails ends the run, because the comparison needs
/// every turn.
///
/// # Errors
/// A guest cannot be prepared, the store cannot be written, the host failed a turn, or it was
/// interrupted.
pub fn measure(
    places: &Places,
    store: &mut Store,
    plan: &Plan,
    conduct: &Conduct<'_>,
    listener: &mut dyn Listener,
) -> Result<Run> {
    let Conduct { guests, interrupted, again, on_run } = conduct;
    let mut listener = UpToFailure { listener, on_run, stopper: None, run: None, by_host: None };
    let kept = interrupted.as_ref().and_then(|run| kept(store, run, plan));
    let carried_out = match kept {
        Some(run) if run.header.status == RunStatus::Complete => return Ok(run),
        Some(Run { header, .. }) => {
            let run = header.id.as_str().parse::<Address>().unwrap_or_else(|never| match never {});
            measure::continue_run(places, store, &run, guests, &mut listener)
        }
        None => measure::new_run(places, store, plan, guests, &mut listener),
    };
    let UpToFailure { run, by_host, .. } = listener;
    let CarriedOut { run, status } = carried_out.map_err(|error| match run {
        Some(run) => error.with_hint(format!(
            "the finished turns are kept; afterwards, continue with: {}",
            again(&run)
        )),
        None => error,
    })?;
    if let Some(failure) = by_host {
        return Err(host_fault(&failure, &again(&run)));
    }
    let run = store.load(&run)?;
    if status == RunStatus::Interrupted {
        require_end(&run, &again(&run.header.id))?;
    }
    Ok(run)
}

/// The error for a turn that its host failed, which says nothing about a kernel. `again` is the
/// command that continues the run.
fn host_fault(failure: &Failure, again: &str) -> Error {
    let Failure { reason, hint, .. } = failure;
    let error = Error::new(ErrorKind::NoResult, format!("the host failed a turn: {reason}"));
    let hint = hint.as_ref().map(|hint| format!("{hint}; ")).unwrap_or_default();
    error.with_hint(format!("{hint}afterwards, continue with: {again}"))
}

/// Requires that the host failed no turn of a stored run. `again` is the command that continues it.
///
/// # Errors
/// It failed one.
pub fn require_host(run: &Run, again: &str) -> Result<()> {
    let by_host = run.failures.iter().find(|failure| failure.by_host);
    by_host.map_or(Ok(()), |failure| Err(host_fault(failure, again)))
}

/// Requires that a stored run ended: it has a result of each turn, or one failed. `again` is the
/// command that continues it.
///
/// # Errors
/// It was interrupted.
pub fn require_end(run: &Run, again: &str) -> Result<()> {
    let is_over = run.measurements.len() >= run.header.plan.turns().len();
    match is_over || !run.failures.is_empty() {
        true => Ok(()),
        false => Err(measure::interrupted(run).with_hint(format!("continue with: {again}"))),
    }
}

/// A run of this plan that is complete, or can be continued here.
fn kept(store: &Store, run: &RunId, plan: &Plan) -> Option<Run> {
    let run = store.load(run).ok().filter(|run| run.header.plan == *plan)?;
    let is_usable = match run.header.status {
        RunStatus::Complete => run.failures.is_empty(),
        _ => measure::unfinished(store, run.header.id.as_str()).is_ok(),
    };
    is_usable.then_some(run)
}

/// Passes events on, and stops the run when a turn fails.
struct UpToFailure<'l> {
    listener: &'l mut dyn Listener,
    on_run: &'l dyn Fn(&RunId),
    stopper: Option<Stopper>,
    run: Option<RunId>,
    /// The failure of a turn by its host.
    by_host: Option<Failure>,
}

impl Listener for UpToFailure<'_> {
    fn begins(&mut self, stopper: &Stopper) -> io::Result<()> {
        self.stopper = Some(stopper.clone());
        self.listener.begins(stopper)
    }

    fn on_event(&mut self, event: &Event<'_>) {
        self.listener.on_event(event);
        match event {
            Event::RunStarted { run, .. } => {
                (self.on_run)(run);
                self.run = Some((*run).clone());
            }
            Event::TurnFailed { failure, .. } => {
                if failure.by_host {
                    self.by_host.get_or_insert_with(|| (*failure).clone());
                }
                if let Some(stopper) = &self.stopper {
                    stopper.stop();
                }
            }
            _ => {}
        }
    }

    fn lacks(&self, shortfall: &Shortfall) {
        self.listener.lacks(shortfall);
    }

    fn building(&self) -> BuildListener {
        self.listener.building()
    }

    fn cluster(&self) -> NoticeListener {
        self.listener.cluster()
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
pub fn judge(run: &Run, rule: &GateRule) -> Result<KernelGate> {
    let comparison = judged::compare(run, rule)?;
    let (decision, report) = (comparison.decision(rule), comparison.report(rule));
    Ok(KernelGate { decision, comparison, report })
}
