//! A virtual CPU: what happens next, and its events.

use tactus_model::recording::{
    Context, Dictionary, Event, EventKind, FunctionId, InterruptVector, NameId, Priority,
    SleepingCall, Softirq, TaskState, ThreadId, Wakeup,
};
use tactus_model::time::{Instant, Nanos};

use super::random::Random;
use super::{Plan, Planted, SimulatedSample};

/// A virtual thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Thread {
    id: ThreadId,
    name: NameId,
    priority: Priority,
}

/// A virtual CPU with its threads.
pub(super) struct Cpu<'a> {
    plan: &'a Plan,
    cpu: u32,
    random: Random,
    probe: Thread,
    urgent: Thread,
    /// The background threads, or only the idle thread.
    background: Vec<Thread>,
    /// Which of them runs or runs next.
    turn: usize,
    running: Thread,
    since: u64,
    now: u64,
    flags: u8,
    sleeper: FunctionId,
    tick: FunctionId,
    device: NameId,
    events: Vec<Event>,
    samples: Vec<SimulatedSample>,
}

/// The multiple in a thread id that identifies its CPU.
const THREADS_A_CPU: i32 = 100;

/// The number and the addresses of the virtual device and timers.
const DEVICE: i32 = 24;
const TIMERS: u64 = 0xffff_8880_0000_0000;

impl<'a> Cpu<'a> {
    pub(super) fn new(plan: &'a Plan, cpu: u32, dictionary: &mut Dictionary) -> Self {
        let mut thread = |number: i32, name: &str, priority| Thread {
            id: ThreadId(if number == 0 { 0 } else { THREADS_A_CPU * (cpu as i32 + 1) + number }),
            name: dictionary.intern(name),
            priority: Priority::from_kernel(priority),
        };
        let probe = thread(1, "probe", 19);
        let urgent = thread(2, "urgent", 9);
        let mut background: Vec<Thread> =
            (0..plan.background as i32).map(|k| thread(3 + k, "background", 120)).collect();
        if background.is_empty() {
            background.push(thread(0, &format!("swapper/{cpu}"), 120));
        }
        let mut function = |address, name| {
            let function = dictionary.intern_function(address);
            dictionary.name_function(function, name);
            function
        };
        Self {
            plan,
            cpu,
            random: Random::new(plan.seed ^ u64::from(cpu) << 56),
            probe,
            urgent,
            turn: 0,
            running: background[0],
            background,
            since: 0,
            now: 0,
            flags: 0,
            sleeper: function(0xffff_ffff_8110_0000, "hrtimer_wakeup"),
            tick: function(0xffff_ffff_8120_0000, "tick_nohz_handler"),
            device: dictionary.intern("virtual-device"),
            events: Vec::new(),
            samples: Vec::new(),
        }
    }

    /// Simulates until the end of the plan.
    pub(super) fn run(mut self) -> (Vec<Event>, Vec<SimulatedSample>) {
        let end = self.plan.length.as_nanos();
        let interval = self.plan.interval.as_nanos().max(100_000);
        let tick_length = self.plan.tick.as_nanos().max(100_000);
        let mut tick = tick_length;
        let mut due = interval;
        self.arm(due);
        while due < end {
            if tick <= due {
                self.now = self.now.max(tick);
                self.tick();
                tick += tick_length;
            } else {
                self.wakeup(due);
                // A due time that has passed is skipped.
                while due <= self.now + 10_000 {
                    due += interval;
                }
                self.sleep(due);
            }
        }
        (self.events, self.samples)
    }

    /// Advances the time by `least` to `limit` nanoseconds.
    fn pass(&mut self, least: u64, limit: u64) {
        self.now += self.random.between(least, limit);
    }

    fn push(&mut self, kind: EventKind) {
        self.events.push(Event {
            at: Instant::from_nanos(self.now),
            cpu: self.cpu,
            thread: self.running.id,
            context: Context { flags: self.flags, preempt_count: 0 },
            chain: None,
            kind,
        });
        // No two events of a CPU have the same time.
        self.now += 1;
    }

    fn timer(&self) -> u64 {
        TIMERS + (u64::from(self.cpu) << 12)
    }

    fn arm(&mut self, due: u64) {
        let timer = self.timer();
        let expires = Nanos::from_nanos(due);
        self.push(EventKind::HrtimerStart {
            timer,
            function: self.sleeper,
            expires,
            soft_expires: expires,
            mode: 0,
        });
    }

    /// Enters the timer's interrupt.
    fn enter(&mut self) {
        self.flags |= Context::HARDIRQ | Context::IRQS_OFF;
        self.push(EventKind::VectorEntry(InterruptVector::LocalTimer));
        self.pass(200, 900);
    }

    fn leave(&mut self) {
        self.pass(200, 600);
        self.push(EventKind::VectorExit(InterruptVector::LocalTimer));
        self.flags &= !(Context::HARDIRQ | Context::IRQS_OFF);
    }

