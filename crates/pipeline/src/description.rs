//! The description of a pipeline: its TOML form.

use tactus_model::cell::Inconsistent;
use tactus_model::format::quoted;
use tactus_model::limits::PIPELINE_STAGES;
use tactus_model::place::{Place, WrongAt, scalar};
use tactus_model::settings::{Layer, find};
use tactus_model::text::UnknownWord;
use tactus_model::time::Nanos;
use toml::de::{DeTable, DeValue};

use crate::graph::Process;
use crate::resolve::operation_layer;
use crate::steps::{HAND_OVERS, hand_over, list_of_steps, set};

/// A pipeline as the user writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pipeline {
    pub(crate) name: String,
    pub(crate) about: String,
    pub(crate) period: Nanos,
    pub(crate) budget: Nanos,
    pub(crate) settings: Layer,
    pub(crate) processes: Vec<Process>,
    pub(crate) stages: Vec<Described>,
}

/// A stage before its operations are resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Described {
    pub(crate) name: String,
    pub(crate) process: usize,
    pub(crate) after: Vec<usize>,
    /// How it gets its data from other processes.
    pub(crate) by: Layer,
    pub(crate) steps: Vec<Layer>,
}

/// Why a text is not a valid pipeline.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPipeline {
    /// It is not TOML.
    #[error("{0}")]
    Syntax(String),
    /// A key or a value is wrong.
    #[error(transparent)]
    At(#[from] WrongAt),
    /// There are no stages, or too many.
    #[error(
        "the pipeline has {0} stages; write 1 to {PIPELINE_STAGES}, each below a [[stage]] heading of its own"
    )]
    StageCount(usize),
    /// There is no period.
    #[error(
        "the pipeline has no period; write the time from a frame to the next, e.g. period = \"10ms\", \
         or the frames a second, e.g. rate = 100"
    )]
    NoPeriod,
    /// The budget is longer than a frame may take.
    #[error(
        "budget = \"{budget}\" is zero or longer than {max}; write the time that a frame may take"
    )]
    Budget {
        /// The budget.
        budget: Nanos,
        /// The longest.
        max: Nanos,
    },
    /// A setting does not apply to pipelines.
    #[error("`{0}` is not a setting of pipelines; they have: {known}", known = SETTINGS.join(", "))]
    Setting(String),
    /// A setting has several values.
    #[error("`{0}` has several values; a pipeline has one of each setting")]
    Several(String),
    /// Settings contradict each other.
    #[error(transparent)]
    Cell(#[from] Inconsistent),
}

/// The settings that a pipeline can have: how its processes are scheduled, and the competing load.
pub(crate) const SETTINGS: [&str; 8] = [
    "policy",
    "cpus",
    "lock-memory",
    "timer-slack",
    "cpu-dma-latency",
    "load",
    "load-policy",
    "load-cpus",
];

const KEYS: [&str; 7] = ["name", "about", "period", "rate", "budget", "settings", "stage"];
const STAGE_KEYS: [&str; 6] = ["name", "process", "cpu", "after", "by", "do"];

impl Pipeline {
    /// The shortest and the longest period.
    pub const PERIOD: [Nanos; 2] = [Nanos::from_micros(50), Nanos::from_secs(10)];

