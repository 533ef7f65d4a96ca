//! What a prediction and its comparison say, in sentences.

use tactus_pipeline::{Behind, Cause, Chance, Conditions, Graph, Prediction};

use super::{Modelled, latency, percent, signed};
use crate::format::{self, THIN_SPACE};

/// The sentences above the tables.
pub(super) fn findings(modelled: &Modelled<'_>) -> Vec<String> {
    let Modelled { graph, prediction, comparison, .. } = modelled;
    let [p50, p99] = [0.5, 0.99].map(|quantile| {
        prediction.quantile(quantile).map_or_else(|| "unknown".to_owned(), |one| latency(one.value))
    });
    let headline = format!(
        "A frame takes {p50} in the median and {p99} at p99, of a budget of {}; {}.",
        latency(graph.budget),
        chance(&prediction.miss, ["misses", "miss"]),
    );
    let measured = comparison.map(|comparison| {
        let errors: Vec<String> = comparison
            .quantiles
            .iter()
            .filter(|one| [0.5, 0.99].contains(&one.quantile))
            .map(|one| format!("{} at {}", signed(one.error), format::percentile(one.quantile)))
            .collect();
        format!(
            "Over {} of the real pipeline, the prediction is off by {}; {}.",
            format::counted(comparison.frames as u64, "frame"),
            errors.join(" and "),
            chance(&comparison.miss, ["missed", "missed"]),
        )
    });
    let behind = prediction.busiest().filter(|busiest| busiest.share >= 1.0).map(|busiest| {
        format!(
            "warning: process `{}` needs {} of each period, so frames queue without end and their \
             time depends on how long the pipeline runs. fix: a longer period, or less work",
            busiest.process,
            percent(busiest.share)
        )
    });
    let first = prediction.improvements.first().map(|first| {
        format!(
            "Improve `{}` first. If it took half as long, p99 would be {} and the chance of a miss {}; \
             without it, {} and {}.",
            first.part,
            latency(first.half.p99),
            percent(first.half.miss),
            latency(first.nothing.p99),
            percent(first.nothing.miss),
        )
    });
    let fell_behind = comparison.and_then(|comparison| fell_behind(comparison.behind));
    let all = [Some(headline), measured, fell_behind, behind, first];
    let conditions = comparison.map(|comparison| doubts(graph, &comparison.conditions));
    let doubts = conditions.unwrap_or_default().into_iter();
    let warnings = modelled.warnings.iter().cloned().chain(doubts);
    let warnings = warnings.map(|text| format!("warning: {text}"));
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

/// What makes the comparison say more about the machine's other work than about the prediction.
fn doubts(graph: &Graph, conditions: &Conditions) -> Vec<String> {
    /// Of the time of a CPU.
    const STEAL_MAX: f64 = 0.01;
    /// Of all CPUs.
    const FOREIGN_MAX: f64 = 0.25;
    let steal = conditions.steal.filter(|steal| *steal > STEAL_MAX).map(|steal| {
        format!(
            "the hypervisor took {} of a CPU while the pipeline ran. Frames that it delayed are not \
             in the operations. fix: compare on a host with free CPUs",
            percent(steal)
        )
    });
    let others = conditions.foreign_operations.zip(conditions.foreign_pipeline);
    let is_idle = graph.cells.get(graph.wake).is_none_or(|cell| cell.load.load.is_idle());
    let others = others.filter(|(before, then)| is_idle && before.max(*then) > FOREIGN_MAX);
    let others = others.map(|(before, then)| {
        format!(
            "other programs used {} of the CPUs while the operations were measured, and {} while \
             the pipeline ran. The comparison depends on what they did in each. fix: stop them, or \
             predict for a load of known size (--load)",
            percent(before),
            percent(then)
        )
    });
    steal.into_iter().chain(others).collect()
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
                format!("{name}: `{part}` differs most, by {} of the measured value", signed(share))
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
    let share = signed(cause.share());
    match cause {
        Cause::Part { part, .. } => format!("`{part}` {share}"),
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
