//! Gates on simulated seeds with a known difference.

use tactus_model::experiment::{Experiment, Overrides};
use tactus_model::probe::ProbeKind;
use tactus_model::result::Failure;
use tactus_model::time::Nanos;
use tactus_stats::LatencyHistogram;
use tactus_stats::simulate::Draw;

use super::*;
use crate::gate::tests::run as run_of_two_cells;

/// The cells of a gate under one kernel.
fn side_plan(kernel: &str, time: &str, seeds: u32) -> Plan {
    let text = format!("[settings]\nkernel = \"{kernel}\"\nload = [\"idle\", \"syscall\"]");
    let overrides = Overrides {
        rounds: Some(seeds),
        guest_time: Some(time.parse().unwrap()),
        ..Overrides::default()
    };
    Experiment::parse(&text).unwrap().plan(&overrides).unwrap()
}

fn gate_plan(baseline: Plan, kernel: Plan) -> Plan {
    plan(baseline, kernel, GateRule::default())
}

/// A run whose wakeups take the given numbers of instructions, by cell and round.
fn run(seeds: u32, kernel: &str, instructions: impl Fn(usize, u32) -> Vec<u64>) -> Run {
    let mut run = run_of_two_cells("gate-20261121-220000", "", 1, 0);
    let template = run.measurements[0].clone();
    run.header.plan =
        gate_plan(side_plan("debian", "exact:125", seeds), side_plan(kernel, "exact:125", seeds));
    run.measurements = run
        .header
        .plan
        .turns()
        .into_iter()
        .map(|turn| {
            let latencies: LatencyHistogram = instructions(turn.cell, turn.round)
                .into_iter()
                .map(|count| Nanos::from_nanos(count * 8))
                .collect();
            let mut measurement = Measurement { turn, ..template.clone() };
            measurement.tasks[0].blocks = vec![latencies.to_record()];
            measurement.rates.interrupts = Some(400);
            if turn.cell % 2 == 1 {
                measurement.rates.over = Nanos::from_millis(8);
                measurement.load.operations = Some(2500);
            }
            measurement
        })
        .collect();
    run
}

fn judged(run: &Run, rule: &GateRule) -> (KernelComparison, Decision) {
    let comparison = compare(run, rule).unwrap();
    let decision = comparison.decision(rule);
    (comparison, decision)
}

fn verdict_of(comparison: &KernelComparison, cell: usize, figure: Figure) -> Verdict {
    let figures = &comparison.cells[cell].figures;
    figures.iter().find(|found| found.figure == figure).expect("the figure").verdict
}

#[test]
fn a_run_without_a_turn_decides_nothing() {
    let mut found = run(6, "debian:slub_debug=FZP", |_, _| vec![3000]);
    found.measurements.clear();
    let decision = judged(&found, &GateRule::default()).1;
    assert_eq!(decision, Decision::Undecided);
}

#[test]
fn a_path_that_is_longer_in_every_seed_is_found() {
    // The kernel takes 100 instructions more in the second cell.
    let longer = |cell, _| vec![if cell == 3 { 3100 } else { 3000 }; 50];
    let found = run(6, "debian:slub_debug=FZP", longer);
    let rule = GateRule { paths_only: true, false_alarms: 0.02, ..GateRule::default() };
    let (comparison, decision) = judged(&found, &rule);
    assert_eq!(decision, Decision::Refused);
    assert_eq!(comparison.cells[1].cell, "syscall");
    assert_eq!(verdict_of(&comparison, 0, Figure::ShortestWakeup), Verdict::Same);
    assert_eq!(verdict_of(&comparison, 1, Figure::ShortestWakeup), Verdict::Greater);
    assert_eq!(verdict_of(&comparison, 1, Figure::Operation), Verdict::Same);
    let operation = &comparison.cells[1].figures[2];
    assert_eq!((operation.figure, operation.baseline.median), (Figure::Operation, 400.0));
    // A greater allowance covers the difference.
    let allowing = GateRule { allowance: "5%".parse().unwrap(), ..rule };
    assert_eq!(judged(&found, &allowing).1, Decision::Passes);
}

#[test]
fn a_few_equal_seeds_do_not_show_that_all_are_equal() {
    // The interrupts of a seed are 112 or 116 under both kernels; these three drew them apart.
    let mut found = run(3, "debian:quirk.a=1", |_, _| vec![3000; 50]);
    for measurement in &mut found.measurements {
        let is_kernel = measurement.turn.cell >= 2;
        measurement.rates.interrupts = Some(if is_kernel { 116 } else { 112 });
    }
    let rule = GateRule { paths_only: true, ..GateRule::default() };
    let (comparison, decision) = judged(&found, &rule);
    assert_eq!(verdict_of(&comparison, 0, Figure::Interrupts), Verdict::TooFewSeeds);
    assert_eq!(verdict_of(&comparison, 0, Figure::MedianWakeup), Verdict::Same);
    assert_eq!(decision, Decision::Undecided);
}

