//! Kernels built from Debian's source of Linux, with our patch and configuration.
//!
//! A key identifies a kernel: the digest of the source's version, the patch, the configuration,
//! and the compiler. Objects stay under that key until the kernel is finished, so an interrupted
//! build continues; then only the image and its configuration are kept.

mod compile;
mod configuration;
mod options;
mod site;
mod source;
mod tools;
mod tree;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Serialize;
use tactus_model::digest::sha256;
use tactus_model::kernel::{Architecture, BuiltKernel};

pub use tools::Tool;
pub use tree::{Recipe, Tree};

use crate::cache::Cache;
use crate::{FileError, Kernel, KernelError, KernelState, KnownKernel, failed};
use compile::{Compiling, Pace, variable};
use configuration::Configuration;
use site::{Begun, Record, Site, Sites};
use source::{PATCH, Source, Sources};

/// An event of a build.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum KernelBuildEvent<'a> {
    /// A package is being fetched: a source, or a kernel of Debian.
    Fetching {
        /// The package.
        package: &'a str,
        /// Its size, if known.
        bytes: Option<u64>,
    },
    /// The lists of Debian's packages for another architecture are being fetched.
    FetchingLists {
        /// The architecture.
        architecture: Architecture,
    },
    /// The source is being unpacked and patched.
    Unpacking {
        /// Its version.
        version: &'a str,
    },
    /// Another command builds the same kernel; this command waits for it.
    Waiting {
        /// The kernel.
        kernel: &'a str,
        /// Objects that exist.
        objects: u64,
        /// The expected number of objects.
        of: u64,
    },
    /// The kernel is being compiled; at most one such event a second.
    Compiling {
        /// The kernel.
        kernel: &'a str,
        /// Objects that exist.
        objects: u64,
        /// The expected number of objects.
        of: u64,
        /// The remaining time in seconds, once enough objects were compiled to estimate it.
        seconds_left: Option<u64>,
    },
    /// The kernel is built.
    Built {
        /// The kernel.
        kernel: &'a str,
        /// The duration in seconds, without earlier, interrupted builds.
        seconds: u64,
        /// The objects compiled in that time.
        compiled: u64,
        /// All objects.
        objects: u64,
        /// The size of its image, in bytes.
        image_bytes: u64,
        /// The size of its removed objects, in bytes.
        freed_bytes: u64,
    },
}

/// Receives the events of a build.
pub(super) type Listener = dyn Fn(&KernelBuildEvent<'_>) + Send + Sync;

/// Why a kernel cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// Build tools are missing.
    #[error("cannot build a kernel: not installed: {}", names(.0))]
    MissingTools(Vec<Tool>),
    /// The package tool is missing.
    #[error("cannot fetch Debian's source of Linux: `{0}` is not installed")]
    NoPackageTool(&'static str),
    /// The package tool cannot fetch the source.
    #[error("cannot fetch the package {0}: {1}")]
    NoSource(String, String),
    /// The package cannot be unpacked.
    #[error("cannot unpack the package {0}: {1}")]
    NotUnpacked(String, String),
    /// The patch does not apply to the source.
    #[error("cannot apply the tick-rate patch to Linux {version}: {output}")]
    Patch {
        /// The version of the source.
        version: String,
        /// The message of `patch`.
        output: String,
    },
    /// Linux's configuration differs from the request.
    #[error("Linux {version} rejects the configuration: {}", .refused.join("; "))]
    Refused {
        /// The version of the source.
        version: String,
        /// Each option that differs, and why.
        refused: Vec<String>,
    },
    /// Linux's build failed.
    #[error("{step} failed:\n{output}")]
    Failed {
        /// The step of the build.
        step: &'static str,
        /// The log of the build.
        log: PathBuf,
        /// The relevant lines of the log.
        output: String,
    },
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
}

impl BuildError {
    /// The fix, if known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::MissingTools(tools) => {
                let mut packages: Vec<&str> = tools.iter().map(|tool| tool.package).collect();
                packages.sort_unstable();
                packages.dedup();
                Some(format!("sudo apt-get install {}", packages.join(" ")))
            }
            Self::NoPackageTool(_) => Some(
                "kernels are built from Debian's source; on other distributions, build a kernel \
                 yourself and pass its file: --kernel ./bzImage"
                    .to_owned(),
            ),
            Self::NoSource(..) => Some(
                "sudo apt-get update; `apt-cache search '^linux-source-'` lists the sources; \
                 built@6.12 uses linux-source-6.12"
                    .to_owned(),
            ),
            Self::Patch { .. } => Some("use built@6.12, for which the patch was made".to_owned()),
            Self::Refused { .. } => {
                Some("add the options that it depends on, each as a further +OPTION=y".to_owned())
            }
            Self::Failed { log, .. } => {
                Some(format!("the log is {}; the same command continues the build", log.display()))
            }
            Self::NotUnpacked(..) | Self::File(_) => None,
        }
    }
}

