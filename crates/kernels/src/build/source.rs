//! Debian's source of Linux: fetched by the system's package tool, unpacked and patched once.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tactus_model::digest::sha256;

use super::{BuildError, BuildEvent, Listener};
use crate::{FileError, failed, tool};

/// What our kernels have that Linux has not.
pub(super) const PATCH: &str = include_str!("../../linux/tick-rate.patch");

/// The source that is taken when none is named. It has real-time preemption in it, so that
/// kernels of all models differ in nothing but their configuration.
const ORDINARY_SERIES: &str = "6.12";

/// Linux's source, patched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Source {
    /// The version of Debian's package.
    pub version: String,
    /// Where its files are.
    pub tree: PathBuf,
}

/// A directory of sources, each under its version and the digest of our patch.
#[derive(Clone, Debug)]
pub(super) struct Sources {
    root: PathBuf,
}

/// With what the names of directories begin in which a source is unpacked.
const SCRATCH: &str = "fetch-";

/// The directory of a source that holds Linux's files.
const TREE: &str = "linux";

impl Sources {
    pub(super) const fn new(root: PathBuf) -> Self {
        Self { root }
    }

    /// The source of a version, or of the ordinary one: the newest that is here, else
    /// fetched. What is here is not replaced when Debian has a newer package, so that a
    /// kernel of this name stays the same until its version is named or its directory removed.
    pub(super) fn find_or_fetch(
        &self,
        version: Option<&str>,
        tell: &Listener,
    ) -> Result<Source, BuildError> {
        match self.find(version)? {
            Some(source) => Ok(source),
            None => self.fetch_once(version, tell),
        }
    }

    /// Fetches a source, unless another command has done so by the time that it is our turn.
    fn fetch_once(&self, version: Option<&str>, tell: &Listener) -> Result<Source, BuildError> {
        fs::create_dir_all(&self.root).map_err(|error| failed(&self.root, error))?;
        let file = self.root.join("lock");
        let lock = fs::File::create(&file).map_err(|error| failed(&file, error))?;
        lock.lock().map_err(|error| failed(&file, error))?;
        if let Some(source) = self.find(version)? {
            return Ok(source);
        }
        self.clear_what_was_interrupted();
        self.fetch(version.unwrap_or(ORDINARY_SERIES), tell)
    }

    /// Removes what commands that were ended while they unpacked have left.
    fn clear_what_was_interrupted(&self) {
        let entries = fs::read_dir(&self.root).into_iter().flatten().filter_map(Result::ok);
        for entry in entries {
            if entry.file_name().to_string_lossy().starts_with(SCRATCH) {
                // What cannot be removed only takes space.
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }

    /// The newest source of a version, or of the ordinary one, that is here.
    pub(super) fn find(&self, version: Option<&str>) -> Result<Option<Source>, FileError> {
        let wanted = version.unwrap_or(ORDINARY_SERIES);
        let entries = match fs::read_dir(&self.root) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            entries => entries.map_err(|error| failed(&self.root, error))?,
        };
        let suffix = suffix();
        let unpacked = |entry: &fs::DirEntry| {
            entry.metadata().and_then(|found| found.modified()).unwrap_or(SystemTime::UNIX_EPOCH)
        };
        let newest = entries
            .filter_map(Result::ok)
            .filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?;
                let version = name.strip_suffix(&suffix)?;
                is_of(version, wanted).then(|| (unpacked(&entry), version.to_owned(), entry.path()))
            })
            .max();
        Ok(newest.map(|(_, version, directory)| Source { version, tree: directory.join(TREE) }))
    }

    fn fetch(&self, wanted: &str, tell: &Listener) -> Result<Source, BuildError> {
        let package = package(wanted);
        let scratch = tempfile::Builder::new()
            .prefix(SCRATCH)
            .tempdir_in(&self.root)
            .map_err(|error| failed(&self.root, error))?;
        tell(&BuildEvent::Fetching { package: &package });
        let directory = scratch.path();
        let no_source = |said| BuildError::NoSource(package.clone(), said);
        let not_unpacked = |said| BuildError::NotUnpacked(package.clone(), said);
        let nothing = || not_unpacked("there is no archive in it".to_owned());
        run(directory, "apt-get", &["download", "--quiet", &package], no_source)?;
        let archive = tool::only_file(directory, "", ".deb").ok_or_else(nothing)?;
        let version = run(directory, "dpkg-deb", &["--field", &archive, "Version"], not_unpacked)?;
        let version = version.trim().to_owned();
        tell(&BuildEvent::Unpacking { version: &version });
        run(directory, "dpkg-deb", &["--extract", &archive, "content"], not_unpacked)?;
        let sources = directory.join("content/usr/src");
        let archive = tool::only_file(&sources, "", ".tar.xz").ok_or_else(nothing)?;
        let archive = sources.join(archive).display().to_string();
        let tree = directory.join("source").join(TREE);
        fs::create_dir_all(&tree).map_err(|error| failed(&tree, error))?;
        let arguments = ["--extract", "--strip-components=1", "--file", &archive];
        run(&tree, "tar", &arguments, not_unpacked)?;
        patch(&tree, &version)?;
        let place = self.root.join(format!("{version}{}", suffix()));
        // It is there whole or not at all.
        fs::rename(directory.join("source"), &place).map_err(|error| failed(&place, error))?;
        Ok(Source { version, tree: place.join(TREE) })
    }
}

