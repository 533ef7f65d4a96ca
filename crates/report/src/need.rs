//! The demand of periodic threads and the trial of their reserves, as text and as a page.

mod page;

use tactus_explain::jobs::Aperiodic;
use tactus_judge::need::{ArmResult, Demand, Difference, LoadTrial, ThreadNeed, Trial};
use tactus_model::result::Histogram;
use tactus_model::time::Nanos;
use tactus_stats::LatencyHistogram;
use tactus_stats::extreme::TailEstimation;
use tactus_stats::paired::PairedDifference;

use crate::explanation::{no_period, rhythm};
use crate::format;
use crate::table::column::{Column, Entry};
use crate::table::{TableOptions, grid};
use crate::wrap::wrapped;

pub use page::{NeedPage, need_page};

/// The most threads without a period that are named.
const APERIODIC: usize = 20;

/// What the table of threads shows.
const TITLE: &str = "CPU time of the jobs of periodic threads";

/// Writes what the threads need: a row each, then what holds for each of them. Without a periodic
/// thread, says what was seen instead.
pub fn need_text(
    threads: &[ThreadNeed],
    aperiodic: &[Aperiodic],
    options: &TableOptions,
) -> String {
    let width = options.width;
    let mut text = String::new();
    if threads.is_empty() {
        without_a_period(aperiodic)
            .iter()
            .for_each(|line| text.push_str(&wrapped(line, "", width)));
        return text;
    }
    text.push_str(TITLE);
    text.push_str("\n\n");
    text.push_str(&grid(columns(threads), width));
    for thread in threads {
        text.push_str(&format!("\n{}\n\n", name(thread)));
        for sentence in sentences(thread) {
            text.push_str(&wrapped(&sentence, "", width));
        }
    }
    text
}

/// What was seen in place of a periodic thread, and the fix.
fn without_a_period(aperiodic: &[Aperiodic]) -> Vec<String> {
    let mut lines = vec!["No periodic thread was found.".to_owned()];
    lines.extend(aperiodic.iter().take(APERIODIC).map(no_period));
    let more = aperiodic.len().saturating_sub(APERIODIC);
    if more > 0 {
        lines.push(format!("Not shown: {}.", format::counted(more as u64, "more thread")));
    }
    lines.push(
        "fix: name the period, e.g. --period 10ms, or measure for longer with --duration; \
         docs/need.md shows how a program marks its jobs itself."
            .to_owned(),
    );
    lines
}

fn name(thread: &ThreadNeed) -> String {
    format!("{} ({})", format::printable(&thread.name), thread.thread)
}

fn columns(threads: &[ThreadNeed]) -> Vec<Column> {
    let rows: Vec<(&ThreadNeed, LatencyHistogram)> = threads
        .iter()
        .map(|thread| (thread, LatencyHistogram::from_record(&thread.demand.costs)))
        .collect();
    let limit = |demand: &Demand| demand.limit.map(|limit| limit.value);
    vec![
        Column::names("thread", &rows, |(thread, _)| Entry::text(name(thread))),
        Column::of("period", &rows, |(thread, _)| Entry::latency(Some(thread.demand.period))),
        Column::of("jobs", &rows, |(thread, _)| Entry::count(thread.demand.jobs)),
        Column::of("mean", &rows, |(thread, _)| Entry::latency(Some(thread.demand.mean))),
        Column::of("median", &rows, |(_, costs)| Entry::latency(costs.quantile(0.5)))
            .dispensable(1),
        Column::of("p99", &rows, |(_, costs)| Entry::latency(costs.quantile(0.99))).dispensable(2),
        Column::of("max", &rows, |(_, costs)| Entry::latency(costs.max())),
        Column::of("limit", &rows, |(thread, _)| Entry::latency(limit(&thread.demand)))
            .meaning("upper confidence limit of the quantile that the reserve covers"),
        Column::of("reserve", &rows, |(thread, _)| {
            Entry::optional(thread.demand.reserve.ok().map(|reserve| reserve.to_string()))
        }),
    ]
}

