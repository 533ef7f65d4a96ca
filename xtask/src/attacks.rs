//! Attacks on the real-time side of FIFOs, long enough to compare the tails.

use std::path::Path;

use anyhow::{Context, ensure};

use crate::cargo::{self, cargo};
use crate::conditions::Conditions;

/// Runs the test of the attacks, for this many seconds each, and prints its table.
pub(crate) fn run(repository: &Path, seconds: &str) -> anyhow::Result<()> {
    let seconds: f64 = seconds.parse().context("--seconds is a number")?;
    ensure!(seconds.is_finite() && seconds >= 0.1, "--seconds is at least 0.1");
    let conditions = Conditions::begin()?;
    let mut test = cargo(repository);
    test.args(["test", "--release", "--locked", "-p", "tactus-fifo", "--test", "attacks"])
        .args(["--", "--nocapture"])
        .env("TACTUS_ATTACKS", seconds.to_string());
    let tested = cargo::run(&mut test, "an attack had an effect; see the table");
    conditions.print()?;
    tested
}
