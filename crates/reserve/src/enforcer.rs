//! A budget that Tactus enforces: a real-time priority until the cost of a period is used up.
//!
//! The kernel's task clock wakes a thread of ours when the reserved thread has used its cost; that
//! thread takes the priority away, and gives it back at the start of the next period. Periods begin
//! at the grant and have a fixed grid (a deferrable server).

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use tactus_model::policy::{RealtimePriority, Scheduling};
use tactus_model::reserve::Capacity;
use tactus_model::time::Nanos;
use tactus_permission::Asked;
use tactus_prepare::ThreadRef;
use tactus_sys::perf::Budget;
use tactus_sys::periodic_timer::PeriodicTimer;
use tactus_sys::wait::{Waker, wait, wait_hung_up, wait_readable};

use crate::priority::{ENFORCER, rate_monotonic};
use crate::refused::NotKept;

/// The shortest period: each costs the enforcer some 10 µs.
const PERIOD_LEAST: Nanos = Nanos::from_micros(500);

/// The longest sleep of an enforcer; its timer wakes it much earlier.
const SLEEP_MOST: Nanos = Nanos::from_secs(3600);

/// Takes the priority of one thread away in every period in which it has used its cost. Dropping it
/// ends that; the thread keeps the class it has then.
#[derive(Debug)]
pub(crate) struct Enforcer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    waker: Waker,
    is_ending: AtomicBool,
    demotions: AtomicU64,
}

impl Enforcer {
    /// Gives `reserved` a priority by its period, and begins to enforce its cost. While the cost is
    /// used up, it has the class `rest`.
    pub(crate) fn start(
        reserved: Arc<ThreadRef>,
        capacity: Capacity,
        rest: Scheduling,
    ) -> Result<Self, NotKept> {
        let waker = Waker::new()?;
        let demotions = AtomicU64::new(0);
        let shared = Arc::new(Shared { waker, is_ending: AtomicBool::new(false), demotions });
        let (report, reports) = channel();
        let ours = Arc::clone(&shared);
        let run = move || enforce(&reserved, capacity, rest, &ours, &report);
        let thread = std::thread::Builder::new()
            .name("tactus-enforcer".to_owned())
            .spawn(run)
            .map_err(|error| NotKept::of_file("starting a thread", &error))?;
        let enforcer = Self { shared, thread: Some(thread) };
        // The thread drops its sender when it ends.
        match reports.recv() {
            Ok(None) => Ok(enforcer),
            Ok(Some(refused)) => Err(refused),
            Err(_) => Err(NotKept::needs("the enforcer of the budget failed", None)),
        }
    }

    /// In how many periods the priority was taken away.
    pub(crate) fn demotions(&self) -> u64 {
        self.shared.demotions.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
impl Enforcer {
    pub(crate) fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

impl Drop for Enforcer {
    fn drop(&mut self) {
        self.shared.is_ending.store(true, Ordering::Release);
        self.shared.waker.wake();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been printed.
            let _ = thread.join();
        }
    }
}

/// The body of the thread. Reports once: nothing if it has begun to enforce, else the reason.
fn enforce(
    reserved: &ThreadRef,
    capacity: Capacity,
    rest: Scheduling,
    shared: &Shared,
    report: &Sender<Option<NotKept>>,
) {
    let begun = begin(reserved, capacity);
    let (mut budget, timer, class) = match begun {
        Ok(begun) => begun,
        Err(refused) => {
            let _ = report.send(Some(refused));
            return;
        }
    };
    let _ = report.send(None);
    let mut is_demoted = false;
    while !shared.is_ending.load(Ordering::Acquire) {
        // A failure of poll for lack of memory is like a wakeup for nothing.
        let _ = wait(&[budget.as_fd(), timer.as_fd()], &shared.waker, SLEEP_MOST);
        // The order matters: at the start of a period, the old period's overflow is void.
        let used_up = budget.is_used_up();
        let next_period = wait_readable(timer.as_fd(), Duration::ZERO).unwrap_or(false);
        if next_period {
            let _ = timer.wait();
            // Fails only for an amount of zero.
            let _ = budget.refill(capacity.cost());
            if is_demoted && reserved.schedule_alone(class).is_ok_and(|refused| refused.is_none()) {
                is_demoted = false;
            }
        } else if used_up && !is_demoted {
            match reserved.schedule_alone(rest) {
                Ok(_) => is_demoted = true,
                // The thread has ended.
                Err(_) => return,
            }
            shared.demotions.fetch_add(1, Ordering::Relaxed);
        } else if wait_hung_up(budget.as_fd(), Duration::ZERO).unwrap_or(true) {
            // The thread has ended: from now on the budget wakes at once, and this loop would not
            // sleep again.
            return;
        }
    }
}

/// Prepares the calling thread, and gives the reserved thread its priority, in this order: nobody
/// has a priority that nobody can take away.
fn begin(
    reserved: &ThreadRef,
    capacity: Capacity,
) -> Result<(Budget, PeriodicTimer, Scheduling), NotKept> {
    if capacity.period() < PERIOD_LEAST {
        let fix = format!("ask for a period of {PERIOD_LEAST}");
        let reason = format!("Tactus enforces no period below {PERIOD_LEAST}");
        return Err(NotKept::needs(reason, Some(&fix)));
    }
    let refused_budget = |error: tactus_sys::SysError| {
        NotKept::of_errno("reading its CPU time", &Asked::KernelEvents, error.errno)
    };
    let budget = Budget::start(reserved.id()?, capacity.cost()).map_err(refused_budget)?;
    let timer = PeriodicTimer::start(capacity.period())?;
    let class = Scheduling::Fifo(rate_monotonic(capacity.period(), own_priority()?));
    match reserved.schedule_alone(class)? {
        None => Ok((budget, timer, class)),
        Some(refused) => Err(NotKept::Class(refused)),
    }
}

/// Gives the calling thread the highest permitted priority up to [`ENFORCER`].
fn own_priority() -> Result<RealtimePriority, NotKept> {
    let refused = ThreadRef::Calling.schedule(Scheduling::Fifo(ENFORCER))?;
    match (ThreadRef::Calling.scheduling()?, refused) {
        (Scheduling::Fifo(own), _) if own.get() > 1 => Ok(own),
        (_, Some(refused)) => Err(NotKept::Class(refused)),
        (_, None) => Err(NotKept::needs("RLIMIT_RTPRIO allows one priority only", None)),
    }
}
