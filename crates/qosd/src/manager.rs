//! The manager: it carries out what the [book](crate::Book) decides.

mod look;

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use tactus_model::policy::Scheduling;
use tactus_model::recording::ThreadId;
use tactus_model::reserve::Capacity;
use tactus_model::time::Nanos;
use tactus_prepare::ThreadRef;
use tactus_qos::{
    BadNeed, Constraint, Fit, Grant, Need, Overrun, Refusal, ReserveId, ReserveStatus, Terms, Usage,
};
use tactus_reserve::{Refused, Reserve, Rung, release_time};
use tactus_sys::poller::{Interest, Poller};
use tactus_sys::{SysError, clock};

use look::LOOK;

use crate::kept::Kept;
use crate::ledger::Ledger;
use crate::metered::Metered;
use crate::policy::Caps;
use crate::subject::{NotASubject, Subject};
use crate::watch::Watch;
use crate::{Bandwidth, Book, Moment, Step};

/// The most reserves of all users.
pub const RESERVES_MOST: usize = 1024;

/// Who requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Client {
    /// What the reserves belong to and end with, e.g. a connection: see
    /// [`Manager::release_client`].
    pub number: u64,
    /// The user.
    pub user: u32,
    /// What the user may have.
    pub caps: Caps,
}

/// Why a request has no effect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotReserved {
    /// The need is impossible.
    #[error(transparent)]
    Need(#[from] BadNeed),
    /// The thread is not accepted.
    #[error(transparent)]
    Thread(#[from] NotASubject),
    /// The thread is in the deadline class already.
    #[error("thread {0} has a reserve already; change or release that one")]
    Reserved(i32),
    /// The reserve does not exist, or belongs to another user.
    #[error("there is no reserve {} of this user", .0.0)]
    Unknown(ReserveId),
    /// The need does not fit, or the kernel refuses it.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

/// What happened to a reserve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The reserve.
    pub reserve: ReserveId,
    /// The [number](Client::number) of its client.
    pub client: u64,
    /// Its user.
    pub user: u32,
    /// What happened.
    pub what: What,
}

/// What can happen to a reserve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// It has its first grant, or another.
    Changed,
    /// It never had a grant: the kernel refuses it.
    Refused(Refusal),
    /// The thread used its grant before the end of a period.
    Overrun(Usage),
    /// The use of CPU time, for [followers](Manager::follow_use).
    Used(Usage),
    /// The kernel had left the thread throttled, and has its policy set again.
    Renewed,
    /// It has ended; the reason is a clause.
    Ended(String),
}

/// Carries out reserves, by the best mechanism that the machine permits.
///
/// It starts no thread and never waits: call [`settle`](Self::settle) when
/// [`next_due`](Self::next_due) is over, or when its descriptor can be read.
#[derive(Debug)]
pub struct Manager {
    book: Book,
    held: BTreeMap<ReserveId, Held>,
    /// The threads that have a reserve.
    threads: BTreeSet<i32>,
    number: u64,
    /// The threads that left the deadline class, until the kernel has forgotten them.
    leaving: BTreeMap<i32, Moment>,
    /// How often a thread was stuck.
    stuck: u64,
    /// The descriptors of all threads, which report their end.
    endings: Poller,
    ledger: Option<Ledger>,
    notices: Vec<Notice>,
}

/// A reserve of a client.
#[derive(Debug)]
struct Held {
    client: u64,
    user: u32,
    subject: Subject,
    need: Need,
    terms: Terms,
    /// `None` while it waits for its first grant.
    kept: Option<Kept>,
    /// Whether somebody else keeps the grant.
    is_elsewhere: bool,
    metered: Option<Metered>,
    /// How often followers want a report.
    every: Option<Nanos>,
    /// Whether the kernel has refused the first grant, because its class was full.
    was_full: bool,
    watch: Watch,
    /// The next look at the thread.
    look: Moment,
    /// How often it was stuck.
    stuck: u32,
}

impl Held {
    /// Whether this manager keeps a grant of the thread.
    const fn is_here(&self) -> bool {
        matches!(self.kept, Some(Kept::Here(_)))
    }

    /// Checks that the thread is still its user's: it can execute a program with the rights of
    /// another, whose CPU time is not the user's to limit.
    fn check_owner(&self) -> Result<(), NotASubject> {
        self.subject.check_owner(self.user)
    }

    /// Measures the use if somebody needs it.
    fn measure(&mut self, now: Moment) {
        let before = self.metered.take();
        self.metered = Metered::of(before, &self.terms, self.every, self.subject.id(), now);
    }
}

