//! The machine as reconstructed from its events: which thread runs where, and in what
//! context.
//!
//! A [`Machine`] walks through the merged events of all CPUs once and keeps a compact
//! state for each CPU and each thread. It passes its findings to an [`Observer`]:
//! slices of CPU time, absences of threads, silences, overdue timers, steal time. It
//! allocates memory only when it sees a CPU, a thread or a timer for the first time.
//!
//! Everything that is concluded from a recording (segments, blame, quanta and billing)
//! observes this one replay.

mod charging;
mod cpu;
mod errand;
mod observer;
mod quantum;
mod span;
mod thread;
mod timer;

use tactus_model::recording::{
    About, Dictionary, Event, EventKind, InterruptVector, Lost, NameId, Observers, Priority,
    ProcessId, QuotaGroup, ThreadId, Wakeup,
};
use tactus_model::time::{Instant, Monotonic, Nanos};

pub use cpu::Cpu;
pub use errand::{Blocked, Call, Errand};
pub use observer::{
    Absence, Fault, Migration, Observer, Overdue, PriorityChange, Reranked, Silence, Steal,
};
pub use quantum::{Leaving, Quantum};
pub use span::{Activity, Slice};
pub use thread::{Waker, Waking};
pub use timer::{Armed, TimerFire};

use crate::explanation::ThrottledGroup;
use crate::number_map::NumberMap;
use charging::Charging;
use cpu::Known;
use cpu::UNKNOWN_PRIORITY;
use span::Span;
use thread::{MissingSwitch, ThreadState};

/// An event-free stretch of a CPU at least this long is reported as a [`Silence`].
pub const SILENCE_MIN: Nanos = Nanos::from_micros(100);

/// A timer that expired at least this late is reported as [`Overdue`].
pub const OVERDUE_MIN: Nanos = Nanos::from_micros(100);

/// A residual of charged CPU time at least this long is reported as [`Steal`].
///
/// Shorter residuals are the uncertainty of the boundaries: the kernel stamps the event
/// some microseconds after it reads the clock for the charge.
pub const STEAL_MIN: Nanos = Nanos::from_micros(100);

/// The maximum number of armed timers to remember. Beyond it all are dropped; only a
/// recording that lost most cancellations gets there.
const ARMED_MAX: usize = 1 << 20;

/// The maximum number of threads to remember (about 100 MB). Beyond it, all threads are
/// dropped except those that are watched, as after a loss of events: their next switch shows
/// them again. Only a recording of more threads at the same time gets there.
const THREADS_MAX: usize = 100_000;

/// The number of ended threads after which the names of earlier ones are dropped. A chain of wakers
/// or a late job is put into words some milliseconds after its threads ended.
const ENDED_MAX: usize = 1 << 12;

/// How long a timer may be overdue before it counts as cancelled.
const UNSERVED_MAX: Nanos = Nanos::from_secs(1);

/// The CPUs and threads of a recording at one moment of its replay.
#[derive(Clone, Debug)]
pub struct Machine {
    cpus: Vec<Cpu>,
    threads: NumberMap<i32, ThreadState>,
    /// What is known of threads that ended: at least the last [`ENDED_MAX`], in two generations.
    ended: [NumberMap<i32, Known>; 2],
    timers: NumberMap<u64, Armed>,
    /// One bit for each vector whose exit event was recorded too.
    closed_vectors: u32,
    /// The tick period if timers expire only at ticks.
    timer_tick: Option<Nanos>,
    charging: Charging,
    observers: Observers,
    quotas: Option<Vec<QuotaGroup>>,
    started: Instant<Monotonic>,
    /// The end of the last loss of events.
    lost_until: Instant<Monotonic>,
    now: Instant<Monotonic>,
}

impl Machine {
    /// Makes the machine that `about` describes; nothing is known about its state yet.
    pub fn new(about: &About) -> Self {
        let mut closed_vectors = 0;
        for &vector in InterruptVector::ALL {
            if about.has(&format!("irq_vectors/{}_exit", vector.word())) {
                closed_vectors |= vector_bit(vector);
            }
        }
        let mut machine = Self {
            cpus: Vec::new(),
            threads: NumberMap::default(),
            ended: Default::default(),
            timers: NumberMap::default(),
            closed_vectors,
            timer_tick: about.timer_tick,
            charging: Charging::default(),
            observers: about.observers.clone(),
            quotas: about.quotas.clone(),
            started: about.started,
            lost_until: about.started,
            now: about.started,
        };
        for cpu in about.cpus.iter() {
            let _ = grown(&mut machine.cpus, cpu, about.started);
        }
        machine
    }

