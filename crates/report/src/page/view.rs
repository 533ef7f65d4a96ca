//! What the template shows of a run: texts, in the order in which they stand.

use tactus_model::cell::differing_settings;
use tactus_model::facts::FactRow;
use tactus_model::result::Shortfall;
use tactus_model::run::Run;
use tactus_model::time::Nanos;

use super::figures::{Figure, figures};
use crate::experiment::experiment_file;
use crate::facts::changed_facts;
use crate::format;
use crate::summary::{CellResult, RATES, cell_results, cost_in_words};
use crate::verdict::{Verdict, shortfalls, verdict};

/// A run as the template shows it.
pub(super) struct RunView {
    pub(super) number: usize,
    pub(super) id: String,
    pub(super) name: String,
    pub(super) about: String,
    pub(super) began: String,
    pub(super) status: String,
    pub(super) machine: String,
    pub(super) verdict: Verdict,
    pub(super) common: Vec<(&'static str, String)>,
    pub(super) cells: Table,
    pub(super) without_result: Vec<Fault>,
    pub(super) figures: Vec<Figure>,
    pub(super) not_drawn: usize,
    pub(super) shortfalls: Vec<Shortfall>,
    pub(super) accounting: Table,
    pub(super) worst: Table,
    pub(super) loads: Table,
    pub(super) cost: Option<String>,
    pub(super) facts: Vec<FactGroup>,
    pub(super) facts_after_known: bool,
    pub(super) made: Vec<(&'static str, String)>,
    pub(super) experiment: String,
}

/// A turn without a result.
pub(super) struct Fault {
    pub(super) place: String,
    pub(super) reason: String,
    pub(super) hint: Option<String>,
}

/// A table whose first column names the row.
pub(super) struct Table {
    pub(super) heads: Vec<Head>,
    pub(super) rows: Vec<Vec<Entry>>,
}

/// The head of a column.
pub(super) struct Head {
    pub(super) text: &'static str,
    /// What it means, in a sentence; empty where the word says it.
    pub(super) meaning: &'static str,
}

/// An entry of a table.
pub(super) struct Entry {
    pub(super) text: String,
    /// What rows are ordered by; empty for texts, which are ordered as they stand.
    pub(super) order: String,
    /// What is said beneath, smaller; empty for nothing.
    pub(super) note: String,
}

/// Facts of one group, and what became of them.
pub(super) struct FactGroup {
    pub(super) name: &'static str,
    pub(super) facts: Vec<Fact>,
}

/// A fact before the run, and after where it is another.
pub(super) struct Fact {
    pub(super) name: &'static str,
    pub(super) value: String,
    pub(super) after: Option<String>,
}

impl RunView {
    pub(super) fn of(run: &Run, number: usize) -> Self {
        let header = &run.header;
        let results = cell_results(run);
        let (figures, not_drawn) = figures(run, &results);
        Self {
            number,
            id: header.id.to_string(),
            name: header.plan.name.clone(),
            about: header.plan.about.clone(),
            began: format::date(header.created),
            status: header.status.to_string(),
            machine: machine(run),
            verdict: verdict(run),
            common: common_settings(run),
            cells: cells(&results),
            without_result: without_result(run),
            figures: if results.is_empty() { Vec::new() } else { figures },
            not_drawn,
            shortfalls: shortfalls(run).into_iter().cloned().collect(),
            accounting: accounting(&results),
            worst: worst(&results),
            loads: loads(&results),
            cost: cost_in_words(&results),
            facts: facts(run),
            facts_after_known: header.facts_after.is_some(),
            made: made(run),
            experiment: experiment_file(&header.plan),
        }
    }
}

impl Entry {
    fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), order: String::new(), note: String::new() }
    }

    fn number(text: String, order: u64) -> Self {
        Self { text, order: order.to_string(), note: String::new() }
    }

    fn latency(length: Nanos) -> Self {
        Self::number(format::latency(length), length.as_nanos())
    }

    fn count(count: u64) -> Self {
        Self::number(format::count(count), count)
    }

    fn with_note(self, note: String) -> Self {
        Self { note, ..self }
    }
}

