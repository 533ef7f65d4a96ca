//! Runs of cargo.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

/// Cargo in the repository at `root`.
pub(crate) fn cargo(root: &Path) -> Command {
    let mut command = Command::new("cargo");
    command.current_dir(root);
    command
}

/// Runs a command of [`cargo`]; `failure` is the error if it does not succeed.
pub(crate) fn run(command: &mut Command, failure: &str) -> anyhow::Result<()> {
    let status = command.status().context("cargo")?;
    ensure!(status.success(), "{failure} ({status})");
    Ok(())
}

/// Builds the release binary of `tactus` and returns its path.
pub(crate) fn release(root: &Path) -> anyhow::Result<PathBuf> {
    run(cargo(root).args(["build", "--release", "--locked"]), "tactus does not build")?;
    Ok(target(root).join("release/tactus"))
}

/// Installs a tool, such as `NAME@VERSION`, with these features below `tools`, unless this version
/// is there.
pub(crate) fn install_tool(tool: &str, features: &str, tools: &Path) -> anyhow::Result<()> {
    let mut command = Command::new("cargo");
    command
        .args(["install", "--quiet", "--locked", "--debug", "--no-default-features"])
        .args(["--features", features, tool, "--root"])
        .arg(tools)
        // Cargo builds in a temporary directory and removes it.
        .env_remove("CARGO_TARGET_DIR");
    run(&mut command, &format!("{tool} cannot be installed"))
}

/// Cargo's target directory.
pub(crate) fn target(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), |named| root.join(named))
}

/// Runs the test that kills processes, with this number of kills, and prints its table.
pub(crate) fn faults(root: &Path, kills: &str) -> anyhow::Result<()> {
    let test = ["test", "-p", "tactus-cli", "--test", "faults", "--", "--nocapture"];
    let failure = "something was left behind; see the table";
    run(cargo(root).args(test).env("TACTUS_FAULTS", kills), failure)
}
