//! Cells that are actually measured on this machine, with threads as tasks.
//!
//! The tests do not limit how late a wakeup may be: they check that no wakeup is early, that
//! all are accounted for, and that the granted settings are the requested ones.

use std::sync::Mutex;

use tactus_model::cell::Cell;
use tactus_model::experiment::{Experiment, Overrides};
use tactus_model::probe::SleepMethod;
use tactus_model::sample::Sample;
use tactus_model::time::Nanos;
use tactus_probe::{ProbeError, ProbeEvent, ProbeOutcome, TaskProcess, run};
use tactus_testing::{Need, skip};

/// Only one cell is measured at a time, because cells would delay each other.
static ALONE: Mutex<()> = Mutex::new(());

fn cell(settings: &str) -> Cell {
    let mut text = format!("[settings]\n{settings}\n");
    for usual in ["duration = \"60ms\"", "cpus = \"0\"", "lock-memory = false"] {
        let (name, _) = usual.split_once(' ').unwrap();
        if !settings.starts_with(name) && !settings.contains(&format!("\n{name}")) {
            text = format!("{text}{usual}\n");
        }
    }
    let plan = Experiment::parse(&text).unwrap().plan(&Overrides::default()).unwrap();
    let [cell] = plan.cells.try_into().unwrap();
    cell
}

struct Measured {
    outcome: ProbeOutcome,
    samples: Vec<(u32, Vec<Sample>)>,
    events: Vec<&'static str>,
}

fn measure(cell: &Cell) -> Result<Measured, ProbeError> {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let process = TaskProcess { executable: "/nonexistent".into(), arguments: Vec::new() };
    let (mut samples, mut events) = (Vec::new(), Vec::new());
    let outcome = run(cell, 7, &process, &mut |event| {
        events.push(match &event {
            ProbeEvent::Shortfall(_) => "shortfall",
            ProbeEvent::Prepared { .. } => "prepared",
            ProbeEvent::Opened => "opened",
            ProbeEvent::Closed => "closed",
            ProbeEvent::Samples { .. } => "samples",
        });
        if let ProbeEvent::Samples { task, block } = event {
            samples.push((task, block.decode().unwrap()));
        }
    })?;
    Ok(Measured { outcome, samples, events })
}

/// Measures a cell and checks what holds for every cell.
fn check(settings: &str) -> Measured {
    let cell = cell(settings);
    let measured = measure(&cell).unwrap_or_else(|error| panic!("{settings}: {error}"));
    for task in &measured.outcome.tasks {
        let accounting = task.accounting;
        assert!(accounting.balances(), "{settings}: {accounting:?}");
        assert_eq!(accounting.early, 0, "{settings}: a wakeup before it was due");
        let samples: Vec<Sample> = measured
            .samples
            .iter()
            .filter(|(from, _)| *from == task.task)
            .flat_map(|(_, samples)| samples.clone())
            .collect();
        assert_eq!(samples.len() as u64, accounting.observed, "{settings}");
        let kept: u64 = task.blocks.iter().map(|block| block.count).sum();
        assert_eq!(kept, accounting.observed, "{settings}");
        if accounting.dropped == 0 {
            assert_eq!(task.missed_latencies.count, accounting.missed, "{settings}");
        }
        assert!(samples.iter().all(|sample| sample.due < cell.duration), "{settings}");
        assert!(samples.is_sorted_by_key(|sample| sample.came), "{settings}");
    }
    measured
}

#[test]
fn every_way_of_sleeping_wakes_by_every_clock_it_knows() {
    // A process has only one itimer, so it is tested where tasks are processes; BPF needs root.
    let elsewhere = [SleepMethod::Itimer, SleepMethod::KernelHandler];
    for sleep in SleepMethod::ALL.iter().filter(|sleep| !elsewhere.contains(sleep)) {
        for clock in sleep.clocks() {
            check(&format!("sleep = \"{sleep}\"\nclock = \"{clock}\""));
        }
    }
}

#[test]
fn needs_root_arrivals_in_the_kernel_are_accounted_for() {
    let sleep = "sleep = \"kernel-handler\"";
    match tactus_sys::sleep::KernelHandler::new() {
        Ok(_) => drop(check(sleep)),
        Err(error) => skip(Need::Root, error),
    }
}

#[test]
fn every_wakeup_has_its_dirt_or_is_unprepared() {
    for interrupted in ["thread", "idle"] {
        let settings = format!(
            "interrupted = \"{interrupted}\"\ndirt = \"random\"\ninterval = \"5ms..20ms\"\n\
             duration = \"600ms\""
        );
        let measured = check(&settings);
        let [task] = &measured.outcome.tasks[..] else { panic!("one task") };
        let by_dirt = task.by_dirt.as_ref().expect("the caches were prepared");
        let prepared: u64 = by_dirt.kinds.iter().map(|kind| kind.latencies.count).sum();
        let unprepared = by_dirt.unprepared.len() as u64;
        assert_eq!(prepared + unprepared, task.accounting.observed, "{interrupted}");
        for kind in &by_dirt.kinds {
            let passes = [kind.first_pass.count, kind.second_pass.count];
            assert_eq!(passes, [kind.latencies.count; 2], "{interrupted}");
        }
    }
}

