//! Attacks on the real-time side of FIFOs, long enough to compare the tails.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};

/// Runs the test of the attacks, for this many seconds each, and prints its table.
pub(crate) fn run(repository: &Path, seconds: &str) -> anyhow::Result<()> {
    let seconds: f64 = seconds.parse().context("--seconds is a number")?;
    ensure!(seconds.is_finite() && seconds >= 0.1, "--seconds is at least 0.1");
    let steal = crate::cyclictest::steal_ticks()?;
    let tested = Command::new("cargo")
        .args(["test", "--release", "--locked", "-p", "tactus-fifo", "--test", "attacks"])
        .args(["--", "--nocapture"])
        .env("TACTUS_ATTACKS", seconds.to_string())
        .current_dir(repository)
        .status()
        .context("cargo")?;
    println!("steal time {} ticks", crate::cyclictest::steal_ticks()? - steal);
    ensure!(tested.success(), "an attack had an effect; see the table");
    Ok(())
}