#[test]
fn tails_are_left_out_if_the_seeds_suffice_for_paths_only() {
    let rule = GateRule { false_alarms: 0.016, ..GateRule::default() };
    let equal = |seeds| run(seeds, "debian:quirk.a=1", |_, _| vec![3000; 50]);
    let paths = judged(&equal(6), &rule).0;
    assert!(paths.cells[0].figures.iter().all(|figure| figure.kind == Kind::Path));
    let note = &paths.report(&rule).notes[0];
    assert!(note.starts_with("tails were left out: 6 seeds cannot show"), "{note}");
    for seeds in [3, 7] {
        let comparison = judged(&equal(seeds), &rule).0;
        assert!(comparison.cells[0].figures.iter().any(|figure| figure.kind == Kind::Tail));
        assert_eq!(comparison.tails_left_out, None);
    }
}

#[test]
fn turns_that_needed_a_third_boot_are_counted() {
    use tactus_model::facts::MachineFacts;
    use tactus_model::guest::{GuestAccount, Proof};
    use tactus_model::time::Instant;
    let mut found = run(10, "debian:quirk.a=1", |_, _| vec![3000; 50]);
    assert_eq!(judged(&found, &GateRule::default()).0.notes(), Vec::<String>::new());
    found.measurements[3].guest = Some(Box::new(GuestAccount {
        kernel_release: None,
        kernel_sha256: String::new(),
        program_sha256: String::new(),
        archive_sha256: String::new(),
        emulator: String::new(),
        accelerator: "tcg".to_owned(),
        command_line: Vec::new(),
        seed: 1,
        proof: Some(Proof { runs: 2, outvoted: 1, bytes: 1, sha256: String::new() }),
        facts: MachineFacts::unknown(Instant::from_nanos(0)),
    }));
    let comparison = judged(&found, &GateRule::default()).0;
    assert_eq!(comparison.third_boots, 1);
    assert!(
        comparison.report(&GateRule::default()).notes[0].contains("1 turn needed a third boot")
    );
}

#[test]
fn a_plan_that_cannot_decide_is_refused() {
    let both = |seeds| {
        gate_plan(
            side_plan("debian", "exact:125", seeds),
            side_plan("debian-rt", "exact:125", seeds),
        )
    };
    // Five figures of the idle cell and six of the other: two more without `paths_only`, each.
    let paths = GateRule { paths_only: true, ..GateRule::default() };
    for (rule, figures, needed) in [(GateRule::default(), 11, 7), (paths, 7, 7)] {
        let few = check_seeds(&both(3), &rule).unwrap_err();
        assert_eq!((few.figures, few.needed), (figures, needed));
        assert_eq!(check_seeds(&both(needed - 1), &rule), Err(TooFewSeeds { seeds: 6, ..few }));
        assert_eq!(check_seeds(&both(needed), &rule), Ok(()));
    }
    let said = check_seeds(&both(3), &paths).unwrap_err().to_string();
    let wanted = "3 seeds cannot show a difference in one of 7 figures with at most 1 % of false \
                  alarms; 7 can";
    assert_eq!(said, wanted);
}

#[test]
fn a_shorter_path_is_refused_only_if_any_difference_is() {
    let found = run(10, "debian:preempt=full", |cell, _| vec![3000 - 100 * (cell as u64 / 2); 50]);
    let rule = GateRule { paths_only: true, ..GateRule::default() };
    assert_eq!(judged(&found, &rule).1, Decision::Passes);
    let strict = GateRule { refuse_any_difference: true, ..rule };
    assert_eq!(judged(&found, &strict).1, Decision::Refused);
}

