//! Where the time of a thread goes, against programs that lose it for a planted reason and
//! measure it with their own clock.
//!
//! Each program is recorded as `tactus record` does it. The subject's own clock gives its
//! lifetime, its CPU time, and how long it did the one thing that was planted. A busy machine
//! may disturb one session, so each test tries a few.

#[path = "support/cut.rs"]
mod cut;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock};

use serde::{Deserialize, Serialize};
use tactus_explain::thread_time::{Ender, Inheritance, SleepReason, SleepRow};
use tactus_explain::{Options, WaitExplanation, waits};
use tactus_model::recording::{CallChains, EventSource, Recording};
use tactus_model::time::Nanos;
use tactus_record::file::RecordingFile;
use tactus_record::live::{Keep, Options as RecordOptions, Recorder};
use tactus_testing::{Need, compares_plants, require, skip};

/// How far a sum may be from the program's own clock.
const TOLERANCE: f64 = 0.03;

const SESSIONS: usize = 5;

/// The programs share a CPU.
static CPU: Mutex<()> = Mutex::new(());

/// What the subject's own clock says.
#[derive(Clone, Copy, Debug)]
struct Truth {
    lifetime: f64,
    cpu_time: f64,
    doing: f64,
}

/// What is planted, and how to recognise it.
struct Plant<'a> {
    kind: &'a str,
    /// The size of the file that the program needs.
    file: Option<u64>,
    /// Limits the memory of the program to this many bytes.
    memory: Option<u64>,
    is_it: &'a dyn Fn(&SleepReason) -> bool,
    /// The share of the measured time that the planted reason takes.
    takes: std::ops::RangeInclusive<f64>,
    /// What else must hold; returns what does not.
    holds: &'a dyn Fn(&SleepRow) -> Result<(), String>,
}

/// The program, compiled once; `None` without a compiler.
fn program() -> Option<&'static Path> {
    static PROGRAM: OnceLock<Option<(tempfile::TempDir, PathBuf)>> = OnceLock::new();
    let built = PROGRAM.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let program = folder.path().join("planted");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/planted.c");
        let compiler = Command::new("cc")
            .args(["-O1", "-pthread", "-o"])
            .args([program.as_os_str(), source.as_ref()])
            .status();
        compiler.is_ok_and(|status| status.success()).then_some((folder, program))
    });
    built.as_ref().map(|(_, program)| program.as_path())
}

/// A control group with a limit on memory, removed at the end.
struct MemoryGroup(PathBuf);

impl MemoryGroup {
    /// `None` where control groups of version 1 do not limit memory or may not be made.
    fn new(limit: u64) -> Option<Self> {
        let path =
            PathBuf::from(format!("/sys/fs/cgroup/memory/tactus-test-{}", std::process::id()));
        std::fs::create_dir(&path).ok()?;
        let group = Self(path);
        std::fs::write(group.0.join("memory.limit_in_bytes"), limit.to_string()).ok()?;
        Some(group)
    }

