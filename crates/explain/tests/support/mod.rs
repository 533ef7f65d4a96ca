//! A small language in which tests describe what happened on a simulated machine.

use tactus_explain::{
    ExplainedSample, Explanation, Options, Origin, ProbeTask, Receiver, WitnessedSample, explain,
    witness,
};
use tactus_model::probe::SleepMethod;
use tactus_model::recording::{
    About, ChainId, Context, Dictionary, Event, EventKind, InterruptVector, Lost, NameId,
    Observers, PageFault, Priority, ProcessId, QuotaGroup, Recording, Softirq, TaskState, ThreadId,
    Wakeup,
};
use tactus_model::sample::Sample;
use tactus_model::time::{Instant, Monotonic, Nanos};

/// A thread of the simulated machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thread {
    pub id: i32,
    pub name: NameId,
    pub priority: i16,
}

pub const IDLE: Thread = Thread { id: 0, name: NameId::UNKNOWN, priority: 120 };

pub const SLEEPING: TaskState = TaskState::SLEEPING;
pub const UNINTERRUPTIBLE: TaskState = TaskState::UNINTERRUPTIBLE;
pub const STOPPED: TaskState = TaskState::STOPPED;
pub const PREEMPTED: TaskState = TaskState::PREEMPTED;

/// The address of the probe's timer.
pub const TIMER: u64 = 0xffff_8880_0000_1000;

#[derive(Clone, Copy)]
struct Cpu {
    thread: Thread,
    hardirq: u32,
    softirq: u32,
    need_resched: bool,
}

/// The script of events. Times are in microseconds. Steps may come in any order as long
/// as the steps of each CPU are in the order of time.
pub struct Script {
    recording: Recording,
    cpus: Vec<Cpu>,
    chain: Option<ChainId>,
    ends_early: bool,
}

pub fn micros(micros: u64) -> Instant<Monotonic> {
    Instant::from_nanos(micros * 1000)
}

impl Script {
    pub fn new(cpus: u32) -> Self {
        let events = InterruptVector::ALL.iter().flat_map(|vector| {
            ["entry", "exit"].map(|edge| format!("irq_vectors/{}_{edge}", vector.word()))
        });
        let block = ["block/block_rq_issue", "block/block_rq_complete"];
        Self {
            recording: Recording {
                about: About {
                    events: events.chain(block.map(str::to_owned)).collect(),
                    ..About::new(micros(0), (0..cpus).collect())
                },
                dictionary: Dictionary::new(),
                events: Vec::new(),
                losses: Vec::new(),
            },
            cpus: vec![
                Cpu { thread: IDLE, hardirq: 0, softirq: 0, need_resched: false };
                cpus as usize
            ],
            chain: None,
            ends_early: false,
        }
    }

    /// The recording ends with the last event, not after the samples.
    pub fn ends_early(&mut self) -> &mut Self {
        self.ends_early = true;
        self
    }

    /// Timers expire only at ticks with this period.
    pub fn timers_at_ticks(&mut self, tick: Nanos) -> &mut Self {
        self.recording.about.timer_tick = Some(tick);
        self
    }

    /// These threads only observe.
    pub fn observed_by(&mut self, observers: Observers) -> &mut Self {
        self.recording.about.observers = observers;
        self
    }

    /// The recording shows these control groups with a quota.
    pub fn with_quotas(&mut self, groups: Vec<QuotaGroup>) -> &mut Self {
        self.recording.about.quotas = Some(groups);
        self
    }

    /// The thread belongs to this process.
    pub fn process(&mut self, thread: Thread, process: i32) -> &mut Self {
        let thread = ThreadId(thread.id);
        self.recording.dictionary.set_process(thread, ProcessId(process));
        self
    }

    pub fn thread(&mut self, name: &str, id: i32, priority: i16) -> Thread {
        Thread { id, name: self.recording.dictionary.intern(name), priority }
    }

    /// The next event has this call chain, the innermost frame first.
    pub fn in_chain(&mut self, frames: &[&str]) -> &mut Self {
        let frames: Vec<_> = frames.iter().map(|name| self.function(name)).collect();
        self.chain = self.recording.dictionary.intern_chain(&frames);
        self
    }

    pub fn function(&mut self, name: &str) -> tactus_model::recording::FunctionId {
        let address = name
            .bytes()
            .fold(7_u64, |hash, byte| hash.wrapping_mul(31).wrapping_add(u64::from(byte)));
        let function = self.recording.dictionary.intern_function(address);
        self.recording.dictionary.name_function(function, name);
        function
    }

