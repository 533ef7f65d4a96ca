//! The book of all reserves: who is admitted, what each should have, and in which order the
//! changes happen.
//!
//! It decides and does nothing: it reads no clock, and a [`Manager`](crate::Manager) carries out
//! its steps. Bandwidth that a thread returns counts as taken for one period more: the kernel
//! releases it at the 0-lag time, which is within the period (Documentation/scheduler/
//! sched-deadline.rst, Section 2.2).

use std::collections::BTreeMap;

use tactus_admission::kernel::{PERIOD_LEAST, PERIOD_MOST, RUNTIME_LEAST};
use tactus_model::format;
use tactus_model::reserve::Capacity;
use tactus_model::time::{Moment, Nanos};
use tactus_qos::{Constraint, Fit, Refusal, ReserveId, Terms};

use crate::Bandwidth;
use crate::elastic::{self, Demand};

/// How long a growth that the kernel refused is not tried again: others than this manager hold
/// the bandwidth.
const RETRY: Nanos = Nanos::from_secs(1);

/// All reserves, and the limits that they share.
///
/// Always, at every step: the bandwidth that is granted or returning is within the capacity, and
/// that of a user within the user's cap; every grant is within the range of its terms.
#[derive(Debug)]
pub struct Book {
    capacity: Bandwidth,
    /// The kernel's tick: what a thread can overrun its grant by.
    tick: Nanos,
    caps: BTreeMap<u32, Bandwidth>,
    entries: BTreeMap<ReserveId, Entry>,
    returning: Vec<Returning>,
}

/// One reserve.
#[derive(Debug)]
struct Entry {
    user: u32,
    terms: Terms,
    /// The bandwidth of the minimum.
    least: Bandwidth,
    /// The bandwidth of the grant.
    held: Bandwidth,
    /// The most that it is given now: `cost_max`, or less if it adapts.
    want: Nanos,
    /// What it should have.
    target: Nanos,
    /// Why the target is not larger.
    bound_by: Constraint,
    granted: Option<Capacity>,
    /// When a growth is tried that the kernel refused, or would not carry out yet.
    retry: Option<Moment>,
}

/// Bandwidth that the kernel has not yet released.
#[derive(Clone, Copy, Debug)]
struct Returning {
    user: u32,
    bandwidth: Bandwidth,
    until: Moment,
}

/// A change of one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The reserve.
    pub reserve: ReserveId,
    /// What the thread gets.
    pub capacity: Capacity,
    /// Whether it is the first grant.
    pub is_first: bool,
}

/// The bandwidth of a capacity: EDF needs the cost within the deadline.
fn bandwidth(capacity: Capacity) -> Bandwidth {
    Bandwidth::needed(capacity.cost(), capacity.deadline())
}

/// The bandwidth of the minimum.
fn least_of(terms: &Terms) -> Bandwidth {
    Bandwidth::needed(terms.cost_min, terms.deadline)
}

impl Entry {
    fn needs(&self, cost: Nanos) -> Bandwidth {
        Bandwidth::needed(cost, self.terms.deadline)
    }

    /// The cost within the range that a share permits, in whole microseconds if possible.
    fn cost_of(&self, share: Bandwidth) -> Nanos {
        let time = share.permits(self.terms.deadline).as_nanos();
        let most = Nanos::from_nanos(time - time % 1000).min(self.want);
        let most = if self.want.as_nanos() <= time { self.want } else { most };
        most.max(self.terms.cost_min)
    }
}

impl Book {
    /// An empty book for a machine on which `capacity` may be reserved, with this tick.
    pub const fn new(capacity: Bandwidth, tick: Nanos) -> Self {
        Self {
            capacity,
            tick,
            caps: BTreeMap::new(),
            entries: BTreeMap::new(),
            returning: Vec::new(),
        }
    }

    /// What may be reserved.
    pub const fn capacity(&self) -> Bandwidth {
        self.capacity
    }

    /// Sets the cap of a user, for all reserves to come.
    pub fn set_cap(&mut self, user: u32, cap: Bandwidth) {
        self.caps.insert(user, cap.min(self.capacity));
    }

    fn cap(&self, user: u32) -> Bandwidth {
        self.caps.get(&user).copied().unwrap_or(Bandwidth::ZERO)
    }

