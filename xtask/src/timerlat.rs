//! The kernel's timerlat tracer and our segments, in turns in one boot of a guest.
//!
//! The guest runs the example `timerlat` of `tactus-guest`. In exact time nothing but the
//! kernel's paths is in the figures, so they are compared to the nanosecond: first of the
//! same wakeups, which timerlat measured while we recorded them, then of wakeups of our own.

use std::path::Path;

use anyhow::{Context, bail, ensure};
use serde::Deserialize;
use tactus_explain::segments::Segment;
use tactus_explain::{Origin, ProbeTask, WitnessedSample, witness};
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
use tactus_wire::parse;

use crate::chore_guest::{SEED, twice};

/// Boots the guest twice, compares the outputs, and prints the results of timerlat and ours.
pub(crate) fn compare(root: &Path, kernel: &str, load: &str, time: &str) -> anyhow::Result<()> {
    let cell = cell(kernel, load, time)?;
    let guest = cell.target.guest().context("a guest")?;
    ensure!(guest.time.is_exact(), "compare two tools in deterministic time: exact, exact:125");
    let turn = tactus_model::experiment::Turn { cell: 0, round: 0 };
    let request = CellRequest { turn, cell: cell.clone(), seed: SEED, boot_seed: SEED };
    let request = format!("{}\n", serde_json::to_string(&request)?);
    let (found, first) = twice(root, "timerlat", guest, &request)?;

    let bytes: usize = first.iter().map(|line| line.len() + 1).sum();
    println!(
        "{kernel} ({}, sha256 {:.12}), {time}, load {load}, {} and an interval of {}, seed {SEED}",
        found.release.as_deref().unwrap_or("release unknown"),
        found.sha256,
        cell.policy.scheduling,
        cell.probe.timer().interval,
    );
    println!("the outputs of two boots are identical: {bytes} bytes\n");
    print(&results(&first)?);
    Ok(())
}

fn cell(kernel: &str, load: &str, time: &str) -> anyhow::Result<Cell> {
    // timerlat's thread has priority 95 and does nothing but wait for its next period.
    let text = format!(
        "name = \"timerlat\"\nguest-time = \"{time}\"\n[settings]\nkernel = \"{kernel}\"\n\
         load = \"{load}\"\npolicy = \"fifo:95\"\ninterval = \"1ms\"\nwarmup = \"100ms\"\n\
         duration = \"250ms\"\ntraced = \"250ms\"\ntraced-events = \"wakeup-path\"\n"
    );
    let plan = Experiment::parse(&text)?.plan(&Overrides::default())?;
    plan.cells.into_iter().next().context("a cell")
}

/// What the guest sends besides the messages of our cell.
#[derive(Deserialize)]
#[serde(tag = "step", rename_all = "kebab-case")]
enum Step {
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

/// How long after its due time a wakeup passed each place, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Passed {
    irq_entry: u64,
    handler: u64,
    wakeup: u64,
    switched: u64,
    /// The latency that was measured: timerlat's in its thread, ours in user mode.
    end: u64,
}

impl Passed {
    /// The places of a sample that was matched with its timer.
    fn of(sample: &WitnessedSample) -> Option<Self> {
        let segments = sample.segments?;
        let mut sum = 0;
        let [irq_entry, handler, wakeup, switched, end, _handed_over] =
            Segment::ALL.map(|segment| {
                sum += segments.get(segment).as_nanos();
                sum
            });
        Some(Self { irq_entry, handler, wakeup, switched, end })
    }
}

/// A wakeup that timerlat measured and we recorded.
#[derive(Clone, Copy, Debug)]
struct Both {
    irq: u64,
    ours: Passed,
}

/// All results.
#[derive(Default)]
struct Results {
    /// timerlat's latencies while nothing was recorded: in the interrupt, in its thread.
    irq_alone: Vec<u64>,
    thread_alone: Vec<u64>,
    same: Vec<Both>,
    /// Wakeups of timerlat's trace that are not in the recording.
    unmatched: usize,
    ours: Vec<Passed>,
    ours_alone: LatencyHistogram,
}