    /// Watches `thread`: the observer gets its events with the number `index`.
    pub fn watch(&mut self, thread: ThreadId, index: u16) {
        state_of(&mut self.threads, thread).watched = Some(index);
        for cpu in &mut self.cpus {
            if cpu.thread() == Some(thread) {
                cpu.watched = Some(index);
            }
        }
    }

    /// Who ran only because of the recording.
    pub(crate) fn observers(&self) -> &Observers {
        &self.observers
    }

    /// The control groups with a quota that `thread` belongs to; `None` if that was not recorded.
    pub(crate) fn quotas_of(
        &self,
        thread: ThreadId,
        names: &Dictionary,
    ) -> Option<Vec<&QuotaGroup>> {
        let groups = self.quotas.as_ref()?.iter();
        Some(groups.filter(|group| group.includes(thread, names)).collect())
    }

    /// How long the kernel throttled the control groups of these threads, by its own account.
    pub(crate) fn throttled(
        &self,
        threads: &[ThreadId],
        names: &Dictionary,
    ) -> Vec<ThrottledGroup> {
        let groups = self.quotas.iter().flatten().filter(|group| {
            group.throttled > Nanos::ZERO
                && threads.iter().any(|thread| group.includes(*thread, names))
        });
        let account = |group: &QuotaGroup| ThrottledGroup {
            path: group.path.clone(),
            throttled: group.throttled,
        };
        groups.map(account).collect()
    }

    /// Whether a process has nothing to do with the recording: the observers are known, and
    /// neither they nor the first thread, if it is watched, belong to it.
    pub(crate) fn is_foreign(&self, process: ProcessId, names: &Dictionary) -> bool {
        let Observers { processes, threads } = &self.observers;
        let is_watched = |state: &ThreadState| state.watched.is_some();
        !self.observers.is_empty()
            && !processes.contains(&process)
            && !threads.iter().any(|thread| names.process_of(*thread) == Some(process))
            && !self.threads.get(&process.0).is_some_and(is_watched)
    }

    /// The time of the last event.
    pub fn now(&self) -> Instant<Monotonic> {
        self.now
    }

    /// The tick period if timers expire only at ticks.
    pub fn timer_tick(&self) -> Option<Nanos> {
        self.timer_tick
    }

    /// All CPUs, by number.
    pub fn cpus(&self) -> &[Cpu] {
        &self.cpus
    }

    /// The absence that a thread is in, if it was seen to leave a CPU.
    pub fn absence_of(&self, thread: ThreadId) -> Option<&Absence> {
        self.threads.get(&thread.0).and_then(|state| state.absence.as_ref())
    }

    /// The timers that a thread has armed and that were neither served nor cancelled, in no order.
    pub(crate) fn timers_of(&self, thread: ThreadId) -> impl Iterator<Item = &Armed> {
        self.timers.values().filter(move |armed| armed.by == thread)
    }

    /// The absences that threads are in, in no order.
    pub(crate) fn absences(&self) -> impl Iterator<Item = &Absence> {
        self.threads.values().filter_map(|state| state.absence.as_ref())
    }

    /// The time since which the thread that has waited longest for a CPU should have
    /// run, including a thread whose timer is due and not served yet; the time of the
    /// last event if no thread waits.
    ///
    /// Only timers of the monotonic clock are known to be due.
    pub(crate) fn waiting_since(&self) -> Instant<Monotonic> {
        let ready = self.absences().filter_map(Absence::ready_at);
        // A timer that is overdue for longer was cancelled, and the cancel event is
        // missing.
        let due = self.timers.values().map(|armed| Instant::from_nanos(armed.expires.as_nanos()));
        let overdue = due.filter(|due| *due <= self.now && self.now - *due < UNSERVED_MAX);
        ready.chain(overdue).min().unwrap_or(self.now)
    }

    /// The priority that a thread has without the one that it inherits; `None` if it inherits none,
    /// as far as is known.
    pub fn own_priority(&self, thread: ThreadId) -> Option<Priority> {
        self.threads.get(&thread.0).and_then(|state| state.known.own)
    }

