//! `tactus why` counts the late jobs of a program as the program's own clock does, and names the
//! cause.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::Builder;

use serde_json::Value;
use tactus_explain::jobs::LEARNED;
use tactus_model::time::{Instant, Monotonic, Nanos};
use tactus_sys::sleep::{Nanosleep, Sleeper};

use crate::flight::permitted;
use crate::support::Tactus;

/// The variable with the file to which the planted program writes its own count.
const RESULT: &str = "TACTUS_TEST_PLANT";

const PERIOD: Nanos = Nanos::from_millis(5);

/// The number of jobs of the planted thread.
const JOBS: usize = 600;

fn now() -> Instant<Monotonic> {
    tactus_sys::clock::now()
}

fn sleep_until(due: Instant<Monotonic>) {
    Nanosleep.sleep_until(due).expect("nanosleep is not refused");
}

fn spin(length: Nanos) {
    let end = now() + length;
    while now() < end {
        std::hint::spin_loop();
    }
}

/// The planted program: a thread with a job every 5 ms shares a lock with a hog that holds it for
/// 12 ms at a time. Ends after 3 s.
#[test]
#[ignore = "another test starts it as a program"]
fn planted_program() {
    let Ok(result) = std::env::var(RESULT) else { return };
    let lock = Arc::new(Mutex::new(()));
    let over = Arc::new(AtomicBool::new(false));
    let hog = Builder::new().name("hog".to_owned()).spawn({
        let (lock, over) = (lock.clone(), over.clone());
        move || {
            sleep_until(now() + Nanos::from_millis(300));
            for turn in 0.. {
                if over.load(Ordering::Relaxed) {
                    return;
                }
                let held = lock.lock().unwrap();
                spin(Nanos::from_millis(12));
                drop(held);
                // The turns meet the jobs in every phase.
                sleep_until(now() + Nanos::from_micros(47_300 + turn * 7919 % 9000));
            }
        }
    });
    let audio = Builder::new().name("audio".to_owned()).spawn(move || {
        let (mut due, mut late) = (now() + PERIOD, 0_u64);
        for job in 0..JOBS {
            sleep_until(due);
            let held = lock.lock().unwrap();
            spin(Nanos::from_micros(200));
            drop(held);
            // `tactus why` learns the period from the first jobs and does not judge them.
            late += u64::from(job >= LEARNED && now() - due > PERIOD);
            due = due + PERIOD;
        }
        // The end of the last job is known by the next due time.
        sleep_until(due);
        late
    });
    let late = audio.unwrap().join().unwrap();
    over.store(true, Ordering::Relaxed);
    hog.unwrap().join().unwrap();
    fs::write(result, late.to_string()).unwrap();
}

/// The lines of JSON among the output of the planted program.
fn json_lines(text: &str) -> Vec<Value> {
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

#[test]
fn needs_tracing_late_jobs_are_counted_and_their_cause_is_named() {
    let tactus = Tactus::new();
    if !permitted(&tactus) {
        return;
    }
    let recording = tactus.folder().join("why.tactusrec");
    let result = tactus.folder().join("late");
    let program = std::env::current_exe().unwrap().display().to_string();
    let output = tactus
        .command(&["why", "--json", "-o", &recording.display().to_string(), "--", &program])
        .args(["--ignored", "--exact", "why::planted_program"])
        .env(RESULT, &result)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    let own: u64 = fs::read_to_string(&result).unwrap().parse().unwrap();
    assert!(own > 20, "the hog made few jobs late: {own}");
    let lines = json_lines(&text);
    let named = |line: &&Value| line["kind"] == "thread" && line["name"] == "audio";
    let audio = lines.iter().find(named).unwrap_or_else(|| panic!("audio is periodic: {text}"));
    let pareto = &audio["explanation"]["pareto"];
    let late = pareto["samples"].as_u64().unwrap() + pareto["undivided"].as_u64().unwrap();
    // Jobs across lost events are not counted.
    let void = audio["void"].as_u64().unwrap();
    let off = late.abs_diff(own);
    assert!(off <= (own * 3 / 100).max(2) + void, "{late} late jobs, by its own clock {own}");
    assert_eq!(audio["period"]["length"], PERIOD.as_nanos());
    let blocked = &audio["blocked"][0];
    assert_eq!((&blocked["reason"], &blocked["ender"]["name"]), (&"futex".into(), &"hog".into()));
    assert!(lines.iter().any(|line| line["kind"] == "late" && line["name"] == "audio"));
    let summary = lines.iter().find(|line| line["kind"] == "summary").unwrap();
    assert!(!summary["trigger"].is_null(), "{summary}");
    let page = fs::read_to_string(recording.with_extension("html")).unwrap();
    assert!(page.contains("audio") && page.contains("futex"));
    let again = ["explain", &recording.display().to_string(), "--jobs", "--thread", "audio"];
    let again = tactus.succeed(&again);
    assert!(again.contains("Jobs of periodic threads"), "{again}");
}

#[test]
fn needs_tracing_a_thread_that_was_never_seen_is_reported_with_a_near_name() {
    let tactus = Tactus::new();
    if !permitted(&tactus) {
        return;
    }
    let recording = tactus.folder().join("why.tactusrec").display().to_string();
    let command = ["why", "--thread", "slep", "-o", &recording, "--"];
    let sleeps = ["sh", "-c", "for i in 1 2 3 4; do sleep 0.01; done"];
    let error = tactus.fail(2, &[&command[..], &sleeps[..]].concat());
    assert!(error.contains("no thread `slep` was seen; did you mean `sleep`?"), "{error}");
    let failing = ["sh", "-c", "exit 7"];
    tactus.fail(7, &[&command[..], &failing[..]].concat());
}

#[test]
fn a_process_that_does_not_exist_is_refused() {
    let tactus = Tactus::new();
    let error = tactus.fail(2, &["why", "--pid", "4194305"]);
    assert!(error.contains("there is no process 4194305"), "{error}");
}
