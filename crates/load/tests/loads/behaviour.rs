//! Loads work, report what they achieve, and leave nothing behind when they are stopped.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use tactus_load::{Containment, HostOptions, RunningLoad, Surroundings};
use tactus_model::cpus::CpuChoice;
use tactus_model::load::LoadPlan;
use tactus_model::result::{LoadResult, Shortfall};
use tactus_testing::{Need, PATIENCE, skip};

use crate::Test;
use crate::marked::{self, wait_until_none};
use crate::measuring::{is_possible, options, plan};

/// Every kind whose operations are counted.
pub const COUNTED: [&str; 21] = [
    "compute",
    "memory",
    "compile",
    "file",
    "disk",
    "net",
    "serial",
    "process",
    "syscall",
    "pagefault",
    "message",
    "timer",
    "build-over-network",
    "editor",
    "player",
    "adaptive",
    "display",
    "x11-events",
    "x11-keyboard",
    "x11-mouse",
    "console-input",
];

pub fn tests() -> Vec<Test> {
    let mut tests: Vec<Test> = Vec::new();
    for load in COUNTED {
        tests.push((format!("{load}_achieves_something"), Box::new(move || achieves(load, None))));
        let watched = Some(Containment::Watched);
        tests.push((
            format!("{load}_achieves_something_when_watched"),
            Box::new(move || achieves(load, watched)),
        ));
    }
    for load in ["compile", "build-over-network"] {
        tests.push((
            format!("{load}_is_imitated_where_there_is_no_compiler"),
            Box::new(move || is_imitated(load)),
        ));
    }
    let mut add = |name: &str, test: fn()| tests.push((name.to_owned(), Box::new(test)));
    add("idle_starts_nothing", idle_starts_nothing);
    add("recordings_can_distinguish_the_tasks_of_loads", tasks_have_names);
    add("an_x11_load_without_a_server_fails", an_x11_load_without_a_server_fails);
    add("an_x11_load_names_a_server_that_ends", || an_x11_load_names_its_server(9, "has ended"));
    add("an_x11_load_names_a_server_that_stops", || {
        an_x11_load_names_its_server(19, "did not answer for");
    });
    add("a_command_runs", a_command_runs);
    add("the_end_of_a_command_is_reported", the_end_of_a_command_is_reported);
    add("a_command_that_cannot_run_fails", a_command_that_cannot_run_fails);
    add("stress_ng_runs_or_names_its_package", stress_ng_runs_or_names_its_package);
    add("copies_are_counted", copies_are_counted);
    add("loads_run_side_by_side", loads_run_side_by_side);
    add("a_stopped_copy_is_reported", || a_stopped_copy_is_reported(None));
    add("a_stopped_copy_is_reported_when_watched", || {
        a_stopped_copy_is_reported(Some(Containment::Watched));
    });
    add("a_display_serves_the_players_beside_it", a_display_serves);
    add("a_player_plays_at_its_rate", a_player_plays_at_its_rate);
    add("files_are_removed", files_are_removed);
    add("a_filesystem_in_memory_is_reported", a_filesystem_in_memory_is_reported);
    add("a_missing_directory_fails", a_missing_directory_fails);
    add("a_dead_host_shows", || a_dead_host_shows(None));
    add("a_dead_host_shows_when_watched", || a_dead_host_shows(Some(Containment::Watched)));
    add("realtime_policy_load_is_confined_and_ends", realtime_load_is_confined_and_ends);
    add("realtime_policy_deadline_falls_short_where_tasks_are_made", deadline_falls_short);
    tests
}

/// Measures until the load has achieved something. The limit only ends a failed test.
fn measure(load: &mut RunningLoad) -> LoadResult {
    let opened = load.snapshot();
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        std::thread::sleep(Duration::from_millis(20));
        let result = load.snapshot().since(&opened);
        if result.operations.is_none_or(|count| count > 0)
            && result.bytes.is_none_or(|count| count > 0)
        {
            return result;
        }
        assert!(Instant::now() < deadline, "nothing achieved: {result:?}");
    }
}

fn none_is_left() {
    let own = std::process::id();
    wait_until_none("after the stop", || marked::processes(own));
}

