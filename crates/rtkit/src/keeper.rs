//! The thread that grants and watches.
//!
//! All checks and grants happen in one real-time thread above every client, so that no client can
//! delay a check, and none runs between a check and its grant on the same CPU.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

use tactus_model::policy::{RealtimePriority, Scheduling};
use tactus_model::recording::ThreadId;
use tactus_model::time::{Instant, Monotonic, Nanos};
use tactus_prepare::ThreadRef;
use tactus_sys::perf::Budget;
use tactus_sys::pidfd::PidFd;
use tactus_sys::wait::{Waker, wait};
use tactus_sys::{SysError, clock, identity};

use crate::meter::{Decision, Level, Meter};
use crate::policy::{Bursts, Policy, Refused};
use crate::subject::Subject;
use crate::{Admission, GrantId};

/// How many requests wait at most; further ones are refused.
const QUEUE: usize = 64;

/// How long a request may take. Each takes less than a millisecond.
const PATIENCE: Duration = Duration::from_secs(5);

/// How often ended threads are looked for while there are grants.
const SWEEP: Nanos = Nanos::from_secs(1);

/// How long a process whose thread lost its priority is refused.
const PENALTY: Nanos = Nanos::from_secs(10);

/// The priority of [`Level::Probation`].
const LOWEST: RealtimePriority = RealtimePriority::new(1).unwrap();

/// Who asks.
#[derive(Debug)]
pub struct Caller {
    /// The user, as the bus knows it.
    pub user: u32,
    /// Its groups, if the bus names them.
    pub groups: Vec<u32>,
    /// The process.
    pub process: PidFd,
}

/// What is asked. A thread is one of `process`, or of the caller's own; 0 is its first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are those of the interface")]
pub enum Request {
    /// A real-time priority.
    Realtime { process: Option<u64>, thread: u64, priority: u32 },
    /// A nice value.
    HighPriority { process: Option<u64>, thread: u64, nice: i32 },
    /// All granted threads become ordinary; for root.
    ResetKnown,
    /// All real-time threads of users other than root become ordinary; for root.
    ResetAll,
    /// The service ends; for root.
    Exit,
}

/// A thread with a real-time priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GrantStatus {
    /// The user.
    pub user: u32,
    /// The process.
    pub process: ThreadId,
    /// The thread.
    pub thread: ThreadId,
    /// The policy that it asked for.
    pub asked: Scheduling,
    /// The CPU time that it has now in each period.
    pub budget: Nanos,
    /// The period.
    pub period: Nanos,
    /// In how many periods it used up its budget.
    pub throttled: u64,
    /// Whether it has the lowest priority because of that.
    pub on_probation: bool,
}

/// A message to the keeper.
enum Message {
    Ask(Caller, Request, SyncSender<Result<(), Refused>>),
    Status(SyncSender<Vec<GrantStatus>>),
    Stop,
}

/// A running keeper. When it is dropped, all granted threads become ordinary.
#[derive(Debug)]
pub struct Keeper {
    messages: SyncSender<Message>,
    waker: Arc<Waker>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Keeper {
    /// Starts the keeper.
    ///
    /// # Errors
    /// This process may not have the keeper's priority (`CAP_SYS_NICE`).
    pub fn start(policy: Policy, admission: Box<dyn Admission>) -> Result<Self, Refused> {
        let (messages, received) = sync_channel(QUEUE);
        let kernel = |error: SysError| Refused::Kernel(error.to_string());
        let waker = Arc::new(Waker::new().map_err(kernel)?);
        let (ready, started) = sync_channel(1);
        let work = Work {
            policy,
            admission,
            grants: Vec::new(),
            nice: Vec::new(),
            bursts: Bursts::default(),
            penalties: BTreeMap::new(),
            swept: clock::now(),
        };
        let own_waker = Arc::clone(&waker);
        let run = move || {
            let above = ThreadRef::Calling.schedule_exactly(work.policy.limits.keeper());
            let refused = match above {
                Ok(None) => None,
                Ok(Some(refused)) => Some(Refused::Kernel(refused.explain_here().reason)),
                Err(error) => Some(kernel(error)),
            };
            let serves = refused.is_none();
            let _ = ready.send(refused);
            if serves {
                work.run(&received, &own_waker);
            }
        };
        let thread = std::thread::Builder::new()
            .name("tactus-rtkit".to_owned())
            .spawn(run)
            .map_err(|error| Refused::Kernel(error.to_string()))?;
        match started.recv() {
            Ok(None) => Ok(Self { messages, waker, thread: Some(thread) }),
            Ok(Some(refused)) => Err(refused),
            Err(_) => Err(Refused::Ending),
        }
    }

    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// The request is refused.
    pub fn ask(&self, caller: Caller, request: Request) -> Result<(), Refused> {
        let (answer, answers) = sync_channel(1);
        self.send(Message::Ask(caller, request, answer))?;
        answers.recv_timeout(PATIENCE).unwrap_or(Err(Refused::Ending))
    }

    /// The threads that have a real-time priority now.
    pub fn status(&self) -> Vec<GrantStatus> {
        let (answer, answers) = sync_channel(1);
        let sent = self.send(Message::Status(answer));
        sent.ok().and_then(|()| answers.recv_timeout(PATIENCE).ok()).unwrap_or_default()
    }

    /// Whether the keeper has ended: on a request, or by [`stop`](Self::stop).
    pub fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(std::thread::JoinHandle::is_finished)
    }

