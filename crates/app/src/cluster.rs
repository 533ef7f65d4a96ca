//! Measuring a plan on the nodes of a cluster.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tactus_cluster::job::JobSettings;
use tactus_cluster::{Cluster, ClusterError, Settings};
use tactus_guests::Guests;
use tactus_lab::engine::Engine;
use tactus_lab::target::Stopper;
use tactus_model::experiment::{Plan, Turn};
use tactus_model::run::{Run, RunId, RunStatus};
use tactus_store::Store;

pub use tactus_cluster::NoticeListener;
pub use tactus_cluster::kubernetes::KubernetesSettings;

use crate::measure::{GuestSettings, Listener, unkept};
use crate::places::facts;
use crate::{Error, ErrorKind, Places, Result};

/// A cluster that measures turns in deterministic time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterSettings {
    /// A directory that this machine and all nodes see under the same path.
    pub shared: PathBuf,
    /// What the manifest for Kubernetes needs; without it, the cluster runs Slurm.
    pub kubernetes: Option<KubernetesSettings>,
    /// The number of turns of a task; by default, a task takes about a minute.
    pub turns_per_task: Option<usize>,
}

impl ClusterSettings {
    /// The engine waits as long as the job does: a queue of a cluster may last for days.
    const PATIENCE: Duration = Duration::from_secs(365 * 24 * 3600);

    /// The default number of machines that must agree.
    const PROOFS: usize = 2;

    /// Requires that the cells of `plan` can be measured anywhere, and that the shared directory
    /// exists.
    ///
    /// # Errors
    /// A cell depends on its host, the plan adds rounds, or there is no such directory.
    pub(crate) fn check(&self, plan: &Plan) -> Result<()> {
        Self::check_exact(plan)?;
        check_shared(plan, &self.shared)
    }

    /// Requires deterministic time.
    fn check_exact(plan: &Plan) -> Result<()> {
        let is_exact = plan
            .cells
            .iter()
            .all(|cell| cell.target.guest().is_some_and(|guest| guest.time.is_exact()));
        if !is_exact {
            let reason =
                "a cluster measures turns in deterministic time only, which no host affects";
            return Err(Error::usage(reason)
                .with_hint(
                    "measure guests with --exact, e.g. `--kernel debian --exact`, or the nodes themselves with --nodes",
                ));
        }
        Ok(())
    }

    /// Measures the remaining turns of a run on the cluster. `guests` are those of its plan.
    ///
    /// # Errors
    /// The job cannot be submitted, the store cannot be written, or two nodes disagree.
    pub(crate) fn carry_out(
        &self,
        places: &Places,
        store: &mut Store,
        run: &RunId,
        guests: &Guests,
        settings: &GuestSettings,
        listener: &mut dyn Listener,
    ) -> Result<RunStatus> {
        let plan = store.header(run)?.plan;
        let finished = store.finished_turns(run)?;
        let turns = plan.turns().into_iter().filter(|turn| !finished.contains(turn)).collect();
        let settings = Settings {
            shared: self.shared.clone(),
            kubernetes: self.kubernetes.clone(),
            job: JobSettings {
                proofs: settings.proofs.unwrap_or(Self::PROOFS),
                jobs: settings.jobs.unwrap_or(1),
                limit: settings.limit,
                turns_per_task: self.turns_per_task,
            },
            executable: places.executable()?.to_owned(),
            search_path: places.search_path.clone(),
            consoles: places.guests()?.consoles,
        };
        // From now on, an interrupt cancels the job.
        let stopper = Stopper::default();
        listener.begins(&stopper)?;
        let mut cluster = Cluster::submit(plan, turns, guests, &settings, listener.cluster())
            .map_err(|error| refused(error, run, store))?;
        let mut engine = Engine::new(store, &mut cluster, &facts).with_stopper(stopper);
        engine.patience = Self::PATIENCE;
        let status = engine
            .carry_out(run, &mut |event| listener.on_event(&event))
            .map_err(|error| unkept(error, run))?;
        cluster.finish().map_err(|conflict| {
            Error::new(ErrorKind::NoResult, conflict)
                .with_hint(format!("the run is not to be trusted: tactus delete {run}"))
        })?;
        Ok(status)
    }
}

/// Requires that the number of rounds of `plan` is known, and that the shared directory exists.
pub(crate) fn check_shared(plan: &Plan, shared: &Path) -> Result<()> {
    if plan.until.is_some() {
        let reason = "the number of rounds must be known before a job is submitted";
        return Err(Error::usage(reason).with_hint("use --rounds instead of --until"));
    }
    if !shared.is_dir() {
        let reason = format!("the shared directory {} does not exist", shared.display());
        return Err(Error::usage(reason).with_hint(
            "name a directory that this machine and all nodes see under the same path",
        ));
    }
    Ok(())
}

/// The error for a job that could not be submitted. A run without any turn would only be in the way.
fn refused(error: ClusterError, run: &RunId, store: &mut Store) -> Error {
    let is_empty = |run: &Run| run.measurements.is_empty() && run.failures.is_empty();
    if store.load(run).is_ok_and(|run| is_empty(&run)) {
        // A run that cannot be deleted is listed as unfinished.
        let _ = store.delete(run);
    }
    error.into()
}

/// Measures the turns of one task of a job, on a node, until `stop` is set.
///
/// # Errors
/// The node cannot measure them, or the results cannot be written.
pub fn run_task(
    places: &Places,
    job: &Path,
    task: usize,
    node: &str,
    stop: &AtomicBool,
    on_turn: &dyn Fn(usize, Turn),
) -> Result<()> {
    Ok(tactus_cluster::task::run(job, task, node, places.search_path.clone(), stop, on_turn)?)
}
