//! Experiments, the named plans of cells, and their TOML form.
//!
//! ```
//! use tactus_model::experiment::{Experiment, Overrides};
//!
//! let text = r#"
//!     name = "two"
//!     rounds = 3
//!     [settings]
//!     load = "compute:2"
//!     policy = ["other", "fifo:90"]
//! "#;
//! let plan = Experiment::parse(text).unwrap().plan(&Overrides::default()).unwrap();
//! assert_eq!(plan.cells.len(), 2);
//! assert_eq!(plan.labels(), ["other", "fifo:90"]);
//! ```

mod estimate;

use serde::{Deserialize, Serialize};
use toml::de::{DeTable, DeValue};

use crate::cell::{Cell, Inconsistent, Target};
use crate::cost::Operation;
use crate::gate_rule::GateRule;
use crate::guest::GuestTime;
use crate::label::labels;
use crate::load::LoadPlan;
use crate::place::{Place, WrongAt, scalar};
use crate::probe::ProbeKind;
use crate::random::SplitMix64;
use crate::settings::{Layer, find};
use crate::text::UnknownWord;
use crate::time::Nanos;
use crate::until::{Aim, Until};

/// The defaults of every setting, with a comment on each.
pub const DEFAULTS: &str = include_str!("../../../experiments/default.toml");

/// A named plan of cells as the user writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Experiment {
    /// The experiment's name; runs are named after it.
    pub name: String,
    /// The purpose of the experiment, in a sentence.
    pub about: String,
    /// How many times every cell is measured.
    pub rounds: Option<u32>,
    /// The seed for the order of cells and for random intervals; chosen for each run if absent.
    pub seed: Option<u64>,
    /// The interval width that further rounds must reach; `None` adds no rounds.
    pub until: Option<Aim>,
    /// The time limit for further rounds; [`Until::LIMIT`] if absent.
    pub limit: Option<Nanos>,
    /// How time passes in the plan's guests; wall time if absent.
    pub guest_time: Option<GuestTime>,
    settings: Layer,
    matrices: Vec<Layer>,
}

/// Values from the command line that replace those of an experiment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// Values of settings.
    pub settings: Layer,
    /// The number of rounds.
    pub rounds: Option<u32>,
    /// The seed.
    pub seed: Option<u64>,
    /// The interval width that further rounds must reach.
    pub until: Option<Aim>,
    /// The time limit for further rounds.
    pub limit: Option<Nanos>,
    /// How time passes in guests.
    pub guest_time: Option<GuestTime>,
}

/// Why a text is not a valid experiment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadExperiment {
    /// It is not TOML.
    #[error("{0}")]
    Syntax(String),
    /// A key or a value is wrong.
    #[error(transparent)]
    At(#[from] WrongAt),
    /// Settings of a cell contradict each other.
    #[error(transparent)]
    Cell(#[from] Inconsistent),
    /// The setting does not apply to the probe of any cell.
    #[error("`{setting}` is a setting of the {probe} probe{}", of_an_operation(setting))]
    Idle {
        /// The setting.
        setting: &'static str,
        /// The kind of probe that has it.
        probe: ProbeKind,
    },
    /// The plan has too few or too many cells.
    #[error("the plan has {0} cells; the limit is {limit}, so split the experiment", limit = Plan::MAX_CELLS)]
    TooManyCells(usize),
    /// The number of rounds is zero or too large.
    #[error("rounds = {0} is out of range; write 1 to 10000")]
    Rounds(u32),
    /// `limit` is set without `until`.
    #[error(
        "limit = {0} limits the rounds that `until` adds, but `until` is not set; add it, e.g. until = \"p99.9:5%\""
    )]
    LimitAlone(Nanos),
    /// `limit` is zero.
    #[error("limit = \"0s\" leaves no time for further rounds; write a duration, e.g. 10min")]
    NoLimit,
    /// `guest-time` is set, but a cell runs on the host.
    #[error(
        "guest-time = \"{0}\" applies to guests only, but a cell is measured on the host; set a guest kernel for every cell, e.g. kernel = \"debian\""
    )]
    NoGuest(GuestTime),
}

