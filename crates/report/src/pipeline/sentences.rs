//! What a prediction and its comparison say, in sentences.

use tactus_model::time::Nanos;
use tactus_pipeline::{Behind, Cause, Chance, Effect, Prediction};

use super::{Modelled, latency};
use crate::format::{self, THIN_SPACE, percent, signed_percent};

/// The sentences above the tables.
pub(super) fn findings(modelled: &Modelled<'_>) -> Vec<String> {
    let Modelled { graph, prediction, comparison, .. } = modelled;
    let [p50, p99] = [0.5, 0.99].map(|quantile| {
        prediction.quantile(quantile).map_or_else(|| "unknown".to_owned(), |one| latency(one.value))
    });
    let budget = latency(graph.budget);
    let misses = chance(&prediction.miss, ["misses", "miss"]);
    let is_overloaded = prediction.busiest().is_some_and(|busiest| busiest.share >= 1.0);
    let headline = match is_overloaded {
        true => format!(
            "Frames queue without end, so no time of a frame can be predicted. The budget is {budget}; {misses}."
        ),
        false => format!(
            "A frame takes {p50} in the median and {p99} at p99, of a budget of {budget}; {misses}."
        ),
    };
    let measured = comparison.map(|comparison| {
        let errors: Vec<String> = comparison
            .quantiles
            .iter()
            .filter(|one| [0.5, 0.99].contains(&one.quantile))
            .map(|one| {
                format!("{} at {}", signed_percent(one.error), format::percentile(one.quantile))
            })
            .collect();
        format!(
            "Over {} of the real pipeline, the prediction is off by {}; {}.",
            format::counted(comparison.frames as u64, "frame"),
            errors.join(" and "),
            chance(&comparison.miss, ["missed", "missed"]),
        )
    });
    // As little is known of p99 then as of that of the frames as they are.
    let (name, of): (_, fn(&Effect) -> Nanos) = match prediction.quantile(0.99) {
        Some(_) => ("p99", |effect| effect.p99),
        None => ("the median", |effect| effect.median),
    };
    let first = prediction.improvements.first().map(|first| {
        format!(
            "Improve `{}` first. If it took half as long, {name} would be {} and the chance of a miss {}; \
             without it, {} and {}.",
            first.part,
            latency(of(&first.half)),
            percent(first.half.miss),
            latency(of(&first.nothing)),
            percent(first.nothing.miss),
        )
    });
    let fell_behind = comparison.and_then(|comparison| fell_behind(comparison.behind));
    let warnings = comparison.map(|comparison| comparison.warnings(graph)).unwrap_or_default();
    let warnings = modelled.warnings.iter().chain(&warnings);
    let warnings = warnings.map(|warning| format!("warning: {warning}"));
    let all = [Some(headline), measured, fell_behind, first];
    all.into_iter().flatten().chain(warnings).collect()
}

fn fell_behind(Behind { rounds, of }: Behind) -> Option<String> {
    let effect = match rounds == of {
        true => "The figures beside the prediction show how long it ran.",
        false => {
            "The figures beside the prediction are those of the other rounds; misses are of all."
        }
    };
    (rounds > 0).then(|| {
        format!(
            "The real pipeline fell behind in {rounds} of {}: data waited for a busy process for \
             longer than a period. {effect}",
            format::counted(of as u64, "round")
        )
    })
}

/// A chance with its interval, or its bound: `0.31 % of frames miss the budget (95 %: 0.1 – 0.6 %)`.
/// The verb is for one frame, and for several.
fn chance(chance: &Chance, [one, several]: [&str; 2]) -> String {
    match chance.unseen {
        Some(bound) => format!(
            "no frame {one} the budget (with 95{THIN_SPACE}% confidence, fewer than {} do)",
            percent(bound.rate)
        ),
        None => format!(
            "{} of frames {several} the budget (95{THIN_SPACE}%: {} – {})",
            percent(chance.share),
            percent(chance.low),
            percent(chance.high)
        ),
    }
}

/// Why the real pipeline differs from its prediction.
pub(super) fn causes(modelled: &Modelled<'_>) -> Vec<String> {
    let Some(comparison) = modelled.comparison else { return Vec::new() };
    if comparison.behind.rounds == comparison.behind.of {
        return Vec::new();
    }
    let of = |name: &str, causes: &[Cause]| {
        let first = causes.iter().find_map(|cause| match cause {
            Cause::Part { part, share } => Some((part, *share)),
            _ => None,
        });
        let most = match first {
            Some((part, share)) => {
                format!(
                    "{name}: `{part}` differs most, by {} of the measured value",
                    signed_percent(share)
                )
            }
            None => format!("{name}: no part differs by 3{THIN_SPACE}% of it or more"),
        };
        let is_first = |cause: &&Cause| matches!((cause, first), (Cause::Part { part, .. }, Some((most, _))) if part == most);
        let others: Vec<String> =
            causes.iter().filter(|cause| !is_first(cause)).take(4).map(cause).collect();
        match others.is_empty() {
            true => format!("{most}."),
            false => format!("{most}; then {}.", others.join("; ")),
        }
    };
    vec![
        of("Median, real less predicted", &comparison.median_causes),
        of("p99, real less predicted", &comparison.p99_causes),
    ]
}

fn cause(cause: &Cause) -> String {
    let share = signed_percent(cause.share());
    match cause {
        Cause::Part { part, .. } => format!("`{part}` {share}"),
        Cause::Path { .. } => format!("another branch was the later one {share}"),
        Cause::Waiting { .. } => format!("waits for a busy process {share}"),
        Cause::Dependence { .. } => format!(
            "dependence of the parts {share} (against the same measured parts, each drawn alone)"
        ),
        Cause::Speed { .. } => {
            format!("the machine's speed: a system call took {share} while the pipeline ran")
        }
        Cause::Steal { .. } => format!("steal time took {share} of the time of a CPU"),
    }
}

/// What limits the figures.
pub(super) fn notes(modelled: &Modelled<'_>) -> Vec<String> {
    let Prediction { samples, rounds, frames, seed, .. } = modelled.prediction;
    vec![format!(
        "Predicted from {} of each part in {}, drawn in stretches that keep their order, \
         through {} frames in virtual time (seed {seed}). Rarer events than 1 in {} are not in it.",
        format::counted(*samples as u64, "sample"),
        format::counted(*rounds as u64, "round"),
        format::count(*frames as u64),
        format::count(*samples as u64),
    )]
}
