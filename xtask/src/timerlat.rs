//! Comparison of the kernel's timerlat tracer with our segments, in turns in one boot of a
//! guest.
//!
//! The guest runs the example `timerlat` of `tactus-guest`. In deterministic time, the figures
//! contain only the kernel's paths, so they are compared to the nanosecond: first for the same
//! wakeups, measured by timerlat and recorded by us, then for wakeups of our own.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};
use serde::Deserialize;
use tactus_explain::segments::Segment;
use tactus_explain::{Origin, ProbeTask, WitnessedSample, witness};
use tactus_guests::archive::Archive;
use tactus_guests::emulator::Emulator;
use tactus_guests::machine::{ARCHIVE_FILE, Accelerator, KERNEL_FILE, Machine, REQUEST_FILE};
use tactus_guests::{STATIC_TARGET, machine};
use tactus_kernels::{Kernel, Kernels};
use tactus_model::cell::Cell;
use tactus_model::experiment::{Experiment, Overrides};
use tactus_model::facts::MachineFacts;
use tactus_model::message::{CellRequest, Message};
use tactus_model::probe::SleepMethod;
use tactus_model::recording::{EventKind, EventSource, Item, ThreadId};
use tactus_model::sample::{Sample, SampleBlock};
use tactus_model::time::{Instant, Nanos};
use tactus_model::traced::TracedStretch;
use tactus_record::file::RecordingFile;
use tactus_stats::LatencyHistogram;

const SEED: u64 = 1;

/// Boots the guest twice, compares the output, and prints the results of timerlat and ours.
pub(crate) fn compare(root: &Path, kernel: &str, load: &str, time: &str) -> anyhow::Result<()> {
    let cell = cell(kernel, load, time)?;
    let guest = cell.target.guest().context("a guest")?;
    ensure!(guest.time.is_exact(), "TIME must be deterministic: exact or exact:125");
    let found = Kernels::new("/boot", cache()?).find(&guest.kernel.source)?;
    let turn = tactus_model::experiment::Turn { cell: 0, round: 0 };
    let request = CellRequest { turn, cell: cell.clone(), seed: SEED, boot_seed: SEED };
    let request = format!("{}\n", serde_json::to_string(&request)?);
    let archive = archive(&program(root)?);
    let machine = Machine { guest, accelerator: Accelerator::Tcg, cpus: 1, seed: SEED as u32 };
    let first = boot(&found, &archive, &request, &machine)?;
    let second = boot(&found, &archive, &request, &machine)?;
    ensure!(first == second, "the output of two boots differs");

    let bytes: usize = first.iter().map(|line| line.len() + 1).sum();
    println!(
        "{kernel} ({}, sha256 {:.12}), {time}, load {load}, {} and an interval of {}, seed {SEED}",
        found.release.as_deref().unwrap_or("release unknown"),
        found.sha256,
        cell.policy.scheduling,
        cell.probe.timer().interval,
    );
    println!("two boots with identical output of {bytes} bytes\n");
    print(&parse(&first)?);
    Ok(())
}

fn cell(kernel: &str, load: &str, time: &str) -> anyhow::Result<Cell> {
    // timerlat's thread has priority 95 and only waits for its next period.
    let text = format!(
        "name = \"timerlat\"\nguest-time = \"{time}\"\n[settings]\nkernel = \"{kernel}\"\n\
         load = \"{load}\"\npolicy = \"fifo:95\"\ninterval = \"1ms\"\nwarmup = \"100ms\"\n\
         duration = \"250ms\"\ntraced = \"250ms\"\ntraced-events = \"wakeup-path\"\n"
    );
    let plan = Experiment::parse(&text)?.plan(&Overrides::default())?;
    plan.cells.into_iter().next().context("a cell")
}

/// The directory of the kernels fetched by `tactus lab`.
fn cache() -> anyhow::Result<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    Ok(cache.or_else(home).context("HOME is not set")?.join("tactus/kernels"))
}

/// Builds the guest's program.
fn program(root: &Path) -> anyhow::Result<Vec<u8>> {
    let built = Command::new("cargo")
        .args(["build", "--release", "--locked", "-p", "tactus-guest", "--example", "timerlat"])
        .args(["--target", STATIC_TARGET])
        .current_dir(root)
        .status()
        .context("cargo")?;
    ensure!(
        built.success(),
        "cannot build the guest's program; fix: rustup target add {STATIC_TARGET}"
    );
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), PathBuf::from);
    Ok(fs::read(target.join(STATIC_TARGET).join("release/examples/timerlat"))?)
}

