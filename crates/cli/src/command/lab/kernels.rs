//! `tactus lab kernels`: which kernels can be booted.

use std::fs::{self, File};
use std::io::Write;
use std::process::{Command, Stdio};

use anyhow::Context;

use clap::Args;
use serde::Serialize;
use tactus_kernels::{Kernel, KnownKernel};
use tactus_model::kernel::GuestKernel;

use super::building::Building;
use super::{kernel_cache, kernels_telling};
use crate::error::{CommandError, CommandResult, ErrorKind};
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
    /// Fetch and build them after this command has ended, when nothing else wants the processors
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

pub(super) fn run(arguments: &KernelsArguments) -> CommandResult {
    if arguments.background {
        return start_in_background(&arguments.kernels);
    }
    if arguments.yielding {
        yield_to_all();
    }
    let known = kernels_telling(Building::new(arguments.json))?;
    if arguments.kernels.is_empty() {
        return list(&known.list()?, arguments.json);
    }
    for wanted in &arguments.kernels {
        describe(wanted, &known.find(&wanted.source)?, arguments.json)?;
    }
    Ok(())
}

/// Starts this command again, as a session of its own that goes on when the terminal is closed.
fn start_in_background(kernels: &[GuestKernel]) -> CommandResult {
    let cache = kernel_cache()?;
    let log = cache.join("background.log");
    let start = || -> anyhow::Result<u32> {
        fs::create_dir_all(&cache)?;
        let file = File::options().create(true).append(true).open(&log)?;
        let child = Command::new("setsid")
            .args(["nice", "-n", "19"])
            .arg(std::env::current_exe()?)
            .args(["lab", "kernels", "--yielding"])
            .args(kernels.iter().map(ToString::to_string))
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .spawn()?;
        Ok(child.id())
    };
    let process = start()
        .with_context(|| format!("no build can be started with {} for its log", log.display()))
        .map_err(|error| CommandError::new(ErrorKind::Unavailable, error))?;
    writeln!(
        std::io::stdout(),
        "process {process} does it; `tactus lab kernels` tells how far it is, and {} what it says",
        log.display()
    )?;
    Ok(())
}

/// Lets everything else on this system go first. Where the kernel divides processors among
/// sessions before it does among processes, `nice` alone says nothing to other sessions
/// (sched(7), the autogroup feature).
fn yield_to_all() {
    // Where sessions are no groups there is no such file, and `nice` is enough.
    let _ = fs::write("/proc/self/autogroup", "19");
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
