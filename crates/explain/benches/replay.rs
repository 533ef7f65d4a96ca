//! How fast events are replayed and explained: `cargo bench -p tactus-explain`.
//!
//! The events are those of the busiest kind of recording: two threads that wake
//! each other through a pipe, on two CPUs, with a probe beside them.

use divan::counter::ItemsCount;
use tactus_explain::account::{AccountOptions, TickRate, account};
use tactus_explain::machine::{Machine, Observer};
use tactus_explain::{Options, Origin, ProbeTask, explain, waits};
use tactus_model::probe::SleepMethod;
use tactus_model::recording::{
    About, Context, Dictionary, Event, EventKind, InterruptVector, NameId, Priority, Recording,
    TaskState, ThreadId, Wakeup,
};
use tactus_model::sample::Sample;
use tactus_model::time::{Instant, Nanos};

const PROBE: Who = Who { thread: ThreadId(100), priority: Priority(9) };
const PROBE_CPU: u32 = 1;

fn main() {
    divan::main();
}

#[derive(Clone, Copy)]
struct Who {
    thread: ThreadId,
    priority: Priority,
}

struct Maker {
    events: Vec<Event>,
    now: u64,
    current: [Who; 2],
}

impl Maker {
    fn push(&mut self, cpu: u32, flags: u8, kind: EventKind) {
        self.now += 400;
        self.events.push(Event {
            at: Instant::from_nanos(self.now),
            cpu,
            thread: self.current[cpu as usize].thread,
            context: Context { flags, preempt_count: 0 },
            chain: None,
            kind,
        });
    }

    fn wake(&mut self, cpu: u32, flags: u8, who: Who) {
        let wakeup = Wakeup {
            thread: who.thread,
            name: NameId::UNKNOWN,
            priority: who.priority,
            target_cpu: cpu,
        };
        self.push(cpu, flags, EventKind::Waking(wakeup));
        self.push(cpu, flags, EventKind::Wakeup(wakeup));
    }

    fn switch(&mut self, cpu: u32, state: TaskState, next: Who) {
        let prev = self.current[cpu as usize];
        let runtime = Nanos::from_nanos(900);
        self.push(cpu, 0, EventKind::Runtime { thread: prev.thread, runtime });
        self.push(
            cpu,
            0,
            EventKind::Switch {
                prev: prev.thread,
                prev_name: NameId::UNKNOWN,
                prev_priority: prev.priority,
                prev_state: state,
                next: next.thread,
                next_name: NameId::UNKNOWN,
                next_priority: next.priority,
            },
        );
        self.current[cpu as usize] = next;
    }

    /// A round of the ping-pong on `cpu`.
    fn round(&mut self, cpu: u32) {
        let pair = |member: i32| Who {
            thread: ThreadId(200 + 2 * cpu as i32 + member),
            priority: Priority(120),
        };
        for member in [0, 1] {
            self.wake(cpu, 0, pair(1 - member));
            self.switch(cpu, TaskState::SLEEPING, pair(1 - member));
        }
    }

    /// The probe's timer expires, the probe runs and sleeps again.
    fn sample(&mut self) -> Sample {
        let due = self.now;
        let interrupted = self.current[PROBE_CPU as usize];
        let hard = Context::HARDIRQ | Context::IRQS_OFF;
        let vector = InterruptVector::LocalTimer;
        self.push(PROBE_CPU, hard, EventKind::VectorEntry(vector));
        let function = Default::default();
        let now = Nanos::from_nanos(self.now);
        self.push(PROBE_CPU, hard, EventKind::HrtimerExpireEntry { timer: 7, function, now });
        self.wake(PROBE_CPU, hard, PROBE);
        self.push(PROBE_CPU, hard, EventKind::HrtimerExpireExit { timer: 7 });
        self.push(PROBE_CPU, hard, EventKind::VectorExit(vector));
        self.switch(PROBE_CPU, TaskState::PREEMPTED, PROBE);
        let came = self.now + 300;
        let expires = Nanos::from_nanos(came + 30_000);
        let armed =
            EventKind::HrtimerStart { timer: 7, function, expires, soft_expires: expires, mode: 0 };
        self.push(PROBE_CPU, 0, armed);
        self.switch(PROBE_CPU, TaskState::SLEEPING, interrupted);
        Sample { due: Nanos::from_nanos(due), came: Nanos::from_nanos(came) }
    }
}

