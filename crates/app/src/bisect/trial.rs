//! Building the kernel of a commit, and comparing it with that of the good commit.

use std::fs;
use std::path::{Path, PathBuf};

use tactus_judge::kernels::{Decision, GateOptions};
use tactus_kernels::{BuildError, KernelError, Recipe, Tree};
use tactus_model::experiment::{Overrides, Plan};
use tactus_model::kernel::GuestKernel;
use tactus_model::run::Run;
use tactus_model::time::Nanos;
use tactus_store::Store;

use super::git::{Commit, Worktree};
use super::{Trial, Verdict};
use crate::error::OrError;
use crate::kernel_gate::{self, KernelGate};
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
    /// What a difference is.
    pub options: GateOptions,
    /// The time limit of a guest.
    pub limit: Option<Nanos>,
}

impl GateTrialSettings {
    /// Everything that determines verdicts, as a text.
    ///
    /// # Errors
    /// Those of [`GateTrialSettings::plan`].
    pub fn conditions(&self) -> Result<String> {
        let Self { recipe, parameters, experiment: _, overrides: _, options, limit: _ } = self;
        let plan = self.plan(Path::new("/good"), Path::new("/bad"))?;
        Ok(format!("{recipe:?}\n{parameters:?}\n{:?}\n{plan:?}\n{options:?}", VERSION))
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
        kernel_gate::plan(&self.experiment, overrides, Some(&kernel(good)?), &self.options)
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
        let settings = GuestSettings { limit: self.settings.limit, ..GuestSettings::default() };
        let run =
            kernel_gate::measure(self.places, self.store, &plan, &settings, &mut *self.listener);
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
            kernel_gate::judge(run, &self.settings.options)?;
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

/// Whether a build failed for a reason that other commits need not have.
const fn is_of_sources(error: &KernelError) -> bool {
    matches!(
        error,
        KernelError::NotAKernel(_)
            | KernelError::Build(BuildError::Failed { .. } | BuildError::Refused { .. })
    )
}
