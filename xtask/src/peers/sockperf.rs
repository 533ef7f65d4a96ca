//! The row against `sockperf ping-pong`, which prints half of a round trip, as our messages are.
//!
//! Its server and its client block in recvfrom(2) on two CPUs, as our two sides do.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::Context;

use super::{Allowed, Bench, Program, Row, on_cpu, output};

pub(super) const ROWS: &[Row] = &[Row {
    name: "UDP 64 B, one way, two CPUs",
    peer: Program { command: "sockperf", package: "sockperf" },
    pairs: 12,
    allowed: Allowed::Within(0.10),
    ours: |bench| by_tactus(bench),
    theirs: |_| by_sockperf(),
}];

const ADDRESS: [&str; 4] = ["--ip", "127.0.0.1", "--port", "11135"];

fn by_tactus(bench: &Bench) -> anyhow::Result<f64> {
    let settings = ["--operation", "ipc-udp", "--size", "64B", "--wait", "block"];
    let place = ["--partner-cpu", "other", "--cpus", "0,1"];
    bench.realtime(&[&settings[..], &place, &["--touch", "both", "--buffers", "recycled"]].concat())
}

/// The server, which ends with this value.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = (self.0.kill(), self.0.wait());
    }
}

fn sockperf(cpu: &str, role: &str) -> Command {
    let mut command = on_cpu(cpu, "sockperf");
    command.arg(role).args(ADDRESS);
    command
}

/// The median of half a round trip, in nanoseconds.
fn by_sockperf() -> anyhow::Result<f64> {
    let mut server = sockperf("1", "server");
    tactus_sys::process::die_with_parent(&mut server);
    let _server = Server(server.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?);
    // It prints nothing that shows when it is ready.
    std::thread::sleep(Duration::from_millis(300));
    let text = output(sockperf("0", "ping-pong").args(["--msg-size", "64", "--time", "1"]))?;
    let line = text.lines().find(|line| line.contains("percentile 50.000 ="));
    let micros = line.and_then(|line| line.rsplit('=').next()?.trim().parse::<f64>().ok());
    Ok(micros.with_context(|| format!("sockperf: no median in {text}"))? * 1000.0)
}
