//! Bootable kernels: those of this system, files, Debian's packages, and kernels built from
//! Debian's source.
//!
//! The cache stores a fetched or built kernel under the digest of its content, so an old run
//! names exactly what it measured; the cache also has the names of the packages.
#![forbid(unsafe_code)]

mod build;
mod cache;
mod debian;
mod image;
mod tool;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;
use tactus_model::digest::sha256;
use tactus_model::kernel::{Architecture, Flavour, KernelSource};
use tactus_sys::regular_file;

pub use build::{BuildError, KernelBuildEvent, Recipe, Tool, Tree};

use build::{Builder, Listener};
use cache::Cache;

/// A bootable kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Its file.
    pub path: PathBuf,
    /// The CPUs that it runs on.
    pub architecture: Architecture,
    /// The release in its file's header, as in `uname -r`.
    pub release: Option<String>,
    /// The SHA-256 digest of its file.
    pub sha256: String,
    /// Its configuration, if a file beside it has it.
    pub config: Option<Vec<u8>>,
}

/// A kernel as a line of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KnownKernel {
    /// The argument for `--kernel`.
    pub name: String,
    /// Its state.
    pub state: KernelState,
    /// Its file, its package, or a summary of its build.
    pub from: String,
}

/// The state of a kernel in a list.
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
    /// Built earlier, from another source, patch or compiler than its name means today.
    Outdated,
    /// It is being built.
    Building,
    /// Its build was interrupted, and continues at the next use.
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

/// Why a kernel is not available.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// No kernel of this release is in `/boot`.
    #[error("no kernel {release} in {}{there}", .directory.display())]
    NotInstalled {
        /// The requested release.
        release: String,
        /// The directory of installed kernels.
        directory: PathBuf,
        /// A list of the releases that are installed.
        there: String,
    },
    /// There is no such file.
    #[error("there is no kernel file {}", .0.display())]
    NoFile(PathBuf),
    /// The file is not a kernel.
    #[error(
        "{} is not a kernel: it has the header of neither an x86 bzImage nor an arm64 Image",
        .0.display()
    )]
    NotAKernel(PathBuf),
    /// The package tool is missing.
    #[error("cannot fetch Debian's kernels: `{0}` is not installed")]
    NoPackageTool(&'static str),
    /// The package does not exist.
    #[error("no package {0}: {1}")]
    NoPackage(String, String),
    /// The package cannot be fetched or unpacked.
    #[error("cannot fetch {0}: {1}")]
    NotFetched(String, String),
    /// The package contains no kernel.
    #[error("the package {0} contains no kernel")]
    Empty(String),
    /// The kernel cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
}

impl KernelError {
    /// The fix, if known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NotInstalled { .. } => {
                Some("`tactus lab kernels` lists the available kernels".to_owned())
            }
            Self::NoPackageTool(_) => {
                Some("on other distributions, pass a kernel's file: --kernel ./bzImage".to_owned())
            }
            Self::NoPackage(..) => Some(
                "sudo apt-get update; `apt-cache search '^linux-image-'` lists the packages"
                    .to_owned(),
            ),
            Self::Build(error) => error.hint(),
            Self::NoFile(_)
            | Self::NotAKernel(_)
            | Self::NotFetched(..)
            | Self::Empty(_)
            | Self::File(_) => None,
        }
    }
}

/// A file that cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error("cannot read or write {}: {source}", .path.display())]
pub struct FileError {
    /// Its path.
    pub path: PathBuf,
    /// The system's error.
    pub source: io::Error,
}

fn failed(path: &Path, source: io::Error) -> FileError {
    FileError { path: path.to_owned(), source }
}

/// The directories of kernels.
#[derive(Clone)]
pub struct Kernels {
    installed: PathBuf,
    cache: Cache,
    builder: Builder,
    listener: Arc<Listener>,
    given: BTreeMap<KernelSource, Kernel>,
}

impl fmt::Debug for Kernels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { installed, cache, builder, listener: _, given } = self;
        f.debug_struct("Kernels")
            .field("installed", installed)
            .field("cache", cache)
            .field("builder", builder)
            .field("given", given)
            .finish_non_exhaustive()
    }
}

