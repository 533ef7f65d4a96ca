//! One reserve: a thread, its capacity, and the rung that keeps it.

use tactus_model::policy::Scheduling;
use tactus_model::reserve::Capacity;
use tactus_rt::ThreadRef;

use crate::{Refused, RefusedRung, Rung};

/// A capacity that a thread has while this value exists. Dropping it returns the thread to the
/// policy it had before.
#[derive(Debug)]
pub struct Reserve {
    thread: ThreadRef,
    before: Scheduling,
    rung: Rung,
    capacity: Capacity,
}

impl Reserve {
    /// Grants `capacity` to `thread` by the first of `rungs` that the machine permits.
    ///
    /// # Errors
    /// No rung granted it, or the thread has ended. The thread keeps its policy.
    pub fn grant(thread: ThreadRef, capacity: Capacity, rungs: &[Rung]) -> Result<Self, Refused> {
        let before = thread.scheduling()?;
        let mut refusals = Vec::new();
        for &rung in rungs {
            match set(&thread, rung, capacity)? {
                None => return Ok(Self { thread, before, rung, capacity }),
                Some(refused) => refusals.push(refused),
            }
        }
        Err(Refused::Rungs { rungs: refusals, largest_cost: None })
    }

    /// Changes the capacity; after a refusal the thread keeps what it has.
    ///
    /// # Errors
    /// The rung refuses the capacity, or the thread has ended.
    pub fn change(&mut self, capacity: Capacity) -> Result<(), Refused> {
        if let Some(refused) = set(&self.thread, self.rung, capacity)? {
            return Err(Refused::Rungs { rungs: vec![refused], largest_cost: None });
        }
        self.capacity = capacity;
        Ok(())
    }

    /// The rung that keeps it.
    pub const fn rung(&self) -> Rung {
        self.rung
    }

    /// Its capacity.
    pub const fn capacity(&self) -> Capacity {
        self.capacity
    }
}

impl Drop for Reserve {
    fn drop(&mut self) {
        // The thread may have ended.
        let _ = self.thread.schedule_exactly(self.before);
    }
}

/// Asks the kernel; `None` if it granted the capacity.
fn set(thread: &ThreadRef, rung: Rung, capacity: Capacity) -> Result<Option<RefusedRung>, Refused> {
    let scheduling = match rung {
        Rung::Deadline => Scheduling::Deadline {
            runtime: capacity.cost(),
            deadline: capacity.deadline(),
            period: capacity.period(),
        },
    };
    let Some(refused) = thread.schedule_exactly(scheduling)? else { return Ok(None) };
    let shortfall = refused.explain_here();
    Ok(Some(RefusedRung { rung, reason: shortfall.reason, fix: shortfall.fix }))
}

#[cfg(test)]
mod tests {
    use tactus_testing::{Need, skip};

    use super::*;

    #[test]
    fn needs_root_a_thread_has_its_capacity_until_the_reserve_is_dropped() {
        let granted = std::thread::spawn(|| {
            let capacity = "1ms/10ms".parse().unwrap();
            let mut reserve = match Reserve::grant(ThreadRef::Calling, capacity, Rung::ALL) {
                Ok(reserve) => reserve,
                Err(refused) => return Err(refused),
            };
            let class = ThreadRef::Calling.scheduling().unwrap();
            assert_eq!(class.to_string(), "deadline:1ms/10ms/10ms");
            reserve.change("2ms/10ms:8ms".parse().unwrap())?;
            let class = ThreadRef::Calling.scheduling().unwrap();
            assert_eq!(class.to_string(), "deadline:2ms/8ms/10ms");
            drop(reserve);
            assert_eq!(ThreadRef::Calling.scheduling(), Ok(Scheduling::ORDINARY));
            Ok(())
        });
        if let Err(refused) = granted.join().unwrap() {
            skip(Need::Root, refused.to_string());
        }
    }
}