fn achieves(text: &str, containment: Option<Containment>) {
    if !is_possible(text) {
        return;
    }
    let mut load = RunningLoad::start(&plan(text), &options(containment)).unwrap();
    let ready = load.snapshot();
    assert!(ready.operations > Some(0), "ready means that work is done: {ready:?}");
    let result = measure(&mut load);
    assert_eq!((result.copies, result.ended), (1, 0), "{result:?}");
    assert!(!result.unit.is_empty());
    assert!(result.cpu_time.is_some());
    if let Some(containment) = containment {
        assert_eq!(load.containment(), Some(containment));
    }
    assert_eq!(load.stop(), Vec::<String>::new());
    none_is_left();
}

/// As in a guest, which has no compiler: the processes of a compiler run, and it is reported.
fn is_imitated(text: &str) {
    let options = HostOptions { surroundings: Surroundings::Guest, ..options(None) };
    let mut load = RunningLoad::start(&plan(text), &options).unwrap();
    let imitated = |shortfall: &Shortfall| shortfall.reason == "no compiler in the guest";
    assert!(load.shortfalls().iter().any(imitated), "{:?}", load.shortfalls());
    let mut passes = vec!["compile/as", "compile/cc1", "compile/collect", "compile/ld"];
    let deadline = Instant::now() + Duration::from_secs(60);
    while !passes.is_empty() {
        let names = names_of_tasks();
        passes.retain(|pass| !names.iter().any(|name| name == pass));
        assert!(Instant::now() < deadline, "never seen: {passes:?}");
    }
    let result = measure(&mut load);
    assert_eq!((result.ended, result.unit.as_str()), (0, "compile-like builds"));
    assert_eq!(load.stop(), Vec::<String>::new());
    none_is_left();
}

fn idle_starts_nothing() {
    let mut load = RunningLoad::start(&plan("idle"), &options(None)).unwrap();
    assert_eq!(load.host_process(), None);
    let result = load.snapshot().since(&load.snapshot());
    assert_eq!(result, LoadResult::default());
    none_is_left();
}

/// The names of all threads of a load's processes.
fn names_of_tasks() -> Vec<String> {
    let mut names = Vec::new();
    for (process, _) in marked::processes(std::process::id()) {
        // A process or thread may end meanwhile; then it is skipped.
        for task in std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten() {
            let path = task.unwrap().path().join("comm");
            names.extend(std::fs::read_to_string(path).map(|name| name.trim_end().to_owned()));
        }
    }
    names
}

