//! `tactus lab setup`: everything that guests need.

use std::io::Write;
use std::time::{Duration, Instant};

use clap::Args;
use serde::Serialize;
use tactus_app::lab_setup::{self, Part};
use tactus_app::{BuildListener, Places};
use tactus_model::kernel::GuestKernel;
use tactus_model::time::Nanos;
use tactus_report::format;

use crate::building::Building;
use crate::error::CommandResult;
use crate::json_lines::write_line;
use crate::quietness::Quietness;
use crate::terminal::stdout;
use crate::values::kernel;

/// Prepare everything that guests need: emulator, guest program and kernels.
///
/// It checks that the emulator for each kernel is installed, builds the program that runs in guests
/// if this tactus was built from source, and fetches or builds the kernels. From source it takes
/// about 3 minutes on two idle CPUs, and some seconds if everything is ready. Nothing is installed
/// in the system; a missing package is named with the command that installs it.
///
/// Example: tactus lab setup debian-cloud debian-cloud-arm64
#[derive(Args)]
pub(crate) struct SetupArguments {
    /// Kernels to prepare, e.g. debian-cloud, debian-rt, debian-cloud-arm64, built+hz=1000 or ./bzImage
    #[arg(value_name = "KERNEL", default_value = "debian-cloud", value_parser = kernel)]
    kernels: Vec<GuestKernel>,
    /// Print JSON, one object a line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    quietness: Quietness,
}

/// A part that is ready, for `--json`.
#[derive(Serialize)]
struct Ready<'a> {
    #[serde(flatten)]
    part: &'a Part,
    seconds: f64,
}

pub(super) fn run(arguments: &SetupArguments, places: &Places) -> CommandResult {
    let SetupArguments { kernels, json, quietness } = arguments;
    let began = Instant::now();
    let mut written = Ok(());
    let building = |json: bool, quietness: Quietness| -> BuildListener {
        let building = Building::new(json, quietness);
        Box::new(move |event| building.show(event))
    };
    let prepared = lab_setup::prepare(
        places,
        kernels,
        || building(*json, *quietness),
        |outcome| {
            let write = || -> CommandResult {
                match outcome {
                    Ok((part, took)) if *json => {
                        Ok(write_line(&Ready { part, seconds: took.as_secs_f64() })?)
                    }
                    Ok((part, took)) => Ok(writeln!(stdout(), "{}", line(part, took))?),
                    Err(error) => {
                        quietness.note(format_args!("missing: {error}"));
                        Ok(())
                    }
                }
            };
            if written.is_ok() {
                written = write();
            }
        },
    );
    written?;
    prepared?;
    if !json {
        let took = format::span(Nanos::from(began.elapsed()));
        let kernel = &kernels[0];
        writeln!(
            stdout(),
            "Ready in {took}. To measure: tactus measure lab --kernel {kernel} --exact --mips 125"
        )?;
    }
    Ok(())
}

/// A part that is ready, as a line.
fn line(part: &Part, took: Duration) -> String {
    let (name, text) = match part {
        Part::Emulator { architecture, version } => {
            ("emulator", format!("{version}, for {architecture}"))
        }
        Part::Program { architecture, file: None, .. } => {
            ("guest program", format!("for {architecture}, contained in this tactus"))
        }
        Part::Program { architecture, file: Some(file), .. } => {
            ("guest program", format!("for {architecture}, {}", file.display()))
        }
        Part::Kernel { kernel, release, .. } => {
            let release = release.as_deref().unwrap_or("of an unknown release");
            ("kernel", format!("{kernel}: Linux {release}"))
        }
    };
    // What took no time was there before.
    let took = match took.as_secs() {
        0 | 1 => String::new(),
        seconds => format!(" ({})", format::span(Nanos::from_secs(seconds))),
    };
    format!("{name:13}  {text}{took}")
}
