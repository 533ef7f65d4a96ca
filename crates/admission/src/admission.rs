//! The answer to a plan: the verdict of each test with its reason, and what would fit.

use serde::Serialize;
use tactus_model::time::Nanos;

use crate::demand::Demand;
use crate::fit::{self, Fit};
use crate::fixed_priority::{Extent, Response, ranks, responses};
use crate::global::DensityBound;
use crate::partition::{Assignment, Heuristic, assign, kernel_admits};
use crate::task::utilisation;
use crate::window::Placed;
use crate::{Plan, Policy, Steps, Task, Window, bounds, demand, kernel};

/// A test of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Test {
    /// [`bounds::liu_layland`].
    LiuLayland,
    /// [`bounds::hyperbolic`].
    Hyperbolic,
    /// [`bounds::AVERAGE_BREAKDOWN_PERCENT`].
    AverageBreakdown,
    /// [`fixed_priority::responses`](crate::fixed_priority::responses).
    ResponseTimes,
    /// [`demand::demand`].
    Demand,
    /// [`DensityBound`].
    GlobalDensity,
    /// [`assign`] by a heuristic.
    Partition(Heuristic),
    /// [`kernel`].
    Kernel,
}

/// What a test can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strength {
    /// Passing guarantees the deadlines, failing shows that one can be missed.
    Exact,
    /// Passing guarantees the deadlines, failing decides nothing.
    Sufficient,
    /// It guarantees nothing.
    Advisory,
    /// It says what the kernel admits, which guarantees a share of CPU time and no deadline.
    Bandwidth,
}

impl Test {
    /// Whether it is a bound on the utilisation, beside which an exact test always stands.
    const fn is_bound(self) -> bool {
        matches!(self, Self::LiuLayland | Self::Hyperbolic | Self::AverageBreakdown)
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::LiuLayland => "Liu-Layland bound",
            Self::Hyperbolic => "hyperbolic bound",
            Self::AverageBreakdown => "88 % rule",
            Self::ResponseTimes => "response times",
            Self::Demand => "demand (QPA)",
            Self::GlobalDensity => "global EDF density",
            Self::Partition(Heuristic::FirstFit) => "first fit decreasing",
            Self::Partition(Heuristic::BestFit) => "best fit decreasing",
            Self::Partition(Heuristic::WorstFit) => "worst fit decreasing",
            Self::Kernel => "kernel bandwidth",
        }
    }

    /// Its source.
    pub const fn source(self) -> &'static str {
        match self {
            Self::LiuLayland => "Liu, Layland 1973, Theorem 5",
            Self::Hyperbolic => "Bini, Buttazzo, Buttazzo 2003, Theorem 1",
            Self::AverageBreakdown => "Lehoczky, Sha, Ding 1989, Section 5",
            Self::ResponseTimes => {
                "Lehoczky 1990, Theorem 1; Tindell, Burns, Wellings 1994, Section 3"
            }
            Self::Demand => "Baruah, Rosier, Howell 1990; Zhang, Burns 2009, Theorem 5",
            Self::GlobalDensity => "Goossens, Funk, Baruah 2003, Theorem 5",
            Self::Partition(_) => "Dhall, Liu 1978, with an exact test for each CPU",
            Self::Kernel => "sched-deadline.rst, Section 3",
        }
    }
}

/// The verdict of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It passes.
    Passes,
    /// It fails.
    Fails,
    /// A sufficient test fails, which decides nothing.
    NotShown,
    /// The plan probably fits, without a guarantee.
    Likely,
    /// The plan probably does not fit; an exact test decides.
    LessLikely,
    /// The test says nothing about such plans.
    NotApplicable,
    /// The test ran out of steps.
    Undecided,
}

impl Outcome {
    const fn of(passes: Option<bool>, strength: Strength) -> Self {
        match (passes, strength) {
            (Some(true), _) => Self::Passes,
            (Some(false), Strength::Sufficient) => Self::NotShown,
            (Some(false), _) => Self::Fails,
            (None, _) => Self::Undecided,
        }
    }

    /// The outcome in a word or two.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Passes => "passes",
            Self::Fails => "fails",
            Self::NotShown => "not shown",
            Self::Likely => "likely",
            Self::LessLikely => "less likely",
            Self::NotApplicable => "not applicable",
            Self::Undecided => "undecided",
        }
    }
}

