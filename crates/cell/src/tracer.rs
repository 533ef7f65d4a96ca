//! The recorder of a cell's traced window: whether it can run here, on which CPUs, and its result.

use std::path::Path;
use std::sync::Arc;

use tactus_model::cell::Cell;
use tactus_model::cpus::{CpuChoice, CpuList};
use tactus_model::recording::{AbsentEvent, EventAccount, Mechanism, Observers, ThreadId};
use tactus_model::result::Shortfall;
use tactus_model::time::Nanos;
use tactus_model::traced::{TracedData, TracedEvents};
use tactus_record::decode::Tracepoint;
use tactus_record::live::{
    CallChains, DrainerOptions, Keep, Options, Prepared, RecordError, Recorded, Recorder, Source,
    Symbols,
};
use tactus_settings::{Guardian, NotChanged};
use tactus_sys::{affinity, process, thread};

/// Records while a cell is measured.
pub(super) struct Tracer {
    window: Nanos,
    events: TracedEvents,
    /// What is known before the threads to measure exist.
    options: Options,
    progress: Progress,
    /// Removes the recorder's instance of tracefs if this process is killed. Dropped after the
    /// recorder.
    _guardian: Option<Guardian>,
}

/// The progress of a recording.
enum Progress {
    Prepared(Prepared),
    /// Between the steps.
    Ended,
    Recording(Recorder),
    Recorded(Box<Recorded>),
    Failed(RecordError),
}

/// The size of the ring, in bytes, of the attempt that finds out whether perf may record.
const ATTEMPT_RING: usize = 64 << 10;

impl Tracer {
    /// Finds out whether recording is possible, and does what takes long beforehand: makes the
    /// instances of tracefs, or tries perf with one event. `guardian` is the program of the guardian, if the recording needs one.
    ///
    /// # Errors
    /// The shortfall to report.
    pub(super) fn prepare(cell: &Cell, guardian: Option<&Path>) -> Result<Self, Shortfall> {
        let window = cell.duration;
        let guardian = guardian.map(|program| Guardian::start(program, Vec::new())).transpose();
        let guardian = guardian.map_err(|error| unguarded(window, error))?;
        let events = cell.traced_events;
        let options = Options {
            // Only call chains show what a CPU was doing when an interrupt came late.
            call_chains: match events {
                TracedEvents::All => CallChains::AtInterrupts,
                TracedEvents::WakeupPath | TracedEvents::Scheduling => CallChains::Never,
            },
            drainer: DrainerOptions { cpus: unmeasured(cell), ..DrainerOptions::default() }
                .after(window),
            // More than is kept, so that a recording that is too large is recognised.
            keep: Keep::Memory { limit: 2 * TracedData::RECORDING_LIMIT },
            symbols: Some(Arc::new(Symbols::read())),
            observers: observers(guardian.as_ref()),
            ..Options::default()
        };
        let prepared = prepared(&options).map_err(|error| refused(window, &error))?;
        let progress = Progress::Prepared(prepared);
        Ok(Self { window, events, options, progress, _guardian: guardian })
    }

    /// Starts to record: the whole system and additional events of `threads`, or the events on
    /// the path of their wakeups, or scheduling only, as the cell requests.
    pub(super) fn start(&mut self, threads: &[ThreadId]) {
        let prepared = match std::mem::replace(&mut self.progress, Progress::Ended) {
            Progress::Prepared(prepared) => prepared,
            other => return self.progress = other,
        };
        let events = match self.events {
            TracedEvents::All => Options::of_threads(threads),
            TracedEvents::WakeupPath => Options::of_wakeups(threads),
            TracedEvents::Scheduling => Options::of_scheduling(),
        };
        let options = Options {
            tracepoints: events.tracepoints,
            only_threads: events.only_threads,
            only_their_scheduling: events.only_their_scheduling,
            ..self.options.clone()
        };
        self.progress = match Recorder::start_prepared(options, prepared) {
            Ok(recorder) => Progress::Recording(recorder),
            Err(error) => Progress::Failed(error),
        };
    }

    /// Ends the recording.
    pub(super) fn stop(&mut self) {
        self.progress = match std::mem::replace(&mut self.progress, Progress::Ended) {
            Progress::Recording(recorder) => match recorder.stop() {
                Ok(recorded) => Progress::Recorded(Box::new(recorded)),
                Err(error) => Progress::Failed(error),
            },
            other => other,
        };
    }

    /// Whether there is a recording.
    pub(super) fn has_recorded(&self) -> bool {
        matches!(self.progress, Progress::Recorded(_))
    }

    /// What was recorded.
    ///
    /// # Errors
    /// There is no recording: the shortfall to report.
    pub(super) fn into_recorded(self) -> Result<Recorded, Shortfall> {
        match self.progress {
            Progress::Recorded(recorded) => Ok(*recorded),
            Progress::Failed(error) => Err(refused(self.window, &error)),
            Progress::Prepared(_) | Progress::Ended | Progress::Recording(_) => {
                Err(refused(self.window, &RecordError::Ended("drainer")))
            }
        }
    }
}