fn archive(program: &[u8]) -> Vec<u8> {
    let directories = ["dev", "proc", "sys", "tmp", "bin"];
    let archive = directories.into_iter().fold(Archive::new(), Archive::directory);
    let archive = archive
        .device("dev/console", 5, 1)
        .program("bin/tactus", program)
        .link("init", "bin/tactus")
        .link("bin/true", "tactus");
    archive.finish()
}

/// Boots a guest and returns its output lines.
fn boot(
    kernel: &Kernel,
    archive: &[u8],
    request: &str,
    machine: &Machine<'_>,
) -> anyhow::Result<Vec<String>> {
    let emulator = Emulator::find(&std::env::var_os("PATH").unwrap_or_default())?;
    let directory = tempfile::tempdir()?;
    fs::write(directory.path().join(ARCHIVE_FILE), archive)?;
    fs::write(directory.path().join(REQUEST_FILE), request)?;
    symlink(fs::canonicalize(&kernel.path)?, directory.path().join(KERNEL_FILE))?;
    let mut child = emulator.start(directory.path(), &machine.arguments())?;
    let output = BufReader::new(child.stdout.take().context("the emulator has no output")?);
    let lines: Vec<String> = output.lines().collect::<Result<_, _>>()?;
    child.wait()?;
    if lines.is_empty() {
        let console = fs::read(directory.path().join(machine::CONSOLE_FILE))?;
        bail!("no output of the guest; its console: {}", String::from_utf8_lossy(&console));
    }
    Ok(lines)
}

/// A line of the guest that is not a message of our cell.
#[derive(Deserialize)]
#[serde(tag = "line", rename_all = "kebab-case")]
enum Line {
    Turn { side: Side },
    Timerlat { thread: i32, trace: String },
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Side {
    TimerlatAlone,
    TimerlatRecorded,
    Ours,
}

/// The times at which a wakeup passed each place, in nanoseconds after its due time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Passed {
    irq_entry: u64,
    handler: u64,
    wakeup: u64,
    switched: u64,
    /// The measured latency: timerlat's in its thread, ours in user mode.
    end: u64,
}

impl Passed {
    /// The times of a sample that was matched with its timer.
    fn of(sample: &WitnessedSample) -> Option<Self> {
        let segments = sample.segments?;
        let mut sum = 0;
        let [irq_entry, handler, wakeup, switched, end] = Segment::ALL.map(|segment| {
            sum += segments.get(segment).as_nanos();
            sum
        });
        Some(Self { irq_entry, handler, wakeup, switched, end })
    }
}

/// A wakeup measured by timerlat and recorded by us.
#[derive(Clone, Copy, Debug)]
struct Both {
    irq: u64,
    ours: Passed,
}

/// The results of both tools.
#[derive(Default)]
struct Results {
    /// timerlat's latencies without recording: in the interrupt, in its thread.
    irq_alone: Vec<u64>,
    thread_alone: Vec<u64>,
    same: Vec<Both>,
    /// Wakeups of timerlat that are missing in the recording.
    unmatched: usize,
    ours: Vec<Passed>,
    ours_alone: LatencyHistogram,
}

fn parse(lines: &[String]) -> anyhow::Result<Results> {
    let (facts, rest) = lines.split_first().context("no output of the guest")?;
    let facts: MachineFacts = serde_json::from_str(facts).context("the facts of the guest")?;
    let source = facts.cpu.clock_source.as_deref();
    ensure!(source == Some("tsc"), "the guest's clock source is {source:?}, not tsc");
    let mut results = Results::default();
    let mut side = Side::Ours;
    let mut timerlat = None;
    let mut recording = Vec::new();
    let mut samples: Vec<(u32, SampleBlock)> = Vec::new();
    for line in rest {
        match serde_json::from_str::<Line>(line) {
            Ok(Line::Turn { side: next }) => side = next,
            Ok(Line::Timerlat { trace, .. }) if side == Side::TimerlatAlone => {
                let written = written(&trace);
                let of = |context| {
                    written.iter().filter(move |line| line.context == context).map(|it| it.latency)
                };
                results.irq_alone.extend(of(ReadIn::Irq));
                results.thread_alone.extend(of(ReadIn::Thread));
            }
            Ok(Line::Timerlat { thread, trace }) => timerlat = Some((ThreadId(thread), trace)),
            Err(_) => match serde_json::from_str::<Message>(line)? {
                Message::Failed { reason, .. } => bail!("the guest: {reason}"),
                Message::Recording { bytes } => recording.extend(bytes),
                Message::TracedSamples { task, block } => samples.push((task, block)),
                Message::Task(task) => {
                    task.blocks.iter().for_each(|block| results.ours_alone.merge_record(block));
                }
                Message::Finished(measurement) => {
                    let traced = measurement.traced.context("our window was not recorded")?;
                    let recording = std::mem::take(&mut recording);
                    results.ours.extend(of_ours(
                        recording,
                        &traced,
                        &std::mem::take(&mut samples),
                    )?);
                }
                _ => {}
            },
        }
        if side == Side::TimerlatRecorded && !recording.is_empty() {
            let (thread, trace) =
                timerlat.take().context("a recording without a line of timerlat")?;
            let (same, unmatched) = of_both(std::mem::take(&mut recording), thread, &trace)?;
            results.same.extend(same);
            results.unmatched += unmatched;
        }
    }
    Ok(results)
}

