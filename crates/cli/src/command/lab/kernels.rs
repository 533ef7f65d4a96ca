//! `tactus lab kernels`: which kernels can be booted.

use std::io::Write;

use clap::Args;
use serde::Serialize;
use tactus_app::Places;
use tactus_app::kernels::{Background, in_background, yield_to_all};
use tactus_kernels::{Kernel, KnownKernel};
use tactus_model::kernel::GuestKernel;

use crate::building::Building;
use crate::error::CommandResult;
use crate::json_lines::write_line;

/// List the kernels that can be booted as guests, or fetch or build some.
///
/// Listed are those installed in /boot, those fetched or built earlier, those whose build is not
/// finished, and the current ones of Debian's packages. Nothing is installed: a package is
/// fetched by the system's package tool and unpacked into the cache, by the digest of its content.
///
/// `built` is a kernel that is compiled from Debian's source of Linux 6.12, in some minutes:
/// `built+hz=1000+timers=periodic+preempt=rt+DEBUG_LIST=y`, of which each option may be left out.
/// hz is 100 to 20000; timers are high-resolution or periodic; preempt is dynamic, none, voluntary,
/// full or rt; names in capitals are options of the kernel's own configuration. A build that was
/// interrupted goes on where it was.
#[derive(Args)]
pub(crate) struct KernelsArguments {
    /// Kernels to fetch or build now and describe: debian-rt, debian@6.1.0-56, built+hz=1000, ./bzImage
    #[arg(value_name = "KERNEL")]
    kernels: Vec<GuestKernel>,
    /// Fetch and build them after this command has ended, when nothing else wants the CPUs
    #[arg(long, requires = "kernels", conflicts_with = "json")]
    background: bool,
    /// What --background starts: let everything else of this system go first
    #[arg(long, hide = true)]
    yielding: bool,
    /// Write one JSON object a line
    #[arg(long)]
    json: bool,
}

/// A kernel that is there, as `--json` gives it.
#[derive(Serialize)]
struct FoundKernel<'a> {
    name: String,
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
    let building = Building::new(arguments.json);
    let known = places.kernels(Box::new(move |event| building.hear(event)))?;
    if arguments.kernels.is_empty() {
        return list(&known.list()?, arguments.json);
    }
    for wanted in &arguments.kernels {
        describe(wanted, &known.find(&wanted.source)?, arguments.json)?;
    }
    Ok(())
}

/// Starts this command again, which goes on by itself.
fn start_in_background(kernels: &[GuestKernel], places: &Places) -> CommandResult {
    let again = ["lab", "kernels", "--yielding"].map(str::to_owned).into_iter();
    let arguments = again.chain(kernels.iter().map(ToString::to_string));
    let Background { process, log } = in_background(places, arguments)?;
    writeln!(
        std::io::stdout(),
        "process {process} does it; `tactus lab kernels` tells how far it is, and {} what it says",
        log.display()
    )?;
    Ok(())
}

fn list(kernels: &[KnownKernel], json: bool) -> CommandResult {
    if json {
        return Ok(kernels.iter().try_for_each(write_line)?);
    }
    let mut out = std::io::stdout().lock();
    if kernels.is_empty() {
        writeln!(
            out,
            "No kernel is in /boot, and there is no apt-cache that knows Debian's; \
             name a file: --kernel ./bzImage"
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
    let Kernel { path, release, sha256, config } = kernel;
    let release = release.as_deref();
    if json {
        write_line(&FoundKernel {
            name: wanted.to_string(),
            release,
            sha256,
            path,
            configuration_known: config.is_some(),
        })?;
        return Ok(());
    }
    let mut out = std::io::stdout().lock();
    let release = release.unwrap_or("of a release that its file does not tell");
    writeln!(out, "{wanted}: Linux {release}\n  {}\n  sha256 {sha256}", path.display())?;
    Ok(())
}
