//! What operations cost by `tactus costs` beside what other tools report for the same.
//!
//! A row names one quantity and two ways to measure it. Each measurement is a fresh process. All rows
//! are measured once in each round, in random order and with a random side first, so that drift of the
//! machine affects both sides of all rows.

mod fio;
mod perf;
mod sockperf;
mod x11perf;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};
use serde_json::Value;
use tactus_model::random::SplitMix64;
use tactus_stats::median::median_of;
use tactus_stats::modes::Modes;

use crate::conditions::Conditions;
use crate::ratio::Ratio;

/// All rows; a peer has a file with its own.
const ROWS: &[&[Row]] = &[perf::ROWS, sockperf::ROWS, fio::ROWS, x11perf::ROWS];

const SEED: u64 = 1;
/// Fewer pairs in one mode of the machine show nothing.
const PAIRS_MIN: usize = 5;

/// One quantity, as two tools measure it.
struct Row {
    /// The quantity.
    name: &'static str,
    /// The other tool: the program, and Debian's package that contains it.
    peer: Program,
    /// How often both sides are measured.
    pairs: usize,
    /// How far the two may differ.
    allowed: Allowed,
    /// Measures our side, in nanoseconds.
    ours: fn(&Bench) -> anyhow::Result<f64>,
    /// Measures the peer's side, in nanoseconds.
    theirs: fn(&Bench) -> anyhow::Result<f64>,
}

/// A program that must be installed.
struct Program {
    command: &'static str,
    package: &'static str,
}

/// The difference that still counts as agreement, as a share of the peer's figure.
#[derive(Clone, Copy)]
enum Allowed {
    /// At most so much more or less.
    Within(f64),
}

/// What the pairs of a row show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// The interval of the ratio lies within the allowed difference.
    Agrees,
    /// It lies outside.
    Differs,
    /// It reaches across the limit.
    Open,
}

impl Allowed {
    /// Judges the interval of the ratio of ours to theirs.
    fn judge(self, [low, high]: [f64; 2]) -> Verdict {
        let Self::Within(share) = self;
        let (least, most) = (1.0 / (1.0 + share), 1.0 + share);
        if least <= low && high <= most {
            Verdict::Agrees
        } else if high < least || most < low {
            Verdict::Differs
        } else {
            Verdict::Open
        }
    }

    fn text(self) -> String {
        let Self::Within(share) = self;
        format!("±{:.0} %", share * 100.0)
    }
}

/// What every measurement needs.
struct Bench {
    tactus: PathBuf,
    /// A temporary directory, removed at the end.
    folder: PathBuf,
}

impl Bench {
    /// The typical cost of an operation by a fresh process of ours, in nanoseconds.
    fn tactus(&self, settings: &[&str]) -> anyhow::Result<f64> {
        let mut command = Command::new(&self.tactus);
        command
            .args(["costs", "--json", "--rounds", "1", "--duration", "300ms", "--load", "idle"])
            .args(settings)
            .env("TACTUS_STORE", self.folder.join("runs.sqlite"));
        let text = output(&mut command)?;
        let costs: Vec<f64> = text
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            .filter(|line| line["event"] == "cost")
            .filter_map(|line| line["typical_ns"].as_f64())
            .collect();
        match costs[..] {
            [cost] => Ok(cost),
            _ => bail!("{} costs for {settings:?} instead of one", costs.len()),
        }
    }

    /// The same under the real-time policy of [`on_cpu`].
    fn realtime(&self, settings: &[&str]) -> anyhow::Result<f64> {
        let policy = format!("fifo:{PRIORITY}");
        self.tactus(&[settings, &["--policy", &policy]].concat())
    }
}

/// The priority of both sides where interrupts and the hypervisor alone may disturb them.
const PRIORITY: &str = "20";

/// A program under a real-time policy on a CPU.
fn on_cpu(cpu: &str, program: &str) -> Command {
    let mut command = Command::new("chrt");
    command.args(["--fifo", PRIORITY, "taskset", "--cpu-list", cpu, program]);
    command
}

/// Runs a command that must succeed and returns its output.
fn output(command: &mut Command) -> anyhow::Result<String> {
    let program = command.get_program().to_owned();
    let output = command.output().with_context(|| program.display().to_string())?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{} failed: {said}", program.display());
    Ok(String::from_utf8(output.stdout)?)
}

/// Measures the rows whose name or program contains `named`, and prints their ratios.
///
/// # Errors
/// A program is missing or fails. A difference is no error: the table shows it.
pub(crate) fn compare(root: &Path, named: &str) -> anyhow::Result<()> {
    let is_named = |row: &&Row| row.name.contains(named) || row.peer.command.contains(named);
    let rows: Vec<&Row> = ROWS.iter().copied().flatten().filter(is_named).collect();
    ensure!(!rows.is_empty(), "no row contains `{named}`");
    require_programs(&rows)?;
    let folder = tempfile::tempdir()?;
    let bench = Bench { tactus: crate::cargo::release(root)?, folder: folder.path().to_owned() };
    let conditions = Conditions::begin()?;
    let mut random = SplitMix64::new(SEED);
    let found = measured(&rows, &bench, &mut random)?;
    println!("{}", table(&rows, &found, &mut random));
    conditions.print()
}