/// The operations that have a setting of the cost probe; empty for other settings.
fn of_an_operation(setting: &str) -> String {
    let Ok(setting) = find(setting) else { return String::new() };
    let takes = |operation: &&Operation| setting.is_of(**operation);
    let taking: Vec<&str> = Operation::ALL.iter().filter(takes).map(|one| one.word()).collect();
    match taking.len() < Operation::ALL.len() {
        true => format!(" for operation = {}", taking.join(", ")),
        false => String::new(),
    }
}

const TOP_LEVEL_KEYS: [&str; 9] =
    ["name", "about", "rounds", "seed", "until", "limit", "guest-time", "settings", "matrix"];

impl Experiment {
    /// Reads an experiment from TOML. Unknown keys are rejected with the nearest known key.
    pub fn parse(text: &str) -> Result<Self, BadExperiment> {
        let document = DeTable::parse(text)
            .map_err(|error| BadExperiment::Syntax(error.to_string().trim_end().to_owned()))?;
        let mut experiment = Self {
            name: "unnamed".to_owned(),
            about: String::new(),
            rounds: None,
            seed: None,
            until: None,
            limit: None,
            guest_time: None,
            settings: Layer::default(),
            matrices: Vec::new(),
        };
        for (key, value) in document.get_ref() {
            let place = Place::new(text, key.span().start);
            let value = value.get_ref();
            match key.get_ref().as_ref() {
                "name" => experiment.name = name(place, value)?,
                "about" => experiment.about = place.string(value)?,
                "rounds" => experiment.rounds = Some(place.number(value)?),
                "seed" => experiment.seed = Some(place.number(value)?),
                "until" => experiment.until = Some(place.written(value)?),
                "limit" => experiment.limit = Some(place.written(value)?),
                "guest-time" => experiment.guest_time = Some(place.written(value)?),
                "settings" => experiment.settings = layer(place, value)?,
                "matrix" => experiment.matrices = layers(place, value)?,
                unknown => return Err(unknown_key(place, unknown).into()),
            }
        }
        Ok(experiment)
    }

    /// The values of `[settings]`.
    pub const fn settings(&self) -> &Layer {
        &self.settings
    }

    /// Leaves only these operations, each with the settings that the experiment has for it; those
    /// that no matrix measures have the settings of all.
    pub fn choose_operations(&mut self, chosen: &[String]) -> Result<(), String> {
        const NAME: &str = "operation";
        let mut unknown = chosen.to_vec();
        let mut matrices = Vec::new();
        for mut matrix in std::mem::take(&mut self.matrices) {
            let listed = matrix.values(NAME).unwrap_or_default();
            let both: Vec<String> =
                chosen.iter().filter(|one| listed.contains(one)).cloned().collect();
            if both.is_empty() {
                continue;
            }
            unknown.retain(|one| !both.contains(one));
            matrix.set(NAME, both)?;
            matrices.push(matrix);
        }
        for operation in unknown {
            let mut matrix = Layer::default();
            matrix.set(NAME, vec![operation])?;
            matrices.push(matrix);
        }
        self.matrices = matrices;
        Ok(())
    }

