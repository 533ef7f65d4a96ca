//! What the agent costs a machine, in pairs with and without it, idle and busy.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde_json::Value;
use tactus_model::random::SplitMix64;
use tactus_model::time::Nanos;
use tactus_sys::clock::cpu_time_of_process;

use crate::cargo;
use crate::conditions::Conditions;
use crate::ratio::Ratio;

/// How long the agent runs before it is measured, so its start is not in the figures.
const SETTLED: Duration = Duration::from_secs(3);

/// A latency that no wakeup has: explaining late ones has a credit of its own.
const NEVER: &str = "1s";

/// The work of a busy machine.
const WORK: [&str; 4] = ["--cpu", "1", "--pipe", "1"];

/// Measures pairs of windows of this length, with and without the agent in turns, and prints them. The agent is
/// that of `program`, or of the release build.
pub(crate) fn measure(
    repository: &Path,
    pairs: u32,
    seconds: u64,
    program: Option<&str>,
) -> anyhow::Result<()> {
    let tactus = program.map_or_else(|| cargo::release(repository), |file| Ok(file.into()))?;
    let window = Duration::from_secs(seconds);
    println!(
        "shares of one CPU in windows of {seconds} s; the agent starts before, and explains nothing\n"
    );
    println!("machine  pair  busy without  busy with  own threads  recording  work with/without");
    let mut random = SplitMix64::new(1);
    for is_busy in [false, true] {
        let machine = if is_busy { "busy" } else { "idle" };
        let conditions = Conditions::begin()?;
        let (mut owns, mut more, mut works) = (Vec::new(), Vec::new(), Vec::new());
        for pair in 0..pairs {
            // Whatever drifts does not always meet the same side.
            let [mut with, mut without] = [None, None];
            for is_with in [pair % 2 == 0, pair % 2 != 0] {
                let side = if is_with { &mut with } else { &mut without };
                *side = Some(self::window(is_with.then_some(&*tactus), is_busy, window)?);
            }
            let (Some(with), Some(without)) = (with, without) else { continue };
            let work = with.work / without.work;
            let [idle, busy, own, recording] =
                [without.busy, with.busy, with.own, with.recording].map(|share| 100.0 * share);
            println!(
                "{machine:7}  {pair:4}  {idle:10.2} %  {busy:7.2} %  {own:9.3} %  {recording:7.3} %  {work:.4}"
            );
            owns.push(own + recording);
            more.push(busy - idle);
            works.push(work);
        }
        let mut median = |values: &[f64]| Ratio::of(values, &mut random).context("no pairs");
        println!("{machine}: own threads and recording {} %", median(&owns)?);
        println!("{machine}: busier with the agent by {} %", median(&more)?);
        if is_busy {
            println!("{machine}: work with / without the agent {}", median(&works)?);
        }
        println!("{machine}: {}\n", conditions.text()?);
    }
    Ok(())
}

/// One window, in shares of one CPU.
struct Side {
    /// The CPU time of everything.
    busy: f64,
    /// The CPU time of the agent's threads.
    own: f64,
    /// The CPU time of recording, as the agent estimates it.
    recording: f64,
    /// The operations of the busy machine in a second.
    work: f64,
}

fn window(tactus: Option<&Path>, is_busy: bool, window: Duration) -> anyhow::Result<Side> {
    let mut agent = tactus.map(Running::start).transpose()?;
    sleep(SETTLED);
    let (own, busy, began) = (agent.as_ref().map(Running::time), busy()?, Instant::now());
    let recording = agent.as_ref().map(Running::recording).transpose()?;
    let work = if is_busy { work(window)? } else { 1.0 };
    sleep(window.saturating_sub(began.elapsed()));
    let elapsed = began.elapsed().as_secs_f64();
    let share = |before: Nanos, after: Nanos| (after - before).as_secs_f64() / elapsed;
    let busy = (self::busy()? - busy) / elapsed;
    let own = agent.as_ref().zip(own).map(|(agent, before)| share(before, agent.time()));
    let recorded = agent.as_ref().map(Running::recording).transpose()?;
    let recording = recorded.zip(recording).map(|(after, before)| (after - before) / elapsed);
    agent.as_mut().map(Running::end).transpose()?;
    let [own, recording] = [own, recording].map(Option::unwrap_or_default);
    Ok(Side { busy, own, recording, work })
}

