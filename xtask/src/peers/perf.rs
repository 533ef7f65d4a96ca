//! Rows against `perf bench`, which prints the mean of one process.
//!
//! A mean contains all that others did on the CPU meanwhile. So both sides run under a real-time
//! policy on one CPU, where only interrupts and the hypervisor disturb them, and for a short time.

use anyhow::Context;

use super::{Allowed, Bench, Program, Row, on_cpu, output};

const PERF: Program = Program { command: "perf", package: "linux-perf" };
const PAIRS: usize = 16;
const CPU: &str = "1";

pub(super) const ROWS: &[Row] = &[
    Row {
        name: "getppid",
        peer: PERF,
        pairs: PAIRS,
        allowed: Allowed::Within(0.08),
        ours: |bench| tactus(bench, &["--operation", "getppid"]),
        theirs: |_| operation_by_perf(&["syscall", "basic"], 1_000_000),
    },
    Row {
        name: "pipe, processes, one CPU",
        peer: PERF,
        pairs: PAIRS,
        allowed: Allowed::Within(0.05),
        ours: |bench| {
            let settings = ["--operation", "pipe", "--partner", "process", "--partner-cpu", "same"];
            tactus(bench, &[&settings[..], &["--working-set", "0B"]].concat())
        },
        theirs: |_| operation_by_perf(&["sched", "pipe"], 40_000),
    },
    Row {
        name: "memcpy 64 KiB",
        peer: PERF,
        pairs: PAIRS,
        allowed: Allowed::Within(0.08),
        ours: |bench| copy_by_tactus(bench, "64KiB"),
        theirs: |_| copy_by_perf(64 << 10, 40_000),
    },
    Row {
        name: "memcpy 2 MiB",
        peer: PERF,
        pairs: PAIRS,
        allowed: Allowed::Within(0.08),
        ours: |bench| copy_by_tactus(bench, "2MiB"),
        theirs: |_| copy_by_perf(2 << 20, 1_000),
    },
    Row {
        name: "memcpy 64 MiB",
        peer: PERF,
        pairs: PAIRS,
        allowed: Allowed::Within(0.08),
        ours: |bench| copy_by_tactus(bench, "64MiB"),
        theirs: |_| copy_by_perf(64 << 20, 15),
    },
];

fn tactus(bench: &Bench, settings: &[&str]) -> anyhow::Result<f64> {
    bench.realtime(&[settings, &["--cpus", CPU]].concat())
}

fn copy_by_tactus(bench: &Bench, size: &str) -> anyhow::Result<f64> {
    tactus(bench, &["--operation", "memory-copy", "--size", size, "--pages", "normal"])
}

/// `perf bench` with these words; it prints figures alone.
fn perf(words: &[&str], repeated: &str, times: u64) -> anyhow::Result<String> {
    let mut command = on_cpu(CPU, "perf");
    command.args(["bench", "--format", "simple"]).args(words).args([repeated, &times.to_string()]);
    output(&mut command)
}

/// Nanoseconds per operation, of the total in seconds that `perf` prints.
fn operation_by_perf(words: &[&str], times: u64) -> anyhow::Result<f64> {
    let text = perf(words, "--loop", times)?;
    let seconds: f64 = text.trim().parse().with_context(|| format!("perf bench: {text}"))?;
    Ok(seconds * 1e9 / times as f64)
}

/// Nanoseconds per copy, of the bytes per second that `perf` prints below a comment.
fn copy_by_perf(size: u64, times: u64) -> anyhow::Result<f64> {
    let size_text = format!("{size}B");
    let words = ["mem", "memcpy", "--function", "default", "--size", &size_text];
    let text = perf(&words, "--nr_loops", times)?;
    let rate = text.lines().find(|line| !line.starts_with('#')).and_then(|line| line.parse().ok());
    let rate: f64 = rate.with_context(|| format!("perf bench: {text}"))?;
    Ok(size as f64 * 1e9 / rate)
}
