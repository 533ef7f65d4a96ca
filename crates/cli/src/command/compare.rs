//! `tactus compare`: two runs or cells compared.

use std::io::Write as _;
use std::path::PathBuf;

use clap::Args;
use tactus_app::compare::{Compared, named};
use tactus_app::runs::Runs;
use tactus_app::{Places, files};
use tactus_judge::compare::CompareOptions;
use tactus_model::address::Address;
use tactus_report::{comparison_file, comparison_page, comparison_text};

use crate::error::{CommandError, CommandResult, for_any_reader};
use crate::json_lines::write_line;
use crate::percentage::margin;
use crate::table_form_options::TableFormOptions;
use crate::terminal::{stdout, table_options};

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
    /// Run: its name, a unique prefix of the name, `last`, or the file of an exported run; or one cell of it as RUN#CELL, where CELL is its number from 1, its label, or a part of its label
    #[arg(value_name = "A")]
    a: Address,
    /// Run or cell to compare with A, in the same form
    #[arg(value_name = "B")]
    b: Address,
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
    #[command(flatten)]
    table: TableFormOptions,
}

pub(crate) fn run(arguments: &CompareArguments, places: &Places) -> CommandResult {
    let options = CompareOptions { margin: arguments.margin, force: arguments.force };
    let runs = Runs::new(places);
    let Compared { a, b, comparison } = named(&runs, &arguments.a, &arguments.b, &options)?;
    if let Some(path) = &arguments.page {
        files::write(path, comparison_page(&comparison, a.run(), b.run())?)?;
    }
    for_any_reader(if arguments.json {
        write_line(&comparison)
    } else if let Some(form) = arguments.table.form() {
        write!(stdout(), "{}", comparison_file(&comparison, form))
    } else {
        let text = comparison_text(&comparison, a.run(), b.run(), &table_options());
        write!(stdout(), "{text}")
    })?;
    if arguments.fail_on_worse && comparison.any_worse() {
        return Err(CommandError::not_met("B is worse than A"));
    }
    Ok(())
}
