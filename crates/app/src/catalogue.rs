//! What a person can name: experiments, loads, policies and settings.

use serde::Serialize;
use tactus_lab::shipped;
use tactus_model::experiment::{DEFAULTS, Experiment, Overrides};
use tactus_model::load::Load;
use tactus_model::policy::Scheduling;
use tactus_model::settings::SETTINGS;
use tactus_model::time::Nanos;

use crate::Result;
use crate::error::OrError;

/// Something that a person can name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// Its name, or its form, in which words in capitals stand for values.
    pub name: String,
    /// What it is, in a sentence.
    pub about: String,
    /// The default values of a setting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Vec<String>>,
    /// The number of cells of an experiment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cells: Option<usize>,
    /// The estimated duration of an experiment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Nanos>,
}

impl Entry {
    fn of((name, about): (&str, &str)) -> Self {
        let (name, about) = (name.to_owned(), about.to_owned());
        Self { name, about, default: None, cells: None, estimate: None }
    }
}

/// The shipped experiments.
///
/// # Errors
/// A shipped experiment is wrong, which a test excludes.
pub fn experiments() -> Result<Vec<Entry>> {
    let entry = |(name, text): &(&str, &str)| {
        let experiment = Experiment::parse(text)?;
        let plan = experiment.plan(&Overrides::default())?;
        Ok(Entry {
            cells: Some(plan.cells.len()),
            estimate: Some(plan.estimate(&plan.turns())),
            ..Entry::of((name, &experiment.about))
        })
    };
    shipped::EXPERIMENTS.iter().map(entry).collect()
}

/// The loads.
pub fn loads() -> Vec<Entry> {
    Load::forms().into_iter().map(Entry::of).collect()
}

/// The loads of the experiment `quick`.
///
/// # Errors
/// The shipped experiment is wrong, which a test excludes.
pub fn quick_loads() -> Result<Vec<Load>> {
    let quick = crate::plan::read("quick")?;
    let loads = quick.settings().values("load").unwrap_or_default();
    loads.iter().map(|load| load.parse().or_internal()).collect()
}

/// The scheduling policies of probes and loads.
pub fn policies() -> Vec<Entry> {
    Scheduling::FORMS.into_iter().map(Entry::of).collect()
}

/// The settings of a cell.
///
/// # Errors
/// The embedded defaults are wrong, which a test excludes.
pub fn settings() -> Result<Vec<Entry>> {
    let defaults = Experiment::parse(DEFAULTS)?;
    let default = |name: &str| defaults.settings().values(name).map(<[String]>::to_vec);
    let entries = SETTINGS.iter().map(|setting| Entry {
        default: default(setting.name),
        ..Entry::of((setting.name, setting.about))
    });
    Ok(entries.collect())
}
