//! A family of operations: its table, and what follows from it.

use std::cmp::Reverse;

use tactus_model::bytes::Bytes;
use tactus_model::cost::Family;
use tactus_model::run::Run;
use tactus_model::time::Nanos;
use tactus_stats::costs::differences::Difference;
use tactus_stats::costs::growth::{Growth, Line};
use tactus_stats::costs::ranking::{Best, Criterion, Crossover, Ranking};
use tactus_stats::costs::resample::Estimate;
use tactus_stats::costs::{CostRow, RunCosts};

use super::{columns, cost, entry, heading, interrupts, name, percent};
use crate::format::{self, THIN_SPACE};
use crate::page::view::Table;
use crate::svg::sizes::{self, SizeCurve};
use crate::svg::style::CurveStyle;
use crate::table::column::{Column, Entry};

/// A page folds the table of a family with more rows.
const OPEN_ROWS: usize = 40;
/// A page folds a table of conclusions with more rows.
const OPEN_CONCLUSIONS: usize = 12;
/// The most curves in a drawing: a reader cannot distinguish more.
const CURVES_MAX: usize = 8;

/// What the lines of a table of growth are.
const RESIDUALS: &str = "Lines minimize relative residuals; the worst is shown.";
/// The fits that need an explanation, with it.
const FITS: [(&str, &str); 3] = [
    (
        "no line",
        "No line: a test of lack of fit rejects a line, and two lines do not fit either; read the table.",
    ),
    (
        "unclear",
        "Unclear: a line misses a size by more than 20 %, and the processes differ too much to reject it; \
         read the table.",
    ),
    ("2 sizes", "A line through 2 sizes is not tested."),
];

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
struct Scope<'r> {
    run: &'r Run,
    costs: &'r RunCosts,
    family: Family,
    rows: Vec<&'r CostRow>,
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

    fn row(&self, cell: usize) -> Option<&'r CostRow> {
        self.rows.iter().copied().find(|row| row.cell == cell)
    }

    /// What distinguishes a row from most others besides its operation and size.
    fn context(&self, row: &CostRow) -> String {
        let values = row.settings.iter().chain(&row.conditions);
        let unusual = values.filter_map(|(name, value)| {
            let (_, usual) = self.usual.iter().find(|(known, _)| known == name)?;
            (value != usual).then(|| format!("{name} {value}"))
        });
        unusual.collect::<Vec<_>>().join(", ")
    }

    /// The operation and its context.
    fn way(&self, row: &CostRow) -> String {
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
        let mut captioned =
            Captioned::new("How costs grow with size, as a fixed cost and a rate", growth(&lines));
        let used = FITS.iter().filter(|(fit, _)| lines.iter().any(|line| line.fit == *fit));
        let meanings = used.map(|(_, meaning)| *meaning);
        let remark: Vec<&str> = std::iter::once(RESIDUALS).chain(meanings).collect();
        captioned.remarks.push(remark.join(" "));
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
            Column::of("adds", &found, |(found, _)| Entry::text(signed(found.added_ns.value))),
            Column::of("95 % interval", &found, |(found, _)| {
                Entry::optional(found.added_ns.interval.map(|ends| {
                    let [low, high] = ends.map(signed);
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
            Column::of("noise", &found, |(found, _)| Entry::optional(found.noise.map(percent)))
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

    /// How the costs of operations grow with a size, in drawings with a few curves each.
    fn drawings(&self) -> Vec<String> {
        let of_sizes = self.costs.growth.iter().filter_map(|over| {
            let rows: Vec<&CostRow> =
                over.cells.iter().map(|cell| self.row(*cell)).collect::<Option<_>>()?;
            let points = rows.iter().filter_map(|row| Some((row.size()?.get(), nanos(row))));
            let (context, name) = (self.context(rows[0]), self.way(rows[0]));
            Some(Costs { context, name, points: points.collect() })
        });
        let sizes = panels("block size", of_sizes.collect());
        let sets = panels("working set", self.working_sets());
        sizes.into_iter().chain(sets).collect()
    }

    /// The costs by working set, of each operation with all else equal.
    fn working_sets(&self) -> Vec<Costs> {
        let mut curves: Vec<Costs> = Vec::new();
        for row in &self.rows {
            let set = row.settings.get("working-set").and_then(|set| set.parse::<Bytes>().ok());
            let Some(set) = set.filter(|set| *set > Bytes::ZERO) else { continue };
            let mut alike = (*row).clone();
            alike.settings.remove("working-set");
            let name = self.way(&alike);
            let point = (set.get(), nanos(row));
            match curves.iter_mut().find(|known| known.name == name) {
                Some(known) => known.points.push(point),
                None => curves.push(Costs { context: String::new(), name, points: vec![point] }),
            }
        }
        curves.retain(|costs| costs.points.len() > 1);
        curves.iter_mut().for_each(|costs| costs.points.sort_unstable());
        curves
    }
}

fn nanos(row: &CostRow) -> Nanos {
    Nanos::from_nanos(row.cost.typical_ns.round() as u64)
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

/// The costs of a way by size, with what distinguishes it from most others.
struct Costs {
    context: String,
    name: String,
    points: Vec<(u64, Nanos)>,
}

/// Drawings of curves with equal contexts.
fn panels(along: &str, curves: Vec<Costs>) -> Vec<String> {
    let mut groups: Vec<(String, Vec<SizeCurve>)> = Vec::new();
    for Costs { context, name, points } in curves {
        let open = groups
            .iter_mut()
            .find(|(known, curves)| *known == context && curves.len() < CURVES_MAX);
        let curve = |number: usize| SizeCurve { name, style: CurveStyle::numbered(number), points };
        match open {
            Some((_, curves)) => curves.push(curve(curves.len())),
            None => groups.push((context, vec![curve(0)])),
        }
    }
    groups.iter().map(|(_, curves)| sizes::panel(along, curves).inline()).collect()
}

/// A line of the table of growth.
struct GrowthLine {
    way: String,
    sizes: String,
    line: Option<Line>,
    /// The worst relative residual.
    residual: Option<f64>,
    /// Whether the first byte of the line is one of a size that was measured.
    has_fixed: bool,
    fit: &'static str,
}

impl GrowthLine {
    fn of(way: &str, rows: &[&CostRow], growth: &Growth) -> Vec<Self> {
        let ends = [rows.first(), rows.last()].map(|row| row.and_then(|row| row.size()));
        let [first, last] = ends.map(|size| size.unwrap_or_default().to_string());
        let one = |sizes: String, line: Option<Line>, residual: Option<f64>, fit: &'static str| {
            Self { way: way.to_owned(), sizes, line, residual, has_fixed: true, fit }
        };
        // Two sizes have a line in any case.
        let residual = |line: &Line| (line.sizes > 2).then_some(line.residual);
        let all = format!("{first} – {last}");
        match growth {
            Growth::Line(line) => {
                let fit = if line.sizes > 2 { "line" } else { "2 sizes" };
                vec![one(all, Some(*line), residual(line), fit)]
            }
            Growth::Neither { residual } => vec![one(all, None, Some(*residual), "no line")],
            Growth::Unclear { residual } => vec![one(all, None, Some(*residual), "unclear")],
            Growth::Broken { at, below, above } => {
                let at = about(at.get() as f64);
                let upper =
                    one(format!("{at} – {last}"), Some(*above), residual(above), "line 2 of 2");
                vec![
                    one(format!("{first} – {at}"), Some(*below), residual(below), "line 1 of 2"),
                    Self { has_fixed: false, ..upper },
                ]
            }
        }
    }

    fn fixed(&self) -> Option<Estimate> {
        self.line.filter(|_| self.has_fixed).map(|line| line.fixed_ns)
    }

    /// Bytes per second with the ends of their interval.
    fn rate(&self) -> Option<(f64, Option<[f64; 2]>)> {
        let line = self.line?;
        let rate = line.rate()?;
        let interval = line.per_byte_ns.interval.filter(|[low, _]| *low > 0.0);
        Some((rate, interval.map(|[low, high]| [1e9 / high, 1e9 / low])))
    }
}

fn growth(lines: &[GrowthLine]) -> Vec<Column> {
    vec![
        Column::names("operation", lines, |line| Entry::text(&line.way)),
        Column::of("sizes", lines, |line| Entry::text(&line.sizes)).dispensable(2),
        Column::of("fixed cost", lines, |line| {
            line.fixed().map_or_else(Entry::empty, |fixed| entry(fixed.value))
        }),
        Column::of("95 % of fixed", lines, |line| {
            Entry::optional(line.fixed().and_then(|fixed| fixed.interval).map(|ends| {
                let [low, high] = ends.map(cost);
                format!("{low} – {high}")
            }))
        })
        .meaning("95 % interval of the fixed cost, over processes")
        .dispensable(3),
        Column::of("rate", lines, |line| {
            line.rate().map_or_else(Entry::empty, |(rate, _)| {
                Entry::number(format::byte_rate(rate), rate as u64)
            })
        }),
        Column::of("95 % of rate", lines, |line| {
            Entry::optional(line.rate().and_then(|(_, ends)| ends).map(|ends| {
                let [low, high] = ends.map(format::byte_rate);
                format!("{low} – {high}")
            }))
        })
        .meaning("95 % interval of the rate, over processes")
        .dispensable(4),
        Column::of("worst residual", lines, |line| {
            line.residual.map_or_else(Entry::empty, |residual| {
                let text = format!("{:.0}{THIN_SPACE}%", residual * 100.0);
                Entry::number(text, (residual * 1e4) as u64)
            })
        })
        .meaning("how far the line is from the cost at a size, at most")
        .dispensable(1),
        Column::names("fit", lines, |line| Entry::text(line.fit))
            .meaning("whether a line describes the costs; a test of lack of fit decides"),
    ]
}

/// A size with two digits, in binary units.
fn about(bytes: f64) -> String {
    let digits = 10_f64.powf(bytes.max(1.0).log10().floor() - 1.0).max(1.0);
    let rounded = (bytes / digits).round() * digits;
    let (value, unit) = match rounded {
        ..1024.0 => (rounded, "B"),
        ..1_048_576.0 => (rounded / 1024.0, "KiB"),
        _ => (rounded / 1_048_576.0, "MiB"),
    };
    match value < 10.0 && unit != "B" {
        true => format!("{value:.1}{THIN_SPACE}{unit}"),
        false => format!("{value:.0}{THIN_SPACE}{unit}"),
    }
}

/// A difference of costs, with its sign.
fn signed(nanos: f64) -> String {
    match nanos < 0.0 {
        true => format!("−{}", cost(-nanos)),
        false => format!("+{}", cost(nanos)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_two_digits() {
        for (bytes, text) in [
            (0.0, "0 B"),
            (64.0, "64 B"),
            (5_300.0, "5.2 KiB"),
            (90_000.0, "88 KiB"),
            (3e6, "2.9 MiB"),
        ] {
            assert_eq!(about(bytes).replace(THIN_SPACE, " "), text);
        }
    }

    #[test]
    fn differences_have_a_sign() {
        assert_eq!(signed(-1_500.0).replace(THIN_SPACE, " "), "−1.50 µs");
        assert_eq!(signed(2.0).replace(THIN_SPACE, " "), "+2.00 ns");
    }
}
