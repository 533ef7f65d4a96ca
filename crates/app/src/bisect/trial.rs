//! Building the kernel of a commit, and comparing it with that of the good commit.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tactus_judge::kernels::Decision;
use tactus_kernels::{BuildError, KernelError, Recipe, Tree};
use tactus_lab::event::Event;
use tactus_lab::target::Stopper;
use tactus_model::experiment::{Overrides, Plan};
use tactus_model::gate_rule::GateRule;
use tactus_model::kernel::GuestKernel;
use tactus_model::result::Shortfall;
use tactus_model::run::{Run, RunId};
use tactus_model::time::Nanos;
use tactus_store::Store;

use super::git::{Commit, Worktree};
use super::{Trial, Verdict};
use crate::build_event::BuildListener;
use crate::error::OrError;
use crate::kernel_gate::{self, Conduct, KernelGate};
use crate::measure::{GuestSettings, Listener};
use crate::{Error, ErrorKind, Places, Result};

/// How kernels are built and compared.
#[derive(Clone, Debug)]
pub struct GateTrialSettings {
    /// How a tree is built.
    pub recipe: Recipe,
    /// Parameters of the kernels' command lines, separated by commas.
    pub parameters: Option<String>,
    /// The experiment whose cells are measured.
    pub experiment: String,
    /// What replaces its settings; without a kernel.
    pub overrides: Overrides,
    /// How the kernels are judged.
    pub rule: GateRule,
    /// The time limit of a guest.
    pub limit: Option<Nanos>,
}

impl GateTrialSettings {
    /// Everything that determines verdicts, as a text.
    ///
    /// # Errors
    /// Those of [`GateTrialSettings::plan`].
    pub fn conditions(&self) -> Result<String> {
        let Self { recipe, parameters, experiment: _, overrides: _, rule: _, limit: _ } = self;
        let plan = self.plan(Path::new("/good"), Path::new("/bad"))?;
        Ok(format!("{recipe:?}\n{parameters:?}\n{:?}\n{plan:?}", VERSION))
    }

    /// The plan of the gate for an image against the good one.
    ///
    /// # Errors
    /// There is no such experiment, it is wrong, or it has too few seeds to decide.
    pub fn plan(&self, image: &Path, good: &Path) -> Result<Plan> {
        let kernel = |image: &Path| -> Result<GuestKernel> {
            let image = image.display();
            let name = match &self.parameters {
                Some(parameters) => format!("{image}:{parameters}"),
                None => image.to_string(),
            };
            name.parse().map_err(Error::usage)
        };
        let mut overrides = self.overrides.clone();
        let name = kernel(image)?.to_string();
        overrides.settings.set("kernel", vec![name]).map_err(Error::usage)?;
        kernel_gate::plan(&self.experiment, overrides, Some(&kernel(good)?), &self.rule)
    }
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Builds and judges commits.
pub struct GateTrial<'t> {
    /// Where files and programs are.
    pub places: &'t Places,
    /// How commits are built and compared.
    pub settings: &'t GateTrialSettings,
    /// The good commit.
    pub good: String,
    /// The store of the runs.
    pub store: &'t mut Store,
    /// Follows builds and runs.
    pub listener: &'t mut dyn Listener,
}