#[test]
fn tails_are_compared_by_seeds_and_never_by_one_maximum() {
    // A hundred wakeups, equal except for the last one, which differs between seeds.
    let tail = |cell: usize, seed: u32, by: u64| {
        let mut wakeups = vec![3000; 99];
        wakeups.push(6000 + by + 997 * u64::from(seed * 7 % 10) + 13 * cell as u64);
        wakeups
    };
    let rule = GateRule::default();
    let equal = run(10, "debian:quirk.a=1", |cell, seed| {
        tail(cell, seed, if cell == 2 && seed == 0 { 1_000_000 } else { 0 })
    });
    let (comparison, decision) = judged(&equal, &rule);
    assert_eq!(decision, Decision::Passes);
    assert_eq!(verdict_of(&comparison, 0, Figure::LongestWakeup), Verdict::NoDifferenceFound);
    let later = run(10, "debian:preempt=none", |cell, seed| {
        tail(cell, seed, if cell >= 2 { 12_000 } else { 0 })
    });
    let (comparison, decision) = judged(&later, &rule);
    assert_eq!(decision, Decision::Refused);
    assert_eq!(verdict_of(&comparison, 0, Figure::LongestWakeup), Verdict::Greater);
    assert_eq!(verdict_of(&comparison, 0, Figure::MedianWakeup), Verdict::Same);
    // Three seeds are too few to decide, which does not matter if only paths are compared.
    let few =
        run(3, "debian:preempt=none", |cell, seed| tail(cell, seed, 12_000 * (cell as u64 / 2)));
    let (comparison, decision) = judged(&few, &rule);
    assert_eq!(decision, Decision::Undecided);
    assert_eq!(verdict_of(&comparison, 0, Figure::LongestWakeup), Verdict::TooFewSeeds);
    let paths = GateRule { paths_only: true, ..rule };
    assert_eq!(judged(&few, &paths).1, Decision::Passes);
}

#[test]
fn a_cell_with_a_failed_turn_is_not_compared() {
    let mut found = run(3, "debian:nosmp", |_, _| vec![3000; 50]);
    let rule = GateRule { paths_only: true, ..GateRule::default() };
    let turn = found.measurements.pop().unwrap().turn;
    let comparison = judged(&found, &rule).0;
    let cell = &comparison.cells[turn.cell % 2];
    assert_eq!(cell.not_measured.as_deref(), Some("2 of 3 seeds were measured"));
    let reason = "the guest ended before its cell did".to_owned();
    found.failures.push(Failure { turn, reason: reason.clone(), hint: None, by_host: false });
    let (comparison, decision) = judged(&found, &rule);
    assert_eq!(decision, Decision::Undecided);
    assert_eq!(comparison.cells[turn.cell % 2].not_measured, Some(reason));
    assert_eq!(comparison.report(&rule).failures(), 1);
}

#[test]
fn other_runs_are_refused_with_the_command_that_measures_suitable_ones() {
    let rule = GateRule::default();
    let host = run_of_two_cells("quick", "", 3, 0);
    assert!(matches!(compare(&host, &rule), Err(NotAGate::NotTwoKernels(_))));
    let mut wall = run(3, "debian-rt", |_, _| vec![3000; 50]);
    wall.header.plan = gate_plan(side_plan("debian", "wall", 3), side_plan("debian-rt", "wall", 3));
    let error = compare(&wall, &rule).unwrap_err().to_string();
    assert!(error.contains("not measured in deterministic time"), "{error}");
    let mut unpaired = run(3, "debian-rt", |_, _| vec![3000; 50]);
    unpaired.header.plan.cells.swap(2, 3);
    assert!(matches!(compare(&unpaired, &rule), Err(NotAGate::NotTwoKernels(_))));
    let itself = run(3, "debian", |_, _| vec![3000; 50]);
    assert!(compare(&itself, &rule).is_ok());
}

/// A tail typical of deterministic time: often the same short one, otherwise longer by a random
/// amount.
fn tail(draw: &mut Draw, scale: f64) -> f64 {
    match draw.uniform() {
        chance if chance < 0.3 => 4000.0,
        chance => (4000.0 + 500.0 * scale / chance).round(),
    }
}

/// Whether a gate of `figures` tails finds any difference.
fn finds(seeds: usize, figures: usize, false_alarms: f64, scale: f64, draw: &mut Draw) -> bool {
    // With an allowance of 0, only the test limits the rate of false alarms.
    let rule = GateRule { false_alarms, allowance: "0".parse().unwrap(), ..GateRule::default() };
    let mut all: Vec<FigureComparison> = (0..figures)
        .map(|_| {
            let mut side = |scale| (0..seeds).map(|_| tail(draw, scale)).collect::<Vec<_>>();
            let (a, b) = (side(1.0), side(scale));
            compared(Figure::LongestWakeup, &a, &b, rule.allowance, 0.0).expect("seeds")
        })
        .collect();
    conclude(all.iter_mut().collect(), &rule);
    all.iter().any(|figure| matches!(figure.verdict, Verdict::Greater | Verdict::Less))
}

#[test]
fn equal_kernels_are_not_reported_as_different_more_often_than_stated() {
    let mut draw = Draw::new(6);
    for (seeds, false_alarms, most) in [(8, 0.05, 30), (8, 0.01, 9), (12, 0.05, 30)] {
        let alarms = (0..400).filter(|_| finds(seeds, 6, false_alarms, 1.0, &mut draw)).count();
        println!(
            "{seeds} seeds at {false_alarms}: {alarms} of 400 gates of 6 tails raised an alarm"
        );
        // Three standard deviations above the stated probability.
        assert!(alarms <= most, "{alarms} of 400 at {false_alarms}");
    }
}

