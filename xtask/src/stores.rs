//! The figures of the stores and of the results site.

use std::path::Path;

use crate::cargo::{self, cargo};
use crate::conditions::Conditions;

/// Measures how many runs writers store a second, in a file and on a server.
pub(crate) fn writers(repository: &Path) -> anyhow::Result<()> {
    run(repository, &["tactus-store", "--example", "writers"])
}

/// Measures how soon the results site answers with this many runs.
pub(crate) fn site(repository: &Path, runs: &str) -> anyhow::Result<()> {
    run(repository, &["tactus-serve", "--example", "list_latency", "--", runs])
}

/// Builds an example and runs it.
fn run(repository: &Path, words: &[&str]) -> anyhow::Result<()> {
    let conditions = Conditions::begin()?;
    let mut command = cargo(repository);
    command.args(["run", "--release", "-p"]).args(words);
    cargo::run(&mut command, "the measurement failed")?;
    conditions.print()
}
