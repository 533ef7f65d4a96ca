//! The texts of a run in the order of the template.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use tactus_judge::doctor::{Finding, State};
use tactus_judge::purpose::PurposeVerdict;
use tactus_judge::verdict::{Validity, Verdict, changed_facts, verdict as judged};
use tactus_model::facts::FactRow;
use tactus_model::label::differing_settings;
use tactus_model::run::Run;
use tactus_model::sample_kind::SampleKind;
use tactus_stats::costs::RunCosts;

use super::Conclusions;
use super::figures::{Figure, figures};
use crate::accounts::section::AccountsView;
use crate::costs::{self, Section};
use crate::experiment::{experiment_file, measure_command};
use crate::explanation::section::ExplanationView;
use crate::format;
use crate::guests::{self, guests_note};
use crate::kernels::GateView;
use crate::purpose::PurposeView;
use crate::summary::{CellResult, cost_in_words};
use crate::svg::percentiles::Limit;
use crate::table::column::{Column, Entry};
use crate::table::content;
use crate::table::details::{by_tactus, export_command, origin};
use crate::table::kernels;
use crate::table::{TableForm, cells_file};
use crate::tail::TailView;
use crate::until::rounds_taken_text;
use crate::{outcome, verdict};

/// A run as the template shows it.
pub(super) struct RunView {
    pub(super) number: usize,
    pub(super) id: String,
    pub(super) name: String,
    pub(super) about: String,
    pub(super) began: String,
    pub(super) status: String,
    pub(super) machine: String,
    pub(super) outcome: String,
    /// What was measured, and one sample of it.
    pub(super) quantity: &'static str,
    pub(super) noun: &'static str,
    pub(super) is_imported: bool,
    pub(super) causes: Vec<String>,
    /// The note on the guests' clock; `None` without guests.
    pub(super) guests_note: Option<String>,
    pub(super) verdict: VerdictView,
    /// Whether one of two kernels is worse; `None` for other runs.
    pub(super) gate: Option<GateView>,
    pub(super) common: Vec<(&'static str, String)>,
    pub(super) cells: Table,
    /// What operations cost; empty without any.
    pub(super) sections: Vec<Section>,
    /// Which rule of accounting a reader needs; `None` if both give the same figures.
    pub(super) rules_note: Option<String>,
    /// The same by kernels; empty for fewer than two kernels.
    pub(super) kernels: Table,
    pub(super) kernels_head: &'static str,
    pub(super) messages: Table,
    pub(super) messages_head: &'static str,
    pub(super) without_result: Vec<Fault>,
    pub(super) figures: Vec<Figure>,
    pub(super) not_drawn: usize,
    pub(super) explanation: Option<ExplanationView>,
    /// The cells whose causes and accounts are printed: the worst of each policy.
    pub(super) printed: Vec<String>,
    pub(super) purposes: Vec<PurposeView>,
    pub(super) tail: Option<TailView>,
    pub(super) accounts: Option<AccountsView>,
    pub(super) accounting: Table,
    pub(super) worst: Table,
    pub(super) loads: Table,
    pub(super) cost: Option<String>,
    pub(super) facts: Vec<FactGroup>,
    pub(super) facts_after_known: bool,
    pub(super) made: Vec<(&'static str, String)>,
    /// The plan as a file; `None` if another program measured.
    pub(super) experiment: Option<String>,
    /// The command that repeats the run without that file, if there is one.
    pub(super) command: Option<String>,
    pub(super) downloads: Vec<Download>,
    /// Whether the run itself is among the downloads.
    pub(super) has_document: bool,
}

/// Whether the run is valid.
pub(super) struct VerdictView {
    /// Its CSS class.
    pub(super) class: &'static str,
    pub(super) headline: String,
    pub(super) findings: Vec<FindingView>,
    pub(super) unknown: Option<String>,
}

/// A warning, or a reason why a run is invalid.
pub(super) struct FindingView {
    pub(super) invalidates: bool,
    pub(super) check: &'static str,
    pub(super) why: &'static str,
    pub(super) text: String,
    pub(super) fix: Option<Words>,
}

impl VerdictView {
    fn of(verdict: &Verdict) -> Self {
        Self {
            class: match verdict.validity {
                Validity::Invalid => "invalid",
                Validity::WithWarnings => "warned",
                Validity::Valid => "valid",
            },
            headline: verdict::headline(verdict),
            findings: verdict::against(verdict)
                .into_iter()
                .map(|(finding, fix)| FindingView::of(finding, fix))
                .collect(),
            unknown: verdict::unknown(verdict),
        }
    }
}

impl FindingView {
    fn of(finding: &Finding, fix: Option<&str>) -> Self {
        Self {
            invalidates: finding.state == State::Invalidates,
            check: finding.check,
            why: finding.why,
            text: verdict::sentence(finding),
            fix: fix.map(Words::of),
        }
    }
}

/// Words that may contain code between backticks.
pub(super) struct Words(pub(super) Vec<(String, bool)>);

impl Words {
    fn of(text: &str) -> Self {
        let parts = text.split('`').enumerate();
        Self(parts.map(|(place, part)| (part.to_owned(), place % 2 == 1)).collect())
    }
}

/// A file that the page contains.
pub(super) struct Download {
    pub(super) name: String,
    pub(super) about: &'static str,
    /// Its content as a `data:` address.
    pub(super) address: String,
}

impl Download {
    fn of(name: String, about: &'static str, kind: &str, content: &[u8]) -> Self {
        let content = BASE64_STANDARD.encode(content);
        Self { name, about, address: format!("data:{kind};base64,{content}") }
    }
}

fn downloads(run: &Run, document: Option<&[u8]>) -> Vec<Download> {
    let id = &run.header.id;
    let table = cells_file(&[run], TableForm::Csv);
    let about = "the table of cells, durations in nanoseconds";
    let mut files = vec![Download::of(format!("{id}.csv"), about, "text/csv", table.as_bytes())];
    if let Some(document) = document {
        let about = "the run without single samples; tactus show, compare and import read it";
        files.push(Download::of(format!("{id}.json"), about, "application/json", document));
    }
    if run.header.origin.is_none() {
        let plan = experiment_file(&run.header.plan);
        let about = "the experiment; tactus measure FILE repeats the run";
        let name = format!("{id}.toml");
        files.push(Download::of(name, about, "application/toml", plan.as_bytes()));
    }
    files
}

/// A turn without a result.
pub(super) struct Fault {
    pub(super) place: String,
    pub(super) reason: String,
    pub(super) hint: Option<String>,
}

/// A table with a column of names, possibly after one of numbers.
pub(crate) struct Table {
    pub(crate) columns: Vec<Column>,
    /// The index of the column of names.
    pub(crate) names: usize,
}

impl Table {
    pub(crate) fn of(columns: Vec<Column>) -> Self {
        let columns: Vec<Column> = columns.into_iter().filter(Column::is_shown).collect();
        let names = columns.iter().position(Column::is_of_names).unwrap_or_default();
        Self { columns, names }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.columns.first().is_none_or(|names| names.entries.is_empty())
    }

    /// The entries row by row, with their columns.
    pub(crate) fn rows(&self) -> Vec<Vec<(&Column, &Entry)>> {
        let count = self.columns.first().map_or(0, |names| names.entries.len());
        (0..count)
            .map(|row| self.columns.iter().map(|column| (column, &column.entries[row])).collect())
            .collect()
    }
}

/// The facts of one group.
pub(super) struct FactGroup {
    pub(super) name: &'static str,
    pub(super) facts: Vec<Fact>,
}

/// A fact before the run, and after it if it changed.
pub(super) struct Fact {
    pub(super) name: &'static str,
    pub(super) value: String,
    pub(super) after: Option<String>,
}

impl RunView {
    pub(super) fn of(
        run: &Run,
        results: &[CellResult<'_>],
        concluded: &Conclusions,
        number: usize,
    ) -> Self {
        let header = &run.header;
        let kind = SampleKind::of_all(&header.plan.cells);
        let (figures, not_drawn) = figures(run, results, &limits(&concluded.purposes));
        let printed: Vec<String> =
            outcome::worst_of_policies(results).into_iter().map(str::to_owned).collect();
        Self {
            number,
            id: header.id.to_string(),
            name: header.plan.name.clone(),
            about: header.plan.about.clone(),
            began: format::date(header.created),
            status: header.status.to_string(),
            machine: machine(run),
            outcome: outcome::of_results(run, results),
            quantity: kind.quantity(),
            noun: kind.noun(),
            is_imported: header.origin.is_some(),
            causes: concluded.causes.clone(),
            guests_note: guests_note(run),
            verdict: VerdictView::of(&judged(run)),
            gate: GateView::of(run),
            common: common_settings(run),
            cells: Table::of(content::cells(results)),
            sections: match results.iter().any(CellResult::is_operation) {
                true => costs::sections(run, &RunCosts::of(run)),
                false => Vec::new(),
            },
            rules_note: content::rules_note(results),
            kernels: Table::of(kernels::columns(run, results)),
            kernels_head: kernels::head(run),
            messages: Table::of(content::messages(results)),
            messages_head: content::MESSAGES_HEAD,
            without_result: without_result(run),
            figures: if results.is_empty() { Vec::new() } else { figures },
            not_drawn,
            explanation: ExplanationView::of(&concluded.explanations),
            accounts: AccountsView::of(&concluded.accounts).map(|view| view.printing(&printed)),
            printed,
            purposes: PurposeView::of(&concluded.purposes),
            tail: TailView::of(&concluded.tails),
            accounting: Table::of(content::accounting(results)),
            worst: Table::of(content::worst(results)),
            loads: Table::of(match header.origin {
                None => content::loads(results),
                Some(_) => Vec::new(),
            }),
            cost: cost_in_words(results),
            facts: facts(run),
            facts_after_known: header.facts_after.is_some(),
            made: made(run),
            experiment: header.origin.is_none().then(|| experiment_file(&header.plan)),
            command: match header.origin {
                None => measure_command(&header.plan),
                Some(_) => None,
            },
            has_document: concluded.document.is_some(),
            downloads: downloads(run, concluded.document.as_deref()),
        }
    }
}

/// The latency that each purpose tolerates.
pub(super) fn limits(purposes: &[PurposeVerdict]) -> Vec<Limit> {
    let mut limits: Vec<Limit> = purposes
        .iter()
        .map(|verdict| Limit {
            name: format!("for {}: {}", verdict.purpose, format::axis_length(verdict.deadline)),
            latency: verdict.deadline,
        })
        .collect();
    limits.dedup();
    limits
}

fn machine(run: &Run) -> String {
    let facts = &run.header.facts_before;
    let cpus = facts.cpu.online.as_ref().map(|online| format::counted(online.len() as u64, "CPU"));
    let kernel = facts.kernel.release.as_ref().map(|release| format!("Linux {release}"));
    let are_guests = run.header.plan.cells.iter().any(|cell| cell.target.guest().is_some());
    let kernel = kernel.map(|kernel| match are_guests {
        true => format!("guests on {kernel}"),
        false => kernel,
    });
    let parts: Vec<String> =
        [kernel, facts.cpu.model.clone(), cpus].into_iter().flatten().collect();
    parts.join(" · ")
}

fn common_settings(run: &Run) -> Vec<(&'static str, String)> {
    let cells = &run.header.plan.cells;
    let differing = differing_settings(cells);
    cells.first().map_or_else(Vec::new, |cell| {
        let is_common = |name| !differing.contains(&name) && cell.knows(name);
        cell.settings().filter(|(name, _)| is_common(*name)).collect()
    })
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
    let mut made = header.origin.as_ref().map_or_else(Vec::new, origin);
    made.extend(header.command.clone().map(|command| ("command", command)));
    made.extend([
        ("experiment", plan.name.clone()),
        ("cells", format::count(plan.cells.len() as u64)),
        ("rounds", rounds_taken_text(run)),
        (by_tactus(run), format!("tactus {}", header.version)),
        ("to export", export_command(run)),
    ]);
    if header.origin.is_none() {
        made.push(("seed", plan.seed.to_string()));
    }
    made.extend(guests::guests(run).iter().map(|guest| ("guest", guests::in_a_line(guest))));
    made
}