/// A test with its verdict and its reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The test.
    pub test: Test,
    /// What it can show for this plan.
    pub strength: Strength,
    /// Its verdict.
    pub outcome: Outcome,
    /// The reason, as a clause.
    pub reason: String,
}

/// What is known of a task of the plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskAnswer {
    /// The task.
    #[serde(flatten)]
    pub task: Task,
    /// Its utilisation, rounded for display.
    pub utilisation: f64,
    /// The CPU it is assigned to, counted from 0; `None` if it may run on any or fits nowhere.
    pub cpu: Option<usize>,
    /// Its longest response under fixed priorities.
    pub response: Option<Response>,
}

/// The answer to a plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Admission {
    /// Whether every deadline is guaranteed, and the kernel admits the tasks.
    pub admitted: bool,
    /// The utilisation of all tasks, rounded for display.
    pub utilisation: f64,
    /// The verdicts, in the order in which they decide.
    pub findings: Vec<Finding>,
    /// The tasks.
    pub tasks: Vec<TaskAnswer>,
    /// What would make the plan fit, if it does not.
    pub changes: Vec<Change>,
    /// The schedule in the worst window; `None` if no test found one.
    pub window: Option<Window>,
}

/// A change of one task with which the plan fits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The index of the task.
    pub task: usize,
    /// The largest cost; `None` if even 1 ns is too much.
    pub cost: Option<Fit>,
    /// The shortest period; `None` if even an hour is too short.
    pub period: Option<Fit>,
}

impl Admission {
    /// Answers a plan. The work is limited; a plan that exceeds it is not admitted.
    pub fn of(plan: &Plan) -> Self {
        let mut draft = Draft::new(plan);
        if plan.is_global() {
            draft.global();
        } else if plan.cpus > 1 {
            draft.partitioned();
        } else {
            draft.one_cpu(&(0..plan.tasks.len()).collect::<Vec<_>>());
        }
        if plan.policy == Policy::Deadline {
            draft.kernel();
        }
        draft.answer()
    }

    /// The finding that decides: the one that admits, or the strongest that does not.
    pub fn decisive(&self) -> Option<&Finding> {
        let mut decisive = self.findings.iter().filter(|finding| !finding.test.is_bound());
        match self.admitted {
            true => decisive.find(|finding| finding.outcome == Outcome::Passes),
            false => {
                let failing = decisive.filter(|finding| finding.outcome != Outcome::Passes);
                failing.min_by_key(|finding| finding.strength == Strength::Sufficient)
            }
        }
    }
}

/// An answer under construction.
struct Draft<'p> {
    plan: &'p Plan,
    /// Whether the tests so far guarantee the deadlines.
    is_guaranteed: bool,
    /// Whether the kernel takes the tasks.
    is_accepted: bool,
    findings: Vec<Finding>,
    responses: Vec<Option<Response>>,
    cpus: Vec<Option<usize>>,
    /// The task that fails first.
    culprit: Option<usize>,
    window: Option<Window>,
}

impl<'p> Draft<'p> {
    fn new(plan: &'p Plan) -> Self {
        let count = plan.tasks.len();
        Self {
            plan,
            is_guaranteed: false,
            is_accepted: true,
            findings: Vec::new(),
            responses: vec![None; count],
            cpus: vec![None; count],
            culprit: None,
            window: None,
        }
    }

    fn find(&mut self, test: Test, strength: Strength, outcome: Outcome, reason: String) {
        self.findings.push(Finding { test, strength, outcome, reason });
    }

    fn judge(&mut self, test: Test, strength: Strength, passes: Option<bool>, reason: String) {
        self.find(test, strength, Outcome::of(passes, strength), reason);
    }

    fn name(&self, index: usize) -> &str {
        self.plan.tasks[index].name()
    }

    /// Tests these tasks on one CPU.
    fn one_cpu(&mut self, indices: &[usize]) {
        let tasks: Vec<Task> =
            indices.iter().map(|index| self.plan.tasks[*index].clone()).collect();
        match self.plan.policy {
            Policy::Fifo => {
                let ranks = ranks(&tasks);
                self.bounds(&tasks, &ranks);
                self.response_times(indices, &tasks, &ranks);
            }
            Policy::Deadline => self.demand(indices, &tasks),
        }
        if self.plan.cpus == 1 {
            self.cpus = vec![Some(0); self.plan.tasks.len()];
        }
    }

