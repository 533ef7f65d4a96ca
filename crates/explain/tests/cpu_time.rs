//! The CPU time of jobs of planted periodic threads; the threads' own CPU clock is the truth.
//!
//! The golden recording has the same threads. `TACTUS_GOLDEN=1` writes it anew while the live
//! comparison runs, which needs `TACTUS_PLANTS`.

#[path = "support/cut.rs"]
mod cut;

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use cut::cut;
use serde::{Deserialize, Serialize};
use tactus_explain::jobs::{DoneJob, JobExplainer, JobFinder, JobOptions};
use tactus_model::recording::{Event, EventKind, EventSource, Item, Recording, ThreadId};
use tactus_model::time::{Instant, Monotonic, Nanos};
use tactus_record::file::RecordingFile;
use tactus_record::live::{CallChains, Keep, Options as RecordOptions, Recorder};
use tactus_testing::{Need, compares_plants, require, skip};

/// A planted thread.
struct Planted {
    name: &'static str,
    word: &'static str,
    period: Nanos,
}

/// A job of each length, two lengths as in video, and random lengths.
const PLANTED: [Planted; 3] = [
    Planted { name: "fixed", word: "fixed:10000:2000:2000:1", period: Nanos::from_millis(10) },
    Planted { name: "modes", word: "modes:20000:1000:5000:8", period: Nanos::from_millis(20) },
    Planted { name: "random", word: "random:15000:500:3000:0", period: Nanos::from_millis(15) },
];

/// What the own clock of each thread counted for its jobs, in nanoseconds.
#[derive(Debug, Serialize, Deserialize)]
struct Truth(BTreeMap<String, Vec<u64>>);

impl Truth {
    fn parse(output: &str) -> Self {
        let lines = output.lines().filter_map(|line| {
            let (name, costs) = line.split_once(' ')?;
            Some((name.to_owned(), costs.split(' ').filter_map(|word| word.parse().ok()).collect()))
        });
        Self(lines.collect())
    }
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/cpu-time")
}

/// The periods that were found, and the jobs, by the name of the thread.
fn find(first: &mut dyn EventSource, second: &mut dyn EventSource) -> BTreeMap<String, Found> {
    let mut finder = JobFinder::new(first.about());
    while let Some(item) = first.next_item().expect("the recording is whole") {
        match item {
            Item::Event(event) => finder.event(&event, first.dictionary()),
            Item::Lost(lost) => finder.lost(&lost),
        }
    }
    let options = JobOptions { period: None, deadline: None, slowest: 0, timelines: 0 };
    let explainer = JobExplainer::new(second.about(), options, finder.finish(None));
    let (mut explainer, mut done) = (explainer.keeping_done(), Vec::new());
    let wanted = |_: ThreadId, name: &str, _| PLANTED.iter().any(|planted| planted.name == name);
    while let Some(item) = second.next_item().expect("the recording is whole") {
        match item {
            Item::Event(event) => explainer.event(&event, second.dictionary(), wanted),
            Item::Lost(lost) => explainer.lost(&lost),
        }
        done.append(&mut explainer.take_done());
    }
    let threads = explainer.finish(second.dictionary()).threads.into_iter();
    let found = threads.map(|thread| {
        let jobs = done.iter().filter(|job| job.thread == thread.thread).copied().collect();
        (thread.name, Found { period: thread.period.length, jobs })
    });
    found.collect()
}

struct Found {
    period: Nanos,
    jobs: Vec<DoneJob>,
}

/// Compares what was found with the truth: periods, the mean and the greatest CPU time of a job.
#[track_caller]
fn compare(found: &BTreeMap<String, Found>, truth: &Truth) {
    for Planted { name, period, .. } in PLANTED {
        let own = &truth.0[name];
        let Found { period: length, jobs } = found.get(name).expect("the thread is periodic");
        assert_eq!(length.as_nanos().abs_diff(period.as_nanos()) / 1000, 0, "{name}");
        // The first turn begins the first job, and the last job has no known end.
        assert!(jobs.len() + 3 >= own.len() && jobs.len() <= own.len(), "{name}");
        let used: Vec<u64> = jobs.iter().map(|job| job.used.total().as_nanos()).collect();
        let mean = |values: &[u64]| values.iter().sum::<u64>() as f64 / values.len() as f64;
        // What the thread does before its first job is in its first truth.
        let own = &own[1..];
        let greatest = |values: &[u64]| *values.iter().max().expect("it has jobs") as f64;
        for (tolerance, found, truth) in
            [(0.02, mean(&used), mean(own)), (0.06, greatest(&used), greatest(own))]
        {
            let off = found / truth - 1.0;
            println!("{name}: {found:.0} ns, by its own clock {truth:.0} ns ({off:+.3})");
            assert!(off.abs() < tolerance, "{name} is off by {off:+.3}");
        }
    }
}