fn names(tools: &[Tool]) -> String {
    let names: Vec<&str> = tools.iter().map(|tool| tool.name).collect();
    names.join(", ")
}

/// Builds kernels.
#[derive(Clone, Debug)]
pub(super) struct Builder {
    sources: Sources,
    sites: Sites,
    /// The directories that are searched for programs, in the form of `PATH`.
    pub(super) search_path: OsString,
}

/// A kernel with everything that determines its content.
struct Project<'a> {
    kernel: &'a BuiltKernel,
    source: Source,
    configuration: Configuration,
    compiler: String,
}

impl Project<'_> {
    /// The digest of everything that determines the kernel's content.
    fn key(&self) -> String {
        let Self { source, configuration, compiler, .. } = self;
        let patch = sha256([PATCH]);
        let configuration = configuration.text();
        sha256([format!("{}\n{patch}\n{compiler}\n{configuration}", source.version)])
    }
}

/// The cache's name for a built kernel.
fn cached_as(key: &str) -> String {
    format!("built-{key}")
}

impl Builder {
    /// Builds below `root`.
    pub(super) fn new(root: &Path) -> Self {
        Self {
            sources: Sources::new(root.join("sources")),
            sites: Sites::new(root.join("builds")),
            search_path: OsString::new(),
        }
    }

    /// Finds a built kernel, or builds it.
    pub(super) fn find_or_build(
        &self,
        kernel: &BuiltKernel,
        cache: &Cache,
        listener: &Listener,
    ) -> Result<Kernel, KernelError> {
        let missing = tools::missing(&self.search_path);
        if !missing.is_empty() {
            return Err(BuildError::MissingTools(missing).into());
        }
        let source = self.sources.find_or_fetch(kernel.version.as_deref(), listener)?;
        let project = self.project(kernel, source);
        let key = project.key();
        if let Some(kernel) = cache.find(&cached_as(&key))? {
            return Ok(kernel);
        }
        let site = self.sites.site(&key);
        let (name, of) = (kernel.to_string(), self.sites.expected_objects(kernel));
        let wait = |objects| listener(&KernelBuildEvent::Waiting { kernel: &name, objects, of });
        // The lock is held until the kernel is in the cache.
        let lock = site.lock(wait)?;
        // The previous holder may have finished the kernel.
        let built = match cache.find(&cached_as(&key))? {
            Some(kernel) => kernel,
            None => self.build(&project, &site, cache, listener)?,
        };
        drop(lock);
        Ok(built)
    }

    fn project<'k>(&self, kernel: &'k BuiltKernel, source: Source) -> Project<'k> {
        let configuration = Configuration::of(kernel);
        let compiler = tools::versions(&self.search_path);
        Project { kernel, source, configuration, compiler }
    }

    fn build(
        &self,
        project: &Project<'_>,
        site: &Site,
        cache: &Cache,
        listener: &Listener,
    ) -> Result<Kernel, KernelError> {
        let began = Instant::now();
        let name = project.kernel.to_string();
        let of = self.sites.expected_objects(project.kernel);
        site.begin(&Begun { name: name.clone(), of })?;
        let (objects, log) = (site.objects(), site.log());
        let compiling = Compiling {
            tree: &project.source.tree,
            objects: &objects,
            log: &log,
            search_path: &self.search_path,
        };
        let config = configure(project, site, &compiling)?;
        let compiled = compile(&compiling, &name, of, listener)?;
        let image = objects.join("arch/x86/boot/bzImage");
        let image = fs::read(&image).map_err(|error| failed(&image, error))?;
        let key = project.key();
        let record = Record {
            name: name.clone(),
            source: project.source.version.clone(),
            compiler: project.compiler.clone(),
            objects: compile::objects_in(&objects),
            seconds: began.elapsed().as_secs(),
            compiled,
            image_bytes: image.len() as u64,
        };
        let built = cache.keep(&cached_as(&key), &image, Some(&config))?;
        self.sites.note(&key, &record)?;
        let freed_bytes = site.clear()?;
        let Record { objects, seconds, image_bytes, .. } = record;
        let kernel = &name;
        listener(&KernelBuildEvent::Built {
            kernel,
            seconds,
            compiled,
            objects,
            image_bytes,
            freed_bytes,
        });
        Ok(built)
    }

    /// The built kernels and the unfinished kernels, as lines of a list.
    pub(super) fn list(&self, cache: &Cache) -> Result<Vec<KnownKernel>, KernelError> {
        let mut known = Vec::new();
        for (key, record) in self.sites.records() {
            if cache.find(&cached_as(&key))?.is_some() {
                known.push(KnownKernel {
                    state: self.state(&key, &record)?,
                    from: summary(&record),
                    name: record.name,
                });
            }
        }
        for unfinished in self.sites.unfinished() {
            let site::Unfinished { begun, objects, bytes, directory, in_use } = unfinished;
            let Begun { name, of } = begun;
            let state = if in_use { KernelState::Building } else { KernelState::Unfinished };
            let megabytes = bytes / 1_000_000;
            let from = format!(
                "{objects} of about {} objects, {megabytes} MB in {}",
                of.max(objects),
                directory.display()
            );
            known.push(KnownKernel { name, state, from });
        }
        Ok(known)
    }

    /// Whether a built kernel is still what its name means today.
    fn state(&self, key: &str, record: &Record) -> Result<KernelState, FileError> {
        let Ok(kernel) = record.name.parse::<BuiltKernel>() else {
            return Ok(KernelState::Outdated);
        };
        let source = self.sources.find(kernel.version.as_deref())?;
        let is_current = source.is_some_and(|source| self.project(&kernel, source).key() == key);
        Ok(if is_current { KernelState::Built } else { KernelState::Outdated })
    }
}

