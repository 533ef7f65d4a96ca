//! Running Linux's own build, and what can be told of it while it runs.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// A directory in which a kernel is compiled, and the source it is compiled from.
#[derive(Clone, Debug)]
pub(super) struct Compiling<'a> {
    /// Linux's source.
    pub tree: &'a Path,
    /// Where the objects are put, and stay until the kernel is finished.
    pub objects: &'a Path,
    /// What the compiler says.
    pub log: &'a Path,
    /// The directories in which programs are looked for, as `PATH`.
    pub search_path: &'a OsStr,
}

/// How often the log is looked at.
const LOOK: Duration = Duration::from_millis(250);

impl Compiling<'_> {
    /// Makes `target`, and tells how many further objects have been compiled now and then.
    ///
    /// What is compiled is less urgent than all else of this session, and ends with us.
    pub(super) fn make(
        &self,
        target: &str,
        settings: &[OsString],
        mut tell: impl FnMut(u64),
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
            // Nothing of this process's surroundings decides what is built.
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
            tell(follow.objects()?);
            match ended {
                Some(status) => return Ok(status),
                None => thread::sleep(LOOK),
            }
        }
    }
}

/// A shell's program: it runs its arguments, and when it is asked to end, all of its process
/// group ends. Neither make nor the shells that make starts pass such a request on to the makes
/// below them, which would go on compiling when ours is gone.
const END_TOGETHER: &str = r#"trap 'trap "" TERM; kill -TERM 0; exit 143' TERM; "$@" & wait "$!""#;

/// What a kernel says of who built it, and when: the same wherever it is built, so that two
/// builds of one kernel have one digest.
const BUILT_BY: [(&str, &str); 4] = [
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

/// Follows the log of a build, and counts what was compiled since.
#[derive(Debug)]
pub(super) struct Follow {
    file: PathBuf,
    place: u64,
    objects: u64,
    /// The beginning of a line of which the end is not there yet.
    line: String,
}

impl Follow {
    /// Counts from what will be written next.
    pub(super) fn from_end(file: &Path) -> io::Result<Self> {
        let place = fs::metadata(file)?.len();
        Ok(Self { file: file.to_owned(), place, objects: 0, line: String::new() })
    }

    /// How many objects were compiled so far.
    pub(super) fn objects(&mut self) -> io::Result<u64> {
        let mut file = File::open(&self.file)?;
        file.seek(SeekFrom::Start(self.place))?;
        let mut bytes = Vec::new();
        self.place += file.read_to_end(&mut bytes)? as u64;
        self.line.push_str(&String::from_utf8_lossy(&bytes));
        if let Some(end) = self.line.rfind('\n') {
            let rest = self.line.split_off(end + 1);
            self.objects += self.line.lines().filter(|line| tells_of_object(line)).count() as u64;
            self.line = rest;
        }
        Ok(self.objects)
    }
}

/// Whether a line of Linux's build says that an object is compiled: `  CC      init/main.o`.
fn tells_of_object(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let step = words.next().is_some_and(|step| ["CC", "AS"].contains(&step));
    line.starts_with("  ") && step && words.next_back().is_some_and(|file| file.ends_with(".o"))
}

/// How many objects lie in a directory and those below it.
pub(super) fn objects_in(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok);
    let count = |entry: fs::DirEntry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => objects_in(&entry.path()),
        // Linux's build writes down how it made each object; what has none is not done.
        Ok(kind) if kind.is_file() => {
            u64::from(entry.file_name().to_string_lossy().ends_with(".o.cmd"))
        }
        _ => 0,
    };
    entries.map(count).sum()
}

/// How many bytes a directory and those below it hold.
pub(super) fn bytes_in(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok);
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(found) if found.is_dir() => bytes_in(&entry.path()),
        Ok(found) => found.len(),
        Err(_) => 0,
    };
    entries.map(size).sum()
}

/// What is left of a build: by what was compiled in this session, and in what time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    began: Instant,
    /// Objects that were there when this session began.
    pub before: u64,
    /// How many objects such a kernel has, as far as that is known.
    pub of: u64,
}

impl Pace {
    pub(super) fn begin(before: u64, of: u64) -> Self {
        Self { began: Instant::now(), before, of }
    }

    /// Objects that are there, when `compiled` were compiled in this session.
    pub(super) fn done(&self, compiled: u64) -> u64 {
        self.before + compiled
    }

    /// The time left.
    pub(super) fn left(&self, compiled: u64) -> Option<Duration> {
        left(self.began.elapsed(), compiled, self.of.saturating_sub(self.done(compiled)))
    }
}

/// The time that `remaining` objects take when `compiled` took `elapsed`; nothing is said of it
/// before there is something to say it from.
fn left(elapsed: Duration, compiled: u64, remaining: u64) -> Option<Duration> {
    const ENOUGH: u64 = 20;
    (compiled >= ENOUGH).then(|| elapsed.mul_f64(remaining as f64 / compiled as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn objects_are_counted_by_the_lines_that_tell_of_them() {
        for line in ["  CC      init/main.o", "  AS      arch/x86/entry/entry_64.o"] {
            assert!(tells_of_object(line), "{line}");
        }
        for line in [
            "  LD      vmlinux.o",
            "  HOSTCC  scripts/kconfig/conf.o",
            "  AR      init/built-in.a",
            "  CC      kernel/bounds.s",
            "CC is not set.o",
            "",
        ] {
            assert!(!tells_of_object(line), "{line}");
        }
    }

    #[test]
    fn a_log_is_followed_from_where_it_ended_and_by_whole_lines() {
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
    fn the_time_left_is_told_from_what_was_compiled_in_this_session() {
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