    /// Admits a reserve, if the minima of all fit. Its first [step](Self::steps) can come later.
    ///
    /// # Errors
    /// The kernel accepts no such terms, or the minimum exceeds the user's cap or the capacity.
    pub fn admit(&mut self, reserve: ReserveId, user: u32, terms: Terms) -> Result<(), Refusal> {
        self.test(user, &terms, None)?;
        let want = terms.cost_max;
        let bound_by = Constraint::Request;
        let entry = Entry {
            user,
            terms,
            least: least_of(&terms),
            held: Bandwidth::ZERO,
            want,
            target: want,
            bound_by,
            granted: None,
            retry: None,
        };
        self.entries.insert(reserve, entry);
        self.retarget();
        Ok(())
    }

    /// Changes the terms of a reserve, if the minima of all fit. After a refusal it keeps what it
    /// has.
    ///
    /// # Errors
    /// Those of [`admit`](Self::admit).
    pub fn change(&mut self, reserve: ReserveId, terms: Terms) -> Result<(), Refusal> {
        let Some(entry) = self.entries.get(&reserve) else { return Ok(()) };
        self.test(entry.user, &terms, Some(reserve))?;
        if let Some(entry) = self.entries.get_mut(&reserve) {
            (entry.terms, entry.want) = (terms, terms.cost_max);
            entry.least = least_of(&terms);
            // A first grant waits for the kernel whatever the terms are.
            entry.retry = entry.retry.filter(|_| entry.granted.is_none());
        }
        self.retarget();
        Ok(())
    }

    /// Limits what a reserve is given, within its range.
    pub fn want(&mut self, reserve: ReserveId, cost: Nanos) {
        let Some(entry) = self.entries.get_mut(&reserve) else { return };
        let want = cost.clamp(entry.terms.cost_min, entry.terms.cost_max);
        if entry.want != want {
            entry.want = want;
            self.retarget();
        }
    }

    /// Removes a reserve, whose bandwidth the kernel keeps `until` then: for a period, and for
    /// longer if the thread is in debt.
    pub fn remove(&mut self, reserve: ReserveId, until: Moment) {
        let Some(entry) = self.entries.remove(&reserve) else { return };
        if entry.granted.is_some() {
            self.give_back(entry.user, entry.held, until);
        }
        self.retarget();
    }

    fn give_back(&mut self, user: u32, bandwidth: Bandwidth, until: Moment) {
        if bandwidth > Bandwidth::ZERO {
            self.returning.push(Returning { user, bandwidth, until });
        }
    }

    /// Puts off the next growth of a reserve `until` then, e.g. the first grant of a thread that the
    /// kernel still remembers from an earlier one.
    pub fn hold(&mut self, reserve: ReserveId, until: Moment) {
        if let Some(entry) = self.entries.get_mut(&reserve) {
            entry.retry = Some(until);
        }
    }

    /// Whether the minima of all and of `terms` in the place of `instead` fit.
    fn test(&self, user: u32, terms: &Terms, instead: Option<ReserveId>) -> Result<(), Refusal> {
        if let Some(refusal) = refused_by_the_kernel(terms, self.tick) {
            return Err(refusal);
        }
        let (room, bound_by) = self.room(user, instead);
        if least_of(terms) <= room {
            return Ok(());
        }
        let largest_cost = room.permits(terms.deadline);
        let least = cost_least(terms.period, self.tick);
        let largest_cost = Some(largest_cost).filter(|cost| *cost >= least);
        let (whose, limit, taken) = match bound_by {
            Constraint::User => (
                format!("the reserves of user {user}"),
                self.cap(user),
                self.least(Some(user), instead),
            ),
            _ => ("all reserves".to_owned(), self.capacity, self.least(None, instead)),
        };
        let what_fits = match largest_cost {
            Some(cost) => format!("the largest that fits is {cost}"),
            None => "nothing more fits".to_owned(),
        };
        let [limit, taken] = [limit, taken].map(|share| format::cpus(share.cpus()));
        Err(Refusal {
            bound_by,
            reason: format!(
                "cost_min of {} in {} does not fit: {whose} may take {limit} of a CPU, and their minima take {taken}; {what_fits}",
                terms.cost_min, terms.deadline
            ),
            largest_cost,
            fix: None,
        })
    }

