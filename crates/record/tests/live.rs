//! Recordings of the running kernel by both mechanisms. The tests need permission to
//! record; without it each test prints why it is skipped.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use tactus_model::recording::{
    Context, Event, EventKind, EventSource, Item, Mechanism, Observers, Recording, ThreadId,
};
use tactus_model::time::{Monotonic, Nanos};
use tactus_record::RecordingSummary;
use tactus_record::file::RecordingFile;
use tactus_record::live::{
    CallChains, Control, DrainerOptions, Keep, LiveSource, Options, RecordError, RecordEvent,
    Recorder, Source, record,
};
use tactus_testing::{Need, skip};

/// The options for recording by `source`.
fn options(source: Source) -> Options {
    Options { source, ..Options::default() }
}

/// Defines every test for each mechanism.
macro_rules! by_each_mechanism {
    ($($test:ident,)+) => {
        mod perf {
            use super::*;
            $(#[test] fn $test() { super::$test(Source::Only(Mechanism::Perf)); })+
        }
        mod tracefs {
            use super::*;
            $(#[test] fn $test() { super::$test(Source::Only(Mechanism::Tracefs)); })+
        }
    };
}

by_each_mechanism! {
    a_live_recording_is_whole_in_order_and_balanced,
    a_switch_is_recorded_by_the_thread_that_leaves,
    every_lost_event_is_counted,
    a_flight_recorder_saves_its_last_stretch_and_continues,
    a_live_source_returns_everything_in_order,
    a_command_is_recorded_until_it_ends,
    a_truncated_file_is_read_to_its_last_complete_block,
    a_switch_shows_where_its_thread_rescheduled,
    a_recording_names_the_threads_of_the_recorder,
    a_recorder_beside_a_window_drains_only_at_the_end,
    only_a_sleep_shows_its_place_and_its_call,
    a_chosen_threads_system_calls_have_names_and_arguments,
}

/// Returns what was started, or prints why the test is skipped.
#[track_caller]
fn permitted<T>(started: Result<T, RecordError>) -> Option<T> {
    match started {
        Ok(started) => Some(started),
        Err(error) if error.is_not_available() => {
            let fix = error.fix().unwrap_or_default();
            skip(Need::Perf, format!("{error}; fix: {fix}"));
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Read and lost events never exceed the kernel's count; events of running threads are
/// accounted for completely.
fn check_accounts(summary: &RecordingSummary) {
    for account in &summary.accounts {
        let Some(count) = account.count else { continue };
        assert!(account.read + count.lost <= count.counted, "{account:?}");
    }
    for account in &summary.cpus {
        assert!(account.balances(), "{account:?}");
    }
    let switches = summary.accounts.iter().find(|account| account.event == "sched/sched_switch");
    assert!(switches.unwrap().balances(), "{switches:?}");
    if summary.unwritten() > 0 {
        eprintln!("this kernel counted {} occurrences without a record", summary.unwritten());
    }
}

/// Two threads pass a byte to and fro: each round has at least two wakeups.
fn ping_pong(rounds: u32) {
    let (mut near, mut far) = UnixStream::pair().unwrap();
    let partner = std::thread::Builder::new().name("tactus-pong".to_owned()).spawn(move || {
        let mut byte = [0];
        for _ in 0..rounds {
            far.read_exact(&mut byte).unwrap();
            far.write_all(&byte).unwrap();
        }
    });
    let mut byte = [7];
    for _ in 0..rounds {
        near.write_all(&byte).unwrap();
        near.read_exact(&mut byte).unwrap();
    }
    partner.unwrap().join().unwrap();
}

fn a_live_recording_is_whole_in_order_and_balanced(source: Source) {
    let Some(recorder) = permitted(Recorder::start(options(source))) else { return };
    ping_pong(2_000);
    let mut recorded = recorder.stop().unwrap();
    let summary = &recorded.summary;
    check_accounts(summary);
    assert_eq!(summary.undecoded, 0);
    let recording = Recording::collect(&mut recorded.recording).unwrap();
    assert!(recording.events.is_sorted_by_key(|event| event.at));
    assert_eq!(recording.events.len() as u64, summary.cost.events);
    let read: u64 = summary.accounts.iter().map(|account| account.read).sum();
    assert_eq!(read, summary.cost.events);
    // In some guests, switches from idle are missing; the switch away from the thread is
    // always there.
    let by_partner = recording
        .events
        .iter()
        .filter(|event| match event.kind {
            EventKind::Switch { prev_name, .. } => {
                recording.dictionary.name(prev_name) == "tactus-pong"
            }
            _ => false,
        })
        .count();
    if summary.lost() == 0 {
        // Rarely, a byte is already there and is read without sleeping.
        assert!(by_partner >= 1_000, "{by_partner}");
    }
    let own = ThreadId(std::process::id() as i32);
    assert_eq!(recording.dictionary.process_of(own).map(|process| process.0), Some(own.0));
}

fn a_switch_is_recorded_by_the_thread_that_leaves(source: Source) {
    let Some(recorder) = permitted(Recorder::start(options(source))) else { return };
    ping_pong(500);
    let mut recorded = recorder.stop().unwrap();
    let recording = Recording::collect(&mut recorded.recording).unwrap();
    for event in &recording.events {
        if let EventKind::Switch { prev, .. } = event.kind {
            assert_eq!(event.thread, prev);
        }
    }
}

fn every_lost_event_is_counted(source: Source) {
    // Without space to store anything, nothing is drained until the end.
    let options =
        Options { keep: Keep::Memory { limit: 0 }, ring_size: 1 << 16, ..options(source) };
    let Some(recorder) = permitted(Recorder::start(options)) else { return };
    ping_pong(5_000);
    let recorded = recorder.stop().unwrap();
    let summary = recorded.summary;
    assert!(summary.lost() > 0);
    check_accounts(&summary);
    let windows: u64 = recorded.recording.losses().iter().map(|lost| lost.count).sum();
    // The kernel's records of new threads can be lost too, and belong to no event.
    assert!(windows >= summary.lost(), "{windows} of {}", summary.lost());
    for lost in recorded.recording.losses() {
        assert!(lost.from <= lost.to && lost.to <= summary.ended, "{lost:?}");
    }
}

fn a_flight_recorder_saves_its_last_stretch_and_continues(source: Source) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("late.tactusrec");
    let last = Nanos::from_millis(200);
    let mut options = Options { keep: Keep::Flight { last, limit: 64 << 20 }, ..options(source) };
    options.drainer.longest_sleep = Nanos::from_millis(50);
    let Some(recorder) = permitted(Recorder::start(options)) else { return };
    for _ in 0..8 {
        ping_pong(100);
        std::thread::sleep(Duration::from_millis(50));
    }
    recorder.save(&path).unwrap();
    ping_pong(10);
    let recorded = recorder.stop().unwrap();
    check_accounts(&recorded.summary);
    let mut saved = RecordingFile::open(&path).unwrap();
    assert!(saved.event_count() > 0);
    let started = saved.about().started;
    assert!(started > recorded.summary.started);
    let events = Recording::collect(&mut saved).unwrap().events;
    assert!(events.last().unwrap().at > started);
}

fn a_live_source_returns_everything_in_order(source: Source) {
    let mut options = options(source);
    options.drainer.longest_sleep = Nanos::from_millis(20);
    let Some(mut source) = permitted(LiveSource::start(options)) else { return };
    ping_pong(1_000);
    source.stop().unwrap();
    let mut events = Vec::new();
    while let Some(item) = source.next_item().unwrap() {
        if let Item::Event(event) = item {
            events.push(event);
        }
    }
    assert!(events.is_sorted_by_key(|event| event.at));
    let summary = source.summary().unwrap();
    assert_eq!(events.len() as u64, summary.cost.events);
    check_accounts(summary);
}

fn a_command_is_recorded_until_it_ends(source: Source) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("command.tactusrec");
    let options = Options { keep: Keep::File(path.clone()), ..options(source) };
    let command = ["sh", "-c", "sleep 0.05; true"].map(Into::into);
    let mut events = Vec::new();
    let recorded = record(options, &command, None, &Control::new(), |event| events.push(event));
    let Some(mut recorded) = permitted(recorded) else { return };
    assert!(matches!(
        events[..],
        [RecordEvent::Started(_), RecordEvent::CommandStarted { .. }, RecordEvent::CommandEnded(_)]
    ));
    let recording = Recording::collect(&mut recorded.recording).unwrap();
    let slept = recording.dictionary.find_name("sleep").expect("the command's child ran");
    // The thread that leaves records the switch. The switch to it would come from the
    // idle thread, whose events are missing in some guests.
    assert!(recording.events.iter().any(|event| match event.kind {
        EventKind::Switch { prev_name, .. } => prev_name == slept,
        _ => false,
    }));
    assert_eq!(RecordingFile::open(&path).unwrap().event_count(), recorded.summary.cost.events);
}

fn a_truncated_file_is_read_to_its_last_complete_block(source: Source) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("killed.tactusrec");
    let mut options = Options { keep: Keep::File(path.clone()), ..options(source) };
    options.drainer.longest_sleep = Nanos::from_millis(10);
    let Some(recorder) = permitted(Recorder::start(options)) else { return };
    for _ in 0..20 {
        ping_pong(50);
        std::thread::sleep(Duration::from_millis(10));
    }
    recorder.stop().unwrap();
    let whole = std::fs::read(&path).unwrap();
    let all = RecordingFile::from_bytes(whole.clone()).unwrap().event_count();
    let mut before = 0;
    for part in 1..=50 {
        let bytes = whole[..whole.len() * part / 50].to_vec();
        let length = bytes.len();
        let Ok(mut file) = RecordingFile::from_bytes(bytes) else {
            assert!(length < 8192, "{length} bytes should hold the beginning");
            continue;
        };
        let read = Recording::collect(&mut file).unwrap().events.len() as u64;
        assert_eq!(read, file.event_count());
        assert!(before <= read && read <= all);
        before = read;
    }
    assert_eq!(before, all);
}

/// The names of the functions in an event's call chain, the innermost first.
fn chain_names<'a>(recording: &'a Recording, event: &Event) -> Vec<&'a str> {
    let dictionary = &recording.dictionary;
    let frames = event.chain.map_or(&[][..], |chain| dictionary.chain(chain));
    frames.iter().map(|frame| dictionary.function_name(*frame)).collect()
}