    /// The name and priority of a thread according to its last events; of a thread that ended
    /// lately too.
    pub fn known(&self, thread: ThreadId) -> (NameId, Priority) {
        let present = self.threads.get(&thread.0).map(|state| &state.known);
        let mut ended = self.ended.iter().filter_map(|threads| threads.get(&thread.0));
        let known = present.filter(|known| known.is_named()).or_else(|| ended.next());
        known
            .or(present)
            .map_or((NameId::UNKNOWN, UNKNOWN_PRIORITY), |known| (known.name, known.priority))
    }

    /// The thread has left its last CPU.
    fn end(&mut self, left: Known) {
        self.threads.remove(&left.thread.0);
        if self.ended[0].len() >= ENDED_MAX {
            self.ended.swap(0, 1);
            self.ended[0].clear();
        }
        self.ended[0].insert(left.thread.0, left);
    }

    /// Drops the state that a loss of events makes doubtful.
    pub fn lose(&mut self, lost: &Lost, observer: &mut impl Observer) {
        if let Some(cpu) = grown(&mut self.cpus, lost.cpu, self.started) {
            cpu.forget(lost, observer);
        }
        self.lost_until = self.lost_until.max(lost.to);
        // The lost events may include arming or cancellation.
        self.timers.clear();
    }

    /// Ends the replay at `end`: reports, for every CPU, the open quantum or that the
    /// current thread is not known. Slices and absences stay open.
    pub fn close(&mut self, end: Instant<Monotonic>, observer: &mut impl Observer) {
        for (number, cpu) in self.cpus.iter_mut().enumerate() {
            cpu.close(number as u32, end, observer);
        }
    }

