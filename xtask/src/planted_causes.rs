//! Causes that are planted in a guest, and how `tactus explain` names them.
//!
//! Time is deterministic, so one run of a kernel gives the figures of any other.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};
use serde::Deserialize;
use tactus_explain::Explanation;
use tactus_model::format;
use tactus_model::time::Nanos;

use crate::cargo;
use crate::conditions::Conditions;

/// A cause, and what plants it.
struct Plant {
    /// How the name of the planted cause begins.
    cause: &'static str,
    /// The options of `tactus measure`.
    load: &'static str,
}

const PLANTS: [Plant; 3] = [
    Plant { cause: "thread player/decoder", load: "--load player:1 --load-policy fifo:90" },
    // The port is ttyS1 on amd64, and ttyS0 on arm64.
    Plant { cause: "interrupt ttyS", load: "--load serial:1" },
    Plant { cause: "preemption-off section", load: "--load process:2" },
];

/// The options that all plants share.
const SHARED: &str =
    "--policy fifo:80 --duration 100ms --traced 200ms --rounds 1 --seed 7 --exact --mips 125";

/// A line of `tactus explain --json`.
#[derive(Deserialize)]
struct Explained {
    explanation: Explanation,
}

/// Measures every plant under a kernel, prints its causes, and checks that the planted cause is the
/// greatest of the worst wakeup.
pub(crate) fn check(root: &Path, kernel: &str) -> anyhow::Result<()> {
    let tactus = cargo::release(root)?;
    let folder = tempfile::tempdir()?;
    let conditions = Conditions::begin()?;
    let run = |words: &str| -> anyhow::Result<String> {
        let store = folder.path().join("runs.sqlite");
        let words = words.split_whitespace();
        let output = Command::new(&tactus).args(words).env("TACTUS_STORE", store).output()?;
        let error = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{error}");
        Ok(String::from_utf8(output.stdout)?)
    };
    let mut missed = Vec::new();
    for Plant { cause, load } in PLANTS {
        let measure = format!("measure lab --kernel {kernel} {load} {SHARED}");
        println!("$ tactus {measure}\n$ tactus explain");
        run(&format!("{measure} --quiet --no-page"))?;
        let explained = run("explain --json")?;
        let Explained { explanation } = serde_json::from_str(&explained).context("one cell")?;
        if !print(&explanation, cause) {
            missed.push(cause);
        }
    }
    conditions.print()?;
    ensure!(missed.is_empty(), "not the greatest cause of the worst wakeup: {}", missed.join(", "));
    Ok(())
}

/// Prints the planted cause's share of all late wakeups and of the worst one, and what is
/// unexplained; returns whether it is the greatest cause of the worst.
fn print(explanation: &Explanation, planted: &str) -> bool {
    let Explanation { samples, pareto, worst, .. } = explanation;
    let share =
        |time: Nanos, of: Nanos| 100.0 * time.as_nanos() as f64 / of.as_nanos().max(1) as f64;
    let is_planted = |cause: &str| cause.starts_with(planted);
    let rows = || pareto.rows.iter().filter(|row| is_planted(&row.cause.to_string()));
    let time = rows().map(|row| row.time).sum();
    let max = rows().map(|row| row.max).max().unwrap_or_default();
    println!("  late: {} of {samples} wakeups; {planted}…:", pareto.samples);
    let (max, share_of_all) = (format::latency(max), share(time, pareto.time));
    println!("  {share_of_all:.1} % of their latency, at most {max} of one");
    let gaps = pareto.rows.iter().filter(|row| !row.cause.explains());
    let unexplained = gaps.map(|row| row.time).sum();
    println!("  {:.1} % unexplained", share(unexplained, pareto.time));
    let Some(worst) = worst.first() else { return false };
    let latency = worst.sample.latency();
    println!("  the worst, {} late:", format::latency(latency));
    for part in worst.parts.iter().take(3) {
        println!("  {:5.1} %  {}", share(part.time, latency), part.cause);
    }
    println!();
    worst.parts.first().is_some_and(|part| is_planted(&part.cause.to_string()))
}
