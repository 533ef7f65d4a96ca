//! The shipped experiments.

/// Names and texts of the shipped experiments.
pub const EXPERIMENTS: [(&str, &str); 33] = [
    ("quick", include_str!("../../../experiments/quick.toml")),
    ("standard", include_str!("../../../experiments/standard.toml")),
    ("lab", include_str!("../../../experiments/lab.toml")),
    ("gate", include_str!("../../../experiments/gate.toml")),
    ("costs", include_str!("../../../experiments/costs.toml")),
    ("costs-ipc", include_str!("../../../experiments/costs-ipc.toml")),
    ("costs-quick", include_str!("../../../experiments/costs-quick.toml")),
    ("costs-file", include_str!("../../../experiments/costs-file.toml")),
    ("clocks", include_str!("../../../experiments/clocks.toml")),
    ("preemption", include_str!("../../../experiments/preemption.toml")),
    ("papers/latency-method", include_str!("../../../experiments/papers/latency-method.toml")),
    (
        "papers/latency-method-guests",
        include_str!("../../../experiments/papers/latency-method-guests.toml"),
    ),
    ("papers/clock-overhead", include_str!("../../../experiments/papers/clock-overhead.toml")),
    ("papers/memory-transfer", include_str!("../../../experiments/papers/memory-transfer.toml")),
    ("papers/file-read", include_str!("../../../experiments/papers/file-read.toml")),
    ("papers/display", include_str!("../../../experiments/papers/display.toml")),
    ("papers/playback", include_str!("../../../experiments/papers/playback.toml")),
    ("papers/midi-output", include_str!("../../../experiments/papers/midi-output.toml")),
    ("papers/reserves", include_str!("../../../experiments/papers/reserves.toml")),
    ("papers/address-spaces", include_str!("../../../experiments/papers/address-spaces.toml")),
    (
        "papers/address-spaces-guests",
        include_str!("../../../experiments/papers/address-spaces-guests.toml"),
    ),
    ("papers/reserves-receive", include_str!("../../../experiments/papers/reserves-receive.toml")),
    ("papers/basic-costs", include_str!("../../../experiments/papers/basic-costs.toml")),
    ("papers/tick-overhead", include_str!("../../../experiments/papers/tick-overhead.toml")),
    ("papers/tick-rates", include_str!("../../../experiments/papers/tick-rates.toml")),
    ("papers/frames", include_str!("../../../experiments/papers/frames.toml")),
    ("papers/frames-guests", include_str!("../../../experiments/papers/frames-guests.toml")),
    ("papers/quanta", include_str!("../../../experiments/papers/quanta.toml")),
    ("papers/quanta-guests", include_str!("../../../experiments/papers/quanta-guests.toml")),
    ("papers/billing", include_str!("../../../experiments/papers/billing.toml")),
    (
        "papers/installed-programs",
        include_str!("../../../experiments/papers/installed-programs.toml"),
    ),
    ("papers/timer-latency", include_str!("../../../experiments/papers/timer-latency.toml")),
    (
        "papers/timer-latency-guests",
        include_str!("../../../experiments/papers/timer-latency-guests.toml"),
    ),
];

/// The text of a shipped experiment.
pub fn find(name: &str) -> Option<&'static str> {
    EXPERIMENTS.iter().find(|(shipped, _)| *shipped == name).map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use tactus_model::experiment::{Experiment, Overrides};

    use super::*;

    #[test]
    fn every_shipped_experiment_has_a_plan_and_its_own_name() {
        for (name, text) in EXPERIMENTS {
            let experiment =
                Experiment::parse(text).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(experiment.name, name);
            assert!(!experiment.about.is_empty(), "{name} has no description");
            experiment
                .plan(&Overrides::default())
                .unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }

    #[test]
    fn every_file_in_the_folder_is_shipped() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
        let mut folders = vec![folder.clone()];
        while let Some(next) = folders.pop() {
            for entry in std::fs::read_dir(next).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let name = path.strip_prefix(&folder).unwrap().with_extension("");
                let name = name.to_str().unwrap();
                assert!(name == "default" || find(name).is_some(), "{name} is not shipped");
            }
        }
    }

    #[test]
    fn the_quick_experiment_takes_about_a_minute() {
        let plan =
            Experiment::parse(find("quick").unwrap()).unwrap().plan(&Overrides::default()).unwrap();
        let seconds = plan.estimate(&plan.turns()).as_secs_f64();
        assert!((30.0..90.0).contains(&seconds), "{seconds} s");
    }
}
