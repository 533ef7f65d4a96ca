//! From an experiment and its overrides to a plan.

use std::cell::LazyCell;

use tactus_judge::purpose::Purpose;
use tactus_lab::shipped;
use tactus_model::bytes::Bytes;
use tactus_model::cell::Cell;
use tactus_model::cost::{CostProbe, Parameter};
use tactus_model::cpus::{CpuChoice, CpuList};
use tactus_model::experiment::{DEFAULTS, Experiment, Overrides, Plan};
use tactus_model::guest::GuestTime;
use tactus_model::limits::EXPERIMENT_BYTES;
use tactus_model::settings::{Layer, SETTINGS};
use tactus_model::time::Realtime;

use crate::error::OrError;
use crate::places::facts;
use crate::{Error, ErrorKind, Result, files};

/// A new seed, short enough to type again.
pub fn new_seed() -> u64 {
    tactus_sys::clock::now::<Realtime>().as_nanos() / 1000 % 1_000_000
}

/// The seed of a plan: that of the overrides or of the experiment, or a new one.
pub(crate) fn seed(experiment: &Experiment, overrides: &Overrides) -> u64 {
    overrides.seed.or(experiment.seed).unwrap_or_else(new_seed)
}

/// Plans an experiment by its file or its shipped name, with `overrides`.
///
/// Without a name, plans `quick`, or one cell of the given settings; its interval is the period
/// of `purpose` unless the settings contain an interval. Without a seed, chooses one.
///
/// # Errors
/// There is no such experiment, or it is wrong.
pub fn plan(
    name: Option<&str>,
    mut overrides: Overrides,
    purpose: Option<Purpose>,
) -> Result<Plan> {
    let mut experiment = match name {
        Some(name) => read(name)?,
        None => unnamed(&mut overrides.settings, purpose)?,
    };
    if experiment.name == "default" {
        "measure".clone_into(&mut experiment.name);
        // The description is that of the defaults, not of the settings that replace them.
        experiment.about.clear();
    }
    overrides.seed = Some(seed(&experiment, &overrides));
    match name {
        Some(name) => plan_of(name, &experiment, &overrides),
        None => {
            let plan = experiment.plan(&overrides)?;
            require_machine(&plan.cells, &overrides.settings)?;
            Ok(plan)
        }
    }
}

/// The experiment without a name.
fn unnamed(settings: &mut Layer, purpose: Option<Purpose>) -> Result<Experiment> {
    let is_quick = *settings == Layer::default();
    if let Some(purpose) = purpose.filter(|_| settings.values("interval").is_none()) {
        settings.set("interval", vec![purpose.period().to_string()]).map_err(Error::usage)?;
    }
    let quick = shipped::find("quick").filter(|_| is_quick);
    Experiment::parse(quick.unwrap_or(DEFAULTS)).or_internal()
}

/// Reads a shipped experiment or a file.
pub(crate) fn read(name: &str) -> Result<Experiment> {
    let parsed = match shipped::find(name) {
        Some(text) => Experiment::parse(text),
        None => {
            let shipped = shipped::EXPERIMENTS.iter().map(|(name, _)| *name);
            Experiment::parse(&files::read_named("experiment", name, EXPERIMENT_BYTES, shipped)?)
        }
    };
    parsed.or_error(ErrorKind::Usage, || format!("cannot read experiment `{name}`"))
}

/// Requires that this machine has what cells name: CPUs and memory.
///
/// # Errors
/// It lacks some of it.
pub(crate) fn require_machine(cells: &[Cell], settings: &Layer) -> Result<()> {
    require_cpus(cells, settings)?;
    let on_host = || cells.iter().filter(|cell| cell.target.guest().is_none());
    if on_host().all(|cell| cell.probe.cost().is_none()) {
        return Ok(());
    }
    let total = tactus_sys::memory::total();
    total.map_or(Ok(()), |total| on_host().try_for_each(|cell| require_memory(cell, total)))
}

