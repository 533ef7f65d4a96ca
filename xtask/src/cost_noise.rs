//! How small differences `tactus costs` finds: the noise floor of each operation, and the smallest
//! difference that five minutes of its processes find.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, ensure};
use serde_json::Value;
use tactus_stats::costs::noise_floor_of;

use crate::conditions::Conditions;

/// Five minutes, in seconds, shared by both sides of a comparison.
const BUDGET: f64 = 300.0;
/// A difference beyond the noise floor in 95 of 100 cases is this many times the floor if it is to
/// be found in 80 of 100: (1.960 + 0.842) / 1.960 standard deviations.
const FOUND: f64 = 2.802 / 1.960;
/// The processes of a default measurement.
const DEFAULT: usize = 5;

/// Measures all operations in this many processes each, interleaved, and prints the table.
pub(crate) fn measure(root: &Path, rounds: &str) -> anyhow::Result<()> {
    let tactus = crate::cargo::release(root)?;
    let folder = tempfile::tempdir()?;
    let (begun, conditions) = (Instant::now(), Conditions::begin()?);
    let output = Command::new(tactus)
        .args(["costs", "--json", "--rounds", rounds])
        .env("TACTUS_STORE", folder.path().join("runs.sqlite"))
        .stderr(Stdio::inherit())
        .output()
        .context("tactus")?;
    let seconds = begun.elapsed().as_secs_f64();
    // A failed cell ends the command with a code; the others are kept.
    let text = String::from_utf8(output.stdout)?;
    let rows: Vec<Value> = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|line| line["event"] == "cost")
        .collect();
    ensure!(!rows.is_empty(), "tactus costs measured nothing");
    let of = |row: &Value| -> Vec<f64> {
        let costs = row["of_processes_ns"].as_array().into_iter().flatten();
        costs.filter_map(Value::as_f64).collect()
    };
    let processes: usize = rows.iter().map(|row| of(row).len()).sum();
    let each = seconds / processes.max(1) as f64;
    let side = (BUDGET / 2.0 / each).floor().max(3.0) as usize;
    println!("{processes} processes, {each:.2} s each; five minutes are {side} of either side");
    println!("A/A of {DEFAULT}  in five minutes  operation");
    for row in &rows {
        let costs = of(row);
        let percent = |share: Option<f64>| {
            share.map_or("–".to_owned(), |share| format!("{:.2} %", share * 100.0))
        };
        let floor = noise_floor_of(&costs, DEFAULT);
        // Medians of many draws from a few processes would all be the same.
        let found = floor.map(|floor| floor * (DEFAULT as f64 / side as f64).sqrt() * FOUND);
        println!("{:>8}  {:>15}  {}", percent(floor), percent(found), name(row));
    }
    conditions.print()
}

/// The operation with its settings and conditions.
fn name(row: &Value) -> String {
    let parts = ["settings", "conditions"].into_iter().filter_map(|part| row[part].as_object());
    let values = parts.flatten().filter(|(name, _)| *name != "operation");
    let operation = row["settings"]["operation"].as_str().unwrap_or("?").to_owned();
    let words = values.filter_map(|(name, value)| Some(format!("{name} {}", value.as_str()?)));
    std::iter::once(operation).chain(words).collect::<Vec<_>>().join(", ")
}
