//! Running Linux's own build, and following its progress.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The directories and files of a compilation.
#[derive(Clone, Debug)]
pub(super) struct Compiling<'a> {
    /// Linux's source.
    pub tree: &'a Path,
    /// The directory of the objects, which stay until the kernel is finished.
    pub objects: &'a Path,
    /// The log of the compiler.
    pub log: &'a Path,
    /// The directories that are searched for programs, in the form of `PATH`.
    pub search_path: &'a OsStr,
}

/// The polling interval of the log.
const LOOK: Duration = Duration::from_millis(250);

impl Compiling<'_> {
    /// Makes `target`, and passes the number of compiled objects to `progress` regularly.
    ///
    /// The build runs with nice value 10, and ends with this process.
    pub(super) fn make(
        &self,
        target: &str,
        settings: &[OsString],
        mut progress: impl FnMut(u64),
    ) -> io::Result<ExitStatus> {
        fs::create_dir_all(self.objects)?;
        let log = OpenOptions::new().create(true).append(true).open(self.log)?;
        let mut follow = Follow::from_end(self.log)?;
        let mut command = Command::new("sh");
        tactus_sys::process::end_with_parent(&mut command);
        let mut child = command
            .args(["-c", END_TOGETHER, "sh", "nice", "-n", "10", "make"])
            .arg(format!("--jobs={}", thread::available_parallelism().map_or(1, usize::from)))
            .arg(variable("O", self.objects))
            .args(settings)
            .arg(target)
            .current_dir(self.tree)
            .process_group(0)
            // The environment of this process must not affect the kernel.
            .env_clear()
            .env("PATH", self.search_path)
            .env("LC_ALL", "C")
            .envs(BUILT_BY)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()?;
        loop {
            let ended = child.try_wait()?;
            progress(follow.objects()?);
            match ended {
                Some(status) => return Ok(status),
                None => thread::sleep(LOOK),
            }
        }
    }
}

/// A shell program that runs its arguments, and on SIGTERM ends its whole process group. Neither
/// make nor its shells forward SIGTERM to the makes below them, which would continue to compile
/// after the end of the first make.
pub(super) const END_TOGETHER: &str =
    r#"trap 'trap "" TERM; kill -TERM 0; exit 143' TERM; "$@" & wait "$!""#;

/// The builder and the date in a kernel: constant, so that two builds of the same kernel have the
/// same digest.
pub(super) const BUILT_BY: [(&str, &str); 4] = [
    ("KBUILD_BUILD_TIMESTAMP", "2020-01-01"),
    ("KBUILD_BUILD_USER", "tactus"),
    ("KBUILD_BUILD_HOST", "tactus"),
    ("KBUILD_BUILD_VERSION", "1"),
];

/// A variable on the command line of `make`.
pub(super) fn variable(name: &str, value: &Path) -> OsString {
    let mut word = OsString::from(format!("{name}="));
    word.push(value);
    word
}

/// Follows the log of a build, and counts the compiled objects.
#[derive(Debug)]
pub(super) struct Follow {
    file: PathBuf,
    place: u64,
    objects: u64,
    /// The beginning of an incomplete line.
    line: String,
}

impl Follow {
    /// Counts from the present end of the log.
    pub(super) fn from_end(file: &Path) -> io::Result<Self> {
        let place = fs::metadata(file)?.len();
        Ok(Self { file: file.to_owned(), place, objects: 0, line: String::new() })
    }

    /// The number of objects compiled so far.
    pub(super) fn objects(&mut self) -> io::Result<u64> {
        let mut file = File::open(&self.file)?;
        file.seek(SeekFrom::Start(self.place))?;
        let mut bytes = Vec::new();
        self.place += file.read_to_end(&mut bytes)? as u64;
        self.line.push_str(&String::from_utf8_lossy(&bytes));
        if let Some(end) = self.line.rfind('\n') {
            let rest = self.line.split_off(end + 1);
            self.objects += self.line.lines().filter(|line| is_object_line(line)).count() as u64;
            self.line = rest;
        }
        Ok(self.objects)
    }
}

