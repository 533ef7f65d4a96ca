//! The real-time loop that is attacked.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant as WallInstant};

use tactus_fifo::{BlockReader, BlockWriter, Broker, Received, Sent, Shortfall};
use tactus_model::cpus::CpuList;
use tactus_model::policy::{RealtimePriority, Scheduling};
use tactus_model::result::TaskUsage;
use tactus_model::time::{Monotonic, Nanos};
use tactus_stats::LatencyHistogram;
use tactus_sys::memory::{self, Lock};
use tactus_sys::scheduling_record::SchedulingRecord;
use tactus_sys::sleep::{Nanosleep, Sleeper};
use tactus_sys::{affinity, clock, sched, usage};
use tempfile::TempDir;

use crate::{DECENT_USER, HOSTILE_USER};

/// An item of each channel.
pub type Item = [u8; 64];

const PERIOD: Nanos = Nanos::from_millis(1);

/// The most items that the loop takes in a period.
const POPS_MAX: usize = 64;

/// Periods before a block.
const REHEARSAL: usize = 5;

/// Operations of a period that take longer are a block.
const LONG: Nanos = Nanos::from_millis(1);

/// What one or more blocks found.
#[derive(Default)]
pub struct Found {
    pub late: LatencyHistogram,
    pub push_max: Nanos,
    pub pop_max: Nanos,
    /// Periods whose operations slept or had a page fault.
    pub held: u64,
    pub faults: u64,
    /// Periods whose operations took longer than [`LONG`], those of them in which threads of
    /// higher priority had the CPU, and those in which the loop itself slept or ran for so long.
    /// The rest is steal time.
    pub long: u64,
    pub long_preempted: u64,
    pub long_held: u64,
    pub refused: u64,
    pub invalid: u64,
    /// Steal time of the loop's CPU, in steps of 10 ms.
    pub steal: Nanos,
}

impl Found {
    pub fn add(&mut self, other: &Self) {
        self.late.merge(&other.late);
        self.push_max = self.push_max.max(other.push_max);
        self.pop_max = self.pop_max.max(other.pop_max);
        self.held += other.held;
        self.faults += other.faults;
        self.long += other.long;
        self.long_preempted += other.long_preempted;
        self.long_held += other.long_held;
        self.refused += other.refused;
        self.invalid += other.invalid;
        self.steal = self.steal + other.steal;
    }

    fn add_tick(&mut self, tick: &Tick) {
        self.late.record(tick.late);
        self.push_max = self.push_max.max(tick.push);
        self.pop_max = self.pop_max.max(tick.pop);
        self.held += u64::from(tick.slept() || tick.faults() > 0);
        self.faults += tick.faults();
        self.long += u64::from(tick.whole > LONG);
        self.long_preempted += u64::from(tick.whole > LONG && tick.used.involuntary_switches > 0);
        self.long_held += u64::from(tick.is_long_held());
    }
}

/// What one period found.
#[derive(Clone, Copy, Default)]
struct Tick {
    late: Nanos,
    push: Nanos,
    pop: Nanos,
    /// All operations.
    whole: Nanos,
    used: TaskUsage,
}

impl Tick {
    const fn slept(&self) -> bool {
        self.used.voluntary_switches > 0
    }

    const fn faults(&self) -> u64 {
        self.used.minor_faults + self.used.major_faults
    }

    /// Whether the operations took long because of what the loop or an interrupt did. CPU time
    /// contains interrupts, and not steal time.
    fn is_long_held(&self) -> bool {
        self.whole > LONG && (self.slept() || self.used.cpu_time > LONG)
    }
}

/// A process part with deadlines: a thread of FIFO 80 on a CPU of its own, and its broker on
/// another.
pub struct Victim {
    folder: TempDir,
    broker: Broker,
    blocks: Option<Sender<Duration>>,
    found: Receiver<Found>,
    thread: Option<JoinHandle<()>>,
}

/// The channels of the loop.
struct Channels {
    state: tactus_fifo::Sender<Item>,
    command: tactus_fifo::Receiver<Item>,
    snapshot: BlockWriter<Item>,
    target: BlockReader<Item>,
}

fn priority(value: u8) -> RealtimePriority {
    RealtimePriority::new(value).unwrap()
}

