//! What recording costs the recorded threads, in interleaved blocks with other tools.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};

/// Rounds of two threads that wake each other, in a block.
const ROUNDS: &str = "15000";

/// Sleeps of a 1 kHz thread in a block.
const SLEEPS: &str = "1000";

/// Runs the example `tracing_cost` of the recorder with our commands as further tracers.
pub(crate) fn compare(repository: &Path, blocks: &str) -> anyhow::Result<()> {
    let tactus = crate::release(repository)?;
    let folder = tempfile::tempdir()?;
    let output = folder.path().join("cost.tactusrec");
    let ours = ["record", "record --flight 20s", "why"]
        .map(|command| format!("{} {command} -o {}", tactus.display(), output.display()));
    let steal = crate::cyclictest::steal_ticks()?;
    let status = Command::new("cargo")
        .args(["run", "--release", "--locked", "-p", "tactus-record", "--example", "tracing_cost"])
        .args(["--", "sleeps", blocks, ROUNDS, SLEEPS])
        .args(ours)
        .current_dir(repository)
        .status()
        .context("cargo")?;
    ensure!(status.success(), "the example ended with {status}");
    let load = std::fs::read_to_string("/proc/loadavg")?;
    println!(
        "load average {}, steal time {} ticks",
        load.split(' ').next().unwrap_or_default(),
        crate::cyclictest::steal_ticks()? - steal
    );
    Ok(())
}