    fn tick(&mut self) {
        let timer = self.timer() + 0x800;
        self.enter();
        let now = Nanos::from_nanos(self.now);
        self.push(EventKind::HrtimerExpireEntry { timer, function: self.tick, now });
        self.pass(800, 2_000);
        self.push(EventKind::HrtimerExpireExit { timer });
        self.leave();
        if self.background.len() > 1 {
            self.turn = (self.turn + 1) % self.background.len();
            self.switch(self.background[self.turn], TaskState::PREEMPTED);
        }
    }

    fn switch(&mut self, next: Thread, prev_state: TaskState) {
        let prev = self.running;
        if !prev.id.is_idle() {
            let runtime = Nanos::from_nanos(self.now - self.since);
            self.push(EventKind::Runtime { thread: prev.id, runtime });
        }
        self.since = self.now;
        self.flags = 0;
        self.push(EventKind::Switch {
            prev: prev.id,
            prev_name: prev.name,
            prev_priority: prev.priority,
            prev_state,
            next: next.id,
            next_name: next.name,
            next_priority: next.priority,
        });
        self.running = next;
    }

    /// The probe's wakeup at `due`, with its planted cause.
    fn wakeup(&mut self, due: u64) {
        let planted = self.plant();
        let length =
            if planted == Planted::Nothing { 0 } else { self.random.between(50_000, 400_000) };
        self.now = self.now.max(due);
        if planted == Planted::DeviceInterrupt {
            self.device_interrupt(due, length);
        }
        self.pass(500, 2_000);
        self.enter();
        let (timer, now) = (self.timer(), Nanos::from_nanos(self.now));
        self.push(EventKind::HrtimerExpireEntry { timer, function: self.sleeper, now });
        if planted == Planted::UrgentThread {
            self.wake(self.urgent);
        }
        self.wake(self.probe);
        self.push(EventKind::HrtimerExpireExit { timer });
        self.leave();
        let leaves = self.hold_up(planted, length);
        self.pass(500, 1_500);
        self.switch(self.probe, leaves);
        self.pass(300, 900);
        self.push(EventKind::CallExit { call: SleepingCall::ClockNanosleep, returned: 0 });
        self.pass(200, 600);
        self.samples.push(SimulatedSample {
            thread: self.probe.id,
            cpu: self.cpu,
            due: Instant::from_nanos(due),
            came: Instant::from_nanos(self.now),
            planted,
            length: Nanos::from_nanos(length),
        });
    }

    fn plant(&mut self) -> Planted {
        if !self.random.next().is_multiple_of(self.plan.disturbed_one_in.max(1)) {
            return Planted::Nothing;
        }
        let all = [
            Planted::DeviceInterrupt,
            Planted::Softirq,
            Planted::KernelSection,
            Planted::UrgentThread,
        ];
        // An idle CPU has no thread with a preemption-off section.
        let choice = all[(self.random.next() % 4) as usize];
        if choice == Planted::KernelSection && self.running.id.is_idle() {
            Planted::Softirq
        } else {
            choice
        }
    }

    /// A device's handler that began just before `due` and ends `length` after it.
    fn device_interrupt(&mut self, due: u64, length: u64) {
        let last = self.events.last().map_or(0, |event| event.at.as_nanos() + 1);
        self.now = last.max(due.saturating_sub(20_000));
        self.flags |= Context::HARDIRQ | Context::IRQS_OFF;
        self.push(EventKind::IrqEntry { irq: DEVICE, name: self.device });
        self.now = self.now.max(due) + length;
        self.push(EventKind::IrqExit { irq: DEVICE, handled: true });
        self.flags &= !(Context::HARDIRQ | Context::IRQS_OFF);
    }

    fn wake(&mut self, thread: Thread) {
        let wakeup = Wakeup {
            thread: thread.id,
            name: thread.name,
            priority: thread.priority,
            target_cpu: self.cpu,
        };
        self.pass(100, 400);
        self.push(EventKind::Waking(wakeup));
        self.pass(300, 900);
        self.flags |= Context::NEED_RESCHED;
        self.push(EventKind::Wakeup(wakeup));
    }

    /// The time between the wakeup and the switch to the probe; returns the state in
    /// which the current thread leaves.
    fn hold_up(&mut self, planted: Planted, length: u64) -> TaskState {
        match planted {
            Planted::Nothing | Planted::DeviceInterrupt => {}
            Planted::Softirq => {
                self.flags |= Context::SOFTIRQ;
                self.push(EventKind::SoftirqEntry(Softirq::NET_RX));
                self.now += length;
                self.push(EventKind::SoftirqExit(Softirq::NET_RX));
                self.flags &= !Context::SOFTIRQ;
            }
            Planted::KernelSection => self.now += length,
            Planted::UrgentThread => {
                self.pass(500, 1_500);
                self.switch(self.urgent, TaskState::PREEMPTED);
                self.now += length;
                return TaskState::SLEEPING;
            }
        }
        TaskState::PREEMPTED
    }

    /// Lets the probe work a little and sleep until `due`.
    fn sleep(&mut self, due: u64) {
        self.pass(2_000, 8_000);
        self.push(EventKind::CallEnter(SleepingCall::ClockNanosleep));
        self.pass(200, 600);
        self.arm(due);
        self.pass(300, 900);
        self.switch(self.background[self.turn], TaskState::SLEEPING);
    }
}