impl Victim {
    pub fn start(broker: CpuList, own: CpuList) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let everybody = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(folder.path(), everybody).unwrap();
        let mut offers = Broker::builder(socket(folder.path()))
            .allow_user(HOSTILE_USER)
            .allow_user(DECENT_USER)
            .require_other_user()
            .priority(priority(79))
            .cpus(broker)
            .relay(own.clone());
        let channels = Channels {
            state: offers.fifo_out("state", 256).unwrap(),
            command: offers.fifo_in("command", 64).unwrap(),
            snapshot: offers.block_out("snapshot").unwrap(),
            target: offers.block_in("target").unwrap(),
        };
        let broker = offers.start().unwrap();
        let (blocks, wanted) = channel();
        let (results, found) = channel();
        let thread = std::thread::spawn(move || serve(channels, &own, &wanted, &results));
        Self { folder, broker, blocks: Some(blocks), found, thread: Some(thread) }
    }

    /// What the machine does not grant.
    pub fn shortfalls(&self) -> &[Shortfall] {
        self.broker.shortfalls()
    }

    pub fn socket(&self) -> PathBuf {
        socket(self.folder.path())
    }

    /// Runs the loop for a block.
    pub fn run(&self, time: Duration) -> Found {
        self.blocks.as_ref().unwrap().send(time).unwrap();
        self.found.recv().unwrap()
    }

    /// Waits until a peer has a channel, or does not want any.
    pub fn wait_for_peers(&self) {
        self.wait(|peers| peers > 0, Duration::from_secs(2));
    }

    /// Waits until all have gone.
    pub fn wait_for_no_peers(&self) {
        assert!(self.wait(|peers| peers == 0, Duration::from_secs(30)), "peers stay");
    }

    fn wait(&self, is_met: impl Fn(usize) -> bool, patience: Duration) -> bool {
        let end = WallInstant::now() + patience;
        while !is_met(self.broker.peers().len()) && WallInstant::now() < end {
            std::thread::sleep(Duration::from_millis(2));
        }
        is_met(self.broker.peers().len())
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        self.blocks = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn socket(folder: &Path) -> PathBuf {
    folder.join("fifo.sock")
}

/// Runs blocks until none follows.
fn serve(
    mut channels: Channels,
    cpus: &CpuList,
    wanted: &Receiver<Duration>,
    results: &Sender<Found>,
) {
    affinity::set(cpus).unwrap();
    memory::lock(Lock::PresentAndFuture).unwrap();
    let mut record = SchedulingRecord::open(cpus.iter().next().unwrap());
    for time in wanted {
        let periods = (time.as_nanos() / u128::from(PERIOD.as_nanos())) as usize;
        let mut ticks: Vec<Tick> = memory::touched_vec(periods.max(REHEARSAL)).unwrap();
        sched::set(Scheduling::Fifo(priority(80))).unwrap();
        // This process has forked to start the peer, so the first write to each page is a fault.
        measure(&mut channels, &mut ticks, REHEARSAL);
        ticks.clear();
        let stolen = record.read()[0].steal.unwrap_or_default();
        let before = (channels.state.counts(), channels.command.counts());
        measure(&mut channels, &mut ticks, periods);
        sched::set(Scheduling::ORDINARY).unwrap();
        let after = (channels.state.counts(), channels.command.counts());
        let steal = record.read()[0].steal.unwrap_or_default().saturating_sub(stolen);
        check(&channels);
        results.send(Found { steal, ..summary(&ticks, before, after) }).unwrap();
    }
    memory::unlock().unwrap();
}

fn measure(channels: &mut Channels, ticks: &mut Vec<Tick>, periods: usize) {
    let mut due = clock::now::<Monotonic>() + PERIOD;
    for number in 0..periods {
        let woke = Nanosleep.sleep_until(due).unwrap();
        let item = [number as u8; 64];
        let before = used();
        let began = clock::now::<Monotonic>();
        let _ = channels.state.try_push(&item);
        let pushed = clock::now::<Monotonic>();
        for _ in 0..POPS_MAX {
            if channels.command.try_pop().is_none() {
                break;
            }
        }
        let popped = clock::now::<Monotonic>();
        channels.snapshot.write(&item);
        let _ = channels.target.read();
        let ended = clock::now::<Monotonic>();
        ticks.push(Tick {
            late: woke - due,
            push: pushed - began,
            pop: popped - pushed,
            whole: ended - began,
            used: usage::difference(before, used()),
        });
        // A due time that has passed is skipped: lateness is that of single wakeups.
        while due < clock::now() {
            due = due + PERIOD;
        }
    }
}

/// What the thread has used. The CPU time of getrusage(2) would be that of the last tick.
fn used() -> TaskUsage {
    TaskUsage { cpu_time: clock::thread_cpu_time(), ..usage::of_this_thread().unwrap() }
}

fn summary(ticks: &[Tick], before: (Sent, Received), after: (Sent, Received)) -> Found {
    let mut found = Found {
        refused: after.0.refused - before.0.refused,
        invalid: after.0.invalid + after.1.invalid - before.0.invalid - before.1.invalid,
        ..Found::default()
    };
    ticks.iter().for_each(|tick| found.add_tick(tick));
    let pushed = after.0.pushed - before.0.pushed;
    assert_eq!(pushed + found.refused, ticks.len() as u64, "every item is counted");
    found
}

/// Whatever the peers do, no more is in flight than there is room.
fn check(channels: &Channels) {
    assert!(channels.state.counts().in_flight <= 256);
    assert!(channels.command.counts().available <= 64);
}