fn results(lines: &[String]) -> anyhow::Result<Results> {
    let (facts, rest) = lines.split_first().context("the guest sent nothing")?;
    let facts: MachineFacts = parse(facts.as_bytes()).context("the facts of the guest")?;
    let source = facts.cpu.clock_source.as_deref();
    ensure!(source == Some("tsc"), "the guest's clock source is {source:?}, not tsc");
    let mut results = Results::default();
    let mut side = Side::Ours;
    let mut recorded = None;
    let mut recording = Vec::new();
    let mut samples: Vec<(u32, SampleBlock)> = Vec::new();
    for line in rest {
        match parse::<Step>(line.as_bytes()) {
            Ok(Step::Turn { side: next }) => side = next,
            Ok(Step::Timerlat { trace, .. }) if side == Side::TimerlatAlone => {
                let written = written(&trace);
                let of = |context| {
                    written.iter().filter(move |line| line.context == context).map(|it| it.latency)
                };
                results.irq_alone.extend(of(ReadIn::Irq));
                results.thread_alone.extend(of(ReadIn::Thread));
            }
            Ok(Step::Timerlat { thread, trace }) => recorded = Some((ThreadId(thread), trace)),
            Err(_) => match parse::<Message>(line.as_bytes())? {
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
            let (thread, trace) = recorded.take().context("a recording of nothing")?;
            let (same, unmatched) = of_both(std::mem::take(&mut recording), thread, &trace)?;
            results.same.extend(same);
            results.unmatched += unmatched;
        }
    }
    Ok(results)
}

/// Where a latency was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReadIn {
    Irq,
    Thread,
}

/// A line of timerlat's trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Written {
    /// When it was written, to the microsecond.
    at: u64,
    context: ReadIn,
    latency: u64,
}

/// Reads timerlat's lines; skips others, such as the head of the trace.
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

/// The wakeups of timerlat's thread, each with its own latency and that of the events, and how
/// many of its lines have no timer in the recording.
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
    // A line is written some instructions after its latency was read, and periods are
    // a thousand times as long: the last timer before it is its own.
    let due_of = |line: &Written| {
        let due = line.at + 1000 - line.latency;
        dues.iter()
            .copied()
            .filter(|armed| *armed <= due)
            .max()
            .filter(|armed| due - armed < 100_000)
    };
    // Lines of wakeups before the first timer that was recorded, or after the last, are none of
    // the recording's.
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
    Ok(witness(
        source,
        vec![ProbeTask { task: 0, thread, origin, opened, samples, receiver: None }],
    )?)
}

fn print(results: &Results) {
    let summary = |values: &mut dyn Iterator<Item = u64>| {
        median(values).map_or("–".to_owned(), |it| it.to_string())
    };
    let row = |name: &str, cells: [String; 5]| {
        let [a, b, c, d, e] = cells;
        println!("{name:<24}{a:>10}{b:>12}{c:>12}{d:>12}{e:>10}");
    };
    let none = || "–".to_owned();
    let same =
        |place: fn(&Passed) -> u64| summary(&mut results.same.iter().map(|both| place(&both.ours)));
    let ours = |place: fn(&Passed) -> u64| summary(&mut results.ours.iter().map(place));
    println!("median, ns after due      timerlat    timerlat  its wakeups        ours      ours");
    println!("                             alone    recorded       by us    recorded     alone");
    row("irq entry", [none(), none(), same(|it| it.irq_entry), ours(|it| it.irq_entry), none()]);
    row("timer handler", [none(), none(), same(|it| it.handler), ours(|it| it.handler), none()]);
    row(
        "timerlat's irq",
        [
            summary(&mut results.irq_alone.iter().copied()),
            summary(&mut results.same.iter().map(|both| both.irq)),
            none(),
            none(),
            none(),
        ],
    );
    row("wakeup", [none(), none(), same(|it| it.wakeup), ours(|it| it.wakeup), none()]);
    row("switched in", [none(), none(), same(|it| it.switched), ours(|it| it.switched), none()]);
    row(
        "timerlat's thread",
        [
            summary(&mut results.thread_alone.iter().copied()),
            summary(&mut results.same.iter().map(|both| both.ours.end)),
            none(),
            none(),
            none(),
        ],
    );
    let alone = results.ours_alone.quantile(0.5).map_or_else(none, |it| it.as_nanos().to_string());
    row("user mode", [none(), none(), none(), ours(|it| it.end), alone]);
    println!(
        "wakeups                 {:>10}{:>12}{:>12}{:>12}{:>10}\n",
        results.thread_alone.len(),
        results.same.len(),
        results.same.len(),
        results.ours.len(),
        results.ours_alone.count(),
    );
    println!(
        "Of the same wakeups, how much later timerlat read the clock than the event was (least, \
         median, most, ns; {} of its lines have no timer in the recording):",
        results.unmatched
    );
    let apart = |name: &str, differences: Vec<i64>| {
        let mut sorted = differences;
        sorted.sort_unstable();
        let (Some(least), Some(most)) = (sorted.first(), sorted.last()) else { return };
        println!("{name:<36}{least:>8}{:>8}{most:>8}", sorted[sorted.len() / 2]);
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
    fn the_lines_of_timerlat_are_read_and_no_others() {
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