fn require_programs(rows: &[&Row]) -> anyhow::Result<()> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there =
        |command: &OsStr| std::env::split_paths(&path).any(|at| at.join(command).exists());
    let missing = rows.iter().map(|row| &row.peer).filter(|peer| !is_there(peer.command.as_ref()));
    let mut packages: Vec<&str> = missing.map(|peer| peer.package).collect();
    packages.sort_unstable();
    packages.dedup();
    ensure!(
        packages.is_empty(),
        "programs are missing; fix: apt-get install {}",
        packages.join(" ")
    );
    Ok(())
}

/// Ours and the peer's figure, in nanoseconds.
type Pair = [f64; 2];

/// Measures the pairs of each row, one pair of each in a round.
fn measured(
    rows: &[&Row],
    bench: &Bench,
    random: &mut SplitMix64,
) -> anyhow::Result<Vec<Vec<Pair>>> {
    let rounds = rows.iter().map(|row| row.pairs).max().unwrap_or_default();
    let mut found = vec![Vec::new(); rows.len()];
    for round in 0..rounds {
        eprintln!("round {} of {rounds}", round + 1);
        let mut order: Vec<usize> =
            (0..rows.len()).filter(|row| round < rows[*row].pairs).collect();
        random.shuffle(&mut order);
        for index in order {
            let row = rows[index];
            found[index].push(pair(row, bench, random).context(row.name)?);
        }
    }
    Ok(found)
}

fn pair(row: &Row, bench: &Bench, random: &mut SplitMix64) -> anyhow::Result<Pair> {
    if random.below(2) == 0 {
        let ours = (row.ours)(bench)?;
        return Ok([ours, (row.theirs)(bench)?]);
    }
    let theirs = (row.theirs)(bench)?;
    Ok([(row.ours)(bench)?, theirs])
}

/// The pairs whose sides ran in the same mode of the machine. Hosts with two speeds change between
/// them from one process to the next, and then a pair compares the speeds.
fn in_one_mode(pairs: &[Pair]) -> Vec<Pair> {
    let all: Vec<f64> = pairs.iter().flatten().copied().collect();
    let Some(modes) = Modes::of(&all) else { return pairs.to_vec() };
    let same = |pair: &&Pair| (pair[0] <= modes.limit) == (pair[1] <= modes.limit);
    pairs.iter().filter(same).copied().collect()
}

fn table(rows: &[&Row], found: &[Vec<Pair>], random: &mut SplitMix64) -> String {
    let mut text = format!(
        "{:<28} {:<10} {:>10} {:>10} {:>8}  {:<22} {:>7}  verdict\n",
        "quantity", "peer", "ours", "peer's", "pairs", "ours/peer's [95 %]", "allowed"
    );
    for (row, pairs) in rows.iter().zip(found) {
        let compared = in_one_mode(pairs);
        let ratios: Vec<f64> = compared.iter().map(|[ours, theirs]| ours / theirs).collect();
        let side =
            |of: usize| median_of(pairs.iter().map(|pair| pair[of])).map_or("–".to_owned(), nanos);
        let ratio = Ratio::of(&ratios, random).filter(|_| ratios.len() >= PAIRS_MIN);
        let (ratio, verdict) = match ratio {
            None => ("–".to_owned(), Verdict::Open),
            Some(ratio) => (ratio.to_string(), row.allowed.judge(ratio.interval)),
        };
        text.push_str(&format!(
            "{:<28} {:<10} {:>10} {:>10} {:>8}  {ratio:<22} {:>7}  {}\n",
            row.name,
            row.peer.command,
            side(0),
            side(1),
            format!("{}/{}", compared.len(), pairs.len()),
            row.allowed.text(),
            verdict.word(),
        ));
    }
    text.push_str("Pairs: compared, of measured. Pairs whose sides ran in different modes of the machine are not compared.");
    text
}

impl Verdict {
    const fn word(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Differs => "differs",
            Self::Open => "open",
        }
    }
}

/// A duration with three digits.
fn nanos(nanos: f64) -> String {
    match nanos {
        ..1e3 => format!("{nanos:.1} ns"),
        ..1e6 => format!("{:.2} µs", nanos / 1e3),
        _ => format!("{:.2} ms", nanos / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_needs_the_whole_interval() {
        let within = Allowed::Within(0.08);
        assert_eq!(within.judge([0.95, 1.05]), Verdict::Agrees);
        assert_eq!(within.judge([0.95, 1.10]), Verdict::Open);
        assert_eq!(within.judge([1.09, 1.20]), Verdict::Differs);
        assert_eq!(within.judge([0.80, 0.92]), Verdict::Differs);
    }

    #[test]
    fn pairs_across_two_modes_are_not_compared() {
        let slow = |n: usize| n % 4 < 2;
        let side =
            |is_slow: bool, n: usize| (if is_slow { 4.7 } else { 3.2 }) + 0.01 * (n % 3) as f64;
        let pairs: Vec<Pair> =
            (0..16).map(|n| [side(slow(n), n), side(n % 2 == 0, n + 1)]).collect();
        let compared = in_one_mode(&pairs);
        assert_eq!(compared.len(), 8);
        assert!(compared.iter().all(|[ours, theirs]| (ours / theirs - 1.0).abs() < 0.01));
        let quiet: Vec<Pair> = (0..16).map(|n| [side(true, n), side(true, n + 1)]).collect();
        assert_eq!(in_one_mode(&quiet).len(), 16, "one mode: all pairs count");
    }
}
