//! Debian's kernels, fetched with the system's own package tool and unpacked, not installed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Output;

use tactus_model::kernel::{Architecture, Flavour, KernelSource};

use crate::build::{KernelBuildEvent, Listener};
use crate::cache::Cache;
use crate::{IMAGE_PREFIX, Kernel, KernelError, failed, tool};

/// What follows the version in the name of a flavour's package.
fn suffix(flavour: Flavour, architecture: Architecture) -> String {
    match flavour {
        Flavour::Generic => format!("-{architecture}"),
        Flavour::Cloud => format!("-cloud-{architecture}"),
        Flavour::Realtime => format!("-rt-{architecture}"),
    }
}

/// What precedes the version.
const PREFIX: &str = "linux-image-";

/// The package with the kernel of a flavour and version.
pub(super) fn package(flavour: Flavour, architecture: Architecture, version: &str) -> String {
    format!("{PREFIX}{version}{}", suffix(flavour, architecture))
}

/// The kernel in a package, from its name.
pub(super) fn source(package: &str) -> Option<KernelSource> {
    let rest = package.strip_prefix(PREFIX)?;
    // The suffixes of the others end with the generic suffix, so it is tried last.
    let flavours = [Flavour::Realtime, Flavour::Cloud, Flavour::Generic];
    let mut all = flavours.into_iter().flat_map(|flavour| {
        Architecture::ALL.iter().map(move |architecture| (flavour, *architecture))
    });
    all.find_map(|(flavour, architecture)| {
        let version = Some(rest.strip_suffix(&suffix(flavour, architecture))?.to_owned());
        Some(KernelSource::Debian { flavour, architecture, version })
    })
}

/// Debian's archive for one architecture.
///
/// The system's package tool has the lists of packages of its own architecture. Those of another
/// are fetched into the cache, and the system is not changed.
pub(super) struct Archive<'a> {
    architecture: Architecture,
    cache: &'a Cache,
    listener: &'a Listener,
}

impl<'a> Archive<'a> {
    pub(super) const fn of(
        architecture: Architecture,
        cache: &'a Cache,
        listener: &'a Listener,
    ) -> Self {
        Self { architecture, cache, listener }
    }

    /// The package with the current kernel of a flavour, from Debian's metapackage.
    pub(super) fn current(&self, flavour: Flavour) -> Result<String, KernelError> {
        self.fetch_lists_once()?;
        let metapackage = self.metapackage(flavour);
        let output = self.depends(&metapackage)?;
        let text = String::from_utf8_lossy(&output.stdout);
        dependency(&text, flavour, self.architecture)
            .ok_or_else(|| KernelError::NoPackage(metapackage, message(&output)))
    }

    /// Like [`current`](Self::current), if the lists are here and have it.
    pub(super) fn known(&self, flavour: Flavour) -> Option<String> {
        if self.is_foreign() && !self.has_lists() {
            return None;
        }
        let output = self.depends(&self.metapackage(flavour)).ok()?;
        dependency(&String::from_utf8_lossy(&output.stdout), flavour, self.architecture)
    }

    /// Fetches a package and stores its kernel.
    pub(super) fn fetch(&self, package: &str) -> Result<Kernel, KernelError> {
        self.fetch_lists_once()?;
        let scratch = self.cache.scratch()?;
        let directory = scratch.path();
        (self.listener)(&KernelBuildEvent::Fetching { package, bytes: self.size(package) });
        let output = self.run("apt-get", &["download", "--quiet", package], directory)?;
        if !output.status.success() {
            return Err(KernelError::NoPackage(package.to_owned(), message(&output)));
        }
        let not_fetched =
            |output: &Output| KernelError::NotFetched(package.to_owned(), message(output));
        let archive = tool::only_file(directory, "", ".deb").ok_or_else(|| not_fetched(&output))?;
        let output = run("dpkg-deb", &["--extract", &archive, "content"], directory)?;
        if !output.status.success() {
            return Err(not_fetched(&output));
        }
        let boot = directory.join("content/boot");
        let image = tool::only_file(&boot, IMAGE_PREFIX, "")
            .ok_or_else(|| KernelError::Empty(package.to_owned()))?;
        let read = |name: &str| fs::read(boot.join(name));
        let image = read(&image).map_err(|error| failed(&boot.join(&image), error))?;
        let config = tool::only_file(&boot, "config-", "").and_then(|name| read(&name).ok());
        self.cache.keep(package, &image, config.as_deref())
    }

    fn metapackage(&self, flavour: Flavour) -> String {
        // Debian's metapackages have the name of their packages without the version.
        let suffix = suffix(flavour, self.architecture);
        format!("{PREFIX}{}", suffix.trim_start_matches('-'))
    }

    fn depends(&self, metapackage: &str) -> Result<Output, KernelError> {
        self.run("apt-cache", &["depends", "--important", metapackage], Path::new("/"))
    }

    /// The size of a package, in bytes.
    fn size(&self, package: &str) -> Option<u64> {
        let output = self.run("apt-cache", &["show", package], Path::new("/")).ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.lines().find_map(|line| line.strip_prefix("Size: ")?.trim().parse().ok())
    }

    /// Whether the packages are not those of this machine.
    fn is_foreign(&self) -> bool {
        let native = match std::env::consts::ARCH {
            "x86_64" => Some(Architecture::Amd64),
            "aarch64" => Some(Architecture::Arm64),
            _ => None,
        };
        native != Some(self.architecture)
    }

