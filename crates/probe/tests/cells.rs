//! Cells that are really measured on this machine, their tasks as threads.
//!
//! Nothing here says how late a wakeup may be: only that it is never early, that
//! all of them are accounted for, and that what was granted is what was asked.

use std::sync::Mutex;

use tactus_model::cell::Cell;
use tactus_model::experiment::{Experiment, Overrides};
use tactus_model::probe::SleepMethod;
use tactus_model::sample::Sample;
use tactus_model::time::Nanos;
use tactus_probe::{ProbeError, ProbeEvent, ProbeOutcome, TaskProcess, run};

/// One cell is measured at a time: they would only delay each other.
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

/// Measures a cell and checks what holds for every one of them.
fn check(settings: &str) -> Measured {
    let cell = cell(settings);
    let measured = measure(&cell).unwrap_or_else(|error| panic!("{settings}: {error}"));
    for task in &measured.outcome.tasks {
        let accounting = task.accounting;
        assert!(accounting.balances(), "{settings}: {accounting:?}");
        assert!(accounting.intended > 0, "{settings}");
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
    // The itimer is one a process, and tested where tasks are processes.
    for sleep in SleepMethod::ALL.iter().filter(|sleep| **sleep != SleepMethod::Itimer) {
        for clock in sleep.clocks() {
            check(&format!("sleep = \"{sleep}\"\nclock = \"{clock}\""));
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
    let samples = &one.samples[0].1;
    assert!(samples.windows(2).all(|pair| pair[0].came == pair[1].due));
    let two = check("probe = \"sort\"\nnumbers = 256\ntasks-per-cpu = 2");
    assert_eq!(two.outcome.tasks.len(), 2);
}

#[test]
fn more_numbers_take_longer_to_sort() {
    let least = |numbers: u32| {
        let measured = check(&format!("probe = \"sort\"\nnumbers = {numbers}"));
        let samples = measured.samples.into_iter().flat_map(|(_, samples)| samples);
        samples.map(|sample| sample.latency()).min().expect("one sort at least is begun")
    };
    assert!(least(16_384) > least(1024));
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

/// By the closed form 60 frames/s lose 35 a second on ticks of 20 ms and none on
/// those of 1 ms; pairs are taken in turn, so that a busy machine delays both.
#[test]
fn coarse_ticks_lose_more_frames_than_fine_ones() {
    let skipped = |tick: &str| {
        let settings =
            format!("probe = \"frames\"\nframe-rate = 60\ntick = {tick}\nduration = \"500ms\"");
        check(&settings).outcome.tasks[0].accounting.missed
    };
    let pairs: Vec<(u64, u64)> = (0..3).map(|_| (skipped("50"), skipped("1000"))).collect();
    let (coarse, fine): (Vec<u64>, Vec<u64>) = pairs.iter().copied().unzip();
    assert!(coarse.iter().sum::<u64>() > fine.iter().sum::<u64>(), "{pairs:?}");
}

#[test]
fn samples_beyond_the_limit_are_counted_as_dropped() {
    let measured = check("sample-limit = 10");
    let accounting = measured.outcome.tasks[0].accounting;
    assert_eq!(accounting.observed, 10);
    assert!(accounting.dropped > 0);
}

#[test]
fn several_tasks_start_together_each_later_by_the_offset() {
    let measured = check("tasks-per-cpu = 3\noffset = \"100us\"");
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
fn a_processor_that_is_not_there_is_a_shortfall() {
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
fn policies_that_need_root_or_a_realtime_limit_are_granted_or_explained() {
    for policy in ["other:-5", "fifo:50", "rr:1"] {
        let (scheduling, measured) = granted(policy);
        if let [shortfall] = &measured.outcome.shortfalls[..] {
            eprintln!("skipped {policy}: {}", shortfall.reason);
            assert_ne!(scheduling, policy);
        } else {
            assert_eq!(scheduling, policy);
            assert_eq!(measured.outcome.tasks[0].cpu, Some(0));
        }
    }
}

#[test]
fn a_deadline_that_needs_root_is_granted_unpinned_or_explained() {
    let policy = "deadline:200us/1ms/1ms";
    let (scheduling, measured) = granted(policy);
    let shortfalls = &measured.outcome.shortfalls;
    assert!(!shortfalls.is_empty());
    if scheduling == policy {
        assert_eq!(shortfalls[0].granted, "tasks placed by the kernel");
        assert!(measured.outcome.tasks[0].granted.timer_slack.is_none());
    } else {
        eprintln!("skipped {policy}: {}", shortfalls[0].reason);
    }
}

#[test]
fn timer_slack_and_memory_lock_are_read_back() {
    let measured = check("timer-slack = \"3us\"\nlock-memory = true");
    let granted = &measured.outcome.tasks[0].granted;
    assert_eq!(granted.timer_slack, Some(Nanos::from_micros(3)));
    let explained = measured.outcome.shortfalls.iter().any(|found| found.asked == "lock-memory");
    assert_ne!(granted.memory_locked, explained);
    // Other tests of this process would go on with all their memory locked.
    tactus_sys::memory::unlock().unwrap();
}
