//! `tactus compare`: two runs or cells compared.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;

use clap::Args;
use tactus_app::compare::{Compared, named};
use tactus_app::runs::Runs;
use tactus_app::{Places, files};
use tactus_judge::compare::{
    CompareOptions, ComparedCell, Comparison, Difference, PairComparison, QuantileComparison,
};
use tactus_model::time::Nanos;
use tactus_report::{TableOptions, comparison_page, format, guests_text, how_compared, signed};

use crate::error::{CommandError, CommandResult};
use crate::json_lines::write_line;
use crate::percentage::margin;

/// Compare two runs, or two cells, with confidence intervals.
///
/// Use it after a change of kernel, settings or hardware. Cells with the same settings are paired.
/// For each quantile that both samples support, the output contains B relative to A as a ratio and
/// as a difference, each with a 95 % interval, and a verdict: better, worse, the same (the interval
/// is within the margin), or no difference found.
///
/// Rounds are the unit of the statistics, so measure both runs with --rounds 3 or more. All
/// quantiles and cells are tested together (Hochberg): if nothing differs, the chance that any
/// figure is called better or worse is at most 5 %.
///
/// Example: tactus compare baseline.json last --fail-on-worse
#[derive(Args)]
pub(crate) struct CompareArguments {
    /// Run: its name, a unique prefix of the name, `last`, or the file of an exported run; or one cell of it as RUN#CELL, where CELL is a label, a part of a label, or a number counted from 1
    #[arg(value_name = "A")]
    a: String,
    /// Run or cell to compare with A, in the same form
    #[arg(value_name = "B")]
    b: String,
    /// Count figures that differ by less than this as the same
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = margin)]
    margin: f64,
    /// Compare cells with different probes, sleeps, clocks or intervals too
    #[arg(long)]
    force: bool,
    /// Exit with code 1 if any figure is worse
    #[arg(long)]
    fail_on_worse: bool,
    /// Also write a self-contained HTML page with two percentile graphs for each pair
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &CompareArguments, places: &Places) -> CommandResult {
    let options = CompareOptions { margin: arguments.margin, force: arguments.force };
    let runs = Runs::new(places);
    let Compared { a, b, comparison } = named(&runs, &arguments.a, &arguments.b, &options)?;
    if let Some(path) = &arguments.page {
        files::write(path, comparison_page(&comparison, a.run(), b.run())?)?;
    }
    if arguments.json {
        write_line(&comparison)?;
    } else {
        let limits = guests_text([a.run(), b.run()], &TableOptions::of_width(LINE));
        write!(std::io::stdout(), "{}{limits}", text(&comparison))?;
    }
    if arguments.fail_on_worse && comparison.any_worse() {
        return Err(CommandError::not_met("B is worse than A"));
    }
    Ok(())
}

fn text(comparison: &Comparison) -> String {
    let mut text = invalid_sides(comparison);
    comparison.pairs.iter().for_each(|pair| put_pair(&mut text, pair));
    // Writing to a String cannot fail.
    for (side, labels) in [("A", &comparison.only_a), ("B", &comparison.only_b)] {
        for label in labels {
            let _ = writeln!(text, "only in {side}: {}", format::printable(label));
        }
    }
    for fact in &comparison.facts {
        let line = format!("machine: {}: {} → {}", fact.fact, fact.a, fact.b);
        let _ = writeln!(text, "{}", format::printable(&line));
    }
    for sentence in how_compared(comparison) {
        text.push_str(&wrapped(&sentence));
    }
    text
}

/// The width of a table of figures, in columns.
const LINE: usize = 110;

/// Breaks a sentence into lines as wide as a table of figures.
fn wrapped(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + word.chars().count() < LINE => {
                if !line.is_empty() {
                    line.push(' ');
                }
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join("\n") + "\n"
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

/// The other tool that measured a side, as an addition to its name.
fn measured_by(side: &ComparedCell) -> String {
    side.measured_by.as_ref().map_or(String::new(), |tool| format!(", measured by {tool}"))
}

fn put_pair(text: &mut String, pair: &PairComparison) {
    let name = |side: &ComparedCell| {
        let rounds = format::counted(side.rounds as u64, "round");
        format::printable(&format!(
            "{}#{} ({}), {rounds}{}",
            side.run,
            side.cell + 1,
            side.label,
            measured_by(side)
        ))
    };
    let _ = writeln!(text, "A  {}\nB  {}", name(&pair.a), name(&pair.b));
    let _ = writeln!(
        text,
        "  {:>8}  {:>9}  {:>9}  {:>6}  {:<13}  {:>10}  {:<24}  verdict",
        "quantile", "A", "B", "B / A", "95 %", "B − A", "95 %"
    );
    pair.quantiles.iter().for_each(|figure| put_figure(text, figure));
    if pair.a.missed != Some(0) || pair.b.missed != Some(0) {
        let missed = |side: &ComparedCell| match side.missed {
            None => "unknown".to_owned(),
            Some(missed) => {
                format!("{} ({})", format::count(missed), format::share(missed, side.intended))
            }
        };
        let _ = writeln!(
            text,
            "  missed due times, which these quantiles do not include: {} → {}",
            missed(&pair.a),
            missed(&pair.b),
        );
    }
    if !pair.unknown.is_empty() {
        text.push_str(&wrapped(&format!(
            "  not known of both sides, so these settings may differ: {}",
            pair.unknown.join(", ")
        )));
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

/// A latency with the precision of its tool, or a dash.
fn latency(latency: Option<Nanos>, unit: Nanos) -> String {
    latency.map_or_else(|| format::NOTHING.to_owned(), |latency| format::latency_to(latency, unit))
}

fn difference_text(difference: &Difference) -> String {
    let ratios = format!("{:.3}–{:.3}", difference.ratio_low, difference.ratio_high);
    let differences =
        format!("{} to {}", signed(difference.nanos_low), signed(difference.nanos_high));
    format!(
        "{:>6.3}  {ratios:<13}  {:>10}  {differences:<24}",
        difference.ratio,
        signed(difference.nanos)
    )
}