fn tasks_have_names() {
    for (load, expected) in [
        ("compute:2", &["load/host", "load/supervisor", "compute"][..]),
        ("editor", &["editor", "typist"]),
        ("player+display", &["player", "player/video", "player/sound", "display"]),
        ("display", &["display", "display/client"]),
        ("net", &["net", "net/tcp-sender", "net/tcp-reader", "net/udp-sender"]),
        ("build-over-network", &["build-over-netw", "build-ov/server"]),
        ("cmd:\"sleep 1000\"", &["cmd", "sleep"]),
    ] {
        let load = RunningLoad::start(&plan(load), &options(None)).unwrap();
        // A thread names itself when it first runs, which may be after the load is ready.
        let deadline = Instant::now() + PATIENCE;
        loop {
            let names = names_of_tasks();
            let missing = expected.iter().find(|&name| !names.iter().any(|found| found == name));
            let Some(missing) = missing else { break };
            assert!(Instant::now() < deadline, "{missing} is not among {names:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
        drop(load);
    }
}

fn an_x11_load_without_a_server_fails() {
    let directory = tempfile::tempdir().unwrap();
    // Two threads see that it is missing: whichever reports it first, the text is the same.
    for load in ["x11-mouse", "x11-keyboard", "x11-events"].repeat(3) {
        let measured = Command::new(std::env::current_exe().unwrap())
            .args(["internal", "measure", load, "best"])
            .arg(directory.path())
            .env("PATH", "/nonexistent")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&measured.stderr);
        assert!(!measured.status.success());
        assert_eq!(said.trim(), "this load needs an X server: Xvfb is not installed");
    }
    none_is_left();
}

/// Sends a signal to the server of a load that works, and requires a reason with these words.
fn an_x11_load_names_its_server(signal: i32, expected: &str) {
    for kind in ["x11-mouse", "x11-keyboard", "x11-events"] {
        if !is_possible(kind) {
            return;
        }
        let mut load = RunningLoad::start(&plan(&format!("{kind}@50")), &options(None)).unwrap();
        let opened = load.snapshot();
        let processes = marked::processes(std::process::id()).into_iter();
        let server = processes.map(|(process, _)| process).find(|process| {
            let name = std::fs::read_to_string(format!("/proc/{process}/comm"));
            name.is_ok_and(|name| name.trim_end() == "Xvfb")
        });
        let server = tactus_sys::pidfd::PidFd::of_process(server.unwrap()).unwrap();
        server.send(signal).unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        while load.snapshot().since(&opened).ended == 0 {
            assert!(Instant::now() < deadline, "{kind} does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
        let reasons = load.stop();
        let server = "the X server (Xvfb) of this load ";
        assert!(
            reasons.iter().any(|reason| reason.contains(server) && reason.contains(expected)),
            "{kind}: {reasons:?}"
        );
        none_is_left();
    }
}

fn a_command_runs() {
    let mut load =
        RunningLoad::start(&plan("cmd:\"while :; do :; done\""), &options(None)).unwrap();
    let opened = load.snapshot();
    let deadline = Instant::now() + Duration::from_secs(60);
    let result = loop {
        std::thread::sleep(Duration::from_millis(50));
        let result = load.snapshot().since(&opened);
        // Only its CPU time is known.
        if result.cpu_time.unwrap() > tactus_model::time::Nanos::ZERO {
            break result;
        }
        assert!(Instant::now() < deadline, "the command does nothing: {result:?}");
    };
    assert_eq!((result.copies, result.ended, result.operations, result.bytes), (1, 0, None, None));
    load.stop();
    none_is_left();
}

fn the_end_of_a_command_is_reported() {
    let mut load =
        RunningLoad::start(&plan("cmd:\"sleep 0.3; exit 7\":2"), &options(None)).unwrap();
    let opened = load.snapshot();
    assert_eq!(opened.copies, 2);
    let deadline = Instant::now() + Duration::from_secs(60);
    while load.snapshot().since(&opened).ended < 2 {
        assert!(Instant::now() < deadline, "the command does not end");
        std::thread::sleep(Duration::from_millis(5));
    }
    let reasons = load.stop();
    assert_eq!(reasons.len(), 2, "{reasons:?}");
    assert!(reasons[0].contains("exit status: 7"), "{reasons:?}");
    none_is_left();
}

/// How a load failed: at its start, or soon after if the machine was too busy for the program
/// to fail before it counted as started.
fn failure(text: &str) -> String {
    let mut load = match RunningLoad::start(&plan(text), &options(None)) {
        Ok(load) => load,
        Err(error) => return error.reason,
    };
    let deadline = Instant::now() + Duration::from_secs(60);
    while load.snapshot().copies > 0 {
        assert!(Instant::now() < deadline, "{text} does not fail");
        std::thread::sleep(Duration::from_millis(5));
    }
    load.stop().join("; ")
}

fn a_command_that_cannot_run_fails() {
    let reason = failure("cmd:\"no-such-program-anywhere\"");
    assert!(reason.contains("exit status: 127"), "{reason}");
    assert!(reason.contains("no-such-program-anywhere: "), "the shell's own words: {reason}");
    none_is_left();
}

fn stress_ng_runs_or_names_its_package() {
    match RunningLoad::start(&plan("stress-ng:\"--cpu 1\""), &options(None)) {
        Ok(mut load) => assert_eq!(load.snapshot().copies, 1),
        Err(error) => {
            let hint = error.hint.unwrap();
            assert!(hint.contains("apt install stress-ng"), "{hint}");
            return skip(Need::Peers, "stress-ng is not installed");
        }
    }
    let reason = failure("stress-ng:\"--no-such-option\"");
    assert!(reason.contains("no-such-option"), "{reason}");
    none_is_left();
}

fn copies_are_counted() {
    let mut load = RunningLoad::start(&plan("syscall:7"), &options(None)).unwrap();
    assert_eq!(measure(&mut load).copies, 7);
    load.stop();
    let cpus = tactus_sys::affinity::get().unwrap();
    let mut load = RunningLoad::start(&plan("syscall:cpus"), &options(None)).unwrap();
    assert_eq!(load.snapshot().copies as usize, cpus.len());
    drop(load);
    none_is_left();
}

fn a_stopped_copy_is_reported(containment: Option<Containment>) {
    let mut load = RunningLoad::start(&plan("compute:2"), &options(containment)).unwrap();
    let opened = load.snapshot();
    let copies = marked::copies(&marked::processes(std::process::id()));
    let stopped = Command::new("kill").args(["-STOP", &copies[0].to_string()]).status().unwrap();
    assert!(stopped.success());
    let reason = load.next_end().unwrap();
    assert!(reason.contains("a signal stopped it") && reason.contains("SIGSTOP"), "{reason}");
    // Another signal may continue it, so it has not ended.
    assert_eq!(load.snapshot().since(&opened).ended, 0);
    assert_eq!(load.stop(), [""; 0], "every stop is reported once");
    none_is_left();
}

fn loads_run_side_by_side() {
    let mut load =
        RunningLoad::start(&plan("syscall:2+editor@100+compute"), &options(None)).unwrap();
    let opened = load.snapshot();
    let deadline = Instant::now() + Duration::from_secs(60);
    let result = loop {
        std::thread::sleep(Duration::from_millis(20));
        let result = load.snapshot().since(&opened);
        if result.parts.iter().all(|part| part.achieved.operations > Some(0)) {
            break result;
        }
        assert!(Instant::now() < deadline, "one of them achieves nothing: {result:?}");
    };
    assert_eq!((result.copies, result.ended, result.operations), (4, 0, None));
    let achieved: Vec<(String, u32, &str)> = result
        .parts
        .iter()
        .map(|part| (part.load.to_string(), part.achieved.copies, part.achieved.unit.as_str()))
        .collect();
    assert_eq!(
        achieved,
        [
            ("syscall:2".to_owned(), 2, "calls"),
            ("editor@100".to_owned(), 1, "keystrokes"),
            ("compute".to_owned(), 1, "rounds of arithmetic"),
        ]
    );
    load.stop();
    none_is_left();
}

/// Frames that were drawn with a display, and requests that it served, so far.
fn drawn_and_served(load: &mut RunningLoad) -> [u64; 2] {
    let snapshot = load.snapshot();
    let done: Vec<u64> = snapshot.parts.iter().filter_map(|(_, part)| part.operations).collect();
    let [shown, drawn, requests] = done[..] else { panic!("{snapshot:?}") };
    [shown + drawn, requests]
}

fn a_display_serves() {
    let mut load = RunningLoad::start(&plan("player@50+adaptive+display"), &options(None)).unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        std::thread::sleep(Duration::from_millis(20));
        let [drawn, _] = drawn_and_served(&mut load);
        let [_, served] = drawn_and_served(&mut load);
        let [drawn_later, _] = drawn_and_served(&mut load);
        // Each frame is a request. The display may have served one request that it has not
        // counted yet, and each client may have one frame that it has not counted yet.
        assert!(drawn <= served + 1, "{drawn} frames of {served} requests");
        assert!(served <= drawn_later + 2, "{served} requests for {drawn_later} frames");
        if drawn > 20 {
            break;
        }
        assert!(Instant::now() < deadline, "they draw nothing: {drawn}");
    }
    load.stop();
    none_is_left();
}

fn a_player_plays_at_its_rate() {
    let mut load = RunningLoad::start(&plan("player@50"), &options(None)).unwrap();
    let (begun, opened) = (Instant::now(), load.snapshot());
    let deadline = begun + Duration::from_secs(60);
    loop {
        std::thread::sleep(Duration::from_millis(50));
        let result = load.snapshot().since(&opened);
        let slots = begun.elapsed().as_secs_f64() * 50.0;
        let skipped =
            result.others.iter().find(|other| other.what == "frames skipped").unwrap().count;
        let shown = result.operations.unwrap();
        // No frame is shown before its slot; some may have been due before and be counted now.
        // A decoder that is behind skips frames that are still to come.
        assert!(shown as f64 <= slots + 3.0, "{shown} frames in {slots} slots: {result:?}");
        assert!((shown + skipped) as f64 <= slots + 10.0, "{result:?} in {slots} slots");
        if shown + skipped > 25 {
            break;
        }
        assert!(Instant::now() < deadline, "it does not play: {result:?}");
    }
    load.stop();
    none_is_left();
}

fn files_are_removed() {
    let directory = tempfile::tempdir().unwrap();
    let entries = || std::fs::read_dir(directory.path()).unwrap().count();
    let mut options = options(None);
    options.directory = directory.path().to_owned();
    let load = RunningLoad::start(&plan("compile"), &options).unwrap();
    assert_eq!(entries(), 1);
    load.stop();
    assert_eq!(entries(), 0);
}

fn a_filesystem_in_memory_is_reported() {
    let memory = Path::new("/dev/shm");
    if !tactus_sys::filesystem::is_in_memory(memory).is_ok_and(|in_memory| in_memory) {
        return skip(Need::Machine, "/dev/shm is not a filesystem in memory");
    }
    for text in ["disk", "file"] {
        let mut options = options(None);
        options.directory = memory.to_owned();
        let mut load = RunningLoad::start(&plan(text), &options).unwrap();
        let granted: Vec<&str> =
            load.shortfalls().iter().map(|shortfall| shortfall.granted.as_str()).collect();
        assert_eq!(
            granted.first(),
            Some(&format!("load {text} in memory").as_str()),
            "{granted:?}"
        );
        measure(&mut load);
    }
    none_is_left();
}

fn a_missing_directory_fails() {
    let mut options = options(None);
    options.directory = "/no/such/directory".into();
    let error = RunningLoad::start(&plan("file"), &options).unwrap_err();
    assert!(error.reason.contains("/no/such/directory"), "{error}");
    none_is_left();
}

fn a_dead_host_shows(containment: Option<Containment>) {
    let directory = tempfile::tempdir().unwrap();
    let options = HostOptions { directory: directory.path().to_owned(), ..options(containment) };
    let mut load = RunningLoad::start(&plan("compute"), &options).unwrap();
    let opened = load.snapshot();
    tactus_sys::process::kill(load.host_process().unwrap()).unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while load.snapshot().since(&opened).ended == 0 {
        assert!(Instant::now() < deadline, "the end of the host does not show");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(load.stop(), ["the load host ended: signal: 9 (SIGKILL)"]);
    none_is_left();
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "files were left behind");
}

/// Confines the load to one CPU, so that the other CPUs stay free.
fn confined(load: &str, scheduling: &str) -> LoadPlan {
    let first = tactus_sys::affinity::get().unwrap().iter().next().into_iter().collect();
    LoadPlan {
        scheduling: scheduling.parse().unwrap(),
        cpus: CpuChoice::These(first),
        ..plan(load)
    }
}

fn realtime_load_is_confined_and_ends() {
    // A load that sleeps: a load that spins would hold the CPU that it shares with other tests.
    for text in ["timer", "process"] {
        let mut load = RunningLoad::start(&confined(text, "fifo:1"), &options(None)).unwrap();
        if let [shortfall, ..] = load.shortfalls() {
            skip(Need::Root, format!("a real-time policy is not permitted: {shortfall:?}"));
        }
        measure(&mut load);
        load.stop();
        none_is_left();
    }
}

fn deadline_falls_short() {
    let plan =
        LoadPlan { scheduling: "deadline:1ms/10ms/10ms".parse().unwrap(), ..plan("process") };
    let mut load = RunningLoad::start(&plan, &options(None)).unwrap();
    let [shortfall] = load.shortfalls() else { panic!("{:?}", load.shortfalls()) };
    assert_eq!(shortfall.asked, "load-policy deadline:1ms/10ms/10ms");
    assert_eq!(shortfall.granted, "load-policy other");
    measure(&mut load);
    load.stop();
    none_is_left();
}
