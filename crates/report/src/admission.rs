//! The answer to a plan of tasks, as text and as a page.

use std::fmt::Write;

use askama::Template;
use tactus_admission::fit::{Fit, Question, Room};
use tactus_admission::fixed_priority::{Extent, Response};
use tactus_admission::{
    Admission, Change, Finding, Plan, Policy, Strength, TaskAnswer, Window, WindowRow,
};
use tactus_model::time::Nanos;

use crate::columns::{beginning, columns_of};
use crate::format;
use crate::page::ReportError;
use crate::page::frame::{Frame, written};
use crate::svg::schedule;
use crate::table::column::{Column, Entry};
use crate::table::{TableOptions, grid};
use crate::wrap::{hanging, wrapped};

/// The most columns of a name beside the schedule.
const NAME: usize = 16;

/// The columns of the schedule, if the terminal has them.
const SCHEDULE: usize = 72;

/// The most rows of a schedule: of more tasks, those that run longest are shown.
const ROWS: usize = 24;

/// Writes the answer: the verdict, the tasks, the tests with their reasons, what would fit, and the
/// schedule in the worst window.
pub fn admission_text(
    plan: &Plan,
    admission: &Admission,
    room: &[Room],
    options: &TableOptions,
) -> String {
    let width = options.width;
    let mut text = wrapped(&headline(plan, admission), "", width);
    text.push('\n');
    text.push_str(&grid(columns(plan, admission), width));
    text.push('\n');
    for finding in &admission.findings {
        let first = format!("{:<16}", finding.outcome.words());
        text.push_str(&hanging(&first, &in_words(finding), &" ".repeat(16), width));
    }
    let fits = fits_in_words(plan, admission, room);
    if !fits.is_empty() {
        text.push('\n');
        fits.iter().for_each(|words| text.push_str(&wrapped(words, "", width)));
    }
    if let Some(window) = &admission.window {
        text.push('\n');
        let words = format!("worst window: {}", window_in_words(window));
        text.push_str(&wrapped(&words, "", width));
        text.push_str(&schedule_text(window, width));
    }
    text
}

fn headline(plan: &Plan, admission: &Admission) -> String {
    let tasks = format::counted(plan.tasks.len() as u64, "task");
    let cpus = format::counted(plan.cpus.into(), "CPU");
    let policy = match plan.policy {
        Policy::Fifo => "fifo",
        Policy::Deadline => "deadline",
    };
    let verb = if plan.tasks.len() == 1 { "uses" } else { "use" };
    let used = format::percent(admission.utilisation);
    match (admission.admitted, admission.decisive()) {
        (true, _) => format!(
            "admitted: {tasks} {verb} {used} of {cpus} under {policy}, and every deadline is met"
        ),
        (false, Some(finding)) => format!("not admitted: {}", finding.reason),
        (false, None) => format!("not admitted: {tasks} {verb} {used} of {cpus} under {policy}"),
    }
}

/// A finding with its test, its strength and its source.
fn in_words(finding: &Finding) -> String {
    let Finding { test, reason, strength, .. } = finding;
    format!("{} ({}): {reason} [{}]", test.name(), strength_in_words(*strength), test.source())
}

const fn strength_in_words(strength: Strength) -> &'static str {
    match strength {
        Strength::Exact => "exact",
        Strength::Sufficient => "sufficient",
        Strength::Advisory => "advice",
        Strength::Bandwidth => "no deadlines",
    }
}

