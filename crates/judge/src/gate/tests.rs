//! Demands on a fictional run, and pairing of its cells.

use tactus_model::address::find_cell;
use tactus_model::experiment::{Experiment, Overrides, Turn};
use tactus_model::facts::MachineFacts;
use tactus_model::policy::Scheduling;
use tactus_model::result::{
    Accounting, Failure, Granted, LoadResult, MachineRates, ProbeCost, TaskResult, TaskUsage,
};
use tactus_model::run::{RunHeader, RunId, RunStatus};
use tactus_model::sample::Sample;
use tactus_model::time::Instant;
use tactus_stats::LatencyHistogram;
use tactus_stats::histogram::nearest_rank;
use tactus_stats::summary::{block_length, summarise};

use super::*;
use crate::compare::{CompareOptions, Incomparable, Selection, compare};

const WINDOW: Nanos = Nanos::from_secs(2);

/// A run of two cells and `rounds` rounds whose wakeups are 10 µs to 19 µs late;
/// the second cell misses `missed` due times per round, each by 5 ms.
pub(crate) fn run(id: &str, settings: &str, rounds: u32, missed: u64) -> Run {
    let text = format!("[settings]\npolicy = [\"other\", \"fifo:90\"]\n{settings}");
    let overrides = Overrides { rounds: Some(rounds), ..Overrides::default() };
    let plan = Experiment::parse(&text).unwrap().plan(&overrides).unwrap();
    let turns = plan.turns();
    Run {
        header: RunHeader {
            id: RunId::new(id),
            created: Instant::from_nanos(0),
            version: "0.1.0".to_owned(),
            status: RunStatus::Complete,
            plan,
            facts_before: MachineFacts::unknown(Instant::from_nanos(0)),
            facts_after: None,
            origin: None,
            command: None,
        },
        measurements: turns
            .into_iter()
            .map(|turn| measurement(turn, if turn.cell == 1 { missed } else { 0 }))
            .collect(),
        failures: Vec::new(),
    }
}

fn measurement(turn: Turn, missed: u64) -> Measurement {
    let samples: Vec<Sample> = (0..2000)
        .map(|k| {
            let due = Nanos::from_millis(k);
            Sample { due, came: due + Nanos::from_micros(10 + k * 7 % 10) }
        })
        .collect();
    let summary = summarise(&samples, WINDOW);
    let late: LatencyHistogram = (0..missed).map(|_| Nanos::from_millis(5)).collect();
    let task = TaskResult {
        task: 0,
        cpu: Some(0),
        granted: Granted {
            scheduling: Scheduling::ORDINARY,
            cpus: [0].into_iter().collect(),
            memory_locked: true,
            timer_slack: None,
        },
        accounting: Accounting {
            intended: 2000 + missed,
            observed: 2000,
            missed,
            ..Accounting::default()
        },
        blocks: summary.blocks,
        missed_latencies: late.to_record(),
        series: summary.series,
        scope: summary.scope,
        worst: summary.worst,
        usage: TaskUsage::default(),
        use_over_time: Vec::new(),
        batches: Vec::new(),
        timer_interrupts: None,
        clock: None,
        by_dirt: None,
        messages: None,
        playback: None,
    };
    Measurement {
        turn,
        started: Instant::from_nanos(0),
        window: WINDOW,
        block_length: block_length(WINDOW),
        tasks: vec![task],
        load: LoadResult::default(),
        rates: MachineRates::default(),
        cost: ProbeCost::default(),
        shortfalls: Vec::new(),
        traced: None,
        precision: None,
        guest: None,
    }
}

fn limit(text: &str) -> Demand {
    Demand::Quantile(text.parse().unwrap())
}

fn check(run: &Run, demand: Demand, allow: bool, expected: [(Outcome, bool, &str); 2]) {
    let report = judge(run, &[demand], None, allow);
    assert_eq!(report.judgements.len(), 2);
    for (judgement, (outcome, passes, found)) in report.judgements.iter().zip(expected) {
        assert_eq!((judgement.outcome, judgement.passes), (outcome, passes), "{judgement:?}");
        let text = judgement.found.replace(format::THIN_SPACE, " ");
        assert!(text.contains(found), "{judgement:?} does not say: {found}");
    }
}