    fn add(&self, process: u32) {
        std::fs::write(self.0.join("cgroup.procs"), process.to_string()).expect("it runs");
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        // The group is busy until the kernel has freed its last process.
        for _ in 0..100 {
            if std::fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}

/// Records the program; `None` if something is missing here, which was said.
fn record(plant: &Plant<'_>) -> Option<(Recording, Truth)> {
    let Some(program) = program() else {
        skip(Need::Tools, "no C compiler");
        return None;
    };
    let group = match plant.memory.map(MemoryGroup::new) {
        Some(None) => {
            skip(Need::Machine, "no control groups that limit memory (version 1)");
            return None;
        }
        group => group.flatten(),
    };
    let file = plant.file.map(|size| {
        let mut file = tempfile::NamedTempFile::new().expect("a file can be made");
        match plant.memory {
            // Pages that exist would count for the group of this process.
            Some(_) => file.as_file().set_len(size).expect("a file may have holes"),
            None => {
                let zeros = &mut std::io::Read::take(std::io::repeat(0), size);
                std::io::copy(zeros, &mut file).expect("there is room");
            }
        }
        file
    });
    let recorder = Recorder::start(RecordOptions {
        call_chains: CallChains::AtSleeps,
        keep: Keep::Memory { limit: 1 << 30 },
        ..RecordOptions::default()
    });
    let recorder = match recorder {
        Err(error) if !error.is_not_available() => panic!("{error}"),
        recorder => require(Need::Perf, recorder)?,
    };
    let mut child = Command::new(program)
        .arg(plant.kind)
        .args(file.as_ref().map(tempfile::NamedTempFile::path))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it was just compiled");
    if let Some(group) = &group {
        group.add(child.id());
    }
    child.stdin.take().expect("it is piped").write_all(b"x").expect("it reads");
    let output = child.wait_with_output().expect("it ends by itself");
    assert!(output.status.success(), "{output:?}");
    let mut recorded = recorder.stop().expect("it was started");
    let recording = Recording::collect(&mut recorded.recording).expect("it is in memory");
    let text = String::from_utf8(output.stdout).expect("digits");
    let figures: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [lifetime, cpu_time, doing] = figures[..] else { panic!("{text}") };
    Some((recording, Truth { lifetime, cpu_time, doing }))
}

/// Where the time of the subject went.
fn subject(source: &mut dyn EventSource) -> WaitExplanation {
    let options = Options { threshold: Nanos::from_micros(100), slowest: 100, timelines: 0 };
    let found = waits(source, options, |_, name| name == "subject").expect("it is in memory");
    let [subject] = &found.names[..] else { panic!("one name: {found:?}") };
    check_sums(subject);
    subject.clone()
}

/// Checks the invariants of divided time.
fn check_sums(explained: &WaitExplanation) {
    let time = &explained.time;
    let sum = time.on_cpu + time.runqueue_wait + time.blocked + time.asleep + time.unknown;
    assert_eq!(sum, time.recorded, "the parts add up: {time:?}");
    let sleeps: Nanos = time.sleeps.iter().map(|row| row.time).sum();
    assert_eq!(sleeps, time.blocked + time.asleep, "the sleeps add up: {time:?}");
    for row in &time.sleeps {
        let ended: Nanos = row.enders.iter().map(|ender| ender.time).sum();
        assert_eq!(ended, row.time, "the enders add up: {row:?}");
        for stretch in &row.longest {
            for link in &stretch.chain {
                let parts = link.ran + link.interrupted + link.waited + link.slept + link.unknown;
                assert!(parts <= stretch.followed, "{link:?} of {stretch:?}");
            }
        }
    }
}

fn nanos(time: Nanos) -> f64 {
    time.as_nanos() as f64
}

/// What in the divided time does not agree with the subject's own clock.
fn disagreement(
    plant: &Plant<'_>,
    explained: &WaitExplanation,
    truth: Truth,
) -> Result<(), String> {
    let time = &explained.time;
    let off_cpu = nanos(time.blocked + time.asleep + time.runqueue_wait);
    let own = truth.lifetime - truth.cpu_time;
    if (off_cpu - own).abs() > TOLERANCE * own {
        return Err(format!("{off_cpu} ns off-CPU, its own clock says {own}"));
    }
    let row = time.sleeps.iter().filter(|row| (plant.is_it)(&row.sleep.reason));
    let row = row.max_by_key(|row| row.time).ok_or("the reason is not named")?;
    let share = nanos(row.time + row.runqueue_wait) / truth.doing;
    if !plant.takes.contains(&share) {
        return Err(format!("{share} of {} ns measured", truth.doing));
    }
    (plant.holds)(row)
}

#[track_caller]
fn check(plant: &Plant<'_>) {
    if !compares_plants() {
        return;
    }
    let _alone = CPU.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let mut last = String::new();
    for _ in 0..SESSIONS {
        let Some((recording, truth)) = record(plant) else { return };
        let explained = subject(&mut recording.reader());
        match disagreement(plant, &explained, truth) {
            Ok(()) => return keep(plant, &recording, &explained),
            Err(error) => last = format!("{error}; {truth:?}, {:?}", explained.time),
        }
    }
    panic!("{}: {last}", plant.kind);
}

/// The expected answer of a golden recording.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Golden {
    reason: SleepReason,
    ender: String,
    /// Of the longest sleep for that reason.
    slept: Nanos,
    /// The names of the threads in its chain.
    chain: Vec<String>,
    inheritance: Option<Inheritance>,
}

impl Golden {
    /// The answer for the longest blocked stretch of the subject.
    fn of(explained: &WaitExplanation) -> Option<Self> {
        let rows = explained.time.sleeps.iter().filter(|row| !row.longest.is_empty());
        let row = rows.max_by_key(|row| row.longest[0].slept)?;
        let longest = &row.longest[0];
        Some(Self {
            reason: row.sleep.reason.clone(),
            ender: match &longest.ender {
                Ender::Thread { name, .. } => name.clone(),
                ender => ender.to_string(),
            },
            slept: longest.slept,
            chain: longest.chain.iter().map(|link| link.thread.name.clone()).collect(),
            inheritance: longest.inversion.as_ref().map(|inversion| inversion.inheritance),
        })
    }
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/blocked")
}

/// Stores the longest blocked stretch as a golden recording, if `TACTUS_GOLDEN` is set.
fn keep(plant: &Plant<'_>, recording: &Recording, explained: &WaitExplanation) {
    let rows = explained.time.sleeps.iter().filter(|row| (plant.is_it)(&row.sleep.reason));
    let longest = rows.flat_map(|row| &row.longest).max_by_key(|stretch| stretch.slept);
    let (Some(longest), Some(_)) = (longest, std::env::var_os("TACTUS_GOLDEN")) else { return };
    // What the waker did began before the sleep.
    const BEFORE: Nanos = Nanos::from_millis(20);
    const AFTER: Nanos = Nanos::from_micros(300);
    let began = recording.about.started + longest.from;
    let cut =
        cut::cut(recording, began - BEFORE, began + longest.slept + longest.runqueue_wait + AFTER);
    let golden = Golden::of(&subject(&mut cut.reader())).expect("the stretch is in it");
    std::fs::create_dir_all(folder()).expect("the checkout can be written");
    let json = serde_json::to_string_pretty(&golden).expect("it has no maps");
    let path = folder().join(plant.kind);
    std::fs::write(path.with_extension("json"), json + "\n").expect("it can be written");
    let bytes = tactus_record::file::to_bytes(&cut);
    std::fs::write(path.with_extension("tactusrec"), bytes).expect("it can be written");
}

fn ended_by(row: &SleepRow, name: &str) -> Result<(), String> {
    match row.enders.first().map(|row| &row.ender) {
        Some(Ender::Thread { name: ender, .. }) if ender == name => Ok(()),
        other => Err(format!("ended by {other:?}, not by {name}")),
    }
}

const ALMOST_ALL: std::ops::RangeInclusive<f64> = 1.0 - TOLERANCE..=1.0 + TOLERANCE;

const PLANT: Plant<'_> = Plant {
    kind: "",
    file: None,
    memory: None,
    is_it: &|_| false,
    takes: ALMOST_ALL,
    holds: &|_| Ok(()),
};