/// A ping-pong recorded with call chains; `None`, with the reason printed, without permission or
/// without names.
fn recorded_with_chains(source: Source, call_chains: CallChains) -> Option<Recording> {
    let options = Options { call_chains, ..options(source) };
    let recorder = permitted(Recorder::start(options))?;
    ping_pong(500);
    let mut recorded = recorder.stop().unwrap();
    // The events of an idle thread may be missing, which is a shortfall too.
    let mut shortfalls = recorded.summary.shortfalls.iter();
    assert!(shortfalls.all(|shortfall| shortfall.asked != "call chains"));
    let recording = Recording::collect(&mut recorded.recording).unwrap();
    let mut chained = recording.events.iter().filter(|event| event.chain.is_some());
    let is_hidden = |first| chain_names(&recording, first).iter().all(|name| *name == "?");
    if chained.next().is_some_and(is_hidden) {
        skip(Need::Root, "the kernel hides its functions' names (kernel.kptr_restrict)");
        return None;
    }
    let wakeups =
        recording.events.iter().filter(|event| matches!(event.kind, EventKind::Wakeup(_)));
    assert!(wakeups.map(|event| event.chain).all(|chain| chain.is_none()));
    Some(recording)
}

fn a_switch_shows_where_its_thread_rescheduled(source: Source) {
    most_events_have_chains(source, CallChains::Always, |recording| {
        let is_switch = |event: &&Event| matches!(event.kind, EventKind::Switch { .. });
        let switches = recording.events.iter().filter(is_switch);
        let has_chain = |event: &&Event| chain_names(recording, event).contains(&"__schedule");
        (switches.clone().count(), switches.filter(has_chain).count())
    });
}

