//! Experiment files, from the text to the turns.

use tactus_model::experiment::{Experiment, Overrides};

use crate::seeds;

/// The shipped experiments.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let papers = seeds::files("experiments/papers", &[".toml"]);
    seeds::files("experiments", &[".toml"]).into_iter().chain(papers).collect()
}

/// Parses an experiment, and its plan if it is valid.
pub(crate) fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(experiment) = Experiment::parse(text) else { return };
    let Ok(plan) = experiment.plan(&Overrides::default()) else { return };
    assert_eq!(plan.labels().len(), plan.cells.len());
    // The number of turns is limited, but building all of them takes time.
    let turns = plan.cells.len() as u64 * u64::from(plan.rounds);
    if turns < 10_000 {
        assert_eq!(plan.turns().len() as u64, turns);
        let _ = plan.estimate(&plan.turns());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seeds_have_plans() {
        for seed in seeds() {
            let experiment = Experiment::parse(std::str::from_utf8(&seed).unwrap()).unwrap();
            experiment.plan(&Overrides::default()).unwrap();
        }
    }
}