#[test]
fn every_kind_of_interval_is_accounted_for() {
    for interval in ["500us", "100us..2ms", "1ms~300us", "20us"] {
        check(&format!("interval = \"{interval}\""));
    }
}

#[test]
fn events_come_in_order_and_samples_after_the_window() {
    let measured = check("");
    assert_eq!(measured.events, ["prepared", "opened", "closed", "samples"]);
    assert!(measured.outcome.cost.loop_ns > 0.0);
    assert_eq!(measured.outcome.window, Nanos::from_millis(60));
}

#[test]
fn a_task_that_works_is_accounted_for() {
    check("work = \"5%\"");
    check("work = \"95%\"");
}

#[test]
fn a_task_that_computes_all_the_time_is_interrupted() {
    check("work = \"continuous\"\nsleep = \"signal-handler\"");
}

#[test]
fn sorts_are_accounted_for_however_many_tasks_there_are() {
    let one = check("probe = \"sort\"\nnumbers = 4096");
    // On a busy machine, the task may get its CPU only after the window, and sort nothing.
    for (_, samples) in &one.samples {
        assert!(samples.windows(2).all(|pair| pair[0].came == pair[1].due));
    }
    let two = check("probe = \"sort\"\nnumbers = 256\ntasks-per-cpu = 2");
    assert_eq!(two.outcome.tasks.len(), 2);
}

#[test]
fn players_show_no_frame_early_and_account_for_all() {
    for (rate, tick) in [("60", "none"), ("60", "100"), ("60000/1001", "1000"), ("240", "300")] {
        for shift in ["sweep", "3ms"] {
            check(&format!(
                "probe = \"frames\"\nframe-rate = \"{rate}\"\ntick = \"{tick}\"\n\
                 tick-shift = \"{shift}\"\nduration = \"100ms\""
            ));
        }
    }
    let settings =
        "probe = \"frames\"\nframe-rate = 500\nwork = \"5%\"\ntasks-per-cpu = 2\noffset = \"1ms\"";
    let measured = check(settings);
    let intended: Vec<u64> =
        measured.outcome.tasks.iter().map(|task| task.accounting.intended).collect();
    assert_eq!(intended, [30, 30]);
}

/// A tick of 20 ms shows at most one frame: of two frames that are due before it, the first is
/// late by a whole slot. A busy machine shows fewer frames, never more.
#[test]
fn no_more_frames_are_shown_than_there_are_ticks() {
    let settings = "probe = \"frames\"\nframe-rate = 60\ntick = 50\nduration = \"500ms\"";
    let accounting = check(settings).outcome.tasks[0].accounting;
    assert_eq!(accounting.intended, 30);
    // 25 ticks in the window, and the ticks at its ends.
    assert!(accounting.observed <= 27 && accounting.missed >= 3, "{accounting:?}");
}

#[test]
fn samples_beyond_the_limit_are_counted_as_dropped() {
    // Long enough for at least two wakeups, even on a busy machine.
    let accounting = check("sample-limit = 1\nduration = \"500ms\"").outcome.tasks[0].accounting;
    assert_eq!(accounting.observed, 1);
    assert!(accounting.dropped > 0);
}

#[test]
fn several_tasks_start_together_each_later_by_the_offset() {
    let measured = check("tasks-per-cpu = 3\noffset = \"100us\"\nduration = \"500ms\"");
    let first_due: Vec<Nanos> = (0..3)
        .map(|task| measured.samples.iter().find(|s| s.0 == task).unwrap().1[0].due)
        .collect();
    let offsets = [Nanos::ZERO, Nanos::from_micros(100), Nanos::from_micros(200)];
    assert!(first_due.iter().zip(offsets).all(|(due, offset)| *due >= offset), "{first_due:?}");
}

#[test]
fn an_aligned_window_opens_at_a_multiple() {
    let measured = check("clock = \"realtime\"\nalign = \"10ms\"");
    assert_eq!(measured.outcome.started.as_nanos() % 10_000_000, 0);
}

#[test]
fn a_cpu_that_does_not_exist_is_a_shortfall() {
    let cell = cell("cpus = \"4000\"");
    let measured = measure(&cell).unwrap();
    assert_eq!(measured.events[0], "shortfall");
    let shortfall = &measured.outcome.shortfalls[0];
    assert_eq!(shortfall.asked, "CPU 4000");
    assert!(shortfall.granted.starts_with("any of CPUs"), "{shortfall:?}");
}

#[test]
fn contradicting_settings_are_refused() {
    let mut cell = cell("");
    cell.duration = Nanos::from_nanos(1);
    assert!(matches!(measure(&cell), Err(ProbeError::Inconsistent(_))));
}

fn granted(policy: &str) -> (String, Measured) {
    let measured = check(&format!("policy = \"{policy}\""));
    (measured.outcome.tasks[0].granted.scheduling.to_string(), measured)
}

