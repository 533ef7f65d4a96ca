//! Small files that would take much memory are read in little of it.
//!
//! Each file is read in a process of its own, whose address space is limited. The limit is far
//! below what the file took when memory followed its claims.

use std::fs;
use std::path::Path;
use std::process::Command;

use base64::{Engine, prelude::BASE64_STANDARD};
use rustix::process::{Resource, Rlimit, setrlimit};
use serde_json::{Value, json};
use tactus_explain::account::{AccountOptions, TickRate, account};
use tactus_explain::{Options, waits};
use tactus_import::{File, Format, run_of};
use tactus_model::recording::{
    About, Context, Dictionary, Event, EventKind, Lost, Priority, Recording, TaskState, ThreadId,
    Wakeup,
};
use tactus_model::time::{Instant, Nanos};
use tactus_record::file::{RecordingFile, to_bytes};
use tactus_store::FileRun;

/// Set for the process that reads: the file.
const FILE: &str = "TACTUS_AMPLIFYING_FILE";

/// The address space of that process in bytes. A debug build of these tests and its threads
/// take a good part of it.
const MEMORY: u64 = 640 << 20;

/// Runs `read` on the bytes of `file` in a process of the test `name` with little memory.
fn check(name: &str, file: impl FnOnce() -> Vec<u8>, read: impl FnOnce(&Path)) {
    if let Some(file) = std::env::var_os(FILE) {
        setrlimit(Resource::As, Rlimit { current: Some(MEMORY), maximum: Some(MEMORY) }).unwrap();
        return read(Path::new(&file));
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, file()).unwrap();
    let outcome = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(FILE, &path)
        .output()
        .unwrap();
    assert!(outcome.status.success(), "{}", String::from_utf8_lossy(&outcome.stderr));
}

/// A recording of `count` events of one CPU, a microsecond apart.
fn recording(count: u32, event: impl Fn(u32) -> (ThreadId, EventKind)) -> Vec<u8> {
    let about: About = serde_json::from_value(json!({
        "started": 0, "cpus": "0", "events": ["sched/sched_switch"], "absent": [],
        "kernel": "6.12", "mechanism": "tracefs",
    }))
    .unwrap();
    let events = (0..count).map(|number| {
        let (thread, kind) = event(number);
        Event {
            at: Instant::from_nanos(u64::from(number + 1) * 1000),
            cpu: 0,
            thread,
            context: Context::default(),
            chain: None,
            kind,
        }
    });
    let dictionary = Dictionary::new();
    to_bytes(&Recording { about, dictionary, events: events.collect(), losses: Vec::new() })
}

fn thread(number: u32) -> ThreadId {
    ThreadId(number as i32 + 10)
}

/// The number of threads in these recordings of a few megabytes; each took 4 kB.
const THREADS: u32 = 300_000;

#[test]
fn a_recording_of_many_threads_is_accounted_for() {
    let switch = |number: u32| {
        let kind = EventKind::Switch {
            prev: thread(number),
            prev_name: Default::default(),
            prev_priority: Priority(120),
            prev_state: TaskState::PREEMPTED,
            next: thread(number + 1),
            next_name: Default::default(),
            next_priority: Priority(120),
        };
        (thread(number), kind)
    };
    let read = |file: &Path| {
        let rates: Vec<TickRate> = ["100", "250", "1000"].map(|rate| rate.parse().unwrap()).into();
        let mut source = RecordingFile::open(file).unwrap();
        let accounts = account(&mut source, &AccountOptions { rates }).unwrap();
        assert!(accounts.threads.len() < 20_000, "{} accounts", accounts.threads.len());
        assert!(accounts.threads.iter().any(|account| account.name == "other threads"));
        let named: Nanos = accounts.threads.iter().map(|account| account.used).sum();
        assert_eq!(named, accounts.used(), "every nanosecond is in some account");
        let options = Options { threshold: Nanos::ZERO, slowest: 5, timelines: 5 };
        waits(&mut RecordingFile::open(file).unwrap(), options, |_, _| true).unwrap();
    };
    check("a_recording_of_many_threads_is_accounted_for", || recording(THREADS, switch), read);
}

#[test]
fn a_recording_of_many_woken_threads_is_replayed() {
    let woken = |number: u32| {
        let wakeup = Wakeup {
            thread: thread(number),
            name: Default::default(),
            priority: Priority(120),
            target_cpu: 0,
        };
        (ThreadId::IDLE, EventKind::WakeupNew(wakeup))
    };
    let read = |file: &Path| {
        let source = &mut RecordingFile::open(file).unwrap();
        account(source, &AccountOptions::default()).unwrap();
    };
    check("a_recording_of_many_woken_threads_is_replayed", || recording(4 * THREADS, woken), read);
}