#[test]
fn every_demand_is_checked_for_every_cell() {
    use Outcome::{Met, NotMet, Unsupported};
    let run = run("candidate", "", 3, 1);
    let max = Demand::Max(Nanos::from_micros(200));
    check(&run, max, false, [(Met, true, "19.0 µs"), (NotMet, false, "5.00 ms")]);
    check(
        &run,
        Demand::Missed(2),
        false,
        [(Met, true, "0 missed of 6 000"), (NotMet, false, "3 missed of 6 003")],
    );
    check(
        &run,
        Demand::Missed(3),
        false,
        [(Met, true, "0 missed"), (Met, true, "3 missed of 6 003")],
    );
    check(&run, limit("99=20us"), false, [(Met, true, "19.0 µs"), (Met, true, "19.0 µs")]);
    check(&run, limit("50=9us"), true, [(NotMet, false, "14"), (NotMet, false, "15.0")]);
    let few = "measure longer";
    check(&run, limit("99.99=1s"), false, [(Unsupported, false, few), (Unsupported, false, few)]);
    check(&run, limit("99.99=1s"), true, [(Unsupported, true, few), (Unsupported, true, few)]);
}

#[test]
fn deadlines_of_a_purpose_are_met_not_met_or_undecided() {
    use Outcome::{Met, NotMet, Unsupported};
    // Five rounds of two seconds; the second cell misses two due times in each.
    let run = run("candidate", "", 5, 2);
    let at_most = |purpose: &str, limit: &str| {
        Demand::Purpose(purpose.parse().unwrap(), limit.parse().unwrap())
    };
    let seen = (Met, true, "at most one deadline in 3.3 s is missed");
    check(&run, at_most("1ms:1ms", "4/s"), false, [seen, (Met, true, "10 of 10 010 due times")]);
    // Ten in ten seconds are about one per second: too close to decide.
    check(&run, at_most("1ms:1ms", "1/s"), false, [seen, (Unsupported, false, "measure longer")]);
    let few = "The sample is too small to confirm 1/h: measure for 3 h without a miss.";
    check(&run, at_most("1ms:1ms", "1/h"), false, [(Unsupported, false, few), (NotMet, false, "")]);
    check(&run, at_most("1ms:1ms", "1/h"), true, [(Unsupported, true, few), (NotMet, false, "")]);
    // Video frames tolerate 5 ms.
    let frames = (Met, true, "at most one frame in");
    check(&run, at_most("video:60", "1/s"), false, [frames, frames]);
}

#[test]
fn a_cell_without_a_result_never_passes() {
    let mut run = run("candidate", "", 3, 0);
    run.measurements.retain(|found| found.turn.cell == 0);
    let turn = Turn { round: 0, cell: 1 };
    let reason = "the probe was killed".to_owned();
    run.failures.push(Failure { turn, reason, hint: None, by_host: false });
    let (met, none) = ((Outcome::Met, true, "0 missed of"), (Outcome::NotMet, false, "was killed"));
    check(&run, Demand::Missed(0), true, [met, none]);
    run.measurements.pop();
    let fewer = (Outcome::Unsupported, false, "only 2 of 3 rounds");
    check(&run, Demand::Missed(0), false, [fewer, none]);
}

#[test]
fn a_run_is_no_worse_than_itself_and_one_round_is_too_few() {
    let against = |rounds: u32| {
        let (baseline, run) = (run("baseline", "", rounds, 0), run("candidate", "", rounds, 2));
        let [a, b] = [&baseline, &run].map(|run| Selection { run, cell: None });
        let comparison = compare(a, b, &CompareOptions::default()).unwrap();
        judge(&run, &[], Some(&comparison), false).judgements
    };
    let several = against(3);
    assert!(several.iter().all(|judgement| judgement.passes), "{several:?}");
    assert!(several[0].found.contains("50\u{202f}%: the same (1.00×, "));
    assert!(several[0].found.contains("99.9\u{202f}%: not compared, because "), "{several:?}");
    assert!(several[1].found.contains("missed due times: 0 → 6"), "{several:?}");
    let one = against(1);
    assert!(one.iter().all(|judgement| judgement.outcome == Outcome::Unsupported), "{one:?}");
    assert!(one[0].found.contains("--rounds 3"), "{one:?}");
}

