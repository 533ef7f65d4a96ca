//! The real-time sections of a thread's code, and what it did in them that it must not.
//!
//! A program that is not linked with Tactus marks no sections, so they are found: a section runs
//! from the return of the system call in which the thread *waits* for its next period to its next
//! wait. The wait is found as the period of jobs is (see [`crate::jobs`]): among the calls in
//! which the thread sleeps, each at one place of the code, it is the one in which it slept longest
//! in all. Time in a call whose returns are regular by [`Period::find`] counts more, and time in a
//! lock counts less: a lock that is contended in each period can sleep longer than the wait.
//!
//! A wait in a condition variable makes further calls of `futex` at its line: it wakes others, and
//! waits for its lock. They belong to the wait: they begin no section and are no violation.
//!
//! A loss makes the section incomplete: what was recorded of it is found all the same. Sections
//! between losses are counted by the mean length of those before: the period of the wait can be
//! unknown, and wrong if the thread was late when it was found.
//!
//! Everything before the first return from the wait and after the last is not in a section: a
//! program may prepare and clean up. Without system calls, a section is any time awake after the
//! first sleep.

use std::collections::HashMap;
use std::path::Path;

use tactus_model::time::{Instant, Monotonic, Nanos};
use tactus_model::violation::{CodePlace, Occurrence, ViolationKind};

use crate::jobs::Period;

/// The number of spacings from which the wait is found.
pub const LEARNED: usize = 16;

/// How many calls at different places may be the wait; later ones are not considered.
const CANDIDATES_MAX: usize = 256;

/// How many spacings are kept of each.
const SPACINGS_MAX: usize = 64;

/// How much more a nanosecond counts in a call whose returns are regular.
const REGULAR_WEIGHT: f64 = 4.0;

/// How much less a nanosecond counts in a lock.
const LOCK_WEIGHT: f64 = 0.1;

/// The calls that only sleep.
const SLEEPS: [&str; 2] = ["clock_nanosleep", "nanosleep"];

/// How many acts are kept while the wait is not known; beyond it, it is found among them.
const PENDING_MAX: usize = 1 << 14;

/// How many acts are kept of one section; beyond it, they count before the section ends.
const SECTION_MAX: usize = 1 << 12;

/// How many page faults are kept of one system call.
const FAULTS_MAX: usize = 64;

/// What a thread did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// It began a system call.
    Enter(Call),
    /// The call ended.
    Exit,
    /// It had a page fault in memory of this description.
    Fault {
        /// The memory, e.g. `[heap]`.
        memory: String,
        /// Where.
        at: CodePlace,
    },
    /// It left its CPU.
    Out {
        /// Whether it could have run on.
        preempted: bool,
    },
    /// It came to a CPU.
    In,
    /// Some of what it did is not known.
    Lost,
}

/// A system call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Call {
    /// Its number.
    pub number: i64,
    /// Its kind as a violation.
    pub kind: ViolationKind,
    /// Its name, or what it does.
    pub what: String,
    /// Where.
    pub at: CodePlace,
}

/// The call in which a thread waits for its next period.
#[derive(Clone, Debug, PartialEq)]
pub struct Wait {
    /// Its name.
    pub call: String,
    /// Where.
    pub at: CodePlace,
    /// The period of its returns; `None` if they are irregular.
    pub period: Option<Period>,
}

/// What is known of the wait before it is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenWait {
    /// The number of the call.
    pub number: i64,
    /// The end of the path of its file, and its line; if `None`, it may be anywhere.
    pub at: Option<(String, u32)>,
}

impl GivenWait {
    fn is(&self, call: &Call) -> bool {
        let file = call.at.file.as_deref().unwrap_or_default();
        let is_at = |(end, line): &(String, u32)| {
            call.at.line == Some(*line) && Path::new(file).ends_with(end)
        };
        self.number == call.number && self.at.as_ref().is_none_or(is_at)
    }
}

/// Finds the sections of one thread.
#[derive(Debug, Default)]
pub struct SectionFinder {
    /// The numbers of the calls that sections may make.
    allowed: Vec<i64>,
    /// What the caller knows of the wait.
    given: Option<GivenWait>,
    has_calls: bool,
    open: Option<OpenCall>,
    candidates: HashMap<Call, Candidate>,
    wait: Option<(i64, Wait)>,
    /// What the thread did, while the wait is not known.
    pending: Vec<Act>,
    section: Section,
    found: Vec<Occurrence>,
    /// The time of the last step.
    last: Option<Instant<Monotonic>>,
}

/// A system call that has not ended.
#[derive(Debug)]
struct OpenCall {
    call: Call,
    began: Instant<Monotonic>,
    slept: Nanos,
    asleep: Option<Instant<Monotonic>>,
    faults: Vec<Occurrence>,
}

/// Something that the thread has done.
#[derive(Debug)]
enum Act {
    Called { number: i64, occurrence: Occurrence, faults: Vec<Occurrence> },
    Faulted(Occurrence),
    Lost,
}

