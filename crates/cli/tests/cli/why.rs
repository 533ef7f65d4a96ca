//! `tactus why` counts the late jobs of a program as the program's own clock does, and names the
//! cause.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::Builder;

use rustix::process::{Pid, Signal, kill_process};
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
    // In one session, a busy machine may shift a job across its due time between the two clocks.
    for sessions_left in (0..3).rev() {
        match late_jobs_are_counted(&tactus) {
            Ok(()) => return,
            Err(difference) => assert!(sessions_left > 0, "{difference}"),
        }
    }
}

/// A session; an error says how it differs from the program's own clock.
fn late_jobs_are_counted(tactus: &Tactus) -> Result<(), String> {
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
    if off > (own * 3 / 100).max(2) + void {
        return Err(format!("{late} late jobs, by its own clock {own}"));
    }
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
    Ok(())
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
fn needs_tracing_a_program_that_was_never_seen_is_reported() {
    let tactus = Tactus::new();
    if !permitted(&tactus) {
        return;
    }
    let recording = tactus.folder().join("why.tactusrec").display().to_string();
    let why = ["why", "--name", "no-such-program", "--duration", "50ms", "-o", &recording];
    let error = tactus.fail(2, &why);
    assert!(error.contains("no program or thread `no-such-program` was seen"), "{error}");
}

/// Starts a shell that sleeps every 10 ms until its standard input ends.
fn sleeping_shell() -> Child {
    let script = "while :; do read -t 0.01 line; [ $? -gt 128 ] || exit 0; done";
    let mut shell = Command::new("bash");
    shell.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap()
}

/// The recording and the page, each of which must be complete or absent; whether both exist.
fn require_whole(tactus: &Tactus, recording: &Path) -> bool {
    let page = fs::read_to_string(recording.with_extension("html"));
    assert!(page.as_ref().map_or(true, |page| page.trim_end().ends_with("</html>")));
    if recording.exists() {
        tactus.succeed(&["explain", &recording.display().to_string(), "--jobs"]);
    }
    page.is_ok() && recording.exists()
}

#[test]
fn needs_tracing_it_ends_with_the_process() {
    let tactus = Tactus::new();
    if !permitted(&tactus) {
        return;
    }
    let mut shell = sleeping_shell();
    let recording = tactus.folder().join("why.tactusrec");
    let mut why = tactus
        .command(&["why", "--pid", &shell.id().to_string(), "-o"])
        .arg(&recording)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(why.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!(said.by_ref().any(|line| line.contains("watching")));
    drop(shell.stdin.take());
    shell.wait().unwrap();
    assert!(said.any(|line| line.contains("the watched processes have ended")));
    assert!(why.wait().unwrap().success());
    assert!(require_whole(&tactus, &recording));
}

#[test]
fn needs_tracing_signals_keep_the_answer_and_leave_the_watched_process_alone() {
    const SIGNALS: [(Signal, Option<i32>); 4] = [
        (Signal::INT, Some(130)),
        (Signal::TERM, Some(143)),
        (Signal::HUP, Some(129)),
        (Signal::KILL, None),
    ];
    for (signal, code) in SIGNALS {
        let tactus = Tactus::new();
        if !permitted(&tactus) {
            return;
        }
        let mut shell = sleeping_shell();
        // Two at a time do not disturb each other. On a busy machine the sleeps are not regular, so
        // the period is given.
        let recordings = ["a.tactusrec", "b.tactusrec"].map(|name| tactus.folder().join(name));
        let mut whys = recordings.each_ref().map(|recording| {
            let pid = shell.id().to_string();
            let given = ["why", "--pid", &pid, "--period", "10ms", "--over", "1us", "-o"];
            let mut why = tactus.command(&given);
            why.arg(recording).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
        });
        for (why, recording) in whys.iter_mut().zip(&recordings) {
            let said = BufReader::new(why.stderr.take().unwrap()).lines().map_while(Result::ok);
            // Somebody must read the rest.
            let said = said.inspect(|line| println!("{line}"));
            let mut said = said.skip_while(|line| !line.contains("saved the seconds"));
            assert!(said.next().is_some(), "{signal:?}: nothing was saved");
            kill_process(Pid::from_child(why), signal).unwrap();
            said.for_each(drop);
            assert_eq!(why.wait().unwrap().code(), code, "{signal:?}");
            let both = require_whole(&tactus, recording);
            assert!(recording.exists() && (both || code.is_none()), "{signal:?}");
        }
        tactus.require_nothing_left();
        assert!(shell.try_wait().unwrap().is_none(), "{signal:?}: the process has ended");
        drop(shell.stdin.take());
        assert!(shell.wait().unwrap().success());
    }
}

#[test]
fn needs_tracing_a_daemon_of_the_command_is_named() {
    let tactus = Tactus::new();
    if !permitted(&tactus) {
        return;
    }
    let recording = tactus.folder().join("why.tactusrec").display().to_string();
    // The daemon ends when the test closes its input.
    let script = "exec 3<&0; (read line <&3) > /dev/null 2>&1 & exit 0";
    let mut why = tactus.command(&["why", "-o", &recording, "--", "sh", "-c", script]);
    why.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut why = why.spawn().unwrap();
    let input = why.stdin.take();
    let output = why.wait_with_output().unwrap();
    drop(input);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    assert!(error.contains("`sh`, which the command started, still runs"), "{error}");
}

#[test]
fn needs_tracing_a_reader_that_leaves_does_not_end_it() {
    let tactus = Tactus::new();
    if !permitted(&tactus) {
        return;
    }
    let done = tactus.folder().join("done").display().to_string();
    for json in [&["--json"][..], &[]] {
        let recording = tactus.folder().join("left.tactusrec");
        let path = recording.display().to_string();
        let script = "i=0; while [ $i -lt 80 ]; do sleep 0.01; i=$((i+1)); done; touch $0";
        let options = ["why", "--over", "1us", "--period", "10ms", "-o", &path];
        let command = ["--", "sh", "-c", script, &done];
        let mut why = tactus.command(&[&options[..], json, &command].concat());
        let mut why = why.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        drop(why.stdout.take());
        why.wait().unwrap();
        assert!(Path::new(&done).exists(), "it waited for the command");
        let page = recording.with_extension("html");
        for file in [&recording, &page] {
            assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
            fs::remove_file(file).unwrap();
        }
        fs::remove_file(&done).unwrap();
    }
}

#[test]
fn a_file_that_cannot_be_a_recording_is_refused_before_the_command_starts() {
    let tactus = Tactus::new();
    let folder = tactus.folder().display().to_string();
    let marker = tactus.folder().join("started");
    let long = format!("{folder}/{}", "x".repeat(300));
    for command in ["why", "record"] {
        for file in ["/dev/null", &format!("{folder}/x/"), &long] {
            let mark = marker.display().to_string();
            let output = tactus.run(&[command, "-o", file, "--", "touch", &mark]);
            let error = String::from_utf8_lossy(&output.stderr);
            assert!(!output.status.success() && error.contains("cannot write"), "{file}: {error}");
            assert!(!marker.exists(), "{command} -o {file}");
        }
    }
    assert!(!Path::new("/dev/null.html").exists());
    let error = tactus.fail(2, &["explain", &folder]);
    assert!(error.contains("is a directory"), "{error}");
}

#[test]
fn a_process_that_does_not_exist_is_refused() {
    let tactus = Tactus::new();
    let error = tactus.fail(2, &["why", "--pid", "4194305"]);
    assert!(error.contains("there is no process 4194305"), "{error}");
}