fn columns(plan: &Plan, admission: &Admission) -> Vec<Column> {
    let rows = &admission.tasks;
    let length = |length: Nanos| Entry::text(length.to_string());
    let unless_zero = |zero: Nanos| if zero == Nanos::ZERO { Entry::empty() } else { length(zero) };
    let mut columns = vec![
        Column::names("task", rows, |row: &TaskAnswer| Entry::text(row.task.name())),
        Column::of("cost", rows, |row| length(row.task.cost())),
        Column::of("period", rows, |row| length(row.task.period())),
        Column::of("deadline", rows, |row| length(row.task.deadline())),
        Column::of("jitter", rows, |row| unless_zero(row.task.jitter())).dispensable(4),
        Column::of("blocking", rows, |row| unless_zero(row.task.blocking())).dispensable(3),
        Column::of("priority", rows, |row| {
            let priority = row.task.priority().map(|priority| priority.get().to_string());
            Entry::optional(priority)
        })
        .dispensable(5),
        Column::of("used", rows, |row| Entry::text(format::percent(row.utilisation)))
            .dispensable(2),
    ];
    if plan.cpus > 1 {
        let cpu = |row: &TaskAnswer| Entry::optional(row.cpu.map(|cpu| cpu.to_string()));
        columns.push(Column::of("CPU", rows, cpu).dispensable(1));
    }
    if plan.policy == Policy::Fifo {
        columns.push(Column::of("response", rows, |row| {
            Entry::optional(row.response.as_ref().map(response_in_words))
        }));
        columns.push(Column::of("spare", rows, |row| {
            Entry::optional(row.response.as_ref().map(|response| spare(row, response)))
        }));
    }
    columns
}

fn response_in_words(response: &Response) -> String {
    match response.extent {
        Extent::Longest => response.worst.to_string(),
        Extent::Unbounded => "unbounded".to_owned(),
        Extent::Undecided => format!("≥{}", response.worst),
    }
}

/// What is left until the deadline, with a sign if it is missed.
fn spare(row: &TaskAnswer, response: &Response) -> String {
    let deadline = row.task.deadline();
    match (response.meets(deadline), response.extent) {
        (Some(true), _) => (deadline - response.worst).to_string(),
        (Some(false), Extent::Longest) => format!("−{}", response.worst - deadline),
        _ => format::NOTHING.to_owned(),
    }
}

/// What would fit: changes of the plan, and new tasks.
fn fits_in_words(plan: &Plan, admission: &Admission, room: &[Room]) -> Vec<String> {
    let changes = admission.changes.iter().map(|change| change_in_words(plan, change));
    changes.chain(room.iter().map(room_in_words)).collect()
}

fn change_in_words(plan: &Plan, change: &Change) -> String {
    let task = &plan.tasks[change.task];
    let name = task.name();
    let moves = if task.deadline() == task.period() { " (and deadline)" } else { "" };
    let cost = change.cost.map(|fit| format!("a cost of {}", at_most(fit)));
    let period = change.period.map(|fit| format!("a period{moves} of {}", at_least(fit)));
    let options: Vec<String> = cost.into_iter().chain(period).collect();
    match options.is_empty() {
        true => format!(
            "fix: no cost or period of `{name}` alone makes the plan fit; change another task too"
        ),
        false => format!("fix: give `{name}` {}; the plan then fits", options.join(", or ")),
    }
}

fn room_in_words(room: &Room) -> String {
    match (room.question, room.fit) {
        (Question::Cost { period, deadline }, Some(fit)) => {
            let deadline = if deadline == period {
                String::new()
            } else {
                format!(" and a deadline of {deadline}")
            };
            format!(
                "room: a new task with a period of {period}{deadline} may cost {}",
                at_most(fit)
            )
        }
        (Question::Cost { period, .. }, None) => {
            format!("room: no new task with a period of {period} fits")
        }
        (Question::Period { cost }, Some(fit)) => {
            format!("room: a new task with a cost of {cost} needs a period of {}", at_least(fit))
        }
        (Question::Period { cost }, None) => {
            format!("room: no new task with a cost of {cost} fits")
        }
    }
}

fn at_most(fit: Fit) -> String {
    limited("at most", fit)
}

fn at_least(fit: Fit) -> String {
    limited("at least", fit)
}

fn limited(bound: &str, Fit { value, is_limit }: Fit) -> String {
    match is_limit {
        true => format!("{bound} {value}"),
        false => format!("{value} (not proven to be the limit)"),
    }
}

