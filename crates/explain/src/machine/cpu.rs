//! The state of one CPU during the replay.

use tactus_model::recording::{Event, EventKind, FunctionId, Lost, NameId, Priority, ThreadId};
use tactus_model::time::{Instant, Monotonic, Nanos};

use super::charging::Charging;
use super::observer::{Observer, Reranked, Silence, Steal};
use super::quantum::{Leaving, Quantum};
use super::span::{Activity, Slice, Span};
use super::thread::Waker;
use super::timer::{Armed, TimerFire};
use super::{SILENCE_MIN, STEAL_MIN};
use crate::circumstance::Serving;

/// How deep interrupts, softirqs and timers may nest; anything deeper counts for the
/// activity it interrupted. The kernel nests at most a softirq, an interrupt, a timer
/// and an interrupt of those.
const DEPTH_MAX: usize = 8;

/// The flags that ask the current thread to reschedule, at once
/// (`TRACE_FLAG_NEED_RESCHED`) or at the next return to user mode
/// (`TRACE_FLAG_NEED_RESCHED_LAZY`).
const ASKED_TO_GIVE_WAY: u8 = 0x04 | 0x02;

/// The assumed priority of a thread before any event shows it: the ordinary priority,
/// from which nothing is concluded.
pub(crate) const UNKNOWN_PRIORITY: Priority = Priority(120);

/// A thread with its data from the last scheduler event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) thread: ThreadId,
    pub(super) name: NameId,
    pub(super) priority: Priority,
    /// Its own priority, if it inherits another through a lock.
    pub(super) own: Option<Priority>,
}

impl Known {
    /// Whether more than its thread id is known.
    pub(super) fn is_named(&self) -> bool {
        self.name != NameId::UNKNOWN
    }
}

/// A CPU at one moment of the replay.
#[derive(Clone, Debug)]
pub struct Cpu {
    /// Whether it has had an event.
    seen: bool,
    current: Known,
    /// Whether `current` has more than the thread id.
    named: bool,
    /// Another priority that the current thread had when it left a CPU last or came to this one.
    other_priority: Option<Priority>,
    /// Whether the current thread reclaims memory.
    reclaims: bool,
    thread_since: Instant<Monotonic>,
    pub(super) watched: Option<u16>,
    need_resched: bool,
    /// What the CPU did when the current thread was first asked to reschedule.
    pub(super) asked: Option<Activity>,
    /// When that was, as far as events show it.
    asked_at: Option<Instant<Monotonic>>,
    /// The time from which the current thread is known to have been current.
    quantum_from: Instant<Monotonic>,
    /// Whether the thread came at that time.
    quantum_began: bool,
    /// The latest time at which it came, if that is known although the sched_switch
    /// event is missing.
    quantum_began_by: Option<Instant<Monotonic>>,
    idle_state: Option<u32>,
    spans: [Span; DEPTH_MAX],
    depth: usize,
    /// When the innermost activity last changed.
    slice_from: Instant<Monotonic>,
    last_at: Instant<Monotonic>,
    /// The latest time before the last event at which the CPU is known not to have
    /// switched.
    unswitched_until: Instant<Monotonic>,
    /// The timer whose function runs, when the innermost span is one.
    fire: Option<TimerFire>,
    /// When the current thread was last charged, or came.
    charged_at: Instant<Monotonic>,
    /// Whether everything since `charged_at` was seen.
    charge_known: bool,
    /// Time in interrupts and softirqs since `charged_at`.
    interrupted: Nanos,
}

impl Cpu {
    /// A CPU that is recorded from `started`.
    pub(super) const fn from(started: Instant<Monotonic>) -> Self {
        let start = Instant::from_nanos(0);
        let no_span = Span { activity: Activity::Thread, from: start, chain: None, hard: false };
        Self {
            seen: false,
            current: Known {
                thread: ThreadId::IDLE,
                name: NameId::UNKNOWN,
                priority: UNKNOWN_PRIORITY,
                own: None,
            },
            named: false,
            other_priority: None,
            reclaims: false,
            thread_since: start,
            watched: None,
            need_resched: false,
            asked: None,
            asked_at: None,
            quantum_from: started,
            quantum_began: false,
            quantum_began_by: None,
            idle_state: None,
            spans: [no_span; DEPTH_MAX],
            depth: 0,
            slice_from: start,
            last_at: start,
            unswitched_until: start,
            fire: None,
            charged_at: start,
            charge_known: false,
            interrupted: Nanos::ZERO,
        }
    }

    /// The current thread, once the CPU has had an event.
    pub fn thread(&self) -> Option<ThreadId> {
        self.seen.then_some(self.current.thread)
    }

