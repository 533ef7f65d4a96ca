//! A comparison as text for the terminal.

use std::fmt::Write;

use tactus_judge::compare::{Comparison, Difference, PairComparison, QuantileComparison};
use tactus_model::run::Run;
use tactus_model::time::Nanos;

use super::{differences, how_compared, latency, missed, only, ratios, side, signed};
use crate::format;
use crate::guests::guests_text;
use crate::table::TableOptions;
use crate::wrap::wrapped;

/// The width of a table of figures, in columns.
const LINE: usize = 110;

/// Writes `comparison`, which compares cells of `b` with cells of `a`: a table for each pair, then
/// how the comparison was made.
pub fn comparison_text(comparison: &Comparison, a: &Run, b: &Run) -> String {
    let mut text = invalid_sides(comparison);
    comparison.pairs.iter().for_each(|pair| put_pair(&mut text, pair));
    let facts = comparison
        .facts
        .iter()
        .map(|fact| format!("machine: {}: {} → {}", fact.fact, fact.a, fact.b));
    for line in only(comparison).into_iter().chain(facts) {
        text.push_str(&(format::printable(&line) + "\n"));
    }
    for sentence in how_compared(comparison) {
        text.push_str(&wrapped(&sentence, "", LINE));
    }
    text + &guests_text([a, b], &TableOptions::of_width(LINE))
}

/// A note for each side whose figures are invalid.
fn invalid_sides(comparison: &Comparison) -> String {
    let mut text = String::new();
    for (side, validity) in [("A", &comparison.a), ("B", &comparison.b)] {
        if let Some(why) = &validity.why_invalid {
            let line = format!(
                "{side} is invalid, which may cause differences: {why}\n   details: tactus show {}",
                validity.run
            );
            line.lines().for_each(|line| text.push_str(&(format::printable(line) + "\n")));
        }
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

fn put_pair(text: &mut String, pair: &PairComparison) {
    // Writing to a String cannot fail.
    for (name, cell) in [("A", &pair.a), ("B", &pair.b)] {
        let _ = writeln!(text, "{name}  {}", format::printable(&side(cell)));
    }
    let _ = writeln!(
        text,
        "  {:>8}  {:>9}  {:>9}  {:>6}  {:<13}  {:>10}  {:<24}  verdict",
        "quantile", "A", "B", "B / A", "95 %", "B − A", "95 %"
    );
    pair.quantiles.iter().for_each(|figure| put_figure(text, figure));
    if let Some(missed) = missed(pair) {
        let _ = writeln!(text, "  {missed}");
    }
    if !pair.unknown.is_empty() {
        let unknown = format!(
            "not known of both sides, so these settings may differ: {}",
            pair.unknown.join(", ")
        );
        text.push_str(&wrapped(&unknown, "  ", LINE));
    }
    for (side, unit) in ["A", "B"]
        .into_iter()
        .zip(pair.quantiles.first().map_or([Nanos::ZERO; 2], |figure| figure.units))
    {
        if unit > Nanos::from_nanos(1) {
            let unit = format::axis_length(unit);
            let _ = writeln!(
                text,
                "  {side} contains multiples of {unit}, rounded down; intervals allow for up to {unit} more"
            );
        }
    }
    text.push('\n');
}

fn put_figure(text: &mut String, figure: &QuantileComparison) {
    let quantile = format::percentile(figure.quantile);
    let (a, b) = (latency(figure.a, figure.units[0]), latency(figure.b, figure.units[1]));
    let _ = write!(text, "  {quantile:>8}  {a:>9}  {b:>9}  ");
    let _ = match (&figure.difference, figure.verdict, &figure.not_compared) {
        (Some(difference), Some(verdict), _) => {
            writeln!(text, "{}  {}", difference_text(difference), verdict.words())
        }
        (_, _, Some(reason)) => writeln!(text, "not compared: {reason}"),
        _ => writeln!(text),
    };
}

fn difference_text(difference: &Difference) -> String {
    format!(
        "{:>6.3}  {:<13}  {:>10}  {:<24}",
        difference.ratio,
        ratios(difference),
        signed(difference.nanos),
        differences(difference)
    )
}