fn window_in_words(window: &Window) -> String {
    let Window { length, deadline, done, is_cut, .. } = window;
    let name = &window.rows[window.decisive].name;
    let end = match done > deadline {
        true => {
            format!("`{name}` is due at {deadline}, and the work before that lasts until {done}")
        }
        false => {
            format!("`{name}` is due at {deadline}, and the work before that is done at {done}")
        }
    };
    let cut = if *is_cut { "; only its begin is shown" } else { "" };
    format!("{length} from the instant at which all tasks become ready; {end}{cut}")
}

/// The rows to show: all, or those that run longest.
pub(crate) fn shown_rows(window: &Window) -> Vec<&WindowRow> {
    let busy = |row: &WindowRow| row.runs.iter().map(|run| run.to - run.from).sum::<Nanos>();
    let mut order: Vec<usize> = (0..window.rows.len()).collect();
    order.sort_by_key(|index| {
        (*index != window.decisive, std::cmp::Reverse(busy(&window.rows[*index])))
    });
    order.truncate(ROWS);
    order.sort_unstable();
    order.into_iter().map(|index| &window.rows[index]).collect()
}

/// The schedule: a line for each task, a column for each part of the window.
fn schedule_text(window: &Window, width: usize) -> String {
    let rows = shown_rows(window);
    let blocking = (window.blocked > Nanos::ZERO).then_some("blocking");
    let names = rows.iter().map(|row| row.name.as_str()).chain(blocking);
    let names = names.map(columns_of).max().unwrap_or(0).min(NAME);
    let columns = width.saturating_sub(names + 3).clamp(20, SCHEDULE);
    let mut text = String::new();
    if let Some(name) = blocking {
        let blocked = tactus_admission::Run { from: Nanos::ZERO, to: window.blocked };
        put_row(&mut text, name, names, &cells(window.length, columns, &[blocked], &[]));
    }
    for row in &rows {
        put_row(
            &mut text,
            &row.name,
            names,
            &cells(window.length, columns, &row.runs, &row.deadlines),
        );
    }
    let end = window.length.to_string();
    let scale = format!("0{end:>rest$}", rest = columns.saturating_sub(1));
    put_row(&mut text, "", names, &scale);
    let hidden = window.rows.len() - rows.len();
    if hidden > 0 {
        let _ = writeln!(text, "({} not shown)", format::counted(hidden as u64, "other task"));
    }
    text.push_str("█ runs  ▄ runs for a part  │ deadline\n");
    text
}

fn put_row(text: &mut String, name: &str, names: usize, cells: &str) {
    let name = if columns_of(name) > names {
        format!("{}…", beginning(name, names - 1))
    } else {
        name.to_owned()
    };
    let padding = " ".repeat(names.saturating_sub(columns_of(&name)));
    // Writing to a String cannot fail.
    let _ =
        writeln!(text, "{}", format!("{}{padding}  {cells}", format::printable(&name)).trim_end());
}

/// A mark for each column: how much of it a task runs, or that a deadline is at its end.
fn cells(
    length: Nanos,
    columns: usize,
    runs: &[tactus_admission::Run],
    deadlines: &[Nanos],
) -> String {
    let edge = |column: usize| {
        let at = u128::from(length.as_nanos()) * column as u128 / columns as u128;
        Nanos::from_nanos(at as u64)
    };
    let mut marks = String::new();
    for column in 0..columns {
        let (from, to) = (edge(column), edge(column + 1));
        let ran: Nanos = runs.iter().map(|run| run.to.min(to) - run.from.max(from)).sum();
        let is_due = deadlines.iter().any(|deadline| *deadline > from && *deadline <= to);
        marks.push(match () {
            () if is_due => '│',
            () if ran == Nanos::ZERO => '·',
            () if ran.saturating_mul(2) >= to - from => '█',
            () => '▄',
        });
    }
    marks
}