    /// Takes the next event. Events must come in the order of time; an event that is
    /// earlier than the last one counts as simultaneous with it.
    pub fn step(&mut self, event: &Event, observer: &mut impl Observer) {
        let at = event.at.max(self.now);
        self.now = at;
        let Some(cpu) = grown(&mut self.cpus, event.cpu, self.started) else {
            return;
        };
        cpu.observe(event, at, observer);
        if cpu.thread() != Some(event.thread) {
            let state = state_of(&mut self.threads, event.thread);
            let missing = MissingSwitch { since: cpu.unswitched_until(), at, cpu: event.cpu };
            let absence = state.come_without_switch(missing, self.lost_until);
            match &absence {
                Some(absence) => observer.absence(absence),
                None => {
                    if let (true, Some(watched)) = (state.appear(), state.watched) {
                        observer.unaccounted(watched);
                    }
                }
            }
            let came_at_min = absence.and_then(|absence| absence.back_at_min);
            cpu.correct(event, at, state.known, came_at_min, state.watched, observer);
        }
        match event.kind {
            EventKind::Switch { .. } => self.switch(event, at, observer),
            EventKind::Waking(wakeup) => self.waking(event, at, wakeup, observer),
            EventKind::Wakeup(wakeup) => self.woken(at, wakeup),
            EventKind::WakeupNew(wakeup) => self.woken_new(event, at, wakeup),
            EventKind::Migrate { thread, to_cpu, .. } => {
                observer.migration(Migration { at, thread, to_cpu });
            }
            EventKind::Runtime { thread, runtime } => {
                cpu.charge(event.cpu, at, thread, runtime, &mut self.charging, observer);
            }
            EventKind::HrtimerStart { timer, function, expires, soft_expires, mode } => {
                let armed = Armed {
                    at,
                    by: event.thread,
                    watched: cpu.watched.filter(|_| !cpu.in_interrupt()),
                    function,
                    is_relative: mode & timer::RELATIVE != 0,
                    expires,
                    soft_expires,
                };
                if self.timers.len() >= ARMED_MAX {
                    self.timers.clear();
                }
                self.timers.insert(timer, armed);
            }
            EventKind::HrtimerCancel { timer } => {
                if let Some(armed) = self.timers.remove(&timer) {
                    observer.cancelled(&armed);
                }
            }
            EventKind::HrtimerExpireEntry { timer, function, now } => {
                let armed = self.timers.remove(&timer);
                let fire = cpu.fire(event, at, timer, function, now, armed);
                if let Some(overdue) = fire.overdue().filter(|overdue| overdue.late >= OVERDUE_MIN)
                {
                    observer.overdue(overdue);
                }
                cpu.enter(event, at, Span::of(event, at, Activity::Timer { function }), observer);
                observer.fired(&fire);
            }
            EventKind::HrtimerExpireExit { .. } => {
                cpu.leave(
                    event,
                    at,
                    |activity| matches!(activity, Activity::Timer { .. }),
                    observer,
                );
            }
            EventKind::TimerExpireEntry { function, .. } => {
                cpu.enter(
                    event,
                    at,
                    Span::of(event, at, Activity::JiffyTimer { function }),
                    observer,
                );
            }
            EventKind::TimerExpireExit { .. } => {
                cpu.leave(
                    event,
                    at,
                    |activity| matches!(activity, Activity::JiffyTimer { .. }),
                    observer,
                );
            }
            EventKind::VectorEntry(vector) => {
                // Without an exit event a vector would never seem to end.
                if self.closed_vectors & vector_bit(vector) != 0 {
                    cpu.enter(event, at, Span::of(event, at, Activity::Vector(vector)), observer);
                }
            }
            EventKind::VectorExit(vector) => {
                cpu.leave(event, at, |activity| activity == Activity::Vector(vector), observer);
            }
            EventKind::IrqEntry { irq, name } => {
                cpu.enter(event, at, Span::of(event, at, Activity::Irq { irq, name }), observer);
            }
            EventKind::IrqExit { irq, .. } => cpu.leave(
                event,
                at,
                |activity| matches!(activity, Activity::Irq { irq: open, .. } if open == irq),
                observer,
            ),
            EventKind::SoftirqEntry(softirq) => {
                cpu.enter(event, at, Span::of(event, at, Activity::Softirq(softirq)), observer);
            }
            EventKind::SoftirqExit(softirq) => {
                cpu.leave(event, at, |activity| activity == Activity::Softirq(softirq), observer)
            }
            EventKind::IdleEntry { state } => cpu.idle(event, at, Some(state), observer),
            EventKind::IdleExit => cpu.idle(event, at, None, observer),
            EventKind::CallEnter(_)
            | EventKind::SystemCallEnter { .. }
            | EventKind::ContentionBegin { .. }
            | EventKind::ContentionEnd { .. }
            | EventKind::ReclaimBegin { .. }
            | EventKind::ReclaimEnd { .. }
            | EventKind::CompactionBegin { .. }
            | EventKind::CompactionEnd { .. } => self.follow_errand(event, at, observer),
            EventKind::CallExit { .. } | EventKind::SystemCallExit { .. } => {
                self.follow_errand(event, at, observer);
                let cpu = &self.cpus[event.cpu as usize];
                if let Some(watched) = cpu.watched {
                    observer.call_exit(watched, at);
                }
            }
            EventKind::PageFaultUser(_) | EventKind::PageFaultKernel(_) => {
                self.follow_errand(event, at, observer);
                let cpu = &self.cpus[event.cpu as usize];
                if let Some(watched) = cpu.watched
                    && !cpu.in_interrupt()
                {
                    observer.fault(Fault { watched, at });
                }
            }
            EventKind::BlockedReason { thread, place, io } => {
                let state = self.threads.get_mut(&thread.0);
                if let Some(absence) = state.and_then(|state| state.absence.as_mut()) {
                    absence.errand.blocked = Some(Blocked { place, io });
                }
            }
            EventKind::InheritPriority { thread, old, new } => {
                self.inherit(at, thread, old, new, observer);
            }
            // A thread that exits still runs for a moment; its last sched_switch event
            // removes it.
            EventKind::Exit { .. }
            | EventKind::SignalDeliver { .. }
            | EventKind::Fork { .. }
            | EventKind::SoftirqRaise(_)
            | EventKind::Mark { .. }
            | EventKind::BlockStart { .. }
            | EventKind::BlockIssue { .. }
            | EventKind::BlockComplete { .. }
            | EventKind::WorkStart { .. }
            | EventKind::WorkEnd { .. } => {}
        }
    }

    /// A thread inherits a priority, or returns to its own.
    fn inherit(
        &mut self,
        at: Instant<Monotonic>,
        thread: ThreadId,
        old: Priority,
        new: Priority,
        observer: &mut impl Observer,
    ) {
        let state = state_of(&mut self.threads, thread);
        let own = state.known.own.unwrap_or(old);
        state.known.priority = new;
        state.known.own = (new < own).then_some(own);
        let known = state.known;
        let mut cpus = (0..).zip(&mut self.cpus);
        if let Some((number, cpu)) = cpus.find(|(_, cpu)| cpu.thread() == Some(thread)) {
            cpu.inherit(number, at, known, observer);
        }
        observer.inheritance(PriorityChange { at, thread, priority: new });
    }

