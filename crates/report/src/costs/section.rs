//! A family of operations: its table, and what follows from it.

use std::cmp::Reverse;

use tactus_model::cost::Family;
use tactus_model::run::Run;
use tactus_stats::costs::differences::Difference;
use tactus_stats::costs::ranking::{Best, Criterion, Crossover, Ranking};
use tactus_stats::costs::{CostRow, RunCosts};

use super::growth::{self, GrowthLine, about};
use super::table::{columns, entry, relative};
use super::{heading, interrupts, name};
use crate::format;
use crate::page::view::Table;
use crate::table::column::{Column, Entry};

/// A page folds the table of a family with more rows.
const OPEN_ROWS: usize = 40;
/// A page folds a table of conclusions with more rows.
const OPEN_CONCLUSIONS: usize = 12;
/// A family of operations.
pub(crate) struct Section {
    pub(crate) heading: &'static str,
    pub(crate) drawings: Vec<String>,
    pub(crate) tables: Vec<Captioned>,
}

/// A table with what it shows; the first of a section has no caption.
pub(crate) struct Captioned {
    pub(crate) caption: &'static str,
    pub(crate) table: Table,
    /// Sentences below it.
    pub(crate) remarks: Vec<String>,
}

impl Captioned {
    fn new(caption: &'static str, columns: Vec<Column>) -> Self {
        Self { caption, table: Table::of(columns), remarks: Vec::new() }
    }

    /// The number of its rows.
    pub(crate) fn rows(&self) -> usize {
        self.table.columns.first().map_or(0, |column| column.entries.len())
    }

    /// Whether a page folds it.
    pub(crate) fn is_folded(&self) -> bool {
        self.rows() > if self.caption.is_empty() { OPEN_ROWS } else { OPEN_CONCLUSIONS }
    }
}

/// The sections of all families that have rows, and that of clock interrupts.
pub(crate) fn sections(run: &Run, costs: &RunCosts) -> Vec<Section> {
    let of = |family: &Family| Scope::of(run, costs, *family).map(|scope| scope.section());
    let interrupts = (!costs.interrupts.is_empty()).then(|| Section {
        heading: interrupts::HEADING,
        drawings: Vec::new(),
        tables: vec![Captioned::new("", interrupts::columns(run, &costs.interrupts))],
    });
    Family::ALL.iter().filter_map(of).chain(interrupts).collect()
}

/// The rows of a family.
pub(super) struct Scope<'r> {
    run: &'r Run,
    pub(super) costs: &'r RunCosts,
    family: Family,
    pub(super) rows: Vec<&'r CostRow>,
    /// The value that most rows have, of each setting and condition that varies.
    usual: Vec<(&'static str, &'r str)>,
}

impl<'r> Scope<'r> {
    fn of(run: &'r Run, costs: &'r RunCosts, family: Family) -> Option<Self> {
        let rows: Vec<&CostRow> = costs.rows.iter().filter(|row| row.family == family).collect();
        let usual = usual(&rows);
        (!rows.is_empty()).then_some(Self { run, costs, family, rows, usual })
    }

    fn section(&self) -> Section {
        let all = Captioned::new("", columns(self.run, &self.rows));
        let more = [
            self.growth(),
            self.ranking(Criterion::Typical),
            self.ranking(Criterion::Tail),
            self.differences(),
        ];
        Section {
            heading: heading(self.family),
            drawings: self.drawings(),
            tables: std::iter::once(all).chain(more.into_iter().flatten()).collect(),
        }
    }