    fn bounds(&mut self, tasks: &[Task], ranks: &[usize]) {
        let total = utilisation(tasks);
        let used = percent(total.as_f64());
        if let Some(reason) = bounds::inapplicable(tasks, ranks) {
            for test in [Test::LiuLayland, Test::Hyperbolic] {
                self.find(test, Strength::Sufficient, Outcome::NotApplicable, reason.clone());
            }
        } else {
            let passes = bounds::liu_layland(tasks);
            let bound = percent(bounds::liu_layland_bound(tasks.len()));
            let count = tactus_model::format::counted(tasks.len() as u64, "task");
            let relation = if passes { "is within" } else { "is above" };
            let reason =
                format!("the utilisation of {used} {relation} the bound of {bound} for {count}");
            self.judge(Test::LiuLayland, Strength::Sufficient, Some(passes), reason);
            let product = bounds::hyperbolic(tasks);
            let passes = product.is_at_most(2);
            let relation = if passes { "at most 2" } else { "above 2" };
            let reason = format!(
                "the product of 1 + U over all tasks is {}, {relation}",
                decimal(product.as_f64())
            );
            self.judge(Test::Hyperbolic, Strength::Sufficient, Some(passes), reason);
        }
        let below = bounds::is_below_average_breakdown(total);
        let relation = if below { "is below" } else { "is above" };
        let outcome = if below { Outcome::Likely } else { Outcome::LessLikely };
        let reason = format!(
            "the utilisation of {used} {relation} 88 %, where random tasks begin to miss deadlines on average"
        );
        self.find(Test::AverageBreakdown, Strength::Advisory, outcome, reason);
    }

    fn response_times(&mut self, indices: &[usize], tasks: &[Task], ranks: &[usize]) {
        let found = responses(tasks, ranks, &mut Steps::default());
        for (index, response) in indices.iter().zip(&found) {
            self.responses[*index] = Some(*response);
        }
        let meets: Vec<Option<bool>> = found
            .iter()
            .zip(tasks)
            .map(|(response, task)| response.meets(task.deadline()))
            .collect();
        let passes = match () {
            () if meets.contains(&Some(false)) => Some(false),
            () if meets.contains(&None) => None,
            () => Some(true),
        };
        // The task of the highest priority that fails, or the one that comes closest to its deadline.
        let failing = (0..tasks.len()).filter(|row| meets[*row] != Some(true));
        let taken = |row: &usize| {
            found[*row].worst.as_nanos() as f64 / tasks[*row].deadline().as_nanos() as f64
        };
        let decisive = match passes {
            Some(true) => (0..tasks.len()).max_by(|a, b| taken(a).total_cmp(&taken(b))),
            _ => failing.min_by_key(|row| (meets[*row].is_none(), ranks[*row])),
        };
        let Some(decisive) = decisive else { return };
        self.is_guaranteed = passes == Some(true);
        let (task, response) = (&tasks[decisive], found[decisive]);
        if passes != Some(true) {
            self.culprit = Some(indices[decisive]);
        }
        let mut reason = response_in_words(task, &response);
        let others = meets.iter().filter(|meets| **meets == Some(false)).count().saturating_sub(1);
        if others > 0 {
            let count = tactus_model::format::counted(others as u64, "other task");
            let verb = if others == 1 { "misses its deadline" } else { "miss their deadlines" };
            reason.push_str(&format!("; {count} {verb} too"));
        }
        let is_tied = (0..tasks.len()).any(|row| row != decisive && ranks[row] == ranks[decisive]);
        let strength = if is_tied { Strength::Sufficient } else { Strength::Exact };
        if is_tied {
            reason.push_str("; it shares its priority, so the response is an upper bound");
        }
        self.judge(Test::ResponseTimes, strength, passes, reason);
        if response.worst > Nanos::ZERO {
            let placed = placed(indices, self.plan);
            self.window = Some(Window::of_response(&placed, ranks, decisive, &response));
        }
    }