    /// Lays the experiment over the defaults and the overrides over both, and expands the axes
    /// into cells.
    ///
    /// The plan's seed is 0 if neither the experiment nor the overrides set it.
    pub fn plan(&self, overrides: &Overrides) -> Result<Plan, BadExperiment> {
        let defaults =
            Self::parse(DEFAULTS).expect("the embedded defaults are valid, as a test checks");
        let base = defaults.settings.overridden_by(&self.settings);
        let unchanged = [Layer::default()];
        let matrices = if self.matrices.is_empty() { &unchanged[..] } else { &self.matrices };
        let mut cells: Vec<Cell> = Vec::new();
        for matrix in matrices {
            let layer = base.overridden_by(matrix).overridden_by(&overrides.settings);
            if layer.combinations() > Plan::MAX_CELLS {
                return Err(BadExperiment::TooManyCells(layer.combinations()));
            }
            for mut cell in layer.cells() {
                cell.check()?;
                if cell.length() > Cell::LENGTH_MAX {
                    return Err(Inconsistent::TooLong(cell.length()).into());
                }
                // Without a load, its scheduling does not distinguish cells.
                if cell.load.load.is_idle() {
                    cell.load = LoadPlan::IDLE;
                }
                // Overriding an axis of two matrices can make some of their cells equal.
                if !cells.contains(&cell) {
                    cells.push(cell);
                }
            }
        }
        // Another probe or other operations may leave settings of the experiment's own without use.
        let has_own =
            ["operation", "probe"].iter().all(|choice| overrides.settings.values(choice).is_none());
        let own = self.matrices.iter().chain([&self.settings]).filter(|_| has_own);
        for layer in own.chain([&overrides.settings]) {
            if let Some((setting, probe)) = layer.idle_in(&cells, &defaults.settings) {
                return Err(BadExperiment::Idle { setting, probe });
            }
        }
        if cells.len() > Plan::MAX_CELLS {
            return Err(BadExperiment::TooManyCells(cells.len()));
        }
        let guest_time = overrides.guest_time.or(self.guest_time);
        for cell in &mut cells {
            match (&mut cell.target, guest_time) {
                (Target::Guest(guest), Some(time)) => guest.time = time,
                // Exact and wall-time figures must not appear in one table.
                (Target::Host, Some(time @ GuestTime::Exact(_))) => {
                    return Err(BadExperiment::NoGuest(time));
                }
                (_, None) | (Target::Host, Some(GuestTime::Wall)) => {}
            }
        }
        let mut rounds = overrides.rounds.or(self.rounds).or(defaults.rounds).unwrap_or(1);
        if !(1..=Plan::MAX_ROUNDS).contains(&rounds) {
            return Err(BadExperiment::Rounds(rounds));
        }
        let limit = overrides.limit.or(self.limit);
        let until = match (overrides.until.or(self.until), limit) {
            (_, Some(Nanos::ZERO)) => return Err(BadExperiment::NoLimit),
            (None, Some(limit)) => return Err(BadExperiment::LimitAlone(limit)),
            (aim, limit) => aim.map(|aim| Until { aim, limit: limit.unwrap_or(Until::LIMIT) }),
        };
        if until.is_some() {
            rounds = rounds.max(Until::FEWEST_ROUNDS);
        }
        Ok(Plan {
            name: self.name.clone(),
            about: self.about.clone(),
            rounds,
            seed: overrides.seed.or(self.seed).unwrap_or(0),
            until,
            gate: None,
            cells,
        })
    }
}

fn unknown_key(place: Place<'_>, key: &str) -> WrongAt {
    let reason = if find(key).is_ok() {
        format!("`{key}` is a setting; put it under [settings]")
    } else {
        UnknownWord::new("key", key, &TOP_LEVEL_KEYS).to_string()
    };
    place.error(reason)
}

fn name(place: Place<'_>, value: &DeValue<'_>) -> Result<String, WrongAt> {
    let name = place.string(value)?;
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
    if name.is_empty() || !name.chars().all(allowed) {
        return Err(place.error(format!(
            "name: `{name}` is empty or contains a character other than letters, digits, `-`, `_`, `.` and `/`"
        )));
    }
    // Runs are named after experiments, and files after runs.
    if name.split('/').any(|part| part.is_empty() || part.starts_with('.')) {
        return Err(place
            .error(format!("name: a part of `{name}` between `/` is empty or begins with `.`")));
    }
    Ok(name)
}

fn layer(place: Place<'_>, value: &DeValue<'_>) -> Result<Layer, WrongAt> {
    let DeValue::Table(table) = value else {
        return Err(place.error("this value must be a table of settings"));
    };
    let mut layer = Layer::default();
    for (key, value) in table {
        let place = place.at(key.span().start);
        let values = match value.get_ref() {
            DeValue::Array(values) => {
                values.iter().map(|value| scalar(value.get_ref())).collect::<Option<Vec<_>>>()
            }
            single => scalar(single).map(|text| vec![text]),
        };
        let values = values.ok_or_else(|| {
            place.error(format!(
                "{}: the value must be a string, a number, a boolean or a list of these",
                key.get_ref()
            ))
        })?;
        layer.set(key.get_ref(), values).map_err(|reason| place.error(reason))?;
    }
    Ok(layer)
}

fn layers(place: Place<'_>, value: &DeValue<'_>) -> Result<Vec<Layer>, WrongAt> {
    let DeValue::Array(tables) = value else {
        return Err(place.error("each matrix must be a table of its own: [[matrix]]"));
    };
    tables.iter().map(|table| layer(place.at(table.span().start), table.get_ref())).collect()
}