impl Manager {
    /// A manager of `capacity`. With a `ledger`, the next manager repairs what this one leaves if
    /// it is killed.
    ///
    /// # Errors
    /// Too many open files.
    pub fn new(capacity: Bandwidth, ledger: Option<Ledger>) -> Result<Self, SysError> {
        // A thread that a killed manager left can still be in debt.
        let leaving = ledger.iter().flat_map(|ledger| ledger.leaving(clock::now())).collect();
        Ok(Self {
            book: Book::new(capacity, clock::tick()),
            held: BTreeMap::new(),
            threads: BTreeSet::new(),
            number: 0,
            leaving,
            stuck: 0,
            endings: Poller::new()?,
            ledger,
            notices: Vec::new(),
        })
    }

    /// Admits a need of a thread. The grant can be there at once or come later: see
    /// [`grant`](Self::grant) and [`take_notices`](Self::take_notices).
    ///
    /// # Errors
    /// The need is impossible, does not fit or is refused by the kernel, or the thread is not the
    /// client's. Nothing has changed then.
    pub fn reserve(
        &mut self,
        client: &Client,
        subject: Subject,
        need: Need,
        now: Moment,
    ) -> Result<ReserveId, NotReserved> {
        self.admit(client, subject, need, false, now)
    }

    /// Like [`reserve`](Self::reserve) for a caller that itself keeps the thread to what it has:
    /// the manager counts it and gives it its share, and leaves the thread's policy alone, except
    /// for the repair after a kill. [`grant`](Self::grant) has what the thread has now.
    ///
    /// # Errors
    /// Those of [`reserve`](Self::reserve).
    pub fn allot(
        &mut self,
        client: &Client,
        subject: Subject,
        need: Need,
        now: Moment,
    ) -> Result<ReserveId, NotReserved> {
        self.admit(client, subject, need, true, now)
    }

    fn admit(
        &mut self,
        client: &Client,
        subject: Subject,
        need: Need,
        is_elsewhere: bool,
        now: Moment,
    ) -> Result<ReserveId, NotReserved> {
        let terms = terms(&need, client.caps)?;
        subject.check_owner(client.user)?;
        let thread = subject.id().0;
        let before = thread_of(&subject)?.scheduling().map_err(NotASubject::from)?;
        if self.threads.contains(&thread) || matches!(before, Scheduling::Deadline { .. }) {
            return Err(NotReserved::Reserved(thread));
        }
        self.check_count(client)?;
        self.number += 1;
        let reserve = ReserveId(self.number);
        let watched = self.endings.add(subject.descriptor(), reserve.0, Interest::READ);
        watched.map_err(NotASubject::System)?;
        self.book.set_cap(client.user, self.book.capacity().percent(client.caps.share.into()));
        if let Err(refusal) = self.book.admit(reserve, client.user, terms) {
            // The client has a duplicate of the descriptor, so ours stays awaited when it is closed.
            let _ = self.endings.remove(subject.descriptor());
            return Err(refusal.into());
        }
        let held = Held {
            client: client.number,
            user: client.user,
            metered: Metered::of(None, &terms, None, subject.id(), now),
            every: None,
            subject,
            need,
            terms,
            kept: None,
            is_elsewhere,
            was_full: false,
            watch: Watch::default(),
            look: now + LOOK,
            stuck: 0,
        };
        // Its keeper gives it a policy at once.
        let noted = if is_elsewhere { note(&held, self.ledger.as_mut()) } else { Ok(()) };
        self.held.insert(reserve, held);
        self.threads.insert(thread);
        if let Some(&until) = self.leaving.get(&thread).filter(|until| **until > now) {
            self.book.hold(reserve, until);
        }
        if noted.is_err() {
            self.end(reserve, thread_ended(), now);
            return Err(NotASubject::Missing.into());
        }
        self.settle(now);
        // A refusal of the kernel is the answer to this request.
        let refused = self.notices.extract_if(.., |notice| {
            notice.reserve == reserve && matches!(notice.what, What::Refused(_))
        });
        match refused.last().map(|notice| notice.what) {
            Some(What::Refused(refusal)) => Err(refusal.into()),
            _ => Ok(reserve),
        }
    }

    fn check_count(&self, client: &Client) -> Result<(), Refusal> {
        let refuse = |reason: String| {
            Err(Refusal { bound_by: Constraint::Reserves, reason, largest_cost: None, fix: None })
        };
        let most = usize::from(client.caps.reserves);
        if self.book.count(client.user) >= most {
            return refuse(format!("user {} may have {most} reserves, and has them", client.user));
        }
        if self.held.len() >= RESERVES_MOST {
            return refuse(format!("there are {RESERVES_MOST} reserves, which is the limit"));
        }
        Ok(())
    }