/// The context of a latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReadIn {
    Irq,
    Thread,
}

/// A line of timerlat's trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Written {
    /// Its time in nanoseconds, with a resolution of 1 µs.
    at: u64,
    context: ReadIn,
    latency: u64,
}

/// Parses timerlat's lines and skips all others, e.g. the head of the trace.
fn written(trace: &str) -> Vec<Written> {
    let line = |line: &str| {
        let (before, after) = line.split_once(": #")?;
        let (seconds, micros) = before.rsplit(' ').next()?.split_once('.')?;
        let words: Vec<&str> = after.split_whitespace().collect();
        let context = match *words.get(2)? {
            "irq" => ReadIn::Irq,
            "thread" => ReadIn::Thread,
            _ => return None,
        };
        let latency = words.get(4)?.parse().ok()?;
        let at = (seconds.parse::<u64>().ok()? * 1_000_000 + micros.parse::<u64>().ok()?) * 1000;
        Some(Written { at, context, latency })
    };
    trace.lines().filter_map(line).collect()
}

/// The wakeups of timerlat's thread with both measurements, and the number of timerlat's lines
/// without a timer in the recording.
fn of_both(
    recording: Vec<u8>,
    thread: ThreadId,
    trace: &str,
) -> anyhow::Result<(Vec<Both>, usize)> {
    let mut source = RecordingFile::from_bytes(recording)?;
    let mut dues = Vec::new();
    while let Some(item) = source.next_item()? {
        if let Item::Event(event) = item
            && event.thread == thread
            && let EventKind::HrtimerStart { expires, .. } = event.kind
        {
            dues.push(expires.as_nanos());
        }
    }
    source.rewind();
    // A line is written a few instructions after its latency was read, and periods are a
    // thousand times as long: its timer is the last one before it.
    let due_of = |line: &Written| {
        let due = line.at + 1000 - line.latency;
        dues.iter()
            .copied()
            .filter(|armed| *armed <= due)
            .max()
            .filter(|armed| due - armed < 100_000)
    };
    // Lines before the first recorded timer or after the last are outside the recording.
    let (first, last) = (dues.first().copied(), dues.last().copied());
    let recorded =
        first.context("no timer was recorded")?..last.context("no timer was recorded")?;
    let written = written(trace).into_iter().filter(|line| recorded.contains(&line.at));
    let mut samples = Vec::new();
    let mut irqs = Vec::new();
    let mut unmatched = 0;
    for line in written {
        match (line.context, due_of(&line)) {
            (_, None) => unmatched += 1,
            (ReadIn::Irq, Some(due)) => irqs.push((due, line.latency)),
            (ReadIn::Thread, Some(due)) => samples.push(Sample {
                due: Nanos::from_nanos(due),
                came: Nanos::from_nanos(due + line.latency),
            }),
        }
    }
    let witnessed = witness_of(&mut source, thread, Instant::from_nanos(0), samples)?;
    let both = witnessed.iter().filter_map(|sample| {
        let (_, irq) = *irqs.iter().find(|(due, _)| *due == sample.sample.due.as_nanos())?;
        Some(Both { irq, ours: Passed::of(sample)? })
    });
    let both: Vec<Both> = both.collect();
    Ok((both, unmatched))
}

/// The wakeups of our own task.
fn of_ours(
    recording: Vec<u8>,
    traced: &TracedStretch,
    blocks: &[(u32, SampleBlock)],
) -> anyhow::Result<Vec<Passed>> {
    let mut source = RecordingFile::from_bytes(recording)?;
    let mut samples = Vec::new();
    for (_, block) in blocks {
        samples.extend(block.decode()?);
    }
    let thread = traced.tasks.first().context("a task")?.thread;
    let witnessed = witness_of(&mut source, thread, traced.opened, samples)?;
    Ok(witnessed.iter().filter_map(Passed::of).collect())
}