/// Requires that the blocks of a cell's operation fit into this much memory.
fn require_memory(cell: &Cell, total: Bytes) -> Result<()> {
    let Some(cost) = cell.probe.cost() else { return Ok(()) };
    let (needed, most) = (cost.memory(), CostProbe::memory_max(total));
    if needed <= most {
        return Ok(());
    }
    let sizes = [(Parameter::Size, cost.size), (Parameter::WorkingSet, cost.working_set)];
    let largest = sizes.into_iter().filter(|(parameter, _)| cost.operation.takes(*parameter));
    let (setting, size) = largest.max_by_key(|(_, size)| *size).unwrap_or(sizes[0]);
    let memory_with = |size: Bytes| match setting {
        Parameter::Size => CostProbe { size, ..cost.clone() }.memory(),
        _ => CostProbe { working_set: size, ..cost.clone() }.memory(),
    };
    let smaller = (0..=size.get().max(1).ilog2()).rev().map(|bit| Bytes::new(1 << bit));
    let fits = smaller.into_iter().find(|size| memory_with(*size) <= most).unwrap_or(Bytes::new(1));
    let reason = format!(
        "{setting} = \"{size}\": {} would use {} MB of memory, and operations may use half of the {} MB of this machine or control group",
        cost.operation,
        needed.get() / 1_000_000,
        total.get() / 1_000_000
    );
    Err(Error::usage(reason).with_hint(format!("{setting} = \"{fits}\" fits")))
}

/// Requires that CPUs which cells on this machine name are online.
///
/// # Errors
/// A CPU does not exist or is offline.
pub(crate) fn require_cpus(cells: &[Cell], settings: &Layer) -> Result<()> {
    const NAMES: [&str; 2] = ["cpus", "load-cpus"];
    let given = NAMES.into_iter().flat_map(|name| {
        let values = settings.values(name).unwrap_or_default();
        values.iter().filter_map(move |value| Some((name, value.parse::<CpuChoice>().ok()?)))
    });
    let given: Vec<_> = given.collect();
    let online = LazyCell::new(|| facts().cpu.online);
    let mut checked = Vec::new();
    for cell in cells {
        let own = NAMES.into_iter().zip([cell.policy.cpus.clone(), cell.load.cpus.clone()]);
        for (name, choice) in own.chain(given.clone()) {
            let CpuChoice::These(list) = choice else { continue };
            let named = (name, list, cell.target.guest().map(|guest| guest.time));
            if !checked.contains(&named) {
                online.as_ref().map_or(Ok(()), |online| require_there(&named, online))?;
                checked.push(named);
            }
        }
    }
    Ok(())
}

/// Requires that the CPUs of a list exist where a cell is measured: in guests with this time, or on
/// this machine.
fn require_there(
    (setting, list, guest): &(&str, CpuList, Option<GuestTime>),
    online: &CpuList,
) -> Result<()> {
    let (there, whose) = match guest {
        None => (online.clone(), THIS_MACHINE),
        // A guest has as many CPUs as this machine, numbered from 0.
        Some(GuestTime::Wall) => ((0..online.len() as u32).collect(), "the CPUs of a guest are"),
        Some(GuestTime::Exact(_)) => {
            (std::iter::once(0).collect(), "the only CPU of a guest in deterministic time is")
        }
    };
    let setting = format!("{setting} = \"{list}\"");
    require_among(&setting, list, &there, whose)
}

/// Requires that the CPUs which an option names are online on this machine.
///
/// # Errors
/// A CPU does not exist or is offline.
pub fn require_online(option: &str, list: &CpuList) -> Result<()> {
    let Some(online) = facts().cpu.online else { return Ok(()) };
    require_among(&format!("`{option} {list}`"), list, &online, THIS_MACHINE)
}

/// The words before the CPUs that are online.
const THIS_MACHINE: &str = "the online CPUs of this machine are";

fn require_among(setting: &str, list: &CpuList, there: &CpuList, whose: &str) -> Result<()> {
    let missing = list.without(there);
    if missing.is_empty() {
        return Ok(());
    }
    let reason = match missing.len() {
        1 => format!("CPU {missing} does not exist or is offline"),
        _ => format!("CPUs {missing} do not exist or are offline"),
    };
    Err(Error::usage(format!("{setting}: {reason}")).with_hint(format!("{whose} {there}")))
}

/// Plans an experiment with `overrides`; errors name the experiment.
pub(crate) fn plan_of(name: &str, experiment: &Experiment, overrides: &Overrides) -> Result<Plan> {
    let plan = || -> Result<Plan> {
        let plan = experiment.plan(overrides)?;
        require_machine(&plan.cells, &overrides.settings)?;
        Ok(plan)
    };
    plan().or_error(ErrorKind::Usage, || format!("cannot plan experiment `{name}`"))
}

