//! Records a real sleeper on this machine together with a planted disturbance.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;

use tactus_explain::{ExplainedSample, Explanation, Options, Origin, ProbeTask, explain};
use tactus_model::cpus::CpuList;
use tactus_model::policy::{RealtimePriority, Scheduling};
use tactus_model::probe::SleepMethod;
use tactus_model::recording::{Recording, ThreadId};
use tactus_model::sample::Sample;
use tactus_model::time::{Instant, Monotonic, Nanos};
use tactus_record::RecordingSummary;
use tactus_record::live::{CallChains, Keep, Options as RecordOptions, RecordError, Recorder};
use tactus_sys::sleep::{Nanosleep, Sleeper};

/// The priority of a real-time probe: above the drainer, below planted threads.
pub const PROBE_PRIORITY: u8 = 50;

pub fn fifo(priority: u8) -> Scheduling {
    Scheduling::Fifo(RealtimePriority::new(priority).expect("between 1 and 99"))
}

pub fn now() -> Instant<Monotonic> {
    tactus_sys::clock::now()
}

pub fn this_thread() -> ThreadId {
    let link = std::fs::read_link("/proc/thread-self").expect("Linux has /proc/thread-self");
    let number = link.file_name().and_then(|name| name.to_str()?.parse().ok());
    ThreadId(number.expect("it ends in the thread's number"))
}

/// Binds the calling thread to one CPU, then sets its class.
///
/// A deadline thread is not bound: the kernel accepts only threads that may run on
/// every CPU.
pub fn prepare(cpu: u32, scheduling: Scheduling) {
    if !matches!(scheduling, Scheduling::Deadline { .. }) {
        let cpus = CpuList::from_iter([cpu]);
        tactus_sys::affinity::set(&cpus).expect("the CPU exists");
    }
    tactus_sys::sched::set(scheduling).expect("root may set every class");
}

/// Computes until `end`.
pub fn spin_until(end: Instant<Monotonic>) {
    while now() < end {
        std::hint::spin_loop();
    }
}

/// Waits for a due time and returns when the thread came back.
pub type Wait = Box<dyn FnMut(Instant<Monotonic>) -> Instant<Monotonic> + Send>;

/// A sleeper to measure.
pub struct SleeperPlan {
    pub cpu: u32,
    pub scheduling: Scheduling,
    pub interval: Nanos,
    pub count: u64,
    /// What the sleeper does after each wakeup; gets the index of the sample.
    pub after_wakeup: Box<dyn FnMut(u64) + Send>,
    /// Whether the arrival is stamped after that instead of before it.
    pub stamps_again: bool,
    /// How the sleeper waits for a due time, if not by clock_nanosleep(2); returns the
    /// arrival.
    pub sleep: Option<Wait>,
}

impl SleeperPlan {
    pub fn new(cpu: u32, scheduling: Scheduling, count: u64) -> Self {
        let interval = Nanos::from_millis(1);
        Self {
            cpu,
            scheduling,
            interval,
            count,
            after_wakeup: Box::new(|_| {}),
            stamps_again: false,
            sleep: None,
        }
    }
}

/// A recording and the samples that were taken during it.
pub struct Session {
    pub recording: Recording,
    pub summary: RecordingSummary,
    pub task: ProbeTask,
}

impl Session {
    pub fn explain(&self, options: Options) -> Explanation {
        let tasks = vec![self.task.clone()];
        explain(&mut self.recording.reader(), tasks, options).expect("it lies in memory")
    }
}

/// Runs `work` in a new thread on CPU `cpu` in class `scheduling`.
pub fn helper(
    name: &str,
    cpu: u32,
    scheduling: Scheduling,
    work: impl FnOnce() + Send + 'static,
) -> JoinHandle<()> {
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(move || {
            prepare(cpu, scheduling);
            work();
        })
        .expect("a thread can be made")
}

/// Sleeps until `due`.
pub fn sleep_until(due: Instant<Monotonic>) {
    Nanosleep.sleep_until(due).expect("nanosleep is not refused");
}

/// Keeps a CPU from going idle until it is `over`, at the lowest priority.
///
/// Otherwise the C-state exit would be part of every sample, and some kernels count the
/// events of an idle CPU without delivering them.
fn fill(cpu: u32, over: Arc<AtomicBool>) -> JoinHandle<()> {
    let end = now() + Nanos::from_secs(30);
    helper("filler", cpu, Scheduling::Idle, move || {
        while !over.load(Ordering::Relaxed) && now() < end {
            std::hint::spin_loop();
        }
    })
}

