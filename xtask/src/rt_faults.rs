//! Faults beside a real-time loop, long enough to compare the deadlines.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};

/// Prints how soon hung threads are demoted, and the table of faults, for this many seconds each.
pub(crate) fn run(repository: &Path, seconds: &str) -> anyhow::Result<()> {
    let seconds: f64 = seconds.parse().context("--seconds is a number")?;
    ensure!(seconds.is_finite() && seconds >= 0.1, "--seconds is at least 0.1");
    let cargo = |arguments: &[&str]| {
        let mut command = Command::new("cargo");
        command
            .args(arguments)
            .current_dir(repository)
            .env("TACTUS_RT_FAULTS", seconds.to_string());
        command.status().context("cargo")
    };
    let demoted = cargo(&["bench", "--locked", "-p", "tactus-rt", "--bench", "hang", "--", "100"])?;
    ensure!(demoted.success(), "hung threads were not demoted");
    let test = "needs_root_both_sides";
    let table =
        ["test", "--locked", "-p", "tactus-cli", "--test", "rt_faults", test, "--", "--nocapture"];
    let survived = cargo(&table)?;
    ensure!(survived.success(), "a fault had an effect that stays; see the table");
    Ok(())
}