/// The command that measures `plan` again with another value of a setting; `None` if options cannot
/// express the plan, e.g. that of a file with several matrices.
pub(crate) fn command_with(plan: &Plan, setting: &'static str, value: &str) -> Option<String> {
    let shipped = shipped::find(&plan.name);
    let experiment = Experiment::parse(shipped.unwrap_or(DEFAULTS)).ok()?;
    let base = experiment.plan(&Overrides::default()).ok()?;
    let mut overrides = Overrides { rounds: Some(plan.rounds), ..Overrides::default() };
    let mut command = vec!["tactus measure".to_owned()];
    command.extend(shipped.map(|_| plan.name.clone()));
    for name in SETTINGS.iter().map(|setting| setting.name) {
        let values = values(&plan.cells, name);
        if values.is_empty() || values == self::values(&base.cells, name) {
            continue;
        }
        overrides.settings.set(name, values.clone()).ok()?;
        if name != setting {
            command.extend(values.iter().map(|value| format!("--{name} {}", shell_word(value))));
        }
    }
    // Only a command that gives the same cells is right.
    if experiment.plan(&overrides).ok()?.cells != plan.cells {
        return None;
    }
    if plan.until.is_none() && plan.rounds != base.rounds {
        command.push(format!("--rounds {}", plan.rounds));
    }
    command.extend(plan.until.map(|until| format!("--until {}", until.aim)));
    command.push(format!("--{setting} {value}"));
    Some(command.join(" "))
}

/// The values of a setting in these cells, each once.
fn values(cells: &[Cell], name: &str) -> Vec<String> {
    let mut values = Vec::new();
    for (_, value) in cells.iter().flat_map(Cell::settings).filter(|(found, _)| *found == name) {
        if !values.contains(&value) {
            values.push(value);
        }
    }
    values
}

/// A value as one word for a shell.
pub(crate) fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,@%:=".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
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
    fn blocks_beyond_memory_are_refused_with_a_size_that_fits() {
        let text = "[settings]\nprobe = \"cost\"\noperation = \"memory-copy\"\nsize = \"1GiB\"";
        let plan = Experiment::parse(text).unwrap().plan(&Overrides::default()).unwrap();
        let cell = &plan.cells[0];
        assert!(require_memory(cell, Bytes::new(4 << 30)).is_ok());
        let refused = require_memory(cell, Bytes::new(3_900_000_000)).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "size = \"1GiB\": memory-copy would use 2147 MB of memory, and operations may use half \
             of the 3900 MB of this machine or control group"
        );
        assert_eq!(refused.hint(), Some("size = \"512MiB\" fits"));
    }

    #[test]
    fn without_a_name_the_plan_is_quick_or_one_cell() {
        let quick = plan(None, Overrides::default(), None).unwrap();
        assert_eq!(quick.name, "quick");
        let one = plan(None, settings("policy", "fifo:90"), None).unwrap();
        assert_eq!((one.name.as_str(), one.cells.len()), ("measure", 1));
        assert_eq!(one.about, "", "the description of the defaults does not apply");
    }

    #[test]
    fn a_command_measures_the_same_cells_with_another_value() {
        let check = |name: Option<&str>, overrides: Overrides, expected: &str| {
            let plan = plan(name, overrides, None).unwrap();
            assert_eq!(command_with(&plan, "traced", "1s").as_deref(), Some(expected));
        };
        check(None, settings("traced", "0s"), "tactus measure --traced 1s");
        check(Some("quick"), settings("traced", "0s"), "tactus measure quick --traced 1s");
        let mut two = settings("policy", "fifo:90");
        two.settings.set("load", vec!["cmd:\"sleep 1\"".to_owned(), "file".to_owned()]).unwrap();
        two.rounds = Some(7);
        let expected = "tactus measure --load 'cmd:\"sleep 1\"' --load file --policy fifo:90 --rounds 7 \
                        --traced 1s";
        check(None, two, expected);
    }

    #[test]
    fn the_interval_is_the_period_of_the_purpose_unless_given() {
        let purpose = Some("2ms:100us".parse().unwrap());
        let interval = |plan: Plan| plan.cells[0].probe.timer().interval.mean().to_string();
        assert_eq!(interval(plan(None, settings("policy", "other"), purpose).unwrap()), "2ms");
        assert_eq!(interval(plan(None, settings("interval", "5ms"), purpose).unwrap()), "5ms");
    }

    #[test]
    fn an_unknown_experiment_is_refused_with_a_hint() {
        let error = plan(Some("quik"), Overrides::default(), None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert_eq!(error.to_string(), "cannot open experiment `quik`: no such experiment");
        assert_eq!(error.hint(), Some("did you mean `quick`?"));
        let error = plan(Some("/"), Overrides::default(), None).unwrap_err();
        assert_eq!(error.to_string(), "cannot open experiment `/`: Is a directory");
    }
}