    fn demand(&mut self, indices: &[usize], tasks: &[Task]) {
        let mut steps = Steps::default();
        let found = demand::demand(tasks, &mut steps);
        let blocked = tasks.iter().any(|task| task.blocking() > Nanos::ZERO);
        let strength = if blocked { Strength::Sufficient } else { Strength::Exact };
        let placed = placed(indices, self.plan);
        let used = percent(utilisation(tasks).as_f64());
        let reason = match found {
            Demand::Fits => {
                let window = Window::tightest(&placed, &mut steps);
                let room = window.deadline - window.done;
                let reason = format!(
                    "every window has room for its demand; the tightest of the first windows is {} long and has {room} to spare",
                    window.length
                );
                self.window = Some(window);
                reason
            }
            Demand::Overload(overload) => {
                self.culprit = Some(indices[overload.task]);
                self.window = Some(Window::of_overload(&placed, &overload));
                let over = overload.demand - overload.instant;
                format!(
                    "jobs with their deadline within {} demand {}, which is {over} too much; a job of `{}` is due at that instant",
                    overload.instant,
                    overload.demand,
                    tasks[overload.task].name()
                )
            }
            Demand::Unbounded => {
                self.culprit = heaviest(self.plan, indices);
                format!("the tasks demand {used} of the CPU")
            }
            Demand::Undecided => {
                self.culprit = heaviest(self.plan, indices);
                format!(
                    "the tasks demand {used} of the CPU; so close to the whole, the windows to examine are too many"
                )
            }
        };
        self.is_guaranteed = found.fits() == Some(true);
        self.judge(Test::Demand, strength, found.fits(), reason);
    }

    fn partitioned(&mut self) {
        let mut complete: Option<Vec<usize>> = None;
        for heuristic in Heuristic::ALL {
            let (outcome, reason) = match assign(self.plan, heuristic, &mut Steps::default()) {
                Assignment::Complete(cpus) => {
                    let used = 1 + cpus.iter().max().copied().unwrap_or_default();
                    let reason = format!("the tasks fit on {used} of {} CPUs", self.plan.cpus);
                    complete.get_or_insert(cpus);
                    (Outcome::Passes, reason)
                }
                Assignment::NoRoom { task, is_undecided } => {
                    self.culprit.get_or_insert(task);
                    let name = self.name(task);
                    let outcome = if is_undecided { Outcome::Undecided } else { Outcome::NotShown };
                    (
                        outcome,
                        format!("`{name}` fits on no CPU beside the tasks assigned before it"),
                    )
                }
            };
            self.find(Test::Partition(heuristic), Strength::Sufficient, outcome, reason);
        }
        let Some(cpus) = complete else { return };
        self.culprit = None;
        self.cpus = cpus.iter().copied().map(Some).collect();
        // The worst window is that of the fullest CPU.
        let on = |cpu: usize| -> Vec<usize> {
            (0..cpus.len()).filter(|index| cpus[*index] == cpu).collect()
        };
        let load = |cpu: &usize| {
            utilisation(on(*cpu).iter().map(|index| &self.plan.tasks[*index])).as_f64()
        };
        let count = 1 + cpus.iter().max().copied().unwrap_or_default();
        let fullest = (0..count).max_by(|a, b| load(a).total_cmp(&load(b))).unwrap_or_default();
        let findings = std::mem::take(&mut self.findings);
        for cpu in (0..count).filter(|cpu| *cpu != fullest).chain([fullest]) {
            self.findings.clear();
            self.one_cpu(&on(cpu));
        }
        let exact = self.findings.pop();
        self.findings = findings;
        self.findings.extend(exact.map(|finding| Finding {
            reason: format!("on CPU {fullest}, the fullest: {}", finding.reason),
            ..finding
        }));
        self.is_guaranteed = true;
    }

    fn global(&mut self) {
        let cpus = u64::from(self.plan.cpus);
        if let Some(task) = self.plan.tasks.iter().find(|task| task.blocking() > Nanos::ZERO) {
            let reason = format!("task `{}` has blocking", task.name());
            self.find(Test::GlobalDensity, Strength::Sufficient, Outcome::NotApplicable, reason);
            return;
        }
        let bound = DensityBound::of(&self.plan.tasks, cpus);
        self.is_guaranteed = bound.holds(cpus);
        let relation = if self.is_guaranteed { "at most" } else { "above" };
        let mut reason = format!(
            "the densities of {} and {} times the largest of {} are {} together, {relation} {cpus} CPUs",
            decimal(bound.total.as_f64()),
            cpus - 1,
            decimal(bound.largest.as_f64()),
            decimal(bound.needed.as_f64())
        );
        if !self.is_guaranteed {
            let all: Vec<usize> = (0..self.plan.tasks.len()).collect();
            self.culprit = heaviest(self.plan, &all);
            if utilisation(&self.plan.tasks).is_at_most(cpus) {
                reason
                    .push_str("; deadlines may be missed, by a bounded time (Devi, Anderson 2008)");
            }
        }
        let holds = Some(self.is_guaranteed);
        self.judge(Test::GlobalDensity, Strength::Sufficient, holds, reason);
    }

