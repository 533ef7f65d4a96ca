//! A thread is caught and its calls are made all the same.

use std::sync::atomic::AtomicU64;

use tactus_testing::{Need, require};

use super::*;
use crate::mapping::Mapping;
use crate::system_call;

/// A thread with a watcher, and what was caught in its sections.
fn watched(options: &Options, body: impl FnOnce(&mut Watcher) + Send) -> Vec<Act> {
    let (ring, mut reader) = Ring::allocate();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut watcher = Watcher::new(options, ring).unwrap();
            let calls = watcher.calls.map_err(|error| error.to_string());
            if !options.calls || require(Need::Machine, calls).is_some() {
                body(&mut watcher);
            }
        });
    });
    let mut acts = Vec::new();
    reader.read(|caught| acts.push(caught.act));
    acts
}

fn calls_only() -> Options {
    Options { faults: false, allocations: false, ..Options::default() }
}

fn number(name: &str) -> i64 {
    system_call::number(name).unwrap()
}

fn numbers(acts: &[Act]) -> Vec<&'static str> {
    let calls = acts.iter().filter_map(|act| match act {
        Act::Call { number, .. } => system_call::name(*number),
        _ => None,
    });
    calls.collect()
}

#[test]
fn calls_inside_are_caught_and_made_and_those_outside_are_not_caught() {
    let mut parents = Vec::new();
    let acts = watched(&calls_only(), |watcher| {
        parents.push(std::os::unix::process::parent_id());
        for _ in 0..3 {
            let inside = watcher.enter();
            parents.push(std::os::unix::process::parent_id());
            drop(inside);
        }
        parents.push(std::os::unix::process::parent_id());
        assert_eq!(watcher.counts().sections(), 3);
    });
    if !acts.is_empty() {
        assert_eq!(numbers(&acts), ["getppid"; 3]);
    }
    assert!(parents.windows(2).all(|pair| pair[0] == pair[1]), "{parents:?}");
}

#[test]
fn permitted_calls_are_made_and_not_caught() {
    let options = Options { allowed: vec![number("getppid")], ..calls_only() };
    let acts = watched(&options, |watcher| {
        let _inside = watcher.enter();
        let _ = std::os::unix::process::parent_id();
    });
    assert_eq!(acts, []);
}

#[test]
fn a_failed_call_returns_its_error_number() {
    watched(&calls_only(), |watcher| {
        let _inside = watcher.enter();
        let error = std::fs::File::open("/no/such/file").unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    });
}

#[test]
fn threads_and_programs_start_inside_a_section() {
    let acts = watched(&calls_only(), |watcher| {
        {
            let _inside = watcher.enter();
            assert_eq!(std::thread::spawn(|| 7).join().unwrap(), 7);
        }
        let inside = watcher.enter();
        let output = std::process::Command::new("echo").arg("seven").output().unwrap();
        assert_eq!(output.stdout, b"seven\n");
        drop(inside);
        assert_eq!(watcher.counts().cut(), 2);
    });
    let names = numbers(&acts);
    assert!(acts.is_empty() || names.iter().any(|name| name.starts_with("rt_sigprocmask")));
}

#[test]
fn handlers_of_the_program_return_into_the_section() {
    static RANG: AtomicU64 = AtomicU64::new(0);
    extern "C" fn ring_once(_: libc::c_int) {
        RANG.fetch_add(1, RELAXED);
    }
    let acts = watched(&calls_only(), |watcher| {
        // SAFETY: the handler increments an atomic; the signal is sent to this thread.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = ring_once as extern "C" fn(libc::c_int) as libc::sighandler_t;
            libc::sigaction(libc::SIGUSR2, &action, ptr::null_mut());
            let own = libc::pthread_self();
            let _inside = watcher.enter();
            for _ in 0..5 {
                libc::pthread_kill(own, libc::SIGUSR2);
            }
            libc::getppid();
        }
        assert_eq!(RANG.load(RELAXED), 5);
        assert_eq!(watcher.counts().cut(), 0);
    });
    let names = numbers(&acts);
    assert!(acts.is_empty() || names.ends_with(&["getppid"]), "{names:?}");
    assert!(!names.contains(&"rt_sigreturn"), "{names:?}");
}

#[test]
fn first_touches_of_pages_inside_are_caught() {
    let mut at = 0;
    let mut seen = Err(SysError::new("perf_event_open", Errno::CANCELED));
    let options = Options { calls: false, allocations: false, ..Options::default() };
    let acts = watched(&options, |watcher| {
        let mut memory = Mapping::new(1 << 16).unwrap();
        let _ = memory.forbid_huge_pages();
        memory.bytes()[0] = 1;
        at = memory.bytes().as_ptr().addr() as u64;
        seen = watcher.faults;
        {
            let _inside = watcher.enter();
            memory.bytes()[0x2010] = 1;
            memory.bytes()[0x2020] = 1;
            memory.bytes()[0x5000] = 1;
        }
        memory.bytes()[0x7000] = 1;
    });
    let Some(_) = require(Need::Perf, seen) else { return };
    assert_eq!(acts, [0x2010, 0x5000].map(|offset| Act::Fault { address: at + offset }));
}

#[test]
fn a_thread_has_one_watcher() {
    let (ring, _reader) = Ring::allocate();
    let options = Options { calls: false, faults: false, ..Options::default() };
    let first = Watcher::new(&options, ring.clone()).unwrap();
    assert_eq!(Watcher::new(&options, ring.clone()).unwrap_err().errno, Errno::BUSY);
    drop(first);
    drop(Watcher::new(&options, ring).unwrap());
}
