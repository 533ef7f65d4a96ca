//! A comparison as text for the terminal.

use std::fmt::Write;

use tactus_judge::compare::{Comparison, Difference, PairComparison, QuantileComparison};
use tactus_model::run::Run;
use tactus_model::time::Nanos;

use super::{differences, how_compared, latency, missed, not_compared, only, ratios, side, signed};
use crate::format;
use crate::guests::guests_text;
use crate::table::TableOptions;
use crate::wrap::{hanging, wrapped};

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
        .map(|fact| format!("The machines differ: {}: {} → {}", fact.fact, fact.a, fact.b));
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
            let fact = format!("{side} is invalid, which may cause differences: {why}");
            text.push_str(&hanging("", &fact, "   ", LINE));
            // Not wrapped: the reader copies it.
            let details = format!("   details: tactus show {}", validity.run);
            text.push_str(&(format::printable(&details) + "\n"));
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
        "quantile", "A", "B", "B / A", "95 % interval", "B − A", "95 % interval"
    );
    pair.quantiles.iter().for_each(|figure| put_figure(text, figure));
    for sentence in not_compared(pair).into_iter().chain(missed(pair)) {
        text.push_str(&wrapped(&sentence, "  ", LINE));
    }
    if !pair.unknown.is_empty() {
        let unknown = format!(
            "Not known for both sides, so these settings may differ: {}.",
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
                "  {side} contains multiples of {unit}, rounded down; intervals allow for up to {unit} more."
            );
        }
    }
    text.push('\n');
}

fn put_figure(text: &mut String, figure: &QuantileComparison) {
    let quantile = format::percentile(figure.quantile);
    let (a, b) = (latency(figure.a, figure.units[0]), latency(figure.b, figure.units[1]));
    let _ = write!(text, "  {quantile:>8}  {a:>9}  {b:>9}  ");
    let _ = match (&figure.difference, figure.verdict) {
        (Some(difference), Some(verdict)) => {
            writeln!(text, "{}  {}", difference_text(difference), verdict.words())
        }
        _ => writeln!(text, "not compared"),
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

#[cfg(test)]
mod tests {
    use tactus_judge::compare::{CompareOptions, Selection, compare};
    use tactus_model::run::RunId;

    use super::*;
    use crate::fixture;

    fn compared(a: (&Run, Option<usize>), b: (&Run, Option<usize>)) -> String {
        let [side_a, side_b] = [a, b].map(|(run, cell)| Selection { run, cell });
        let comparison = compare(side_a, side_b, &CompareOptions::default());
        comparison_text(&comparison.expect("they measure the same"), a.0, b.0)
    }

    #[test]
    fn cells_of_one_run() {
        let run = fixture::quick();
        insta::assert_snapshot!(compared((&run, Some(0)), (&run, Some(1))));
    }

    #[test]
    fn runs_on_machines_that_differ() {
        let plan = |rounds: u32, loads: &str| {
            let settings = format!("load = [{loads}]\npolicy = \"fifo:90\"\nduration = \"3s\"");
            format!("name = \"small\"\nrounds = {rounds}\n[settings]\n{settings}")
        };
        let a = fixture::run(&plan(1, "\"idle\""), 5);
        let mut b = fixture::run(&plan(3, "\"idle\", \"file\""), 6);
        b.header.id = RunId::new("small-20261122-080000");
        b.header.facts_before.kernel.release = Some("6.19.0".to_owned());
        b.header.facts_before.cpu.clock_source = Some("jiffies".to_owned());
        insta::assert_snapshot!(compared((&a, None), (&b, None)));
    }
}