fn is_futex(reason: &SleepReason) -> bool {
    matches!(reason, SleepReason::Futex { .. })
}

#[test]
fn root_a_mutex_convoy_is_named_with_its_holders() {
    let holds = |row: &SleepRow| {
        let holders = ["first", "second", "third"];
        let held = row.longest.iter().all(|stretch| {
            stretch.chain.first().is_some_and(|link| holders.contains(&link.thread.name.as_str()))
        });
        held.then_some(()).ok_or_else(|| "another thread holds the lock".to_owned())
    };
    check(&Plant { kind: "convoy", is_it: &is_futex, holds: &holds, ..PLANT });
}

#[test]
fn root_priority_inversion_is_named_with_its_fix() {
    let holds = |row: &SleepRow| {
        ended_by(row, "holder")?;
        let inverted = row.longest.iter().filter_map(|stretch| stretch.inversion.as_ref());
        let is_named = inverted.clone().any(|inversion| {
            inversion.holder.name == "holder"
                && inversion.inheritance == Inheritance::Absent
                && inversion.by.iter().any(|part| part.cause.to_string().contains("middle"))
        });
        is_named.then_some(()).ok_or_else(|| "no inversion by middle".to_owned())
    };
    check(&Plant { kind: "inversion", is_it: &is_futex, holds: &holds, ..PLANT });
}

