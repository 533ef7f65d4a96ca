//! Plans of tasks, from the text to the answer.

use tactus_admission::{Admission, Plan};

use crate::seeds;

/// The plans of the tests.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    seeds::files("tests/data/admission", &[".toml"])
}

/// Parses a plan and answers it, as text too.
pub(crate) fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(plan) = Plan::parse(text) else { return };
    let admission = Admission::of(&plan);
    assert_eq!(admission.tasks.len(), plan.tasks.len());
    tactus_report::admission_text(&plan, &admission, &[], &tactus_report::TableOptions::default());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seeds_are_plans() {
        for seed in seeds() {
            Plan::parse(std::str::from_utf8(&seed).unwrap()).unwrap();
        }
    }
}
