//! Files that cannot be written to their end: a clear error, and no truncated file.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tactus_testing::{Need, skip};

use crate::agent::Running;
use crate::flight::permitted;
use crate::support::{Tactus, text};

/// A recorded session.
const RECORDING: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../tests/data/blame/higher-priority-spinner.tactusrec"
);

/// A small filesystem in memory, unmounted on drop.
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts it, or skips the test.
    #[track_caller]
    pub fn mount(tactus: &Tactus, size: &str) -> Option<Self> {
        let folder = tactus.folder().join("disk");
        fs::create_dir(&folder).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"]).arg(&folder);
        let output = mount.output().unwrap();
        if !output.status.success() {
            skip(Need::Root, text(&output.stderr));
            return None;
        }
        Some(Self(folder))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Uses all space.
    pub fn fill(&self) -> PathBuf {
        let path = self.path("filler");
        assert!(fs::write(&path, vec![0; 65 << 20]).is_err(), "the disk is not small");
        path
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg(&self.0).status();
        assert!(std::thread::panicking() || unmounted.unwrap().success());
    }
}

/// The names in a directory, hidden ones too.
fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// Threads named `sleep` that wait for a CPU many times, until it is dropped.
struct Sleepers(Child);

impl Sleepers {
    fn start() -> Self {
        let script = "while :; do sleep 0.01; done";
        Self(Command::new("sh").args(["-c", script]).stderr(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Sleepers {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn needs_root_a_recording_that_fills_the_disk_is_an_error_and_keeps_its_beginning() {
    let tactus = Tactus::new();
    let Some(disk) = SmallDisk::mount(&tactus, "256k") else { return };
    if !permitted(&tactus) {
        return;
    }
    let path = disk.path("make.tactusrec");
    fs::write(&path, "an earlier one").unwrap();
    let _busy = Sleepers::start();
    let output = path.display().to_string();
    // It ends by itself as soon as the disk is full.
    let error = tactus.fail(3, &["record", "--duration", "10min", "-o", &output]);
    assert!(error.contains("No space left on device"), "{error}");
    assert!(!error.contains("bug"), "{error}");
    assert_eq!(names(&disk.0), ["make.tactusrec", "make.tactusrec.part"]);
    assert_eq!(fs::read(&path).unwrap(), b"an earlier one");
    let part = format!("{output}.part");
    assert!(error.contains(&format!("tactus explain {part}")), "{error}");
    assert_eq!(mode(Path::new(&part)), 0o600);
    assert!(!tactus.succeed(&["explain", &part]).is_empty());
}

#[test]
fn needs_root_a_page_that_cannot_be_written_costs_no_result_and_no_exit_code() {
    let tactus = Tactus::new();
    let Some(disk) = SmallDisk::mount(&tactus, "64k") else { return };
    let page = disk.path("use.html");
    fs::write(&page, "an earlier one").unwrap();
    let filler = disk.fill();
    let page_option = page.display().to_string();
    let run = |script: &str| {
        let options = ["reserve", "1ms/10ms", "--rung", "measured", "--page", &page_option];
        let output = tactus.run(&[&options[..], &["--", "sh", "-c", script]].concat());
        assert!(text(&output.stdout).contains("used "), "{}", text(&output.stdout));
        let error = text(&output.stderr);
        assert!(error.contains("No space left on device"), "{error}");
        output.status.code()
    };
    assert_eq!((run("exit 7"), run("true")), (Some(7), Some(3)));
    assert_eq!(fs::read(&page).unwrap(), b"an earlier one");
    fs::remove_file(filler).unwrap();
    assert_eq!(names(&disk.0), ["use.html"]);
}

#[test]
fn needs_root_the_flight_recorder_survives_a_full_disk() {
    let tactus = Tactus::new();
    let Some(disk) = SmallDisk::mount(&tactus, "64m") else { return };
    if !permitted(&tactus) {
        return;
    }
    let filler = disk.fill();
    let _late = Sleepers::start();
    let output = disk.path("late.tactusrec").display().to_string();
    let flight = ["record", "--flight", "2s", "--over", "1us", "--thread", "sleep", "-o", &output];
    let error = tactus.fail(3, &[&flight[..], &["--duration", "5s"]].concat());
    assert!(error.contains("warning: cannot write") && error.contains("error: "), "{error}");
    assert_eq!(names(&disk.0), ["filler"]);

    let mut command = tactus.command(&flight);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.starts_with("warning: cannot write")));
    fs::remove_file(filler).unwrap();
    lines.for_each(drop);
    assert!(child.wait().unwrap().success());
    assert_eq!(names(&disk.0), ["late.tactusrec"]);
    assert_eq!(mode(&disk.path("late.tactusrec")), 0o600);
}

#[test]
fn needs_root_the_agent_survives_a_full_disk() {
    let tactus = Tactus::new();
    let Some(disk) = SmallDisk::mount(&tactus, "64m") else { return };
    if !permitted(&tactus) {
        return;
    }
    let mut command = tactus.command(&[]);
    command.env("TACTUS_STORE", disk.path("runs.sqlite"));
    let options = ["--late", "1us", "--budget", "100%", "--saves-per-hour", "3600"];
    fs::create_dir(disk.path("recordings")).unwrap();
    let filler = disk.fill();
    let mut agent = Running::start(&mut command, &options);
    let failed = agent.until("not-saved");
    assert!(failed["reason"].as_str().unwrap().contains("No space left on device"), "{failed}");
    assert_eq!(names(&disk.path("recordings")), [""; 0]);
    fs::remove_file(filler).unwrap();
    let saved = agent.until("saved");
    let path = PathBuf::from(saved["file"].as_str().unwrap());
    assert_eq!(mode(&path), 0o600);
    drop(agent);
    assert_eq!(names(&disk.0), ["recordings"]);
}

#[test]
fn needs_root_the_answer_to_why_survives_a_full_disk() {
    let tactus = Tactus::new();
    let Some(disk) = SmallDisk::mount(&tactus, "64m") else { return };
    if !permitted(&tactus) {
        return;
    }
    let filler = disk.fill();
    let output = disk.path("why.tactusrec").display().to_string();
    let why = ["why", "--thread", "sleep", "-o", &output, "--", "sh", "-c", SLEEPS];
    let output = tactus.run(&why);
    let (said, error) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(3), "{said}\n{error}");
    assert!(error.contains("No space left on device"), "{error}");
    assert!(said.contains("sleep (") && !said.contains("recording: "), "{said}");
    assert_eq!(names(&disk.0), [filler.file_name().unwrap().to_str().unwrap()]);
}

/// A script whose threads named `sleep` sleep by their timers.
const SLEEPS: &str = "for i in 1 2 3; do sleep 0.02; done";

#[test]
fn needs_root_a_clip_that_fills_the_disk_keeps_its_beginning() {
    let tactus = Tactus::new();
    let Some(disk) = SmallDisk::mount(&tactus, "128k") else { return };
    let clip = disk.path("a.webm").display().to_string();
    let synthetic = ["--picture", "synthetic", "--sound", "synthetic", "--size", "320x240"];
    // It ends by itself as soon as the disk is full.
    let output = tactus.run(&[&["mail", "record", &clip, "--rate", "50"], &synthetic[..]].concat());
    let error = text(&output.stderr);
    if error.contains("ffmpeg is not installed") {
        return skip(Need::Display, error);
    }
    assert_eq!(output.status.code(), Some(5), "{error}");
    assert!(error.contains("No space left on device"), "{error}");
    assert!(error.contains("a.webm.part has what was recorded until then"), "{error}");
    assert_eq!(names(&disk.0)[0], "a.webm.part");
}

#[test]
fn a_limit_on_file_sizes_is_an_error_and_leaves_no_file() {
    let tactus = Tactus::new();
    let folder = tactus.folder().join("out");
    fs::create_dir(&folder).unwrap();
    let path = folder.join("events.ndjson").display().to_string();
    let program = env!("CARGO_BIN_EXE_tactus");
    let export = |limit: &str| {
        let script = format!("ulimit -f {limit}; exec \"$@\"");
        let arguments = ["-c", &script, "sh", program, "export", RECORDING, "-o", &path];
        Command::new("sh").args(arguments).output().unwrap()
    };
    let output = export("8");
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(text(&output.stderr).contains("File too large"), "{output:?}");
    assert!(names(&folder).is_empty(), "{:?}", names(&folder));
    assert!(export("unlimited").status.success());
    assert_eq!((names(&folder).len(), mode(Path::new(&path))), (1, 0o600));
}

#[test]
fn needs_tracing_what_a_killed_recorder_left_is_kept_and_named_by_the_next() {
    let tactus = Tactus::new();
    if !permitted(&tactus) {
        return;
    }
    let folder = tactus.folder().join("out");
    fs::create_dir(&folder).unwrap();
    let path = folder.join("a.tactusrec").display().to_string();
    let ready = tactus.folder().join("ready").display().to_string();
    let script = "sleep 4; touch $0; read line";
    let command = ["record", "-o", &path, "--", "sh", "-c", script, &ready];
    let mut child = tactus.command(&command).stdin(Stdio::piped()).spawn().unwrap();
    while !Path::new(&ready).exists() {
        assert!(child.try_wait().unwrap().is_none(), "the recorder ended");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    child.kill().unwrap();
    // The end of its input, which the test held, ends the command.
    child.wait().unwrap();
    drop(child);
    assert_eq!(names(&folder), ["a.tactusrec.part"]);
    let part = format!("{path}.part");
    let exported = tactus.succeed(&["export", &part, "--as", "json-lines"]);
    assert!(exported.lines().count() > 100, "{exported}");
    let again = tactus.run(&["record", "--duration", "10ms", "-o", &path]);
    assert!(again.status.success(), "{again:?}");
    let error = text(&again.stderr);
    assert!(error.contains(&format!("tactus explain {part}")), "{error}");
    assert_eq!(names(&folder), ["a.tactusrec", "a.tactusrec.part"]);
    assert_eq!(mode(Path::new(&path)), 0o600);
    // A command that cannot start leaves nothing.
    tactus.fail(127, &["record", "-o", &path, "--", "./no-such-program"]);
    assert_eq!(names(&folder), ["a.tactusrec", "a.tactusrec.part"]);
}
