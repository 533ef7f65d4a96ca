//! The rule by which a gate judges one kernel against another.

mod allowance;

use serde::{Deserialize, Serialize};

pub use allowance::{Allowance, NotAnAllowance};

/// The definition of a difference, and which differences a gate refuses.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GateRule {
    /// Differences up to this count as the same.
    pub allowance: Allowance,
    /// The probability of any false alarm among all comparisons of equal kernels, above 0 and up to
    /// [`GateRule::MOST_FALSE_ALARMS`].
    pub false_alarms: f64,
    /// Compare paths only, not tails: fewer figures need fewer seeds.
    pub paths_only: bool,
    /// Also refuse figures that became less.
    pub refuse_any_difference: bool,
}

impl GateRule {
    /// The default probability of a false alarm: the gate refuses one in a hundred changes
    /// that have no effect.
    pub const FALSE_ALARMS: f64 = 0.01;

    /// The greatest probability of a false alarm.
    pub const MOST_FALSE_ALARMS: f64 = 0.5;

    /// Whether the probability and the allowed share are in their ranges, which a file does not
    /// ensure.
    pub fn is_in_range(&self) -> bool {
        self.false_alarms > 0.0
            && self.false_alarms <= Self::MOST_FALSE_ALARMS
            && (0.0..=1.0).contains(&self.allowance.share)
    }
}

impl Default for GateRule {
    fn default() -> Self {
        Self {
            allowance: Allowance::DEFAULT,
            false_alarms: Self::FALSE_ALARMS,
            paths_only: false,
            refuse_any_difference: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_of_a_file_may_be_out_of_range() {
        let rule = GateRule::default();
        assert!(rule.is_in_range());
        for false_alarms in [0.0, -0.01, 0.51] {
            assert!(!GateRule { false_alarms, ..rule }.is_in_range(), "{false_alarms}");
        }
        let allowance = Allowance { share: 1.01, instructions: 0 };
        assert!(!GateRule { allowance, ..rule }.is_in_range());
    }
}
