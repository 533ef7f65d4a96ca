//! Sharing what is left above everybody's minimum.

use std::collections::BTreeMap;

use tactus_qos::Constraint;

use crate::Bandwidth;
use crate::bandwidth::CPU;

/// The range of one reserve.
#[derive(Clone, Copy, Debug)]
pub struct Demand {
    /// The user who pays for it.
    pub user: u32,
    /// The share it gets in any case.
    pub least: Bandwidth,
    /// The share that it can use.
    pub most: Bandwidth,
    /// The importance, at least 1.
    pub weight: u8,
}

/// What a reserve gets.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    /// The share, within the range of the demand.
    pub bandwidth: Bandwidth,
    /// Why it is not larger.
    pub bound_by: Constraint,
}

/// A level at which every demand is full: the weight is at least 1, and no share exceeds a CPU.
const LEVEL_FULL: u64 = CPU;

impl Demand {
    /// Its share at a level: the minimum, and its weight for each unit of the level.
    fn at(&self, level: u64) -> Bandwidth {
        let grown = self.least + Bandwidth::from_units(level * u64::from(self.weight));
        grown.min(self.most.max(self.least))
    }
}

/// Divides `capacity`: everyone gets the minimum, and the rest is shared by weight until a demand,
/// its user's cap or the capacity is full. The result has the order of `demands`.
///
/// This is elastic compression (G. Buttazzo, G. Lipari and L. Abeni, *Elastic task model for
/// adaptive rate control*, RTSS 1998, Section 3): a demand that reaches its limit leaves, and the
/// others share the rest. There, tasks shrink from their maximum by elasticity; here, they grow
/// from their minimum by importance, which serves the important ones first. A common level is
/// found by bisection: shares grow with it.
///
/// If the minima of a user exceed the cap, or all of them the capacity, they are all that is
/// granted: admission must refuse such demands.
pub fn shares(
    demands: &[Demand],
    capacity: Bandwidth,
    cap: impl Fn(u32) -> Bandwidth,
) -> Vec<Share> {
    let mut of_user: BTreeMap<u32, Vec<&Demand>> = BTreeMap::new();
    for demand in demands {
        of_user.entry(demand.user).or_default().push(demand);
    }
    let ceilings: BTreeMap<u32, u64> = of_user
        .into_iter()
        .map(|(user, demands)| {
            let cap = cap(user);
            let total = |level| demands.iter().map(|demand| demand.at(level)).sum::<Bandwidth>();
            (user, highest(|level| total(level) <= cap))
        })
        .collect();
    let at = |demand: &Demand, level: u64| demand.at(level.min(ceilings[&demand.user]));
    let level = highest(|level| {
        demands.iter().map(|demand| at(demand, level)).sum::<Bandwidth>() <= capacity
    });
    let share = |demand: &Demand| Share {
        bandwidth: at(demand, level),
        bound_by: match () {
            () if at(demand, level) >= demand.most => Constraint::Request,
            // A user who may take all is bound by the machine.
            () if ceilings[&demand.user] < level && cap(demand.user) < capacity => Constraint::User,
            () => Constraint::Machine,
        },
    };
    demands.iter().map(share).collect()
}

/// The highest level up to [`LEVEL_FULL`] that fits; 0 if none does.
fn highest(fits: impl Fn(u64) -> bool) -> u64 {
    if fits(LEVEL_FULL) {
        return LEVEL_FULL;
    }
    let (mut low, mut high) = (0, LEVEL_FULL);
    while high - low > 1 {
        let middle = low.midpoint(high);
        if fits(middle) { low = middle } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn percent(percent: u64) -> Bandwidth {
        Bandwidth::percent_of_cpus(percent, 1)
    }

    fn demand(user: u32, least: u64, most: u64, weight: u8) -> Demand {
        Demand { user, least: percent(least), most: percent(most), weight }
    }

    /// Compares shares in per cent of a CPU, rounded to the nearest.
    fn check(demands: &[Demand], capacity: u64, cap: u64, expected: &[u64]) {
        let found = shares(demands, percent(capacity), |_| percent(cap));
        let found: Vec<u64> =
            found.iter().map(|share| (share.bandwidth.cpus() * 100.0).round() as u64).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn the_rest_is_shared_by_weight_until_a_demand_is_full() {
        check(&[demand(1, 10, 100, 10), demand(2, 10, 100, 30)], 100, 100, &[30, 70]);
        // The second is full at 40 %, and leaves the rest to the first.
        check(&[demand(1, 10, 100, 10), demand(2, 10, 40, 30)], 100, 100, &[60, 40]);
        check(&[demand(1, 10, 20, 10), demand(2, 10, 40, 30)], 100, 100, &[20, 40]);
        // No room above the minima.
        check(&[demand(1, 50, 90, 10), demand(2, 50, 90, 30)], 100, 100, &[50, 50]);
    }

    #[test]
    fn a_user_at_the_cap_leaves_the_rest_to_others() {
        let demands = [demand(1, 10, 100, 50), demand(1, 10, 100, 50), demand(2, 10, 100, 1)];
        check(&demands, 100, 60, &[30, 30, 40]);
    }

    proptest! {
        #[test]
        fn everyone_has_the_minimum_and_no_limit_is_exceeded(
            ranges in prop::collection::vec((0_u32..4, 0_u64..12, 0_u64..90, 1_u8..=100), 1..20),
            capacity in 1_u64..200,
            cap in 1_u64..100,
        ) {
            let mut demands: Vec<Demand> = ranges
                .into_iter()
                .map(|(user, least, more, weight)| demand(user, least, least + more, weight))
                .collect();
            let total = |demands: &[Demand], user: Option<u32>| -> Bandwidth {
                let of = demands.iter().filter(|demand| user.is_none_or(|u| u == demand.user));
                of.map(|demand| demand.least).sum()
            };
            // Admission keeps out what does not fit at the minimum.
            while total(&demands, None) > percent(capacity)
                || (0..4).any(|user| total(&demands, Some(user)) > percent(cap))
            {
                demands.pop();
            }
            let found = shares(&demands, percent(capacity), |_| percent(cap));
            let found: Vec<Bandwidth> = found.iter().map(|share| share.bandwidth).collect();
            prop_assert!(found.iter().copied().sum::<Bandwidth>() <= percent(capacity));
            for user in 0..4 {
                let of_user = demands.iter().zip(&found).filter(|(demand, _)| demand.user == user);
                prop_assert!(of_user.map(|(_, share)| *share).sum::<Bandwidth>() <= percent(cap));
            }
            for (demand, share) in demands.iter().zip(&found) {
                prop_assert!(demand.least <= *share && *share <= demand.most);
            }
        }
    }
}
