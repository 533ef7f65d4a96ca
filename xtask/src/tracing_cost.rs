//! What recording costs the recorded threads, in interleaved blocks with other tools.

use std::path::Path;

use crate::cargo::{self, cargo};
use crate::conditions::Conditions;

/// Rounds of two threads that wake each other, in a block.
const ROUNDS: &str = "15000";

/// Sleeps of a 1 kHz thread in a block.
const SLEEPS: &str = "1000";

/// Runs the example `tracing_cost` of the recorder with our commands as further tracers.
pub(crate) fn compare(repository: &Path, blocks: &str) -> anyhow::Result<()> {
    let tactus = cargo::release(repository)?;
    let folder = tempfile::tempdir()?;
    let output = folder.path().join("cost.tactusrec");
    let ours = ["record", "record --flight 20s", "why"]
        .map(|command| format!("{} {command} -o {}", tactus.display(), output.display()));
    let conditions = Conditions::begin()?;
    let mut example = cargo(repository);
    example
        .args(["run", "--release", "--locked", "-p", "tactus-record", "--example", "tracing_cost"])
        .args(["--", "sleeps", blocks, ROUNDS, SLEEPS])
        .args(ours);
    cargo::run(&mut example, "the example failed")?;
    conditions.print()
}