/// The summary of a built kernel in a list.
fn summary(record: &Record) -> String {
    let Record { source, image_bytes, objects, compiled, seconds, .. } = record;
    format!(
        "Linux {source}, {:.1} MB, {objects} objects, {compiled} compiled in {seconds} s",
        *image_bytes as f64 / 1e6
    )
}

/// Configures a kernel, unless it is configured already; returns its configuration.
fn configure(
    project: &Project<'_>,
    site: &Site,
    compiling: &Compiling<'_>,
) -> Result<Vec<u8>, BuildError> {
    let file = compiling.objects.join(".config");
    let requested = site.requested();
    if !file.is_file() {
        fs::write(&requested, project.configuration.text())
            .map_err(|error| failed(&requested, error))?;
        let settings = [variable("KCONFIG_ALLCONFIG", &requested)];
        step(compiling, "configuring Linux", "allnoconfig", &settings, |_| ())?;
    }
    let config = fs::read(&file).map_err(|error| failed(&file, error))?;
    let refused = project.configuration.refused(&String::from_utf8_lossy(&config));
    if refused.is_empty() {
        return Ok(config);
    }
    let tree = &project.source.tree;
    let refused = refused.iter().map(|option| options::why(tree, option)).collect();
    // This configuration is never compiled, so there is nothing to continue.
    site.clear()?;
    Err(BuildError::Refused { version: project.source.version.clone(), refused })
}

/// Compiles a kernel; returns the number of objects that were compiled now.
fn compile(
    compiling: &Compiling<'_>,
    name: &str,
    of: u64,
    listener: &Listener,
) -> Result<u64, BuildError> {
    const INTERVAL: Duration = Duration::from_secs(1);
    let pace = Pace::begin(compile::objects_in(compiling.objects), of);
    let (mut reported, mut compiled) = (None::<Instant>, 0);
    step(compiling, "compiling Linux", "bzImage", &[], |now| {
        compiled = now;
        if reported.is_some_and(|reported| reported.elapsed() < INTERVAL) {
            return;
        }
        reported = Some(Instant::now());
        let objects = pace.done(now);
        let seconds_left = pace.left(now).map(|left| left.as_secs());
        let of = of.max(objects);
        listener(&KernelBuildEvent::Compiling { kernel: name, objects, of, seconds_left });
    })?;
    Ok(compiled)
}

/// Runs a step of Linux's build.
fn step(
    compiling: &Compiling<'_>,
    step: &'static str,
    target: &str,
    settings: &[OsString],
    progress: impl FnMut(u64),
) -> Result<(), BuildError> {
    let log = compiling.log;
    let before = fs::metadata(log).map_or(0, |found| found.len());
    let status = compiling.make(target, settings, progress).map_err(|error| failed(log, error))?;
    if status.success() {
        return Ok(());
    }
    let output = fs::read(log).map_err(|error| failed(log, error))?;
    let output = output.get(usize::try_from(before).unwrap_or(0)..).unwrap_or_default();
    let output = relevant_lines(&String::from_utf8_lossy(output));
    Err(BuildError::Failed { step, log: log.to_owned(), output })
}

/// The lines of a log that show the failure: from the first error on, else the last lines.
///
/// Several compilers run at once, so the failure may be far from the end.
fn relevant_lines(log: &str) -> String {
    const LINES: usize = 12;
    let lines: Vec<&str> = log.lines().collect();
    let is_error = |line: &&str| line.contains("error: ") || line.contains("Error ");
    let first = lines.iter().position(is_error);
    let first = first.unwrap_or(lines.len().saturating_sub(LINES));
    lines
        .iter()
        .skip(first)
        .take(LINES)
        .map(|line| format!("  {line}"))
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests;