    /// The share that is left above all minima, and what limits it.
    fn room(&self, user: u32, instead: Option<ReserveId>) -> (Bandwidth, Constraint) {
        let of_user = self.cap(user).less(self.least(Some(user), instead));
        let of_machine = self.capacity.less(self.least(None, instead));
        if of_user < of_machine {
            (of_user, Constraint::User)
        } else {
            (of_machine, Constraint::Machine)
        }
    }

    /// The minima of a user or of all, without one reserve.
    fn least(&self, user: Option<u32>, without: Option<ReserveId>) -> Bandwidth {
        let counted = self.entries.iter().filter(|(reserve, entry)| {
            Some(**reserve) != without && user.is_none_or(|user| user == entry.user)
        });
        counted.map(|(_, entry)| entry.least).sum()
    }

    /// The largest minimum of a user's new reserve that would be admitted.
    pub fn fit(&self, user: u32, period: Nanos, deadline: Nanos) -> Fit {
        let (room, bound_by) = self.room(user, None);
        let (cost, least) = (room.permits(deadline), cost_least(period, self.tick));
        Fit { largest_cost: Some(cost).filter(|cost| *cost >= least), bound_by }
    }

    /// The largest minimum of this reserve that would be admitted.
    pub fn largest_cost(&self, reserve: ReserveId) -> Nanos {
        let Some(entry) = self.entries.get(&reserve) else { return Nanos::ZERO };
        self.room(entry.user, Some(reserve)).0.permits(entry.terms.deadline)
    }

    /// Computes what everyone should have.
    fn retarget(&mut self) {
        let demands: Vec<Demand> = self
            .entries
            .values()
            .map(|entry| Demand {
                user: entry.user,
                least: entry.least,
                most: entry.needs(entry.want),
                weight: entry.terms.importance,
            })
            .collect();
        let shares = elastic::shares(&demands, self.capacity, |user| self.cap(user));
        for (entry, share) in self.entries.values_mut().zip(shares) {
            entry.target = entry.cost_of(share.bandwidth);
            entry.bound_by = share.bound_by;
        }
    }

    /// The changes that can happen now, in their order: what shrinks, then what grows. Each is to
    /// be [recorded](Self::record) or [refused](Self::refuse).
    ///
    /// What waits for bandwidth is served in the order of requests: a later one takes nothing that
    /// an earlier one waits for.
    pub fn steps(&mut self, now: Moment) -> Vec<Step> {
        self.returning.retain(|share| share.until > now);
        // What is over is due no more: it may still lack bandwidth.
        for entry in self.entries.values_mut() {
            entry.retry = entry.retry.filter(|retry| *retry > now);
        }
        let mut free = self.capacity.less(self.held(None));
        let mut free_of: BTreeMap<u32, Bandwidth> = BTreeMap::new();
        let (mut steps, mut growths) = (Vec::new(), Vec::new());
        for (&reserve, entry) in &self.entries {
            let target = entry.terms.capacity(entry.target);
            if entry.granted == Some(target) {
                continue;
            }
            let step = Step { reserve, capacity: target, is_first: entry.granted.is_none() };
            if entry.granted.is_some() && bandwidth(target) <= entry.held {
                steps.push(step);
            } else if entry.retry.is_none() {
                growths.push((step, entry));
            }
        }
        growths.sort_by_key(|(step, _)| !step.is_first);
        for (step, entry) in growths {
            let own = free_of
                .entry(entry.user)
                .or_insert_with(|| self.cap(entry.user).less(self.held(Some(entry.user))));
            let more = bandwidth(step.capacity).less(entry.held);
            if more <= free && more <= *own {
                (free, *own) = (free.less(more), own.less(more));
                steps.push(step);
                continue;
            }
            // A newcomer starts with less, if the minimum is there.
            let available = free.min(*own);
            if step.is_first && entry.least <= available {
                let capacity = entry.terms.capacity(entry.cost_of(available));
                (free, *own) = (free.less(bandwidth(capacity)), own.less(bandwidth(capacity)));
                steps.push(Step { capacity, ..step });
                continue;
            }
            // Only what waits for its own user lets others pass.
            let awaited = if step.is_first { entry.least } else { more };
            if awaited <= *own {
                break;
            }
        }
        steps
    }