    /// Reads a pipeline from TOML. Unknown keys are rejected with the nearest known key.
    ///
    /// # Errors
    /// The text is not TOML, or a value is wrong or impossible.
    pub fn parse(text: &str) -> Result<Self, BadPipeline> {
        let document = DeTable::parse(text)
            .map_err(|error| BadPipeline::Syntax(error.to_string().trim_end().to_owned()))?;
        let mut pipeline = Self {
            name: "unnamed".to_owned(),
            about: String::new(),
            period: Nanos::ZERO,
            budget: Nanos::ZERO,
            settings: Layer::default(),
            processes: Vec::new(),
            stages: Vec::new(),
        };
        let mut budget = None;
        for (key, value) in document.get_ref() {
            let place = Place::new(text, key.span().start);
            let value = value.get_ref();
            match key.get_ref().as_ref() {
                "name" => pipeline.name = name(place, value)?,
                "about" => pipeline.about = place.string(value)?,
                "period" | "rate" if pipeline.period != Nanos::ZERO => {
                    return Err(place
                        .error("the pipeline has both period and rate; write one")
                        .into());
                }
                "period" => pipeline.period = period(place, value)?,
                "rate" => pipeline.period = period_of_rate(place, value)?,
                "budget" => budget = Some(place.written(value)?),
                "settings" => pipeline.settings = settings(place, value)?,
                "stage" => pipeline.read_stages(place, value)?,
                unknown => return Err(unknown_key(place, unknown, &KEYS).into()),
            }
        }
        if pipeline.period == Nanos::ZERO {
            return Err(BadPipeline::NoPeriod);
        }
        pipeline.budget = budget.unwrap_or(pipeline.period);
        let max = Self::PERIOD[1];
        if pipeline.budget == Nanos::ZERO || pipeline.budget > max {
            return Err(BadPipeline::Budget { budget: pipeline.budget, max });
        }
        if pipeline.stages.is_empty() {
            return Err(BadPipeline::StageCount(0));
        }
        // What contradicts itself is an error of the file, not of its use.
        pipeline.graph(&Layer::default())?;
        Ok(pipeline)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its purpose, in a sentence.
    pub fn about(&self) -> &str {
        &self.about
    }

    fn read_stages(&mut self, place: Place<'_>, value: &DeValue<'_>) -> Result<(), BadPipeline> {
        let DeValue::Array(tables) = value else {
            return Err(place.error("each stage must be a table of its own: [[stage]]").into());
        };
        if !(1..=PIPELINE_STAGES).contains(&tables.len()) {
            return Err(BadPipeline::StageCount(tables.len()));
        }
        for table in tables {
            self.read_stage(place.at(table.span().start), table.get_ref())?;
        }
        Ok(())
    }

    fn read_stage(&mut self, place: Place<'_>, value: &DeValue<'_>) -> Result<(), WrongAt> {
        let DeValue::Table(table) = value else {
            return Err(place.error("each stage must be a table of its own: [[stage]]"));
        };
        let (mut named, mut process, mut cpu, mut after) = (None, None, None, None);
        let (mut by, mut steps) = (None, Vec::new());
        for (key, value) in table {
            let place = place.at(key.span().start);
            let value = value.get_ref();
            match key.get_ref().as_ref() {
                "name" => named = Some(name(place, value)?),
                "process" => process = Some(name(place, value)?),
                "cpu" => cpu = Some((place, place.number::<u16>(value)?)),
                "after" => after = Some(self.after(place, value)?),
                "by" => by = Some((place, hand_over(place, value)?)),
                "do" => steps = list_of_steps(place, value)?,
                unknown => return Err(unknown_key(place, unknown, &STAGE_KEYS)),
            }
        }
        let name = named.ok_or_else(|| place.error("the stage has no name; add name = \"…\""))?;
        if self.stages.iter().any(|stage| stage.name == name) {
            return Err(place.error(format!("name: another stage is called `{}`", quoted(&name))));
        }
        let process = self.process(process.unwrap_or_else(|| name.clone()), cpu)?;
        // Without a word about it, a stage follows the one before it.
        let after = after.unwrap_or_else(|| self.stages.len().checked_sub(1).into_iter().collect());
        let is_handed = after.iter().any(|from| self.stages[*from].process != process);
        if let (Some((place, _)), false) = (&by, is_handed) {
            return Err(place.error(
                "by: the stage follows none of another process, so nothing is handed over; remove it",
            ));
        }
        let usual = || operation_layer(HAND_OVERS[0]);
        let by = by.map_or_else(usual, |(_, by)| by);
        self.stages.push(Described { name, process, after, by, steps });
        Ok(())
    }

    /// The stages that a stage follows, all of them before it in the file.
    fn after(&self, place: Place<'_>, value: &DeValue<'_>) -> Result<Vec<usize>, WrongAt> {
        let names: Vec<&DeValue<'_>> = match value {
            DeValue::Array(values) => values.iter().map(|value| value.get_ref()).collect(),
            single => vec![single],
        };
        let mut after = Vec::new();
        for value in names {
            let name = place.string(value)?;
            let found = self.stages.iter().position(|stage| stage.name == name);
            let found = found.ok_or_else(|| {
                let known: Vec<&str> = self.stages.iter().map(|stage| &*stage.name).collect();
                match known.is_empty() {
                    true => place.error("after: no stage precedes the first"),
                    false => {
                        place.error(UnknownWord::new("earlier stage", &name, &known).to_string())
                    }
                }
            })?;
            if !after.contains(&found) {
                after.push(found);
            }
        }
        Ok(after)
    }