/// The resolved cells of an experiment, with the seed of their order: the input of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The experiment's name.
    pub name: String,
    /// The purpose of the experiment.
    pub about: String,
    /// How many times every cell is measured; grows while `until` adds rounds.
    pub rounds: u32,
    /// The seed of the order and of random intervals.
    pub seed: u64,
    /// When to stop adding rounds; `None` adds none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Until>,
    /// The rule of the gate that measures it; `None` for other runs, and those of versions that did not
    /// keep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<GateRule>,
    /// The cells, in the order of the tables.
    pub cells: Vec<Cell>,
}

/// One turn in a plan: a cell in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Turn {
    /// The round, counted from 0.
    pub round: u32,
    /// The index of the cell in the plan.
    pub cell: usize,
}

impl Plan {
    /// The maximum number of cells in a plan.
    pub const MAX_CELLS: usize = 10_000;
    /// The maximum number of rounds in a plan.
    pub const MAX_ROUNDS: u32 = 10_000;

    /// The cells' names, built from the settings in which they differ.
    pub fn labels(&self) -> Vec<String> {
        labels(&self.cells)
    }

    /// Every turn in the order of execution: round by round, each round in its own random
    /// order, which depends on the seed alone. A plan with more rounds begins with the same
    /// turns.
    pub fn turns(&self) -> Vec<Turn> {
        let mut random = SplitMix64::new(self.seed);
        (0..self.rounds)
            .flat_map(|round| {
                let mut cells: Vec<usize> = (0..self.cells.len()).collect();
                random.shuffle(&mut cells);
                cells.into_iter().map(move |cell| Turn { round, cell })
            })
            .collect()
    }

    /// The turns of one round.
    pub fn turns_of_round(&self, round: u32) -> Vec<Turn> {
        self.turns().into_iter().filter(|turn| turn.round == round).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_that_cannot_run_in_a_guest_is_rejected_before_the_run() {
        let plan = |load: &str, target: &str| {
            let text = format!("name = \"x\"\n[settings]\nload = \"{load}\"\n{target}");
            Experiment::parse(&text).unwrap().plan(&Overrides::default())
        };
        let error = plan("disk", "kernel = \"debian\"").unwrap_err().to_string();
        assert!(error.contains("use `file`"), "{error}");
        assert!(plan("file", "kernel = \"debian\"").is_ok());
        assert!(plan("disk", "").is_ok());
    }

    fn check_refused(text: &str, expected: &str) {
        let error = Experiment::parse(text)
            .and_then(|experiment| experiment.plan(&Overrides::default()))
            .unwrap_err()
            .to_string();
        assert!(error.contains(expected), "{error}\n  does not contain: {expected}");
    }

    #[test]
    fn the_embedded_defaults_set_every_setting() {
        let defaults = Experiment::parse(DEFAULTS).unwrap();
        for setting in crate::settings::SETTINGS {
            assert!(defaults.settings.values(setting.name).is_some(), "{}", setting.name);
        }
        defaults.plan(&Overrides::default()).unwrap();
    }

    #[test]
    fn wrong_keys_and_values_are_rejected_with_their_line() {
        check_refused("nmae = \"x\"", "line 1: unknown key `nmae` (did you mean `name`?)");
        check_refused(
            "\n[settings]\nintervall = \"1ms\"",
            "line 3: unknown setting `intervall` (did you mean `interval`?)",
        );
        check_refused(
            "[settings]\npolicy = [\"fifo:90\", \"fifo:0\"]",
            "line 2: policy: `0` is not a real-time priority",
        );
        check_refused("[settings]\nload = []", "the list is empty");
        check_refused("interval = \"1ms\"", "put it under [settings]");
        check_refused("rounds = 0", "rounds = 0 is out of range");
        check_refused("rounds = -1", "non-negative integer");
        check_refused("name = \"a b\"", "name: `a b` is empty or contains a character");
        check_refused("name = \"\"", "name: `` is empty");
        check_refused("name = \"../up\"", "begins with `.`");
        check_refused("name = \"/root\"", "between `/` is empty");
    }

    #[test]
    fn contradicting_settings_are_rejected_with_a_fix() {
        check_refused(
            "[settings]\nsleep = \"futex\"\nclock = \"tai\"",
            "it supports: monotonic, realtime",
        );
        check_refused("[settings]\nwork = \"continuous\"", "use sleep = \"signal-handler\"");
        check_refused("[settings]\nsleep = \"itimer\"", "add tasks = \"processes\"");
        check_refused("[settings]\nduration = \"1us\"", "make it at least 1ms");
    }

    #[test]
    fn a_setting_that_applies_to_no_cell_is_rejected() {
        check_refused("[settings]\ntick = 100", "`tick` is a setting of the frames probe");
        check_refused(
            "[settings]\nprobe = \"frames\"\ninterval = \"2ms\"",
            "`interval` is a setting of the timer probe",
        );
        check_refused("[settings]\nprobe = \"frames\"\nframe-rate = 0", "`0` is not a rate");
        check_refused(
            "[settings]\nquantum = \"6\"",
            "e.g. 60ms, or a number of ticks, e.g. 6ticks",
        );
        check_refused(
            "[settings]\nquantum = \"6ticks\"\npolicy = \"fifo:1\"",
            "applies only to tasks of the rr class",
        );
        check_refused("[settings]\nnumbers = 64", "`numbers` is a setting of the sort probe");
        check_refused("[settings]\nprobe = \"sort\"\nnumbers = 1", "write 16 to 16777216");
        check_refused("[settings]\nprobe = \"sort\"\nwork = \"5%\"", "never sleeps; remove it");
    }

    #[test]
    fn a_setting_multiplies_only_the_cells_it_applies_to() {
        let text = "[settings]\nprobe = [\"timer\", \"frames\"]\nframe-rate = [50, 59.94]\ntick = [\"none\", 100]\ninterval = \"2ms\"";
        let plan = Experiment::parse(text).unwrap().plan(&Overrides::default()).unwrap();
        assert_eq!(
            plan.labels(),
            [
                "timer",
                "frames · frame-rate 50 · tick none",
                "frames · frame-rate 50 · tick 100",
                "frames · frame-rate 59.94 · tick none",
                "frames · frame-rate 59.94 · tick 100",
            ]
        );
        let json = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<Plan>(&json).unwrap(), plan);
    }

