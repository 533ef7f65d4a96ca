//! The figures of the delivery server, alone and beside others.

use std::path::Path;

use crate::cargo::{self, cargo};
use crate::conditions::Conditions;

/// Measures the delivery server for about `seconds`.
pub(crate) fn measure(repository: &Path, seconds: &str) -> anyhow::Result<()> {
    run(repository, "tactus-streamd", "figures", seconds)
}

/// Measures the scheduled delivery of this server beside that of others, in `rounds` rounds.
pub(crate) fn compare(repository: &Path, rounds: &str) -> anyhow::Result<()> {
    run(repository, "tactus-door", "peers", rounds)
}

/// Builds an example and runs it.
fn run(repository: &Path, package: &str, example: &str, argument: &str) -> anyhow::Result<()> {
    let conditions = Conditions::begin()?;
    let words = ["run", "--release", "-p", package, "--example", example, "--", argument];
    cargo::run(cargo(repository).args(words), "the measurement failed")?;
    conditions.print()
}
