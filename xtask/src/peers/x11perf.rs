//! Rows against `x11perf`, which prints the mean of one process. Processes differ by a factor of
//! two, so only the median of several means anything.
//!
//! Either side has an Xvfb of its own. With `-sync`, x11perf waits for each image like ours does.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use anyhow::Context;

use super::{Allowed, Bench, Program, Row, output};

const X11PERF: Program = Program { command: "x11perf", package: "x11-apps xvfb" };
const PAIRS: usize = 10;
const ALLOWED: Allowed = Allowed::Within(0.25);

pub(super) const ROWS: &[Row] = &[
    Row {
        name: "image 500x500, socket",
        peer: X11PERF,
        pairs: PAIRS,
        allowed: ALLOWED,
        ours: |bench| by_tactus(bench, "display-socket", "500x500x4"),
        theirs: |_| by_x11perf("-putimage500"),
    },
    Row {
        name: "image 500x500, shared memory",
        peer: X11PERF,
        pairs: PAIRS,
        allowed: ALLOWED,
        ours: |bench| by_tactus(bench, "display-shared", "500x500x4"),
        theirs: |_| by_x11perf("-shmput500"),
    },
    Row {
        name: "image 100x100, socket",
        peer: X11PERF,
        pairs: PAIRS,
        allowed: ALLOWED,
        ours: |bench| by_tactus(bench, "display-socket", "100x100x4"),
        theirs: |_| by_x11perf("-putimage100"),
    },
];

fn by_tactus(bench: &Bench, operation: &str, image: &str) -> anyhow::Result<f64> {
    bench.tactus(&["--operation", operation, "--image", image])
}

/// Nanoseconds per image, of the lines `800 reps @   0.3800 msec (  2630.0/sec): PutImage …`.
fn by_x11perf(test: &str) -> anyhow::Result<f64> {
    let server = Server::start()?;
    let mut command = Command::new("x11perf");
    command.env("DISPLAY", &server.display).args(["-sync", "-repeat", "1", "-time", "1", test]);
    let text = output(&mut command)?;
    let line = text.lines().find(|line| line.contains(" reps @"));
    let millis = line.and_then(|line| line.split_once('@')?.1.split_once("msec"));
    let millis = millis.and_then(|(millis, _)| millis.trim().parse::<f64>().ok());
    Ok(millis.with_context(|| format!("x11perf: {text}"))? * 1e6)
}

/// An Xvfb, ended when it is dropped.
struct Server {
    process: Child,
    display: String,
}

impl Server {
    fn start() -> anyhow::Result<Self> {
        let mut process = Command::new("Xvfb")
            .args(["-displayfd", "1", "-nolisten", "tcp", "-screen", "0", "640x640x24"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("Xvfb")?;
        let mut number = String::new();
        if let Some(output) = process.stdout.take() {
            BufReader::new(output).read_line(&mut number)?;
        }
        Ok(Self { process, display: format!(":{}", number.trim()) })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Asked to end, it removes its socket and its lock.
        let id = self.process.id().to_string();
        let _ = Command::new("kill").arg(id).status();
        let _ = self.process.wait();
    }
}