const fn head(text: &'static str, meaning: &'static str) -> Head {
    Head { text, meaning }
}

fn machine(run: &Run) -> String {
    let facts = &run.header.facts_before;
    let processors = facts
        .processor
        .online
        .as_ref()
        .map(|online| format::counted(online.len() as u64, "processor"));
    let kernel = facts.kernel.release.as_ref().map(|release| format!("Linux {release}"));
    let parts: Vec<String> =
        [kernel, facts.processor.model.clone(), processors].into_iter().flatten().collect();
    parts.join(" · ")
}

fn common_settings(run: &Run) -> Vec<(&'static str, String)> {
    let cells = &run.header.plan.cells;
    let differing = differing_settings(cells);
    cells.first().map_or_else(Vec::new, |cell| {
        cell.settings().filter(|(name, _)| !differing.contains(name)).collect()
    })
}

fn cells(results: &[CellResult<'_>]) -> Table {
    let schedule = results.iter().any(CellResult::schedule_differs);
    let mut heads = vec![
        head("cell", ""),
        head("observed", "wakeups that were measured"),
        head("missed", "due times that passed before the task had come from an earlier one"),
        head("min", ""),
        head("median", ""),
        head("p99", "99 % of the wakeups came no later; beneath: its interval at 95 % confidence"),
        head("p99.9", "99.9 % of the wakeups came no later"),
        head("max", "the worst wakeup"),
    ];
    if schedule {
        heads.insert(
            6,
            head(
                "p99 due",
                "99 % of the due times were served no later; a missed one counts as late",
            ),
        );
    }
    let row = |result: &CellResult<'_>| {
        let accounting = result.accounting();
        let interval = result.p99_interval().map_or_else(String::new, |(low, high)| {
            format!("{}–{}", format::latency(low), format::latency(high))
        });
        let missed = match accounting.missed {
            0 => Entry::count(0),
            missed => Entry::number(format::share(missed, accounting.intended), missed)
                .with_note(format::count(missed)),
        };
        let mut row = vec![
            Entry::text(result.label.clone()).with_note(granted_note(result)),
            Entry::count(accounting.observed),
            missed,
            Entry::latency(result.min()),
            Entry::latency(result.wakeup_quantile(0.5)),
            Entry::latency(result.wakeup_quantile(0.99)).with_note(interval),
            Entry::latency(result.wakeup_quantile(0.999)),
            Entry::latency(result.max()),
        ];
        if schedule {
            row.insert(6, Entry::latency(result.schedule_quantile(0.99)));
        }
        row
    };
    Table { heads, rows: results.iter().map(row).collect() }
}

/// How a cell ran where that was not as asked for.
fn granted_note(result: &CellResult<'_>) -> String {
    let asked = result.cell.policy.scheduling;
    match result.granted() {
        Some(granted) if granted == asked => String::new(),
        Some(granted) => format!("ran as {granted}"),
        None => "ran in several ways".to_owned(),
    }
}

fn without_result(run: &Run) -> Vec<Fault> {
    let labels = run.header.plan.labels();
    run.failures
        .iter()
        .map(|failure| {
            let label = labels
                .get(failure.turn.cell)
                .map_or("a cell that is not in the plan", String::as_str);
            Fault {
                place: format!("{label}, round {}", failure.turn.round + 1),
                reason: failure.reason.clone(),
                hint: failure.hint.clone(),
            }
        })
        .collect()
}

