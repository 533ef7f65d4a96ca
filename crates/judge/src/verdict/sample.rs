//! The size and consistency of a run's sample.

use tactus_model::format;
use tactus_model::run::Run;
use tactus_model::sample_kind::SampleKind;
use tactus_model::time::Nanos;
use tactus_stats::LatencyHistogram;
use tactus_stats::narrow::Narrowness;
use tactus_stats::unseen::UnseenBound;

use super::cell_record::CellRecord;
use super::guest::is_exact;
use crate::finding::{Check, Finding};

pub(crate) const SIZE: Check = Check {
    name: "sample size",
    why: "A quantile depends on the samples beyond it, and only large samples contain rare events.",
};

pub(crate) const ROUNDS: Check = Check {
    name: "rounds",
    why: "Machines drift; only several rounds distinguish drift from a difference between cells.",
};

pub(crate) const SEEDS: Check = Check {
    name: "seeds",
    why: "In deterministic time, rounds differ only by their seeds; each seed takes other code paths.",
};

pub(crate) const NARROWNESS: Check = Check {
    name: "intervals",
    why: "The run continued until the intervals were narrow or its limit was reached.",
};

/// With fewer samples than this in a cell, its p99.9 depends on fewer than ten samples.
const SAMPLES_WANTED: u64 = 10_000;

/// Rounds of a cell disagree if their p99s differ by more than this factor.
const DISAGREEMENT: f64 = 2.0;

pub(super) fn findings(run: &Run, cells: &[CellRecord<'_>]) -> Vec<Finding> {
    // Without a result there is no sample to judge.
    if cells.is_empty() {
        return Vec::new();
    }
    [few_samples(run, cells), one_round(run), rounds_disagree(run, cells), too_wide(run)]
        .into_iter()
        .flatten()
        .collect()
}

/// The number of due times with a known latency: observed and missed.
fn known(cell: &CellRecord<'_>) -> u64 {
    cell.accounting.observed.saturating_add(cell.accounting.missed)
}

fn few_samples(run: &Run, cells: &[CellRecord<'_>]) -> Option<Finding> {
    let fewest = cells.iter().min_by_key(|cell| known(cell))?;
    let seen = known(fewest);
    let kind = SampleKind::of(fewest.cell);
    let counted = if kind.is_due() { "due time" } else { kind.noun() };
    (seen < SAMPLES_WANTED).then(|| {
        let effect = match UnseenBound::after(seen) {
            Some(bound) => format!(
                "Events rarer than 1 in {} cannot be excluded.",
                format::counted((1.0 / bound.rate) as u64, kind.noun())
            ),
            None => "The sample supports no conclusion.".to_owned(),
        };
        SIZE.warning(format!("only {} in {}", format::counted(seen, counted), fewest.label), effect)
            .fixed_by(by_measuring(run, "with a longer `--duration` or more `--rounds`"))
    })
}

/// A fix by measuring again; `None` for the results of another tool, which has other options.
fn by_measuring(run: &Run, how: &str) -> Option<String> {
    run.header.origin.is_none().then(|| format!("measure {how}"))
}

fn one_round(run: &Run) -> Option<Finding> {
    (run.header.plan.rounds == 1).then(|| {
        if is_exact(run) {
            return SEEDS
                .warning(
                    "only one seed",
                    "Medians and minima hardly depend on the seed, but tails do; one seed does not show how much.",
                )
                .fixed_by("measure with `--rounds 20`, each with its own seed".to_owned());
        }
        ROUNDS
            .warning(
                "only one round",
                "Drift cannot be distinguished from a difference between cells.",
            )
            .fixed_by(by_measuring(run, "with `--rounds 3`"))
    })
}

fn rounds_disagree(run: &Run, cells: &[CellRecord<'_>]) -> Option<Finding> {
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
            "the p99 of {label} is between {} and {}, depending on the {}",
            format::latency(least),
            format::latency(most),
            if is_exact(run) { "seed" } else { "round" },
        );
        match is_exact(run) {
            true => SEEDS.warning(
                fact,
                "This is not drift: other seeds take other code paths. Compare tails over many seeds.",
            ),
            // The files of other programs do not contain when a latency occurred.
            false if run.header.origin.is_some() => {
                ROUNDS.warning(fact, "The machine drifted between the rounds.")
            }
            false => ROUNDS.warning(
                fact,
                "The machine drifted during the run; the drawing \"Second by second\" of its page shows when.",
            ),
        }
    })
}

/// The cells whose interval is still wider than the run's aim.
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
        format!(
            "{} is not known to {} in {first}{others}",
            until.aim.percentile(),
            until.aim.width.in_words()
        ),
        "The percentile is less certain than requested.",
    );
    let longer = until.limit.saturating_mul(2);
    Some(finding.fixed_by(format!("measure with `--limit {longer}`")))
}

/// The p99 of each round, *per wakeup*.
fn round_p99s(cell: &CellRecord<'_>) -> Vec<Nanos> {
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