#[test]
fn the_figure_of_a_gate_is_that_of_the_table() {
    // 99.9 / 100 is greater than 0.999, and 12 000 samples have 12 beyond it.
    let run = run("candidate", "", 6, 0);
    let basis = Basis::of(&run, 0, "other").unwrap();
    let in_table = basis.summary.quantile(0.999).unwrap().by_schedule;
    assert_eq!(basis.summary.by_schedule.quantile(99.9 / 100.0), in_table);
    for count in [1000, 6000, 12_000, 1_000_000] {
        assert_eq!(nearest_rank(99.9 / 100.0, count), count / 1000 * 999);
    }
}

#[test]
fn a_figure_that_reads_like_its_limit_is_exact() {
    let run = run("candidate", "", 3, 0);
    let found = |limit: u64| {
        let report = judge(&run, &[Demand::Max(Nanos::from_nanos(limit))], None, false);
        report.judgements[0].found.replace(format::THIN_SPACE, " ")
    };
    assert_eq!(found(18_999), "19us (limit 18.999us)");
    assert_eq!(found(19_000), "19.0 µs");
    assert_eq!(found(25_000), "19.0 µs");
}

#[test]
fn a_comparison_that_cannot_tell_is_undecided() {
    let (baseline, run) = (run("baseline", "", 3, 0), run("candidate", "", 3, 0));
    let [a, b] = [&baseline, &run].map(|run| Selection { run, cell: None });
    let mut comparison = compare(a, b, &CompareOptions::default()).unwrap();
    let figure = &mut comparison.pairs[0].quantiles[2];
    figure.verdict = Some(Verdict::NoDifferenceFound);
    figure.difference.as_mut().unwrap().ratio_high = 81.13;
    let judged = |comparison: &Comparison, allow| {
        judge(&run, &[], Some(comparison), allow).judgements[0].clone()
    };
    let undecided = judged(&comparison, false);
    assert_eq!((undecided.outcome, undecided.passes), (Outcome::Unsupported, false));
    assert!(undecided.found.contains("99\u{202f}%: undecided (1.00×, "), "{undecided:?}");
    assert!(judged(&comparison, true).passes);
    comparison.pairs[0].quantiles[0].verdict = Some(Verdict::Worse);
    assert_eq!(judged(&comparison, true).outcome, Outcome::NotMet);
    comparison.pairs[0].quantiles[0].verdict = Some(Verdict::Same);
    comparison.pairs[0].quantiles[2].difference.as_mut().unwrap().ratio_high = 1.9;
    assert_eq!(judged(&comparison, false).outcome, Outcome::Met);
}

#[test]
fn cells_that_measure_different_things_are_compared_only_by_force() {
    let (plain, other) = (run("a", "", 2, 0), run("b", "interval = \"2ms\"", 2, 0));
    let longer = run("c", "duration = \"9s\"", 2, 0);
    let compared = |b: &Run, force| {
        let [a, b] = [&plain, b].map(|run| Selection { run, cell: None });
        compare(a, b, &CompareOptions { force, ..CompareOptions::default() })
    };
    let refused = compared(&other, false).unwrap_err();
    assert!(refused.to_string().contains("interval is `1ms` in A and `2ms` in B"), "{refused}");
    assert_eq!(compared(&other, true).unwrap().pairs.len(), 2);
    assert_eq!(compared(&longer, false).unwrap().pairs.len(), 2, "another duration is no obstacle");
    let [a, b] = [(&plain, None), (&longer, Some(0))].map(|(run, cell)| Selection { run, cell });
    let refused = compare(a, b, &CompareOptions::default()).unwrap_err();
    assert_eq!(refused, Incomparable::RunAndCell);
}

