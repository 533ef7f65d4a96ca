//! FIFOs and messages in shared memory beside those of others, in one run.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};

/// Builds the comparison, whose dependencies nothing else here needs, and runs it.
pub(crate) fn compare(repository: &Path, arguments: &[&str]) -> anyhow::Result<()> {
    let steal = crate::cyclictest::steal_ticks()?;
    let compared = Command::new("cargo")
        .args(["run", "--release", "--manifest-path", "xtask/fifo-peers/Cargo.toml"])
        .args(["--target-dir"])
        .arg(crate::target(repository).join("fifo-peers"))
        .arg("--")
        .args(arguments)
        .current_dir(repository)
        .status()
        .context("cargo")?;
    ensure!(compared.success(), "the comparison ended with {compared}");
    println!("steal time {} ticks", crate::cyclictest::steal_ticks()? - steal);
    Ok(())
}
