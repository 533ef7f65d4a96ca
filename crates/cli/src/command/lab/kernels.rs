//! `tactus lab kernels`: the kernels for guests.

use std::io::Write;

use clap::Args;
use serde::Serialize;
use tactus_app::Places;
use tactus_app::kernels::{Background, in_background, yield_to_all};
use tactus_kernels::{Kernel, KnownKernel};
use tactus_model::kernel::{Architecture, GuestKernel};

use crate::building::Building;
use crate::error::CommandResult;
use crate::json_lines::write_line;
use crate::quietness::Quietness;
use crate::terminal::stdout;
use crate::values::kernel;

/// List the kernels for guests, or fetch or build kernels.
///
/// The list contains the kernels in /boot, fetched and built kernels, unfinished builds, and the
/// current kernel packages of Debian. Nothing is installed: the system's package tool fetches a
/// package, and it is unpacked into the cache under the digest of its content.
///
/// `built` is a kernel compiled from Debian's source of Linux 6.12, which takes minutes. Its options
/// are hz=100 to 20000, timers=high-resolution or periodic, preempt=dynamic, none, voluntary, full or
/// rt, and options of the kernel configuration in capitals. An interrupted build continues
/// when it is started again.
///
/// Example: tactus lab kernels built+hz=1000+timers=periodic+preempt=rt+DEBUG_LIST=y
#[derive(Args)]
pub(crate) struct KernelsArguments {
    /// Kernels to fetch or build, e.g. debian-rt, debian@6.1.0-56, built+hz=1000 or ./bzImage
    #[arg(value_name = "KERNEL", value_parser = kernel)]
    kernels: Vec<GuestKernel>,
    /// Fetch and build in the background, at the lowest priority
    #[arg(long, requires = "kernels", conflicts_with = "json")]
    background: bool,
    /// Run at the lowest priority (the process that --background starts)
    #[arg(long, hide = true)]
    yielding: bool,
    /// Print JSON, one object a line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    quietness: Quietness,
}

/// A kernel that was found, for `--json`.
#[derive(Serialize)]
struct FoundKernel<'a> {
    name: String,
    architecture: Architecture,
    release: Option<&'a str>,
    sha256: &'a str,
    path: &'a std::path::Path,
    configuration_known: bool,
}

pub(super) fn run(arguments: &KernelsArguments, places: &Places) -> CommandResult {
    if arguments.background {
        return start_in_background(&arguments.kernels, places);
    }
    if arguments.yielding {
        yield_to_all();
    }
    let building = Building::new(arguments.json, arguments.quietness);
    let known = places.kernels(Box::new(move |event| building.show(event)))?;
    if arguments.kernels.is_empty() {
        return list(&known.list()?, arguments.json);
    }
    for wanted in &arguments.kernels {
        describe(wanted, &known.find(&wanted.source)?, arguments.json)?;
    }
    Ok(())
}

/// Starts this command again in the background.
fn start_in_background(kernels: &[GuestKernel], places: &Places) -> CommandResult {
    let again = ["lab", "kernels", "--yielding"].map(str::to_owned).into_iter();
    let arguments = again.chain(kernels.iter().map(ToString::to_string));
    let Background { process, log } = in_background(places, arguments)?;
    writeln!(
        stdout(),
        "started in the background: process {process}; `tactus lab kernels` shows its progress, {} its output",
        log.display()
    )?;
    Ok(())
}

fn list(kernels: &[KnownKernel], json: bool) -> CommandResult {
    if json {
        return Ok(kernels.iter().try_for_each(write_line)?);
    }
    let mut out = stdout();
    if kernels.is_empty() {
        writeln!(
            out,
            "No kernels found: /boot contains none, and apt-cache knows none of Debian's; \
             name a file, e.g. `--kernel ./bzImage`"
        )?;
        return Ok(());
    }
    let width = kernels.iter().map(|kernel| kernel.name.chars().count()).max().unwrap_or(0);
    for KnownKernel { name, state, from } in kernels {
        writeln!(out, "{name:width$}  {:10}  {from}", state.word())?;
    }
    Ok(())
}

fn describe(wanted: &GuestKernel, kernel: &Kernel, json: bool) -> CommandResult {
    let Kernel { path, architecture, release, sha256, config } = kernel;
    let release = release.as_deref();
    if json {
        write_line(&FoundKernel {
            name: wanted.to_string(),
            architecture: *architecture,
            release,
            sha256,
            path,
            configuration_known: config.is_some(),
        })?;
        return Ok(());
    }
    let mut out = stdout();
    let release = release.unwrap_or("of an unknown release");
    writeln!(
        out,
        "{wanted}: Linux {release} for {architecture}\n  {}\n  sha256 {sha256}",
        path.display()
    )?;
    Ok(())
}