#[test]
fn a_cell_is_found_by_label_number_or_part() {
    let run = run("a", "", 1, 0);
    for (text, cell) in [("other", 0), ("1", 0), ("2", 1), ("fifo:90", 1), ("fifo", 1)] {
        assert_eq!(find_cell(&run, text), Ok(cell), "{text}");
    }
    for text in ["", "0", "3", "deadline", "o"] {
        let error = find_cell(&run, text).unwrap_err().to_string();
        assert!(error.contains("2 (fifo:90)"), "{text}: {error}");
    }
}

#[test]
fn limits_of_quantiles_are_read_and_written() {
    for text in ["99.9=80us", "50=1.5ms"] {
        assert_eq!(text.parse::<QuantileLimit>().unwrap().to_string(), text);
    }
    assert_eq!("99 % = 1ms".parse::<QuantileLimit>().unwrap().to_string(), "99=1ms");
    for text in ["99.9", "100=1ms", "0=1ms", "-5=1ms", "99=80", "=1ms", "NaN=1ms"] {
        assert!(text.parse::<QuantileLimit>().is_err(), "{text}");
    }
}

#[test]
fn an_invalid_run_does_not_pass_a_demand_for_validity() {
    let judged = |run: &Run, wanted| {
        let mut report = judge(run, &[Demand::Missed(u64::MAX)], None, false);
        report.demand_validity("the run", &verdict::verdict(run), wanted);
        let last = report.judgements.last().expect("the demand").clone();
        (report.failures(), last.demand, last.found)
    };
    let mut one_round = run("r", "", 1, 0);
    let (failures, demand, _) = judged(&one_round, Validity::WithWarnings);
    assert_eq!((failures, demand.as_str()), (0, "valid"));
    let (failures, demand, found) = judged(&one_round, Validity::Valid);
    assert_eq!((failures, demand.as_str()), (1, "valid without warnings"));
    assert!(found.contains("rounds: only one"), "{found}");
    one_round.header.facts_before.cpu.clock_source = Some("jiffies".to_owned());
    let (failures, _, found) = judged(&one_round, Validity::WithWarnings);
    assert_eq!((failures, found.as_str()), (1, "clock source: jiffies"));
}

/// The run of [`run`], measured in a guest with this kind of time.
fn run_in_guest(id: &str, time: &str) -> Run {
    let mut run = run(id, "kernel = \"debian\"", 3, 1);
    for cell in &mut run.header.plan.cells {
        let tactus_model::cell::Target::Guest(guest) = &mut cell.target else {
            panic!("{cell:?} is measured on the host");
        };
        guest.time = time.parse().unwrap();
    }
    run
}

#[test]
fn deterministic_time_is_compared_only_with_the_same_speed() {
    let check = |a: &Run, b: &Run, refused: Option<[&str; 2]>| {
        for (cell, force) in [(None, false), (None, true), (Some(0), false), (Some(1), true)] {
            let side = |run| Selection { run, cell };
            let options = CompareOptions { force, ..CompareOptions::default() };
            match (compare(side(a), side(b), &options), refused) {
                (Ok(comparison), None) => assert!(!comparison.pairs.is_empty()),
                (Err(error @ Incomparable::Time { .. }), Some(times)) => {
                    let error = error.to_string();
                    assert!(times.iter().all(|time| error.contains(time)), "{error}");
                }
                (found, _) => panic!("{found:?} with {cell:?}, {force}"),
            }
        }
    };
    let exact = run_in_guest("exact", "exact");
    let (slow, wall) = (run_in_guest("slow", "exact:125"), run_in_guest("wall", "wall"));
    let in_words = ["deterministic time of 1000 million", "wall time"];
    check(&exact, &wall, Some(in_words));
    check(&wall, &exact, Some(in_words));
    check(&exact, &slow, Some(["of 1000 million", "of 125 million"]));
    check(&run("host", "", 3, 1), &slow, Some(["wall time", "deterministic time"]));
    check(&exact, &run_in_guest("again", "exact"), None);
    check(&wall, &run_in_guest("again", "wall"), None);
}
