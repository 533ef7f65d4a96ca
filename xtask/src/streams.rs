//! The figures of the delivery server, alone and beside others.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};

/// Measures the delivery server for about so many seconds.
pub(crate) fn measure(repository: &Path, seconds: &str) -> anyhow::Result<()> {
    run(repository, "tactus-streamd", "figures", seconds)
}

/// Measures the scheduled delivery of this server beside that of others, for so many rounds.
pub(crate) fn compare(repository: &Path, rounds: &str) -> anyhow::Result<()> {
    run(repository, "tactus-door", "peers", rounds)
}

/// Builds an example and runs it, with the steal time meanwhile.
fn run(repository: &Path, package: &str, example: &str, argument: &str) -> anyhow::Result<()> {
    let steal = crate::cyclictest::steal_ticks()?;
    let measured = Command::new("cargo")
        .args(["run", "--release", "-p", package, "--example", example, "--", argument])
        .current_dir(repository)
        .status()
        .context("cargo")?;
    ensure!(measured.success(), "the measurement ended with {measured}");
    println!("steal time {} ticks", crate::cyclictest::steal_ticks()? - steal);
    Ok(())
}
