//! From an experiment and what is laid over it to a plan.

use std::fs;

use tactus_judge::purpose::Purpose;
use tactus_lab::shipped;
use tactus_model::experiment::{DEFAULTS, Experiment, Overrides, Plan};
use tactus_model::settings::Layer;
use tactus_model::time::Realtime;

use crate::error::OrError;
use crate::{Error, ErrorKind, Result};

/// A seed to print and to type again: short, and another each time.
pub fn new_seed() -> u64 {
    tactus_sys::clock::now::<Realtime>().as_nanos() / 1000 % 1_000_000
}

/// Plans an experiment by its file or its shipped name, with `overrides` laid over it.
/// Without a name it is `quick`, or one cell of the settings that were given, at the period
/// of `purpose` where they give none. A seed is chosen where none is given.
///
/// # Errors
/// There is no such experiment, or it is wrong.
pub fn plan(
    name: Option<&str>,
    mut overrides: Overrides,
    purpose: Option<Purpose>,
) -> Result<Plan> {
    let (name, mut experiment) = match name {
        Some(name) => (name, read(name)?),
        None => unnamed(&mut overrides.settings, purpose)?,
    };
    if experiment.name == "default" {
        "measure".clone_into(&mut experiment.name);
    }
    overrides.seed = Some(overrides.seed.or(experiment.seed).unwrap_or_else(new_seed));
    lay_over(name, &experiment, &overrides)
}

/// What is meant when no experiment is named.
fn unnamed(settings: &mut Layer, purpose: Option<Purpose>) -> Result<(&'static str, Experiment)> {
    const NAME: &str = "the options";
    let is_quick = *settings == Layer::default();
    if let Some(purpose) = purpose.filter(|_| settings.values("interval").is_none()) {
        settings.set("interval", vec![purpose.period().to_string()]).map_err(Error::usage)?;
    }
    let quick = shipped::find("quick").filter(|_| is_quick);
    let experiment = Experiment::parse(quick.unwrap_or(DEFAULTS));
    Ok((NAME, experiment.or_error(ErrorKind::Usage, || NAME.to_owned())?))
}

/// Reads a shipped experiment, or that of a file.
pub(crate) fn read(name: &str) -> Result<Experiment> {
    let parsed = match shipped::find(name) {
        Some(text) => Experiment::parse(text),
        None => Experiment::parse(&read_file(name)?),
    };
    parsed.or_error(ErrorKind::Usage, || name.to_owned())
}

fn read_file(name: &str) -> Result<String> {
    let names: Vec<&str> = shipped::EXPERIMENTS.iter().map(|(name, _)| *name).collect();
    fs::read_to_string(name).or_error(ErrorKind::Usage, || {
        let nearest = tactus_model::text::nearest(name, &names)
            .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        let names = names.join(", ");
        format!("`{name}` is neither a file nor a shipped experiment ({names}){nearest}")
    })
}

/// Plans an experiment with `overrides` laid over it.
pub(crate) fn lay_over(name: &str, experiment: &Experiment, overrides: &Overrides) -> Result<Plan> {
    experiment.plan(overrides).or_error(ErrorKind::Usage, || name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(name: &str, value: &str) -> Overrides {
        let mut settings = Layer::default();
        settings.set(name, vec![value.to_owned()]).unwrap();
        Overrides { settings, ..Overrides::default() }
    }

    #[test]
    fn without_a_name_it_is_quick_or_the_cell_of_the_settings() {
        let quick = plan(None, Overrides::default(), None).unwrap();
        assert_eq!(quick.name, "quick");
        let one = plan(None, settings("policy", "fifo:90"), None).unwrap();
        assert_eq!((one.name.as_str(), one.cells.len()), ("measure", 1));
    }

    #[test]
    fn a_purpose_gives_its_period_where_no_interval_is_given() {
        let purpose = Some("2ms:100us".parse().unwrap());
        let interval = |plan: Plan| plan.cells[0].probe.timer().interval.mean().to_string();
        assert_eq!(interval(plan(None, settings("policy", "other"), purpose).unwrap()), "2ms");
        assert_eq!(interval(plan(None, settings("interval", "5ms"), purpose).unwrap()), "5ms");
    }

    #[test]
    fn an_unknown_experiment_is_refused_with_the_nearest_name() {
        let error = plan(Some("quik"), Overrides::default(), None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert!(error.to_string().contains("did you mean `quick`?"), "{error}");
    }
}