/// Starts the sleeper, the recorder, then what `plant` starts, and lets the sleeper
/// take its samples.
///
/// `plant` gets the due time of the first sample.
pub fn record_sleeper(
    plan: SleeperPlan,
    plant: impl FnOnce(Instant<Monotonic>) -> Vec<JoinHandle<()>>,
) -> Result<Session, RecordError> {
    let (thread_sender, thread_receiver) = channel();
    let (start_sender, start_receiver) = channel::<Instant<Monotonic>>();
    let (interval, cpu) = (plan.interval, plan.cpu);
    let sleeper = std::thread::Builder::new()
        .name("sleeper".to_owned())
        .spawn(move || {
            thread_sender.send(this_thread()).expect("the starter waits");
            let opened = start_receiver.recv().expect("the starter sends");
            sleep_through(plan, opened)
        })
        .expect("a thread can be made");
    let thread = thread_receiver.recv().expect("the sleeper sends its thread id");
    let recorder = Recorder::start(RecordOptions {
        call_chains: CallChains::Always,
        keep: Keep::Memory { limit: 1 << 30 },
        ..RecordOptions::of_threads(&[thread])
    })?;
    let opened = now() + Nanos::from_millis(100);
    let over = Arc::new(AtomicBool::new(false));
    let filler = fill(cpu, over.clone());
    let planted = plant(opened + interval);
    start_sender.send(opened).expect("the sleeper waits");
    let samples = sleeper.join().expect("the sleeper does not fail");
    for thread in planted {
        thread.join().expect("what was planted ends by itself");
    }
    over.store(true, Ordering::Relaxed);
    filler.join().expect("the filler does not fail");
    // The last window stays open for a while after its sample.
    std::thread::sleep(std::time::Duration::from_millis(30));
    let mut recorded = recorder.stop()?;
    let recording =
        Recording::collect(&mut recorded.recording).expect("a new recording can be read");
    let origin = Origin::Due(SleepMethod::Nanosleep);
    let task = ProbeTask { task: 0, thread, origin, opened, samples, receiver: None };
    Ok(Session { recording, summary: recorded.summary, task })
}

fn sleep_through(mut plan: SleeperPlan, opened: Instant<Monotonic>) -> Vec<Sample> {
    let mut samples = Vec::with_capacity(plan.count as usize);
    prepare(plan.cpu, plan.scheduling);
    let mut due = Nanos::ZERO;
    for index in 0..plan.count {
        due = due + plan.interval;
        // Due times that have passed are missed, as the probe counts them.
        while plan.sleep.is_none() && opened + due < now() {
            due = due + plan.interval;
        }
        let woke = match &mut plan.sleep {
            Some(sleep) => sleep(opened + due),
            None => Nanosleep.sleep_until(opened + due).expect("nanosleep is not refused"),
        };
        (plan.after_wakeup)(index);
        // Work after the wakeup counts as the return to user mode.
        let came = if plan.stamps_again { now() - opened } else { woke - opened };
        samples.push(Sample { due, came });
    }
    samples
}

/// Prints an explanation as a person reads it.
pub fn print(explanation: &Explanation, worst: usize) {
    println!(
        "{} samples, {:.2} % matched, {:.2} % classified",
        explanation.samples,
        explanation.matched() * 100.0,
        explanation.classified() * 100.0
    );
    for counted in &explanation.outcomes {
        println!("{:>8}  {}", counted.count, counted.outcome);
    }
    for segment in &explanation.segments {
        let histogram = &segment.histogram;
        let mean = histogram.sum.as_nanos().checked_div(histogram.count).unwrap_or(0);
        println!(
            "{:<28} mean {:>8} ns, greatest {:>10} ns",
            segment.segment.to_string(),
            mean,
            histogram.max.as_nanos()
        );
    }
    let pareto = &explanation.pareto;
    println!(
        "{} samples over {} ({} not divided), {:.1} % of their time explained",
        pareto.samples,
        explanation.threshold,
        pareto.undivided,
        pareto.explained() * 100.0
    );
    for row in pareto.rows.iter().take(12) {
        println!(
            "{:5.1} %  {:>6} samples  {}",
            pareto.share(row.time) * 100.0,
            row.samples,
            row.cause
        );
    }
    for explained in explanation.worst.iter().take(worst) {
        print_sample(explained);
    }
}

pub fn print_sample(explained: &ExplainedSample) {
    println!(
        "sample {}: {} µs, {}",
        explained.index,
        explained.sample.latency().as_micros_f64(),
        explained.outcome
    );
    if let Some(segments) = &explained.segments {
        let lengths: Vec<String> = segments
            .iter()
            .map(|(segment, length)| format!("{segment} {:.1}", length.as_micros_f64()))
            .collect();
        println!("    {}", lengths.join(" | "));
    }
    for part in explained.parts.iter().take(8) {
        println!("    {:>10.1} µs  {}", part.time.as_micros_f64(), part.cause);
    }
}
