//! Debian's source of Linux, fetched with the system's package tool, then unpacked and patched
//! once.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tactus_model::digest::sha256;

use super::{BuildError, KernelBuildEvent, Listener};
use crate::{FileError, failed, tool};

/// Our patch of Linux.
pub(super) const PATCH: &str = include_str!("../../linux/tick-rate.patch");

/// The default source. It includes real-time preemption, so kernels of all preemption models
/// differ only in their configuration.
const DEFAULT_SERIES: &str = "6.12";

/// Linux's source, patched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Source {
    /// The version of Debian's package.
    pub version: String,
    /// The directory of its files.
    pub tree: PathBuf,
}

/// A directory of sources, each named by its version and the digest of our patch.
#[derive(Clone, Debug)]
pub(super) struct Sources {
    root: PathBuf,
}

/// The prefix of directories in which sources are unpacked.
const SCRATCH: &str = "fetch-";

/// The approximate size of a package with a source, in bytes.
const PACKAGE_BYTES: u64 = 150_000_000;

/// The directory of Linux's files in a source.
const TREE: &str = "linux";

impl Sources {
    pub(super) const fn new(root: PathBuf) -> Self {
        Self { root }
    }

    /// The source of a version, or of the default version: the newest local source, or else a
    /// fetched source. A newer package of Debian does not replace a local source, so a kernel's
    /// name keeps its meaning until its version is named or the directory is removed.
    pub(super) fn find_or_fetch(
        &self,
        version: Option<&str>,
        listener: &Listener,
    ) -> Result<Source, BuildError> {
        match self.find(version)? {
            Some(source) => Ok(source),
            None => self.fetch_once(version, listener),
        }
    }

    /// Fetches a source under a lock, unless another command fetched it meanwhile.
    fn fetch_once(&self, version: Option<&str>, listener: &Listener) -> Result<Source, BuildError> {
        fs::create_dir_all(&self.root).map_err(|error| failed(&self.root, error))?;
        let file = self.root.join("lock");
        let lock = fs::File::create(&file).map_err(|error| failed(&file, error))?;
        lock.lock().map_err(|error| failed(&file, error))?;
        if let Some(source) = self.find(version)? {
            return Ok(source);
        }
        self.clear_interrupted();
        self.fetch(version.unwrap_or(DEFAULT_SERIES), listener)
    }

    /// Removes the directories of interrupted commands.
    fn clear_interrupted(&self) {
        let entries = fs::read_dir(&self.root).into_iter().flatten().filter_map(Result::ok);
        for entry in entries {
            if entry.file_name().to_string_lossy().starts_with(SCRATCH) {
                // A directory that cannot be removed only takes space.
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }

    /// The newest local source of a version, or of the default version.
    pub(super) fn find(&self, version: Option<&str>) -> Result<Option<Source>, FileError> {
        let wanted = version.unwrap_or(DEFAULT_SERIES);
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

    fn fetch(&self, wanted: &str, listener: &Listener) -> Result<Source, BuildError> {
        let package = package(wanted);
        let scratch = tempfile::Builder::new()
            .prefix(SCRATCH)
            .tempdir_in(&self.root)
            .map_err(|error| failed(&self.root, error))?;
        listener(&KernelBuildEvent::Fetching { package: &package, bytes: Some(PACKAGE_BYTES) });
        let directory = scratch.path();
        let no_source = |message| BuildError::NoSource(package.clone(), message);
        let not_unpacked = |message| BuildError::NotUnpacked(package.clone(), message);
        let nothing = || not_unpacked("it contains no archive".to_owned());
        run(directory, "apt-get", &["download", "--quiet", &package], no_source)?;
        let archive = tool::only_file(directory, "", ".deb").ok_or_else(nothing)?;
        let version = run(directory, "dpkg-deb", &["--field", &archive, "Version"], not_unpacked)?;
        let version = version.trim().to_owned();
        listener(&KernelBuildEvent::Unpacking { version: &version });
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
        // The rename makes the source visible only when complete.
        fs::rename(directory.join("source"), &place).map_err(|error| failed(&place, error))?;
        Ok(Source { version, tree: place.join(TREE) })
    }
}

/// The suffix of a directory's name, which distinguishes sources with another patch.
fn suffix() -> String {
    format!("-patch-{}", &sha256([PATCH])[..12])
}

/// Whether the version of a package matches a requested version: `6.12.117-1~deb12u1` matches
/// `6.12` and itself.
fn is_of(version: &str, wanted: &str) -> bool {
    version.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-']))
}

/// The package with the source of a version, and its own version if that was requested.
fn package(wanted: &str) -> String {
    match wanted.split_once('-') {
        // The names of packages contain the first two numbers of the version.
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
    let unfit = |output| BuildError::Patch { version: version.to_owned(), output };
    run(tree, "patch", &arguments, unfit).map(drop)
}

/// Runs a program in `directory` and returns its standard output; if it fails, `failure` makes
/// an error of its message.
fn run(
    directory: &Path,
    program: &'static str,
    arguments: &[&str],
    failure: impl FnOnce(String) -> BuildError,
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
    // Most programs write errors to stderr, `patch` to stdout.
    let all = format!("{}\n{}", text(&output.stdout), text(&output.stderr));
    Err(failure(error_line(&all).to_owned()))
}

/// The line with the reason of a failure: the last line, except that `patch` continues after a
/// failure.
fn error_line(output: &str) -> &str {
    let mut lines = output.lines().filter(|line| !line.trim().is_empty());
    let failed = lines.clone().rfind(|line| line.contains("FAILED"));
    failed.or_else(|| lines.next_back()).unwrap_or("no error message")
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Writes the files of a source where a fetched source would be.
    pub(crate) fn put(root: &Path, version: &str, files: &[(&str, &[u8])]) {
        let tree = root.join(format!("{version}{}", suffix())).join(TREE);
        fs::create_dir_all(&tree).unwrap();
        for (name, content) in files {
            fs::write(tree.join(name), content).unwrap();
        }
    }

    #[test]
    fn the_source_of_a_series_or_version_is_found() {
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
        // A source with an older patch does not match.
        fs::create_dir(sources.root.join("6.13.1-1-patch-000000000000")).unwrap();
        assert_eq!(version("6.13"), None);
    }

    #[test]
    fn the_error_of_a_patch_names_the_file_that_failed() {
        let failed = "1 out of 2 hunks FAILED -- saving rejects to file apic.c.rej";
        let output =
            format!("Hunk #2 FAILED at 9.\n{failed}\npatching file b.c\nHunk #1 succeeded\n");
        assert_eq!(error_line(&output), failed);
        assert_eq!(error_line("E: no such package\n\n"), "E: no such package");
        assert_eq!(error_line(""), "no error message");
    }

    #[test]
    fn the_name_of_a_package_contains_the_series() {
        assert_eq!(package("6.12"), "linux-source-6.12");
        assert_eq!(package("6.12.117-1~deb12u1"), "linux-source-6.12=6.12.117-1~deb12u1");
    }

    #[test]
    fn the_patch_changes_only_the_files_that_a_tick_rate_needs() {
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