    /// What `SCHED_DEADLINE` admits. Tasks on CPUs of their own are counted for each CPU.
    fn kernel(&mut self) {
        let Plan { tasks, cpus, capacity, .. } = self.plan;
        if let Some((index, reason)) =
            tasks.iter().enumerate().find_map(|(index, task)| Some((index, kernel::refused(task)?)))
        {
            self.is_accepted = false;
            self.culprit.get_or_insert(index);
            let reason = format!("{reason} (EINVAL)");
            self.find(Test::Kernel, Strength::Bandwidth, Outcome::Fails, reason);
            return;
        }
        let total: u64 = tasks.iter().map(kernel::bandwidth).sum();
        self.is_accepted = kernel_admits(self.plan, tasks, (*cpus).into());
        let limit = f64::from(*capacity) / 100.0 * f64::from(*cpus);
        let relation = if self.is_accepted { "within" } else { "above" };
        let mut reason = format!(
            "a bandwidth of {} is {relation} the {} that SCHED_DEADLINE admits on {}",
            percent(kernel::share(total)),
            percent(limit),
            tactus_model::format::counted((*cpus).into(), "CPU")
        );
        match (self.is_accepted, self.is_guaranteed) {
            (true, true) => {}
            (true, false) => reason.push_str("; the kernel does not check deadlines"),
            (false, _) => {
                reason.push_str(" (EBUSY)");
                let all: Vec<usize> = (0..tasks.len()).collect();
                self.culprit = self.culprit.or_else(|| heaviest(self.plan, &all));
            }
        }
        let accepted = Some(self.is_accepted);
        self.judge(Test::Kernel, Strength::Bandwidth, accepted, reason);
    }

    fn answer(self) -> Admission {
        let Self { plan, findings, responses, cpus, window, .. } = self;
        let admitted = self.is_guaranteed && self.is_accepted;
        let changes = self.culprit.filter(|_| !admitted).map(|task| Change {
            task,
            cost: fit::largest_cost_of(plan, task, &mut Steps::default()),
            period: fit::shortest_period_of(plan, task, &mut Steps::default()),
        });
        let tasks = plan.tasks.iter().zip(cpus).zip(responses);
        let tasks = tasks.map(|((task, cpu), response)| TaskAnswer {
            task: task.clone(),
            utilisation: task.utilisation().as_f64(),
            cpu,
            response,
        });
        Admission {
            admitted,
            utilisation: utilisation(&plan.tasks).as_f64(),
            findings,
            tasks: tasks.collect(),
            changes: changes.into_iter().collect(),
            window,
        }
    }
}

fn placed<'p>(indices: &[usize], plan: &'p Plan) -> Vec<Placed<'p>> {
    indices.iter().map(|index| Placed { index: *index, task: &plan.tasks[*index] }).collect()
}

/// The task with the highest density.
fn heaviest(plan: &Plan, indices: &[usize]) -> Option<usize> {
    let density = |index: &usize| plan.tasks[*index].density().as_f64();
    indices.iter().copied().max_by(|a, b| density(a).total_cmp(&density(b)))
}

fn response_in_words(task: &Task, response: &Response) -> String {
    let (name, deadline, worst) = (task.name(), task.deadline(), response.worst);
    match (response.meets(deadline), response.extent) {
        (Some(true), _) => format!(
            "every task meets its deadline; `{name}` comes closest: it responds within {worst}, and its deadline is {deadline}"
        ),
        (_, Extent::Unbounded) => format!(
            "`{name}` and the tasks of higher priority demand more than the CPU, so its responses grow without limit"
        ),
        (Some(false), extent) => {
            let at_least = if extent == Extent::Longest { "" } else { "at least " };
            format!(
                "`{name}` responds after {at_least}{worst}, {} past its deadline of {deadline}",
                worst - deadline
            )
        }
        (None, _) => format!(
            "`{name}` and the tasks of higher priority use nearly the whole CPU, and the jobs to examine are too many"
        ),
    }
}

