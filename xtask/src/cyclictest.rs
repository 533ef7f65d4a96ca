//! Pairs of cyclictest and `tactus measure`, interleaved: the same CPU,
//! priority, interval and load, in random order within a pair.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, bail, ensure};
use serde_json::Value;
use tactus_model::random::SplitMix64;
use tactus_model::time::Nanos;
use tactus_stats::median::median_of;

use crate::conditions::Conditions;
use crate::ratio::Ratio;

/// The result of one side of a pair.
#[derive(Clone, Copy, Debug)]
struct Found {
    /// The median wakeup latency in nanoseconds.
    median: f64,
    /// The share of intended wakeups that were observed.
    observed: f64,
}

/// The settings of the pairs.
struct Setting {
    interval: Nanos,
    duration: Nanos,
    load: &'static str,
    pairs: u32,
}

const CPU: &str = "1";
const PRIORITY: &str = "90";
const SEED: u64 = 1;

/// Runs the pairs and prints their ratios with an interval.
pub(crate) fn compare(root: &Path) -> anyhow::Result<()> {
    let tactus = crate::cargo::release(root)?;

    let second = Nanos::from_secs(1);
    let settings = [
        ("1ms", second.saturating_mul(5), "idle", 16),
        ("1ms", second.saturating_mul(5), "compute:cpus", 16),
        ("10us", second.saturating_mul(2), "idle", 10),
        ("5us", second.saturating_mul(2), "idle", 10),
    ];
    println!(
        "CPU {CPU}, fifo:{PRIORITY}; median and 95 % interval of the ratio tactus/cyclictest over pairs"
    );
    println!(
        "interval  load          pairs  median ratio          observed tactus  observed cyclictest  conditions"
    );
    let mut random = SplitMix64::new(SEED);
    for (interval, duration, load, pairs) in settings {
        let setting = Setting { interval: interval.parse()?, duration, load, pairs };
        pair_up(&tactus, &setting, &mut random)?;
    }
    Ok(())
}

fn pair_up(tactus: &Path, setting: &Setting, random: &mut SplitMix64) -> anyhow::Result<()> {
    let conditions = Conditions::begin()?;
    let mut ratios = Vec::new();
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..setting.pairs {
        let (mine, peers) = if random.below(2) == 0 {
            let mine = by_tactus(tactus, setting)?;
            (mine, by_cyclictest(tactus, setting)?)
        } else {
            let peers = by_cyclictest(tactus, setting)?;
            (by_tactus(tactus, setting)?, peers)
        };
        ratios.push(mine.median / peers.median);
        ours.push(mine.observed);
        theirs.push(peers.observed);
    }
    let ratio = Ratio::of(&ratios, random).context("no pairs")?;
    let percent = |shares: Vec<f64>| 100.0 * median_of(shares).unwrap_or(f64::NAN);
    println!(
        "{:<8}  {:<12}  {:>5}  {ratio}  {:>15.1}%  {:>18.1}%  {}",
        setting.interval.to_string(),
        setting.load,
        setting.pairs,
        percent(ours),
        percent(theirs),
        conditions.text()?,
    );
    Ok(())
}

fn by_tactus(tactus: &Path, setting: &Setting) -> anyhow::Result<Found> {
    let folder = tempfile::tempdir()?;
    let output = Command::new(tactus)
        .args(["measure", "--json", "--no-page", "--cpus", CPU, "--warmup", "200ms"])
        .args(["--traced", "0s"])
        .args(["--policy", &format!("fifo:{PRIORITY}"), "--load", setting.load])
        // The default of cyclictest.
        .args(["--cpu-dma-latency", "0us"])
        .args(["--interval", &setting.interval.to_string()])
        .args(["--duration", &setting.duration.to_string()])
        .env("TACTUS_STORE", folder.path().join("runs.sqlite"))
        .stderr(Stdio::null())
        .output()?;
    ensure!(output.status.success(), "tactus measure failed");
    let text = String::from_utf8(output.stdout)?;
    let result = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .find(|line| line["event"] == "result")
        .context("tactus printed no result")?;
    let accounting = &result["accounting"];
    let quantiles = result["quantiles"].as_array().context("no quantiles")?;
    let median = quantiles
        .iter()
        .find(|estimate| estimate["quantile"] == 0.5)
        .and_then(|estimate| estimate["per_wakeup"].as_f64())
        .context("no median")?;
    let count = |name: &str| accounting[name].as_f64().context("no accounting");
    Ok(Found { median, observed: count("observed")? / count("intended")? })
}

fn by_cyclictest(tactus: &Path, setting: &Setting) -> anyhow::Result<Found> {
    let folder = tempfile::tempdir()?;
    let json = folder.path().join("cyclictest.json");
    let seconds = setting.duration.div_floor(Nanos::from_secs(1));
    // The same load from the same program: a measurement on another CPU that outlasts the pair.
    let mut load = load_beside(tactus, setting, folder.path())?;
    let output = Command::new("cyclictest")
        .args(["-t1", "-m", "-q", "-N", "-h", "1000000"])
        .args(["-a", CPU, "-p", PRIORITY, "-D", &seconds.to_string()])
        .args(["-i", &setting.interval.div_floor(Nanos::from_micros(1)).to_string()])
        .arg(format!("--json={}", json.display()))
        .stdout(Stdio::null())
        .status();
    if let Some(load) = &mut load {
        load.kill()?;
        load.wait()?;
    }
    let status = output.context("cannot start cyclictest; fix: apt-get install rt-tests")?;
    ensure!(status.success(), "cyclictest failed");
    let result: Value = serde_json::from_str(&fs::read_to_string(json)?)?;
    let thread = &result["thread"]["0"];
    let cycles = thread["cycles"].as_f64().context("cyclictest reported no cycles")?;
    let intended = setting.duration.div_floor(setting.interval) as f64;
    let histogram = thread["histogram"].as_object().context("cyclictest reported no histogram")?;
    let mut buckets: Vec<(u64, u64)> = Vec::new();
    for (value, count) in histogram {
        buckets.push((value.parse()?, count.as_u64().context("a count")?));
    }
    buckets.sort_unstable();
    let mut seen = 0;
    for (value, count) in buckets {
        seen += count;
        if seen as f64 >= cycles / 2.0 {
            return Ok(Found { median: value as f64, observed: (cycles / intended).min(1.0) });
        }
    }
    bail!("more than half of cyclictest's samples overflowed its histogram")
}

/// Runs our load without a probe on the measured CPU: a slow probe is on the other CPU.
fn load_beside(
    tactus: &Path,
    setting: &Setting,
    folder: &Path,
) -> anyhow::Result<Option<std::process::Child>> {
    if setting.load == "idle" {
        return Ok(None);
    }
    let duration = setting.duration.saturating_mul(4).to_string();
    let child = Command::new(tactus)
        .args(["measure", "--no-page", "--cpus", "0", "--interval", "1s", "--load", setting.load])
        .args(["--duration", &duration, "--warmup", "0ns", "--traced", "0s"])
        .env("TACTUS_STORE", folder.join("load.sqlite"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    std::thread::sleep(std::time::Duration::from_millis(700));
    Ok(Some(child))
}
