//! Asking the kernel for a policy and CPUs, and descending to what it permits.

use tactus_model::cpus::CpuList;
use tactus_model::facts::MachineFacts;
use tactus_model::policy::Scheduling;
use tactus_permission::best_permitted;
use tactus_sys::{Errno, SysError};

use crate::not_granted::NotGranted;

/// How many fallbacks are tried at most.
///
/// Each is lesser than the one before it, and four end with what the thread has already; the
/// limit is for facts that are wrong.
const FALLBACKS_MAX: u32 = 8;

/// What the kernel is asked about one thread; simulated in tests.
pub(crate) trait SchedulingCalls {
    fn scheduling(&self) -> Result<Scheduling, SysError>;
    fn set_scheduling(&self, scheduling: Scheduling) -> Result<(), SysError>;
    fn cpus(&self) -> Result<CpuList, SysError>;
    fn set_cpus(&self, cpus: &CpuList) -> Result<(), SysError>;
}

/// Gives `thread` a policy, or else the best that is permitted by `facts`, which are read
/// only after a refusal.
pub(crate) fn schedule(
    thread: &impl SchedulingCalls,
    asked: Scheduling,
    facts: impl FnOnce() -> MachineFacts,
) -> Result<Option<NotGranted>, SysError> {
    // What is there already needs no permission, so it is not asked for: older kernels
    // refuse an ordinary user even the nice value he has, when it is below his limit.
    let present = thread.scheduling().ok();
    if present == Some(asked) {
        return Ok(None);
    }
    let Err(refusal) = thread.set_scheduling(asked) else { return Ok(None) };
    if refusal.errno == Errno::SRCH {
        return Err(refusal);
    }
    fall_back(thread, asked, &seen_by(present, facts()));
    Ok(Some(NotGranted::Scheduling {
        asked,
        granted: thread.scheduling()?,
        confined_to: thread.cpus()?,
        errno: refusal.errno.raw_os_error(),
    }))
}

/// Tries one lesser policy after another until one is granted or none is left; the thread
/// stays as it is then.
fn fall_back(thread: &impl SchedulingCalls, refused: Scheduling, facts: &MachineFacts) {
    let mut attempt = refused;
    for _ in 0..FALLBACKS_MAX {
        let lesser = best_permitted(attempt, facts);
        // For the least there is, the answer is itself.
        if lesser == attempt || thread.set_scheduling(lesser).is_ok() {
            return;
        }
        attempt = lesser;
    }
}

/// The facts with the nice value of the thread itself: threads of a process may differ.
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
/// The kernel refuses a deadline to a thread that is pinned, and refuses to pin a thread
/// that has a deadline: admission counts the CPUs together. So the deadline is asked for
/// first, and a thread that has it stays where it may run.
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

    /// A kernel that grants what `permits` says, and keeps what it was asked.
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
    fn what_is_permitted_is_granted_at_once() {
        let kernel = Simulated::new(|_| true);
        check(&kernel, "fifo:80", limited(0), &["fifo:80"], "fifo:80");
    }

    #[test]
    fn what_the_thread_has_is_not_asked_for() {
        check(&Simulated::new(|_| false), "other", limited(0), &[], "other");
    }

    #[test]
    fn a_refusal_descends_to_the_best_that_is_permitted() {
        let limit = |scheduling| !matches!(scheduling, Scheduling::Fifo(p) if p.get() > 40);
        check(&Simulated::new(limit), "fifo:80", limited(40), &["fifo:80", "fifo:40"], "fifo:40");
        let ordinary = |scheduling: Scheduling| !scheduling.is_realtime();
        let tried = ["fifo:80", "fifo:40", "other:-10"];
        check(&Simulated::new(ordinary), "fifo:80", limited(40), &tried, "other:-10");
    }

    #[test]
    fn a_kernel_that_refuses_everything_is_asked_a_bounded_number_of_times() {
        let tried = ["deadline:1ms/2ms/3ms", "fifo:40", "other:-10", "other"];
        let kernel = Simulated::new(|_| false);
        check(&kernel, "deadline:1ms/2ms/3ms", limited(40), &tried, "other");
        assert!(tried.len() <= 1 + FALLBACKS_MAX as usize);
    }

    #[test]
    fn the_last_fallback_is_the_nice_value_of_the_thread_itself() {
        let kernel = Simulated::new(|scheduling| scheduling == Scheduling::Other { nice: 7 });
        kernel.scheduling.set(Scheduling::Other { nice: 7 });
        check(&kernel, "fifo:80", limited(0), &["fifo:80", "other:-10", "other:7"], "other:7");
    }

    #[test]
    fn a_thread_is_pinned_before_it_has_a_fixed_priority() {
        let kernel = Simulated::new(|_| true);
        let missing = place(&kernel, &cpus("1"), "fifo:80".parse().unwrap(), || limited(0));
        assert_eq!(missing, Ok(Vec::new()));
        assert_eq!(kernel.asked(), ["CPUs 1", "fifo:80"]);
    }

    #[test]
    fn a_deadline_is_asked_for_before_the_pin_and_then_takes_its_place() {
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
    fn cpus_that_are_refused_leave_the_thread_where_it_was() {
        let kernel = Simulated::new(|_| true);
        let errno = Errno::INVAL.raw_os_error();
        let (asked, granted) = (cpus("7"), cpus("0-1"));
        let refused = NotGranted::Cpus { asked: asked.clone(), granted, errno };
        assert_eq!(pin(&kernel, &asked), Ok(Some(refused)));
    }
}