/// What holds for a thread.
fn sentences(thread: &ThreadNeed) -> Vec<String> {
    let demand = &thread.demand;
    let missed = (thread.missed > 0).then(|| {
        let times = format::counted(thread.missed, "due time");
        format!("The thread missed {times}: it began no job for them.")
    });
    let void = (thread.void > 0).then(|| {
        format!("Not counted: {} across lost events.", format::counted(thread.void, "job"))
    });
    let interrupts = (demand.interrupted > Nanos::ZERO).then(|| {
        format!(
            "Interrupts take {} of a job on average; they are included.",
            format::latency(demand.interrupted)
        )
    });
    let changed = demand.changed.map(|[first, last]| {
        format!(
            "warning: the median cost changed from {} to {} during the measurement. The limit holds \
             only if it stays there. fix: measure for longer, from the first job to the last.",
            format::latency(first),
            format::latency(last)
        )
    });
    let known = [limit(demand), interrupts, bursts(demand), tail(demand), changed, missed, void];
    let refused = demand.reserve.err().map(|reason| format!("No reserve: {reason}."));
    let rhythm = rhythm(&thread.due, &thread.period);
    [rhythm].into_iter().chain(known.into_iter().flatten()).chain(refused).collect()
}

/// What the limit and the cushion are.
fn limit(demand: &Demand) -> Option<String> {
    let limit = demand.limit?;
    let covers = format!(
        "With {} confidence, {} of jobs use at most {}.",
        format::percentile(limit.confidence),
        share_of_jobs(limit.quantile),
        format::latency(limit.value)
    );
    let short = demand.needed.map(|needed| {
        format!(
            " A limit for {} needs a measurement of {} at this period.",
            share_of_jobs(demand.asked.quantile),
            format::span(needed)
        )
    });
    let cushion = format!(
        " The reserve adds a cushion of {} ({}).",
        format::percentile(demand.asked.cushion),
        format::latency(demand.cushion)
    );
    Some(covers + &short.unwrap_or_default() + &cushion)
}

/// A share of jobs with up to three decimals.
fn share_of_jobs(share: f64) -> String {
    format::percentile((share * 1e5).round() / 1e5)
}

/// What bursts cost, and what a program that buffers needs.
fn bursts(demand: &Demand) -> Option<String> {
    let runs = demand.is_bursty().then_some(&demand.runs)?;
    let averages: Vec<String> =
        runs.iter().map(|run| format!("{} over {}", format::latency(run.cost), run.jobs)).collect();
    Some(format!(
        "The costs vary: the limit is {:.1} times the mean. The greatest averages of \
         consecutive jobs are {}. A program that buffers as many periods needs no more than that.",
        demand.limit?.value.as_nanos() as f64 / demand.mean.as_nanos().max(1) as f64,
        averages.join(", ")
    ))
}

fn tail(demand: &Demand) -> Option<String> {
    let TailEstimation::Estimate { levels, .. } = &demand.tail else { return None };
    let level = levels.first()?.level?;
    Some(format!(
        "Estimate, not a bound: once in {}, a job uses {} or more (95{}% interval {} to {}).",
        format::span(level.period),
        format::latency(level.level),
        format::THIN_SPACE,
        format::latency(level.low),
        format::latency(level.high)
    ))
}

/// Writes the trial of the reserve that a thread needs.
pub fn trial_text(need: &ThreadNeed, trial: &Trial, options: &TableOptions) -> String {
    let mut text = format!("{}\n\n", trial_title(need));
    text.push_str(&grid(trial_columns(&trial.loads), options.width));
    text.push('\n');
    for sentence in trial_sentences(need, trial) {
        text.push_str(&wrapped(&sentence, "", options.width));
    }
    text
}

fn trial_title(need: &ThreadNeed) -> String {
    let reserve =
        need.demand.reserve.map_or_else(|_| "a reserve".to_owned(), |one| one.to_string());
    format!("{} with and without {reserve}", format::printable(&need.name))
}

/// Whether the reserve helped, and whether its size is enough.
fn trial_sentences(need: &ThreadNeed, trial: &Trial) -> Vec<String> {
    let cost = need.demand.reserve.map_or(Nanos::MAX, |reserve| reserve.cost());
    let larger = need.demand.reserve_for_cost(trial.cost_max).ok();
    let larger = larger.filter(|_| trial.cost_max > cost).map(|larger| {
        let used = format::latency(trial.cost_max);
        format!(
            "Under these loads, a job used up to {used}, more than the reserve. fix: use {larger}"
        )
    });
    [difference(&trial.difference)].into_iter().chain(larger).collect()
}

