//! What the sample of a run supports.

use tactus_model::format;
use tactus_model::run::Run;
use tactus_model::time::Nanos;
use tactus_stats::LatencyHistogram;
use tactus_stats::narrow::Narrowness;
use tactus_stats::unseen::UnseenBound;

use super::evidence::Evidence;
use super::guest::is_exact;
use crate::finding::{Check, Finding};

pub(crate) const SIZE: Check = Check {
    name: "sample size",
    why: "A quantile rests on the samples beyond it, and what is rare is seen in large samples only.",
};

pub(crate) const ROUNDS: Check = Check {
    name: "rounds",
    why: "A machine drifts; only rounds tell this from a difference between cells.",
};

pub(crate) const SEEDS: Check = Check {
    name: "seeds",
    why: "In exact time rounds differ by their seeds alone; each meets other paths at other moments.",
};

pub(crate) const NARROWNESS: Check = Check {
    name: "intervals",
    why: "The run was to go on until they were narrow, or its limit was met.",
};

/// Below this many samples in a cell, its p99.9 rests on fewer than ten of them.
const SAMPLES_WANTED: u64 = 10_000;

/// Rounds of a cell whose p99 differ by more than this factor disagree.
const DISAGREEMENT: f64 = 2.0;

pub(super) fn findings(run: &Run, cells: &[Evidence<'_>]) -> Vec<Finding> {
    [few_samples(cells), one_round(run), rounds_disagree(run, cells), too_wide(run)]
        .into_iter()
        .flatten()
        .collect()
}

/// Due times whose latency is known: of those observed and of those missed.
fn known(cell: &Evidence<'_>) -> u64 {
    cell.accounting.observed.saturating_add(cell.accounting.missed)
}

fn few_samples(cells: &[Evidence<'_>]) -> Option<Finding> {
    let fewest = cells.iter().min_by_key(|cell| known(cell))?;
    let seen = known(fewest);
    (seen < SAMPLES_WANTED).then(|| {
        let effect = match UnseenBound::after(seen) {
            Some(bound) => format!(
                "What did not happen in it may still happen to one wakeup in {}.",
                format::count((1.0 / bound.rate) as u64)
            ),
            None => "Nothing can be said from it.".to_owned(),
        };
        SIZE.warning(format!("{} under {}", format::count(seen), fewest.label), effect)
            .fixed_by("measure with a longer --duration, or more --rounds".to_owned())
    })
}

fn one_round(run: &Run) -> Option<Finding> {
    (run.header.plan.rounds == 1).then(|| {
        if is_exact(run) {
            return SEEDS
                .warning(
                    "one only",
                    "Medians and the shortest hardly depend on it; tails do, and one seed does not tell how far.",
                )
                .fixed_by("measure with --rounds 20, each of which is another seed".to_owned());
        }
        ROUNDS
            .warning(
                "one only",
                "Drift of the machine cannot be told from a difference between cells.",
            )
            .fixed_by("measure with --rounds 3".to_owned())
    })
}

fn rounds_disagree(run: &Run, cells: &[Evidence<'_>]) -> Option<Finding> {
    let (factor, least, most, label) = cells
        .iter()
        .filter_map(|cell| {
            let p99s: Vec<Nanos> = round_p99s(cell);
            let (least, most) = (*p99s.iter().min()?, *p99s.iter().max()?);
            let factor = most.as_nanos() as f64 / least.as_nanos().max(1) as f64;
            Some((factor, least, most, &cell.label))
        })
        .max_by(|(a, ..), (b, ..)| a.total_cmp(b))?;
    (factor > DISAGREEMENT).then(|| {
        let fact = format!(
            "they disagree, most under {label}: p99 from {} to {}",
            format::latency(least),
            format::latency(most)
        );
        match is_exact(run) {
            true => SEEDS.warning(
                fact,
                "Nothing drifted: another seed meets other paths. Compare tails over many seeds, never by one.",
            ),
            false => ROUNDS.warning(
                fact,
                "Something changed that the plan does not tell; the seconds show when.",
            ),
        }
    })
}

/// The cells whose interval the run was to narrow and did not.
fn too_wide(run: &Run) -> Option<Finding> {
    let plan = &run.header.plan;
    let until = plan.until?;
    let wide: Vec<String> = (0..plan.cells.len())
        .filter(|cell| !Narrowness::of(&run.of_cell(*cell).collect::<Vec<_>>(), until.aim).met)
        .map(|cell| plan.labels().swap_remove(cell))
        .collect();
    let first = wide.first()?;
    let others = match wide.len() {
        1 => String::new(),
        count => format!(" and {}", format::counted(count as u64 - 1, "other cell")),
    };
    let finding = NARROWNESS.warning(
        format!("wider than {} under {first}{others}", until.aim),
        "The percentile is less certain than was asked for.",
    );
    Some(finding.fixed_by(format!("measure with a --limit of more than {}", until.limit)))
}

/// The p99 of each round, *per wakeup*.
fn round_p99s(cell: &Evidence<'_>) -> Vec<Nanos> {
    cell.measurements
        .iter()
        .filter_map(|measurement| {
            let mut histogram = LatencyHistogram::new();
            for block in measurement.tasks.iter().flat_map(|task| &task.blocks) {
                histogram.merge_record(block);
            }
            histogram.quantile(0.99)
        })
        .collect()
}