impl GateTrial<'_> {
    /// Builds and judges a commit; `directory` has the objects and images of the bisection.
    ///
    /// # Errors
    /// The reason concerns all commits: the good kernel cannot be built or measured, a tool is
    /// missing, or the command was interrupted.
    pub fn attempt(
        &mut self,
        commit: &Commit,
        worktree: &Worktree,
        directory: &Path,
    ) -> Result<Trial> {
        let good = Commit { id: self.good.clone(), subject: String::new() };
        let good_image = self
            .image(&good, worktree, directory)
            .and_then(|image| Ok(image?))
            .map_err(|error| error.within(ErrorKind::Unavailable, "the good commit".to_owned()))?;
        let skipped = |reason: String| Trial {
            commit: commit.id.clone(),
            verdict: Verdict::Skipped,
            reason,
            run: None,
            seconds: 0,
        };
        let image = match self.image(commit, worktree, directory)? {
            Ok(image) => image,
            Err(error) => return Ok(skipped(error.to_string())),
        };
        let plan = self.settings.plan(&image, &good_image)?;
        kernel_gate::check_baseline(self.places, &plan, &*self.listener)?;
        let begun = BegunRun::of(commit, directory);
        let conduct = Conduct {
            guests: GuestSettings { limit: self.settings.limit, ..GuestSettings::default() },
            interrupted: begun.read(),
            again: &|_| "the same command, which measures the remaining turns only".to_owned(),
            on_run: &|run| begun.write(run),
        };
        let mut listener = Named::new(&mut *self.listener, commit, &image, &good_image);
        let run = kernel_gate::measure(self.places, self.store, &plan, &conduct, &mut listener);
        // As for `tactus lab gate --bisect`: what is not available after the baseline is this kernel.
        let run = match run {
            Ok(run) => run,
            Err(error) if error.kind() == ErrorKind::Unavailable => {
                return Ok(skipped(error.to_string()));
            }
            Err(error) => return Err(error),
        };
        self.judge(&run, commit)
    }

    fn judge(&self, run: &Run, commit: &Commit) -> Result<Trial> {
        let KernelGate { decision, comparison, report } =
            kernel_gate::judge(run, &self.settings.rule)?;
        if let Some(failure) = comparison.baseline_failure(run) {
            let text =
                format!("the kernel of the good commit was not measured: {}", failure.reason);
            let error = Error::new(ErrorKind::Unavailable, text);
            return Err(error.with_hint_if_any(failure.hint.clone()));
        }
        let (failures, all) = (report.failures(), report.judgements.len());
        let (verdict, reason) = match decision {
            Decision::Passes => (Verdict::Good, format!("{all} figures compared")),
            Decision::Refused => (Verdict::Bad, format!("{failures} of {all} figures are worse")),
            Decision::Undecided => {
                let reason = run.failures.first().map(|failure| failure.reason.clone());
                (Verdict::Skipped, reason.unwrap_or_else(|| "not comparable".to_owned()))
            }
        };
        let run = Some(run.header.id.as_str().to_owned());
        Ok(Trial { commit: commit.id.clone(), verdict, reason, run, seconds: 0 })
    }

    /// The image of a commit, built now unless it is here; inside, why its sources give none.
    fn image(
        &self,
        commit: &Commit,
        worktree: &Worktree,
        directory: &Path,
    ) -> Result<Result<PathBuf, KernelError>> {
        let images = directory.join("images");
        let image = images.join(commit.short());
        if image.is_file() {
            return Ok(Ok(image));
        }
        worktree.check_out(commit)?;
        let kernels = self.places.kernels(self.listener.building())?;
        let tree = Tree {
            sources: worktree.directory().to_owned(),
            objects: directory.join("objects"),
            log: directory.join("log"),
            recipe: self.settings.recipe.clone(),
        };
        let kernel = match kernels.build_tree(&tree, commit.short()) {
            Ok(kernel) => kernel,
            Err(error) if is_of_sources(&error) => return Ok(Err(error)),
            Err(error) => return Err(error.into()),
        };
        let keep = || {
            fs::create_dir_all(&images)?;
            // The image appears only when complete.
            let part = images.join("part");
            fs::copy(&kernel.path, &part)?;
            if let Some(config) = &kernel.config {
                fs::write(images.join(format!("{}.config", commit.short())), config)?;
            }
            fs::rename(&part, &image)
        };
        keep().or_error(ErrorKind::Unavailable, || format!("cannot write {}", image.display()))?;
        Ok(Ok(image))
    }
}

/// The file with the name of the run that compares a commit, which an interrupted command leaves.
struct BegunRun(PathBuf);

impl BegunRun {
    fn of(commit: &Commit, directory: &Path) -> Self {
        Self(directory.join("runs").join(commit.short()))
    }

    fn read(&self) -> Option<RunId> {
        let name = fs::read_to_string(&self.0).ok()?;
        Some(RunId::new(name.trim()))
    }