/// One of the kinds of window under a load.
type ArmOf = fn(&LoadTrial) -> &ArmResult;

fn trial_columns(loads: &[LoadTrial]) -> Vec<Column> {
    let quantile = |histogram: &Histogram, quantile| {
        Entry::latency(LatencyHistogram::from_record(histogram).quantile(quantile))
    };
    let arms: [(&'static str, ArmOf); 2] =
        [("without reserve", |load| &load.without), ("with reserve", |load| &load.with)];
    let mut columns =
        vec![Column::names("load", loads, |load: &LoadTrial| Entry::text(load.load.to_string()))];
    for (group, arm) in arms {
        columns.extend([
            Column::of("due", loads, |load| Entry::count(arm(load).due_times)).grouped(group),
            Column::of("misses", loads, |load| Entry::count(arm(load).misses)).grouped(group),
            Column::of("p50", loads, |load| quantile(&arm(load).responses, 0.5)).grouped(group),
            Column::of("p99", loads, |load| quantile(&arm(load).responses, 0.99)).grouped(group),
        ]);
    }
    columns
}

/// A difference of shares in percentage points, with its interval. The interval of a few pairs can
/// be wider than any difference of shares.
fn points(paired: &PairedDifference) -> String {
    let points = |difference: f64| difference.clamp(-1.0, 1.0) * 100.0;
    format!(
        "{:.1} percentage points (95{}% interval {:.1} to {:.1}, {})",
        points(paired.mean),
        format::THIN_SPACE,
        points(paired.low),
        points(paired.high),
        format::counted(paired.pairs, "pair")
    )
}

/// Half of an interval, in shares, from which there are too few pairs to find a difference.
const WIDE: f64 = 0.1;

fn difference(difference: &Difference) -> String {
    match difference {
        Difference::NoMisses => {
            "No deadline was missed with or without the reserve: these loads do not need it. fix: \
             try heavier loads, e.g. --load compute:8."
                .to_owned()
        }
        Difference::None { paired: None } => {
            "Too few pairs of windows: a difference needs at least two. fix: more pairs, e.g. --rounds 3."
                .to_owned()
        }
        Difference::None { paired: Some(paired) } => {
            let is_wide = paired.high - paired.low > 2.0 * WIDE;
            let fix = if is_wide {
                " Too few pairs to exclude a large one. fix: more pairs, e.g. --rounds 10."
            } else {
                ""
            };
            format!(
                "No difference found: with the reserve, the share of missed deadlines changes by {}.{fix}",
                points(paired)
            )
        }
        Difference::Fewer { paired } => {
            let lowered = PairedDifference {
                mean: -paired.mean,
                low: -paired.high,
                high: -paired.low,
                pairs: paired.pairs,
            };
            format!("The reserve lowers the share of missed deadlines by {}.", points(&lowered))
        }
        Difference::More { paired } => format!(
            "The reserve raises the share of missed deadlines by {}. It is too small under these \
             loads, or others were admitted beside it.",
            points(paired)
        ),
    }
}

#[cfg(test)]
mod tests {
    use tactus_explain::jobs::{CpuTime, DoneJob, DueBy, NoPeriod, Period};
    use tactus_judge::need::{Arm, Asked, TrialWindow};
    use tactus_model::recording::ThreadId;
    use tactus_model::time::Instant;

    use super::*;

    const PERIOD: Nanos = Nanos::from_millis(40);

    fn jobs(costs: impl IntoIterator<Item = u64>) -> Vec<DoneJob> {
        let job = |(number, cost): (u64, u64)| {
            let due = Instant::from_nanos((number + 1) * PERIOD.as_nanos());
            let used =
                CpuTime { own: Nanos::from_micros(cost), interrupted: Nanos::from_micros(12) };
            DoneJob { thread: ThreadId(7), due, done: due + used.own, missed: 0, used }
        };
        (0..).zip(costs).map(job).collect()
    }

    fn need(name: &str, thread: i32, costs: impl IntoIterator<Item = u64>) -> ThreadNeed {
        let period = Period { length: PERIOD, fit: 1.0, spacings: 400, median: PERIOD };
        ThreadNeed {
            thread: ThreadId(thread),
            name: name.to_owned(),
            due: DueBy::Timer,
            period,
            missed: 0,
            void: 0,
            demand: Demand::of(&jobs(costs), PERIOD, &Asked::default()),
        }
    }

    #[test]
    fn needs_of_threads_are_rows_and_sentences() {
        let threads = [
            need("audio", 7, [3000; 3200]),
            need("video", 8, (0..400).map(|frame| if frame % 12 == 0 { 20_000 } else { 5000 })),
            ThreadNeed { missed: 3, void: 2, ..need("brief\u{7}", 9, [100; 7]) },
            need("busy", 10, [41_000; 100]),
        ];
        insta::assert_snapshot!(need_text(&threads, &[], &TableOptions::of_width(100)));
    }

    #[test]
    fn without_a_periodic_thread_what_was_seen_is_reported() {
        let aperiodic = [
            Aperiodic {
                thread: ThreadId(7),
                name: "worker".to_owned(),
                reason: NoPeriod::TooFew { spacings: 3 },
            },
            Aperiodic {
                thread: ThreadId(8),
                name: "poller".to_owned(),
                reason: NoPeriod::Irregular(Period {
                    length: PERIOD,
                    fit: 0.3,
                    spacings: 90,
                    median: PERIOD,
                }),
            },
        ];
        insta::assert_snapshot!(need_text(&[], &aperiodic, &TableOptions::of_width(100)));
    }

    #[test]
    fn the_sign_of_a_difference_is_in_its_verb_and_few_pairs_are_named() {
        let paired = |mean: f64, half: f64| PairedDifference {
            mean,
            low: mean - half,
            high: mean + half,
            pairs: 3,
        };
        let check = |found: Difference, expected: &str| {
            let text = difference(&found).replace(format::THIN_SPACE, "");
            assert!(text.contains(expected), "{text}");
        };
        let lowered = "lowers the share of missed deadlines by 48.0 percentage points (95% interval \
                       45.0 to 51.0, 3 pairs)";
        check(Difference::Fewer { paired: paired(-0.48, 0.03) }, lowered);
        check(Difference::More { paired: paired(0.48, 0.03) }, "raises the share");
        let none = |mean, half| Difference::None { paired: Some(paired(mean, half)) };
        check(none(-0.02, 0.05), "changes by -2.0 percentage points (95% interval -7.0 to 3.0");
        check(none(-0.5, 0.8), "Too few pairs to exclude a large one. fix: more pairs");
        assert!(!difference(&none(-0.02, 0.05)).contains("Too few"));
        check(Difference::None { paired: None }, "Too few pairs of windows");
    }

    #[test]
    fn a_trial_has_a_row_for_each_load_and_a_conclusion() {
        let window = |pair: usize, arm, late: u64| {
            let mut jobs = jobs([3000; 50]);
            for job in &mut jobs[..late as usize] {
                job.done = job.due + Nanos::from_millis(55);
            }
            let load = if pair.is_multiple_of(2) { "compute:2" } else { "idle" };
            let load = load.parse().unwrap();
            TrialWindow { thread: ThreadId(7), load, pair, arm, deadline: PERIOD, jobs }
        };
        let windows: Vec<TrialWindow> = (0..6)
            .flat_map(|pair| {
                [window(pair, Arm::Without, 20 + pair as u64), window(pair, Arm::With, 0)]
            })
            .collect();
        let trials = Trial::of(&windows);
        let need = need("audio", 7, [3000; 3200]);
        let text = trial_text(&need, &trials[0], &TableOptions::of_width(100));
        insta::assert_snapshot!(text);
        let page = NeedPage {
            subject: "./player <script>".to_owned(),
            threads: &[need],
            aperiodic: &[],
            trials: &trials,
            command: Some("tactus reserve 3.75ms/40ms --threads audio -- ./player".to_owned()),
            notes: Vec::new(),
        };
        let page = need_page(page).unwrap();
        assert!(page.contains("<svg") && page.contains("compute:2"), "{page}");
        assert!(page.contains("audio with and without 3.77ms/40ms") && !page.contains("<script"));
    }
}