/// A running agent.
struct Running {
    agent: Child,
    address: String,
    _folder: tempfile::TempDir,
}

impl Running {
    fn start(tactus: &Path) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let mut command = Command::new(tactus);
        command.args(["agent", "--json", "--late", NEVER, "--listen", "127.0.0.1:0", "--store"]);
        command.arg(folder.path().join("runs.sqlite"));
        let mut agent = command.stdout(Stdio::piped()).spawn()?;
        let mut lines = BufReader::new(agent.stdout.take().context("no output")?).lines();
        let started: Value = serde_json::from_str(&lines.next().context("it has ended")??)?;
        let address = started["listen"].as_str().context("no address")?.to_owned();
        let recording: Value = serde_json::from_str(&lines.next().context("it has ended")??)?;
        ensure!(recording["event"] == "recording", "{recording}");
        // It writes little, and ends when nobody reads it.
        std::thread::spawn(move || lines.for_each(drop));
        Ok(Self { agent, address, _folder: folder })
    }

    fn time(&self) -> Nanos {
        cpu_time_of_process(self.agent.id().cast_signed())
    }

    /// The seconds of recording until now, as the agent estimates them.
    fn recording(&self) -> anyhow::Result<f64> {
        use std::io::{Read, Write};
        const METRIC: &str = "tactus_agent_cpu_seconds_total{part=\"recording\"} ";
        let mut stream = std::net::TcpStream::connect(&self.address)?;
        stream.write_all(b"GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let value = answer.lines().find_map(|line| line.strip_prefix(METRIC));
        Ok(value.with_context(|| answer.clone())?.trim().parse()?)
    }

    fn end(&mut self) -> anyhow::Result<()> {
        let process = self.agent.id().to_string();
        ensure!(Command::new("kill").arg(process).status()?.success(), "the agent has ended");
        self.agent.wait()?;
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended, unless the measurement failed.
        let _ = self.agent.kill();
        let _ = self.agent.wait();
    }
}

/// The seconds in which CPUs were not idle since boot, steal time left out.
fn busy() -> anyhow::Result<f64> {
    // user, nice, system, idle, iowait, irq, softirq, steal, in ticks of 10 ms.
    const BUSY: [usize; 5] = [1, 2, 3, 6, 7];
    let stat = fs::read_to_string("/proc/stat")?;
    let fields: Vec<&str> = stat.lines().next().unwrap_or_default().split_whitespace().collect();
    let mut ticks = 0.0;
    for field in BUSY {
        ticks += fields.get(field).context("/proc/stat is short")?.parse::<f64>()?;
    }
    Ok(ticks / 100.0)
}

/// Keeps the machine busy, and returns the operations of all workers in a second of wall time.
fn work(window: Duration) -> anyhow::Result<f64> {
    let mut command = Command::new("stress-ng");
    command.args(WORK).args(["--timeout", &format!("{}s", window.as_secs()), "--metrics"]);
    let output = command.output().context("stress-ng")?;
    ensure!(output.status.success(), "stress-ng failed");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    // stress-ng: metrc: [1] cpu  OPERATIONS  REAL  USER  SYSTEM  RATE …
    let rates = said.lines().filter_map(|line| {
        let (_, line) = line.split_once("] ")?;
        let mut fields = line.split_whitespace();
        let name = fields.next()?;
        let rate: f64 = fields.nth(4)?.parse().ok()?;
        Some((name.to_owned(), rate))
    });
    let rates: Vec<(String, f64)> = rates.collect();
    ensure!(rates.len() == 2, "stress-ng printed no rates: {said}");
    // Of two very different rates, the geometric mean weighs both equally.
    Ok(rates.iter().map(|(_, rate)| rate).product::<f64>().sqrt())
}
