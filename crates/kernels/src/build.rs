//! Kernels built from Debian's source of Linux, with a patch and a configuration of ours.
//!
//! A kernel is known by a key: the digest of the source's version, the patch, the
//! configuration, and the compiler. What is compiled lies under that key until the kernel is
//! finished, so that a build that was interrupted goes on where it was; then only the image
//! and its configuration are kept.

mod compile;
mod configuration;
mod options;
mod site;
mod source;
mod tools;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Serialize;
use tactus_model::digest::sha256;
use tactus_model::kernel::BuiltKernel;

pub use tools::Tool;

use crate::cache::Cache;
use crate::{FileError, Kernel, KernelError, KernelState, KnownKernel, failed};
use compile::{Compiling, Pace, variable};
use configuration::Configuration;
use site::{Begun, Record, Site, Sites};
use source::{PATCH, Source, Sources};

/// What happens while a kernel is built.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum BuildEvent<'a> {
    /// The source is fetched.
    Fetching {
        /// The package.
        package: &'a str,
    },
    /// The source is unpacked and patched.
    Unpacking {
        /// Its version.
        version: &'a str,
    },
    /// Another command builds the same kernel, which is awaited.
    Waiting {
        /// The kernel.
        kernel: &'a str,
        /// Objects that are there.
        objects: u64,
        /// How many there will be, as far as that is known.
        of: u64,
    },
    /// It is compiled; told once a second at most.
    Compiling {
        /// The kernel.
        kernel: &'a str,
        /// Objects that are there.
        objects: u64,
        /// How many there will be, as far as that is known.
        of: u64,
        /// The seconds left, where enough has been compiled to tell.
        seconds_left: Option<u64>,
    },
    /// It is there.
    Built {
        /// The kernel.
        kernel: &'a str,
        /// How long this took, in seconds, without what an interrupted build had done before.
        seconds: u64,
        /// The objects that were compiled in that time.
        compiled: u64,
        /// All objects.
        objects: u64,
        /// The size of its image, in bytes.
        image_bytes: u64,
        /// What its objects took, in bytes, before they were removed.
        freed_bytes: u64,
    },
}

/// Who is told what happens while a kernel is built.
pub(super) type Listener = dyn Fn(&BuildEvent<'_>) + Send + Sync;

/// Why a kernel cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// Something that compiles it is not installed.
    #[error("a kernel cannot be built here without: {}", names(.0))]
    MissingTools(Vec<Tool>),
    /// The package tool is not there.
    #[error("`{0}` is not installed, by which Debian's source of Linux is fetched")]
    NoPackageTool(&'static str),
    /// The package tool knows no such source.
    #[error("the package tool does not fetch {0}: {1}")]
    NoSource(String, String),
    /// The package could not be unpacked.
    #[error("{0} cannot be unpacked: {1}")]
    NotUnpacked(String, String),
    /// The source is another than the patch was made for.
    #[error("the patch for tick rates does not fit Linux {version}: {said}")]
    Patch {
        /// The version of the source.
        version: String,
        /// What `patch` complained of.
        said: String,
    },
    /// Linux's configuration is not what was asked for.
    #[error("Linux {version} does not take what was asked for: {}", .refused.join("; "))]
    Refused {
        /// The version of the source.
        version: String,
        /// Each option that differs, and why.
        refused: Vec<String>,
    },
    /// Linux's build failed.
    #[error("{step} failed:\n{said}")]
    Failed {
        /// What was to be made.
        step: &'static str,
        /// Where what it said is kept.
        log: PathBuf,
        /// The lines that tell.
        said: String,
    },
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
}

impl BuildError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::MissingTools(tools) => {
                let mut packages: Vec<&str> = tools.iter().map(|tool| tool.package).collect();
                packages.sort_unstable();
                packages.dedup();
                Some(format!("sudo apt-get install {}", packages.join(" ")))
            }
            Self::NoPackageTool(_) => Some(
                "kernels are built from Debian's source: on another system, build one there, and \
                 name its file: --kernel ./bzImage"
                    .to_owned(),
            ),
            Self::NoSource(..) => Some(
                "sudo apt-get update; `apt-cache search '^linux-source-'` lists what there is, \
                 of which built@6.12 takes linux-source-6.12"
                    .to_owned(),
            ),
            Self::Patch { .. } => Some("built@6.12 is what it was made for".to_owned()),
            Self::Refused { .. } => {
                Some("ask for what it depends on as well, each as a further +OPTION=y".to_owned())
            }
            Self::Failed { log, .. } => Some(format!(
                "all that it said is in {}; the same command goes on where it ended",
                log.display()
            )),
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
    /// The directories in which programs are looked for, as `PATH`.
    pub(super) search_path: OsString,
}

/// A kernel with all that decides what it is.
struct Project<'a> {
    kernel: &'a BuiltKernel,
    source: Source,
    configuration: Configuration,
    compiler: String,
}

impl Project<'_> {
    /// The digest of all that decides what the kernel is.
    fn key(&self) -> String {
        let Self { source, configuration, compiler, .. } = self;
        let patch = sha256([PATCH]);
        let configuration = configuration.text();
        sha256([format!("{}\n{patch}\n{compiler}\n{configuration}", source.version)])
    }
}