    /// The time of the last event; `None` before the first one.
    pub fn last_at(&self) -> Option<Instant<Monotonic>> {
        self.seen.then_some(self.last_at)
    }

    /// The CPU's present activity as a slice that ends at `to`; `None` before its first
    /// event.
    pub fn open_slice(&self, cpu: u32, to: Instant<Monotonic>) -> Option<Slice> {
        let (priority, base) = self.rank();
        self.seen.then(|| Slice {
            cpu,
            from: self.slice_from,
            to,
            activity: self.activity(),
            thread: self.current.thread,
            name: self.current.name,
            priority,
            base,
            thread_since: self.thread_since,
            need_resched: self.need_resched,
            end_chain: None,
        })
    }

    /// The innermost interrupt or softirq being served.
    pub(crate) fn serving(&self) -> Option<Serving> {
        self.spans[..self.depth].iter().rev().find_map(|span| Serving::of(span.activity))
    }

    /// Whether the CPU serves an interrupt or a softirq.
    pub(super) fn in_interrupt(&self) -> bool {
        self.depth > 0
    }

    /// The innermost open activity.
    fn activity(&self) -> Activity {
        match self.depth.checked_sub(1) {
            Some(top) => self.spans[top].activity,
            None if self.current.thread.is_idle() => Activity::Idle { state: self.idle_state },
            None if self.reclaims => Activity::Reclaim,
            None => Activity::Thread,
        }
    }

    /// Takes the data that every event has, whatever its kind.
    pub(super) fn observe(
        &mut self,
        event: &Event,
        at: Instant<Monotonic>,
        observer: &mut impl Observer,
    ) {
        if !self.seen {
            self.seen = true;
            self.slice_from = at;
            self.thread_since = at;
            self.current.thread = event.thread;
            self.last_at = at;
        } else if at - self.last_at >= SILENCE_MIN {
            observer.silence(Silence { cpu: event.cpu, from: self.last_at, to: at });
        }
        // An interrupt without a recorded exit lasts until now, as far as is known.
        self.unswitched_until = if self.depth > 0 { at } else { self.last_at };
        self.last_at = at;
        if self.depth > 0 {
            self.close_impossible_spans(event, at, observer);
        }
        if !matches!(event.kind, EventKind::Switch { .. }) {
            self.follow_flag(event, at, observer);
        }
    }

    /// Follows the flag that asks the current thread to reschedule.
    ///
    /// If it is cleared without a switch, the scheduler chose the same thread again at
    /// some moment since the event before. From then on the thread runs because it was
    /// chosen, so a new slice begins.
    fn follow_flag(&mut self, event: &Event, at: Instant<Monotonic>, observer: &mut impl Observer) {
        let asked = event.context.flags & ASKED_TO_GIVE_WAY != 0;
        if asked == self.need_resched {
            return;
        }
        self.need_resched = false;
        self.close_slice(event, at, observer);
        self.need_resched = asked;
        self.asked = asked.then(|| self.activity());
        self.asked_at = asked.then_some(at);
    }

    /// The latest time before the last event at which the CPU is known not to have
    /// switched.
    pub(super) const fn unswitched_until(&self) -> Instant<Monotonic> {
        self.unswitched_until
    }

    /// Makes `known` the current thread although the sched_switch event is missing: it
    /// was lost, or the thread came at some time since `came_at_min`.
    pub(super) fn correct(
        &mut self,
        event: &Event,
        at: Instant<Monotonic>,
        known: Known,
        came_at_min: Option<Instant<Monotonic>>,
        watched: Option<u16>,
        observer: &mut impl Observer,
    ) {
        self.close_slice(event, at, observer);
        // The thread before is known to have been current until then.
        self.end_quantum(event.cpu, came_at_min.unwrap_or(at), None, observer);
        self.take(known, watched, at);
        self.quantum_began = false;
        self.quantum_began_by = came_at_min.map(|_| at);
        self.named = known.is_named();
        self.charge_known = false;
        self.need_resched = event.context.flags & ASKED_TO_GIVE_WAY != 0;
    }

    /// Closes spans that are over according to the context of an event: their exit
    /// events were lost or are not recorded.
    fn close_impossible_spans(
        &mut self,
        event: &Event,
        at: Instant<Monotonic>,
        observer: &mut impl Observer,
    ) {
        let (hard, soft) = (event.context.in_hardirq(), event.context.in_softirq());
        while let Some(top) = self.depth.checked_sub(1) {
            let possible = if self.spans[top].hard { hard } else { soft || hard };
            if possible {
                return;
            }
            self.pop(event, at, observer);
        }
    }

