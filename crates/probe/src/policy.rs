//! Preparing the calling thread as a policy asks.
//!
//! Each wish is tried, not predicted. What the kernel refuses becomes a
//! [`Shortfall`] that says why and how to get it, and the best that is permitted
//! takes its place. What holds in the end is read back from the kernel.

use std::path::Path;

use tactus_model::cpus::CpuList;
use tactus_model::facts::MachineFacts;
use tactus_model::policy::{Policy, Scheduling};
use tactus_model::result::{Granted, Shortfall};
use tactus_sys::idle_states::IdleStateLimit;
use tactus_sys::memory::Lock;
use tactus_sys::permission::{Asked, best_permitted, diagnose};
use tactus_sys::{SysError, affinity, memory, sched};

/// A thread on its way to being scheduled as its policy asks.
#[derive(Debug, Default)]
pub struct Preparation {
    memory_locked: bool,
    shortfalls: Vec<Shortfall>,
}

impl Preparation {
    /// Places and schedules the calling thread; `cpu` is the processor it is meant for.
    ///
    /// # Errors
    /// The kernel does not even tell the thread's settings.
    pub fn place_and_schedule(&mut self, policy: &Policy, cpu: u32) -> Result<(), SysError> {
        self.set_timer_slack(policy)?;
        if let Scheduling::Deadline { .. } = policy.scheduling {
            // The kernel refuses a deadline to a thread that is pinned, and to pin
            // one that has it: admission counts the processors together.
            self.schedule(policy.scheduling, None)?;
            if let Scheduling::Deadline { .. } = sched::get()? {
                self.shortfalls.push(unpinned());
                return Ok(());
            }
            return self.pin(cpu);
        }
        self.pin(cpu)?;
        let confined_to = affinity::get()?;
        self.schedule(policy.scheduling, Some(confined_to))
    }

    /// Locks what is mapped, when the policy asks for it: call it once all memory is taken.
    ///
    /// Later mappings are left alone. Under a limit the kernel would refuse them,
    /// and a refused allocation ends the process.
    pub fn lock_memory(&mut self, policy: &Policy) {
        if !policy.lock_memory {
            return;
        }
        match memory::lock(Lock::Present) {
            Ok(()) => self.memory_locked = true,
            Err(error) => self.fall_short(
                "lock-memory",
                "memory touched beforehand, not locked",
                &Asked::LockedMemory { bytes: None },
                error,
                &facts(),
            ),
        }
    }

    /// Reads back what the thread has, and gives up what was not granted.
    ///
    /// # Errors
    /// The kernel does not tell.
    pub fn finish(self) -> Result<(Granted, Vec<Shortfall>), SysError> {
        let scheduling = sched::get()?;
        let timer_slack = if scheduling.is_realtime() { None } else { Some(sched::timer_slack()?) };
        let granted = Granted {
            scheduling,
            cpus: affinity::get()?,
            memory_locked: self.memory_locked,
            timer_slack,
        };
        Ok((granted, self.shortfalls))
    }

    /// Sets the slack first: real-time threads have none, and cannot set it either.
    fn set_timer_slack(&mut self, policy: &Policy) -> Result<(), SysError> {
        let Some(slack) = policy.timer_slack else { return Ok(()) };
        if let Err(error) = sched::set_timer_slack(slack) {
            let granted = format!("timer-slack {}", sched::timer_slack()?);
            let asked = format!("timer-slack {slack}");
            self.fall_short(&asked, &granted, &Asked::TimerSlack(slack), error, &facts());
        }
        Ok(())
    }

    fn pin(&mut self, cpu: u32) -> Result<(), SysError> {
        let cpus: CpuList = std::iter::once(cpu).collect();
        if let Err(error) = affinity::set(&cpus) {
            let granted = format!("any of processors {}", affinity::get()?);
            let asked = format!("processor {cpu}");
            self.fall_short(&asked, &granted, &Asked::Processors(cpus), error, &facts());
        }
        Ok(())
    }

    fn schedule(
        &mut self,
        asked: Scheduling,
        confined_to: Option<CpuList>,
    ) -> Result<(), SysError> {
        let Err(refusal) = sched::set(asked) else { return Ok(()) };
        let facts = facts();
        let mut attempt = asked;
        loop {
            let lesser = best_permitted(attempt, &facts);
            // The answer to the least there is, is itself: the thread stays as it is.
            if lesser == attempt || sched::set(lesser).is_ok() {
                break;
            }
            attempt = lesser;
        }
        let granted = format!("policy {}", sched::get()?);
        let subject = Asked::Scheduling { scheduling: asked, confined_to };
        self.fall_short(&format!("policy {asked}"), &granted, &subject, refusal, &facts);
        Ok(())
    }

    fn fall_short(
        &mut self,
        asked: &str,
        granted: &str,
        subject: &Asked,
        refusal: SysError,
        facts: &MachineFacts,
    ) {
        self.shortfalls.push(shortfall(asked, granted, subject, refusal, facts));
    }
}

/// Holds the limit on idle states for as long as its value lives, when the policy asks for one.
///
/// It acts on the whole machine, so one holder serves all tasks.
pub fn hold_idle_states(policy: &Policy) -> Result<Option<IdleStateLimit>, Box<Shortfall>> {
    let Some(microseconds) = policy.cpu_dma_latency_us else { return Ok(None) };
    IdleStateLimit::hold(microseconds).map(Some).map_err(|error| {
        Box::new(shortfall(
            &format!("cpu-dma-latency {microseconds}us"),
            "idle states untouched",
            &Asked::IdleExitLatency,
            error,
            &facts(),
        ))
    })
}

/// Says why `subject` was refused and what was done instead.
fn shortfall(
    asked: &str,
    granted: &str,
    subject: &Asked,
    refusal: SysError,
    facts: &MachineFacts,
) -> Shortfall {
    let diagnosis = diagnose(subject, refusal.errno, facts);
    Shortfall {
        asked: asked.to_owned(),
        granted: granted.to_owned(),
        reason: diagnosis.reason,
        fix: diagnosis.mend,
    }
}

/// What every deadline task lacks, in the words of sched(7).
fn unpinned() -> Shortfall {
    Shortfall {
        asked: "each task pinned to its processor".to_owned(),
        granted: "tasks placed by the kernel".to_owned(),
        reason: "the kernel admits a deadline task only when it may run on every processor of its root domain".to_owned(),
        fix: Some("policy fifo:99, which can be pinned".to_owned()),
    }
}

/// Reads the facts that tell one refusal from another: only when there was one.
fn facts() -> MachineFacts {
    tactus_sys::facts::read(Path::new("/"))
}
