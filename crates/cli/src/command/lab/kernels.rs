//! `tactus lab kernels`: which kernels can be booted.

use std::io::Write;

use clap::Args;
use serde::Serialize;
use tactus_lab::kernels::{Kernel, KnownKernel};
use tactus_model::kernel::GuestKernel;

use super::kernels;
use crate::error::CommandResult;
use crate::json_lines::write_line;

/// List the kernels that can be booted as guests, or fetch some.
///
/// Listed are those installed in /boot, those fetched earlier, and the current ones of
/// Debian's packages. Nothing is installed: a package is fetched by the system's package
/// tool and unpacked into the cache, by the digest of its content.
#[derive(Args)]
pub(crate) struct KernelsArguments {
    /// Kernels to fetch now and describe: debian, debian-cloud, debian-rt, debian@6.1.0-56, ./bzImage
    #[arg(value_name = "KERNEL")]
    kernels: Vec<GuestKernel>,
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
    let known = kernels()?;
    if arguments.kernels.is_empty() {
        return list(&known.list()?, arguments.json);
    }
    for wanted in &arguments.kernels {
        describe(wanted, &known.find(&wanted.source)?, arguments.json)?;
    }
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
        writeln!(out, "{name:width$}  {:9}  {from}", state.word())?;
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
