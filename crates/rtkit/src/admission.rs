//! How CPU time is divided among the threads with a real-time priority.

use std::collections::BTreeMap;

use tactus_model::recording::ThreadId;
use tactus_model::time::Nanos;
use tactus_qos::{Need, ReserveId};
use tactus_qosd::{Client, Manager, ManagerHandle, Policy, Subject};
use tactus_sys::clock;

use crate::{Caller, Refused};

/// The CPU time that a thread has in every period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budgets {
    /// The period.
    pub period: Nanos,
    /// What is admitted: every thread has at least this.
    pub least: Nanos,
    /// What a thread has if few ask.
    pub most: Nanos,
}

impl Default for Budgets {
    /// 1 ms to 10 ms in each 20 ms: sound servers need a few per cent of a CPU, and a thread that
    /// runs away delays one of the same priority by 10 ms at most.
    fn default() -> Self {
        Self {
            period: Nanos::from_millis(20),
            least: Nanos::from_millis(1),
            most: Nanos::from_millis(10),
        }
    }
}

/// A thread that was admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GrantId(pub u64);

/// What divides the CPU time.
pub trait Admission: Send {
    /// Admits a thread of the caller with at least `budgets.least`.
    ///
    /// # Errors
    /// Too little time is left for the user or on the machine.
    fn admit(
        &mut self,
        caller: &Caller,
        thread: ThreadId,
        budgets: Budgets,
    ) -> Result<GrantId, Refused>;

    /// What the thread has now. It can change with each grant and return.
    fn budget(&self, grant: GrantId) -> Nanos;

    /// The thread has ended, or has lost its priority.
    fn give_back(&mut self, grant: GrantId);
}

/// The manager of reserves: threads with a priority and reserves share the CPU time of one book.
#[derive(Debug)]
pub struct Managed {
    manager: ManagerHandle,
    policy: Policy,
    admitted: BTreeMap<GrantId, (Client, Nanos)>,
}

/// The numbers of clients of a bus: above those of connections, and with their user.
const CLIENTS: u64 = 1 << 63;

impl Managed {
    /// Admits by the manager, with its policy.
    pub const fn new(manager: ManagerHandle, policy: Policy) -> Self {
        Self { manager, policy, admitted: BTreeMap::new() }
    }
}

impl Admission for Managed {
    fn admit(
        &mut self,
        caller: &Caller,
        thread: ThreadId,
        budgets: Budgets,
    ) -> Result<GrantId, Refused> {
        let user = caller.user;
        let caps = self.policy.caps(user, &caller.groups);
        let client = Client { number: CLIENTS + u64::from(user), user, caps };
        let need =
            Need { cost_max: Some(budgets.most), ..Need::new(budgets.period, budgets.least) };
        let allot = move |manager: &mut Manager| {
            manager.allot(&client, Subject::of_id(thread)?, need, clock::now())
        };
        let allotted = self.manager.call(allot).ok_or(Refused::Ending)?;
        let reserve = allotted.map_err(|refused| Refused::NoTimeLeft(refused.to_string()))?;
        let grant = GrantId(reserve.0);
        self.admitted.insert(grant, (client, budgets.least));
        Ok(grant)
    }

    fn budget(&self, grant: GrantId) -> Nanos {
        // While others return time, a thread has what is guaranteed.
        let least = self.admitted.get(&grant).map_or(Nanos::ZERO, |(_, least)| *least);
        let granted = self.manager.call(move |manager| manager.grant(ReserveId(grant.0)));
        granted.flatten().map_or(least, |granted| granted.cost)
    }

    fn give_back(&mut self, grant: GrantId) {
        let Some((client, _)) = self.admitted.remove(&grant) else { return };
        // It fails if the manager has ended, or has seen the end of the thread.
        let _ = self.manager.call(move |manager| {
            manager.release(&client, ReserveId(grant.0), clock::now()).is_ok()
        });
    }
}