    /// Opens a span.
    pub(super) fn enter(
        &mut self,
        event: &Event,
        at: Instant<Monotonic>,
        span: Span,
        observer: &mut impl Observer,
    ) {
        self.close_slice(event, at, observer);
        if self.depth < DEPTH_MAX {
            self.spans[self.depth] = span;
            self.depth += 1;
        }
    }

    /// Closes the innermost span for which `is_it` holds, and all spans inside it.
    pub(super) fn leave(
        &mut self,
        event: &Event,
        at: Instant<Monotonic>,
        is_it: impl Fn(Activity) -> bool,
        observer: &mut impl Observer,
    ) {
        let open = &self.spans[..self.depth];
        let Some(position) = open.iter().rposition(|span| is_it(span.activity)) else { return };
        while self.depth > position {
            self.pop(event, at, observer);
        }
    }

    fn pop(&mut self, event: &Event, at: Instant<Monotonic>, observer: &mut impl Observer) {
        self.close_slice(event, at, observer);
        self.depth -= 1;
        self.fire = None;
        if self.depth == 0 {
            let from = self.spans[0].from.max(self.charged_at);
            self.interrupted = self.interrupted + (at - from);
        }
    }

    /// The CPU enters or leaves idle.
    pub(super) fn idle(
        &mut self,
        event: &Event,
        at: Instant<Monotonic>,
        state: Option<u32>,
        observer: &mut impl Observer,
    ) {
        self.close_slice(event, at, observer);
        self.idle_state = state;
    }

    /// The current thread reclaims memory from here on, or no more.
    pub(super) fn reclaim(
        &mut self,
        event: &Event,
        at: Instant<Monotonic>,
        reclaims: bool,
        observer: &mut impl Observer,
    ) {
        if reclaims != self.reclaims {
            self.close_slice(event, at, observer);
            self.reclaims = reclaims;
        }
    }

    /// Ends the current slice here.
    pub(super) fn close_slice(
        &mut self,
        event: &Event,
        at: Instant<Monotonic>,
        observer: &mut impl Observer,
    ) {
        if at > self.slice_from
            && let Some(mut slice) = self.open_slice(event.cpu, at)
        {
            slice.end_chain = event.chain;
            observer.slice(slice);
        }
        self.slice_from = at;
    }

    /// Ends the current thread's quantum at `at`.
    pub(super) fn end_quantum(
        &mut self,
        cpu: u32,
        at: Instant<Monotonic>,
        left: Option<Leaving>,
        observer: &mut impl Observer,
    ) {
        // A loss that reaches beyond `at` has taken the time until its end.
        let to = at.max(self.quantum_from);
        observer.quantum(&Quantum {
            cpu,
            thread: self.current.thread,
            name: self.current.name,
            priority: self.current.priority,
            from: self.quantum_from,
            to,
            began: self.quantum_began,
            began_by: self.quantum_began_by,
            left,
        });
        self.quantum_from = to;
    }

    /// The recording ends at `end`.
    pub(super) fn close(
        &mut self,
        cpu: u32,
        end: Instant<Monotonic>,
        observer: &mut impl Observer,
    ) {
        if self.seen {
            self.end_quantum(cpu, end, None, observer);
        } else {
            observer.unknown(cpu, self.quantum_from, end.max(self.quantum_from));
        }
    }

    /// Stores the name and priority of the thread that is about to leave.
    ///
    /// A priority other than at its arrival came at an unknown moment between the two, so it
    /// counts for the whole turn.
    pub(super) fn know(&mut self, cpu: u32, known: Known, observer: &mut impl Observer) {
        if !self.named {
            self.current = known;
            self.named = true;
        } else if known.priority != self.current.priority {
            self.other_priority = Some(self.current.priority);
            self.current.priority = known.priority;
            let (priority, base) = self.rank();
            observer.reranked(Reranked { cpu, since: self.thread_since, priority, base });
        }
    }

    /// The higher and, if its class or real-time priority changed, the lower priority of the
    /// current thread; its own priority, if it inherits another.
    fn rank(&self) -> (Priority, Option<Priority>) {
        let current = self.current.priority;
        if self.current.own.is_some() {
            return (current, self.current.own);
        }
        match self.other_priority {
            Some(other) if !(other.is_ordinary() && current.is_ordinary()) && other != current => {
                (current.min(other), Some(current.max(other)))
            }
            _ => (current, None),
        }
    }

    /// The current thread inherits a priority from here on, or returns to its own.
    pub(super) fn inherit(
        &mut self,
        cpu: u32,
        at: Instant<Monotonic>,
        known: Known,
        observer: &mut impl Observer,
    ) {
        if at > self.slice_from
            && let Some(slice) = self.open_slice(cpu, at)
        {
            observer.slice(slice);
        }
        self.slice_from = at;
        self.current.priority = known.priority;
        self.current.own = known.own;
        self.other_priority = None;
    }

