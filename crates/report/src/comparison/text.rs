//! A comparison as text for the terminal.

use std::fmt::Write;

use tactus_judge::compare::{Comparison, Difference, PairComparison, QuantileComparison};
use tactus_model::run::Run;
use tactus_model::time::Nanos;

use super::{
    differences, how_compared, latency, missed, not_compared, only, ratios, side, signed,
    verdict_in_words,
};
use crate::format;
use crate::guests::guests_text;
use crate::table::column::{Column, Entry};
use crate::table::{TableOptions, grid};
use crate::wrap::{hanging, wrapped};

/// Writes `comparison`, which compares cells of `b` with cells of `a`: a table for each pair, then
/// how the comparison was made.
pub fn comparison_text(
    comparison: &Comparison,
    a: &Run,
    b: &Run,
    options: &TableOptions,
) -> String {
    let width = options.width;
    let mut text = invalid_sides(comparison, width);
    comparison.pairs.iter().for_each(|pair| put_pair(&mut text, pair, width));
    let facts = comparison
        .facts
        .iter()
        .map(|fact| format!("The machines differ: {}: {} → {}", fact.fact, fact.a, fact.b));
    for line in only(comparison).into_iter().chain(facts) {
        text.push_str(&hanging("", &line, "   ", width));
    }
    for sentence in how_compared(comparison) {
        text.push_str(&wrapped(&sentence, "", width));
    }
    text + &guests_text([a, b], options)
}

/// A note for each side whose figures are invalid.
fn invalid_sides(comparison: &Comparison, width: usize) -> String {
    let mut text = String::new();
    for (side, validity) in [("A", &comparison.a), ("B", &comparison.b)] {
        if let Some(why) = &validity.why_invalid {
            let fact = format!("{side} is invalid, which may cause differences: {why}");
            text.push_str(&hanging("", &fact, "   ", width));
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

fn put_pair(text: &mut String, pair: &PairComparison, width: usize) {
    // Writing to a String cannot fail.
    for (name, cell) in [("A", &pair.a), ("B", &pair.b)] {
        text.push_str(&hanging(&format!("{name}  "), &side(cell), "   ", width));
    }
    text.push_str(&grid(figures(pair), width));
    for sentence in not_compared(pair).into_iter().chain(missed(pair)) {
        text.push_str(&wrapped(&sentence, "  ", width));
    }
    if !pair.unknown.is_empty() {
        let unknown = format!(
            "Not known for both sides, so these settings may differ: {}.",
            pair.unknown.join(", ")
        );
        text.push_str(&wrapped(&unknown, "  ", width));
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

/// The figures of a pair; a narrow terminal omits the absolute differences first.
fn figures(pair: &PairComparison) -> Vec<Column> {
    let rows = &pair.quantiles;
    let of = |head: &str, text: fn(&Difference) -> String| {
        Column::of(head, rows, move |figure| Entry::optional(figure.difference.as_ref().map(text)))
    };
    let side = |head: &str, place: usize, of: fn(&QuantileComparison) -> Option<Nanos>| {
        Column::of(head, rows, move |figure| Entry::text(latency(of(figure), figure.units[place])))
    };
    vec![
        Column::names("quantile", rows, |figure| Entry::text(format::percentile(figure.quantile))),
        side("A", 0, |figure| figure.a),
        side("B", 1, |figure| figure.b),
        of("B / A", |found| format!("{:.3}", found.ratio)).dispensable(1),
        of("95 % CI", ratios).dispensable(2),
        of("B − A", |found| signed(found.nanos)).dispensable(3),
        of("95 % CI of B − A", differences).dispensable(4),
        Column::of("verdict", rows, |figure| Entry::text(verdict_in_words(figure))),
    ]
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
        let comparison = comparison.expect("they measure the same");
        let at = |width| comparison_text(&comparison, a.0, b.0, &TableOptions::of_width(width));
        for line in at(60).lines().filter(|line| !line.starts_with("   details:")) {
            assert!(line.chars().count() <= 60, "{line}");
        }
        at(110)
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