    /// Ends the keeper. All granted threads become ordinary.
    pub fn stop(&self) {
        let _ = self.send(Message::Stop);
    }

    fn send(&self, message: Message) -> Result<(), Refused> {
        self.messages.try_send(message).map_err(|error| match error {
            TrySendError::Full(_) => Refused::Kernel("too many requests wait".to_owned()),
            TrySendError::Disconnected(_) => Refused::Ending,
        })?;
        self.waker.wake();
        Ok(())
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        while !self.has_ended() && self.send(Message::Stop) != Err(Refused::Ending) {
            std::thread::sleep(Duration::from_millis(1));
        }
        if let Some(thread) = self.thread.take() {
            // It does not panic; if it did, its grants were dropped.
            let _ = thread.join();
        }
    }
}

/// A thread with a real-time priority, until this value is dropped.
struct Grant {
    subject: Subject,
    id: GrantId,
    asked: Scheduling,
    /// What it had before, and has without budget; never a real-time class.
    was: Scheduling,
    /// What the kernel has, unless the client has changed it.
    given: Scheduling,
    cost: Nanos,
    budget: Budget,
    meter: Meter,
}

impl Grant {
    /// What the thread has while it has budget.
    fn at(&self, level: Level) -> Scheduling {
        match level {
            Level::Full => self.asked,
            Level::Probation => Scheduling::RoundRobin(LOWEST),
        }
    }

    fn give(&mut self, scheduling: Scheduling) -> Result<(), Refused> {
        set(&self.subject, scheduling)?;
        self.given = scheduling;
        Ok(())
    }

    /// Whether the thread lives, and is its user's. A client may lower its own priority, and has its
    /// budget for the lower one then.
    fn is_kept(&mut self) -> bool {
        if self.subject.verify().is_err() {
            return false;
        }
        let Ok(now) = self.subject.thread.scheduling() else { return false };
        if now != self.given && self.is_ours(now) {
            if self.given == self.asked {
                self.asked = now;
            }
            self.given = now;
        }
        now == self.given
    }

    /// Whether a thread can have this by what it was given: the same, or a lower priority. The
    /// kernel lets everybody lower a priority, and only those with rights of their own raise it.
    fn is_ours(&self, now: Scheduling) -> bool {
        priority(now).is_some_and(|now| Some(now) <= priority(self.given))
    }

    /// Takes the priority away, whoever is the user by now: a program with privileges of its own
    /// (set-user-ID) may have been executed. What the thread gave itself stays.
    fn take_back(&self) {
        let is_ours = |now| self.is_ours(now);
        if self.subject.lives() && self.subject.thread.scheduling().is_ok_and(is_ours) {
            let _ = self.subject.thread.put_back(self.was);
        }
    }

    fn status(&self, period: Nanos) -> GrantStatus {
        let (process, thread) = self.subject.ids();
        GrantStatus {
            user: self.subject.user(),
            process,
            thread,
            asked: self.asked,
            budget: self.cost,
            period,
            throttled: self.meter.throttled(),
            on_probation: self.meter.level() == Level::Probation,
        }
    }
}

/// The priority of a real-time policy.
const fn priority(scheduling: Scheduling) -> Option<u8> {
    match scheduling {
        Scheduling::Fifo(priority) | Scheduling::RoundRobin(priority) => Some(priority.get()),
        _ => None,
    }
}

/// Gives a thread a policy, which its children do not inherit.
fn set(subject: &Subject, scheduling: Scheduling) -> Result<(), Refused> {
    let (process, thread) = subject.ids();
    let refused = subject.thread.schedule_alone(scheduling);
    match refused
        .map_err(|error| Refused::by_the_kernel(error, process.0 as u64, thread.0 as u64))?
    {
        None => Ok(()),
        Some(refused) => Err(Refused::Kernel(refused.explain_here().reason)),
    }
}

/// The state of the keeper's thread.
struct Work {
    policy: Policy,
    admission: Box<dyn Admission>,
    grants: Vec<Grant>,
    /// Threads with a nice value.
    nice: Vec<(Subject, Scheduling)>,
    bursts: Bursts,
    /// The processes whose thread lost its priority, and until when they are refused.
    penalties: BTreeMap<(ThreadId, u64), Instant<Monotonic>>,
    swept: Instant<Monotonic>,
}

