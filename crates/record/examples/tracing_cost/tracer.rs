//! The tracers: none, this crate with either mechanism, or another tool.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tactus_model::recording::{EventSource, Item, Mechanism};
use tactus_model::time::{Instant as Moment, Monotonic};
use tactus_record::decode::Tracepoint;
use tactus_record::live::{CallChains, Options, Recorded, Recorder, Source};

use crate::workload::MEASURED;

/// The scheduler's events that every tracer records.
const EVENTS: [&str; 3] = ["sched_switch", "sched_waking", "sched_wakeup"];

/// Where tools write their output.
const SCRATCH: &str = "/tmp/tactus-tracing-cost";

/// How long a tool gets to attach; nothing shows when it has.
const ATTACHING: Duration = Duration::from_secs(4);

#[derive(Clone)]
pub(crate) enum Tracer {
    Untraced,
    Ours {
        mechanism: Mechanism,
        events: Events,
        call_chains: CallChains,
    },
    /// A command, which an interrupt must end.
    Tool(String),
}

#[derive(Clone, Copy)]
pub(crate) enum Events {
    /// The events that the tools record.
    Scheduler,
    /// All events that explain latency.
    All,
}

pub(crate) enum Running {
    Untraced,
    Ours(Box<Recorder>),
    Tool(Option<Child>),
}

/// The tracers in the order of the table; the others are compared with the first.
///
/// `further` is the command of an additional tracer, for example a program of yours.
pub(crate) fn all(further: Option<String>) -> Vec<(&'static str, Tracer)> {
    let ours = |mechanism, events, call_chains| Tracer::Ours { mechanism, events, call_chains };
    use CallChains::{Always, AtInterrupts, AtSleeps, Never};
    use Events::{All, Scheduler};
    use Mechanism::{Perf, Tracefs};
    let mut all = vec![
        ("no tracer", Tracer::Untraced),
        ("ours by perf", ours(Perf, Scheduler, Never)),
        ("perf record", Tracer::Tool(perf_record())),
        ("ours by tracefs", ours(Tracefs, Scheduler, Never)),
        ("trace-cmd record", Tracer::Tool(trace_cmd_record())),
        ("bpftrace, count", Tracer::Tool(bpftrace_count())),
        ("bpftrace, printf", Tracer::Tool(bpftrace_printf())),
        ("all by perf", ours(Perf, All, Never)),
        ("all by tracefs", ours(Tracefs, All, Never)),
        ("all by perf, irq chains", ours(Perf, All, AtInterrupts)),
        ("all by tracefs, irq chains", ours(Tracefs, All, AtInterrupts)),
        ("all by perf, sleep chains", ours(Perf, All, AtSleeps)),
        ("all by tracefs, sleep chains", ours(Tracefs, All, AtSleeps)),
        ("all by perf, chains", ours(Perf, All, Always)),
        ("all by tracefs, chains", ours(Tracefs, All, Always)),
        ("no tracer again", Tracer::Untraced),
    ];
    all.extend(further.map(|command| ("the given command", Tracer::Tool(command))));
    all
}

fn events(option: &str) -> String {
    EVENTS.map(|event| format!("{option} sched:{event}")).join(" ")
}

fn perf_record() -> String {
    let events = events("-e");
    format!("perf record -q -a -c 1 -k CLOCK_MONOTONIC -m 2048 {events} -o {SCRATCH}.perf")
}

fn trace_cmd_record() -> String {
    format!("trace-cmd record -C mono -b 8192 {} -o {SCRATCH}.dat", events("-e"))
}

fn bpftrace_count() -> String {
    let probes = EVENTS.map(|event| format!("tracepoint:sched:{event}")).join(",");
    format!("bpftrace -q -e '{probes} {{ @ = count(); }}'")
}

fn bpftrace_printf() -> String {
    let probes = EVENTS.map(|event| format!("tracepoint:sched:{event}")).join(",");
    format!("bpftrace -q -e '{probes} {{ printf(\"%d %d\\n\", pid, nsecs); }}'")
}

impl Tracer {
    /// Starts to trace; returns how long that took, if it is known.
    pub(crate) fn start(&self) -> (Running, Option<Duration>) {
        let begin = Instant::now();
        match self.clone() {
            Self::Untraced => (Running::Untraced, None),
            Self::Ours { mechanism, events, call_chains } => {
                let mut options =
                    Options { source: Source::Only(mechanism), call_chains, ..Options::default() };
                if let Events::Scheduler = events {
                    options.tracepoints =
                        vec![Tracepoint::Switch, Tracepoint::Waking, Tracepoint::Wakeup];
                }
                options.drainer.cpus = Some([0].into_iter().collect());
                let recorder = Recorder::start(options).expect("needs root");
                (Running::Ours(Box::new(recorder)), Some(begin.elapsed()))
            }
            Self::Tool(command) => {
                let child = Command::new("timeout")
                    .args(["60", "sh", "-c", &format!("exec {command}")])
                    .current_dir("/tmp")
                    .stdout(Stdio::null())
                    .stderr(Stdio::null())
                    .spawn();
                std::thread::sleep(ATTACHING);
                (Running::Tool(child.ok()), None)
            }
        }
    }
}

impl Running {
    /// Whether it still traces: a tool that is missing or was refused has ended.
    pub(crate) fn is_there(&mut self) -> bool {
        match self {
            Self::Untraced | Self::Ours(_) => true,
            Self::Tool(child) => {
                child.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(None)))
            }
        }
    }

    /// Stops tracing; returns how long that took, and the recording.
    pub(crate) fn stop(self) -> (Option<Duration>, Option<Recorded>) {
        let begin = Instant::now();
        match self {
            Self::Untraced | Self::Tool(None) => (None, None),
            Self::Ours(recorder) => {
                let recorded = recorder.stop().expect("recording ends");
                (Some(begin.elapsed()), Some(recorded))
            }
            Self::Tool(Some(mut child)) => {
                let _ = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
                let _ = child.wait();
                (Some(begin.elapsed()), None)
            }
        }
    }
}

/// The number of events of the measured CPU in a recording between two instants.
pub(crate) fn events_between(
    recorded: &mut Recorded,
    from: Moment<Monotonic>,
    to: Moment<Monotonic>,
) -> u64 {
    let mut count = 0;
    while let Ok(Some(item)) = recorded.recording.next_item() {
        if let Item::Event(event) = item {
            count += u64::from(event.cpu == MEASURED && event.at >= from && event.at <= to);
        }
    }
    count
}

/// Removes the tools' output.
pub(crate) fn clean() {
    for ending in ["perf", "perf.old", "dat"] {
        let _ = std::fs::remove_file(format!("{SCRATCH}.{ending}"));
    }
}
