//! What clients may have, and why a request is refused.

use std::collections::BTreeMap;

use tactus_model::policy::{RealtimePriority, Scheduling};
use tactus_model::time::{Instant, Monotonic, Nanos};
use tactus_sys::{Errno, SysError};

use crate::Budgets;
use crate::meter::Patience;

/// The limits that clients read as properties. The defaults are those of rtkit 0.13, which clients
/// expect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest `RLIMIT_RTTIME` that a client may have (`RTTimeUSecMax`): after this time
    /// without a sleep, the kernel itself ends a real-time client.
    pub realtime_limit_max: Nanos,
    /// The highest real-time priority that is granted (`MaxRealtimePriority`). The keeper runs
    /// above it.
    pub priority_max: u8,
    /// The most favoured nice value that is granted (`MinNiceLevel`).
    pub nice_min: i8,
}

impl Default for Limits {
    fn default() -> Self {
        Self { realtime_limit_max: Nanos::from_millis(200), priority_max: 20, nice_min: -15 }
    }
}

/// All that the administrator decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// What clients may have.
    pub limits: Limits,
    /// The CPU time of a real-time thread.
    pub budgets: Budgets,
    /// How often a thread may use up its budget.
    pub patience: Patience,
    /// The maximum number of threads of a user with a nice value: they have no CPU time that
    /// could be admitted.
    pub nice_threads_max: usize,
    /// The maximum number of requests of a user within [`Self::burst`].
    pub requests_max: u32,
    /// See [`Self::requests_max`].
    pub burst: Nanos,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            budgets: Budgets::default(),
            patience: Patience::default(),
            nice_threads_max: 25,
            requests_max: 100,
            burst: Nanos::from_secs(20),
        }
    }
}

impl Limits {
    /// The policy for a real-time priority.
    ///
    /// # Errors
    /// The kernel has no such priority, or it is above the highest one.
    pub fn realtime(&self, priority: u32) -> Result<Scheduling, Refused> {
        let known = u8::try_from(priority).ok().and_then(RealtimePriority::new);
        let known = known.ok_or(Refused::NoSuchPriority(priority))?;
        if known.get() > self.priority_max {
            return Err(Refused::PriorityTooHigh { priority, highest: self.priority_max });
        }
        Ok(Scheduling::RoundRobin(known))
    }

    /// The policy for a nice value.
    ///
    /// # Errors
    /// The kernel has no such value, or it is below the lowest one.
    pub fn high_priority(&self, nice: i32) -> Result<Scheduling, Refused> {
        let known = i8::try_from(nice).ok().filter(|nice| (-20..=19).contains(nice));
        let known = known.ok_or(Refused::NoSuchNice(nice))?;
        if known < self.nice_min {
            return Err(Refused::NiceTooLow { nice: known, lowest: self.nice_min });
        }
        Ok(Scheduling::Other { nice: known })
    }

    /// The keeper's own priority, above all that it grants.
    pub(crate) fn keeper(&self) -> Scheduling {
        let above = RealtimePriority::new(self.priority_max.saturating_add(1));
        let highest = const { RealtimePriority::new(99).unwrap() };
        Scheduling::Fifo(above.unwrap_or(highest))
    }
}

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The kernel has no such real-time priority.
    #[error("no real-time priority {0}; the kernel has 1 to 99")]
    NoSuchPriority(u32),
    /// The priority is above the highest one.
    #[error("real-time priority {priority} is above MaxRealtimePriority; the highest is {highest}")]
    PriorityTooHigh {
        /// The priority.
        priority: u32,
        /// The highest.
        highest: u8,
    },
    /// The kernel has no such nice value.
    #[error("no nice value {0}; the kernel has -20 to 19")]
    NoSuchNice(i32),
    /// The nice value is below the lowest one.
    #[error("nice value {nice} is below MinNiceLevel; the lowest is {lowest}")]
    NiceTooLow {
        /// The nice value.
        nice: i8,
        /// The lowest.
        lowest: i8,
    },
    /// The process or the thread does not exist, or has ended meanwhile.
    #[error("process {process} has no thread {thread}, or it has ended")]
    NoSuchThread {
        /// The process, as the caller named it.
        process: u64,
        /// The thread, as the caller named it.
        thread: u64,
    },
    /// The thread belongs to another user.
    #[error("thread {thread} belongs to user {owner}, and the caller is user {caller}")]
    OtherUser {
        /// The thread.
        thread: i32,
        /// Its user.
        owner: u32,
        /// The caller's.
        caller: u32,
    },
    /// The thread could run without end if this service ended.
    #[error(
        "RLIMIT_RTTIME of process {process} is {}; set its hard limit to {most} or less, see the property RTTimeUSecMax",
        .limit.map_or_else(|| "unlimited".to_owned(), |limit| limit.to_string())
    )]
    RealtimeLimit {
        /// The process.
        process: i32,
        /// Its hard limit.
        limit: Option<Nanos>,
        /// The longest that is accepted.
        most: Nanos,
    },
    /// The CPU time that remains is too little.
    #[error("{0}")]
    NoTimeLeft(String),
    /// The user has too many threads with a nice value.
    #[error("user {user} has {most} threads with high priority, the maximum")]
    TooManyThreads {
        /// The user.
        user: u32,
        /// The maximum.
        most: usize,
    },
    /// The user sends too many requests.
    #[error("user {user} sent more than {most} requests within {within}")]
    TooManyRequests {
        /// The user.
        user: u32,
        /// The maximum.
        most: u32,
        /// The time for which it applies.
        within: Nanos,
    },
    /// Only root may do this.
    #[error("only root may do this, and the caller is user {0}")]
    NotRoot(u32),
    /// The bus does not say who the caller is.
    #[error("the bus does not name the caller: {0}")]
    UnknownCaller(String),
    /// The kernel refuses.
    #[error("the kernel refuses: {0}")]
    Kernel(String),
    /// The keeper has ended.
    #[error("the service ends")]
    Ending,
}

