//! The verdict of a gate between two kernels, as text.

use std::fmt::Write;

use tactus_judge::kernels::{
    CellComparison, Decision, FigureComparison, KernelComparison, KernelSide, Kind, Seeds, Verdict,
    chance_in_words, check_seeds, compare,
};
use tactus_model::format;
use tactus_model::gate_rule::{Allowance, GateRule};
use tactus_model::guest::EXACT_LIMITS;
use tactus_model::run::Run;

use crate::page::view::Table;
use crate::table::column::{Column, Entry};
use crate::table::{TableOptions, grid};
use crate::wrap::wrapped;

/// Writes the comparison, one line per figure, then the conclusion.
pub fn kernel_gate_text(
    comparison: &KernelComparison,
    rule: &GateRule,
    table: &TableOptions,
) -> String {
    let mut text = String::new();
    let paragraphs = [
        heading(comparison),
        side("kernel", &comparison.kernel),
        side("baseline", &comparison.baseline),
    ];
    paragraphs.iter().for_each(|words| text.push_str(&wrapped(words, "", table.width)));
    let rows = rows(comparison);
    if !rows.is_empty() {
        text.push('\n');
        text.push_str(&grid(columns(&rows), table.width));
    }
    for words in not_compared(comparison) {
        text.push_str(&wrapped(&words, "", table.width));
    }
    text.push('\n');
    for words in conclusion(comparison, rule) {
        text.push_str(&wrapped(&words, "", table.width));
    }
    let _ = write!(text, "\n{}", wrapped(EXACT_LIMITS, "", table.width));
    text
}

/// The verdict of a gate on a page.
pub(crate) struct GateView {
    /// Its CSS class.
    pub(crate) class: &'static str,
    /// The decision, in a sentence.
    pub(crate) decision: String,
    /// Which figures differ, the cells that were not compared, and the rule.
    pub(crate) sentences: Vec<String>,
    pub(crate) table: Table,
}

impl GateView {
    /// The verdict on a run of two kernels in deterministic time, by the rule that the run was measured
    /// for, else the default one; `None` for other runs, and if the seeds do not even suffice for paths.
    pub(crate) fn of(run: &Run) -> Option<Self> {
        let rule = run.header.plan.gate.unwrap_or_default();
        let paths = GateRule { paths_only: true, ..rule };
        check_seeds(&run.header.plan, &paths).ok()?;
        let comparison = compare(run, &rule).ok()?;
        let mut conclusion = conclusion(&comparison, &rule).into_iter();
        let decision = conclusion.next()?;
        let sentences = conclusion.chain(not_compared(&comparison)).collect();
        let class = match comparison.decision(&rule) {
            Decision::Passes => "valid",
            Decision::Refused => "invalid",
            Decision::Undecided => "warned",
        };
        let table = Table::of(columns(&rows(&comparison)));
        Some(Self { class, decision, sentences, table })
    }
}

/// The cells that were not compared, and why.
fn not_compared(comparison: &KernelComparison) -> impl Iterator<Item = String> {
    comparison.cells.iter().filter_map(|CellComparison { cell, not_measured, .. }| {
        Some(format!("{cell}: not compared: {}", not_measured.as_ref()?))
    })
}

fn heading(comparison: &KernelComparison) -> String {
    let KernelComparison { run, mips, seeds, seed, .. } = comparison;
    format!(
        "{run}: deterministic time, {mips} million instructions per second, {} from seed {seed}",
        format::counted(u64::from(*seeds), "seed")
    )
}

fn side(role: &str, side: &KernelSide) -> String {
    let KernelSide { kernel, release, sha256 } = side;
    let release =
        release.as_deref().map_or_else(String::new, |release| format!(", Linux {release}"));
    let digest = sha256.as_deref().and_then(|digest| digest.get(..16));
    let digest = digest.map_or_else(String::new, |digest| format!(", sha256 {digest}…"));
    format!("{role}: {kernel}{release}{digest}")
}

/// A figure with the cell it belongs to.
struct Row<'c> {
    cell: &'c str,
    figure: &'c FigureComparison,
}

fn rows(comparison: &KernelComparison) -> Vec<Row<'_>> {
    comparison.cells.iter().flat_map(rows_of_cell).collect()
}

fn rows_of_cell(cell: &CellComparison) -> impl Iterator<Item = Row<'_>> {
    cell.figures.iter().map(|figure| Row { cell: &cell.cell, figure })
}