#[test]
fn the_golden_recording_shows_the_cpu_time_that_the_threads_counted() {
    let open = || RecordingFile::open(&folder().join("periodic.tactusrec")).expect("it is golden");
    let truth = std::fs::read_to_string(folder().join("periodic.json")).expect("it is golden");
    let truth = serde_json::from_str(&truth).expect("it is as the test wrote it");
    compare(&find(&mut open(), &mut open()), &truth);
}

#[test]
fn needs_tracing_the_cpu_time_of_planted_jobs_is_that_of_their_own_clock() {
    if !compares_plants() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary directory can be made");
    let program = folder.path().join("periodic");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/periodic.c");
    let built = Command::new("cc")
        .args(["-O1", "-pthread", "-o"])
        .args([program.as_os_str(), source.as_ref()])
        .status();
    if !built.is_ok_and(|status| status.success()) {
        return skip(Need::Tools, "there is no C compiler");
    }
    let options = RecordOptions {
        call_chains: CallChains::Never,
        keep: Keep::Memory { limit: 1 << 28 },
        ..RecordOptions::of_scheduling()
    };
    let Some(recorder) = require(Need::Perf, Recorder::start(options)) else { return };
    let words = PLANTED.iter().map(|planted| planted.word);
    let output = Command::new(&program)
        .args(["2", "1"])
        .args(words)
        .stdin(Stdio::null())
        .output()
        .expect("it was built");
    let mut recorded = recorder.stop().expect("it can be recorded");
    assert!(output.status.success());
    let truth = Truth::parse(&String::from_utf8_lossy(&output.stdout));
    let recording =
        Recording::collect(&mut recorded.recording).expect("a new recording can be read");
    println!("{} events", recording.events.len());
    keep(&recording, &truth);
    compare(&find(&mut recording.reader(), &mut recording.reader()), &truth);
}

/// How far from a wakeup of a planted thread events of other threads are kept.
const AROUND: Nanos = Nanos::from_micros(30);

/// Stores what concerns the planted threads, if `TACTUS_GOLDEN` is set: what they did, and the
/// events around their wakeups.
fn keep(recording: &Recording, truth: &Truth) {
    if std::env::var_os("TACTUS_GOLDEN").is_none() {
        return;
    }
    let names = &recording.dictionary;
    let is_planted = |name| PLANTED.iter().any(|planted| planted.name == names.name(name));
    let named = recording.events.iter().filter_map(|event| match event.kind {
        EventKind::Switch { next, next_name, .. } if is_planted(next_name) => Some(next),
        _ => None,
    });
    let planted: HashSet<ThreadId> = named.collect();
    let woken = recording.events.iter().filter_map(|event| match event.kind {
        EventKind::Waking(wakeup) if planted.contains(&wakeup.thread) => Some(event.at),
        _ => None,
    });
    let woken: Vec<Instant<Monotonic>> = woken.collect();
    let concerns = |event: &Event| match event.kind {
        EventKind::Switch { prev, next, .. } => planted.contains(&prev) || planted.contains(&next),
        // There is one for each reading of the CPU clock. They show steal time only.
        EventKind::Runtime { .. } => false,
        _ if planted.contains(&event.thread) => true,
        _ => {
            let next = woken.partition_point(|at| *at + AROUND < event.at);
            woken.get(next).is_some_and(|at| event.at + AROUND >= *at)
        }
    };
    let mut part = recording.clone();
    part.events.retain(concerns);
    let ends = part.events.first().zip(part.events.last());
    let (first, last) = ends.expect("the threads have events");
    let part = cut(&part, first.at, last.at);
    std::fs::create_dir_all(folder()).expect("the checkout can be written");
    let json = serde_json::to_string(truth).expect("it is a map of numbers");
    std::fs::write(folder().join("periodic.json"), json + "\n").expect("it can be written");
    let bytes = tactus_record::file::to_bytes(&part);
    std::fs::write(folder().join("periodic.tactusrec"), bytes).expect("it can be written");
}
