//! `tactus lab floor`: a bare kernel beside the guests.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use tactus_app::{Error, ErrorKind};
use tactus_lab::floor::{self, Floor, FloorError, FloorWindow};
use tactus_model::guest::EXACT_LIMITS;
use tactus_report::{TableOptions, format};

use crate::error::{CommandError, CommandResult};
use crate::guest_options::speed;
use crate::json_lines::write_line;
use crate::terminal::table_options;

/// Measure what a bare kernel needs to wake a task, in exact time: the floor under all guests.
///
/// FreeRTOS is built by gcc from a package that cargo fetches, or from --source, and booted
/// twice by QEMU: a task wakes every millisecond beside 0 to 8 tasks of lower priority that
/// compute all the time. It has no processes, no system calls and no protection, so it tells
/// what an executive costs that does nothing but switch tasks, and not what Linux should cost.
#[derive(Args)]
pub(crate) struct FloorArguments {
    /// A directory with the source of FreeRTOS, in place of the package
    #[arg(long, value_name = "DIRECTORY")]
    source: Option<PathBuf>,
    /// The speed of the machine, in million instructions a second: 1000, 500, 250, 125
    #[arg(long, value_name = "N", default_value = "1000")]
    mips: u32,
    /// How many wakeups are measured beside each number of tasks
    #[arg(long, value_name = "N", default_value = "500",
          value_parser = clap::value_parser!(u32).range(1..=20_000))]
    samples: u32,
    /// Write one JSON object, with every wakeup
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &FloorArguments) -> CommandResult {
    let speed = speed(arguments.mips)?;
    let search_path = std::env::var_os("PATH").unwrap_or_default();
    let floor =
        floor::measure(arguments.source.as_deref(), speed, arguments.samples, &search_path)?;
    if arguments.json {
        return Ok(write_line(&floor)?);
    }
    Ok(write!(std::io::stdout(), "{}", text(&floor, &table_options()))?)
}

impl From<FloorError> for CommandError {
    fn from(error: FloorError) -> Self {
        let hint = error.hint();
        Error::new(ErrorKind::Unavailable, error).with_hint_if_any(hint).into()
    }
}

fn text(floor: &Floor, options: &TableOptions) -> String {
    let head = format!(
        "{} in exact time, {} million instructions a second\n\n\
         spinners        min     median        max  wakeups\n",
        floor.kernel, floor.mips
    );
    let rows: String = floor.windows.iter().map(row).collect();
    let proof = &floor.proof;
    let told = [
        (
            "Repeated",
            format!("booted {} times, the same to the byte: sha256 {}", proof.runs, proof.sha256),
        ),
        (
            "Made of",
            format!("sha256 {}; {}; {}", floor.image_sha256, floor.compiler, floor.emulator),
        ),
        ("Exact time", EXACT_LIMITS.to_owned()),
    ];
    let told = told.iter().map(|(name, text)| tactus_report::paragraph(name, text, options));
    format!("{head}{rows}\n{}", told.collect::<String>())
}

fn row(window: &FloorWindow) -> String {
    let [min, median, max] = [0.0, 0.5, 1.0]
        .map(|share| window.quantile(share).map_or_else(|| "–".to_owned(), format::latency));
    let (spinners, wakeups) = (window.spinners, window.late_ns.len());
    format!("{spinners:>8}  {min:>9}  {median:>9}  {max:>9}  {wakeups:>7}\n")
}
