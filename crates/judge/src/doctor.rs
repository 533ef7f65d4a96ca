//! Whether a machine is fit to be measured: each fact that decides timing, why
//! it matters, what it does to a measurement, and the command that mends it.

mod finding;

use tactus_model::facts::MachineFacts;

pub use finding::{Finding, State};

/// Examines a machine, the worst finding first.
pub fn examine(_facts: &MachineFacts) -> Vec<Finding> {
    Vec::new()
}