fn recording() -> (Recording, ProbeTask) {
    let idle = Who { thread: ThreadId::IDLE, priority: Priority(120) };
    let mut maker = Maker { events: Vec::new(), now: 0, current: [idle; 2] };
    let mut samples = Vec::new();
    for _ in 0..20_000 {
        for _ in 0..3 {
            maker.round(0);
            maker.round(1);
        }
        samples.push(maker.sample());
    }
    let about = About {
        events: vec!["irq_vectors/local_timer_exit".to_owned()],
        ..About::new(Instant::from_nanos(0), (0..2).collect())
    };
    let dictionary = Dictionary::new();
    let recording = Recording { about, dictionary, events: maker.events, losses: Vec::new() };
    let task = ProbeTask {
        task: 0,
        thread: PROBE.thread,
        origin: Origin::Due(SleepMethod::Nanosleep),
        opened: Instant::from_nanos(0),
        samples,
        receiver: None,
    };
    (recording, task)
}

struct Ignore;
impl Observer for Ignore {}

#[divan::bench]
fn replay(bencher: divan::Bencher<'_, '_>) {
    let (recording, _) = recording();
    bencher.counter(ItemsCount::new(recording.events.len())).bench(|| {
        let mut machine = Machine::new(&recording.about);
        for event in &recording.events {
            machine.step(event, &mut Ignore);
        }
        machine
    });
}

#[divan::bench]
fn explain_samples(bencher: divan::Bencher<'_, '_>) {
    let (recording, task) = recording();
    bencher
        .counter(ItemsCount::new(recording.events.len()))
        .bench(|| explain(&mut recording.reader(), vec![task.clone()], Options::default()));
}

/// The waits and the whole time of all threads.
#[divan::bench]
fn thread_times(bencher: divan::Bencher<'_, '_>) {
    let (recording, _) = recording();
    bencher
        .counter(ItemsCount::new(recording.events.len()))
        .bench(|| waits(&mut recording.reader(), Options::default(), |_, _| true));
}

/// Many threads that wait for one CPU, in turns: each wait spans the turns of all others. The time
/// for an event may grow with the number of threads, not with the number of events.
#[divan::bench(sample_count = 3, args = [10_000, 100_000, 1_000_000])]
fn crowded_waits(bencher: divan::Bencher<'_, '_>, turns: i32) {
    const THREADS: i32 = 100;
    let (mut recording, _) = recording();
    let who = |turn| Who { thread: ThreadId(1000 + turn % THREADS), priority: Priority(120) };
    let mut maker = Maker { events: Vec::new(), now: 0, current: [who(0); 2] };
    (1..turns).for_each(|turn| maker.switch(0, TaskState::PREEMPTED, who(turn)));
    recording.events = maker.events;
    let options = Options { threshold: Nanos::from_micros(10), ..Options::default() };
    bencher
        .counter(ItemsCount::new(recording.events.len()))
        .bench(|| waits(&mut recording.reader(), options, |_, _| true));
}

/// How many tick rates are simulated in addition.
#[divan::bench(args = [0, 1, 4])]
fn accounts(bencher: divan::Bencher<'_, '_>, rates: usize) {
    let (recording, _) = recording();
    let rates = [100, 250, 1000, 20_000].into_iter().take(rates).filter_map(TickRate::new);
    let options = AccountOptions { rates: rates.collect() };
    bencher
        .counter(ItemsCount::new(recording.events.len()))
        .bench(|| account(&mut recording.reader(), &options));
}