    pub fn push_at(&mut self, at: Instant<Monotonic>, cpu: u32, kind: EventKind) -> &mut Self {
        let state = self.cpus[cpu as usize];
        let mut flags = 0;
        if state.need_resched {
            flags |= Context::NEED_RESCHED;
        }
        if state.hardirq > 0 {
            flags |= Context::HARDIRQ | Context::IRQS_OFF;
        }
        if state.softirq > 0 {
            flags |= Context::SOFTIRQ;
        }
        self.recording.events.push(Event {
            at,
            cpu,
            thread: ThreadId(state.thread.id),
            context: Context { flags, preempt_count: 0 },
            chain: self.chain.take(),
            kind,
        });
        self
    }

    fn push(&mut self, at: u64, cpu: u32, kind: EventKind) -> &mut Self {
        self.push_at(micros(at), cpu, kind)
    }

    /// The CPU switches to `next`; the current thread leaves in `state`.
    pub fn switch(&mut self, at: u64, cpu: u32, state: TaskState, next: Thread) -> &mut Self {
        let prev = self.cpus[cpu as usize].thread;
        self.cpus[cpu as usize].need_resched = false;
        self.push(
            at,
            cpu,
            EventKind::Switch {
                prev: ThreadId(prev.id),
                prev_name: prev.name,
                prev_priority: Priority(prev.priority),
                prev_state: state,
                next: ThreadId(next.id),
                next_name: next.name,
                next_priority: Priority(next.priority),
            },
        );
        self.cpus[cpu as usize].thread = next;
        self
    }

    pub fn need_resched(&mut self, cpu: u32) -> &mut Self {
        self.cpus[cpu as usize].need_resched = true;
        self
    }

    /// The thread of the CPU is no longer asked to reschedule.
    pub fn asked_no_more(&mut self, cpu: u32) -> &mut Self {
        self.cpus[cpu as usize].need_resched = false;
        self
    }

    /// The thread is current from here on, although the sched_switch event is missing.
    pub fn appears(&mut self, cpu: u32, thread: Thread) -> &mut Self {
        self.cpus[cpu as usize].thread = thread;
        self
    }

    pub fn vector_entry(&mut self, at: u64, cpu: u32, vector: InterruptVector) -> &mut Self {
        self.cpus[cpu as usize].hardirq += 1;
        self.push(at, cpu, EventKind::VectorEntry(vector))
    }

    pub fn vector_exit(&mut self, at: u64, cpu: u32, vector: InterruptVector) -> &mut Self {
        self.push(at, cpu, EventKind::VectorExit(vector));
        self.cpus[cpu as usize].hardirq -= 1;
        self
    }

    pub fn irq_entry(&mut self, at: u64, cpu: u32, irq: i32, name: &str) -> &mut Self {
        let name = self.recording.dictionary.intern(name);
        self.cpus[cpu as usize].hardirq += 1;
        self.push(at, cpu, EventKind::IrqEntry { irq, name })
    }

    pub fn irq_exit(&mut self, at: u64, cpu: u32, irq: i32) -> &mut Self {
        self.push(at, cpu, EventKind::IrqExit { irq, handled: true });
        self.cpus[cpu as usize].hardirq -= 1;
        self
    }

    pub fn irq(&mut self, from: u64, to: u64, cpu: u32, irq: i32, name: &str) -> &mut Self {
        self.irq_entry(from, cpu, irq, name).irq_exit(to, cpu, irq)
    }

    pub fn softirq_entry(&mut self, at: u64, cpu: u32, softirq: Softirq) -> &mut Self {
        self.cpus[cpu as usize].softirq += 1;
        self.push(at, cpu, EventKind::SoftirqEntry(softirq))
    }

    pub fn softirq_exit(&mut self, at: u64, cpu: u32, softirq: Softirq) -> &mut Self {
        self.push(at, cpu, EventKind::SoftirqExit(softirq));
        self.cpus[cpu as usize].softirq -= 1;
        self
    }

    pub fn idle_entry(&mut self, at: u64, cpu: u32, state: u32) -> &mut Self {
        self.push(at, cpu, EventKind::IdleEntry { state })
    }

    pub fn idle_exit(&mut self, at: u64, cpu: u32) -> &mut Self {
        self.push(at, cpu, EventKind::IdleExit)
    }

    /// The current thread arms a timer for `due`, with `slack`.
    pub fn arm(&mut self, at: u64, cpu: u32, timer: u64, due: u64, slack: u64) -> &mut Self {
        self.arm_function(at, cpu, timer, "hrtimer_wakeup", due, slack)
    }

    /// The current thread arms a timer for a duration, which ends at `due`.
    pub fn arm_relative(&mut self, at: u64, cpu: u32, timer: u64, due: u64) -> &mut Self {
        self.arm(at, cpu, timer, due, 0);
        let armed = self.recording.events.last_mut().map(|event| &mut event.kind);
        if let Some(EventKind::HrtimerStart { mode, .. }) = armed {
            *mode = 1;
        }
        self
    }

