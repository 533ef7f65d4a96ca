//! Plans on paper, and their TOML form.

use std::collections::BTreeSet;

use serde::Serialize;
use tactus_model::format::quoted;
use tactus_model::limits::ADMISSION_TASKS;
use tactus_model::place::{Place, WrongAt};
use tactus_model::policy::RealtimePriority;
use tactus_model::text::UnknownWord;
use tactus_model::time::Nanos;
use toml::de::{DeTable, DeValue};

use crate::Task;

/// Tasks, and the CPUs and the policy that serve them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// The policy of all tasks.
    pub policy: Policy,
    /// The number of CPUs.
    pub cpus: u16,
    /// Whether jobs migrate between them.
    pub placement: Placement,
    /// The share of each CPU that the kernel admits to `SCHED_DEADLINE`, in per cent.
    pub capacity: u8,
    /// The tasks.
    pub tasks: Vec<Task>,
}

/// A scheduling policy that can guarantee deadlines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// Fixed priorities.
    #[doc(alias = "SCHED_FIFO")]
    Fifo,
    /// The earliest deadline first.
    #[doc(alias = "SCHED_DEADLINE")]
    Deadline,
}

/// Where jobs may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// Each task stays on one CPU.
    Partitioned,
    /// Each job runs on any CPU.
    Global,
}

/// Why a text is not a valid plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPlan {
    /// It is not TOML.
    #[error("{0}")]
    Syntax(String),
    /// A key or a value is wrong.
    #[error(transparent)]
    At(#[from] WrongAt),
    /// There are no tasks, or too many.
    #[error(
        "the plan has {0} tasks; write 1 to {ADMISSION_TASKS}, each below a [[task]] heading of its own"
    )]
    TaskCount(usize),
    /// Some tasks have a priority, others have none.
    #[error(
        "task `{with}` has a priority and task `{without}` has none; set it for every task, or for none to order them by deadline"
    )]
    SomePriorities {
        /// A task with a priority.
        with: String,
        /// A task without one.
        without: String,
    },
    /// A priority in a plan for the deadline class.
    #[error(
        "task `{0}` has a priority, but policy = \"deadline\" orders jobs by deadline; remove it, or write policy = \"fifo\""
    )]
    IdlePriority(String),
    /// No test covers fixed priorities with migration.
    #[error(
        "no test here covers policy = \"fifo\" with placement = \"global\"; write placement = \"partitioned\""
    )]
    GlobalFifo,
}

const KEYS: [&str; 5] = ["policy", "cpus", "placement", "capacity", "task"];
const TASK_KEYS: [&str; 7] =
    ["name", "cost", "period", "deadline", "jitter", "blocking", "priority"];

impl Plan {
    /// The usual capacity: the kernel reserves 5 % for throttling (`kernel.sched_rt_runtime_us`),
    /// and, since Linux 6.12, 5 % for the server of ordinary tasks.
    pub const CAPACITY: u8 = 90;
    /// The most CPUs of a plan.
    pub const CPUS_MOST: u16 = 1024;

    /// Reads a plan from TOML. Unknown keys are rejected with the nearest known key.
    ///
    /// # Errors
    /// The text is not TOML, or a value is wrong or impossible.
    pub fn parse(text: &str) -> Result<Self, BadPlan> {
        let document = DeTable::parse(text)
            .map_err(|error| BadPlan::Syntax(error.to_string().trim_end().to_owned()))?;
        let mut plan = Self {
            policy: Policy::Deadline,
            cpus: 1,
            placement: Placement::Partitioned,
            capacity: Self::CAPACITY,
            tasks: Vec::new(),
        };
        for (key, value) in document.get_ref() {
            let place = Place::new(text, key.span().start);
            let value = value.get_ref();
            match key.get_ref().as_ref() {
                "policy" => {
                    let known = [("fifo", Policy::Fifo), ("deadline", Policy::Deadline)];
                    plan.policy = word(place, "policy", value, &known)?;
                }
                "placement" => {
                    let known =
                        [("partitioned", Placement::Partitioned), ("global", Placement::Global)];
                    plan.placement = word(place, "placement", value, &known)?;
                }
                "cpus" => plan.cpus = whole(place, "cpus", value, 1, Self::CPUS_MOST)?,
                "capacity" => plan.capacity = percentage(place, value)?,
                "task" => plan.tasks = tasks(place, value)?,
                unknown => return Err(unknown_key(place, unknown, &KEYS).into()),
            }
        }
        plan.checked()
    }

    /// The plan in TOML, as [`Self::parse`] reads it. Values that are the default are left out.
    pub fn to_toml(&self) -> String {
        let mut document = toml::Table::new();
        let word = match self.policy {
            Policy::Fifo => "fifo",
            Policy::Deadline => "deadline",
        };
        document.insert("policy".to_owned(), word.into());
        document.insert("cpus".to_owned(), i64::from(self.cpus).into());
        if self.placement == Placement::Global {
            document.insert("placement".to_owned(), "global".into());
        }
        document.insert("capacity".to_owned(), format!("{}%", self.capacity).into());
        let tasks: Vec<toml::Value> = self.tasks.iter().map(|task| task.to_toml().into()).collect();
        document.insert("task".to_owned(), tasks.into());
        document.to_string()
    }

