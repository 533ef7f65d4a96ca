//! FIFOs and messages in shared memory beside those of others, in one run.

use std::path::Path;

use crate::cargo::{self, cargo};
use crate::conditions::Conditions;

/// Builds the comparison, whose dependencies nothing else here needs, and runs it.
pub(crate) fn compare(repository: &Path, arguments: &[&str]) -> anyhow::Result<()> {
    let conditions = Conditions::begin()?;
    let mut comparison = cargo(repository);
    comparison
        .args(["run", "--release", "--manifest-path", "xtask/fifo-peers/Cargo.toml"])
        .arg("--target-dir")
        .arg(cargo::target(repository).join("fifo-peers"))
        .arg("--")
        .args(arguments);
    cargo::run(&mut comparison, "the comparison failed")?;
    conditions.print()
}