    /// The process of this name, which a stage may place on a CPU.
    fn process(&mut self, name: String, cpu: Option<(Place<'_>, u16)>) -> Result<usize, WrongAt> {
        let wanted = cpu.map(|(_, cpu)| usize::from(cpu));
        let Some(number) = self.processes.iter().position(|process| process.name == name) else {
            self.processes.push(Process { name, cpu: wanted.unwrap_or(0) });
            return Ok(self.processes.len() - 1);
        };
        let there = self.processes[number].cpu;
        match cpu {
            Some((place, cpu)) if usize::from(cpu) != there => Err(place.error(format!(
                "cpu: process `{}` is on CPU {there}; a process has one CPU, and its first stage names it",
                quoted(&name)
            ))),
            _ => Ok(number),
        }
    }
}

fn unknown_key(place: Place<'_>, key: &str, known: &[&str]) -> WrongAt {
    let reason = match find(key) {
        Ok(setting) if SETTINGS.contains(&setting.name) && known == KEYS => {
            format!("`{key}` is a setting; put it under [settings]")
        }
        _ => UnknownWord::new("key", key, known).to_string(),
    };
    place.error(reason)
}

/// The most characters of a name.
const NAME_MAX: usize = 40;

fn name(place: Place<'_>, value: &DeValue<'_>) -> Result<String, WrongAt> {
    let name = place.string(value)?;
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    match name.chars().all(allowed) && (1..=NAME_MAX).contains(&name.len()) {
        true => Ok(name),
        false => Err(place.error(format!(
            "`{}` is not a name; use 1 to {NAME_MAX} letters, digits, `-` and `_`",
            quoted(&name)
        ))),
    }
}

fn period(place: Place<'_>, value: &DeValue<'_>) -> Result<Nanos, WrongAt> {
    let period: Nanos = place.written(value)?;
    let [min, max] = Pipeline::PERIOD;
    match (min..=max).contains(&period) {
        true => Ok(period),
        false => {
            Err(place.error(format!("period: {period} is out of range; write {min} to {max}")))
        }
    }
}

/// The period for a number of frames a second.
fn period_of_rate(place: Place<'_>, value: &DeValue<'_>) -> Result<Nanos, WrongAt> {
    let rate: Option<f64> = match value {
        DeValue::Integer(_) | DeValue::Float(_) => scalar(value).and_then(|text| text.parse().ok()),
        _ => None,
    };
    let [least, most] = [1, 0].map(|end| 1.0 / Pipeline::PERIOD[end].as_secs_f64());
    match rate.filter(|rate| (least..=most).contains(rate)) {
        Some(rate) => Ok(Nanos::from_nanos((1e9 / rate).round() as u64)),
        None => Err(place.error(format!(
            "rate: write the frames a second as a number from {least} to {most}, e.g. rate = 25"
        ))),
    }
}

fn settings(place: Place<'_>, value: &DeValue<'_>) -> Result<Layer, WrongAt> {
    let DeValue::Table(table) = value else {
        return Err(place.error("this value must be a table of settings"));
    };
    let mut layer = Layer::default();
    for (key, value) in table {
        let place = place.at(key.span().start);
        let key = key.get_ref().as_ref();
        if !SETTINGS.contains(&key) {
            return Err(place.error(UnknownWord::new("setting", key, &SETTINGS).to_string()));
        }
        set(place, &mut layer, key, value.get_ref())?;
    }
    Ok(layer)
}

#[cfg(test)]
mod tests {
    use tactus_model::cost::{Operation, Way};

    use super::*;
    use crate::fixture;

    fn check_refused(text: &str, expected: &str) {
        let error = Pipeline::parse(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}\n  does not contain: {expected}");
    }

    fn stage(text: &str) -> String {
        format!("period = \"1ms\"\n[[stage]]\nname = \"a\"\n{text}")
    }

    #[test]
    fn a_line_measures_each_operation_as_a_stage_experiences_it() {
        let graph = fixture::line();
        // The wake-up, three hand-overs and operations, and the two of control.
        assert_eq!(graph.cells.len(), 7);
        let read = graph.operation(graph.stages[0].steps[0]).unwrap();
        assert_eq!(read.operation, Operation::ReadByte);
        assert_eq!(read.sampling.pause, Nanos::from_millis(1));
        assert_eq!(read.per_sample(), 1);
        let by = graph.operation(graph.stages[1].after[0].by.unwrap()).unwrap();
        assert_eq!((by.operation, by.sampling.way), (Operation::Pipe, Way::OneWay));
        let by = graph.operation(graph.stages[2].after[0].by.unwrap()).unwrap();
        assert_eq!(by.operation, Operation::Futex);
        assert_eq!(graph.cpus(), 3);
    }

    #[test]
    fn a_rate_is_a_period() {
        for (rate, expected) in [("750", 1_333_333), ("29.97", 33_366_700), ("0.1", 10_000_000_000)]
        {
            let text = format!("rate = {rate}\n[[stage]]\nname = \"a\"");
            let graph = Pipeline::parse(&text).unwrap().graph(&Layer::default()).unwrap();
            assert_eq!(graph.period.as_nanos(), expected, "{rate}");
        }
    }