    /// Changes the need of a reserve. The grant can change at once or later.
    ///
    /// # Errors
    /// The need is impossible or does not fit, or the reserve is not the client's: it keeps what it
    /// has. The thread is no longer the user's: the reserve ends.
    pub fn change(
        &mut self,
        client: &Client,
        reserve: ReserveId,
        need: Need,
        now: Moment,
    ) -> Result<(), NotReserved> {
        let terms = terms(&need, client.caps)?;
        if let Err(lost) = self.of_client(client, reserve)?.check_owner() {
            self.end(reserve, ended_with(&lost), now);
            self.settle(now);
            return Err(lost.into());
        }
        self.book.change(reserve, terms)?;
        if let Some(held) = self.held.get_mut(&reserve) {
            (held.need, held.terms) = (need, terms);
            held.measure(now);
        }
        self.settle(now);
        Ok(())
    }

    /// Ends a reserve: the thread returns to the policy that it had.
    ///
    /// # Errors
    /// The reserve is not the client's.
    pub fn release(
        &mut self,
        client: &Client,
        reserve: ReserveId,
        now: Moment,
    ) -> Result<(), NotReserved> {
        self.of_client(client, reserve)?;
        self.end(reserve, What::Ended("it was released".to_owned()), now);
        self.settle(now);
        Ok(())
    }

    /// Ends all reserves of a client.
    pub fn release_client(&mut self, client: u64, now: Moment) {
        let of_client = self.held.iter().filter(|(_, held)| held.client == client);
        let reserves: Vec<ReserveId> = of_client.map(|(reserve, _)| *reserve).collect();
        for reserve in &reserves {
            self.end(*reserve, What::Ended("its client is gone".to_owned()), now);
        }
        if !reserves.is_empty() {
            self.settle(now);
        }
    }

    fn of_client(&mut self, client: &Client, reserve: ReserveId) -> Result<&mut Held, NotReserved> {
        let may = |held: &&mut Held| client.user == 0 || client.user == held.user;
        self.held.get_mut(&reserve).filter(may).ok_or(NotReserved::Unknown(reserve))
    }

    fn end(&mut self, reserve: ReserveId, what: What, now: Moment) {
        let Some(held) = self.held.remove(&reserve) else { return };
        let thread = held.subject.id();
        self.threads.remove(&thread.0);
        // The thread returns to its policy before it is struck from the ledger.
        let until = now + held.kept.map_or(Nanos::ZERO, Kept::release);
        self.book.remove(reserve, until);
        self.remember(thread, until, now);
        if let Some(ledger) = &mut self.ledger {
            ledger.strike(&held.subject, until, now);
        }
        // The descriptor is closed with the subject, but the reserve had a duplicate.
        let _ = self.endings.remove(held.subject.descriptor());
        self.notices.push(Notice { reserve, client: held.client, user: held.user, what });
    }

    /// Grants a thread nothing `until` then, when the kernel has forgotten that it was in the
    /// deadline class: see [`Reserve::release`].
    fn remember(&mut self, thread: ThreadId, until: Moment, now: Moment) {
        self.leaving.retain(|_, until| *until > now);
        if until > now {
            self.leaving.insert(thread.0, until);
        }
    }

    /// Carries out everything that is possible now: ends the reserves of threads that have ended,
    /// reads meters that are due, and changes grants.
    pub fn settle(&mut self, now: Moment) {
        self.bury(now);
        self.read_meters(now);
        self.look(now);
        // A refusal can make another step possible. Every round carries out or refuses a step.
        for _ in 0..=RESERVES_MOST {
            let steps = self.book.steps(now);
            if steps.is_empty() {
                break;
            }
            for step in steps {
                self.carry_out(&step, now);
            }
        }
    }

    fn bury(&mut self, now: Moment) {
        while let Ok(ended) = self.endings.wait(Some(Duration::ZERO)) {
            // A descriptor that no reserve owns would be ready for ever.
            if !ended.iter().any(|ready| self.held.contains_key(&ReserveId(ready.key))) {
                break;
            }
            for ready in ended {
                self.end(ReserveId(ready.key), thread_ended(), now);
            }
        }
    }