fn witness_of(
    source: &mut RecordingFile,
    thread: ThreadId,
    opened: Instant<tactus_model::time::Monotonic>,
    samples: Vec<Sample>,
) -> anyhow::Result<Vec<WitnessedSample>> {
    let origin = Origin::Due(SleepMethod::Nanosleep);
    Ok(witness(source, vec![ProbeTask { task: 0, thread, origin, opened, samples }])?)
}

fn print(results: &Results) {
    let cell = |values: &mut dyn Iterator<Item = u64>| {
        median(values).map_or("–".to_owned(), |it| it.to_string())
    };
    let row = |name: &str, cells: [String; 5]| {
        let [a, b, c, d, e] = cells;
        println!("{name:<24}{a:>10}{b:>12}{c:>12}{d:>12}{e:>10}");
    };
    let empty = || "–".to_owned();
    let same =
        |place: fn(&Passed) -> u64| cell(&mut results.same.iter().map(|both| place(&both.ours)));
    let ours = |place: fn(&Passed) -> u64| cell(&mut results.ours.iter().map(place));
    println!("median, ns after due      timerlat    timerlat  its wakeups        ours      ours");
    println!("                             alone    recorded       by us    recorded     alone");
    row("irq entry", [empty(), empty(), same(|it| it.irq_entry), ours(|it| it.irq_entry), empty()]);
    row("timer handler", [empty(), empty(), same(|it| it.handler), ours(|it| it.handler), empty()]);
    row(
        "timerlat's irq",
        [
            cell(&mut results.irq_alone.iter().copied()),
            cell(&mut results.same.iter().map(|both| both.irq)),
            empty(),
            empty(),
            empty(),
        ],
    );
    row("wakeup", [empty(), empty(), same(|it| it.wakeup), ours(|it| it.wakeup), empty()]);
    row("switched in", [empty(), empty(), same(|it| it.switched), ours(|it| it.switched), empty()]);
    row(
        "timerlat's thread",
        [
            cell(&mut results.thread_alone.iter().copied()),
            cell(&mut results.same.iter().map(|both| both.ours.end)),
            empty(),
            empty(),
            empty(),
        ],
    );
    let alone = results.ours_alone.quantile(0.5).map_or_else(empty, |it| it.as_nanos().to_string());
    row("user mode", [empty(), empty(), empty(), ours(|it| it.end), alone]);
    println!(
        "wakeups                 {:>10}{:>12}{:>12}{:>12}{:>10}\n",
        results.thread_alone.len(),
        results.same.len(),
        results.same.len(),
        results.ours.len(),
        results.ours_alone.count(),
    );
    println!(
        "Delay between an event and timerlat's reading of the clock, for the same wakeups (min, \
         median, max in ns; {} of its lines have no timer in the recording):",
        results.unmatched
    );
    let apart = |name: &str, differences: Vec<i64>| {
        let mut sorted = differences;
        sorted.sort_unstable();
        let (Some(min), Some(max)) = (sorted.first(), sorted.last()) else { return };
        println!("{name:<36}{min:>8}{:>8}{max:>8}", sorted[sorted.len() / 2]);
    };
    let difference = |later: u64, earlier: u64| later as i64 - earlier as i64;
    let of = |between: &dyn Fn(&Both) -> i64| results.same.iter().map(between).collect();
    apart("its irq after irq entry", of(&|it| difference(it.irq, it.ours.irq_entry)));
    apart("its irq after the timer handler", of(&|it| difference(it.irq, it.ours.handler)));
    apart("our wakeup after its irq", of(&|it| difference(it.ours.wakeup, it.irq)));
    apart("its thread after switched in", of(&|it| difference(it.ours.end, it.ours.switched)));
}

fn median(values: &mut dyn Iterator<Item = u64>) -> Option<u64> {
    let mut sorted: Vec<u64> = values.collect();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_of_timerlat_are_parsed() {
        let trace = "\
# tracer: timerlat
#              | |         |         ID            CONTEXT                LATENCY
          <idle>-0       [000] d.h1.    54.029328: #1     context    irq timer_latency       932 ns
           <...>-867     [000] .....    54.029339: #1     context thread timer_latency     11700 ns
            init-1       [000] .....    54.029400: some_event: #7 words context irq
";
        let line = |at, context, latency| Written { at, context, latency };
        assert_eq!(
            written(trace),
            [line(54_029_328_000, ReadIn::Irq, 932), line(54_029_339_000, ReadIn::Thread, 11_700)]
        );
    }
}