impl Refused {
    /// Describes a call that failed for a thread.
    pub(crate) fn by_the_kernel(error: SysError, process: u64, thread: u64) -> Self {
        match error.errno {
            Errno::SRCH => Self::NoSuchThread { process, thread },
            _ => Self::Kernel(error.to_string()),
        }
    }
}

/// How many requests each user has sent lately.
#[derive(Debug, Default)]
pub(crate) struct Bursts(BTreeMap<u32, (Instant<Monotonic>, u32)>);

impl Bursts {
    /// Counts a request.
    ///
    /// # Errors
    /// The user has sent too many.
    pub(crate) fn count(
        &mut self,
        user: u32,
        policy: &Policy,
        now: Instant<Monotonic>,
    ) -> Result<(), Refused> {
        // Only users who sent requests lately take memory.
        self.0.retain(|_, (began, _)| now - *began < policy.burst);
        let (_, count) = self.0.entry(user).or_insert((now, 0));
        *count = count.saturating_add(1);
        if *count > policy.requests_max {
            let (most, within) = (policy.requests_max, policy.burst);
            return Err(Refused::TooManyRequests { user, most, within });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priorities_within_the_limits_are_policies() {
        let limits = Limits::default();
        let realtime = |priority| limits.realtime(priority).map(|policy| policy.to_string());
        assert_eq!(realtime(20), Ok("rr:20".to_owned()));
        assert_eq!(
            realtime(21).unwrap_err().to_string(),
            "real-time priority 21 is above MaxRealtimePriority; the highest is 20"
        );
        for outside in [0, 100, u32::MAX] {
            assert_eq!(realtime(outside), Err(Refused::NoSuchPriority(outside)));
        }
        let nice = |nice| limits.high_priority(nice).map(|policy| policy.to_string());
        assert_eq!(nice(-15), Ok("other:-15".to_owned()));
        assert_eq!(nice(-16), Err(Refused::NiceTooLow { nice: -16, lowest: -15 }));
        assert_eq!(nice(20), Err(Refused::NoSuchNice(20)));
        assert_eq!(nice(i32::MIN), Err(Refused::NoSuchNice(i32::MIN)));
        assert_eq!(limits.keeper().to_string(), "fifo:21");
    }

    #[test]
    fn a_user_who_sends_too_many_requests_is_refused_until_the_burst_is_over() {
        let policy = Policy { requests_max: 2, ..Policy::default() };
        let mut bursts = Bursts::default();
        let at = |seconds: u64| Instant::from_nanos(seconds * 1_000_000_000);
        assert_eq!(bursts.count(7, &policy, at(1)), Ok(()));
        assert_eq!(bursts.count(7, &policy, at(2)), Ok(()));
        let refused = bursts.count(7, &policy, at(3)).unwrap_err();
        assert_eq!(refused.to_string(), "user 7 sent more than 2 requests within 20s");
        assert_eq!(bursts.count(8, &policy, at(3)), Ok(()), "another user");
        assert_eq!(bursts.count(7, &policy, at(21)), Ok(()));
        assert_eq!(bursts.0.len(), 2);
    }
}