    fn carry_out(&mut self, step: &Step, now: Moment) {
        let Some(held) = self.held.get_mut(&step.reserve) else { return };
        if let Err(lost) = held.check_owner() {
            return self.end(step.reserve, ended_with(&lost), now);
        }
        let done = match &mut held.kept {
            Some(kept) => kept.change(step.capacity),
            None => first_grant(held, self.ledger.as_mut(), step.capacity),
        };
        // It can have executed a program in between.
        if let (Ok(()), Err(lost)) = (&done, held.check_owner()) {
            return self.end(step.reserve, ended_with(&lost), now);
        }
        match done {
            Ok(()) => {
                self.book.record(step, now);
                self.notify(step.reserve, What::Changed);
            }
            Err(Refused::Thread(_)) => self.end(step.reserve, thread_ended(), now),
            Err(Refused::Rungs { rungs, largest_cost }) => {
                let reason = rungs.first().map(|rung| rung.reason.clone()).unwrap_or_default();
                let fix = rungs.into_iter().find_map(|rung| rung.fix);
                let bound_by = Constraint::Kernel;
                self.refused(step, Refusal { bound_by, reason, largest_cost, fix }, now);
            }
        }
    }

    fn refused(&mut self, step: &Step, refusal: Refusal, now: Moment) {
        let Some(held) = self.held.get(&step.reserve) else { return };
        let least = held.terms.capacity(held.terms.cost_min);
        if step.is_first && refusal.largest_cost.is_some() && !held.was_full {
            // The kernel may keep the bandwidth of a thread that has ended for a period.
            let until = now + release_time(step.capacity, Nanos::ZERO);
            self.book.hold(step.reserve, until);
            self.held.entry(step.reserve).and_modify(|held| held.was_full = true);
            return;
        }
        let is_growth =
            held.kept.as_ref().is_some_and(|kept| kept.capacity().cost() < step.capacity.cost());
        if step.is_first && step.capacity != least {
            // Others than this manager hold bandwidth, perhaps only a part of it.
            self.book.want(step.reserve, held.terms.cost_min);
        } else if is_growth {
            self.book.refuse(step, now);
        } else if step.is_first {
            self.end(step.reserve, What::Refused(refusal), now);
        } else {
            self.end(step.reserve, What::Ended(refusal.reason), now);
        }
    }

    fn notify(&mut self, reserve: ReserveId, what: What) {
        let Some(held) = self.held.get(&reserve) else { return };
        self.notices.push(Notice { reserve, client: held.client, user: held.user, what });
    }

    fn read_meters(&mut self, now: Moment) {
        let due = |(_, held): &(&ReserveId, &Held)| {
            held.metered.as_ref().is_some_and(|metered| metered.next() <= now)
        };
        let due: Vec<ReserveId> =
            self.held.iter().filter(due).map(|(reserve, _)| *reserve).collect();
        let metered = self.held.values().filter(|held| held.metered.is_some()).count();
        for reserve in due {
            let Some(held) = self.held.get_mut(&reserve) else { continue };
            let (Some(meter), Some(kept)) = (&mut held.metered, &held.kept) else { continue };
            let observed = meter.observe(reserve, kept.capacity(), metered, now);
            let overrun = held.terms.overrun;
            if let Some(want) = observed.want {
                self.book.want(reserve, want);
            }
            if let Some(usage) = observed.used {
                self.notify(reserve, What::Used(usage));
            }
            match (observed.overrun, overrun) {
                (Some(usage), Overrun::Notify) => {
                    self.notify(reserve, What::Overrun(usage));
                }
                (Some(_), Overrun::Release) => {
                    let reason = "it used all of its CPU time before the end of a period";
                    self.end(reserve, What::Ended(reason.to_owned()), now);
                }
                _ => {}
            }
        }
    }

    /// How often the kernel had left a thread with a grant throttled, and its policy was set again.
    pub const fn stuck(&self) -> u64 {
        self.stuck
    }

    /// Reports the use of a reserve every so often from now on, or no longer.
    pub fn follow_use(&mut self, reserve: ReserveId, every: Option<Nanos>, now: Moment) {
        let Some(held) = self.held.get_mut(&reserve) else { return };
        if held.every != every {
            held.every = every;
            held.measure(now);
        }
    }

    /// When [`settle`](Self::settle) has something to do.
    pub fn next_due(&self) -> Option<Moment> {
        let meters = self.held.values().filter_map(|held| Some(held.metered.as_ref()?.next()));
        let looks = self.held.values().filter(|held| held.is_here()).map(|held| held.look);
        meters.chain(looks).chain(self.book.next_due()).min()
    }