    /// The sensor has the CPU of the actuator, and works before it.
    #[test]
    fn a_hand_over_is_measured_back_if_its_cpu_worked_before() {
        let text = fixture::LINE.replace("cpu = 2", "cpu = 0");
        let graph = Pipeline::parse(&text).unwrap().graph(&Layer::default()).unwrap();
        let [control, actuator] = [1, 2].map(|stage: usize| graph.stages[stage].after[0]);
        assert_eq!(control.after_work, None);
        let cost = graph.operation(actuator.after_work.unwrap()).unwrap();
        assert_eq!((cost.operation, cost.sampling.way), (Operation::Futex, Way::Back));
    }

    #[test]
    fn a_stage_follows_the_one_before_it_unless_it_says_otherwise() {
        let graph = fixture::fork();
        let after = |stage: usize| -> Vec<usize> {
            graph.stages[stage].after.iter().map(|link| link.from).collect()
        };
        assert_eq!(
            [after(0), after(1), after(2), after(3)],
            [vec![], vec![0], vec![0], vec![1, 2]]
        );
    }

    #[test]
    fn settings_of_the_user_replace_those_of_the_file() {
        let text = format!("{}\n[settings]\npolicy = \"fifo:50\"", fixture::LINE);
        let pipeline = Pipeline::parse(&text).unwrap();
        let mut overrides = Layer::default();
        overrides.set("policy", vec!["rr:7".to_owned()]).unwrap();
        let policy =
            |layer: &Layer| pipeline.graph(layer).unwrap().cells[1].policy.scheduling.to_string();
        assert_eq!(policy(&Layer::default()), "fifo:50");
        assert_eq!(policy(&overrides), "rr:7");
        overrides.set("policy", vec!["rr:7".to_owned(), "other".to_owned()]).unwrap();
        let error = pipeline.graph(&overrides).unwrap_err().to_string();
        assert_eq!(error, "`policy` has several values; a pipeline has one of each setting");
        let mut other = Layer::default();
        other.set("duration", vec!["1s".to_owned()]).unwrap();
        assert!(pipeline.graph(&other).unwrap_err().to_string().contains("not a setting"));
    }

    #[test]
    fn wrong_keys_and_values_are_rejected_with_their_line() {
        check_refused("", "no period");
        check_refused("period = \"1ms\"", "0 stages");
        check_refused("perod = \"1ms\"", "line 1: unknown key `perod` (did you mean `period`?)");
        check_refused("period = \"1us\"", "line 1: period: 1us is out of range; write 50us to 10s");
        let rated = |rate: &str| stage("").replace("period = \"1ms\"", &format!("rate = {rate}"));
        check_refused(
            &rated("0"),
            "line 1: rate: write the frames a second as a number from 0.1 to 20000",
        );
        check_refused(&rated("\"25/s\""), "e.g. rate = 25");
        check_refused(&format!("rate = 5\n{}", stage("")), "both period and rate");
        check_refused("policy = \"other\"", "put it under [settings]");
        check_refused("[settings]\npolcy = 1", "line 2: unknown setting `polcy` (did you mean");
        check_refused(&format!("budget = \"0s\"\n{}", stage("")), "is zero or longer than 10s");
        check_refused("[[stage]]\ncpu = 1", "line 1: the stage has no name");
        check_refused(&stage("[[stage]]\nname = \"a\""), "another stage is called `a`");
        check_refused(&stage("after = \"b\""), "line 4: after: no stage precedes the first");
        check_refused(&stage("by = \"pipe\""), "nothing is handed over");
        check_refused(&stage("do = [\"getpid\"]"), "line 4: unknown operation `getpid` (did you");
        check_refused(
            &stage("do = [{ operation = \"memory-copy\", siez = 4 }]"),
            "unknown key of `memory-copy`: `siez` (did you mean `size`?)",
        );
        check_refused(&stage("do = [{ times = 4 }]"), "the table has no operation");
        check_refused(
            &stage("do = [{ operation = \"fault\", times = 0 }]"),
            "`0` is not a number of",
        );
        check_refused(
            &stage("do = [{ operation = \"ipc-tcp\", times = 3 }]"),
            "whose messages are answered; write an even number",
        );
        check_refused(&stage("do = [\"yield\"]"), "nothing without a partner");
        let second = |more: &str| stage(&format!("[[stage]]\nname = \"b\"\n{more}"));
        check_refused(&second("after = \"c\""), "unknown earlier stage `c`");
        check_refused(&second("by = \"gettime\""), "wakes no other process; use pipe, futex");
        check_refused(
            &second("by = \"spin\""),
            "line 6: by: unknown hand-over `spin`; it is one of: pipe, futex, eventfd",
        );
        check_refused(&second("by = \"eventfb\""), "did you mean `eventfd`?");
        check_refused(&second("process = \"a\"\ncpu = 1"), "process `a` is on CPU 0");
        check_refused(
            &second("by = { operation = \"pipe\", partner = \"thread\" }"),
            "unknown key of `pipe`",
        );
    }
}