/// What follows the version in a directory's name, so that a source of another patch is another.
fn suffix() -> String {
    format!("-patch-{}", &sha256([PATCH])[..12])
}

/// Whether the version of a package is the one that was asked for: `6.12.117-1~deb12u1` is of
/// `6.12`, and of itself.
fn is_of(version: &str, wanted: &str) -> bool {
    version.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-']))
}

/// The package that holds the source of a version, with its own version where that was asked for.
fn package(wanted: &str) -> String {
    match wanted.split_once('-') {
        // Packages are named by the first two numbers of the version in them.
        Some((numbers, _)) => {
            let series: Vec<&str> = numbers.split('.').take(2).collect();
            format!("linux-source-{}={wanted}", series.join("."))
        }
        None => format!("linux-source-{wanted}"),
    }
}

/// Patches the source in `tree`.
fn patch(tree: &Path, version: &str) -> Result<(), BuildError> {
    let file = tree.join("tick-rate.patch");
    fs::write(&file, PATCH).map_err(|error| failed(&file, error))?;
    let arguments = ["--strip=1", "--batch", "--fuzz=0", "--input=tick-rate.patch"];
    let unfit = |said| BuildError::Patch { version: version.to_owned(), said };
    run(tree, "patch", &arguments, unfit).map(drop)
}

/// Runs a program in `directory` and gives what it wrote; when it fails, what it complained
/// of becomes an error by `complaint`.
fn run(
    directory: &Path,
    program: &'static str,
    arguments: &[&str],
    complaint: impl FnOnce(String) -> BuildError,
) -> Result<String, BuildError> {
    let output =
        tool::output(program, arguments, directory).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => BuildError::NoPackageTool(program),
            _ => failed(Path::new(program), error).into(),
        })?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() {
        return Ok(text(&output.stdout));
    }
    // Most programs complain on one stream, `patch` on the other.
    let said = format!("{}\n{}", text(&output.stdout), text(&output.stderr));
    Err(complaint(complained(&said).to_owned()))
}

/// The line that says why a program failed: the last, but `patch` goes on after what fails.
fn complained(said: &str) -> &str {
    let mut lines = said.lines().filter(|line| !line.trim().is_empty());
    let failed = lines.clone().rfind(|line| line.contains("FAILED"));
    failed.or_else(|| lines.next_back()).unwrap_or("it did not say why")
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Puts the files of a source where one that was fetched lies.
    pub(crate) fn put(root: &Path, version: &str, files: &[(&str, &[u8])]) {
        let tree = root.join(format!("{version}{}", suffix())).join(TREE);
        fs::create_dir_all(&tree).unwrap();
        for (name, content) in files {
            fs::write(tree.join(name), content).unwrap();
        }
    }

    #[test]
    fn the_source_of_a_series_or_of_one_version_is_found() {
        let directory = tempfile::tempdir().unwrap();
        let sources = Sources::new(directory.path().join("sources"));
        assert_eq!(sources.find(None).unwrap(), None);
        put(&sources.root, "6.12.117-1~deb12u1", &[]);
        put(&sources.root, "6.1.192-2", &[]);
        let version =
            |wanted: &str| sources.find(Some(wanted)).unwrap().map(|source| source.version);
        assert_eq!(version("6.12").as_deref(), Some("6.12.117-1~deb12u1"));
        assert_eq!(version("6.12.117-1~deb12u1").as_deref(), Some("6.12.117-1~deb12u1"));
        assert_eq!(version("6.1").as_deref(), Some("6.1.192-2"));
        assert_eq!(version("6.12.11"), None);
        // What an older patch was applied to is no source of ours.
        fs::create_dir(sources.root.join("6.13.1-1-patch-000000000000")).unwrap();
        assert_eq!(version("6.13"), None);
    }

    #[test]
    fn a_patch_that_does_not_fit_is_told_by_the_file_it_does_not_fit() {
        let failed = "1 out of 2 hunks FAILED -- saving rejects to file apic.c.rej";
        let said =
            format!("Hunk #2 FAILED at 9.\n{failed}\npatching file b.c\nHunk #1 succeeded\n");
        assert_eq!(complained(&said), failed);
        assert_eq!(complained("E: no such package\n\n"), "E: no such package");
        assert_eq!(complained(""), "it did not say why");
    }

    #[test]
    fn packages_are_named_by_the_series() {
        assert_eq!(package("6.12"), "linux-source-6.12");
        assert_eq!(package("6.12.117-1~deb12u1"), "linux-source-6.12=6.12.117-1~deb12u1");
    }

    #[test]
    fn the_patch_touches_only_what_a_tick_rate_needs() {
        let touched: Vec<&str> =
            PATCH.lines().filter_map(|line| line.strip_prefix("+++ b/")).collect();
        assert_eq!(
            touched,
            [
                "arch/x86/kernel/apic/apic.c",
                "arch/x86/kernel/cpu/proc.c",
                "arch/x86/kernel/smpboot.c",
                "include/linux/jiffies.h",
                "include/net/inet_connection_sock.h",
                "init/calibrate.c",
                "kernel/Kconfig.hz",
                "kernel/events/core.c",
            ]
        );
    }
}
