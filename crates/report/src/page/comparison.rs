//! The page of a comparison: each pair of cells with both curves in one graph.

use askama::Template;
use tactus_judge::compare::{
    ComparedCell, Comparison, Design, PairComparison, QuantileComparison, Verdict,
};
use tactus_model::result::Measurement;
use tactus_model::run::Run;
use tactus_model::time::Nanos;
use tactus_stats::{CellSummary, PercentileAxis, percentile_curve};

use super::ReportError;
use crate::format;
use crate::guests::guests_notes;
use crate::svg;
use crate::svg::percentiles::{self, Curve, Shared};
use crate::svg::style::CurveStyle;

/// Writes the page of `comparison`, which compares cells of `b` with cells of `a`.
///
/// # Errors
/// The page could not be put together.
pub fn comparison_page(comparison: &Comparison, a: &Run, b: &Run) -> Result<String, ReportError> {
    let curves: Vec<[Curve; 2]> =
        comparison.pairs.iter().map(|pair| [curve(a, &pair.a, 0), curve(b, &pair.b, 1)]).collect();
    let shared = [PercentileAxis::Reciprocal, PercentileAxis::Exponential]
        .map(|axis| Shared::of(axis, curves.iter().flatten()));
    let pairs = comparison.pairs.iter().zip(&curves).map(|(pair, curves)| PairView {
        title: title(pair),
        a: side(&pair.a),
        b: side(&pair.b),
        figures: pair.quantiles.iter().map(FigureView::of).collect(),
        not_compared: pair.quantiles.iter().filter_map(not_compared).collect(),
        missed: missed(pair),
        unknown: pair.unknown.join(", "),
        graphs: shared.map(|shared| percentiles::panel("", curves, shared).inline()).to_vec(),
    });
    let page = Page {
        title: title_of(comparison),
        sentence: comparison_in_words(comparison),
        invalid: invalid(comparison),
        limits: guests_notes([a, b]),
        how: how_compared(comparison),
        pairs: pairs.collect(),
        only: only(comparison),
        facts: comparison
            .facts
            .iter()
            .map(|fact| (fact.fact.clone(), fact.a.clone(), fact.b.clone()))
            .collect(),
        styles: [svg::style::STYLE, include_str!("../../templates/page.css")].concat(),
        version: env!("CARGO_PKG_VERSION"),
    };
    Ok(page.render()?)
}

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

/// How the comparison was made and what its verdicts mean, in sentences.
pub fn how_compared(comparison: &Comparison) -> Vec<String> {
    let margin = format!("{}{}%", comparison.margin * 100.0, format::THIN_SPACE);
    let mut words = Vec::new();
    if comparison.tests() > 0 {
        words.push(format!(
            "The same: the interval is within ±{margin}. Better and worse: adjusted for all {} tests together \
             (Hochberg), with a false alarm in at most 5 of 100 comparisons. Intervals are at 95 % confidence \
             and not adjusted for multiple comparisons. The unit is the round; A and B are geometric means \
             over rounds.",
            comparison.tests()
        ));
    }
    words.push(
        match comparison.design {
            Design::Interleaved => {
                "Both are cells of one run and took turns, so drift affected both sides equally."
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
                 drift so much that even 1000 rounds of each would not detect it."
            ),
        });
    }
    words
}

fn curve(run: &Run, cell: &ComparedCell, number: usize) -> Curve {
    let measurements: Vec<&Measurement> = run.of_cell(cell.cell).collect();
    let summary = CellSummary::pool(&measurements);
    Curve {
        name: if number == 0 { "A" } else { "B" }.to_owned(),
        style: CurveStyle::numbered(number),
        points: percentile_curve(&summary.per_wakeup),
    }
}

fn title(pair: &PairComparison) -> String {
    if pair.a.label == pair.b.label {
        pair.a.label.clone()
    } else {
        format!("{} → {}", pair.a.label, pair.b.label)
    }
}

/// What is compared: cells of one run, or two runs.
fn title_of(comparison: &Comparison) -> String {
    let (a, b) = (&comparison.a.run, &comparison.b.run);
    if a == b { format!("Cells of {a}") } else { format!("A {a} · B {b}") }
}