impl OpenCall {
    /// The call as far as it is known; `took` is `None` if its end is not.
    fn into_act(self, took: Option<Nanos>) -> Act {
        let Self { call: Call { number, kind, what, at }, began, faults, .. } = self;
        Act::Called { number, occurrence: Occurrence { kind, what, at, when: began, took }, faults }
    }
}

/// What is known of a call that may be the wait.
#[derive(Debug)]
struct Candidate {
    slept: Nanos,
    returned: Instant<Monotonic>,
    spacings: Vec<Nanos>,
}

impl Candidate {
    fn period(&self) -> Option<Period> {
        Period::find(&self.spacings).ok()
    }

    /// How likely `call` is the wait: the time slept in it, weighted.
    fn weight(&self, call: &Call) -> f64 {
        let regular = if self.period().is_some() { REGULAR_WEIGHT } else { 1.0 };
        let lock = if call.kind == ViolationKind::ContendedLock { LOCK_WEIGHT } else { 1.0 };
        self.slept.as_nanos() as f64 * regular * lock
    }
}

#[derive(Debug, Default)]
struct Section {
    /// When the present section began; `None` outside of sections.
    since: Option<Instant<Monotonic>>,
    /// Whether some of the present section is not known.
    is_cut: bool,
    acts: Vec<Occurrence>,
    count: u64,
    interrupted: u64,
    /// The length of the sections of which all is known.
    known: Nanos,
    lost: u64,
}

impl SectionFinder {
    /// Finds the sections of a thread whose system calls are known. Calls with the numbers
    /// `allowed` are no violations. `wait` is the call that ends sections, if it is known.
    pub fn new(allowed: Vec<i64>, wait: Option<GivenWait>) -> Self {
        Self { allowed, given: wait, has_calls: true, ..Self::default() }
    }

    /// Finds the sections of a thread whose system calls are not known.
    pub fn without_calls() -> Self {
        Self::default()
    }

    /// Takes what the thread did next.
    pub fn take(&mut self, now: Instant<Monotonic>, step: Step) {
        self.last = Some(now);
        match step {
            Step::Enter(call) => {
                let (slept, asleep, faults) = (Nanos::ZERO, None, Vec::new());
                self.open = Some(OpenCall { call, began: now, slept, asleep, faults });
            }
            Step::Exit => {
                if let Some(open) = self.open.take() {
                    self.returned(now, open);
                }
            }
            Step::Fault { memory, at } => self.faulted(now, memory, at),
            Step::Out { preempted: true } => {}
            Step::Out { preempted: false } => match &mut self.open {
                Some(open) => open.asleep = Some(now),
                None if !self.has_calls => self.section.end(now, &mut self.found),
                None => {}
            },
            Step::In => {
                if let Some(open) = &mut self.open {
                    let slept = open.asleep.take().map_or(Nanos::ZERO, |since| now - since);
                    open.slept = open.slept + slept;
                }
            }
            Step::Lost => {
                if let Some(open) = self.open.take() {
                    self.act(open.into_act(None));
                }
                self.act(Act::Lost);
            }
        }
    }

    fn returned(&mut self, now: Instant<Monotonic>, open: OpenCall) {
        if self.wait.is_none() {
            self.learn(now, open.slept, &open.call);
        }
        let took = now - open.began;
        self.act(open.into_act(Some(took)));
        if self.wait.is_none() && self.is_learned() {
            self.decide();
        }
    }

    fn faulted(&mut self, now: Instant<Monotonic>, memory: String, at: CodePlace) {
        let kind = ViolationKind::PageFault;
        let fault = Occurrence { kind, what: memory, at, when: now, took: None };
        match &mut self.open {
            // Whether it is in a section is known when the call is known not to be the wait.
            Some(open) if open.faults.len() < FAULTS_MAX => open.faults.push(fault),
            Some(_) => {}
            None => self.act(Act::Faulted(fault)),
        }
    }

    fn learn(&mut self, now: Instant<Monotonic>, slept: Nanos, call: &Call) {
        let is_full = self.candidates.len() >= CANDIDATES_MAX && !self.is_given(call);
        match self.candidates.get_mut(call) {
            Some(candidate) => {
                if candidate.spacings.len() < SPACINGS_MAX {
                    candidate.spacings.push(now - candidate.returned);
                }
                (candidate.returned, candidate.slept) = (now, candidate.slept + slept);
            }
            // A call that never sleeps is no wait, unless it is late.
            None if (slept > Nanos::ZERO || SLEEPS.contains(&call.what.as_str())) && !is_full => {
                let candidate = Candidate { slept, returned: now, spacings: Vec::new() };
                self.candidates.insert(call.clone(), candidate);
            }
            None => {}
        }
    }

    /// Whether the caller knows that this call is the wait.
    fn is_given(&self, call: &Call) -> bool {
        self.given.as_ref().is_some_and(|given| given.is(call))
    }