fn columns(rows: &[Row<'_>]) -> Vec<Column> {
    vec![
        Column::names("cell", rows, |row| Entry::text(row.cell)),
        Column::names("figure", rows, |row| Entry::text(row.figure.figure.words())),
        Column::of("baseline", rows, |row| median(&row.figure.baseline)),
        Column::of("kernel", rows, |row| median(&row.figure.kernel)),
        Column::of("change", rows, |row| Entry::text(change(row.figure))),
        Column::names("verdict", rows, |row| Entry::text(verdict(row.figure))),
        Column::of("baseline (all seeds)", rows, |row| range(&row.figure.baseline)).dispensable(2),
        Column::of("kernel (all seeds)", rows, |row| range(&row.figure.kernel)).dispensable(1),
    ]
}

fn count(value: f64) -> String {
    // Figures are counts of instructions and of interrupts, far below 2⁵³.
    format::count(value.round() as u64)
}

fn median(seeds: &Seeds) -> Entry {
    Entry::number(count(seeds.median), seeds.median.round() as u64)
}

/// The range over all seeds, if they differ.
fn range(seeds: &Seeds) -> Entry {
    match seeds.range() {
        None => Entry::empty(),
        Some([least, greatest]) => Entry::text(format!("{}–{}", count(least), count(greatest))),
    }
}

fn change(figure: &FigureComparison) -> String {
    match figure.change() {
        Some(change) => format::signed_percent(change),
        None => String::new(),
    }
}

fn verdict(figure: &FigureComparison) -> String {
    let words = match figure.verdict {
        Verdict::Greater | Verdict::Less => figure.verdict.words().to_uppercase(),
        _ => figure.verdict.words().to_owned(),
    };
    match figure.verdict {
        Verdict::Same | Verdict::WithinAllowance => format!("{words}, in every seed"),
        _ => format!("{words}, {}", chance_in_words(figure.adjusted_chance)),
    }
}

fn conclusion(comparison: &KernelComparison, rule: &GateRule) -> Vec<String> {
    let (kernel, baseline) = (&comparison.kernel.kernel, &comparison.baseline.kernel);
    let named = |wanted: Verdict| -> Vec<String> {
        let rows = rows(comparison);
        let found = rows.iter().filter(|row| row.figure.verdict == wanted);
        found
            .map(|row| format!("{} under {} ({})", row.figure.figure, row.cell, change(row.figure)))
            .collect()
    };
    let (greater, less) = (named(Verdict::Greater), named(Verdict::Less));
    let mut words = Vec::new();
    let decision = match comparison.decision(rule) {
        Decision::Passes => {
            format!("Pass: {kernel} is no worse than {baseline} in any figure compared.")
        }
        Decision::Refused => {
            let all = format::counted(rows(comparison).len() as u64, "figure");
            match greater.len() {
                0 => format!("Fail: {kernel} differs from {baseline} in {} of {all}.", less.len()),
                worse => format!("Fail: {kernel} is worse than {baseline} in {worse} of {all}."),
            }
        }
        Decision::Undecided => {
            format!(
                "Undecided: {kernel} may be worse than {baseline} in the cells that were not compared."
            )
        }
    };
    words.push(decision);
    if !greater.is_empty() {
        words.push(format!("Greater: {}.", greater.join("; ")));
    }
    if !less.is_empty() {
        words.push(format!("Less: {}.", less.join("; ")));
    }
    let allowed = match comparison.allowance {
        Allowance { instructions: 0, share } if share > 0.0 => comparison.allowance.to_string(),
        allowance => format!("{allowance} instructions"),
    };
    let mut definition = format!(
        "A figure counts as different if it changes by more than {allowed} and the ranks of its seeds show \
         it, {} together, with a false alarm rate of at most {}%.",
        format::counted(rows(comparison).len() as u64, "figure"),
        comparison.false_alarms * 100.0
    );
    let is_tail = |row: &Row<'_>| row.figure.kind == Kind::Tail;
    if comparison.tails_left_out.is_none() && !rows(comparison).iter().any(is_tail) {
        definition.push_str(" Tails were not compared.");
    }
    if !rows(comparison).is_empty() {
        words.push(definition);
    }
    words.extend(comparison.notes().iter().map(|note| format!("Note: {note}.")));
    words
}

#[cfg(test)]
mod tests {
    use tactus_judge::kernels::Figure;

    use super::*;

    fn seeds(least: f64, median: f64, greatest: f64) -> Seeds {
        Seeds { count: 10, least, median, greatest }
    }

    fn figure(
        figure: Figure,
        [baseline, kernel]: [Seeds; 2],
        adjusted_chance: f64,
        verdict: Verdict,
    ) -> FigureComparison {
        FigureComparison {
            figure,
            kind: figure.kind(),
            baseline,
            kernel,
            allowed: Allowance::DEFAULT.of(baseline.median),
            chance: adjusted_chance / 5.0,
            adjusted_chance,
            verdict,
        }
    }

    fn side(kernel: &str) -> KernelSide {
        KernelSide {
            kernel: kernel.to_owned(),
            release: Some("6.1.0-56-cloud-amd64".to_owned()),
            sha256: Some("2ce3a2b8ebf0b0ba51e0d0fe68ee4cf0".to_owned()),
        }
    }

    fn comparison() -> KernelComparison {
        let exact = |value| [seeds(value, value, value); 2];
        let tails = [seeds(4000.0, 5012.0, 9800.0), seeds(9100.0, 14_000.0, 40_210.0)];
        let longer = [seeds(386.0, 386.0, 387.0), seeds(471.0, 471.0, 471.0)];
        let shorter = [seeds(900.0, 900.0, 900.0), seeds(300.0, 300.0, 300.0)];
        let cell = |cell: &str, figures: Vec<FigureComparison>| CellComparison {
            cell: cell.to_owned(),
            figures,
            not_measured: None,
        };
        KernelComparison {
            run: "gate-20261121-220000".to_owned(),
            baseline: side("debian-cloud"),
            kernel: side("debian-cloud:slub_debug=FZP"),
            mips: 125,
            seeds: 10,
            seed: 7,
            allowance: Allowance::DEFAULT,
            false_alarms: 0.01,
            third_boots: 0,
            tails_left_out: None,
            cells: vec![
                cell(
                    "idle",
                    vec![
                        figure(Figure::ShortestWakeup, exact(3517.0), 1.0, Verdict::Same),
                        figure(Figure::Interrupts, shorter, 0.0001, Verdict::Less),
                        figure(
                            Figure::LongestWakeup,
                            [tails[0]; 2],
                            0.61,
                            Verdict::NoDifferenceFound,
                        ),
                    ],
                ),
                cell(
                    "syscall",
                    vec![
                        figure(Figure::Operation, longer, 0.0001, Verdict::Greater),
                        figure(Figure::NinetyNine, tails, 0.0024, Verdict::Greater),
                    ],
                ),
                CellComparison {
                    cell: "pagefault".to_owned(),
                    figures: Vec::new(),
                    not_measured: Some("the guest ended before its cell did".to_owned()),
                },
            ],
        }
    }

    #[test]
    fn a_gate_prints_each_figure_and_then_the_conclusion() {
        let text =
            kernel_gate_text(&comparison(), &GateRule::default(), &TableOptions::of_width(140));
        for part in [
            "baseline: debian-cloud, Linux 6.1.0-56-cloud-amd64, sha256 2ce3a2b8ebf0b0ba…",
            "the same, in every seed",
            "GREATER, p = 0.002",
            "no difference found, p = 0.610",
            "pagefault: not compared: the guest ended before its cell did",
            "Fail: debian-cloud:slub_debug=FZP is worse than debian-cloud in 2 of 5 figures.",
            "Greater: operation of the load under syscall (+22.0\u{202f}%); p99 under syscall (+179.3\u{202f}%).",
            "Less: interrupts under idle (−66.7\u{202f}%).",
        ] {
            assert!(text.contains(part), "{part} is not in:\n{text}");
        }
    }

    #[test]
    fn a_figure_that_became_less_is_not_worse() {
        let mut gate = comparison();
        gate.cells.truncate(1);
        let rule = GateRule { refuse_any_difference: true, ..GateRule::default() };
        let text = kernel_gate_text(&gate, &rule, &TableOptions::of_width(140));
        let expected =
            "Fail: debian-cloud:slub_debug=FZP differs from debian-cloud in 1 of 3 figures.";
        assert!(text.contains(expected), "{text}");
    }

    #[test]
    fn notes_of_a_gate_follow_its_conclusion() {
        let mut gate = comparison();
        gate.third_boots = 3;
        gate.tails_left_out = Some("tails were left out: too few seeds".to_owned());
        let width = TableOptions::of_width(200);
        let text = kernel_gate_text(&gate, &GateRule::default(), &width);
        assert!(text.contains("Note: tails were left out: too few seeds."), "{text}");
        assert!(text.contains("Note: 3 turns needed a third boot, since"), "{text}");
    }

    #[test]
    fn figures_within_the_allowance_are_not_called_the_same() {
        let near = [seeds(386.0, 386.0, 387.0), seeds(388.0, 388.0, 388.0)];
        let near = figure(Figure::ShortestWakeup, near, 1.0, Verdict::WithinAllowance);
        assert_eq!(verdict(&near), "within the allowance, in every seed");
        let equal =
            figure(Figure::ShortestWakeup, [seeds(386.0, 386.0, 386.0); 2], 1.0, Verdict::Same);
        assert_eq!(verdict(&equal), "the same, in every seed");
    }

    #[test]
    fn a_gate_may_pass_or_be_undecided() {
        let rule = GateRule::default();
        let mut gate = comparison();
        gate.cells.remove(1);
        let text = kernel_gate_text(&gate, &rule, &TableOptions::default());
        assert!(text.contains("Undecided: debian-cloud:slub_debug=FZP may be worse"), "{text}");
        let mut nothing = gate.clone();
        nothing.cells.remove(0);
        let text = kernel_gate_text(&nothing, &rule, &TableOptions::default());
        assert!(text.contains("Undecided") && !text.contains("0 figures"), "{text}");
        gate.cells.pop();
        let text = kernel_gate_text(&gate, &rule, &TableOptions::default());
        assert!(text.contains("Pass: debian-cloud:slub_debug=FZP is no worse"), "{text}");
    }
}