    #[test]
    fn too_many_cells_are_rejected_before_expansion() {
        let axis = |name: &str| {
            let values: Vec<String> = (1..=100).map(|n| format!("\"{n}ms\"")).collect();
            format!("{name} = [{}]\n", values.join(","))
        };
        let axes = ["interval", "align", "offset", "timer-slack", "warmup"].map(axis).concat();
        check_refused(&format!("[settings]\n{axes}"), "10000000000 cells");
    }

    #[test]
    fn until_sets_a_limit_and_enough_rounds() {
        let plan = |text: &str, overrides: &Overrides| {
            Experiment::parse(text).unwrap().plan(overrides).unwrap()
        };
        let none = Overrides::default();
        let aim: Aim = "p99.9:5%".parse().unwrap();
        let planned = plan("until = \"p99.9:5%\"\nrounds = 2", &none);
        assert_eq!(planned.until, Some(Until { aim, limit: Until::LIMIT }));
        assert_eq!(planned.rounds, Until::FEWEST_ROUNDS);
        let planned = plan("until = \"p50:1%\"\nlimit = \"1min\"\nrounds = 5", &none);
        assert_eq!((planned.rounds, planned.until.unwrap().limit), (5, Nanos::from_secs(60)));
        let over = Overrides { until: Some(aim), limit: Some(Nanos::from_secs(7)), ..none };
        let planned = plan("until = \"p50:1%\"\nlimit = \"1min\"", &over);
        assert_eq!(planned.until, Some(Until { aim, limit: Nanos::from_secs(7) }));
        check_refused("until = \"max:5%\"", "line 1: the interval of a maximum does not narrow");
        check_refused("\nuntil = \"p99\"", "line 2: `p99` is not an interval width");
        check_refused("limit = \"1min\"", "`until` is not set");
        check_refused("\nlimit = \"ten\"", "line 2: `ten` is not a duration");
    }

    #[test]
    fn numbers_may_be_written_as_toml_allows() {
        for rounds in ["16", "+16", "0x10", "0b1_0000", "1_6"] {
            let experiment = Experiment::parse(&format!("rounds = {rounds}")).unwrap();
            assert_eq!(experiment.rounds, Some(16), "{rounds}");
        }
    }