/// Whether a line of Linux's build reports an object, such as `  CC      init/main.o`.
fn is_object_line(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let step = words.next().is_some_and(|step| ["CC", "AS"].contains(&step));
    line.starts_with("  ") && step && words.next_back().is_some_and(|file| file.ends_with(".o"))
}

/// The number of objects below a directory.
pub(super) fn objects_in(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok);
    let count = |entry: fs::DirEntry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => objects_in(&entry.path()),
        // Linux's build writes a `.cmd` file for each finished object.
        Ok(kind) if kind.is_file() => {
            u64::from(entry.file_name().to_string_lossy().ends_with(".o.cmd"))
        }
        _ => 0,
    };
    entries.map(count).sum()
}

/// The total size of the files below a directory, in bytes.
pub(super) fn bytes_in(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok);
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(found) if found.is_dir() => bytes_in(&entry.path()),
        Ok(found) => found.len(),
        Err(_) => 0,
    };
    entries.map(size).sum()
}

/// The progress of a build, extrapolated from the objects compiled in this session.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    began: Instant,
    /// Objects that existed at the beginning of this session.
    pub before: u64,
    /// The expected number of objects.
    pub of: u64,
}

impl Pace {
    pub(super) fn begin(before: u64, of: u64) -> Self {
        Self { began: Instant::now(), before, of }
    }

    /// Objects that exist after `compiled` were compiled in this session.
    pub(super) fn done(&self, compiled: u64) -> u64 {
        self.before + compiled
    }

    /// The remaining time.
    pub(super) fn left(&self, compiled: u64) -> Option<Duration> {
        left(self.began.elapsed(), compiled, self.of.saturating_sub(self.done(compiled)))
    }
}

/// The time that `remaining` objects take if `compiled` took `elapsed`; `None` if too few were
/// compiled for an estimate.
fn left(elapsed: Duration, compiled: u64, remaining: u64) -> Option<Duration> {
    const ENOUGH: u64 = 20;
    (compiled >= ENOUGH).then(|| elapsed.mul_f64(remaining as f64 / compiled as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn objects_are_counted_by_their_lines() {
        for line in ["  CC      init/main.o", "  AS      arch/x86/entry/entry_64.o"] {
            assert!(is_object_line(line), "{line}");
        }
        for line in [
            "  LD      vmlinux.o",
            "  HOSTCC  scripts/kconfig/conf.o",
            "  AR      init/built-in.a",
            "  CC      kernel/bounds.s",
            "CC is not set.o",
            "",
        ] {
            assert!(!is_object_line(line), "{line}");
        }
    }

    #[test]
    fn a_log_is_followed_from_its_end_in_whole_lines() {
        let mut log = tempfile::NamedTempFile::new().unwrap();
        log.write_all(b"  CC      a.o\n").unwrap();
        let mut follow = Follow::from_end(log.path()).unwrap();
        assert_eq!(follow.objects().unwrap(), 0);
        log.write_all(b"  CC      b.o\n  CC      c").unwrap();
        assert_eq!(follow.objects().unwrap(), 1);
        log.write_all(b".o\n  LD      d.o\n").unwrap();
        assert_eq!(follow.objects().unwrap(), 2);
    }

    #[test]
    fn the_remaining_time_is_estimated_from_this_session() {
        let minute = Duration::from_secs(60);
        assert_eq!(left(minute, 19, 600), None);
        assert_eq!(left(minute, 100, 200), Some(2 * minute));
        assert_eq!(left(minute, 100, 0), Some(Duration::ZERO));
    }

    #[test]
    fn finished_objects_and_their_size_are_counted_below_a_directory() {
        let directory = tempfile::tempdir().unwrap();
        let below = directory.path().join("init");
        fs::create_dir(&below).unwrap();
        for (name, content) in [("main.o", "1234"), (".main.o.cmd", "12"), ("half.o", "1")] {
            fs::write(below.join(name), content).unwrap();
        }
        assert_eq!(objects_in(directory.path()), 1);
        assert_eq!(bytes_in(directory.path()), 7);
        assert_eq!(objects_in(Path::new("/no/such/directory")), 0);
    }
}