fn only_a_sleep_shows_its_place_and_its_call(source: Source) {
    most_events_have_chains(source, CallChains::AtSleeps, sleeps_with_their_place);
}

/// Counts events, and those with a call chain, which nearly all must have. Other tests record and
/// flood the rings at the same time, so that a recording may have lost nearly all of them; a later one
/// has them.
fn most_events_have_chains(
    source: Source,
    call_chains: CallChains,
    count: impl Fn(&Recording) -> (usize, usize),
) {
    let mut seen = Vec::new();
    while seen.len() < 10 {
        let Some(recording) = recorded_with_chains(source, call_chains) else { return };
        let (all, with_chain) = count(&recording);
        // The end of a drain may separate a chain from its event; that chain is missing.
        if with_chain + 4 >= all && with_chain > 0 {
            return;
        }
        let losses = &recording.losses;
        seen.push(format!("{with_chain} of {all}, {} losses: {losses:?}", losses.len()));
    }
    panic!("{seen:#?}");
}

/// The number of sleeps of the partner in a ping-pong, and how many of them show their place.
/// Checks that a thread that did not sleep shows none.
fn sleeps_with_their_place(recording: &Recording) -> (usize, usize) {
    let (mut sleeps, mut with_place) = (0, 0);
    for event in &recording.events {
        let EventKind::Switch { prev_name, prev_state, .. } = event.kind else { continue };
        if prev_state.is_runnable() {
            assert_eq!(event.chain, None, "a preempted thread, or one that yields: {event:?}");
        } else if recording.dictionary.name(prev_name) == "tactus-pong" {
            sleeps += 1;
            // From the place of the sleep to the entry of the system call.
            let names = chain_names(recording, event);
            with_place += usize::from(names.iter().any(|name| name.contains("unix_stream")));
            let entered = names.iter().any(|name| name.contains("syscall") || *name == "el0_svc");
            assert!(entered || names.is_empty(), "{names:?}");
        }
    }
    (sleeps, with_place)
}

