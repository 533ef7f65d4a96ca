//! Rows against `fio`, which prints percentiles of its reads.
//!
//! Both sides read a file of the same size in order, from the page cache, under a real-time policy
//! on one CPU. fio makes its file in a run of its own, so that the measured one finds it there. Both
//! write it in blocks of 1 MiB and read it into memory from mmap(2): smaller blocks leave smaller
//! folios in the page cache, and both change the speed of a copy by up to a third.

use std::process::Command;

use anyhow::Context;
use serde_json::Value;

use super::{Allowed, Bench, Program, Row, on_cpu, output};

const FIO: Program = Program { command: "fio", package: "fio" };
const PAIRS: usize = 12;
const ALLOWED: Allowed = Allowed::Within(0.10);
const CPU: &str = "1";
/// Of both sides' files, in both tools' spelling: a smaller one would fit into other caches.
const FILE_SIZE: &str = "16MiB";
const FILE_SIZE_FIO: &str = "--size=16M";

pub(super) const ROWS: &[Row] = &[
    Row {
        name: "file read 64 KiB, warm",
        peer: FIO,
        pairs: PAIRS,
        allowed: ALLOWED,
        ours: |bench| by_tactus(bench, "file-read", "64KiB"),
        theirs: |bench| by_fio(bench, "psync", "64k"),
    },
    Row {
        name: "file read 1 MiB, warm",
        peer: FIO,
        pairs: PAIRS,
        allowed: ALLOWED,
        ours: |bench| by_tactus(bench, "file-read", "1MiB"),
        theirs: |bench| by_fio(bench, "psync", "1m"),
    },
    Row {
        name: "file io_uring 64 KiB, warm",
        peer: FIO,
        pairs: PAIRS,
        allowed: ALLOWED,
        ours: |bench| by_tactus(bench, "file-uring", "64KiB"),
        theirs: |bench| by_fio(bench, "io_uring", "64k"),
    },
];

fn by_tactus(bench: &Bench, operation: &str, size: &str) -> anyhow::Result<f64> {
    let directory = bench.folder.to_str().context("the temporary directory has an odd name")?;
    let file = ["--file-size", FILE_SIZE, "--cache", "warm"];
    let settings = [&["--operation", operation, "--size", size], &file[..]].concat();
    let place = ["--directory", directory, "--cpus", CPU];
    bench.realtime(&[&settings[..], &place].concat())
}

/// The median duration of a read, in nanoseconds.
fn by_fio(bench: &Bench, engine: &str, size: &str) -> anyhow::Result<f64> {
    let file = format!("--filename={}", bench.folder.join("fio").display());
    let (engine, size) = (format!("--ioengine={engine}"), format!("--bs={size}"));
    let job = ["--name=read", FILE_SIZE_FIO, &file, "--thread", "--output-format=json"];
    output(Command::new("fio").args(job).args(["--rw=write", "--bs=1m", "--end_fsync=1"]))?;
    let mut command = on_cpu(CPU, "fio");
    command
        .args(job)
        .args([&engine, &size, "--rw=read", "--mem=mmap", "--invalidate=0"])
        .args(["--time_based", "--runtime=300ms"])
        // The whole duration of a read: fio calls only a part of it completion.
        .args(["--lat_percentiles=1", "--clat_percentiles=0", "--percentile_list=50"]);
    let text = output(&mut command)?;
    let found: Value = serde_json::from_str(&text).with_context(|| format!("fio: {text}"))?;
    let median = found.pointer("/jobs/0/read/lat_ns/percentile/50.000000").and_then(Value::as_f64);
    median.with_context(|| format!("fio: no median in {text}"))
}