#[test]
fn root_a_lock_that_inherits_priorities_has_no_inversion() {
    let holds = |row: &SleepRow| {
        ended_by(row, "holder")?;
        let is_it = row.sleep.reason == SleepReason::Futex { inherits: true };
        let by_middle = |cause: String| cause.contains("middle");
        let inverted = row
            .longest
            .iter()
            .filter_map(|stretch| stretch.inversion.as_ref())
            .any(|inversion| inversion.by.iter().any(|part| by_middle(part.cause.to_string())));
        (is_it && !inverted).then_some(()).ok_or_else(|| "inverted all the same".to_owned())
    };
    check(&Plant { kind: "inheritance", is_it: &is_futex, holds: &holds, ..PLANT });
}

#[test]
fn root_a_slow_server_behind_a_pipe_is_named() {
    let is_it = |reason: &SleepReason| *reason == SleepReason::Pipe;
    check(&Plant { kind: "pipe", is_it: &is_it, holds: &|row| ended_by(row, "server"), ..PLANT });
}

#[test]
fn root_a_slow_server_behind_a_socket_is_named() {
    let is_it = |reason: &SleepReason| *reason == SleepReason::Socket;
    check(&Plant { kind: "socket", is_it: &is_it, holds: &|row| ended_by(row, "server"), ..PLANT });
}

/// Reading a page also takes CPU time, so the reason takes less than all of it.
const MOST: std::ops::RangeInclusive<f64> = 0.5..=1.0 + TOLERANCE;

#[test]
fn root_reads_from_a_disk_are_named() {
    let is_it = |reason: &SleepReason| *reason == SleepReason::BlockIo;
    check(&Plant { kind: "disk", file: Some(24 << 20), is_it: &is_it, takes: MOST, ..PLANT });
}

#[test]
fn root_page_faults_of_a_mapping_that_left_the_cache_are_named() {
    let is_it = |reason: &SleepReason| matches!(reason, SleepReason::PageFault { .. });
    check(&Plant { kind: "mapping", file: Some(24 << 20), is_it: &is_it, takes: MOST, ..PLANT });
}

#[test]
fn root_reclaim_in_a_control_group_of_too_little_memory_is_named() {
    let is_it = |reason: &SleepReason| *reason == SleepReason::Reclaim;
    let plant = Plant { kind: "memory", is_it: &is_it, takes: 0.1..=1.0 + TOLERANCE, ..PLANT };
    check(&Plant { file: Some(256 << 20), memory: Some(16 << 20), ..plant });
}

#[test]
fn root_a_control_invents_nothing() {
    let holds = |row: &SleepRow| match row.longest.is_empty() {
        true => Ok(()),
        false => Err("sleep by choice counts as blocked".to_owned()),
    };
    let is_it = |reason: &SleepReason| *reason == SleepReason::Timer;
    check(&Plant { kind: "control", is_it: &is_it, holds: &holds, ..PLANT });
}

#[test]
fn every_golden_recording_has_its_answer() {
    let mut checked = 0;
    for entry in std::fs::read_dir(folder()).expect("golden recordings belong to the checkout") {
        let path = entry.expect("the folder can be read").path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let json = std::fs::read_to_string(&path).expect("it can be read");
        let golden: Golden = serde_json::from_str(&json).expect("it is as the test wrote it");
        let mut source =
            RecordingFile::open(&path.with_extension("tactusrec")).expect("it has a recording");
        let found = Golden::of(&subject(&mut source));
        assert_eq!(found, Some(golden), "{}", path.display());
        checked += 1;
    }
    assert!(checked >= 8, "only {checked} golden recordings were found");
}