impl Work {
    fn run(mut self, messages: &Receiver<Message>, waker: &Waker) {
        loop {
            let budgets: Vec<BorrowedFd<'_>> =
                self.grants.iter().map(|grant| grant.budget.as_fd()).collect();
            // It fails only without memory for a few descriptors.
            let woken = wait(&budgets, waker, self.timeout()).unwrap_or_default();
            let acted = self.watch();
            let mut asked = false;
            // As many as the queue holds: then the budgets are looked at again.
            for message in messages.try_iter().take(QUEUE) {
                asked = true;
                match message {
                    Message::Ask(caller, Request::Exit, answer) => {
                        let answered = only_root(&caller);
                        let ends = answered.is_ok();
                        let _ = answer.send(answered);
                        if ends {
                            return self.reset_known();
                        }
                    }
                    Message::Ask(caller, request, answer) => {
                        let _ = answer.send(self.answer(&caller, request));
                    }
                    Message::Status(answer) => {
                        let period = self.policy.budgets.period;
                        let status = |grant: &Grant| grant.status(period);
                        let _ = answer.send(self.grants.iter().map(status).collect());
                    }
                    Message::Stop => return self.reset_known(),
                }
            }
            // The descriptor of an ended thread wakes us for no other reason.
            if asked || !(acted || woken.waker) || clock::now() - self.swept >= SWEEP {
                self.sweep();
            }
        }
    }

    /// The time until something is due.
    fn timeout(&self) -> Nanos {
        let now = clock::now();
        let due = self.grants.iter().filter_map(|grant| grant.meter.due()).min();
        let sweep = if self.grants.is_empty() { Nanos::from_secs(60) } else { SWEEP };
        due.map_or(sweep, |due| if due > now { (due - now).min(sweep) } else { Nanos::ZERO })
    }

    /// Throttles who has used up the budget, and gives back the priority of who has a new one.
    /// Returns whether there was anybody.
    fn watch(&mut self) -> bool {
        let mut acted = false;
        let mut lost = Vec::new();
        for (index, grant) in self.grants.iter_mut().enumerate() {
            let now = clock::now();
            if grant.budget.is_used_up() {
                acted = true;
                let kept = match grant.meter.used_up(now) {
                    Decision::Keep => Ok(()),
                    Decision::Restore => grant.give(grant.at(Level::Full)),
                    Decision::Throttle(_) => grant.give(grant.was),
                    Decision::Demote => {
                        self.penalties.insert(grant.subject.process(), now + PENALTY);
                        Err(Refused::Ending)
                    }
                };
                if kept.is_err() {
                    lost.push(index);
                    continue;
                }
            }
            if let Some(level) = grant.meter.refill(now) {
                acted = true;
                let kept = grant.is_kept()
                    && grant.budget.refill(grant.cost).is_ok()
                    && grant.give(grant.at(level)).is_ok();
                if !kept {
                    lost.push(index);
                }
            }
        }
        self.drop_grants(&lost);
        acted
    }

    /// Drops who has ended or has changed its own policy.
    fn sweep(&mut self) {
        let now = clock::now();
        self.swept = now;
        self.penalties.retain(|_, until| *until > now);
        self.nice.retain(|(subject, given)| {
            subject.verify().is_ok() && subject.thread.scheduling() == Ok(*given)
        });
        let gone = |(index, grant): (usize, &mut Grant)| (!grant.is_kept()).then_some(index);
        let lost: Vec<usize> = self.grants.iter_mut().enumerate().filter_map(gone).collect();
        self.drop_grants(&lost);
        // Others have come and gone meanwhile.
        self.divide();
    }

    /// Drops the grants at these places, in rising order.
    fn drop_grants(&mut self, places: &[usize]) {
        for &place in places.iter().rev() {
            let grant = self.grants.swap_remove(place);
            self.admission.give_back(grant.id);
            grant.take_back();
        }
        if !places.is_empty() {
            self.divide();
        }
    }

    /// Lets every thread have what the admission gives it now.
    fn divide(&mut self) {
        for grant in &mut self.grants {
            let cost = self.admission.budget(grant.id);
            if cost != grant.cost
                && (grant.meter.due().is_some() || grant.budget.refill(cost).is_ok())
            {
                grant.cost = cost;
            }
        }
    }