    pub(super) fn row(&self, cell: usize) -> Option<&'r CostRow> {
        self.rows.iter().copied().find(|row| row.cell == cell)
    }

    /// What distinguishes a row from most others besides its operation and size.
    pub(super) fn context(&self, row: &CostRow) -> String {
        let values = row.settings.iter().chain(&row.conditions);
        let unusual = values.filter_map(|(name, value)| {
            let (_, usual) = self.usual.iter().find(|(known, _)| known == name)?;
            (value != usual).then(|| format!("{name} {value}"))
        });
        unusual.collect::<Vec<_>>().join(", ")
    }

    /// The operation and its context.
    pub(super) fn way(&self, row: &CostRow) -> String {
        let operation = row.operation().unwrap_or_default();
        match self.context(row) {
            context if context.is_empty() => operation.to_owned(),
            context => format!("{operation}, {context}"),
        }
    }

    fn growth(&self) -> Option<Captioned> {
        let lines: Vec<GrowthLine> = self
            .costs
            .growth
            .iter()
            .filter_map(|over| {
                let rows: Vec<&CostRow> =
                    over.cells.iter().map(|cell| self.row(*cell)).collect::<Option<_>>()?;
                Some(GrowthLine::of(&self.way(rows[0]), &rows, &over.growth))
            })
            .flatten()
            .collect();
        let mut captioned = Captioned::new(
            "How costs grow with size, as a fixed cost and a rate",
            growth::columns(&lines),
        );
        captioned.remarks.push(growth::remark(&lines));
        (!lines.is_empty()).then_some(captioned)
    }

    fn ranking(&self, criterion: Criterion) -> Option<Captioned> {
        let is_loaded = |row: &CostRow| {
            let cell = self.run.header.plan.cells.get(row.cell);
            cell.is_some_and(|cell| !cell.load.load.is_idle())
        };
        let rankings: Vec<(&Ranking, &CostRow)> = self
            .costs
            .rankings
            .iter()
            .filter(|ranking| ranking.criterion == criterion)
            .filter_map(|ranking| Some((ranking, self.row(ranking.cell)?)))
            // Without a load, tails show the machine rather than the operation.
            .filter(|(_, row)| criterion == Criterion::Typical || is_loaded(row))
            .collect();
        let best: Vec<(&Best, &CostRow)> = rankings
            .iter()
            .flat_map(|(ranking, _)| &ranking.best)
            .filter_map(|best| Some((best, self.row(best.cell)?)))
            .collect();
        let (caption, takes) = match criterion {
            Criterion::Typical => ("Cheapest by size, where all else is equal", "median"),
            Criterion::Tail => ("Shortest tail under load, where all else is equal", "p99"),
        };
        let operation = |cell: &usize| self.row(*cell)?.operation();
        let columns = vec![
            Column::names("best", &best, |(_, row)| Entry::text(self.way(row))),
            Column::of("size", &best, |(best, _)| {
                best.size
                    .map_or_else(Entry::empty, |size| Entry::number(size.to_string(), size.get()))
            })
            .dispensable(1),
            Column::of(takes, &best, |(best, _)| entry(best.takes_ns)),
            Column::names("indistinguishable", &best, |(best, _)| {
                Entry::text(best.ties.iter().filter_map(operation).collect::<Vec<_>>().join(", "))
            })
            .dispensable(2),
        ];
        let mut captioned = Captioned::new(caption, columns);
        let crossovers = rankings.iter().flat_map(|(ranking, _)| &ranking.crossovers);
        captioned.remarks = crossovers.filter_map(|found| self.crossover(found)).collect();
        let unranked = rankings.iter().flat_map(|(ranking, _)| &ranking.unranked);
        let unranked: Vec<String> =
            unranked.filter_map(|cell| Some(name(self.run, self.row(*cell)?))).collect();
        captioned.remarks.extend((!unranked.is_empty()).then(|| {
            format!("Not ranked, since they have too few samples: {}.", unranked.join("; "))
        }));
        (!best.is_empty()).then_some(captioned)
    }

    fn crossover(&self, Crossover { below, above, at }: &Crossover) -> Option<String> {
        let [below, above] = [self.row(*below)?, self.row(*above)?];
        let interval = at
            .interval
            .map_or(String::new(), |[low, high]| format!(" [{}, {}]", about(low), about(high)));
        Some(format!(
            "From about {}{interval} on, {} costs less than {}.",
            about(at.value),
            self.way(above),
            below.operation()?
        ))
    }

    fn differences(&self) -> Option<Captioned> {
        let found: Vec<(&Difference, &CostRow)> = self
            .costs
            .differences
            .iter()
            .filter_map(|found| Some((found, self.row(found.cells[0])?)))
            .collect();
        let columns = vec![
            Column::names("change", &found, |(found, _)| {
                let [from, to] = found.values;
                Entry::text(match found.setting {
                    "operation" => format!("{from} → {to}"),
                    setting => format!("{setting}: {from} → {to}"),
                })
            }),
            Column::names("of", &found, |(found, row)| {
                let of = name(self.run, row);
                Entry::text(match found.per {
                    Some(per) => format!("{of}, per {per}"),
                    None => of,
                })
            }),
            Column::of("adds", &found, |(found, _)| Entry::text(added(found.added_ns.value))),
            Column::of("95 % interval", &found, |(found, _)| {
                Entry::optional(found.added_ns.interval.map(|ends| {
                    let [low, high] = ends.map(added);
                    format!("{low} – {high}")
                }))
            })
            .dispensable(1),
            Column::of("ratio", &found, |(found, _)| {
                let ratio = found.ratio.value;
                Entry::number(format!("{ratio:.2}"), (ratio * 1000.0) as u64)
            })
            .dispensable(2),
            Column::of("95 % of ratio", &found, |(found, _)| {
                let ends = found.ratio.interval;
                Entry::optional(ends.map(|[low, high]| format!("{low:.2} – {high:.2}")))
            })
            .meaning("95 % interval of the ratio, in pairs of processes of a round")
            .dispensable(3),
            Column::of("noise", &found, |(found, _)| Entry::optional(found.noise.map(relative)))
                .meaning("independent measurements of both can differ by this by chance")
                .dispensable(4),
            Column::names("beyond noise", &found, |(found, _)| {
                Entry::text(if found.is_found { "yes" } else { "no" })
            })
            .meaning(
                "whether the interval of the ratio excludes 1 and the ratio exceeds the noise",
            ),
        ];
        (!found.is_empty()).then(|| Captioned::new("What a change adds", columns))
    }
}

/// A difference of costs, with its sign.
fn added(nanos: f64) -> String {
    format::signed(nanos, format::fine_latency)
}

/// The value that most rows have, of each setting and condition that varies.
fn usual<'r>(rows: &[&'r CostRow]) -> Vec<(&'static str, &'r str)> {
    let mut counts: Vec<(&'static str, &'r str, usize)> = Vec::new();
    for row in rows {
        let values = row.settings.iter().chain(&row.conditions);
        for (name, value) in
            values.filter(|(name, _)| !["operation", "size", "image"].contains(name))
        {
            match counts.iter_mut().find(|(known, of, _)| known == name && of == value) {
                Some((_, _, count)) => *count += 1,
                None => counts.push((name, value, 1)),
            }
        }
    }
    // Of equally frequent ones, the first in the plan.
    counts.sort_by_key(|(_, _, count)| Reverse(*count));
    let mut usual: Vec<(&'static str, &'r str)> = Vec::new();
    for (name, value, _) in counts {
        if usual.iter().all(|(known, _)| *known != name) {
            usual.push((name, value));
        }
    }
    usual
}