    /// Follows what the current thread does in the kernel.
    fn follow_errand(
        &mut self,
        event: &Event,
        at: Instant<Monotonic>,
        observer: &mut impl Observer,
    ) {
        if !event.thread.is_idle() {
            let errand = &mut state_of(&mut self.threads, event.thread).errand;
            errand.follow(&event.kind);
            self.cpus[event.cpu as usize].reclaim(event, at, errand.reclaims, observer);
        }
    }

    fn switch(&mut self, event: &Event, at: Instant<Monotonic>, observer: &mut impl Observer) {
        let EventKind::Switch {
            prev,
            prev_name,
            prev_priority,
            prev_state,
            next,
            next_name,
            next_priority,
        } = event.kind
        else {
            return;
        };
        let cpu = &mut self.cpus[event.cpu as usize];
        let left = self.threads.get(&prev.0).and_then(|state| state.known.own);
        let left = Known { thread: prev, name: prev_name, priority: prev_priority, own: left };
        let own = self.threads.get(&next.0).and_then(|state| state.known.own);
        let known = Known { thread: next, name: next_name, priority: next_priority, own };
        cpu.know(event.cpu, left, observer);
        cpu.close_slice(event, at, observer);
        if !prev.is_idle() {
            if prev_state.is_dead() {
                self.end(left);
            } else {
                let state = state_of(&mut self.threads, prev);
                state.leave(at, event.cpu, prev_state, left, event.chain);
            }
        }
        let mut watched = None;
        let mut next_woken = None;
        let mut left_with = None;
        let mut reclaims = false;
        if !next.is_idle() {
            let state = state_of(&mut self.threads, next);
            watched = state.watched;
            reclaims = state.errand.reclaims;
            left_with = state.known.is_named().then_some(state.known.priority);
            if let Some(absence) = state.come(at, event.cpu, known) {
                next_woken = absence.waking.map(|waking| waking.at);
                observer.absence(&absence);
            }
        }
        let cpu = &mut self.cpus[event.cpu as usize];
        let asked = cpu.asked;
        let leaving = Leaving { state: prev_state, next, next_priority, next_woken, asked };
        cpu.end_quantum(event.cpu, at, Some(leaving), observer);
        cpu.come(known, left_with, watched, at);
        cpu.reclaim(event, at, reclaims, observer);
    }

    fn waking(
        &mut self,
        event: &Event,
        at: Instant<Monotonic>,
        wakeup: Wakeup,
        observer: &mut impl Observer,
    ) {
        let waking = Waking { at, cpu: event.cpu, by: self.cpus[event.cpu as usize].waker() };
        let state = state_of(&mut self.threads, wakeup.thread);
        let early = state.wake(waking);
        if let (true, Some(watched)) = (early, state.watched) {
            observer.woken_awake(watched, &waking);
        }
    }

    fn woken(&mut self, at: Instant<Monotonic>, wakeup: Wakeup) {
        if let Some(state) = self.threads.get_mut(&wakeup.thread.0)
            && let Some(absence) = &mut state.absence
        {
            absence.queued = Some((at, wakeup.target_cpu));
        }
    }

    fn woken_new(&mut self, event: &Event, at: Instant<Monotonic>, wakeup: Wakeup) {
        let by = self.cpus[event.cpu as usize].waker();
        let state = state_of(&mut self.threads, wakeup.thread);
        state.begin(at, Waking { at, cpu: event.cpu, by }, wakeup);
    }
}

/// The CPU `cpu`, created when it is first seen; `None` beyond the number of CPUs that
/// Linux supports.
fn grown(cpus: &mut Vec<Cpu>, cpu: u32, started: Instant<Monotonic>) -> Option<&mut Cpu> {
    let index = cpu as usize;
    if index >= cpus.len() {
        if cpu >= tactus_model::cpus::CpuList::LIMIT {
            return None;
        }
        cpus.resize_with(index + 1, || Cpu::from(started));
    }
    cpus.get_mut(index)
}

/// The state of a thread, created when the thread is first seen.
fn state_of(threads: &mut NumberMap<i32, ThreadState>, thread: ThreadId) -> &mut ThreadState {
    if threads.len() >= THREADS_MAX && !threads.contains_key(&thread.0) {
        threads.retain(|_, state| state.watched.is_some());
    }
    threads.entry(thread.0).or_insert_with(|| ThreadState::unknown(thread))
}

fn vector_bit(vector: InterruptVector) -> u32 {
    1 << vector as u32
}
