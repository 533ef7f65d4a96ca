//! Comparisons of runs and cells in words.

mod text;

use tactus_judge::compare::{
    ComparedCell, Comparison, Design, Difference, PairComparison, QuantileComparison, Verdict,
};
use tactus_model::time::Nanos;

use crate::format::{self, THIN_SPACE};

pub use text::comparison_text;

/// The outcome of a comparison in a sentence.
pub fn comparison_in_words(comparison: &Comparison) -> String {
    let figures = || comparison.pairs.iter().flat_map(|pair| &pair.quantiles);
    let count = |wanted| figures().filter(|figure| figure.verdict == Some(wanted)).count();
    let compared = figures().filter(|figure| figure.verdict.is_some()).count();
    if compared == 0 {
        return "No figure has enough data to be compared.".to_owned();
    }
    if count(Verdict::NoDifferenceFound) == compared {
        let figures = format::counted(compared as u64, "figure");
        return format!("No difference found in {figures}.");
    }
    let parts: Vec<String> = [
        (count(Verdict::Worse), "worse"),
        (count(Verdict::Better), "better"),
        (count(Verdict::Same), "the same"),
        (count(Verdict::NoDifferenceFound), "with no difference found"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, words)| format!("{count} {words}"))
    .collect();
    format!(
        "B compared with A in {}: {}.",
        format::counted(compared as u64, "figure"),
        parts.join(", ")
    )
}

/// The verdict on a figure in words, as far as it was compared.
///
/// An interval alone may exclude 1 although the adjusted test does not find a difference.
pub(crate) fn verdict_in_words(figure: &QuantileComparison) -> &'static str {
    match figure.verdict {
        None => "not compared",
        Some(Verdict::NoDifferenceFound) if excludes_one(figure) => "not significant",
        Some(verdict) => verdict.words(),
    }
}

fn excludes_one(figure: &QuantileComparison) -> bool {
    figure.difference.is_some_and(|found| found.ratio_low > 1.0 || found.ratio_high < 1.0)
}

/// How the comparison was made and what its verdicts mean, in sentences.
pub fn how_compared(comparison: &Comparison) -> Vec<String> {
    let margin = format!("{}{THIN_SPACE}%", comparison.margin * 100.0);
    let mut words = Vec::new();
    if comparison.tests() > 0 {
        words.push(format!(
            "The same: the interval of B / A is within ±{margin}. Better or worse: the difference remains after \
             adjustment for all {} tests together (Hochberg); at most 5 of 100 comparisons have a false alarm. \
             Intervals are at 95 % confidence \
             and not adjusted for multiple comparisons. The unit is the round; A and B are geometric means \
             over rounds.",
            comparison.tests()
        ));
    }
    let mut figures = comparison.pairs.iter().flat_map(|pair| &pair.quantiles);
    if figures
        .any(|figure| figure.verdict == Some(Verdict::NoDifferenceFound) && excludes_one(figure))
    {
        words.push(format!(
            "Not significant: the interval of the figure alone excludes 1, but the difference does not remain \
             after adjustment for {} tests.",
            comparison.tests()
        ));
    }
    words.push(
        match comparison.design {
            Design::Interleaved => {
                "A and B are from one run, whose cells took turns, so drift affected both sides equally."
            }
            Design::Seeds => {
                "Both were measured in deterministic time, which does not depend on the host: rounds differ \
                 only by their seeds. For figures that are the same in every seed, the difference shown is \
                 exact."
            }
            Design::Apart => {
                "A and B are two runs, one after the other, so the difference includes drift between them. \
                 Drift is estimated from the similarity of successive rounds, and intervals are widened by \
                 it. Cells of a single run take turns and need fewer rounds."
            }
        }
        .to_owned(),
    );
    if let Some(rounds) = comparison.rounds_for_margin() {
        words.push(match rounds {
            Some(rounds) => format!(
                "Where no difference was found, a difference of {margin} is still possible; about {rounds} \
                 rounds of each would detect it."
            ),
            None => format!(
                "Where no difference was found, a difference of {margin} is still possible; rounds vary or \
                 drift so much that even 1{THIN_SPACE}000 rounds of each would not detect it."
            ),
        });
    }
    words
}

/// The run, cell and rounds of a side, and the other tool that measured it.
pub(crate) fn side(cell: &ComparedCell) -> String {
    let rounds = format::counted(cell.rounds as u64, "round");
    let measured =
        cell.measured_by.as_ref().map_or(String::new(), |tool| format!(", measured by {tool}"));
    format!("{}#{} ({}), {rounds}{measured}", cell.run, cell.cell + 1, cell.label)
}

/// The missed due times of a pair, if any or unknown.
pub(crate) fn missed(pair: &PairComparison) -> Option<String> {
    let of_side = |cell: &ComparedCell| match cell.missed {
        None => "unknown".to_owned(),
        Some(missed) => {
            format!("{} ({})", format::count(missed), format::share(missed, cell.intended))
        }
    };
    (pair.a.missed != Some(0) || pair.b.missed != Some(0)).then(|| {
        format!(
            "Missed due times, not included in these quantiles: {} → {}.",
            of_side(&pair.a),
            of_side(&pair.b)
        )
    })
}

/// The quantiles that are not compared, a sentence for each reason.
pub(crate) fn not_compared(pair: &PairComparison) -> Vec<String> {
    let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
    for figure in &pair.quantiles {
        let Some(reason) = figure.not_compared.map(|reason| reason.to_string()) else { continue };
        let quantile = format::percentile(figure.quantile);
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, quantiles)) => quantiles.push(quantile),
            None => reasons.push((reason, vec![quantile])),
        }
    }
    let sentence = |(reason, quantiles): (String, Vec<String>)| {
        format!("Not compared at {}: {reason}.", quantiles.join(", "))
    };
    reasons.into_iter().map(sentence).collect()
}

/// The cells that only one side has.
pub(crate) fn only(comparison: &Comparison) -> Vec<String> {
    let of = |side: &str, labels: &[String]| -> Vec<String> {
        labels.iter().map(|label| format!("Only in {side}: {label}")).collect()
    };
    [of("A", &comparison.only_a), of("B", &comparison.only_b)].concat()
}

/// A latency with the precision of its tool, or a dash.
pub(crate) fn latency(latency: Option<Nanos>, unit: Nanos) -> String {
    latency.map_or_else(|| format::NOTHING.to_owned(), |latency| format::latency_to(latency, unit))
}

/// The interval of a ratio.
pub(crate) fn ratios(difference: &Difference) -> String {
    format!("{:.3}–{:.3}", difference.ratio_low, difference.ratio_high)
}

/// The interval of a difference.
pub(crate) fn differences(difference: &Difference) -> String {
    format!("{} to {}", signed(difference.nanos_low), signed(difference.nanos_high))
}

/// A difference of durations with its sign.
pub(crate) fn signed(nanos: f64) -> String {
    format::signed(nanos.round(), |nanos| format::latency(format::rounded_nanos(nanos)))
}
