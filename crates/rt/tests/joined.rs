//! The parts of the library together: FIFOs served by event threads, watched and marked jobs.

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use tactus_model::time::Nanos;
use tactus_rt::fifo::{FifoReader, FifoWriter};
use tactus_rt::lint::ViolationKind;
use tactus_rt::{self as rt, Ended, Flow, Lint, Overrun, Process, Refused, Separation, Watch};
use tactus_testing::{Need, skip};
use tempfile::TempDir;

fn socket() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("rt.sock");
    (folder, socket)
}

#[test]
fn an_event_thread_serves_a_fifo_and_stops_while_it_waits() {
    let (_folder, socket) = socket();
    let rt = Process::builder().start().unwrap();
    let mut offers = rt.broker(&socket);
    let commands = offers.fifo_in::<u64>("commands", 16).unwrap();
    let mut answers = offers.fifo_out::<u64>("answers", 16).unwrap();
    let _broker = offers.start().unwrap();
    let thread = rt
        .event("commands", commands)
        .spawn(move |arrived| {
            answers.try_push(&(arrived.event * 2)).unwrap();
            Flow::Continue
        })
        .unwrap();
    let mut writer = FifoWriter::<u64>::open(&socket, "commands").unwrap();
    let mut reader = FifoReader::<u64>::open(&socket, "answers").unwrap();
    for number in 0..100 {
        writer.write(&number).unwrap();
        assert_eq!(reader.read(), Ok(number * 2));
    }
    let finished = thread.stop();
    assert_eq!((finished.ended, finished.stats.run), (Ended::Requested, 100));
}

#[test]
fn a_required_separation_refuses_peers_of_the_own_user() {
    let (_folder, socket) = socket();
    let rt = Process::builder().require(Separation::OtherUid).start().unwrap();
    let mut offers = rt.broker(&socket);
    let _state = offers.fifo_out::<u64>("state", 16).unwrap();
    let _broker = offers.start().unwrap();
    assert!(FifoReader::<u64>::open(&socket, "state").is_err());
}

#[test]
fn violations_of_a_watched_job_have_their_line_and_a_clean_job_has_none() {
    let rt = Process::builder().start().unwrap();
    let mut null = File::create("/dev/null").unwrap();
    let watched = rt.periodic("writes", Nanos::from_millis(1)).watch(Watch::SYSTEM_CALLS);
    let thread = watched
        .spawn(move |tick| {
            null.write_all(&[7]).unwrap();
            if tick.index < 5 { Flow::Continue } else { Flow::Stop }
        })
        .unwrap();
    if let [missing] = thread.shortfalls() {
        return skip(Need::Machine, &missing.reason);
    }
    let clean = rt.periodic("clean", Nanos::from_millis(1)).watch(Watch::SYSTEM_CALLS).mark();
    let clean = clean.spawn(|tick| if tick.index < 5 { Flow::Continue } else { Flow::Stop });
    let clean = clean.unwrap().join();
    assert!(clean.violations.is_clean(), "{:?}", clean.violations);
    assert_eq!(clean.violations.sections, clean.stats.run);
    let finished = thread.join();
    assert_eq!(finished.violations.sections, finished.stats.run);
    let [write] = &finished.violations.violations[..] else { panic!("{finished:?}") };
    assert_eq!((write.kind, &*write.what), (ViolationKind::SystemCall, "write"));
    assert_eq!(write.count, finished.stats.run);
    assert!(write.at.file.as_deref().is_some_and(|file| file.ends_with("tests/joined.rs")));
}

/// A loop of one's own with a planted system call in each job, and one that is permitted.
#[test]
fn violations_of_a_loop_of_its_own_have_their_line_without_what_is_outside() {
    let rt = Process::builder().start().unwrap();
    let lint = Arc::new(Lint::start(Watch::SYSTEM_CALLS).unwrap());
    let mut null = File::create("/dev/null").unwrap();
    let watched = rt.thread("loop").watched_by(Arc::clone(&lint)).mark();
    let thread = watched
        .spawn(move |own| {
            let mut pace = own.periodic(Nanos::from_millis(1), Overrun::Skip, None).unwrap();
            for _ in 0..5 {
                pace.wait().unwrap();
                null.write_all(&[7]).unwrap();
                let others = || std::fs::metadata("/");
                rt::lint::outside(others).unwrap();
            }
            drop(pace);
            null.write_all(&[8]).unwrap();
        })
        .unwrap();
    let missing = thread.shortfalls().iter().find(|missing| missing.asked.contains("calls"));
    if let Some(missing) = missing {
        return skip(Need::Machine, &missing.reason);
    }
    let finished = thread.join();
    assert_eq!((finished.stats.run, lint.report().sections), (5, 5));
    let [write] = &lint.report().violations[..] else { panic!("{finished:?}") };
    assert_eq!((&*write.thread, &*write.what, write.count), ("loop", "write", 5));
}

#[test]
fn an_unknown_call_is_refused_before_the_thread_starts() {
    let rt = Process::builder().start().unwrap();
    let watched = rt.periodic("typo", Nanos::from_millis(1));
    let refused = watched.watch(Watch::SYSTEM_CALLS.allow(["sched_yeild"])).spawn(|_| Flow::Stop);
    assert!(matches!(refused, Err(Refused::Watch(_))));
}