fn a_chosen_threads_system_calls_have_names_and_arguments(source: Source) {
    let (mut reader, mut writer) = std::io::pipe().unwrap();
    let this = tactus_sys::thread::current_id();
    let options = Options { source, ..Options::of_sleeps(&[this]) };
    let Some(recorder) = permitted(Recorder::start(options)) else { return };
    writer.write_all(b"xyz").unwrap();
    let mut bytes = [0; 3];
    reader.read_exact(&mut bytes).unwrap();
    ping_pong(10);
    let mut recorded = recorder.stop().unwrap();
    let recording = Recording::collect(&mut recorded.recording).unwrap();
    let mut calls = recording.events.iter().filter_map(|event| match event.kind {
        EventKind::SystemCallEnter { call, arguments } => Some((event, call, arguments)),
        _ => None,
    });
    let fd = std::os::fd::AsRawFd::as_raw_fd(&reader) as u64;
    let (read, ..) = calls
        .clone()
        .find(|(_, call, arguments)| {
            recording.dictionary.name(*call) == "read" && arguments[0] == fd && arguments[2] == 3
        })
        .expect("the pipe was read");
    let returned = recording.events.iter().find_map(|event| match event.kind {
        EventKind::SystemCallExit { returned, .. } if event.at > read.at => Some(returned),
        _ => None,
    });
    assert_eq!(returned, Some(3));
    assert!(calls.all(|(event, ..)| event.thread == this), "only the chosen thread's calls");
}

#[test]
fn a_programs_mark_is_recorded_by_tracefs_if_root() {
    let source = Source::Only(Mechanism::Tracefs);
    let Some(recorder) = permitted(Recorder::start(options(source))) else { return };
    if let Some(absent) =
        recorder.about().absent.iter().find(|absent| absent.event == "ftrace/print")
    {
        return skip(Need::Machine, &absent.reason);
    }
    let tracefs = tactus_sys::tracefs::Tracefs::find().unwrap();
    let mut marker = std::fs::File::options()
        .write(true)
        .open(tracefs.directory().with_file_name("trace_marker"))
        .unwrap();
    marker.write_all(b"tactus: a mark of its own\n").unwrap();
    let mut recorded = recorder.stop().unwrap();
    let recording = Recording::collect(&mut recorded.recording).unwrap();
    let this = tactus_sys::thread::current_id();
    let mark = recording.events.iter().find_map(|event| match event.kind {
        EventKind::Mark { text } if event.thread == this => Some(text),
        _ => None,
    });
    let mark = mark.map(|text| recording.dictionary.name(text));
    assert_eq!(mark, Some("tactus: a mark of its own"));
}

fn a_recording_names_the_threads_of_the_recorder(source: Source) {
    let asked = Observers::of_processes([7]);
    let options = Options { observers: asked.clone(), ..options(source) };
    let Some(recorder) = permitted(Recorder::start(options)) else { return };
    let of_live = recorder.about().observers.clone();
    let name = |thread: &ThreadId| {
        let name = std::fs::read_to_string(format!("/proc/self/task/{thread}/comm"));
        name.unwrap().trim_end().to_owned()
    };
    let names: Vec<String> = of_live.threads.iter().map(name).collect();
    assert_eq!(names, ["tactus-drainer", "tactus-level", "tactus-writer"]);
    assert_eq!(of_live.processes, asked.processes);
    let recorded = recorder.stop().unwrap();
    assert_eq!(recorded.recording.about().observers, of_live);
}