    pub fn arm_function(
        &mut self,
        at: u64,
        cpu: u32,
        timer: u64,
        function: &str,
        due: u64,
        slack: u64,
    ) -> &mut Self {
        let function = self.function(function);
        let expires = Nanos::from_micros(due + slack);
        let soft_expires = Nanos::from_micros(due);
        self.push(
            at,
            cpu,
            EventKind::HrtimerStart { timer, function, expires, soft_expires, mode: 0 },
        )
    }

    pub fn expire(
        &mut self,
        from: u64,
        to: u64,
        cpu: u32,
        timer: u64,
        function: &str,
    ) -> &mut Self {
        let function = self.function(function);
        let now = Nanos::from_micros(from);
        self.push(from, cpu, EventKind::HrtimerExpireEntry { timer, function, now });
        self.push(to, cpu, EventKind::HrtimerExpireExit { timer })
    }

    fn wakeup(thread: Thread, target_cpu: u32) -> Wakeup {
        Wakeup {
            thread: ThreadId(thread.id),
            name: thread.name,
            priority: Priority(thread.priority),
            target_cpu,
        }
    }

    /// A thread is woken and queued a microsecond later.
    pub fn wake(&mut self, at: u64, cpu: u32, thread: Thread, target_cpu: u32) -> &mut Self {
        self.push(at, cpu, EventKind::Waking(Self::wakeup(thread, target_cpu)));
        self.push(at + 1, cpu, EventKind::Wakeup(Self::wakeup(thread, target_cpu)))
    }

    /// A local timer interrupt at `at` serves the probe's timer and wakes `probe`:
    /// entry, +1 timer, +2 waking, +3 wakeup, +4 timer done, +5 exit.
    pub fn timer_wakes(&mut self, at: u64, cpu: u32, probe: Thread, asks: bool) -> &mut Self {
        let function = self.function("hrtimer_wakeup");
        self.vector_entry(at, cpu, InterruptVector::LocalTimer);
        let now = Nanos::from_micros(at);
        self.push(at + 1, cpu, EventKind::HrtimerExpireEntry { timer: TIMER, function, now });
        self.push(at + 2, cpu, EventKind::Waking(Self::wakeup(probe, cpu)));
        if asks {
            self.need_resched(cpu);
        }
        self.push(at + 3, cpu, EventKind::Wakeup(Self::wakeup(probe, cpu)));
        self.push(at + 4, cpu, EventKind::HrtimerExpireExit { timer: TIMER });
        self.vector_exit(at + 5, cpu, InterruptVector::LocalTimer)
    }

    pub fn migrate(&mut self, at: u64, cpu: u32, thread: Thread, from: u32, to: u32) -> &mut Self {
        self.push(
            at,
            cpu,
            EventKind::Migrate {
                thread: ThreadId(thread.id),
                priority: Priority(thread.priority),
                from_cpu: from,
                to_cpu: to,
            },
        )
    }

    pub fn charge(&mut self, at: u64, cpu: u32, runtime: u64) -> &mut Self {
        let thread = ThreadId(self.cpus[cpu as usize].thread.id);
        self.push(at, cpu, EventKind::Runtime { thread, runtime: Nanos::from_micros(runtime) })
    }

    pub fn fault(&mut self, at: u64, cpu: u32) -> &mut Self {
        let fault = PageFault { address: 0x7000, instruction: 0x4000, error_code: 4 };
        self.push(at, cpu, EventKind::PageFaultUser(fault))
    }

    pub fn lose(&mut self, cpu: u32, from: u64, to: u64) -> &mut Self {
        self.recording.losses.push(Lost { cpu, from: micros(from), to: micros(to), count: 1 });
        self
    }

    /// A request goes to a block device and comes back.
    pub fn block_request(&mut self, from: u64, to: u64, cpu: u32) -> &mut Self {
        let (device, sector, sectors) = (0x00fd_0000, from * 8, 8);
        self.push(from, cpu, EventKind::BlockIssue { device, sector, sectors });
        self.push(to, cpu, EventKind::BlockComplete { device, sector, sectors, error: 0 })
    }

    /// An event of a CPU without any meaning.
    pub fn noise(&mut self, at: u64, cpu: u32) -> &mut Self {
        self.push(at, cpu, EventKind::SoftirqRaise(Softirq::SCHED))
    }

    pub fn into_recording(mut self) -> Recording {
        self.recording.events.sort_by_key(|event| event.at);
        self.recording
    }

    /// Explains one sample of `probe` with this due time and arrival in microseconds.
    pub fn explain_one(self, probe: Thread, due: u64, came: u64) -> ExplainedSample {
        let explanation = self.explain(probe, SleepMethod::Nanosleep, &[(due, came)]);
        explanation.worst[0].clone()
    }

