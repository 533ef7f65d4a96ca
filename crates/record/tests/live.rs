//! Recordings of the running kernel. They need the kernel's permission to
//! record; without it each says that it was skipped and why.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use tactus_model::recording::{EventKind, EventSource, Item, Recording, ThreadId};
use tactus_model::time::Nanos;
use tactus_record::RecordingSummary;
use tactus_record::file::RecordingFile;
use tactus_record::live::{
    Control, Keep, LiveSource, Options, RecordError, RecordEvent, Recorder, record,
};

/// Gives what was started, or says why the test is skipped.
fn permitted<T>(started: Result<T, RecordError>) -> Option<T> {
    match started {
        Ok(started) => Some(started),
        Err(error) if error.is_not_available() => {
            let mend = error.mend().unwrap_or_default();
            eprintln!("skipped: {error}; to mend it: {mend}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// What was read and lost never exceeds what the kernel counted; what threads do
/// while they run is accounted for to the last occurrence.
fn check_accounts(summary: &RecordingSummary) {
    for account in &summary.accounts {
        assert!(account.read + account.lost <= account.counted, "{account:?}");
    }
    let switches = summary.accounts.iter().find(|account| account.event == "sched/sched_switch");
    assert!(switches.unwrap().balances(), "{switches:?}");
    if summary.unwritten() > 0 {
        eprintln!("this kernel counted {} occurrences without a record", summary.unwritten());
    }
}

/// Two threads pass a byte to and fro: each round is at least two wakeups.
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

#[test]
fn a_live_recording_is_whole_in_order_and_balanced() {
    let Some(recorder) = permitted(Recorder::start(Options::default())) else { return };
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
    let to_partner = recording
        .events
        .iter()
        .filter(|event| match event.kind {
            EventKind::Switch { next_name, .. } => {
                recording.dictionary.name(next_name) == "tactus-pong"
            }
            _ => false,
        })
        .count();
    if summary.lost() == 0 {
        assert!(to_partner >= 2_000, "{to_partner}");
    }
    let own = ThreadId(std::process::id() as i32);
    assert_eq!(recording.dictionary.process_of(own).map(|process| process.0), Some(own.0));
}

#[test]
fn a_switch_is_told_by_the_thread_that_leaves() {
    let Some(recorder) = permitted(Recorder::start(Options::default())) else { return };
    ping_pong(500);
    let mut recorded = recorder.stop().unwrap();
    let recording = Recording::collect(&mut recorded.recording).unwrap();
    for event in &recording.events {
        if let EventKind::Switch { prev, .. } = event.kind {
            assert_eq!(event.thread, prev);
        }
    }
}

#[test]
fn whatever_is_lost_is_counted_to_the_last() {
    // Without room to keep anything, nothing is drained until the end.
    let options =
        Options { keep: Keep::Memory { limit: 0 }, ring_size: 1 << 16, ..Options::default() };
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

#[test]
fn a_flight_recorder_saves_its_last_stretch_and_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("late.tactusrec");
    let last = Nanos::from_millis(200);
    let mut options =
        Options { keep: Keep::Flight { last, limit: 64 << 20 }, ..Options::default() };
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

#[test]
fn a_live_source_hands_out_everything_in_order() {
    let mut options = Options::default();
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

#[test]
fn a_command_is_recorded_until_it_ends() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("command.tactusrec");
    let options = Options { keep: Keep::File(path.clone()), ..Options::default() };
    let command = ["sh", "-c", "sleep 0.05; true"].map(Into::into);
    let mut said = Vec::new();
    let recorded = record(options, &command, None, &Control::new(), |event| said.push(event));
    let Some(mut recorded) = permitted(recorded) else { return };
    assert!(matches!(
        said[..],
        [RecordEvent::Started(_), RecordEvent::CommandStarted { .. }, RecordEvent::CommandEnded(_)]
    ));
    let recording = Recording::collect(&mut recorded.recording).unwrap();
    let slept = recording.dictionary.find_name("sleep").expect("the command's child ran");
    assert!(recording.events.iter().any(|event| match event.kind {
        EventKind::Switch { next_name, .. } => next_name == slept,
        _ => false,
    }));
    assert_eq!(RecordingFile::open(&path).unwrap().event_count(), recorded.summary.cost.events);
}

#[test]
fn a_file_that_is_cut_off_is_read_to_its_last_whole_block() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("killed.tactusrec");
    let mut options = Options { keep: Keep::File(path.clone()), ..Options::default() };
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