    /// Without the file, a later command measures the commit from the start.
    fn write(&self, run: &RunId) {
        let written = self.0.parent().map_or(Ok(()), fs::create_dir_all);
        let _ = written.and_then(|()| fs::write(&self.0, format!("{run}\n")));
    }
}

/// Names the kernels in events as commits: the paths of their images say little.
struct Named<'l> {
    listener: &'l mut dyn Listener,
    /// Paths, and what is written in their place.
    names: [(String, String); 2],
}

impl<'l> Named<'l> {
    fn new(
        listener: &'l mut dyn Listener,
        commit: &Commit,
        image: &Path,
        good_image: &Path,
    ) -> Self {
        let path = |image: &Path| image.display().to_string();
        let names =
            [(path(image), commit.named()), (path(good_image), "the good commit".to_owned())];
        Self { listener, names }
    }

    fn name(&self, label: &str) -> String {
        self.names.iter().fold(label.to_owned(), |label, (path, name)| label.replace(path, name))
    }
}

impl Listener for Named<'_> {
    fn begins(&mut self, stopper: &Stopper) -> io::Result<()> {
        self.listener.begins(stopper)
    }

    fn on_event(&mut self, event: &Event<'_>) {
        let name;
        let names: Vec<String>;
        let mut event = event.clone();
        match &mut event {
            Event::TurnStarted { label, .. }
            | Event::TurnFinished { label, .. }
            | Event::TurnFailed { label, .. } => {
                name = self.name(label);
                *label = &name;
            }
            Event::RunStarted { labels, .. } | Event::RoundsTaken { labels, .. } => {
                names = labels.iter().map(|label| self.name(label)).collect();
                *labels = &names;
            }
            _ => {}
        }
        self.listener.on_event(&event);
    }

    fn lacks(&self, shortfall: &Shortfall) {
        self.listener.lacks(shortfall);
    }

    fn building(&self) -> BuildListener {
        self.listener.building()
    }
}

/// Whether a build failed for a reason that other commits need not have.
const fn is_of_sources(error: &KernelError) -> bool {
    matches!(
        error,
        KernelError::NotAKernel(_)
            | KernelError::Build(BuildError::Failed { .. } | BuildError::Refused { .. })
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_run_of_an_interrupted_gate_is_found_again() {
        let folder = tempfile::tempdir().unwrap();
        let commit = Commit { id: "0123456789abcdef".to_owned(), subject: "sched: x".to_owned() };
        let begun = || BegunRun::of(&commit, folder.path());
        assert_eq!(begun().read(), None);
        begun().write(&RunId::new("gate-20261121-220000"));
        assert_eq!(begun().read(), Some(RunId::new("gate-20261121-220000")));
    }

    /// Collects the labels of events.
    struct Labels(Vec<String>);

    impl Listener for Labels {
        fn begins(&mut self, _: &Stopper) -> io::Result<()> {
            Ok(())
        }

        fn on_event(&mut self, event: &Event<'_>) {
            if let Event::TurnFailed { label, .. } = event {
                self.0.push((*label).to_owned());
            }
        }

        fn building(&self) -> BuildListener {
            Box::new(|_| ())
        }
    }

    #[test]
    fn progress_names_commits_and_not_the_paths_of_images() {
        let commit = Commit { id: "0123456789abcdef".to_owned(), subject: "sched: x".to_owned() };
        let mut labels = Labels(Vec::new());
        let (image, good) = (Path::new("/cache/0123456789ab"), Path::new("/cache/abcdef012345"));
        let mut named = Named::new(&mut labels, &commit, image, good);
        let turn = tactus_model::experiment::Turn { round: 0, cell: 0 };
        let failure = tactus_model::result::Failure {
            turn,
            reason: String::new(),
            hint: None,
            by_host: false,
        };
        for label in ["/cache/0123456789ab (syscall)", "/cache/abcdef012345:quirk (idle)"] {
            named.on_event(&Event::TurnFailed { label, failure: &failure });
        }
        assert_eq!(
            labels.0,
            ["0123456789ab \"sched: x\" (syscall)", "the good commit:quirk (idle)"]
        );
    }
}