/// Writes the answer as a page with a drawing of the worst window.
///
/// # Errors
/// The page could not be put together.
pub fn admission_page(
    plan: &Plan,
    admission: &Admission,
    room: &[Room],
) -> Result<String, ReportError> {
    let columns: Vec<Column> =
        columns(plan, admission).into_iter().filter(Column::is_shown).collect();
    let rows = (0..admission.tasks.len())
        .map(|row| columns.iter().map(|column| column.entries[row].text.clone()).collect());
    let page = Page {
        title: headline(plan, admission),
        findings: admission.findings.iter().map(FindingView::of).collect(),
        heads: columns.iter().map(|column| column.head.clone()).collect(),
        rows: rows.collect(),
        fits: fits_in_words(plan, admission, room),
        window: admission.window.as_ref().map(window_in_words),
        drawing: admission.window.as_ref().map(|window| schedule::panel(window).inline()),
        frame: Frame::new("", &[]),
    };
    Ok(written(&page)?)
}

/// A finding on the page.
struct FindingView {
    outcome: &'static str,
    test: &'static str,
    strength: &'static str,
    reason: String,
    source: &'static str,
}

impl FindingView {
    fn of(finding: &Finding) -> Self {
        Self {
            outcome: finding.outcome.words(),
            test: finding.test.name(),
            strength: strength_in_words(finding.strength),
            reason: finding.reason.clone(),
            source: finding.test.source(),
        }
    }
}

#[derive(Template)]
#[template(path = "admission.html")]
struct Page {
    title: String,
    findings: Vec<FindingView>,
    heads: Vec<String>,
    rows: Vec<Vec<String>>,
    fits: Vec<String>,
    window: Option<String>,
    drawing: Option<String>,
    frame: Frame,
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = r#"
        policy = "fifo"
        [[task]]
        name = "audio"
        cost = "10ms"
        period = "30ms"
        [[task]]
        name = "control"
        cost = "10ms"
        period = "40ms"
        [[task]]
        name = "video"
        cost = "12ms"
        period = "50ms"
    "#;

    fn answered(text: &str) -> (Plan, Admission, Vec<Room>) {
        let plan = Plan::parse(text).unwrap();
        let admission = Admission::of(&plan);
        let room = vec![Question::cost_for("20ms").unwrap().answer(&plan)];
        (plan, admission, room)
    }

    fn text(plan: &str) -> String {
        let (plan, admission, room) = answered(plan);
        admission_text(&plan, &admission, &room, &TableOptions::default())
    }

    #[test]
    fn a_refusal_says_who_fails_and_what_would_fit() {
        insta::assert_snapshot!(text(PLAN));
    }

    #[test]
    fn an_admitted_plan_shows_its_tightest_window() {
        insta::assert_snapshot!(text(&PLAN.replace("\"fifo\"", "\"deadline\"")));
    }

    #[test]
    fn tasks_on_several_cpus_name_their_cpu() {
        let plan = PLAN.replace("\"fifo\"", "\"deadline\"\ncpus = 2").replace("12ms", "40ms");
        insta::assert_snapshot!(text(&plan));
    }

    #[test]
    fn a_page_shows_hostile_names_as_text() {
        let plan = PLAN.replace("video", "<script>\\u0007");
        let (plan, admission, room) = answered(&plan);
        let page = admission_page(&plan, &admission, &room).unwrap();
        assert!(!page.contains("<script>"), "{page}");
        assert!(page.contains("&lt;script&gt;") || page.contains("&#60;script&#62;"), "{page}");
        assert!(!page.contains("NaN"), "{page}");
    }

    #[test]
    fn many_tasks_share_a_few_rows() {
        let tasks: String = (0..100)
            .map(|number| {
                format!("[[task]]\nname = \"録音 {number}\"\ncost = \"50us\"\nperiod = \"10ms\"\n")
            })
            .collect();
        let text = text(&tasks);
        assert!(text.contains("(76 other tasks not shown)"), "{text}");
        for line in text.lines().filter(|line| line.contains('█')) {
            assert!(columns_of(line) <= 100, "{line}");
        }
    }
}