#[test]
fn a_tail_that_became_longer_is_found_by_enough_seeds() {
    let mut draw = Draw::new(7);
    for (seeds, least) in [(10, 50), (16, 70)] {
        let found = (0..100).filter(|_| finds(seeds, 6, 0.01, 4.0, &mut draw)).count();
        println!("{seeds} seeds: tails four times as long were found in {found} of 100 gates");
        assert!(found >= least, "{seeds} seeds: {found} of 100");
    }
}

#[test]
fn scattered_paths_keep_the_rate_of_false_alarms_too() {
    // Medians under load that scatter by 3 % between seeds, beyond the allowance.
    let mut draw = Draw::new(8);
    let rule =
        GateRule { false_alarms: 0.05, allowance: "16".parse().unwrap(), ..GateRule::default() };
    let alarms = (0..400)
        .filter(|_| {
            let mut all: Vec<FigureComparison> = (0..6)
                .map(|_| {
                    let mut side = || (0..8).map(|_| 4000.0 + 120.0 * draw.normal()).collect();
                    let (a, b): (Vec<f64>, Vec<f64>) = (side(), side());
                    compared(Figure::MedianWakeup, &a, &b, rule.allowance, 0.0).expect("seeds")
                })
                .collect();
            conclude(all.iter_mut().collect(), &rule);
            all.iter().any(|figure| matches!(figure.verdict, Verdict::Greater | Verdict::Less))
        })
        .count();
    println!("{alarms} of 400 gates of 6 scattered paths raised an alarm");
    assert!(alarms <= 30, "{alarms} of 400");
}

#[test]
fn paths_with_few_values_keep_the_rate_of_false_alarms_too() {
    // Counts that are one of two values, far beyond the allowance apart.
    let mut draw = Draw::new(9);
    for seeds in [3, 5, 8, 12] {
        let rule = GateRule { false_alarms: 0.05, ..GateRule::default() };
        let alarms = (0..2000)
            .filter(|_| {
                let mut all: Vec<FigureComparison> = (0..3)
                    .map(|_| {
                        let mut one = || if draw.uniform() < 0.5 { 1120.0 } else { 1160.0 };
                        let (a, b): (Vec<f64>, Vec<f64>) =
                            (0..seeds).map(|_| (one(), one())).unzip();
                        compared(Figure::MedianWakeup, &a, &b, rule.allowance, 0.0).expect("seeds")
                    })
                    .collect();
                conclude(all.iter_mut().collect(), &rule);
                all.iter().any(|figure| matches!(figure.verdict, Verdict::Greater | Verdict::Less))
            })
            .count();
        println!(
            "{seeds} seeds: {alarms} of 2000 gates of 3 paths with two values raised an alarm"
        );
        // Three standard deviations above the stated probability.
        assert!(alarms <= 130, "{alarms} of 2000 at {seeds} seeds");
    }
}

#[test]
fn an_interruption_is_the_extra_time_of_sorts() {
    // A tick of 900 instructions interrupted two of a hundred sorts of 4000 instructions.
    let mut found = run(1, "debian", |_, _| [vec![4000; 98], vec![4900; 2]].concat());
    let mut measurement = found.measurements.swap_remove(0);
    measurement.rates.interrupts = Some(2);
    let speed = Speed::from_mips(125).unwrap();
    let of = |probe| Figure::Interruption.of(&measurement, probe, speed);
    assert_eq!(of(ProbeKind::Sort), Some(900.0));
    assert_eq!(of(ProbeKind::Timer), None);
    assert_eq!(Figure::MedianWakeup.of(&measurement, ProbeKind::Sort, speed), None);
}

#[test]
fn one_batch_more_or_less_is_not_a_difference() {
    // A load that counts in batches of 1000 did 120 of them, or another number.
    let with = |after: u64| {
        let mut found = run(10, "debian", |_, _| vec![3000; 50]);
        for measurement in found.measurements.iter_mut().filter(|found| found.turn.cell % 2 == 1) {
            let done = if measurement.turn.cell == 3 { after } else { 120 };
            measurement.load.operations = Some(done * 1000);
            measurement.rates.over = Nanos::from_secs(1);
        }
        let exactly = Allowance { share: 0.0, instructions: 0 };
        let rule = GateRule { allowance: exactly, paths_only: true, ..GateRule::default() };
        verdict_of(&judged(&found, &rule).0, 1, Figure::Operation)
    };
    assert_eq!(with(120), Verdict::Same);
    assert_eq!(with(121), Verdict::WithinAllowance);
    assert_eq!(with(119), Verdict::WithinAllowance);
    assert_eq!(with(109), Verdict::Greater);
    assert_eq!(with(131), Verdict::Less);
}