    fn checked(self) -> Result<Self, BadPlan> {
        let count = self.tasks.len();
        if !(1..=ADMISSION_TASKS).contains(&count) {
            return Err(BadPlan::TaskCount(count));
        }
        let name = |task: &Task| quoted(task.name());
        let with = self.tasks.iter().find(|task| task.priority().is_some());
        let without = self.tasks.iter().find(|task| task.priority().is_none());
        match (self.policy, with, without) {
            (Policy::Deadline, Some(with), _) => return Err(BadPlan::IdlePriority(name(with))),
            (Policy::Fifo, Some(with), Some(without)) => {
                return Err(BadPlan::SomePriorities { with: name(with), without: name(without) });
            }
            _ => {}
        }
        if self.is_global() && self.policy == Policy::Fifo {
            return Err(BadPlan::GlobalFifo);
        }
        Ok(self)
    }

    /// Whether jobs migrate: on one CPU there is nowhere to migrate to.
    pub fn is_global(&self) -> bool {
        self.cpus > 1 && self.placement == Placement::Global
    }

    /// The plan with one more task.
    #[must_use]
    pub fn with(&self, task: Task) -> Self {
        let mut plan = self.clone();
        plan.tasks.push(task);
        plan
    }

    /// The plan with another task in the place of one.
    #[must_use]
    pub(crate) fn with_changed(&self, index: usize, task: Task) -> Self {
        let mut plan = self.clone();
        plan.tasks[index] = task;
        plan
    }
}

fn unknown_key(place: Place<'_>, key: &str, known: &[&str]) -> WrongAt {
    place.error(UnknownWord::new("key", key, known).to_string())
}

/// A value that is one of some words.
fn word<T: Copy>(
    place: Place<'_>,
    what: &'static str,
    value: &DeValue<'_>,
    known: &[(&str, T)],
) -> Result<T, WrongAt> {
    let given = place.string(value)?;
    let found = known.iter().find(|(word, _)| given.eq_ignore_ascii_case(word));
    found.map(|(_, value)| *value).ok_or_else(|| {
        let words: Vec<&str> = known.iter().map(|(word, _)| *word).collect();
        place.error(UnknownWord::new(what, &given, &words).to_string())
    })
}

/// A whole number in a range.
fn whole(
    place: Place<'_>,
    key: &str,
    value: &DeValue<'_>,
    least: u16,
    most: u16,
) -> Result<u16, WrongAt> {
    let number = place.number::<u64>(value)?;
    let found = u16::try_from(number).ok().filter(|number| (least..=most).contains(number));
    found.ok_or_else(|| {
        let nearest = if number < u64::from(least) { least } else { most };
        place.error(format!(
            "{key} = {number} is out of range; write {least} to {most}, the nearest is {nearest}"
        ))
    })
}

/// A percentage from 1 to 100, as `"90%"`.
fn percentage(place: Place<'_>, value: &DeValue<'_>) -> Result<u8, WrongAt> {
    let text = place.string(value)?;
    let number = text.trim().trim_end_matches('%').trim().parse::<u8>().ok();
    number.filter(|number| (1..=100).contains(number)).ok_or_else(|| {
        let given = quoted(&text);
        place.error(format!(
            "capacity = \"{given}\" is not a share of a CPU; write \"1%\" to \"100%\""
        ))
    })
}

fn tasks(place: Place<'_>, value: &DeValue<'_>) -> Result<Vec<Task>, BadPlan> {
    let DeValue::Array(tables) = value else {
        return Err(place.error("each task must be a table of its own: [[task]]").into());
    };
    if tables.len() > ADMISSION_TASKS {
        return Err(BadPlan::TaskCount(tables.len()));
    }
    let mut names = BTreeSet::new();
    let mut tasks = Vec::with_capacity(tables.len());
    for (number, table) in tables.iter().enumerate() {
        let place = place.at(table.span().start);
        let DeValue::Table(table) = table.get_ref() else {
            return Err(place.error("each task must be a table of its own: [[task]]").into());
        };
        let task = task(place, table, number + 1)?;
        if !names.insert(task.name().to_owned()) {
            let name = quoted(task.name());
            return Err(place.error(format!("two tasks are called `{name}`; rename one")).into());
        }
        tasks.push(task);
    }
    Ok(tasks)
}