#[test]
fn ordinary_policies_are_granted() {
    for policy in ["other", "other:5", "batch", "batch:3", "idle"] {
        assert_eq!(granted(policy).0, policy);
    }
}

#[test]
fn needs_root_policies_that_need_permission_are_granted_on_the_requested_cpu() {
    for policy in ["other:-5", "fifo:50", "rr:1"] {
        let (scheduling, measured) = granted(policy);
        if let [shortfall, ..] = &measured.outcome.shortfalls[..] {
            skip(Need::Root, format!("{policy}: {}", shortfall.reason));
            continue;
        }
        assert_eq!(scheduling, policy);
        assert_eq!(measured.outcome.tasks[0].cpu, Some(0));
    }
}

#[test]
fn needs_root_a_deadline_is_granted_unpinned_and_that_is_a_shortfall() {
    let policy = "deadline:200us/1ms/1ms";
    let (scheduling, measured) = granted(policy);
    let [shortfall, ..] = &measured.outcome.shortfalls[..] else {
        panic!("the kernel accepts no deadline task that is pinned")
    };
    if scheduling != policy {
        return skip(Need::Root, format!("{policy}: {}", shortfall.reason));
    }
    assert_eq!(shortfall.granted, "tasks placed by the kernel");
    assert!(measured.outcome.tasks[0].granted.timer_slack.is_none());
}

#[test]
fn timer_slack_is_read_back() {
    let measured = check("timer-slack = \"3us\"");
    assert_eq!(measured.outcome.tasks[0].granted.timer_slack, Some(Nanos::from_micros(3)));
}

#[test]
fn needs_root_the_memory_lock_is_read_back() {
    let measured = check("lock-memory = true");
    // Otherwise, other tests of this process would run with all their memory locked.
    tactus_sys::memory::unlock().unwrap();
    let mut shortfalls = measured.outcome.shortfalls.iter();
    match shortfalls.find(|shortfall| shortfall.asked == "lock-memory") {
        Some(shortfall) => skip(Need::Root, &shortfall.reason),
        None => assert!(measured.outcome.tasks[0].granted.memory_locked),
    }
}

#[test]
fn needs_root_every_burst_is_delivered_or_missed() {
    for path in ["socket", "packet-library", "xdp-library"] {
        let cell = cell(&format!(
            "probe = \"net\"\nclock = \"realtime\"\nnet-path = \"{path}\"\nnet-period = \"10ms\"\n\
             net-work = \"100us\"\nnet-rivals = 1\nduration = \"500ms\""
        ));
        let measured = match measure(&cell) {
            Ok(measured) => measured,
            Err(ProbeError::Failed { reason, .. }) if reason.contains("network namespaces") => {
                return skip(Need::Root, reason);
            }
            Err(ProbeError::Failed { reason, .. }) if reason.contains("AF_XDP") => {
                skip(Need::Machine, reason);
                continue;
            }
            Err(error) => panic!("{path}: {error}"),
        };
        let [task] = &measured.outcome.tasks[..] else { panic!("{path}: one sender") };
        assert_eq!(task.accounting.intended, 50, "{path}");
        assert!(task.accounting.balances());
        assert_eq!(task.use_over_time.len(), 50, "{path}");
        assert!(task.use_over_time.iter().any(|used| *used > Nanos::ZERO), "{path}");
        let samples = measured.samples.iter().flat_map(|(_, samples)| samples);
        assert!(samples.clone().all(|sample| sample.came > sample.due), "{path}");
        assert!(samples.count() > 0, "{path}: nothing arrived");
    }
}

#[test]
fn every_message_is_delivered_or_missed_and_compared_with_its_receipt() {
    for (ahead, sleep) in [("0s", "nanosleep"), ("50ms", "timerfd"), ("1s", "nanosleep")] {
        let cell = cell(&format!(
            "probe = \"midi\"\nmessage-rate = 200\nmessage-ahead = \"{ahead}\"\nsleep = \"{sleep}\"\n\
             duration = \"100ms\""
        ));
        let measured = measure(&cell).unwrap_or_else(|error| panic!("{ahead}: {error}"));
        let [task] = &measured.outcome.tasks[..] else { panic!("{ahead}: one output thread") };
        assert_eq!(task.accounting.intended, 20, "{ahead}");
        assert!(task.accounting.balances());
        assert_eq!(task.accounting.missed, 0, "{ahead}: a line loses nothing");
        let samples: Vec<_> =
            measured.samples.iter().flat_map(|(_, samples)| samples.clone()).collect();
        assert!(samples.iter().all(|sample| sample.came > sample.due), "{ahead}");
        assert!(samples.is_sorted_by_key(|sample| sample.came), "{ahead}");
        let found = task.messages.as_ref().unwrap();
        assert_eq!((found.intervals.count, found.receiver.count), (19, 20), "{ahead}");
        let longest = samples.iter().map(|sample| sample.latency()).max().unwrap();
        assert!(found.receiver.max <= longest, "{ahead}: written before its time");
    }
}