/// Who runs only because of the measurement: this thread, the guardian, and the process that
/// requested the cell.
fn observers(guardian: Option<&Guardian>) -> Observers {
    let guardian = guardian.and_then(Guardian::id);
    let processes = guardian.into_iter().chain([process::parent_id()]);
    Observers { threads: vec![thread::current_id()], ..Observers::of_processes(processes) }
}

/// Prepares a recording of the default mechanism; without an instance, tries perf.
fn prepared(options: &Options) -> Result<Prepared, RecordError> {
    let prepared = Prepared::new(options)?;
    if !prepared.has_instance() {
        let attempt = Options {
            tracepoints: Tracepoint::of_the_system().into_iter().take(1).collect(),
            ring_size: ATTEMPT_RING,
            source: Source::Only(Mechanism::Perf),
            ..options.clone()
        };
        Recorder::start(attempt).and_then(Recorder::stop)?;
    }
    Ok(prepared)
}

fn unguarded(window: Nanos, error: NotChanged) -> Shortfall {
    Shortfall {
        asked: format!("traced {window}"),
        granted: "no window with recorded events".to_owned(),
        reason: error.reason,
        fix: error.fix,
    }
}

fn refused(window: Nanos, error: &RecordError) -> Shortfall {
    Shortfall {
        asked: format!("traced {window}"),
        granted: "no window with recorded events".to_owned(),
        reason: error.to_string(),
        fix: error.fix(),
    }
}

/// The events for explanations that the kernel lacks: one shortfall for each kind of which
/// nothing was recorded. Events that a kernel or a CPU may legitimately not have, such as the
/// vectors of absent devices, cause no shortfall.
pub(super) fn lacking(absent: &[AbsentEvent], recorded: &[EventAccount]) -> Vec<Shortfall> {
    KINDS
        .iter()
        .filter_map(|kind| {
            let is_of_it = |event: &str| event.starts_with(kind.events);
            let first = absent.iter().find(|absent| is_of_it(&absent.event))?;
            let nothing = !recorded.iter().any(|account| is_of_it(&account.event));
            nothing.then(|| Shortfall {
                asked: format!("events of {}", kind.of),
                granted: kind.without.to_owned(),
                reason: format!("{}: {}", first.event, first.reason),
                fix: kind.fix.map(str::to_owned),
            })
        })
        .collect()
}

/// Events about one subject, given by the beginning of their names.
struct Kind {
    events: &'static str,
    of: &'static str,
    without: &'static str,
    fix: Option<&'static str>,
}

const KINDS: [Kind; 3] = [
    Kind {
        events: "syscalls/",
        of: "system calls",
        without: "explanations and quanta without the system call in which a thread slept",
        fix: Some("a kernel with CONFIG_FTRACE_SYSCALLS, e.g. --kernel built+FTRACE_SYSCALLS=y"),
    },
    Kind {
        events: "timer/hrtimer_",
        of: "timers",
        without: "explanations that match no wakeup with its timer",
        fix: None,
    },
    Kind {
        events: "irq/softirq_",
        of: "softirqs",
        without: "explanations that do not separate softirqs from the code they interrupt",
        fix: None,
    },
];

/// The shortfall of a recording that is too large to be kept.
pub(super) fn too_large(window: Nanos, bytes: u64) -> Shortfall {
    Shortfall {
        asked: format!("traced {window}"),
        granted: "its samples without the recording".to_owned(),
        reason: format!(
            "the recording takes {} MiB; the limit is {} MiB per turn",
            bytes.div_ceil(1 << 20),
            TracedData::RECORDING_LIMIT >> 20,
        ),
        fix: Some(format!("--traced {}", Nanos::from_nanos(window.as_nanos() / 2))),
    }
}

/// The CPUs on which this process may run and which `cell` does not measure.
pub fn unmeasured(cell: &Cell) -> Option<CpuList> {
    let CpuChoice::These(measured) = &cell.policy.cpus else { return None };
    let ours = affinity::get().ok()?;
    Some(ours.without(measured)).filter(|aside| !aside.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(absent: &[&str], recorded: &[&str], asked: &[&str]) {
        let absent: Vec<AbsentEvent> = absent
            .iter()
            .map(|event| AbsentEvent {
                event: (*event).to_owned(),
                reason: "this kernel has no such event".to_owned(),
            })
            .collect();
        let recorded: Vec<EventAccount> = recorded
            .iter()
            .map(|event| EventAccount { event: (*event).to_owned(), read: 1, count: None })
            .collect();
        let shortfalls = lacking(&absent, &recorded);
        let lacking: Vec<&str> = shortfalls.iter().map(|lack| lack.asked.as_str()).collect();
        assert_eq!(lacking, asked);
    }

    #[test]
    fn the_observers_are_this_thread_and_the_parent() {
        let Observers { processes, threads } = observers(None);
        assert_eq!(threads, [thread::current_id()]);
        assert_eq!(processes, Observers::of_processes([process::parent_id()]).processes);
    }

    #[test]
    fn a_kernel_without_a_kind_of_events_has_one_shortfall_for_the_kind() {
        let calls = ["syscalls/sys_enter_read", "syscalls/sys_exit_read"];
        check(&calls, &["sched/sched_switch"], &["events of system calls"]);
        check(&calls[..1], &calls[1..], &[]);
        check(&["irq_vectors/threshold_apic_entry", "block/block_rq_issue"], &[], &[]);
    }
}