/// The task of a table, the `number`th of its plan.
fn task(place: Place<'_>, table: &DeTable<'_>, number: usize) -> Result<Task, WrongAt> {
    let mut name = format!("task {number}");
    let (mut cost, mut period, mut deadline) = (None, None, None);
    let (mut jitter, mut blocking, mut priority) = (Nanos::ZERO, Nanos::ZERO, None);
    for (key, value) in table {
        let here = place.at(key.span().start);
        let value = value.get_ref();
        match key.get_ref().as_ref() {
            "name" => name = here.string(value)?,
            "cost" => cost = Some(here.written(value)?),
            "period" => period = Some(here.written(value)?),
            "deadline" => deadline = Some(here.written(value)?),
            "jitter" => jitter = here.written(value)?,
            "blocking" => blocking = here.written(value)?,
            "priority" => {
                let number = whole(here, "priority", value, 1, 99)?;
                priority = u8::try_from(number).ok().and_then(RealtimePriority::new);
            }
            unknown => return Err(unknown_key(here, unknown, &TASK_KEYS)),
        }
    }
    let shown = quoted(&name);
    let required = |value: Option<Nanos>, key: &str, example: &str| {
        value.ok_or_else(|| {
            place.error(format!("task `{shown}` has no {key}; add one, e.g. {key} = \"{example}\""))
        })
    };
    let cost = required(cost, "cost", "2ms")?;
    let period = required(period, "period", "10ms")?;
    // A deadline in a plan replaces that of the period, which must not refuse the cost first.
    let task = Task::new(name.as_str(), cost, period)
        .and_then(|task| task.with_deadline(deadline.unwrap_or(period)))
        .and_then(|task| task.with_jitter(jitter))
        .and_then(|task| task.with_blocking(blocking));
    let task = task.map_err(|error| place.error(format!("task `{shown}`: {error}")))?;
    Ok(task.with_priority(priority))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let error = Plan::parse(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }

    const TASK: &str = "[[task]]\nname = \"a\"\ncost = \"1ms\"\nperiod = \"10ms\"\n";

    #[test]
    fn a_plan_is_written_as_it_is_read() {
        let plan = Plan::parse(&format!(
            "cpus = 4\nplacement = \"global\"\ncapacity = \"85%\"\n{}deadline = \"8ms\"\n{}",
            TASK.replace("\"a\"", "\"a \\\" \\u0007\\n = [[b]]\""),
            TASK.replace("1ms", "1234567ns")
        ))
        .unwrap();
        assert_eq!(Plan::parse(&plan.to_toml()), Ok(plan));
        let fifo = format!(
            "policy = \"fifo\"\n{TASK}priority = 7\njitter = \"1us\"\nblocking = \"2us\"\n"
        );
        let fifo = Plan::parse(&fifo).unwrap();
        assert_eq!(Plan::parse(&fifo.to_toml()), Ok(fifo));
    }

    #[test]
    fn a_plan_has_usual_values() {
        let plan = Plan::parse(TASK).unwrap();
        assert_eq!((plan.policy, plan.cpus, plan.capacity), (Policy::Deadline, 1, 90));
        assert_eq!(plan.tasks[0].deadline(), Nanos::from_millis(10));
    }

    #[test]
    fn a_wrong_plan_is_answered_with_place_and_nearest_value() {
        check("polcy = \"fifo\"", "line 1: unknown key `polcy` (did you mean `policy`?)");
        check("policy = \"fif\"", "did you mean `fifo`?");
        check("cpus = 0", "line 1: cpus = 0 is out of range; write 1 to 1024, the nearest is 1");
        check("capacity = \"190%\"", "write \"1%\" to \"100%\"");
        check("", "the plan has 0 tasks");
        check("task = 3", "each task must be a table of its own: [[task]]");
        check(&TASK.replace("cost", "costs"), "line 3: unknown key `costs` (did you mean `cost`?)");
        check(
            &TASK.replace("1ms", "11ms"),
            "line 1: task `a`: cost = \"11ms\" is longer than the period of 10ms; the largest cost is 10ms",
        );
        check(&TASK.replace("1ms", "1"), "line 3: `1` is not a duration");
        check(&format!("{TASK}{TASK}"), "line 5: two tasks are called `a`");
        check("[[task]]\ncost = \"1ms\"", "task `task 1` has no period; add one, e.g. period");
        check(&format!("{TASK}priority = 3"), "remove it, or write policy = \"fifo\"");
        check(&format!("policy = \"fifo\"\n{TASK}priority = 100"), "the nearest is 99");
        let two = TASK.replace("\"a\"", "\"b\"");
        check(&format!("policy = \"fifo\"\n{TASK}priority = 9\n{two}"), "task `b` has none");
        check(
            &format!("policy = \"fifo\"\ncpus = 2\nplacement = \"global\"\n{TASK}"),
            "partitioned",
        );
    }

    #[test]
    fn a_plan_of_too_many_tasks_is_refused() {
        let tasks: String =
            (0..257).map(|number| TASK.replace("\"a\"", &format!("\"{number}\""))).collect();
        check(&tasks, "the plan has 257 tasks; write 1 to 256");
    }
}
