//! Kernels that can be booted: those of this system, files, Debian's packages, and kernels
//! built from Debian's source.
//!
//! A fetched or built kernel is kept by the digest of its content, so that a run of last year
//! can name exactly what it measured; beside it stand the names of the packages it came in.
#![forbid(unsafe_code)]

mod build;
mod cache;
mod debian;
mod image;
mod tool;

use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;
use tactus_model::digest::sha256;
use tactus_model::kernel::{Flavour, KernelSource};

pub use build::{BuildError, BuildEvent, Tool};

use build::{Builder, Listener};
use cache::Cache;

/// A kernel that can be booted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Its file.
    pub path: PathBuf,
    /// The release in its file's header, as `uname -r` will tell it.
    pub release: Option<String>,
    /// The SHA-256 digest of its file.
    pub sha256: String,
    /// How it was built, where that is told beside it.
    pub config: Option<Vec<u8>>,
}

/// A kernel as a line of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KnownKernel {
    /// What to give to `--kernel`.
    pub name: String,
    /// Where it stands.
    pub state: KernelState,
    /// Its file, or the package it is fetched from, or what is known of its build.
    pub from: String,
}

/// Where a kernel of a list stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum KernelState {
    /// In `/boot`.
    Installed,
    /// Fetched earlier.
    Fetched,
    /// The system's package tool can fetch it.
    Available,
    /// Built earlier.
    Built,
    /// Built earlier, of another source, patch or compiler than its name stands for today.
    Outdated,
    /// It is being built.
    Building,
    /// Its build was interrupted, and goes on when it is wanted.
    Unfinished,
}

impl KernelState {
    /// The state as a word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Installed => "installed",
            Self::Fetched => "fetched",
            Self::Available => "available",
            Self::Built => "built",
            Self::Outdated => "outdated",
            Self::Building => "building",
            Self::Unfinished => "unfinished",
        }
    }
}

/// Why a kernel cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// No kernel of this release is in `/boot`.
    #[error("no kernel {release} is in {}{there}", .directory.display())]
    NotInstalled {
        /// The release that was asked for.
        release: String,
        /// Where kernels are installed.
        directory: PathBuf,
        /// Which are there instead.
        there: String,
    },
    /// The file is no kernel.
    #[error("{} is no kernel: it lacks the header of a bzImage", .0.display())]
    NotAKernel(PathBuf),
    /// The package tool is not there.
    #[error("`{0}` is not installed, by which Debian's kernels are fetched")]
    NoPackageTool(&'static str),
    /// The package tool knows no such package.
    #[error("the package tool knows no package {0}: {1}")]
    NoPackage(String, String),
    /// The package could not be fetched or unpacked.
    #[error("{0} cannot be fetched: {1}")]
    NotFetched(String, String),
    /// The package holds no kernel.
    #[error("the package {0} holds no kernel")]
    Empty(String),
    /// The kernel cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
}

impl KernelError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NotInstalled { .. } => {
                Some("tactus lab kernels lists those that are there".to_owned())
            }
            Self::NoPackageTool(_) => Some(
                "on a system that is not Debian's, name a kernel's file: --kernel ./bzImage"
                    .to_owned(),
            ),
            Self::NoPackage(..) => Some(
                "sudo apt-get update; `apt-cache search '^linux-image-'` lists what there is"
                    .to_owned(),
            ),
            Self::Build(error) => error.hint(),
            Self::NotAKernel(_) | Self::NotFetched(..) | Self::Empty(_) | Self::File(_) => None,
        }
    }
}

/// A file that cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error("cannot read or write {}: {source}", .path.display())]
pub struct FileError {
    /// Its path.
    pub path: PathBuf,
    /// What the system answered.
    pub source: io::Error,
}

fn failed(path: &Path, source: io::Error) -> FileError {
    FileError { path: path.to_owned(), source }
}

/// Where kernels are looked for and kept.
#[derive(Clone)]
pub struct Kernels {
    installed: PathBuf,
    cache: Cache,
    builder: Builder,
    listener: Arc<Listener>,
}

impl fmt::Debug for Kernels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { installed, cache, builder, listener: _ } = self;
        f.debug_struct("Kernels")
            .field("installed", installed)
            .field("cache", cache)
            .field("builder", builder)
            .finish_non_exhaustive()
    }
}

