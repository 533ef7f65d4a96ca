use tactus_model::experiment::{Experiment, Overrides};
use tactus_model::sample::Sample;

use super::*;
use crate::cell::tests::{round, task};
use crate::summary::summarise;

fn probe(operation: &str) -> CostProbe {
    let text = format!("[settings]\nprobe = \"cost\"\noperation = \"{operation}\"");
    let plan = Experiment::parse(&text).unwrap().plan(&Overrides::default()).unwrap();
    plan.cells[0].probe.cost().unwrap().clone()
}

/// A process with these batches, each of 100 equal samples.
fn process(number: u32, batches: &[Batch]) -> Measurement {
    let mut samples = Vec::new();
    for batch in batches {
        let each = (0..100).map(|_| {
            let due = Nanos::from_micros(samples.len() as u64);
            Sample { due, came: due + batch.median }
        });
        samples.extend(each.collect::<Vec<_>>());
    }
    let mut task = task(0, &[], &[]);
    task.blocks = summarise(&samples, Nanos::from_secs(1)).blocks;
    task.batches = batches.to_vec();
    let mut measurement = round(number, vec![task]);
    measurement.cost.clock_read_ns = 30.0;
    measurement
}

fn batch(median: u64) -> Batch {
    Batch {
        count: 100,
        median: Nanos::from_nanos(median),
        elapsed: Nanos::from_millis(1),
        ran: Nanos::from_millis(1),
        calibration: Nanos::from_nanos(12_800),
        ..Batch::default()
    }
}