fn accounting(results: &[CellResult<'_>]) -> Table {
    let heads = vec![
        head("cell", ""),
        head("intended", "due times within the windows"),
        head("observed", "wakeups that were measured and kept"),
        head("missed", "due times that passed before the task had come from an earlier one"),
        head("dropped", "wakeups that were not kept, because the memory for samples was full"),
        head("early", "of those observed, wakeups before their time; they count as not late"),
        head("adds up", "whether intended = observed + missed + dropped"),
        head("p99 per wakeup", "of the wakeups that took place"),
        head("p99 by schedule", "of all due times, a missed one counting as late"),
    ];
    let row = |result: &CellResult<'_>| {
        let accounting = result.accounting();
        vec![
            Entry::text(result.label.clone()),
            Entry::count(accounting.intended),
            Entry::count(accounting.observed),
            Entry::count(accounting.missed),
            Entry::count(accounting.dropped),
            Entry::count(accounting.early),
            Entry::text(if accounting.balances() { "yes" } else { "NO" }),
            Entry::latency(result.wakeup_quantile(0.99)),
            Entry::latency(result.schedule_quantile(0.99)),
        ]
    };
    Table { heads, rows: results.iter().map(row).collect() }
}

fn worst(results: &[CellResult<'_>]) -> Table {
    let heads = vec![
        head("cell", ""),
        head("late by", ""),
        head("round", ""),
        head("cpu", ""),
        head("into the window", "when it was due, since the window opened"),
        head("window opened", "UTC"),
    ];
    let rows = results.iter().filter_map(|result| {
        let worst = result.worst()?;
        Some(vec![
            Entry::text(result.label.clone()),
            Entry::latency(worst.outlier.sample.latency()),
            Entry::count(u64::from(worst.round) + 1),
            worst.cpu.map_or_else(|| Entry::text(format::NOTHING), |cpu| Entry::count(cpu.into())),
            Entry::latency(worst.outlier.sample.due),
            Entry::text(format::date(worst.opened)),
        ])
    });
    Table { heads, rows: rows.collect() }
}

fn loads(results: &[CellResult<'_>]) -> Table {
    let mut heads = vec![head("cell", ""), head("load did", "operations and bytes of all copies")];
    heads.extend(RATES.map(|rate| head(rate, rate_meaning(rate))));
    let row = |result: &CellResult<'_>| {
        let nothing = || format::NOTHING.to_owned();
        let mut row = vec![
            Entry::text(result.label.clone()),
            Entry::text(result.load_achieved().unwrap_or_else(nothing)),
        ];
        row.extend(result.rates().map(|rate| Entry::text(rate.unwrap_or_else(nothing))));
        row
    };
    Table { heads, rows: results.iter().map(row).collect() }
}

fn rate_meaning(rate: &str) -> &'static str {
    match rate {
        "busy" => "processor time not spent idle; 100 % is one processor",
        "cpu wait" => "share of the time in which some task waited for a processor",
        "io wait" => "share of the time in which some task waited for I/O",
        "steal" => "processor time that the hypervisor gave to others, all processors together",
        _ => "",
    }
}

fn facts(run: &Run) -> Vec<FactGroup> {
    let changed = changed_facts(&run.header);
    let mut groups: Vec<FactGroup> = Vec::new();
    for FactRow { group, name, value } in run.header.facts_before.rows() {
        let after = changed
            .iter()
            .find(|fact| fact.group == group && fact.name == name)
            .map(|fact| fact.after.clone());
        let fact = Fact { name, value, after };
        match groups.last_mut() {
            Some(last) if last.name == group => last.facts.push(fact),
            _ => groups.push(FactGroup { name: group, facts: vec![fact] }),
        }
    }
    groups
}

fn made(run: &Run) -> Vec<(&'static str, String)> {
    let header = &run.header;
    let plan = &header.plan;
    vec![
        ("experiment", plan.name.clone()),
        ("cells", format::count(plan.cells.len() as u64)),
        ("rounds", plan.rounds.to_string()),
        ("seed of the order", plan.seed.to_string()),
        ("made by", format!("tactus {}", header.version)),
        ("all data", format!("tactus export {}", header.id)),
    ]
}