    /// The calls that can be the wait: if the caller knows it, no other.
    fn eligible(&self) -> impl Iterator<Item = (&Call, &Candidate)> {
        let is_free = self.given.is_none();
        self.candidates.iter().filter(move |(call, _)| is_free || self.is_given(call))
    }

    /// The call in which the thread slept longest, and where, if it never waited as the caller
    /// said.
    pub fn longest_sleep(&self) -> Option<(&str, &CodePlace)> {
        let others = self.candidates.iter().filter(|_| self.wait.is_none());
        let longest = others.max_by_key(|(_, candidate)| candidate.slept);
        longest.map(|(call, _)| (call.what.as_str(), &call.at))
    }

    /// Whether a candidate is regular, or no more acts can be kept.
    fn is_learned(&self) -> bool {
        let is_regular = |(_, candidate): (&Call, &Candidate)| {
            candidate.spacings.len() >= LEARNED && candidate.period().is_some()
        };
        self.pending.len() >= PENDING_MAX || self.eligible().any(is_regular)
    }

    /// Chooses the wait, and takes again what the thread did so far.
    fn decide(&mut self) {
        let weight = |(call, candidate): &(&Call, &Candidate)| candidate.weight(call);
        let best = self.eligible().max_by(|a, b| weight(a).total_cmp(&weight(b)));
        let Some((Call { number, what, at, .. }, candidate)) = best else {
            return self.pending.clear();
        };
        let (call, at, period) = (what.clone(), at.clone(), candidate.period());
        self.wait = Some((*number, Wait { call, at, period }));
        for act in std::mem::take(&mut self.pending) {
            self.act(act);
        }
    }

    fn act(&mut self, act: Act) {
        let at_wait = |number: i64, at: &CodePlace| {
            let wait = self.wait.as_ref().filter(|(wait, _)| *wait == number);
            wait.map(|(_, wait)| wait).filter(|wait| wait.at == *at)
        };
        match act {
            act if self.has_calls && self.wait.is_none() => {
                if self.pending.len() < PENDING_MAX {
                    self.pending.push(act);
                }
            }
            Act::Called { number, occurrence, faults } => {
                if let Some(wait) = at_wait(number, &occurrence.at) {
                    if wait.call == occurrence.what {
                        let returned = occurrence.when + occurrence.took.unwrap_or(Nanos::ZERO);
                        self.section.end(returned, &mut self.found);
                    }
                    return;
                }
                let allowed = self.allowed.contains(&number);
                let acts = faults.into_iter().chain((!allowed).then_some(occurrence));
                acts.for_each(|act| self.section.add(act, &mut self.found));
            }
            Act::Faulted(fault) => self.section.add(fault, &mut self.found),
            Act::Lost => self.section.is_cut = true,
        }
    }

    /// The violations in sections that have ended since the last call.
    pub fn take_found(&mut self) -> Vec<Occurrence> {
        std::mem::take(&mut self.found)
    }

    /// The call in which the thread waits, if it is known.
    pub fn wait(&self) -> Option<&Wait> {
        self.wait.as_ref().map(|(_, wait)| wait)
    }

    /// The number of sections that have ended, without those lost.
    pub const fn sections(&self) -> u64 {
        self.section.count
    }

    /// The number of them of which a part is not known.
    pub const fn interrupted(&self) -> u64 {
        self.section.interrupted
    }

    /// About the number of sections between losses of which nothing is known, by the mean length of
    /// the sections before.
    pub const fn lost(&self) -> u64 {
        self.section.lost
    }

    /// The thread does nothing more: finds the wait if it is not known.
    pub fn end(&mut self) {
        if self.wait.is_none() && self.has_calls {
            self.decide();
        }
        if let Some(last) = self.last.filter(|_| self.section.is_cut) {
            // The last wait can be among the losses. What follows it is in no section.
            self.section.acts.clear();
            self.section.end(last, &mut self.found);
        }
    }
}

impl Section {
    fn add(&mut self, act: Occurrence, found: &mut Vec<Occurrence>) {
        if self.since.is_none() {
            return;
        }
        self.acts.push(act);
        if self.acts.len() >= SECTION_MAX {
            found.append(&mut self.acts);
        }
    }

    /// Ends the section, if there is one; the next begins.
    fn end(&mut self, now: Instant<Monotonic>, found: &mut Vec<Occurrence>) {
        if let Some(since) = self.since {
            let length = now - since;
            self.count += 1;
            if self.is_cut {
                self.interrupted += 1;
                self.lost += self.lasted(length).saturating_sub(1);
            } else {
                self.known = self.known + length;
            }
            found.append(&mut self.acts);
        }
        (self.since, self.is_cut) = (Some(now), false);
    }

    /// How many sections of the mean length that is known a time lasted; 0 if none is known.
    fn lasted(&self, time: Nanos) -> u64 {
        let known = self.count - self.interrupted;
        let mean = self.known.as_nanos().checked_div(known).unwrap_or(0);
        time.as_nanos().saturating_add(mean / 2).checked_div(mean).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests;
