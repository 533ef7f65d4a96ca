//! Scheduled delivery of this server beside that of others.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};

/// Builds the measuring program and runs it for so many rounds.
pub(crate) fn compare(repository: &Path, rounds: &str) -> anyhow::Result<()> {
    let steal = crate::cyclictest::steal_ticks()?;
    let measured = Command::new("cargo")
        .args(["run", "--release", "-p", "tactus-door", "--example", "peers", "--", rounds])
        .current_dir(repository)
        .status()
        .context("cargo")?;
    ensure!(measured.success(), "the measurement ended with {measured}");
    println!("steal time {} ticks", crate::cyclictest::steal_ticks()? - steal);
    Ok(())
}
