//! `tactus machines`: machines ranked by a figure of the same experiment.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use tactus_app::machines::{Asked, ranking};
use tactus_app::runs::Runs;
use tactus_app::{Places, files};
use tactus_judge::history::Figure;
use tactus_model::address::Address;
use tactus_report::{machines_page, machines_text};

use crate::error::{CommandResult, for_any_reader};
use crate::json_lines::write_line;
use crate::terminal::{stdout, table_options};

/// Rank machines by a figure of the same experiment, with outliers and drift.
///
/// Use it to accept machines, or to watch a fleet. It takes the last run of each machine, ranks them by
/// their worst cell, and compares each with the run before on that machine. Nodes of a cluster
/// measure with `tactus measure --on slurm --nodes LIST` (docs/fleet.md).
///
/// Outliers are found by the modified z-score of five machines or more, and by 95 % intervals of
/// three or four.
///
/// Examples: tactus machines; tactus machines --experiment standard --figure p99.9 -o fleet.html
#[derive(Args)]
pub(crate) struct MachinesArguments {
    /// Runs, one of each machine: names, unique prefixes of names, `last`, or files of exported runs [default: the last run of the experiment on each machine]
    #[arg(value_name = "RUN")]
    runs: Vec<Address>,
    /// Experiment whose last runs are taken [default: that of the last run]
    #[arg(long, value_name = "NAME", conflicts_with = "runs")]
    experiment: Option<String>,
    /// Figure: p50, p99, p99.9, max
    #[arg(long, value_name = "FIGURE", default_value = "p99")]
    figure: Figure,
    /// Cell: its number from 1, its label, or a part of its label [default: the worst cell of each machine]
    #[arg(long, value_name = "CELL")]
    cell: Option<String>,
    /// Also write a self-contained HTML page
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &MachinesArguments, places: &Places) -> CommandResult {
    arguments.output.as_deref().map_or(Ok(()), files::check)?;
    let runs = Runs::new(places);
    let asked = Asked { figure: arguments.figure, cell: arguments.cell.clone() };
    let ranking = ranking(&runs, &arguments.runs, arguments.experiment.as_deref(), &asked)?;
    if let Some(path) = &arguments.output {
        files::write(path, machines_page(&ranking)?)?;
    }
    for_any_reader(if arguments.json {
        write_line(&ranking)
    } else {
        write!(stdout(), "{}", machines_text(&ranking, &table_options()))
    })
}