    /// What has happened since the last call.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.notices)
    }

    /// What a reserve has; `None` while it waits for time that others return.
    pub fn grant(&self, reserve: ReserveId) -> Option<Grant> {
        let (capacity, bound_by) = self.book.granted(reserve)?;
        let rung = self.held.get(&reserve)?.kept.as_ref()?.rung();
        Some(Grant {
            reserve,
            cost: capacity.cost(),
            period: capacity.period(),
            deadline: capacity.deadline(),
            rung: rung.to_string(),
            promise: rung.promise().to_owned(),
            bound_by,
            largest_cost: self.book.largest_cost(reserve),
        })
    }

    /// The largest minimum of a client's new reserve that would be admitted.
    ///
    /// # Errors
    /// The period and the deadline are impossible.
    pub fn fit(&mut self, client: &Client, period: Nanos, deadline: Nanos) -> Result<Fit, BadNeed> {
        // Any cost will do for the check.
        let need = Need { deadline: Some(deadline), ..Need::new(period, Nanos::from_nanos(1)) };
        need.check()?;
        self.book.set_cap(client.user, self.book.capacity().percent(client.caps.share.into()));
        Ok(self.book.fit(client.user, period, deadline))
    }

    /// The thread of a reserve.
    pub fn subject(&self, reserve: ReserveId) -> Option<&Subject> {
        self.held.get(&reserve).map(|held| &held.subject)
    }

    /// The user of a reserve.
    pub fn user(&self, reserve: ReserveId) -> Option<u32> {
        self.held.get(&reserve).map(|held| held.user)
    }

    /// The reserves of a user, or of all.
    pub fn reserves_of(&self, user: Option<u32>) -> Vec<ReserveId> {
        let counts = |held: &Held| user.is_none_or(|user| user == held.user);
        self.held.iter().filter(|(_, held)| counts(held)).map(|(reserve, _)| *reserve).collect()
    }

    /// The book, for totals.
    pub const fn book(&self) -> &Book {
        &self.book
    }

    /// The reserves of all users.
    pub fn reserves(&self) -> Vec<ReserveStatus> {
        let status = |(reserve, held): (&ReserveId, &Held)| ReserveStatus {
            reserve: *reserve,
            thread: held.subject.id().0,
            name: held.subject.name(),
            user: held.user,
            need: held.need,
            importance: held.terms.importance,
            grant: self.grant(*reserve),
            measured: held.metered.as_ref().and_then(Metered::need),
            stuck: held.stuck,
        };
        self.held.iter().map(status).collect()
    }
}

/// It can be read when a thread has ended.
impl AsFd for Manager {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.endings.as_fd()
    }
}

/// The terms of a need, with the importance that the user may have.
fn terms(need: &Need, caps: Caps) -> Result<Terms, BadNeed> {
    // The book refuses a cost of nothing, with the least cost.
    let need = Need { cost_min: need.cost_min.max(Nanos::from_nanos(1)), ..*need };
    let terms = need.check()?;
    Ok(Terms { importance: terms.importance.min(caps.importance), ..terms })
}

fn thread_of(subject: &Subject) -> Result<ThreadRef, NotASubject> {
    Ok(ThreadRef::PidFd(subject.descriptor().try_clone().map_err(NotASubject::System)?))
}

/// Grants a reserve for the first time. The ledger has it before the thread does.
fn first_grant(
    held: &mut Held,
    ledger: Option<&mut Ledger>,
    capacity: Capacity,
) -> Result<(), Refused> {
    if held.is_elsewhere {
        held.kept = Some(Kept::Elsewhere(capacity));
        return Ok(());
    }
    let thread = ThreadRef::PidFd(held.subject.descriptor().try_clone()?);
    note(held, ledger)?;
    held.kept =
        Some(Kept::Here(Box::new(Reserve::grant_at_once(thread, capacity, &[Rung::Deadline])?)));
    Ok(())
}

/// Notes the policy of a thread, for the repair after a kill.
fn note(held: &Held, ledger: Option<&mut Ledger>) -> Result<(), Refused> {
    let Some(ledger) = ledger else { return Ok(()) };
    let thread = ThreadRef::PidFd(held.subject.descriptor().try_clone()?);
    let noted = ledger.note(&held.subject, thread.scheduling()?);
    noted.map_err(|error| Refused::Rungs {
        rungs: vec![tactus_reserve::RefusedRung {
            rung: Rung::Deadline,
            reason: format!("the manager cannot note the thread in its state file: {error}"),
            fix: None,
        }],
        largest_cost: None,
    })
}

/// The end of a reserve whose thread is lost to its user.
fn ended_with(lost: &NotASubject) -> What {
    match lost {
        NotASubject::Missing => thread_ended(),
        lost => What::Ended(lost.to_string()),
    }
}

fn thread_ended() -> What {
    What::Ended("its thread has ended".to_owned())
}

#[cfg(test)]
mod tests;
