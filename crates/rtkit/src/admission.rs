//! How CPU time is divided among the threads with a real-time priority.

use std::collections::BTreeMap;

use tactus_model::time::Nanos;

use crate::Refused;

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

/// What divides the CPU time: a manager that knows all reserves, or [`Shares`].
pub trait Admission: Send {
    /// Admits a thread of `user` with at least `budgets.least`.
    ///
    /// # Errors
    /// Too little time is left for the user or on the machine.
    fn admit(&mut self, user: u32, budgets: Budgets) -> Result<GrantId, Refused>;

    /// What the thread has now. It can change with each grant and return.
    fn budget(&self, grant: GrantId) -> Nanos;

    /// The thread has ended, or has lost its priority.
    fn give_back(&mut self, grant: GrantId);
}

/// Divides a part of the machine equally; a user has at most a part of it.
#[derive(Debug)]
pub struct Shares {
    /// Millionths of a CPU.
    capacity_ppm: u64,
    user_ppm: u64,
    admitted: BTreeMap<GrantId, (u32, Budgets)>,
    last: u64,
}

impl Shares {
    /// Divides `capacity_ppm` millionths of a CPU, of which one user has at most `user_ppm`.
    pub const fn new(capacity_ppm: u64, user_ppm: u64) -> Self {
        Self { capacity_ppm, user_ppm, admitted: BTreeMap::new(), last: 0 }
    }

    /// What is admitted, of a user or of all, in millionths of a CPU.
    fn admitted_ppm(&self, user: Option<u32>) -> u64 {
        let counted = self.admitted.values().filter(|(of, _)| user.is_none_or(|user| user == *of));
        counted.map(|(_, budgets)| least_ppm(*budgets)).sum()
    }
}

/// The guaranteed part of a CPU, in millionths, rounded up.
fn least_ppm(budgets: Budgets) -> u64 {
    let period = budgets.period.as_nanos().max(1);
    budgets.least.saturating_mul(1_000_000).as_nanos().div_ceil(period)
}

impl Admission for Shares {
    fn admit(&mut self, user: u32, budgets: Budgets) -> Result<GrantId, Refused> {
        let needed = least_ppm(budgets);
        let limits = [
            (format!("user {user}"), self.user_ppm, self.admitted_ppm(Some(user))),
            ("the machine".to_owned(), self.capacity_ppm, self.admitted_ppm(None)),
        ];
        for (whose, limit, taken) in limits {
            if taken.saturating_add(needed) > limit {
                let cpus = |ppm: u64| ppm as f64 / 1e6;
                return Err(Refused::NoTimeLeft(format!(
                    "{:.2} of {:.2} CPUs of {whose} are granted; {:.2} more do not fit",
                    cpus(taken),
                    cpus(limit),
                    cpus(needed)
                )));
            }
        }
        self.last += 1;
        let grant = GrantId(self.last);
        self.admitted.insert(grant, (user, budgets));
        Ok(grant)
    }

    fn budget(&self, grant: GrantId) -> Nanos {
        let Some((user, budgets)) = self.admitted.get(&grant) else { return Nanos::ZERO };
        let all = self.admitted.len() as u64;
        let own = self.admitted.values().filter(|(of, _)| of == user).count() as u64;
        let share_ppm = (self.capacity_ppm / all).min(self.user_ppm / own);
        let share = u128::from(budgets.period.as_nanos()) * u128::from(share_ppm) / 1_000_000;
        let share = Nanos::from_nanos(u64::try_from(share).unwrap_or(u64::MAX));
        share.clamp(budgets.least, budgets.most.max(budgets.least))
    }

    fn give_back(&mut self, grant: GrantId) {
        self.admitted.remove(&grant);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_threads_have_much_time_and_many_have_little() {
        let budgets = Budgets::default();
        let mut shares = Shares::new(1_000_000, 800_000);
        let first = shares.admit(1, budgets).unwrap();
        assert_eq!(shares.budget(first), budgets.most);
        let all: Vec<GrantId> = (0..15).map(|_| shares.admit(1, budgets).unwrap()).collect();
        assert_eq!(shares.budget(first), budgets.least);
        let refused = shares.admit(1, budgets).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "0.80 of 0.80 CPUs of user 1 are granted; 0.05 more do not fit"
        );
        let others: Vec<GrantId> = (0..4).map(|_| shares.admit(2, budgets).unwrap()).collect();
        let refused = shares.admit(2, budgets).unwrap_err();
        assert!(refused.to_string().contains("of the machine"), "{refused}");
        all.into_iter().chain(others).for_each(|grant| shares.give_back(grant));
        assert_eq!(shares.budget(first), budgets.most);
    }
}
