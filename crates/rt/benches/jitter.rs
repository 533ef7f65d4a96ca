//! Lateness of a 1 kHz loop of the library beside the same loop written by hand, in this
//! program and in C: `cargo bench -p tactus-rt --bench jitter -- [ROUNDS]` (root, cc).
//!
//! The sides of a round run one after another in random order, on one CPU with `fifo:80`. The
//! bare loop runs twice: the ratio of the two is what chance does to ratios here.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, ensure};
use tactus_model::cpus::CpuList;
use tactus_model::random::SplitMix64;
use tactus_model::time::{Instant, Monotonic, Nanos};
use tactus_prepare::{Preparation, ThreadRef, touch_stack};
use tactus_rt::{Flow, Next, Overrun, Policy, Process, Schedule};
use tactus_stats::LatencyHistogram;
use tactus_stats::paired::PairedDifference;
use tactus_sys::clock;
use tactus_sys::memory::Lock;
use tactus_sys::sleep::{Nanosleep, Sleeper};

const PERIOD: Nanos = Nanos::from_millis(1);
/// Wakeups of each side in a round.
const COUNT: u64 = 1000;
const SIDES: [&str; 4] = ["bare", "bare again", "library", "C"];

fn main() -> anyhow::Result<()> {
    let rounds = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(20);
    let cpu = ThreadRef::Calling.cpus()?.iter().last().context("no CPU")?;
    let folder = tempfile::tempdir()?;
    let program = folder.path().join("jitter");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/jitter.c");
    let compiled = Command::new("cc").args(["-O2", "-o"]).arg(&program).arg(source).status();
    ensure!(compiled.context("cannot start cc")?.success(), "cc failed");
    println!("CPU {cpu}, fifo:80, 1 kHz, {COUNT} wakeups a side in each of {rounds} rounds");
    let mut random = SplitMix64::new(1);
    for (name, threads) in [("idle", 0), ("loaded", 4)] {
        let load = Load::start(threads);
        let mut found: [Vec<LatencyHistogram>; 4] = Default::default();
        for _ in 0..rounds {
            let mut order = [0, 1, 2, 3];
            for last in (1..order.len()).rev() {
                order.swap(last, random.below(last as u64 + 1) as usize);
            }
            for side in order {
                found[side].push(match SIDES[side] {
                    "library" => library(cpu)?,
                    "C" => by_c(&program, cpu)?,
                    _ => bare(cpu)?,
                });
            }
        }
        drop(load);
        print(name, &found);
    }
    Ok(())
}

fn print(load: &str, found: &[Vec<LatencyHistogram>; 4]) {
    println!(
        "\n{load:<12}{:>9}{:>9}{:>9}   ratio to bare of p50 and p99 [95 %]",
        "p50", "p99", "max"
    );
    for (name, rounds) in SIDES.iter().zip(found) {
        let mut all = LatencyHistogram::new();
        rounds.iter().for_each(|round| all.merge(round));
        let micros = |share| all.quantile(share).unwrap_or_default().as_micros_f64();
        let ratios = [0.5, 0.99].map(|share| ratio(rounds, &found[0], share));
        let [p50, p99, max] = [0.5, 0.99, 1.0].map(micros);
        println!("{name:<12}{p50:>9.1}{p99:>9.1}{max:>9.1}   {}   {}", ratios[0], ratios[1]);
    }
    let [p50, p99] = [0.5, 0.99].map(|share| ratio(&found[2], &found[3], share));
    println!("library to C                            {p50}   {p99}");
}

/// The ratio of a quantile in pairs of rounds: the mean of its logarithm, with Student's interval.
fn ratio(ours: &[LatencyHistogram], theirs: &[LatencyHistogram], share: f64) -> String {
    let of = |round: &LatencyHistogram| {
        round.quantile(share).unwrap_or_default().as_nanos().max(1) as f64
    };
    let logs: Vec<f64> =
        ours.iter().zip(theirs).map(|(ours, theirs)| (of(ours) / of(theirs)).ln()).collect();
    match PairedDifference::of(&logs) {
        Some(found) => {
            let [mean, low, high] = [found.mean, found.low, found.high].map(f64::exp);
            format!("{mean:.3} [{low:.3}, {high:.3}]")
        }
        None => "too few rounds".to_owned(),
    }
}

fn library(cpu: u32) -> anyhow::Result<LatencyHistogram> {
    let rt = Process::builder().lock_memory().start()?;
    let mut remaining = COUNT;
    let servo = rt.periodic("library", PERIOD).policy(Policy::Fifo(80)).cpu(cpu);
    let thread = servo.spawn(move |_| {
        remaining -= 1;
        if remaining > 0 { Flow::Continue } else { Flow::Stop }
    })?;
    ensure!(thread.shortfalls().is_empty(), "{:?}", thread.shortfalls());
    Ok(thread.join().stats.lateness)
}

/// The loop as it is written by hand; what it does besides sleeping is the same.
fn bare(cpu: u32) -> anyhow::Result<LatencyHistogram> {
    let run = move || -> anyhow::Result<LatencyHistogram> {
        let mut preparation = Preparation::new();
        let cpus: CpuList = [cpu].into_iter().collect();
        preparation.place(&cpus, "fifo:80".parse()?)?;
        touch_stack(64 << 10);
        let mut late = tactus_sys::memory::touched_vec(COUNT as usize)?;
        preparation.lock_memory(Lock::Present);
        let first = clock::now::<Monotonic>() + PERIOD;
        let mut grid = Schedule::new(first, PERIOD, Overrun::Skip);
        for _ in 0..COUNT {
            let due: Instant<Monotonic> = grid.present().at;
            late.push(Nanosleep.sleep_until(due)? - due);
            let Next::Run(_) = grid.next(clock::now()) else { break };
        }
        Ok(late.into_iter().collect())
    };
    std::thread::spawn(run).join().ok().context("the bare loop panicked")?
}

fn by_c(program: &std::path::Path, cpu: u32) -> anyhow::Result<LatencyHistogram> {
    let numbers = [u64::from(cpu), PERIOD.as_nanos(), COUNT].map(|number| number.to_string());
    let output = Command::new(program).args(numbers).output()?;
    ensure!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let text = String::from_utf8(output.stdout)?;
    text.lines().map(|line| Ok(Nanos::from_nanos(line.parse()?))).collect()
}

/// Ordinary threads that write through more memory than caches hold.
struct Load {
    is_ending: Arc<AtomicBool>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

impl Load {
    fn start(threads: u32) -> Self {
        let is_ending = Arc::new(AtomicBool::new(false));
        let run = |ending: Arc<AtomicBool>| {
            move || {
                let mut memory = vec![0_u8; 8 << 20];
                while !ending.load(Ordering::Relaxed) {
                    memory.iter_mut().step_by(64).for_each(|byte| *byte = byte.wrapping_add(1));
                }
            }
        };
        let start = |_| std::thread::spawn(run(Arc::clone(&is_ending)));
        let threads = (0..threads).map(start).collect();
        Self { is_ending, threads }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.is_ending.store(true, Ordering::Relaxed);
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}