/// The name under which the cache keeps a kernel that was built.
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

    /// Finds a kernel that was built, or builds it.
    pub(super) fn find_or_build(
        &self,
        kernel: &BuiltKernel,
        cache: &Cache,
        tell: &Listener,
    ) -> Result<Kernel, KernelError> {
        let missing = tools::missing(&self.search_path);
        if !missing.is_empty() {
            return Err(BuildError::MissingTools(missing).into());
        }
        let source = self.sources.find_or_fetch(kernel.version.as_deref(), tell)?;
        let project = self.project(kernel, source);
        let key = project.key();
        if let Some(kernel) = cache.find(&cached_as(&key))? {
            return Ok(kernel);
        }
        let site = self.sites.site(&key);
        let (name, of) = (kernel.to_string(), self.sites.expected_objects(kernel));
        let wait = |objects| tell(&BuildEvent::Waiting { kernel: &name, objects, of });
        // It is held until the kernel is kept.
        let lock = site.lock(wait)?;
        // Whoever was there before may have finished it.
        let built = match cache.find(&cached_as(&key))? {
            Some(kernel) => kernel,
            None => self.build(&project, &site, cache, tell)?,
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
        tell: &Listener,
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
        let compiled = compile(&compiling, &name, of, tell)?;
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
        tell(&BuildEvent::Built { kernel, seconds, compiled, objects, image_bytes, freed_bytes });
        Ok(built)
    }

    /// The kernels that were built, and those that are not finished, as lines of a list.
    pub(super) fn list(&self, cache: &Cache) -> Result<Vec<KnownKernel>, KernelError> {
        let mut known = Vec::new();
        for (key, record) in self.sites.records() {
            if cache.find(&cached_as(&key))?.is_some() {
                known.push(KnownKernel {
                    state: self.state(&key, &record)?,
                    from: told(&record),
                    name: record.name,
                });
            }
        }
        for unfinished in self.sites.unfinished() {
            let site::Unfinished { begun, objects, bytes, directory, worked_on } = unfinished;
            let Begun { name, of } = begun;
            let state = if worked_on { KernelState::Building } else { KernelState::Unfinished };
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

    /// Whether a kernel that was built is what its name gives today.
    fn state(&self, key: &str, record: &Record) -> Result<KernelState, FileError> {
        let Ok(kernel) = record.name.parse::<BuiltKernel>() else {
            return Ok(KernelState::Outdated);
        };
        let source = self.sources.find(kernel.version.as_deref())?;
        let is_current = source.is_some_and(|source| self.project(&kernel, source).key() == key);
        Ok(if is_current { KernelState::Built } else { KernelState::Outdated })
    }
}

/// What a line of a list tells of a kernel that was built.
fn told(record: &Record) -> String {
    let Record { source, image_bytes, objects, compiled, seconds, .. } = record;
    format!(
        "Linux {source}, {:.1} MB, {objects} objects, {compiled} compiled in {seconds} s",
        *image_bytes as f64 / 1e6
    )
}

/// Configures a kernel, unless that was done before; gives its configuration.
fn configure(
    project: &Project<'_>,
    site: &Site,
    compiling: &Compiling<'_>,
) -> Result<Vec<u8>, BuildError> {
    let file = compiling.objects.join(".config");
    let asked = site.asked();
    if !file.is_file() {
        fs::write(&asked, project.configuration.text()).map_err(|error| failed(&asked, error))?;
        let settings = [variable("KCONFIG_ALLCONFIG", &asked)];
        step(compiling, "configuring Linux", "allnoconfig", &settings, |_| ())?;
    }
    let config = fs::read(&file).map_err(|error| failed(&file, error))?;
    let refused = project.configuration.refused(&String::from_utf8_lossy(&config));
    if refused.is_empty() {
        return Ok(config);
    }
    let tree = &project.source.tree;
    let refused = refused.iter().map(|one| options::why(tree, one)).collect();
    // Nothing of it will be compiled, so nothing is left to go on with.
    site.clear()?;
    Err(BuildError::Refused { version: project.source.version.clone(), refused })
}

/// Compiles a kernel; how many objects were compiled now.
fn compile(
    compiling: &Compiling<'_>,
    name: &str,
    of: u64,
    tell: &Listener,
) -> Result<u64, BuildError> {
    const SELDOM: Duration = Duration::from_secs(1);
    let pace = Pace::begin(compile::objects_in(compiling.objects), of);
    let (mut told, mut compiled) = (None::<Instant>, 0);
    step(compiling, "compiling Linux", "bzImage", &[], |now| {
        compiled = now;
        if told.is_some_and(|told| told.elapsed() < SELDOM) {
            return;
        }
        told = Some(Instant::now());
        let objects = pace.done(now);
        let seconds_left = pace.left(now).map(|left| left.as_secs());
        let of = of.max(objects);
        tell(&BuildEvent::Compiling { kernel: name, objects, of, seconds_left });
    })?;
    Ok(compiled)
}

/// Has Linux's build make something.
fn step(
    compiling: &Compiling<'_>,
    step: &'static str,
    target: &str,
    settings: &[OsString],
    tell: impl FnMut(u64),
) -> Result<(), BuildError> {
    let log = compiling.log;
    let before = fs::metadata(log).map_or(0, |found| found.len());
    let status = compiling.make(target, settings, tell).map_err(|error| failed(log, error))?;
    if status.success() {
        return Ok(());
    }
    let said = fs::read(log).map_err(|error| failed(log, error))?;
    let said = said.get(usize::try_from(before).unwrap_or(0)..).unwrap_or_default();
    let said = what_tells(&String::from_utf8_lossy(said));
    Err(BuildError::Failed { step, log: log.to_owned(), said })
}

/// The lines of a log that tell why it ends: from the first error on, else the last ones.
///
/// Several compilers run at once, so that what failed may be far from the end.
fn what_tells(log: &str) -> String {
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
