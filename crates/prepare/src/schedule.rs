//! Requesting a policy and CPUs, and falling back to what the kernel permits.

use tactus_model::cpus::CpuList;
use tactus_model::facts::MachineFacts;
use tactus_model::policy::Scheduling;
use tactus_permission::best_permitted;
use tactus_sys::{Errno, SysError};

use crate::not_granted::NotGranted;

/// The maximum number of fallbacks.
///
/// Each fallback is lower than the previous one, and at most four lead to what the thread has
/// already; the limit guards against wrong facts.
const FALLBACKS_MAX: u32 = 8;

/// The system calls for one thread; simulated in tests.
pub(crate) trait SchedulingCalls {
    fn scheduling(&self) -> Result<Scheduling, SysError>;
    fn set_scheduling(&self, scheduling: Scheduling) -> Result<(), SysError>;
    fn cpus(&self) -> Result<CpuList, SysError>;
    fn set_cpus(&self, cpus: &CpuList) -> Result<(), SysError>;
}

/// Gives `thread` a policy, or else the best policy that `facts` permit; they are read only
/// after a refusal.
pub(crate) fn schedule(
    thread: &impl SchedulingCalls,
    asked: Scheduling,
    facts: impl FnOnce() -> MachineFacts,
) -> Result<Option<NotGranted>, SysError> {
    request(thread, asked, |present| fall_back(thread, asked, &seen_by(present, facts())))
}

/// Gives `thread` exactly this policy; after a refusal, the thread keeps its policy.
pub(crate) fn schedule_exactly(
    thread: &impl SchedulingCalls,
    asked: Scheduling,
) -> Result<Option<NotGranted>, SysError> {
    request(thread, asked, |_| ())
}

/// Requests a policy. After a refusal, `fall_back` gets the present policy, if it is known.
fn request(
    thread: &impl SchedulingCalls,
    asked: Scheduling,
    fall_back: impl FnOnce(Option<Scheduling>),
) -> Result<Option<NotGranted>, SysError> {
    // Older kernels refuse an unprivileged thread even its own nice value, if that is below
    // its limit. So the present policy is not requested again.
    let present = thread.scheduling().ok();
    if present == Some(asked) {
        return Ok(None);
    }
    let Err(refusal) = thread.set_scheduling(asked) else { return Ok(None) };
    if refusal.errno != Errno::SRCH {
        fall_back(present);
    }
    not_granted(thread, asked, refusal).map(Some)
}

/// Describes the refusal of a policy; the error of a thread that does not exist is none.
pub(crate) fn not_granted(
    thread: &impl SchedulingCalls,
    asked: Scheduling,
    refusal: SysError,
) -> Result<NotGranted, SysError> {
    if refusal.errno == Errno::SRCH {
        return Err(refusal);
    }
    Ok(NotGranted::Scheduling {
        asked,
        granted: thread.scheduling()?,
        confined_to: thread.cpus()?,
        errno: refusal.errno.raw_os_error(),
    })
}

/// Tries lower policies in turn until the kernel grants one. If it grants none, the thread
/// keeps its policy.
fn fall_back(thread: &impl SchedulingCalls, refused: Scheduling, facts: &MachineFacts) {
    let mut attempt = refused;
    for _ in 0..FALLBACKS_MAX {
        let lower = best_permitted(attempt, facts);
        // The lowest policy is its own best permitted policy.
        if lower == attempt || thread.set_scheduling(lower).is_ok() {
            return;
        }
        attempt = lower;
    }
}

/// The facts with the nice value of this thread: threads of a process may differ.
fn seen_by(present: Option<Scheduling>, mut facts: MachineFacts) -> MachineFacts {
    if let Some(Scheduling::Other { nice } | Scheduling::Batch { nice }) = present {
        facts.permission.nice = Some(nice);
    }
    facts
}

/// Confines `thread` to `cpus`.
pub(crate) fn pin(
    thread: &impl SchedulingCalls,
    cpus: &CpuList,
) -> Result<Option<NotGranted>, SysError> {
    let Err(refusal) = thread.set_cpus(cpus) else { return Ok(None) };
    if refusal.errno == Errno::SRCH {
        return Err(refusal);
    }
    Ok(Some(NotGranted::Cpus {
        asked: cpus.clone(),
        granted: thread.cpus()?,
        errno: refusal.errno.raw_os_error(),
    }))
}