    /// What is granted or returning, of a user or of all.
    fn held(&self, user: Option<u32>) -> Bandwidth {
        let counts = |of: u32| user.is_none_or(|user| user == of);
        let granted =
            self.entries.values().filter(|entry| counts(entry.user)).map(|entry| entry.held);
        let returning = self.returning.iter().filter(|share| counts(share.user));
        granted.sum::<Bandwidth>() + returning.map(|share| share.bandwidth).sum()
    }

    /// Records that a step was carried out.
    pub fn record(&mut self, step: &Step, now: Moment) {
        let Some(entry) = self.entries.get_mut(&step.reserve) else { return };
        let before = entry.granted.replace(step.capacity);
        entry.retry = None;
        let held = std::mem::replace(&mut entry.held, bandwidth(step.capacity));
        let (user, returned) = (entry.user, held.less(entry.held));
        if let Some(before) = before {
            self.give_back(user, returned, now + before.period());
        }
    }

    /// Records that the kernel refused a growth. It is tried again later.
    pub fn refuse(&mut self, step: &Step, now: Moment) {
        self.hold(step.reserve, now + RETRY);
    }

    /// When more [steps](Self::steps) can become possible without a request.
    pub fn next_due(&self) -> Option<Moment> {
        let returns = self.returning.iter().map(|share| share.until);
        let retries = self.entries.values().filter_map(|entry| entry.retry);
        let waits = self
            .entries
            .values()
            .any(|entry| entry.granted != Some(entry.terms.capacity(entry.target)));
        returns.chain(retries).min().filter(|_| waits)
    }

    /// What a reserve has, and what limits it.
    pub fn granted(&self, reserve: ReserveId) -> Option<(Capacity, Constraint)> {
        let entry = self.entries.get(&reserve)?;
        let granted = entry.granted?;
        let bound_by = match () {
            () if granted.cost() >= entry.terms.cost_max => Constraint::Request,
            () if entry.retry.is_some() => Constraint::Kernel,
            () if entry.bound_by != Constraint::Request => entry.bound_by,
            () if entry.terms.adapt => Constraint::MeasuredUse,
            // The kernel refused more when it was first asked.
            () => Constraint::Kernel,
        };
        Some((granted, bound_by))
    }

    /// The minima, what is granted, and what returns.
    pub fn totals(&self) -> (Bandwidth, Bandwidth, Bandwidth) {
        let granted = self.entries.values().map(|entry| entry.held).sum();
        let returning = self.returning.iter().map(|share| share.bandwidth).sum();
        (self.least(None, None), granted, returning)
    }

    /// How many reserves a user has.
    pub fn count(&self, user: u32) -> usize {
        self.entries.values().filter(|entry| entry.user == user).count()
    }
}

/// The least cost in a period: a thread that overruns by a tick repays that within the longest
/// period of the kernel.
fn cost_least(period: Nanos, tick: Nanos) -> Nanos {
    let repaid = u128::from(tick.as_nanos()) * u128::from(period.as_nanos());
    let cost = repaid.div_ceil(u128::from(PERIOD_MOST.as_nanos()));
    RUNTIME_LEAST.max(Nanos::from_nanos(u64::try_from(cost).unwrap_or(u64::MAX)))
}

/// Why the kernel accepts no reserve with these terms, or would not keep it.
fn refused_by_the_kernel(terms: &Terms, tick: Nanos) -> Option<Refusal> {
    let refusal = |reason: String| Refusal {
        bound_by: Constraint::Kernel,
        reason,
        largest_cost: None,
        fix: None,
    };
    let Terms { period, cost_min, .. } = *terms;
    if !(PERIOD_LEAST..=PERIOD_MOST).contains(&period) {
        let nearest = period.clamp(PERIOD_LEAST, PERIOD_MOST);
        return Some(refusal(format!(
            "the period of {period} is out of range; the nearest accepted is {nearest}"
        )));
    }
    let least = cost_least(period, tick);
    (cost_min < least).then(|| {
        refusal(format!("cost_min of {cost_min} is too short; the least in {period} is {least}"))
    })
}

#[cfg(test)]
mod tests;