/// A sentence for each side that is invalid.
fn invalid(comparison: &Comparison) -> Vec<String> {
    let sides = [("A", &comparison.a), ("B", &comparison.b)];
    let invalid = sides.into_iter().filter_map(|(side, validity)| {
        let why = validity.why_invalid.as_ref()?;
        Some(format!("{side} is invalid, which may explain a difference: {why}"))
    });
    invalid.collect()
}

/// Why a quantile was not compared; `None` if it was.
fn not_compared(figure: &QuantileComparison) -> Option<String> {
    let reason = figure.not_compared.as_ref()?;
    Some(format!("{} was not compared: {reason}.", format::percentile(figure.quantile)))
}

fn side(cell: &ComparedCell) -> String {
    let rounds = format::counted(cell.rounds as u64, "round");
    let measured =
        cell.measured_by.as_ref().map_or(String::new(), |tool| format!(", measured by {tool}"));
    format!("{}#{} ({}), {rounds}{measured}", cell.run, cell.cell + 1, cell.label)
}

fn missed(pair: &PairComparison) -> Option<String> {
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

fn only(comparison: &Comparison) -> Vec<String> {
    let of = |side: &str, labels: &[String]| -> Vec<String> {
        labels.iter().map(|label| format!("only in {side}: {label}")).collect()
    };
    [of("A", &comparison.only_a), of("B", &comparison.only_b)].concat()
}

/// A difference of durations with its sign.
pub fn signed(nanos: f64) -> String {
    let sign = if nanos < 0.0 { '−' } else { '+' };
    // The cast saturates; no difference of durations is out of range.
    format!("{sign}{}", format::latency(Nanos::from_nanos(nanos.abs().round() as u64)))
}

/// A pair of cells.
struct PairView {
    title: String,
    a: String,
    b: String,
    figures: Vec<FigureView>,
    /// Why some quantiles are missing.
    not_compared: Vec<String>,
    missed: Option<String>,
    unknown: String,
    graphs: Vec<String>,
}

/// A quantile of both sides.
struct FigureView {
    quantile: String,
    a: String,
    b: String,
    ratio: String,
    ratios: String,
    nanos: String,
    lengths: String,
    verdict: &'static str,
    /// The CSS class of the verdict.
    class: &'static str,
}

impl FigureView {
    fn of(figure: &QuantileComparison) -> Self {
        let latency = |length: Option<Nanos>, unit| {
            length.map_or(format::NOTHING.to_owned(), |length| format::latency_to(length, unit))
        };
        let nothing = || format::NOTHING.to_owned();
        let [unit_a, unit_b] = figure.units;
        let (ratio, ratios, nanos, lengths) = match &figure.difference {
            None => (nothing(), nothing(), nothing(), nothing()),
            Some(found) => (
                format!("{:.3}", found.ratio),
                format!("{:.3}–{:.3}", found.ratio_low, found.ratio_high),
                signed(found.nanos),
                format!("{} to {}", signed(found.nanos_low), signed(found.nanos_high)),
            ),
        };
        Self {
            quantile: format::percentile(figure.quantile),
            a: latency(figure.a, unit_a),
            b: latency(figure.b, unit_b),
            ratio,
            ratios,
            nanos,
            lengths,
            verdict: figure.verdict.map_or("not compared", Verdict::words),
            class: match figure.verdict {
                Some(Verdict::Worse) => "worse",
                Some(Verdict::Better) => "better",
                Some(_) => "alike",
                None => "quiet",
            },
        }
    }
}

#[derive(Template)]
#[template(path = "comparison.html")]
struct Page {
    title: String,
    sentence: String,
    /// Why a side is invalid, if it is.
    invalid: Vec<String>,
    /// The notes on the guests' clock.
    limits: Vec<String>,
    how: Vec<String>,
    pairs: Vec<PairView>,
    only: Vec<String>,
    facts: Vec<(String, String, String)>,
    styles: String,
    version: &'static str,
}