    /// The directory of the lists of another architecture.
    fn state(&self) -> PathBuf {
        self.cache.root().join(format!("apt-{}", self.architecture))
    }

    /// The file that says that the lists are complete.
    fn complete(&self) -> PathBuf {
        self.state().join("complete")
    }

    fn has_lists(&self) -> bool {
        self.complete().is_file()
    }

    /// Fetches the lists of another architecture, unless they are here and recent enough.
    fn fetch_lists_once(&self) -> Result<(), KernelError> {
        /// Debian updates its stable kernels every few weeks, and removes old packages from its
        /// archive.
        const FRESH_SECONDS: u64 = 7 * 24 * 3600;
        let is_fresh = |file: &Path| {
            let modified = fs::metadata(file).and_then(|found| found.modified()).ok();
            let age = modified.and_then(|modified| modified.elapsed().ok());
            age.is_some_and(|age| age.as_secs() < FRESH_SECONDS)
        };
        let (state, complete) = (self.state(), self.complete());
        if !self.is_foreign() || is_fresh(&complete) {
            return Ok(());
        }
        (self.listener)(&KernelBuildEvent::FetchingLists { architecture: self.architecture });
        for directory in ["lists/partial", "cache/archives/partial"] {
            let directory = state.join(directory);
            fs::create_dir_all(&directory).map_err(|error| failed(&directory, error))?;
        }
        let output = self.run("apt-get", &["update", "--quiet"], Path::new("/"))?;
        if !output.status.success() {
            let lists = format!("the lists of packages for {}", self.architecture);
            return Err(KernelError::NotFetched(lists, message(&output)));
        }
        fs::write(&complete, "").map_err(|error| failed(&complete, error).into())
    }

    /// Runs a program of apt, for the packages of this architecture.
    fn run(
        &self,
        program: &'static str,
        arguments: &[&str],
        directory: &Path,
    ) -> Result<Output, KernelError> {
        let options = if self.is_foreign() { self.options() } else { Vec::new() };
        let all: Vec<&str> =
            options.iter().map(String::as_str).chain(arguments.iter().copied()).collect();
        run(program, &all, directory)
    }

    /// The options with which apt uses lists of its own for this architecture.
    fn options(&self) -> Vec<String> {
        let (architecture, state) = (self.architecture, self.state());
        [
            format!("APT::Architecture={architecture}"),
            format!("APT::Architectures={architecture}"),
            format!("Dir::State::Lists={}", state.join("lists").display()),
            format!("Dir::Cache={}", state.join("cache").display()),
            // The system's own caches are not those of this architecture.
            "Dir::State::status=/dev/null".to_owned(),
        ]
        .into_iter()
        .flat_map(|option| ["-o".to_owned(), option])
        .collect()
    }
}

/// The first package of the flavour in the output of `apt-cache depends`.
fn dependency(depends: &str, flavour: Flavour, architecture: Architecture) -> Option<String> {
    depends.lines().find_map(|line| {
        let package = line.trim().trim_start_matches('|').strip_prefix("Depends:")?.trim();
        let KernelSource::Debian { flavour: found, architecture: built_for, .. } = source(package)?
        else {
            return None;
        };
        ((found, built_for) == (flavour, architecture)).then(|| package.to_owned())
    })
}

fn run(program: &'static str, arguments: &[&str], directory: &Path) -> Result<Output, KernelError> {
    tool::output(program, arguments, directory).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => KernelError::NoPackageTool(program),
        _ => KernelError::NotFetched(program.to_owned(), error.to_string()),
    })
}

/// The last line of a program's standard error.
fn message(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("no error message").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_package_contains_flavour_architecture_and_version() {
        for flavour in Flavour::ALL {
            for architecture in Architecture::ALL {
                let name = package(*flavour, *architecture, "6.1.0-56");
                let (flavour, architecture) = (*flavour, *architecture);
                let version = Some("6.1.0-56".to_owned());
                let expected = KernelSource::Debian { flavour, architecture, version };
                assert_eq!(source(&name), Some(expected), "{name}");
            }
        }
        let realtime = package(Flavour::Realtime, Architecture::Amd64, "6.1.0-56");
        assert_eq!(realtime, "linux-image-6.1.0-56-rt-amd64");
        assert_eq!(source("linux-source-6.1"), None);
    }

    #[test]
    fn the_metapackage_leads_to_the_current_kernel() {
        let find = |depends: &str, flavour| dependency(depends, flavour, Architecture::Amd64);
        let depends = "linux-image-rt-amd64\n  Depends: linux-image-6.1.0-56-rt-amd64\n";
        let found = find(depends, Flavour::Realtime);
        assert_eq!(found.as_deref(), Some("linux-image-6.1.0-56-rt-amd64"));
        assert_eq!(find(depends, Flavour::Cloud), None);
        assert_eq!(find("linux-image-rt-amd64\n", Flavour::Realtime), None);
        assert_eq!(dependency(depends, Flavour::Realtime, Architecture::Arm64), None);
        let cache = Cache::new(PathBuf::new());
        for (flavour, expected) in
            [(Flavour::Generic, "linux-image-arm64"), (Flavour::Cloud, "linux-image-cloud-arm64")]
        {
            let archive = Archive::of(Architecture::Arm64, &cache, &|_| ());
            assert_eq!(archive.metapackage(flavour), expected);
        }
    }
}