impl Kernels {
    /// Uses `installed`, usually `/boot`, for installed kernels, and `cache` for fetched and built
    /// kernels.
    pub fn new(installed: impl Into<PathBuf>, cache: impl Into<PathBuf>) -> Self {
        let cache = cache.into();
        Self {
            installed: installed.into(),
            builder: Builder::new(&cache),
            cache: Cache::new(cache),
            listener: Arc::new(|_: &KernelBuildEvent<'_>| ()),
            given: BTreeMap::new(),
        }
    }

    /// Uses these kernels for their names, whatever else has such a name. Their files are read and
    /// must have the stated digests.
    #[must_use]
    pub fn with_given(self, given: BTreeMap<KernelSource, Kernel>) -> Self {
        Self { given, ..self }
    }

    /// Builds kernels with the programs in `search_path`, a list of directories in the form of
    /// `PATH`. Without it, nothing is built.
    #[must_use]
    pub fn building_with(mut self, search_path: OsString) -> Self {
        self.builder.search_path = search_path;
        self
    }

    /// Passes the events of a build, which takes minutes, to `listener`.
    #[must_use]
    pub fn with_listener(
        mut self,
        listener: impl Fn(&KernelBuildEvent<'_>) + Send + Sync + 'static,
    ) -> Self {
        self.listener = Arc::new(listener);
        self
    }

    /// Finds a kernel, and fetches or builds it if necessary.
    ///
    /// # Errors
    /// It is missing and cannot be fetched or built.
    pub fn find(&self, source: &KernelSource) -> Result<Kernel, KernelError> {
        if let Some(given) = self.given.get(source) {
            let bytes = image_in(&given.path)?;
            return match sha256([&bytes]) == given.sha256 {
                true => Ok(given.clone()),
                false => {
                    let error = io::Error::other("its digest is not that of the kernel");
                    Err(failed(&given.path, error).into())
                }
            };
        }
        match source {
            KernelSource::File(path) => kernel_in(Path::new(path), None),
            KernelSource::Installed { release } => self.installed(release.as_deref()),
            KernelSource::Built(kernel) => {
                self.builder.find_or_build(kernel, &self.cache, &*self.listener)
            }
            KernelSource::Debian { flavour, architecture, version } => {
                let archive = debian::Archive::of(*architecture, &self.cache, &*self.listener);
                let package = match version {
                    Some(version) => debian::package(*flavour, *architecture, version),
                    None => archive.current(*flavour)?,
                };
                match self.cache.find(&package)? {
                    Some(kernel) => Ok(kernel),
                    None => archive.fetch(&package),
                }
            }
        }
    }

    /// Builds the kernel of a tree of sources; `name` is its name in events. Objects stay, so that
    /// the next build of a similar tree is short. The image is in the tree or among its objects.
    ///
    /// # Errors
    /// A tool is missing, the build fails, or its result is not a kernel.
    pub fn build_tree(&self, tree: &Tree, name: &str) -> Result<Kernel, KernelError> {
        tree.build(name, &self.builder.search_path, &*self.listener)
    }

    /// The CPUs that a kernel is for, by its name or the header of its file; `None` if there is no
    /// such file, or it is not a kernel. Nothing is fetched or built.
    pub fn architecture(&self, source: &KernelSource) -> Option<Architecture> {
        /// The headers of all architectures.
        const HEADER: u64 = 0x400;
        let given = self.given.get(source).map(|kernel| kernel.architecture);
        given.or_else(|| source.architecture()).or_else(|| {
            let path = match source {
                KernelSource::File(path) => PathBuf::from(path),
                KernelSource::Installed { release } => {
                    let release = release.clone().unwrap_or_else(running_release);
                    self.installed.join(format!("{IMAGE_PREFIX}{release}"))
                }
                KernelSource::Debian { .. } | KernelSource::Built(_) => return None,
            };
            let mut header = Vec::new();
            regular_file::open(&path).ok()?.take(HEADER).read_to_end(&mut header).ok()?;
            image::architecture(&header)
        })
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
            "; no kernel is installed there".to_owned()
        } else {
            format!("; installed: {}", there.join(", "))
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

    /// The installed kernels, and the fetched kernels by their versions.
    ///
    /// # Errors
    /// The cache exists and cannot be read.
    pub fn local(&self) -> Result<Vec<KnownKernel>, KernelError> {
        let installed = self.installed_releases().into_iter().map(|release| KnownKernel {
            name: format!("installed@{release}"),
            state: KernelState::Installed,
            from: self.installed.join(format!("{IMAGE_PREFIX}{release}")).display().to_string(),
        });
        let packages = self.cache.packages()?;
        let fetched = packages.iter().filter_map(|package| {
            Some(KnownKernel {
                name: debian::source(package)?.to_string(),
                state: KernelState::Fetched,
                from: package.clone(),
            })
        });
        Ok(installed.chain(fetched).collect())
    }

    /// The [`local`](Self::local) kernels, built and unfinished kernels, and, if Debian's package
    /// tool is installed, the current kernels of Debian of those architectures whose lists are
    /// here. Running that tool takes some seconds.
    ///
    /// # Errors
    /// The cache exists and cannot be read.
    pub fn list(&self) -> Result<Vec<KnownKernel>, KernelError> {
        let packages = self.cache.packages()?;
        let all = Architecture::ALL.iter().flat_map(|architecture| {
            Flavour::ALL.iter().map(move |flavour| (*flavour, *architecture))
        });
        let current = all.filter_map(|(flavour, architecture)| {
            let archive = debian::Archive::of(architecture, &self.cache, &*self.listener);
            let package = archive.known(flavour)?;
            let state = match packages.contains(&package) {
                true => KernelState::Fetched,
                false => KernelState::Available,
            };
            let source = KernelSource::Debian { flavour, architecture, version: None };
            Some(KnownKernel { name: source.to_string(), state, from: package })
        });
        let built = self.builder.list(&self.cache)?;
        Ok(self.local()?.into_iter().chain(built).chain(current).collect())
    }
}

/// The prefix of the release in the file names of installed kernels.
const IMAGE_PREFIX: &str = "vmlinuz-";

fn running_release() -> String {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    release.trim().to_owned()
}

/// The largest file that is read as a kernel, in bytes; kernels with their modules inside are smaller.
const IMAGE_MAX: usize = 512 << 20;

/// The content of a kernel's file.
fn image_in(path: &Path) -> Result<Vec<u8>, KernelError> {
    let read = || {
        let length = regular_file::open(path)?.metadata()?.len();
        let bytes = match length > IMAGE_MAX as u64 {
            true => None,
            false => Some(regular_file::read(path, IMAGE_MAX)?),
        };
        bytes.filter(|bytes| bytes.len() <= IMAGE_MAX).ok_or_else(|| {
            io::Error::other(format!("it is larger than any kernel ({} MiB)", IMAGE_MAX >> 20))
        })
    };
    read().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => KernelError::NoFile(path.to_owned()),
        _ => failed(path, error).into(),
    })
}

/// Reads a kernel's file, and its configuration if `config` exists.
fn kernel_in(path: &Path, config: Option<&Path>) -> Result<Kernel, KernelError> {
    let bytes = image_in(path)?;
    let architecture =
        image::architecture(&bytes).ok_or_else(|| KernelError::NotAKernel(path.to_owned()))?;
    Ok(Kernel {
        path: path.to_owned(),
        architecture,
        release: image::release(&bytes),
        sha256: sha256([&bytes]),
        // Without it, some facts of the guest stay unknown.
        config: config.and_then(|config| fs::read(config).ok()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_installed_kernel_is_found_and_a_missing_kernel_is_an_error_that_lists_them() {
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
        let architecture = |release: &str| kernels.architecture(&source(release));
        assert_eq!(architecture("6.1.0-56-amd64"), Some(Architecture::Amd64));
        assert_eq!(architecture("7.0"), None);

        let error = kernels.find(&source("7.0")).unwrap_err();
        assert!(error.to_string().contains("installed: 6.1.0-56-amd64"), "{error}");
        assert!(error.hint().is_some());
        let listed = kernels.local().unwrap();
        assert_eq!(listed[0].name, "installed@6.1.0-56-amd64");
    }

    #[test]
    fn a_file_that_is_not_a_kernel_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().to_str().unwrap().to_owned();
        let kernels = Kernels::new("/no/boot", "/no/cache");
        let error = kernels.find(&KernelSource::File(path)).unwrap_err();
        assert!(error.to_string().contains("is not a kernel"), "{error}");
        for (path, reason) in [
            ("/dev/zero", "a pipe or a device"),
            ("/dev", "Is a directory"),
            ("/dev/nosuch", "there is no kernel file /dev/nosuch"),
        ] {
            let source = KernelSource::File(path.to_owned());
            let error = kernels.find(&source).unwrap_err().to_string();
            assert!(error.contains(path) && error.contains(reason), "{error}");
            assert_eq!(kernels.architecture(&source), None);
        }
    }

    #[test]
    fn a_file_that_is_larger_than_any_kernel_is_not_read() {
        let file = tempfile::NamedTempFile::new().unwrap();
        // It has no content, so it takes no space.
        file.as_file().set_len(IMAGE_MAX as u64 + 1).unwrap();
        let error = image_in(file.path()).unwrap_err().to_string();
        assert!(error.ends_with("it is larger than any kernel (512 MiB)"), "{error}");
    }
}