    /// Makes `known` the current thread, which left its last CPU with priority `left_with`.
    pub(super) fn come(
        &mut self,
        known: Known,
        left_with: Option<Priority>,
        watched: Option<u16>,
        at: Instant<Monotonic>,
    ) {
        self.take(known, watched, at);
        // A thread whose priority was lowered meanwhile runs with the lower one from here on.
        self.other_priority = left_with.filter(|before| *before > known.priority);
    }

    /// Makes `known` the current thread.
    fn take(&mut self, known: Known, watched: Option<u16>, at: Instant<Monotonic>) {
        self.current = known;
        self.named = true;
        self.other_priority = None;
        self.reclaims = false;
        self.watched = watched;
        self.thread_since = at;
        self.need_resched = false;
        self.asked = None;
        self.asked_at = None;
        self.quantum_began = true;
        self.quantum_began_by = None;
        self.idle_state = None;
        self.charged_at = at;
        self.charge_known = true;
        self.interrupted = Nanos::ZERO;
    }

    /// The kernel charged `thread`; reports the time that it left out.
    ///
    /// Time that passed and was not charged is steal time, since the kernel charges by a
    /// clock without steal time (`rq_clock_task` in `kernel/sched/core.c`). Whether the
    /// clock also excludes interrupts depends on the kernel; `charging` determines it.
    ///
    /// If a thread was asked to reschedule, the charge at the switch may cover only the
    /// time until the request: the kernel saves a second reading of the clock
    /// (`rq_clock_skip_update` in the same file) and charges the next thread the rest. On
    /// a kernel without preemption that rest is long, and it is not steal time.
    pub(super) fn charge(
        &mut self,
        cpu: u32,
        at: Instant<Monotonic>,
        thread: ThreadId,
        runtime: Nanos,
        charging: &mut Charging,
        observer: &mut impl Observer,
    ) {
        if thread != self.current.thread {
            return;
        }
        let open_interrupt = match self.depth {
            0 => Nanos::ZERO,
            _ => at - self.spans[0].from.max(self.charged_at),
        };
        let interrupted = self.interrupted + open_interrupt;
        let left_out = (at - self.charged_at) - runtime;
        if self.charge_known {
            let maybe_next =
                self.asked_at.map_or(Nanos::ZERO, |asked| at - asked.max(self.charged_at));
            if maybe_next == Nanos::ZERO {
                charging.learn(left_out, interrupted);
            }
            let left_out = left_out - maybe_next;
            let amount = match charging.leaves_out_interrupts() {
                true => left_out - interrupted,
                false => left_out,
            };
            if amount >= STEAL_MIN {
                observer.steal(Steal { cpu, thread, from: self.charged_at, to: at, amount });
            }
        }
        self.charged_at = at;
        self.charge_known = true;
        self.interrupted = Nanos::ZERO;
    }

    /// A high-resolution timer begins to be served.
    pub(super) fn fire(
        &mut self,
        event: &Event,
        at: Instant<Monotonic>,
        timer: u64,
        function: FunctionId,
        now: Nanos,
        armed: Option<Armed>,
    ) -> TimerFire {
        let open = self.spans[..self.depth].iter().rev();
        let entry = open.copied().find(|span| span.activity.is_entry());
        let fire = TimerFire {
            cpu: event.cpu,
            timer,
            function,
            irq_at: entry.map_or(at, |span| span.from),
            irq_chain: entry.and_then(|span| span.chain),
            entered_at: at,
            now,
            armed,
        };
        self.fire = Some(fire);
        fire
    }

    /// The waker, if the CPU wakes a thread now.
    pub(super) fn waker(&self) -> Waker {
        let Some(top) = self.depth.checked_sub(1) else {
            return Waker::Thread(self.current.thread);
        };
        match (self.spans[top].activity, self.fire) {
            (Activity::Timer { .. }, Some(fire)) => Waker::Timer(fire),
            (activity, _) => Waker::Interrupt(activity),
        }
    }

    /// Drops everything but the current thread, after a loss.
    pub(super) fn forget(&mut self, lost: &Lost, observer: &mut impl Observer) {
        if self.seen {
            self.end_quantum(lost.cpu, lost.from, None, observer);
        }
        let from = self.quantum_from;
        let to = lost.to.max(from);
        observer.unknown(lost.cpu, from, to);
        self.quantum_from = to;
        self.quantum_began = false;
        self.quantum_began_by = None;
        self.asked = None;
        self.asked_at = None;
        self.depth = 0;
        self.fire = None;
        self.need_resched = false;
        self.idle_state = None;
        self.charge_known = false;
    }
}