/// A row of an operation with these settings, whose processes differ by two per cent.
pub(crate) fn row(
    cell: usize,
    family: Family,
    settings: &[(&'static str, &str)],
    cost: f64,
) -> CostRow {
    // In another order in each cell, since processes of a round are pairs.
    let mut shares = [0.99, 1.0, 1.01, 0.995, 1.005];
    shares.rotate_left(cell % 5);
    let of_processes_ns: Vec<f64> = shares.iter().map(|share| share * cost).collect();
    let around = |cost: f64| [0.99 * cost, 1.01 * cost];
    let settings: BTreeMap<&'static str, String> =
        settings.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
    let cost = CostSummary {
        processes: 5,
        samples: 1000,
        per_sample: 1,
        min_ns: 0.9 * cost,
        p10_ns: 0.95 * cost,
        typical_ns: cost,
        interval: Some(around(cost)),
        resamples: Resamples::of(
            &of_processes_ns.iter().map(|cost| vec![*cost]).collect::<Vec<_>>(),
        ),
        median_ns: cost,
        p99_ns: Some(2.0 * cost),
        p99_interval: Some(around(2.0 * cost)),
        cpu_ns: Some(cost),
        mean_ns: cost,
        used_ns: None,
        max_ns: 9.0 * cost,
        noise_floor: noise_floor(&of_processes_ns),
        of_processes_ns,
        contamination: Contamination::default(),
        clock: None,
        clean_ns: Some(cost),
        by_mode_ns: None,
    };
    let conditions = BTreeMap::new();
    CostRow {
        cell,
        family,
        unit: "message",
        settings,
        conditions,
        moved: None,
        touched: None,
        cost,
    }
}

#[test]
fn costs_of_the_same_settings_grow_together() {
    let of = |cell, pages, size: &'static str, cost| {
        let settings = [("operation", "memory-copy"), ("pages", pages), ("size", size)];
        row(cell, Family::Memory, &settings, cost)
    };
    let rows = [
        of(0, "normal", "64KiB", 6_553.6),
        of(1, "normal", "16KiB", 1_638.4),
        of(2, "huge", "16KiB", 1_000.0),
        of(3, "normal", "1MiB", 104_857.6),
    ];
    let found = growth(&rows);
    let [only] = &found[..] else { panic!("{found:?}") };
    assert_eq!(only.cells, [1, 0, 3], "in the order of sizes");
    let Growth::Line(line) = only.growth else { panic!("{only:?}") };
    assert!((line.rate().unwrap() / 1e10 - 1.0).abs() < 1e-6, "{line:?}");
}

#[test]
fn a_cost_is_that_of_one_operation_without_the_clock() {
    let processes: Vec<Measurement> = (0..3).map(|n| process(n, &[batch(12_830); 20])).collect();
    let all: Vec<&Measurement> = processes.iter().collect();
    let found = CostSummary::of(&probe("getppid"), &all, None).unwrap();
    assert_eq!((found.processes, found.samples, found.per_sample), (3, 6_000, 128));
    assert_eq!((found.min_ns, found.typical_ns, found.clean_ns), (100.0, 100.0, Some(100.0)));
    let interval = found.interval.unwrap();
    assert!(interval[0] <= 100.1 && interval[1] >= 99.9, "{interval:?}");
    assert_eq!(found.noise_floor, Some(0.0));
    // A batch of 100 kept samples and one that is not kept used a millisecond of CPU time.
    assert!((found.cpu_ns.unwrap() - 1e6 / 101.0 / 128.0).abs() < 1e-9, "{found:?}");
    assert_eq!(calibrations(all).collect::<Vec<f64>>(), [100.0; 60]);
}

#[test]
fn a_fast_process_counts_for_no_more_than_others() {
    // The fast ones have ten times as many batches.
    let of = |number, median| match median < 20_000 {
        true => process(number, &[batch(median); 200]),
        false => process(number, &[batch(median); 20]),
    };
    let all = [of(0, 12_830), of(1, 25_630), of(2, 25_630)];
    let all: Vec<&Measurement> = all.iter().collect();
    let found = CostSummary::of(&probe("getppid"), &all, None).unwrap();
    assert_eq!(found.typical_ns, 200.0);
    assert_eq!(found.of_processes_ns, [100.0, 200.0, 200.0]);
    assert_eq!(found.interval, Some([100.0, 200.0]));
    let few = CostSummary::of(&probe("getppid"), &all[..2], None).unwrap();
    assert_eq!(few.interval, None, "two processes show too little");
}

#[test]
fn contaminated_batches_are_marked_and_kept() {
    let stolen = Batch { steal: Some(Nanos::from_millis(10)), ..batch(40_000) };
    let waited = Batch { ran: Nanos::from_micros(500), preempted: 1, ..batch(25_000) };
    let mut some = vec![batch(12_830); 10];
    some.extend([stolen, waited]);
    let process = process(0, &some);
    let found = CostSummary::of(&probe("getppid"), &[&process], None).unwrap();
    let expected = Contamination {
        batches: 12,
        is_judged: true,
        contaminated: 2,
        stolen: 1,
        foreign: 1,
        waited: 1,
        at_partner: 0,
        outliers: 2,
    };
    assert_eq!(found.contamination, expected);
    assert_eq!((found.samples, found.clean_ns), (1_200, Some(100.0)));
    assert!(found.max_ns > 300.0);
}

#[test]
fn the_guard_fits_the_operation() {
    let waits = Batch { preempted: 50, waited: Some(Nanos::from_micros(900)), ..batch(3_000) };
    let process = process(0, &[waits; 12]);
    let contaminated = |operation: &str| {
        let cost = probe(operation);
        CostSummary::of(&cost, &[&process], None).unwrap().contamination.contaminated
    };
    assert_eq!(contaminated("getppid"), 12);
    assert_eq!(contaminated("pipe"), 0, "a round trip consists of waits");
}

#[test]
fn idle_time_that_is_counted_shows_all_cpu_time_of_an_operation() {
    let counted = Batch { idle: Some(Nanos::from_micros(700)), preempted: 3, ..batch(100_030) };
    let found = |cost: &CostProbe, batch: Batch| {
        CostSummary::of(cost, &[&process(0, &[batch; 12])], None).unwrap()
    };
    let cold = probe("file-direct\"\nidle-count = true\nsize = \"4KiB");
    let summary = found(&cold, counted);
    let used = summary.used_ns.unwrap();
    assert!((used / summary.mean_ns - 0.3).abs() < 0.001, "{used} of {}", summary.mean_ns);
    assert_eq!(summary.contamination.contaminated, 0, "the counter is on the CPU too");
    assert_eq!(found(&probe("file-direct"), batch(100_030)).used_ns, None);
}

#[test]
fn the_cost_of_a_file_that_is_read_ahead_is_that_of_whole_passes() {
    // Most blocks are read ahead, and one in ten waits for the disk.
    let batches = [[batch(10_030); 9].as_slice(), &[batch(910_030)]].concat();
    let cost = probe("file-read\"\ncache = \"cold\"\nsize = \"64KiB");
    let summary = CostSummary::of(&cost, &[&process(0, &batches)], None).unwrap();
    assert_eq!(summary.median_ns, 10_000.0);
    assert!((summary.typical_ns / 100_000.0 - 1.0).abs() < 0.01, "of whole passes: {summary:?}");
    let row = CostRow {
        cell: 0,
        family: Family::File,
        unit: "block",
        settings: BTreeMap::new(),
        conditions: BTreeMap::new(),
        moved: cost.moved(),
        touched: cost.touched(),
        cost: summary,
    };
    let rate = row.bytes_per_second().unwrap();
    assert!((rate / 655.36e6 - 1.0).abs() < 0.01, "64 KiB in 100 µs, not {rate}");
}

#[test]
fn a_mode_has_its_own_cost() {
    let slow = Batch { calibration: Nanos::from_nanos(16_000), ..batch(16_030) };
    let process = process(0, &[[batch(12_830); 15], [slow; 15]].concat());
    let modes = Modes::of(&calibrations([&process]).collect::<Vec<f64>>()).unwrap();
    let found = CostSummary::of(&probe("getppid"), &[&process], Some(&modes)).unwrap();
    assert_eq!(found.by_mode_ns, Some([Some(100.0), Some(125.0)]));
}

#[test]
fn the_noise_floor_covers_how_processes_differ() {
    assert_eq!(noise_floor(&[100.0, 101.0]), None);
    let floor = noise_floor(&[100.0, 100.0, 120.0, 120.0, 120.0]).unwrap();
    assert!((0.19..=0.21).contains(&floor), "{floor}");
    let quiet = noise_floor(&[100.0, 100.2, 100.1, 99.9, 100.0]).unwrap();
    assert!(quiet < 0.004, "{quiet}");
    let costs: Vec<f64> = (0..40).map(|n| 100.0 + f64::from(n % 8)).collect();
    let [few, many] = [5, 500].map(|processes| noise_floor_of(&costs, processes).unwrap());
    assert!(many < few / 3.0, "more processes find smaller differences: {few} {many}");
}