    fn answer(&mut self, caller: &Caller, request: Request) -> Result<(), Refused> {
        if let Request::Realtime { .. } | Request::HighPriority { .. } = request {
            self.bursts.count(caller.user, &self.policy, clock::now())?;
        }
        match request {
            Request::Realtime { process, thread, priority } => {
                let asked = self.policy.limits.realtime(priority)?;
                self.realtime(caller, Subject::find(caller, process, thread)?, asked)
            }
            Request::HighPriority { process, thread, nice } => {
                let asked = self.policy.limits.high_priority(nice)?;
                self.high_priority(Subject::find(caller, process, thread)?, asked)
            }
            Request::ResetKnown | Request::Exit => only_root(caller).map(|()| self.reset_known()),
            Request::ResetAll => {
                only_root(caller)?;
                self.reset_known();
                reset_all();
                Ok(())
            }
        }
    }

    fn realtime(
        &mut self,
        caller: &Caller,
        subject: Subject,
        asked: Scheduling,
    ) -> Result<(), Refused> {
        self.sweep();
        let limit = self.policy.limits.realtime_limit_max;
        subject.verify_limit(limit)?;
        if let Some(known) = self.grants.iter_mut().find(|grant| grant.subject.is(&subject)) {
            // A throttled thread gets it with its next budget.
            known.asked = asked;
            return match (known.meter.due(), known.meter.level()) {
                (None, Level::Full) => known.give(asked),
                _ => Ok(()),
            };
        }
        if self.penalties.contains_key(&subject.process()) {
            return Err(Refused::NoTimeLeft(format!(
                "a thread of process {} used up its budget again and again; ask again in {PENALTY}",
                subject.ids().0.0
            )));
        }
        let Policy { budgets, patience, .. } = self.policy;
        let id = self.admission.admit(caller, subject.ids().1, budgets)?;
        let cost = self.admission.budget(id);
        match grant(&subject, asked, cost, limit) {
            Ok((budget, was)) => {
                let meter = Meter::new(budgets.period, patience, clock::now());
                let given = asked;
                self.grants.push(Grant { subject, id, asked, was, given, cost, budget, meter });
                self.divide();
                Ok(())
            }
            Err(refused) => {
                self.admission.give_back(id);
                Err(refused)
            }
        }
    }

    fn high_priority(&mut self, subject: Subject, asked: Scheduling) -> Result<(), Refused> {
        self.sweep();
        self.nice.retain(|(known, _)| !known.is(&subject));
        let (user, most) = (subject.user(), self.policy.nice_threads_max);
        if self.nice.iter().filter(|(known, _)| known.user() == user).count() >= most {
            return Err(Refused::TooManyThreads { user, most });
        }
        let same = |grant: &Grant| grant.subject.is(&subject);
        if let Some(place) = self.grants.iter().position(same) {
            self.drop_grants(&[place]);
        }
        subject.verify()?;
        set(&subject, asked)?;
        if let Err(refused) = subject.verify() {
            let _ = subject.thread.put_back(Scheduling::ORDINARY);
            return Err(refused);
        }
        self.nice.push((subject, asked));
        Ok(())
    }

    fn reset_known(&mut self) {
        let all: Vec<usize> = (0..self.grants.len()).collect();
        self.drop_grants(&all);
        for (subject, given) in self.nice.drain(..) {
            if subject.verify().is_ok() && subject.thread.scheduling() == Ok(given) {
                let _ = subject.thread.put_back(Scheduling::ORDINARY);
            }
        }
    }
}

/// Checks, grants and checks again. Returns the budget, which counts from before the grant, and
/// the policy that the thread had.
fn grant(
    subject: &Subject,
    asked: Scheduling,
    cost: Nanos,
    limit: Nanos,
) -> Result<(Budget, Scheduling), Refused> {
    let verify = || subject.verify().and_then(|()| subject.verify_limit(limit));
    let (process, thread) = subject.ids();
    let refused = |error| Refused::by_the_kernel(error, process.0 as u64, thread.0 as u64);
    verify()?;
    let was = match subject.thread.scheduling() {
        Ok(was @ (Scheduling::Other { .. } | Scheduling::Batch { .. } | Scheduling::Idle)) => was,
        _ => Scheduling::ORDINARY,
    };
    let budget = Budget::start(thread, cost).map_err(refused)?;
    set(subject, asked)?;
    match verify() {
        Ok(()) => Ok((budget, was)),
        Err(refused) => {
            let _ = subject.thread.put_back(was);
            Err(refused)
        }
    }
}

fn only_root(caller: &Caller) -> Result<(), Refused> {
    if caller.user == 0 { Ok(()) } else { Err(Refused::NotRoot(caller.user)) }
}

/// Makes all real-time threads of users other than root ordinary.
fn reset_all() {
    for (process, thread) in identity::all_threads() {
        let is_root = identity::of_thread(process, thread).is_ok_and(|found| found.user == 0);
        let reference = ThreadRef::Id(thread);
        if let (false, Ok(Scheduling::Fifo(_) | Scheduling::RoundRobin(_))) =
            (is_root, reference.scheduling())
        {
            let _ = reference.put_back(Scheduling::ORDINARY);
        }
    }
}
