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
    /// Those and every system call.
    Calls,
    /// Those and every page fault.
    Faults,
    /// All events that explain latency.
    All,
}

pub(crate) enum Running {
    Untraced,
    Ours(Box<Recorder>),
    Tool(Option<Child>),
}

/// The tracers of a table in its order; the others are compared with the first.
///
/// `further` are the commands of additional tracers, for example a program of yours.
pub(crate) fn of_table(
    table: Option<&str>,
    further: impl Iterator<Item = String>,
) -> Vec<(String, Tracer)> {
    let of_table = match table {
        Some("mechanisms") => mechanisms(),
        Some("sleeps") => sleeps(),
        _ => panic!("the first argument is `mechanisms` or `sleeps`"),
    };
    let named = of_table.into_iter().map(|(name, tracer)| (name.to_owned(), tracer));
    let named = std::iter::once(("no tracer".to_owned(), Tracer::Untraced)).chain(named);
    let further = further.map(|command| {
        // Without its directory and its output.
        let name = command.split(" -o").next().unwrap_or_default();
        (name.rsplit('/').next().unwrap_or_default().to_owned(), Tracer::Tool(command))
    });
    let again = std::iter::once(("no tracer again".to_owned(), Tracer::Untraced));
    named.chain(further).chain(again).collect()
}

/// What explains the sleeps of threads, beside the tools that show them.
fn sleeps() -> Vec<(&'static str, Tracer)> {
    let ours = |events, call_chains| {
        let mechanism = Mechanism::Tracefs;
        Tracer::Ours { mechanism, events, call_chains }
    };
    use CallChains::{AtSleeps, Never};
    vec![
        ("scheduler", ours(Events::Scheduler, Never)),
        ("scheduler, sleep chains", ours(Events::Scheduler, AtSleeps)),
        ("scheduler, system calls", ours(Events::Calls, Never)),
        ("scheduler, page faults", ours(Events::Faults, Never)),
        ("all, sleep chains", ours(Events::All, AtSleeps)),
        ("perf sched record", Tracer::Tool(perf_sched_record())),
        ("perf trace -s", Tracer::Tool(perf_trace())),
    ]
}

/// Both mechanisms with the events of the scheduler and with all, and other tools.
fn mechanisms() -> Vec<(&'static str, Tracer)> {
    let ours = |mechanism, events, call_chains| Tracer::Ours { mechanism, events, call_chains };
    use CallChains::{Always, AtInterrupts, AtSleeps, Never};
    use Events::{All, Scheduler};
    use Mechanism::{Perf, Tracefs};
    vec![
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
    ]
}

fn events(option: &str) -> String {
    EVENTS.map(|event| format!("{option} sched:{event}")).join(" ")
}

fn perf_record() -> String {
    let events = events("-e");
    format!("perf record -q -a -c 1 -k CLOCK_MONOTONIC -m 2048 {events} -o {SCRATCH}.perf")
}

fn perf_sched_record() -> String {
    format!("perf sched record -k CLOCK_MONOTONIC -m 2048 -o {SCRATCH}.sched")
}

fn perf_trace() -> String {
    format!("perf trace -a -s -o {SCRATCH}.trace")
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

impl Events {
    /// The tracepoints; `None` for the default of a recording.
    fn tracepoints(self) -> Option<Vec<Tracepoint>> {
        let added = match self {
            Self::Scheduler => vec![],
            Self::Calls => vec![Tracepoint::SystemCallEnter, Tracepoint::SystemCallExit],
            Self::Faults => vec![Tracepoint::PageFaultUser, Tracepoint::PageFaultKernel],
            Self::All => return None,
        };
        let scheduler = [Tracepoint::Switch, Tracepoint::Waking, Tracepoint::Wakeup];
        Some(scheduler.into_iter().chain(added).collect())
    }
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
                options.tracepoints = events.tracepoints().unwrap_or(options.tracepoints);
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
    for ending in ["perf", "perf.old", "dat", "sched", "sched.old", "trace"] {
        let _ = std::fs::remove_file(format!("{SCRATCH}.{ending}"));
    }
}