impl Kernels {
    /// Kernels installed in `installed`, which is `/boot`, and fetched and built ones in `cache`.
    pub fn new(installed: impl Into<PathBuf>, cache: impl Into<PathBuf>) -> Self {
        let cache = cache.into();
        Self {
            installed: installed.into(),
            builder: Builder::new(&cache),
            cache: Cache::new(cache),
            listener: Arc::new(|_: &BuildEvent<'_>| ()),
        }
    }

    /// Has kernels built with the programs along `search_path`, a list of directories as `PATH`
    /// is. Without it nothing is built.
    #[must_use]
    pub fn building_with(mut self, search_path: OsString) -> Self {
        self.builder.search_path = search_path;
        self
    }

    /// Has `listener` told what happens while a kernel is built, which takes minutes.
    #[must_use]
    pub fn telling(mut self, listener: impl Fn(&BuildEvent<'_>) + Send + Sync + 'static) -> Self {
        self.listener = Arc::new(listener);
        self
    }

    /// Finds a kernel, and fetches or builds it where that has to be done.
    ///
    /// # Errors
    /// It is not there and cannot be fetched or built.
    pub fn find(&self, source: &KernelSource) -> Result<Kernel, KernelError> {
        match source {
            KernelSource::File(path) => kernel_in(Path::new(path), None),
            KernelSource::Installed { release } => self.installed(release.as_deref()),
            KernelSource::Built(kernel) => {
                self.builder.find_or_build(kernel, &self.cache, &*self.listener)
            }
            KernelSource::Debian { flavour, version } => {
                let package = match version {
                    Some(version) => debian::package(*flavour, version),
                    None => debian::current(*flavour)?,
                };
                match self.cache.find(&package)? {
                    Some(kernel) => Ok(kernel),
                    None => debian::fetch(&package, &self.cache),
                }
            }
        }
    }

    fn installed(&self, release: Option<&str>) -> Result<Kernel, KernelError> {
        let release = match release {
            Some(release) => release.to_owned(),
            None => running_release(),
        };
        let path = self.installed.join(format!("{IMAGE_PREFIX}{release}"));
        if path.is_file() {
            return kernel_in(&path, Some(&self.installed.join(format!("config-{release}"))));
        }
        let there = self.installed_releases();
        let there = if there.is_empty() {
            "; none is there".to_owned()
        } else {
            format!("; there are: {}", there.join(", "))
        };
        Err(KernelError::NotInstalled { release, directory: self.installed.clone(), there })
    }

    fn installed_releases(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.installed).into_iter().flatten();
        let mut releases: Vec<String> = entries
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter_map(|name| name.strip_prefix(IMAGE_PREFIX).map(str::to_owned))
            .collect();
        releases.sort();
        releases
    }

    /// The kernels that are there: those that are installed, and those fetched earlier by
    /// their versions.
    ///
    /// # Errors
    /// The cache is there and cannot be read.
    pub fn there(&self) -> Result<Vec<KnownKernel>, KernelError> {
        let installed = self.installed_releases().into_iter().map(|release| KnownKernel {
            name: format!("installed@{release}"),
            state: KernelState::Installed,
            from: self.installed.join(format!("{IMAGE_PREFIX}{release}")).display().to_string(),
        });
        let packages = self.cache.packages()?;
        let fetched = packages.iter().filter_map(|package| {
            let (flavour, version) = debian::flavour_and_version(package)?;
            Some(KnownKernel {
                name: format!("{flavour}@{version}"),
                state: KernelState::Fetched,
                from: package.clone(),
            })
        });
        Ok(installed.chain(fetched).collect())
    }

    /// The kernels that are [`there`](Self::there), those that were built or whose build is not
    /// finished, and the current ones of Debian, which can be fetched where there is its package
    /// tool. Asking that takes some seconds.
    ///
    /// # Errors
    /// The cache is there and cannot be read.
    pub fn list(&self) -> Result<Vec<KnownKernel>, KernelError> {
        let packages = self.cache.packages()?;
        let current = Flavour::ALL.iter().filter_map(|flavour| {
            let package = debian::current(*flavour).ok()?;
            let state = match packages.contains(&package) {
                true => KernelState::Fetched,
                false => KernelState::Available,
            };
            Some(KnownKernel { name: flavour.word().to_owned(), state, from: package })
        });
        let built = self.builder.list(&self.cache)?;
        Ok(self.there()?.into_iter().chain(built).chain(current).collect())
    }
}

/// How installed kernels' files are called, before their release.
const IMAGE_PREFIX: &str = "vmlinuz-";

fn running_release() -> String {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    release.trim().to_owned()
}

/// Reads a kernel's file, and how it was built where `config` is there.
fn kernel_in(path: &Path, config: Option<&Path>) -> Result<Kernel, KernelError> {
    let bytes = fs::read(path).map_err(|error| failed(path, error))?;
    if !image::is_kernel(&bytes) {
        return Err(KernelError::NotAKernel(path.to_owned()));
    }
    Ok(Kernel {
        path: path.to_owned(),
        release: image::release(&bytes),
        sha256: sha256([&bytes]),
        // Without it some facts of the guest stay unknown, and are shown so.
        config: config.and_then(|config| fs::read(config).ok()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn installed_kernels_are_found_and_missing_ones_named_with_those_that_are_there() {
        let boot = tempfile::tempdir().unwrap();
        let image = image::tests::image("6.1.0-56-amd64 (ann@home) #1");
        fs::write(boot.path().join("vmlinuz-6.1.0-56-amd64"), &image).unwrap();
        fs::write(boot.path().join("config-6.1.0-56-amd64"), "CONFIG_HZ=250\n").unwrap();
        let kernels = Kernels::new(boot.path(), boot.path().join("cache"));
        let source = |release: &str| KernelSource::Installed { release: Some(release.to_owned()) };

        let kernel = kernels.find(&source("6.1.0-56-amd64")).unwrap();
        assert_eq!(kernel.release.as_deref(), Some("6.1.0-56-amd64"));
        assert_eq!(kernel.config.as_deref(), Some(b"CONFIG_HZ=250\n".as_slice()));
        assert_eq!(kernel.sha256, sha256([&image]));

        let error = kernels.find(&source("7.0")).unwrap_err();
        assert!(error.to_string().contains("there are: 6.1.0-56-amd64"), "{error}");
        assert!(error.hint().is_some());
        let listed = kernels.there().unwrap();
        assert_eq!(listed[0].name, "installed@6.1.0-56-amd64");
    }

    #[test]
    fn a_file_that_is_no_kernel_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().to_str().unwrap().to_owned();
        let kernels = Kernels::new("/no/boot", "/no/cache");
        let error = kernels.find(&KernelSource::File(path)).unwrap_err();
        assert!(error.to_string().contains("is no kernel"), "{error}");
    }
}
