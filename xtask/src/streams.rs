//! The figures of the delivery server.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};

/// Builds the measuring program and runs it for about so many seconds.
pub(crate) fn measure(repository: &Path, seconds: &str) -> anyhow::Result<()> {
    let steal = crate::cyclictest::steal_ticks()?;
    let measured = Command::new("cargo")
        .args(["run", "--release", "-p", "tactus-streamd", "--example", "figures", "--", seconds])
        .current_dir(repository)
        .status()
        .context("cargo")?;
    ensure!(measured.success(), "the measurement ended with {measured}");
    println!("steal time {} ticks", crate::cyclictest::steal_ticks()? - steal);
    Ok(())
}