    /// Reports what happened while each sample of `probe` was open.
    pub fn witness(mut self, probe: Thread, samples: &[(u64, u64)]) -> Vec<WitnessedSample> {
        self.end_after(samples);
        let task = task_of(probe, SleepMethod::Nanosleep, samples);
        witness(&mut self.into_recording().reader(), vec![task])
            .expect("a recording in memory cannot fail")
    }

    fn end_after(&mut self, samples: &[(u64, u64)]) {
        if let (false, Some((_, came))) = (self.ends_early, samples.last()) {
            self.noise(came + 1, 0);
        }
    }

    pub fn explain(
        mut self,
        probe: Thread,
        sleep: SleepMethod,
        samples: &[(u64, u64)],
    ) -> Explanation {
        self.end_after(samples);
        self.explain_task(task_of(probe, sleep, samples))
    }

    /// Explains samples of `probe` with their due times, when it handed them over to `receiver`, and
    /// when they arrived there.
    pub fn explain_handed_over(
        mut self,
        probe: Thread,
        receiver: Thread,
        samples: &[(u64, u64, u64)],
    ) -> Explanation {
        let arrived: Vec<_> = samples.iter().map(|&(due, _, came)| (due, came)).collect();
        self.end_after(&arrived);
        let handed_over =
            samples.iter().map(|&(_, handed, _)| Nanos::from_micros(handed)).collect();
        let receiver = Some(Receiver { thread: ThreadId(receiver.id), handed_over });
        let task = task_of(probe, SleepMethod::Nanosleep, &arrived);
        self.explain_task(ProbeTask { receiver, ..task })
    }

    /// Explains samples that `receiver` got from threads that are not tasks.
    pub fn explain_received(mut self, receiver: Thread, samples: &[(u64, u64)]) -> Explanation {
        self.end_after(samples);
        let task = task_of(receiver, SleepMethod::Nanosleep, samples);
        self.explain_task(ProbeTask { origin: Origin::Received, ..task })
    }

    fn explain_task(self, task: ProbeTask) -> Explanation {
        let recording = self.into_recording();
        let samples = task.samples.len() as u64;
        let explanation = explain(
            &mut recording.reader(),
            vec![task],
            Options { threshold: Nanos::from_micros(100), slowest: 20, timelines: 20 },
        )
        .expect("a recording in memory cannot fail");
        check_sums(&explanation, samples);
        explanation
    }
}

fn task_of(probe: Thread, sleep: SleepMethod, samples: &[(u64, u64)]) -> ProbeTask {
    let sample = |&(due, came): &(u64, u64)| Sample {
        due: Nanos::from_micros(due),
        came: Nanos::from_micros(came),
    };
    ProbeTask {
        task: 0,
        thread: ThreadId(probe.id),
        origin: Origin::Due(sleep),
        opened: micros(0),
        samples: samples.iter().map(sample).collect(),
        receiver: None,
    }
}

/// Checks the invariants of every explanation.
pub fn check_sums(explanation: &Explanation, samples: u64) {
    let counted: u64 = explanation.outcomes.iter().map(|counted| counted.count).sum();
    assert_eq!(counted, samples, "every sample has one outcome: {:?}", explanation.outcomes);
    assert_eq!(explanation.samples, samples);
    for explained in &explanation.worst {
        let latency = explained.sample.latency();
        if let Some(segments) = &explained.segments {
            assert_eq!(segments.total(), latency, "segments add up: {explained:?}");
        }
        if explained.outcome.can_blame() {
            let parts: Nanos = explained.parts.iter().map(|part| part.time).sum();
            assert_eq!(parts, latency, "parts add up: {explained:?}");
        } else {
            assert!(explained.parts.is_empty());
        }
        for lane in explained.timeline.iter().flat_map(|timeline| &timeline.lanes) {
            for pair in lane.bars.windows(2) {
                assert!(pair[0].to <= pair[1].from, "bars do not overlap: {pair:?}");
            }
        }
    }
    for pair in explanation.worst.windows(2) {
        assert!(pair[0].sample.latency() >= pair[1].sample.latency(), "the slowest comes first");
    }
    let rows: Nanos = explanation.pareto.rows.iter().map(|row| row.time).sum();
    assert_eq!(rows, explanation.pareto.time, "the rows of the Pareto add up");
}

/// The parts as shown to users, in microseconds, the greatest first.
pub fn shown(explained: &ExplainedSample) -> Vec<String> {
    explained
        .parts
        .iter()
        .map(|part| format!("{} {}", part.time.as_nanos() / 1000, part.cause))
        .collect()
}