#[test]
fn a_recording_with_too_many_losses_is_refused() {
    let file = || {
        let lost =
            Lost { cpu: 0, from: Instant::from_nanos(1), to: Instant::from_nanos(2), count: 1 };
        let mut bytes = recording(0, |_| (ThreadId::IDLE, EventKind::IdleExit));
        let block = tactus_record::codec::encode_losses(&vec![lost; 2 << 20]);
        (0..8).for_each(|_| bytes.extend_from_slice(block.bytes()));
        bytes
    };
    let read = |file: &Path| {
        let error = RecordingFile::open(file).unwrap_err().to_string();
        assert!(error.contains("more losses than the limit"), "{error}");
    };
    check("a_recording_with_too_many_losses_is_refused", file, read);
}

/// The exported run of the tests, changed by `change`.
fn export(change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/export/run.json");
    let mut run: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    change(&mut run);
    // The keys stay in the order that an import requires.
    serde_json::to_vec(&json!({
        "format": run["format"], "format_version": run["format_version"],
        "header": run["header"], "failures": run["failures"],
    }))
    .map(|mut bytes| {
        bytes.pop();
        bytes.extend_from_slice(b",\"results\":");
        serde_json::to_writer(&mut bytes, &run["results"]).unwrap();
        bytes.push(b'}');
        bytes
    })
    .unwrap()
}

fn refused(file: &Path) -> String {
    FileRun::read(fs::File::open(file).unwrap()).unwrap_err().to_string()
}

#[test]
fn a_run_with_more_samples_than_bytes_hold_is_refused() {
    let file = || {
        // Sixteen million samples of zero in 130 kB.
        let count = 1_u64 << 24;
        let bytes = lz4_flex::compress_prepend_size(&vec![0; 2 * count as usize]);
        let block = json!({ "count": count, "bytes": BASE64_STANDARD.encode(bytes) });
        export(|run| {
            run["results"][0]["samples"] = vec![json!({ "task": 0, "block": block }); 9].into()
        })
    };
    let read = |file: &Path| {
        let error = refused(file);
        assert!(error.contains("samples are more than their bytes hold"), "{error}");
    };
    check("a_run_with_more_samples_than_bytes_hold_is_refused", file, read);
}

#[test]
fn a_run_with_many_cpus_in_every_task_takes_little_memory() {
    let file = || {
        export(|run| {
            let task = &mut run["results"][0]["measurement"]["tasks"][0];
            task["granted"]["cpus"] = "0-8191".into();
            task["blocks"] = json!([]);
            task["series"] = json!([]);
            task["scope"] = json!([]);
            let task = task.clone();
            run["results"][0]["measurement"]["tasks"] = vec![task; 8192].into();
        })
    };
    let read = |file: &Path| drop(refused(file));
    check("a_run_with_many_cpus_in_every_task_takes_little_memory", file, read);
}

#[test]
fn a_run_with_a_damaged_recording_is_refused() {
    let file = || {
        export(|run| {
            let text = &mut run["results"][0]["traced"]["recording"];
            let mut bytes = BASE64_STANDARD.decode(text.as_str().unwrap()).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            *text = BASE64_STANDARD.encode(bytes).into();
        })
    };
    let read = |file: &Path| {
        let error = refused(file);
        assert!(error.contains("the recording of cell"), "{error}");
    };
    check("a_run_with_a_damaged_recording_is_refused", file, read);
}

#[test]
fn a_file_of_another_tool_with_too_many_threads_is_refused() {
    let file = || {
        let threads = (0..300_000).map(|thread| {
            format!("\"{thread}\":{{\"histogram\":{{\"1099511627776\":1}},\"cycles\":1}}")
        });
        let threads = threads.collect::<Vec<_>>().join(",");
        format!("{{\"cmdline\":\"cyclictest -h 100\",\"thread\":{{{threads}}}}}").into_bytes()
    };
    let read = |file: &Path| {
        let content = fs::read(file).unwrap();
        assert_eq!(Format::recognise(&content).unwrap(), Format::CyclictestJson);
        let file = File { name: "results".to_owned(), content, modified: None };
        let error = run_of(&[file], &Default::default()).unwrap_err().to_string();
        assert!(error.contains("300000 threads"), "{error}");
    };
    check("a_file_of_another_tool_with_too_many_threads_is_refused", file, read);
}
