//! The speed of analysing recordings, compared with `perf sched timehist`.
//!
//! Both tools record the same workload at the same time. Then they analyse their recordings in
//! turns, so a change of the machine's load affects both. Results are in CPU time of the
//! process, which on a shared machine is more reliable than wall time.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, ensure};
use tactus_stats::median::median_of;

use crate::conditions::Conditions;

/// Analyses by each tool.
const ROUNDS: usize = 5;

/// The recorded workloads, with a description. Each ends within about a minute and causes about
/// a million events, so the start of a tool is negligible.
const WORKLOADS: [(&str, &str); 2] = [
    (
        "short processes: a shell that makes three at a time",
        "for i in $(seq 6000); do printf 'a\\nb\\n' | sort | wc -l > /dev/null; done",
    ),
    ("few threads: two that wake each other through pipes", "perf bench sched pipe --loop 100000"),
];

/// A command that analyses a recording.
struct Contender {
    name: &'static str,
    command: Command,
    /// Events in its file.
    events: u64,
    seconds: Vec<f64>,
    cpu_seconds: Vec<f64>,
}

/// Records each workload once, analyses it in turns, and prints events per second for each.
pub fn compare(repository: &Path) -> anyhow::Result<()> {
    let tactus = crate::cargo::release(repository)?;
    for (name, workload) in WORKLOADS {
        analyse(&tactus, name, workload)?;
    }
    Ok(())
}

fn analyse(tactus: &Path, name: &str, workload: &str) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let ours = folder.path().join("stretch.tactusrec");
    let theirs = folder.path().join("perf.data");
    println!("\n{name}; recorded by both tools at the same time");
    let status = Command::new(tactus)
        .args(["record", "--json", "--output"])
        .arg(&ours)
        .args(["--", "perf", "sched", "record", "-k", "CLOCK_MONOTONIC", "-m", "16M", "-o"])
        .arg(&theirs)
        .args(["--", "sh", "-c", workload])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .output()?;
    ensure!(status.status.success(), "tactus record ended with {}", status.status);
    let text = String::from_utf8(status.stdout)?;
    let line = text.lines().rev().find(|line| line.starts_with('{')).context("no JSON output")?;
    let account: serde_json::Value = serde_json::from_str(line)?;
    let events =
        account["cost"]["events"].as_u64().context("the JSON output has no count of events")?;
    let script = Command::new("perf").args(["script", "-F", "time", "-i"]).arg(&theirs).output()?;
    let perf_events = script.stdout.iter().filter(|byte| **byte == b'\n').count() as u64;
    let with = |program: &Path, arguments: &[&str], file: &Path| {
        let mut command = Command::new(program);
        command.args(arguments).arg(file).stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let contender = |name, command, events| Contender {
        name,
        command,
        events,
        seconds: Vec::new(),
        cpu_seconds: Vec::new(),
    };
    let timehist = ["sched", "timehist", "--summary", "--input"];
    let mut contenders = [
        contender("tactus quanta", with(tactus, &["quanta"], &ours), events),
        contender("tactus quanta --json", with(tactus, &["quanta", "--json"], &ours), events),
        contender("tactus explain", with(tactus, &["explain"], &ours), events),
        contender("tactus explain --json", with(tactus, &["explain", "--json"], &ours), events),
        contender("perf sched timehist", with(Path::new("perf"), &timehist, &theirs), perf_events),
    ];
    let conditions = Conditions::begin()?;
    for round in 0..ROUNDS {
        for place in 0..contenders.len() {
            let place = (place + round) % contenders.len();
            contenders[place].analyse()?;
        }
    }
    println!("{ROUNDS} turns; {}", conditions.text()?);
    println!("\n{:<22} {:>9} {:>11} {:>21} {:>22}", "", "events", "wall", "CPU", "events/s");
    println!(
        "{:<32} {:>11} {:>10} {:>10} {:>11} {:>10}",
        "", "median", "min", "median", "max", "median"
    );
    for contender in &contenders {
        contender.print();
    }
    Ok(())
}

impl Contender {
    fn analyse(&mut self) -> anyhow::Result<()> {
        let before = children_seconds()?;
        let started = Instant::now();
        let status = self.command.status()?;
        self.seconds.push(started.elapsed().as_secs_f64());
        self.cpu_seconds.push(children_seconds()? - before);
        ensure!(status.success(), "{} ended with {status}", self.name);
        Ok(())
    }

    fn print(&self) {
        let [wall, cpu] = [&self.seconds, &self.cpu_seconds]
            .map(|seconds| median_of(seconds.iter().copied()).unwrap_or(f64::NAN));
        let min = self.cpu_seconds.iter().copied().fold(f64::INFINITY, f64::min);
        println!(
            "{:<22} {:>9} {:>9.3} s {:>8.2} s {:>8.2} s {:>11.0} {:>10.0}",
            self.name,
            self.events,
            wall,
            min,
            cpu,
            self.events as f64 / min,
            self.events as f64 / cpu
        );
    }
}

/// CPU time of all terminated children, from proc_pid_stat(5).
fn children_seconds() -> anyhow::Result<f64> {
    /// `USER_HZ`, the unit of the file on every Linux.
    const TICKS_A_SECOND: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let (_, fields) = stat.rsplit_once(')').context("no command in parentheses")?;
    // The first field here is the state, the third of the file; the 16th and 17th of the file
    // are the children's time.
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let ticks: u64 = fields[13].parse::<u64>()? + fields[14].parse::<u64>()?;
    Ok(ticks as f64 / TICKS_A_SECOND)
}
