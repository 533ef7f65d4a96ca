//! How fast recordings are analysed, beside `perf sched timehist`.
//!
//! Both tools record the same stretch at the same time, with the same command
//! running. Then they analyse what each kept of it, turn about, so that a load
//! that comes or goes meets both. A tool is told by the CPU time that its
//! process used, which on a shared machine says more than the time on the wall.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, ensure};

/// How often each tool analyses.
const ROUNDS: usize = 5;

/// What runs while both record, and what it is like. Each ends by itself, within a
/// minute or so, and makes a million events or nearly, so that starting a tool is nothing
/// beside what it analyses.
const STRETCHES: [(&str, &str); 2] = [
    (
        "short processes: a shell that makes three at a time",
        "for i in $(seq 6000); do printf 'a\\nb\\n' | sort | wc -l > /dev/null; done",
    ),
    ("few threads: two that wake each other through pipes", "perf bench sched pipe --loop 100000"),
];

/// One way to analyse a stretch.
struct Contender {
    name: &'static str,
    command: Command,
    /// Events in the file that it reads.
    events: u64,
    seconds: Vec<f64>,
    cpu_seconds: Vec<f64>,
}

/// Records each stretch once, analyses it in turns, and prints events a second of each.
pub fn compare(repository: &Path) -> anyhow::Result<()> {
    let tactus = crate::release(repository)?;
    for (name, workload) in STRETCHES {
        analyse(&tactus, name, workload)?;
    }
    Ok(())
}

fn analyse(tactus: &Path, name: &str, workload: &str) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let ours = folder.path().join("stretch.tactusrec");
    let theirs = folder.path().join("perf.data");
    println!("\n{name}; recording by both at the same time");
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
    let line = text.lines().rev().find(|line| line.starts_with('{')).context("no account")?;
    let account: serde_json::Value = serde_json::from_str(line)?;
    let events = account["cost"]["events"].as_u64().context("the account has no events")?;
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
    let steal = crate::cyclictest::steal_ticks()?;
    for round in 0..ROUNDS {
        for place in 0..contenders.len() {
            let place = (place + round) % contenders.len();
            contenders[place].analyse()?;
        }
    }
    let load = std::fs::read_to_string("/proc/loadavg")?;
    println!(
        "{ROUNDS} turns; load average {}, steal {} ticks meanwhile",
        load.split(' ').next().unwrap_or_default(),
        crate::cyclictest::steal_ticks()? - steal
    );
    println!("\n{:<22} {:>9} {:>11} {:>21} {:>22}", "", "events", "wall", "CPU", "events/s");
    println!(
        "{:<32} {:>11} {:>10} {:>10} {:>11} {:>10}",
        "", "median", "least", "median", "most", "median"
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
        let (wall, cpu) = (median(&self.seconds), median(&self.cpu_seconds));
        let least = self.cpu_seconds.iter().copied().fold(f64::INFINITY, f64::min);
        println!(
            "{:<22} {:>9} {:>9.3} s {:>8.2} s {:>8.2} s {:>11.0} {:>10.0}",
            self.name,
            self.events,
            wall,
            least,
            cpu,
            self.events as f64 / least,
            self.events as f64 / cpu
        );
    }
}

/// CPU time of all children that have ended, from proc_pid_stat(5).
fn children_seconds() -> anyhow::Result<f64> {
    /// `USER_HZ`, by which the file counts on every Linux there is.
    const TICKS_A_SECOND: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let (_, fields) = stat.rsplit_once(')').context("a command stands in parentheses")?;
    // After the name and the state come the fields from the fourth on; the 16th
    // and 17th are the children's time.
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let ticks: u64 = fields[13].parse::<u64>()? + fields[14].parse::<u64>()?;
    Ok(ticks as f64 / TICKS_A_SECOND)
}

fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