    #[test]
    fn kernels_are_an_axis_and_guest_time_belongs_to_the_plan() {
        let text = "guest-time = \"exact:125\"\n[settings]\nkernel = [\"debian-rt\", \"debian:preempt=none\"]";
        let experiment = Experiment::parse(text).unwrap();
        let plan = experiment.plan(&Overrides::default()).unwrap();
        assert_eq!(plan.labels(), ["debian-rt", "debian:preempt=none"]);
        let times = |plan: &Plan| -> Vec<String> {
            plan.cells.iter().map(|cell| cell.target.guest().unwrap().time.to_string()).collect()
        };
        assert_eq!(times(&plan), ["exact:125"; 2]);
        let wall = Overrides { guest_time: Some(GuestTime::Wall), ..Overrides::default() };
        assert_eq!(times(&experiment.plan(&wall).unwrap()), ["wall"; 2]);
        let json = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<Plan>(&json).unwrap(), plan);
    }

    #[test]
    fn exact_time_needs_a_guest_in_every_cell() {
        check_refused("guest-time = \"exact\"", "a cell is measured on the host");
        let both = "guest-time = \"exact\"\n[settings]\nkernel = [\"debian\", \"host\"]";
        check_refused(both, "a cell is measured on the host");
        check_refused("\nguest-time = \"exakt\"", "line 2: `exakt` is not a guest time");
        check_refused("[settings]\nkernel = \"debain\"", "did you mean `debian`?");
    }

    #[test]
    fn another_probe_may_leave_settings_of_the_experiment_without_use() {
        let text = "[[matrix]]\nload = [\"idle\", \"file\"]\n\
                    [[matrix]]\nprobe = \"sort\"\nnumbers = 64\nload = \"idle\"";
        let mut overrides = Overrides::default();
        overrides.settings.set("probe", vec!["timer".to_owned()]).unwrap();
        let plan = Experiment::parse(text).unwrap().plan(&overrides).unwrap();
        assert_eq!(plan.labels(), ["idle", "file"], "the sort cell became the idle cell");
        overrides.settings.set("numbers", vec!["64".to_owned()]).unwrap();
        let refused = Experiment::parse(text).unwrap().plan(&overrides).unwrap_err();
        assert!(refused.to_string().contains("`numbers` is a setting of the sort probe"));
    }

    #[test]
    fn overrides_replace_an_axis_in_every_matrix() {
        let text = "[settings]\npolicy = [\"other\", \"rr:5\"]\n[[matrix]]\nload = \"compute\"\n[[matrix]]\nload = [\"idle\", \"file\"]";
        let experiment = Experiment::parse(text).unwrap();
        assert_eq!(experiment.plan(&Overrides::default()).unwrap().cells.len(), 6);
        let mut overrides = Overrides::default();
        overrides.settings.set("load", vec!["memory".to_owned()]).unwrap();
        let plan = experiment.plan(&overrides).unwrap();
        assert_eq!(plan.labels(), ["other", "rr:5"], "equal cells are merged");
    }

    #[test]
    fn turns_depend_on_the_seed_alone_and_contain_each_cell_once_per_round() {
        let text = "rounds = 3\nseed = 7\n[settings]\ninterval = [\"1ms\",\"2ms\",\"3ms\",\"4ms\",\"5ms\"]";
        let plan = Experiment::parse(text).unwrap().plan(&Overrides::default()).unwrap();
        let turns = plan.turns();
        assert_eq!(turns, plan.turns());
        for round in turns.chunks(5) {
            let mut cells: Vec<usize> = round.iter().map(|turn| turn.cell).collect();
            cells.sort_unstable();
            assert_eq!(cells, [0, 1, 2, 3, 4]);
        }
        assert_ne!(turns, Plan { seed: 8, ..plan.clone() }.turns());
        let longer = Plan { rounds: 4, ..plan.clone() };
        assert_eq!(longer.turns()[..15], turns);
        assert_eq!(longer.turns()[15..], longer.turns_of_round(3));
    }

    #[test]
    fn every_setting_parses_its_own_output() {
        let text = "[settings]\nprobe = [\"timer\", \"frames\", \"sort\"]";
        for cell in Experiment::parse(text).unwrap().plan(&Overrides::default()).unwrap().cells {
            for setting in crate::settings::SETTINGS {
                if !setting.applies_to(&cell.probe) {
                    continue;
                }
                let mut copy = cell.clone();
                (setting.set)(&mut copy, &(setting.get)(&cell)).unwrap();
                assert_eq!(copy, cell, "{}", setting.name);
            }
        }
    }
}