fn a_recorder_beside_a_window_drains_only_at_the_end(source: Source) {
    let often =
        DrainerOptions { longest_sleep: Nanos::from_millis(1), ..DrainerOptions::default() };
    let beside = often.clone().after(Nanos::from_secs(60));
    for (drainer, is_quiet) in [(often, false), (beside, true)] {
        let options = Options { drainer, ..options(source) };
        let Some(recorder) = permitted(Recorder::start(options)) else { return };
        std::thread::sleep(Duration::from_secs(1));
        let drains = recorder.stop().unwrap().summary.cost.drains;
        assert_eq!(drains == 1, is_quiet, "{drains} drains");
    }
}

/// The switches of one CPU between two instants, each with the CPU's context; without
/// those of an idle thread, because perf does not record everything while it is
/// current.
fn switches(recording: &Recording, cpu: u32, from: u64, to: u64) -> Vec<(ThreadId, Context)> {
    let within = |event: &&Event| {
        event.cpu == cpu && !event.thread.is_idle() && (from..to).contains(&event.at.as_nanos())
    };
    let switch = |event: &Event| match event.kind {
        EventKind::Switch { next, .. } => Some((next, event.context)),
        _ => None,
    };
    recording.events.iter().filter(within).filter_map(switch).collect()
}

#[test]
fn both_mechanisms_record_the_same_switches_if_root() {
    let by = |mechanism| permitted(Recorder::start(options(Source::Only(mechanism))));
    let (Some(perf), Some(tracefs)) = (by(Mechanism::Perf), by(Mechanism::Tracefs)) else {
        return;
    };
    let from = tactus_sys::clock::now::<Monotonic>().as_nanos();
    ping_pong(1_000);
    let to = tactus_sys::clock::now::<Monotonic>().as_nanos();
    let [perf, tracefs] = [perf, tracefs].map(|recorder| {
        let mut recorded = recorder.stop().unwrap();
        assert_eq!(recorded.summary.lost(), 0);
        Recording::collect(&mut recorded.recording).unwrap()
    });
    assert_eq!(perf.about.mechanism, Some(Mechanism::Perf));
    assert_eq!(tracefs.about.mechanism, Some(Mechanism::Tracefs));
    for cpu in perf.about.cpus.iter() {
        let [perf, tracefs] = [&perf, &tracefs].map(|of| switches(of, cpu, from, to));
        // The two mechanisms stamp an event one after the other, so the first and the
        // last event may be beyond the edge for one of them.
        let agreed = |skipped: usize| {
            let pairs = perf.iter().skip(skipped).zip(&tracefs);
            pairs.filter(|(one, other)| one == other).count()
        };
        let agreed = agreed(0).max(agreed(1));
        let most = perf.len().max(tracefs.len());
        assert!(agreed + 2 >= most, "CPU {cpu}: {agreed} of {most} agree");
    }
}

/// Marks the process of the test below that will be killed.
const TO_BE_KILLED: &str = "TACTUS_TEST_TO_BE_KILLED";

#[test]
fn a_killed_recorder_leaves_nothing_recording_if_root() {
    let by_tracefs = || Recorder::start(options(Source::Only(Mechanism::Tracefs)));
    if std::env::var_os(TO_BE_KILLED).is_some() {
        let _recorder = by_tracefs();
        println!("recording");
        std::thread::sleep(Duration::from_secs(60));
        return;
    }
    if permitted(by_tracefs()).is_none() {
        return;
    }
    let mut victim = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_killed_recorder_leaves_nothing_recording_if_root", "--nocapture"])
        .env(TO_BE_KILLED, "1")
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let output = BufReader::new(victim.stdout.take().unwrap());
    output.lines().map_while(Result::ok).find(|line| line.contains("recording")).unwrap();
    let instances = Path::new("/sys/kernel/tracing/instances");
    let instance = instances.join(format!("tactus-{}-0", victim.id()));
    // Another process may have removed the remains already.
    let tracing_on = || std::fs::read_to_string(instance.join("tracing_on"));
    let is_on = || tracing_on().is_ok_and(|text| text.trim() == "1");
    assert!(is_on());
    victim.kill().unwrap();
    victim.wait().unwrap();
    assert!(!is_on(), "the kernel stops recording when the process has ended");
    by_tracefs().unwrap();
    assert!(!instance.exists(), "the next recorder removes the remains");
}
