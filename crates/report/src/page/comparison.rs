//! The page of a comparison: each pair of cells with both curves in one graph.

use askama::Template;
use tactus_judge::compare::{
    ComparedCell, Comparison, PairComparison, QuantileComparison, Verdict,
};
use tactus_model::result::Measurement;
use tactus_model::run::Run;
use tactus_stats::{CellSummary, PercentileAxis, percentile_curve};

use super::ReportError;
use crate::comparison::{
    comparison_in_words, differences, how_compared, latency, missed, not_compared, only, ratios,
    side, signed, verdict_in_words,
};
use crate::format;
use crate::guests::guests_notes;
use crate::page::frame::{Frame, written};
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
        not_compared: not_compared(pair),
        missed: missed(pair),
        unknown: pair.unknown.join(", "),
        graphs: shared
            .each_ref()
            .map(|shared| percentiles::panel("", curves, shared).inline())
            .to_vec(),
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
        frame: Frame::new("", &[]),
    };
    Ok(written(&page)?)
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
        let nothing = || format::NOTHING.to_owned();
        let [unit_a, unit_b] = figure.units;
        let (ratio, ratios, nanos, lengths) = match &figure.difference {
            None => (nothing(), nothing(), nothing(), nothing()),
            Some(found) => (
                format!("{:.3}", found.ratio),
                ratios(found),
                signed(found.nanos),
                differences(found),
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
            verdict: verdict_in_words(figure),
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
    frame: Frame,
}