/// Confines `thread` to `cpus` and gives it a policy, in the order that the policy needs.
///
/// The kernel refuses `SCHED_DEADLINE` to a pinned thread, and refuses to pin a thread with
/// `SCHED_DEADLINE`: admission control covers all CPUs of the root domain together. So the
/// deadline is requested first, and a thread that gets it keeps its CPUs.
pub(crate) fn place(
    thread: &impl SchedulingCalls,
    cpus: &CpuList,
    asked: Scheduling,
    facts: impl FnOnce() -> MachineFacts,
) -> Result<Vec<NotGranted>, SysError> {
    let mut missing = Vec::new();
    if let Scheduling::Deadline { .. } = asked {
        missing.extend(schedule(thread, asked, facts)?);
        match thread.scheduling()? {
            Scheduling::Deadline { .. } if thread.cpus()? == *cpus => {}
            Scheduling::Deadline { .. } => missing.push(NotGranted::PinnedDeadline),
            _ => missing.extend(pin(thread, cpus)?),
        }
    } else {
        missing.extend(pin(thread, cpus)?);
        missing.extend(schedule(thread, asked, facts)?);
    }
    Ok(missing)
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use tactus_model::time::Instant;

    use super::*;

    /// A kernel that grants what `permits` allows, and records the requests.
    struct Simulated {
        scheduling: Cell<Scheduling>,
        cpus: RefCell<CpuList>,
        permits: fn(Scheduling) -> bool,
        asked: RefCell<Vec<String>>,
    }

    impl Simulated {
        fn new(permits: fn(Scheduling) -> bool) -> Self {
            Self {
                scheduling: Cell::new(Scheduling::ORDINARY),
                cpus: RefCell::new(cpus("0-1")),
                permits,
                asked: RefCell::default(),
            }
        }

        fn asked(&self) -> Vec<String> {
            self.asked.borrow().clone()
        }
    }

    impl SchedulingCalls for Simulated {
        fn scheduling(&self) -> Result<Scheduling, SysError> {
            Ok(self.scheduling.get())
        }

        fn set_scheduling(&self, scheduling: Scheduling) -> Result<(), SysError> {
            self.asked.borrow_mut().push(scheduling.to_string());
            let pinned_deadline = matches!(scheduling, Scheduling::Deadline { .. })
                && *self.cpus.borrow() != cpus("0-1");
            if pinned_deadline || !(self.permits)(scheduling) {
                return Err(SysError::new("sched_setattr", Errno::PERM));
            }
            self.scheduling.set(scheduling);
            Ok(())
        }

        fn cpus(&self) -> Result<CpuList, SysError> {
            Ok(self.cpus.borrow().clone())
        }

        fn set_cpus(&self, wanted: &CpuList) -> Result<(), SysError> {
            self.asked.borrow_mut().push(format!("CPUs {wanted}"));
            if !wanted.without(&cpus("0-1")).is_empty() {
                return Err(SysError::new("sched_setaffinity", Errno::INVAL));
            }
            self.cpus.replace(wanted.clone());
            Ok(())
        }
    }

    fn cpus(text: &str) -> CpuList {
        text.parse().unwrap()
    }

    /// Facts of a process that may use real-time priorities up to `rtprio`, and nice values
    /// down to −10.
    fn limited(rtprio: u64) -> MachineFacts {
        let mut facts = MachineFacts::unknown(Instant::from_nanos(0));
        facts.permission.capabilities = Some(Vec::new());
        facts.permission.rtprio_limit = Some(rtprio);
        facts.permission.nice_limit = Some(-10);
        facts.permission.nice = Some(0);
        facts
    }

    #[track_caller]
    fn check(kernel: &Simulated, asked: &str, facts: MachineFacts, tried: &[&str], granted: &str) {
        let refused = schedule(kernel, asked.parse().unwrap(), || facts).unwrap();
        assert_eq!(kernel.asked(), tried);
        assert_eq!(kernel.scheduling.get().to_string(), granted);
        match refused {
            Some(NotGranted::Scheduling { asked: kept, granted: instead, errno, .. }) => {
                assert_eq!((kept.to_string(), instead.to_string()), (asked.into(), granted.into()));
                assert_eq!(errno, Errno::PERM.raw_os_error());
            }
            None => assert_eq!(asked, granted),
            Some(other) => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_permitted_policy_is_granted_at_once() {
        let kernel = Simulated::new(|_| true);
        check(&kernel, "fifo:80", limited(0), &["fifo:80"], "fifo:80");
    }

    #[test]
    fn the_present_policy_is_not_requested() {
        check(&Simulated::new(|_| false), "other", limited(0), &[], "other");
    }

    #[test]
    fn a_refusal_falls_back_to_the_best_permitted_policy() {
        let limit = |scheduling| !matches!(scheduling, Scheduling::Fifo(p) if p.get() > 40);
        check(&Simulated::new(limit), "fifo:80", limited(40), &["fifo:80", "fifo:40"], "fifo:40");
        let ordinary = |scheduling: Scheduling| !scheduling.is_realtime();
        let tried = ["fifo:80", "fifo:40", "other:-10"];
        check(&Simulated::new(ordinary), "fifo:80", limited(40), &tried, "other:-10");
    }

    #[test]
    fn a_kernel_that_refuses_everything_gets_a_bounded_number_of_requests() {
        let tried = ["deadline:1ms/2ms/3ms", "fifo:40", "other:-10", "other"];
        let kernel = Simulated::new(|_| false);
        check(&kernel, "deadline:1ms/2ms/3ms", limited(40), &tried, "other");
        assert!(tried.len() <= 1 + FALLBACKS_MAX as usize);
    }

    #[test]
    fn the_last_fallback_is_the_nice_value_of_the_thread() {
        let kernel = Simulated::new(|scheduling| scheduling == Scheduling::Other { nice: 7 });
        kernel.scheduling.set(Scheduling::Other { nice: 7 });
        check(&kernel, "fifo:80", limited(0), &["fifo:80", "other:-10", "other:7"], "other:7");
    }

    #[test]
    fn an_exact_request_has_no_fallback() {
        let asked: Scheduling = "deadline:1ms/2ms/3ms".parse().unwrap();
        let kernel = Simulated::new(|scheduling| matches!(scheduling, Scheduling::Fifo(_)));
        let refused = NotGranted::Scheduling {
            asked,
            granted: Scheduling::ORDINARY,
            confined_to: cpus("0-1"),
            errno: Errno::PERM.raw_os_error(),
        };
        assert_eq!(schedule_exactly(&kernel, asked), Ok(Some(refused)));
        assert_eq!(kernel.asked(), ["deadline:1ms/2ms/3ms"]);
        assert_eq!(kernel.scheduling.get(), Scheduling::ORDINARY);
        assert_eq!(schedule_exactly(&kernel, "fifo:80".parse().unwrap()), Ok(None));
        assert_eq!(kernel.scheduling.get().to_string(), "fifo:80");
    }

    #[test]
    fn a_thread_is_pinned_before_it_has_a_fixed_priority() {
        let kernel = Simulated::new(|_| true);
        let missing = place(&kernel, &cpus("1"), "fifo:80".parse().unwrap(), || limited(0));
        assert_eq!(missing, Ok(Vec::new()));
        assert_eq!(kernel.asked(), ["CPUs 1", "fifo:80"]);
    }

    #[test]
    fn a_deadline_is_requested_first_and_excludes_pinning() {
        let deadline: Scheduling = "deadline:1ms/2ms/3ms".parse().unwrap();
        let kernel = Simulated::new(|_| true);
        let missing = place(&kernel, &cpus("1"), deadline, || limited(0));
        assert_eq!(missing, Ok(vec![NotGranted::PinnedDeadline]));
        assert_eq!(kernel.asked(), ["deadline:1ms/2ms/3ms"]);
        let kernel = Simulated::new(|scheduling| !scheduling.is_realtime());
        assert_eq!(place(&kernel, &cpus("1"), deadline, || limited(0)).unwrap().len(), 1);
        assert_eq!(kernel.asked(), ["deadline:1ms/2ms/3ms", "other:-10", "CPUs 1"]);
        assert_eq!(*kernel.cpus.borrow(), cpus("1"));
    }

    #[test]
    fn a_deadline_on_all_cpus_of_the_thread_is_complete() {
        let deadline: Scheduling = "deadline:1ms/2ms/3ms".parse().unwrap();
        let kernel = Simulated::new(|_| true);
        assert_eq!(place(&kernel, &cpus("0-1"), deadline, || limited(0)), Ok(Vec::new()));
        assert_eq!(kernel.asked(), ["deadline:1ms/2ms/3ms"]);
    }

    #[test]
    fn refused_cpus_leave_the_thread_where_it_was() {
        let kernel = Simulated::new(|_| true);
        let errno = Errno::INVAL.raw_os_error();
        let (asked, granted) = (cpus("7"), cpus("0-1"));
        let refused = NotGranted::Cpus { asked: asked.clone(), granted, errno };
        assert_eq!(pin(&kernel, &asked), Ok(Some(refused)));
    }
}
