//! Planted violations are reported with their lines, and a clean loop is not reported.

use std::fs::File;
use std::hint::black_box;
use std::io::Write as _;
use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::time::Duration;

use tactus_lint::{
    Allocator, Guard, Lint, LintError, LintReport, Options, Violation, ViolationKind,
};
use tactus_sys::mapping::Mapping;
use tactus_testing::{Need, require};

#[global_allocator]
static ALLOCATOR: Allocator = Allocator::new(std::alloc::System);

/// Runs `body` in a guarded thread of its own.
fn guarded(options: Options, body: impl FnOnce(&mut Guard) + Send) -> LintReport {
    let lint = Lint::start(options).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| body(&mut lint.guard().unwrap()));
    });
    lint.report()
}

/// The violation of a kind at a line of this file, unless the machine does not show such kinds.
fn found(report: &LintReport, kind: ViolationKind, what: &str, line: u32) -> Option<Violation> {
    let need = if kind == ViolationKind::PageFault { Need::Perf } else { Need::Machine };
    let word = if kind == ViolationKind::PageFault { "page faults" } else { "system calls" };
    let unseen = report
        .unseen
        .iter()
        .find(|unseen| unseen.asked.starts_with(word) && unseen.granted.starts_with("none"));
    require(need, unseen.map_or(Ok(()), |unseen| Err(&unseen.reason)))?;
    let is_here = |found: &&Violation| {
        let file = found.at.file.as_deref().unwrap_or_default();
        found.kind == kind
            && found.what.contains(what)
            && file.ends_with("tests/planted.rs")
            && found.at.line == Some(line)
    };
    let here = report.violations.iter().find(is_here);
    Some(here.unwrap_or_else(|| panic!("{kind} {what} in line {line}: {report:#?}")).clone())
}

#[test]
fn system_calls_are_reported_at_the_line_that_led_to_them() {
    let mut lines = (0, 0);
    let mut file = File::create("/dev/null").unwrap();
    let report = guarded(Options::default(), |guard| {
        for _ in 0..3 {
            guard.run(|| {
                lines.0 = line!() + 1;
                let _ = black_box(File::open("/etc/hostname"));
            });
        }
        let _section = guard.enter();
        lines.1 = line!() + 1;
        writeln!(file, "position {}", black_box(7)).unwrap();
    });
    if let Some(open) = found(&report, ViolationKind::SystemCall, "openat", lines.0) {
        assert_eq!((open.count, report.sections), (3, 4));
        assert!(open.worst.is_some());
    }
    found(&report, ViolationKind::SystemCall, "write", lines.1);
}

#[test]
fn allocations_are_reported_and_large_ones_with_their_system_calls() {
    let mut lines = (0, 0);
    let report = guarded(Options::default(), |guard| {
        let mut memory = vec![0_u8; 10];
        let _section = guard.enter();
        lines.0 = line!() + 1;
        memory.reserve(64 << 20);
        lines.1 = line!() + 1;
        drop(memory);
    });
    found(&report, ViolationKind::Allocation, "reallocate", lines.0).expect("needs nothing");
    found(&report, ViolationKind::Allocation, "free", lines.1).expect("needs nothing");
    found(&report, ViolationKind::SystemCall, "mmap", lines.0);
    found(&report, ViolationKind::SystemCall, "munmap", lines.1);
}

#[test]
fn the_first_touch_of_a_page_is_reported() {
    let mut line = 0;
    let mut memory = Mapping::new(1 << 20).unwrap();
    let report = guarded(Options::default(), |guard| {
        let _section = guard.enter();
        line = line!() + 1;
        memory.bytes()[black_box(77_777)] = 1;
    });
    found(&report, ViolationKind::PageFault, "anonymous memory", line);
}

#[test]
fn a_contended_lock_is_reported_and_a_free_one_is_not() {
    let mut lines = (0, 0);
    let lock = Mutex::new(0);
    let report = std::thread::scope(|scope| {
        let (held, is_held) = channel();
        let holder = &lock;
        scope.spawn(move || {
            let guard = holder.lock().unwrap();
            held.send(()).unwrap();
            std::thread::sleep(Duration::from_millis(200));
            drop(guard);
        });
        is_held.recv().unwrap();
        guarded(Options::default(), |guard| {
            let _section = guard.enter();
            lines.0 = line!() + 1;
            *lock.lock().unwrap() += 1;
            lines.1 = line!() + 1;
            *lock.lock().unwrap() += 1;
        })
    });
    if found(&report, ViolationKind::ContendedLock, "futex wait", lines.0).is_some() {
        let locks = report.violations.iter().filter(|row| row.kind == ViolationKind::ContendedLock);
        assert!(locks.clone().all(|row| row.at.line != Some(lines.1)), "{report:#?}");
    }
}

/// Without page faults: a machine short of memory takes pages of the code away.
fn without_faults() -> Options {
    Options { page_faults: false, ..Options::default() }
}

#[test]
fn permitted_calls_and_calls_outside_are_not_reported() {
    let report = guarded(without_faults().allow(["getppid"]), |guard| {
        let _ = File::open("/etc/hostname");
        guard.run(|| black_box(std::os::unix::process::parent_id()));
        drop(vec![0_u8; 64 << 20]);
    });
    assert!(report.is_clean(), "{report:#?}");
    assert_eq!(report.sections, 1);
}

#[test]
fn violations_that_come_too_fast_are_counted() {
    let report = guarded(without_faults(), |guard| {
        let _section = guard.enter();
        (0..10_000).for_each(|_| drop(black_box(vec![1_u8; 8])));
    });
    let counted: u64 = report.violations.iter().map(|row| row.count).sum();
    assert_eq!(counted + report.unplaced, 20_000);
    assert!(report.unplaced > 0);
}

#[test]
fn wrong_requests_are_refused() {
    let error = Lint::start(Options::default().allow(["wirte"])).unwrap_err();
    assert_eq!(error.to_string(), "unknown system call `wirte` (did you mean `write`?)");
    let lint = Lint::start(Options::default()).unwrap();
    let _guard = lint.guard().unwrap();
    assert!(matches!(lint.guard(), Err(LintError::Guarded)));
}

#[test]
fn a_clean_loop_is_not_reported() {
    let mut sums = vec![0_u64; 1000];
    let report = guarded(without_faults(), |guard| {
        for round in 0..100_000_u64 {
            guard.run(|| sums[round as usize % 1000] += black_box(round));
        }
    });
    assert!(report.is_clean(), "{report:#?}");
    assert_eq!(report.sections, 100_000);
}