/// A share in per cent with up to two decimals, rounded to the nearest.
fn percent(share: f64) -> String {
    format!("{} %", decimal(share * 100.0))
}

fn decimal(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(text: &str) -> Admission {
        Admission::of(&Plan::parse(text).unwrap())
    }

    fn task(name: &str, cost: &str, period: &str) -> String {
        format!("[[task]]\nname = \"{name}\"\ncost = \"{cost}\"\nperiod = \"{period}\"\n")
    }

    #[test]
    fn a_refusal_names_the_task_the_excess_and_what_would_fit() {
        let tasks =
            [task("a", "10ms", "30ms"), task("b", "10ms", "40ms"), task("c", "12ms", "50ms")];
        let found = answer(&format!("policy = \"fifo\"\n{}", tasks.concat()));
        assert!(!found.admitted);
        let decisive = found.decisive().unwrap();
        assert_eq!(decisive.test, Test::ResponseTimes);
        assert_eq!(decisive.reason, "`c` responds after 52ms, 2ms past its deadline of 50ms");
        let change = &found.changes[0];
        assert_eq!((change.task, change.cost.unwrap().value), (2, Nanos::from_millis(10)));
        assert_eq!(change.period.unwrap().value, Nanos::from_millis(52));
        let window = found.window.unwrap();
        let row = &window.rows[window.decisive];
        assert_eq!(row.runs.last().unwrap().to, Nanos::from_millis(52));
    }

    #[test]
    fn deadlines_may_hold_and_the_kernel_refuse() {
        let found = answer(&[task("a", "5ms", "10ms"), task("b", "5ms", "10ms")].concat());
        assert!(!found.admitted);
        assert_eq!(found.findings[0].outcome, Outcome::Passes);
        assert_eq!(
            found.decisive().unwrap().reason,
            "a bandwidth of 100 % is above the 90 % that SCHED_DEADLINE admits on 1 CPU (EBUSY)"
        );
        assert!(found.changes[0].cost.unwrap().value < Nanos::from_millis(5));
    }

    #[test]
    fn the_kernel_admits_what_misses_deadlines() {
        let tasks = [task("a", "2ms", "10ms"), task("b", "2ms", "10ms")];
        let text = tasks.map(|task| format!("{task}deadline = \"3ms\"\n")).concat();
        let found = answer(&text);
        assert!(!found.admitted);
        let [demand, kernel] = &found.findings[..] else { panic!("{found:?}") };
        assert_eq!(
            demand.reason,
            "jobs with their deadline within 3ms demand 4ms, which is 1ms too much; a job of `a` is due at that instant"
        );
        assert_eq!(kernel.outcome, Outcome::Passes);
        assert!(kernel.reason.ends_with("the kernel does not check deadlines"));
    }

    #[test]
    fn partitions_use_each_cpu_by_itself() {
        let tasks = ["a", "b", "c"].map(|name| task(name, "6ms", "10ms")).concat();
        let found = answer(&format!("cpus = 2\n{tasks}"));
        assert!(!found.admitted);
        assert_eq!(
            found.findings[0].reason,
            "`c` fits on no CPU beside the tasks assigned before it"
        );
        // The kernel rounds bandwidths down, so a little more than 30 % fits beside 60 %.
        let cost = found.changes[0].cost.unwrap().value;
        assert_eq!(cost.div_floor(Nanos::from_micros(1)), 3000, "{cost}");
        let found = answer(&format!("cpus = 3\n{tasks}"));
        assert!(found.admitted);
        let cpus: Vec<_> = found.tasks.iter().map(|task| task.cpu).collect();
        assert_eq!(cpus, [Some(0), Some(1), Some(2)]);
    }

    #[test]
    fn global_edf_is_admitted_by_density() {
        let tasks = ["a", "b", "c"].map(|name| task(name, "5ms", "10ms")).concat();
        let found = answer(&format!("cpus = 2\nplacement = \"global\"\n{tasks}"));
        assert!(found.admitted, "{found:?}");
        let more = format!("cpus = 2\nplacement = \"global\"\n{tasks}{}", task("d", "2ms", "10ms"));
        let found = answer(&more);
        assert!(!found.admitted);
        assert!(found.findings[0].reason.contains("bounded time"), "{found:?}");
    }
}
