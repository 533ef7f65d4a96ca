//! Machines ranked by a figure, with outliers and drift, as text and as a page.

use askama::Template;
use tactus_judge::compare::Verdict;
use tactus_judge::machines::{
    Change, Drift, FEW_ROUNDS, FEWEST, FEWEST_FOR_SCORES, MARGIN, MachineResult, Ranking,
    SCORE_LIMIT,
};
use tactus_judge::verdict::Validity;

use crate::format;
use crate::page::ReportError;
use crate::page::frame::{Frame, written};
use crate::svg;
use crate::table::column::{Column, Entry};
use crate::table::{TableOptions, grid};
use crate::wrap::wrapped;

/// The most changes of a machine that are named.
const CHANGES: usize = 4;

/// Writes the machines in their order, then outliers and what changed on each since its run before.
pub fn machines_text(ranking: &Ranking, options: &TableOptions) -> String {
    let width = options.width;
    let mut text: String =
        findings(ranking).iter().map(|finding| wrapped(finding, "", width)).collect();
    text.push('\n');
    text.push_str(&grid(columns(ranking), width));
    let drifts: String = drifts(ranking).iter().map(|line| wrapped(line, "", width)).collect();
    if !drifts.is_empty() {
        text.push('\n');
        text.push_str(&drifts);
    }
    text
}

/// Writes the same as a page with a drawing.
///
/// # Errors
/// The page could not be put together.
pub fn machines_page(ranking: &Ranking) -> Result<String, ReportError> {
    let columns: Vec<Column> = columns(ranking).into_iter().filter(Column::is_shown).collect();
    let rows = (0..ranking.machines.len())
        .map(|row| columns.iter().map(|column| column.entries[row].text.clone()).collect());
    let page = Page {
        title: format!("{}: {}", ranking.experiment, count(ranking.machines.len())),
        findings: findings(ranking),
        figure: figure(ranking),
        heads: columns.iter().map(|column| column.head.clone()).collect(),
        rows: rows.collect(),
        drawing: ranking.ranked().next().map(|_| svg::machines::panel(ranking).inline()),
        drifts: drifts(ranking),
        notes: notes(),
        frame: Frame::new("", &[]),
    };
    Ok(written(&page)?)
}

#[derive(Template)]
#[template(path = "machines.html")]
struct Page {
    title: String,
    findings: Vec<String>,
    figure: String,
    heads: Vec<String>,
    rows: Vec<Vec<String>>,
    drawing: Option<String>,
    drifts: Vec<String>,
    notes: Vec<String>,
    frame: Frame,
}

fn count(machines: usize) -> String {
    format::counted(machines as u64, "machine")
}

/// The figure in words.
fn figure(ranking: &Ranking) -> String {
    let cell = ranking.machines.first().and_then(|result| result.cell.as_deref());
    match cell {
        Some(cell) if !ranking.of_worst_cell => format!("{} of {cell}", ranking.figure),
        _ => format!("{} of the worst cell", ranking.figure),
    }
}

/// The ranking in sentences: the ends, the outliers, and what limits the figures.
fn findings(ranking: &Ranking) -> Vec<String> {
    let ranked: Vec<&MachineResult> = ranking.ranked().collect();
    let mut found = vec![ends(ranking, &ranked)];
    found.extend(outliers(&ranked));
    let compared = |is: fn(Option<&Change>, &[Change], usize) -> bool| {
        let those = ranking.machines.iter().filter(|result| match &result.drift {
            Drift::Compared { ranked, changes, rounds, .. } => {
                is(ranked.as_ref(), changes, *rounds)
            }
            _ => false,
        });
        Some(names(those)).filter(|names| !names.is_empty())
    };
    if let Some(worse) = compared(|ranked, _, _| ranked.is_some_and(is_worse)) {
        found.push(format!("Worse {} than in their last run: {worse}.", ranking.figure));
    }
    if let Some(worse) = compared(|_, changes, _| changes.iter().any(is_worse)) {
        found.push(format!("Worse in other figures than in their last run: {worse}."));
    }
    if let Some(few) = compared(|_, _, rounds| rounds <= FEW_ROUNDS) {
        found.push(format!(
            "warning: {few}: {FEW_ROUNDS} rounds are few. The spread between rounds is hardly known, so a change \
             since the last run may be chance and its interval too narrow. fix: measure with `--rounds 5`"
        ));
    }
    found.extend(missing(ranking));
    let without = names(ranking.machines.iter().filter(|result| result.figure.is_none()));
    if !without.is_empty() {
        found.push(format!("Too few samples for the {}: {without}.", ranking.figure));
    }
    let invalid = names(ranking.machines.iter().filter(|it| it.validity == Validity::Invalid));
    if !invalid.is_empty() {
        found.push(format!(
            "warning: invalid figures: {invalid}. fix: tactus show RUN names the reason"
        ));
    }
    found
}

/// The machines that were to be measured and have no run.
fn missing(ranking: &Ranking) -> Option<String> {
    const NAMED: usize = 10;
    let reasons = ranking.missing.iter().take(NAMED);
    let reasons: Vec<String> = reasons.map(|(node, why)| format!("{node} ({why})")).collect();
    let more = if ranking.missing.len() > NAMED { ", …" } else { "" };
    (!reasons.is_empty()).then(|| {
        format!(
            "warning: machines without a run, which are not ranked: {}{more}.",
            reasons.join(", ")
        )
    })
}

fn ends(ranking: &Ranking, ranked: &[&MachineResult]) -> String {
    let figure = figure(ranking);
    let value = |result: &MachineResult| result.figure.map(|figure| figure.value);
    match ranked {
        [] => format!("No machine has a {}.", ranking.figure),
        [only] => format!(
            "{}: the {figure} is {}.",
            only.machine,
            format::latency_or_nothing(value(only))
        ),
        [first, .., last] => {
            let [least, most] = [first, last].map(|result| value(result).unwrap_or_default());
            let ratio = most.as_nanos() as f64 / least.as_nanos().max(1) as f64;
            if ratio < 1.0 + MARGIN {
                let (least, most) = (format::latency(least), format::latency(most));
                let machines = count(ranked.len());
                return format!("The {figure} is from {least} to {most} on all {machines}.");
            }
            format!(
                "The {figure} is {} on {} and {} on {}, {ratio:.1} times as much.",
                format::latency(least),
                first.machine,
                format::latency(most),
                last.machine
            )
        }
    }
}

fn outliers(ranked: &[&MachineResult]) -> Option<String> {
    if ranked.len() < FEWEST {
        return None;
    }
    let found: Vec<String> = ranked
        .iter()
        .filter_map(|result| {
            let outlier = result.outlier?;
            let score = outlier.score.filter(|score| score.is_finite());
            let score = score.map_or_else(String::new, |score| format!(", score {score:.1}"));
            Some(format!("{} ({}{score})", result.machine, outlier.side.word()))
        })
        .collect();
    Some(match &found[..] {
        [] => "No machine is an outlier.".to_owned(),
        [one] => format!("Outlier: {one}."),
        more => format!("Outliers: {}.", more.join(", ")),
    })
}

/// The names of machines, at most a few.
fn names<'r>(results: impl Iterator<Item = &'r MachineResult>) -> String {
    const NAMED: usize = 10;
    let all: Vec<&str> = results.map(|result| result.machine.as_str()).collect();
    let more = if all.len() > NAMED { ", …" } else { "" };
    format!("{}{more}", all[..all.len().min(NAMED)].join(", "))
}

fn columns(ranking: &Ranking) -> Vec<Column> {
    let rows = &ranking.machines;
    vec![
        Column::names("machine", rows, |row: &MachineResult| Entry::text(row.machine.as_str())),
        Column::of(ranking.figure.word(), rows, |row| {
            Entry::latency(row.figure.map(|figure| figure.value))
        }),
        Column::of("95 % interval", rows, |row| {
            let interval = row.figure.and_then(|figure| figure.interval);
            interval.map_or_else(Entry::empty, |interval| {
                let [low, high] = [interval.low, interval.high];
                let text = format!("{} – {}", format::latency(low), format::latency(high));
                Entry::interval(text, low, high)
            })
        })
        .dispensable(2),
        Column::names("outlier", rows, |row| {
            Entry::optional(row.outlier.map(|outlier| outlier.side.word().to_owned()))
        })
        .dispensable(1),
        Column::names(&since(ranking), rows, |row| Entry::text(drift_mark(&row.drift)))
            .dispensable(1),
        Column::names("cell", rows, |row| Entry::optional(row.cell.clone())).dispensable(3),
        Column::names("verdict", rows, |row| Entry::text(row.verdict.as_str())).dispensable(2),
        Column::names("kernel", rows, |row| Entry::optional(row.kernel.clone())).dispensable(5),
        Column::names("CPU", rows, |row| Entry::optional(row.cpu.clone())).dispensable(6),
        Column::names("run", rows, |row| Entry::text(row.run.as_str())).dispensable(4),
    ]
}

fn is_worse(change: &Change) -> bool {
    change.verdict == Verdict::Worse
}

/// The head of the column of drift.
fn since(ranking: &Ranking) -> String {
    format!("{} since last run", ranking.figure)
}

/// How the ranked figure changed, in a few words.
fn drift_mark(drift: &Drift) -> String {
    match drift {
        Drift::First => "first run".to_owned(),
        Drift::NotCompared { .. } | Drift::Compared { ranked: None, .. } => {
            "not compared".to_owned()
        }
        Drift::Compared { ranked: Some(ranked), .. } => match ranked.verdict {
            Verdict::Better | Verdict::Worse => {
                let change = format::signed_percent(ranked.ratio - 1.0);
                format!("{} {change}", ranked.verdict.words())
            }
            Verdict::Same | Verdict::NoDifferenceFound => ranked.verdict.words().to_owned(),
        },
    }
}

/// What changed on each machine with a run before, in a sentence: the ranked figure first.
fn drifts(ranking: &Ranking) -> Vec<String> {
    let drifts = ranking.machines.iter();
    drifts.filter_map(|result| drift(&result.machine, &result.drift, ranking)).collect()
}

fn drift(machine: &str, drift: &Drift, ranking: &Ranking) -> Option<String> {
    match drift {
        Drift::First => None,
        Drift::NotCompared { since, reason } => {
            Some(format!("{machine} since {since}: not compared: {reason}."))
        }
        Drift::Compared { since, ranked, figures, changes, others_same, facts, .. } => {
            let figure = ranking.figure;
            let ranked_words = ranked.as_ref().map_or_else(
                || format!("the {figure} is not compared (tactus compare {since} RUN)"),
                change,
            );
            let mut parts = vec![ranked_words];
            let others = figures - usize::from(ranked.is_some());
            let mut others_changed: Vec<String> =
                changes.iter().take(CHANGES).map(change).collect();
            let more = changes.len().saturating_sub(CHANGES);
            if more > 0 {
                others_changed.push(format!(
                    "{} (tactus compare {since} RUN)",
                    format::counted(more as u64, "more change")
                ));
            }
            if others_changed.is_empty() && others > 0 {
                let word = if *others_same { Verdict::Same } else { Verdict::NoDifferenceFound };
                let others = format::counted(others as u64, "other figure");
                parts.push(format!("{} in {others}", word.words()));
            } else if !others_changed.is_empty() {
                parts.push(format!("other figures: {}", others_changed.join("; ")));
            }
            let facts = facts.iter().take(CHANGES);
            parts.extend(facts.map(|fact| format!("{} was {}, is {}", fact.fact, fact.a, fact.b)));
            Some(format!("{machine} since {since}: {}.", parts.join("; ")))
        }
    }
}

fn change(change: &Change) -> String {
    let [low, high] = change.interval;
    format!(
        "p{} of {} {} [{}, {}], {}",
        format::percentile_number(change.quantile),
        change.cell,
        format::signed_percent(change.ratio - 1.0),
        format::signed_percent(low - 1.0),
        format::signed_percent(high - 1.0),
        change.verdict.words()
    )
}

/// How the page finds what it says.
fn notes() -> Vec<String> {
    let margin = format::percent(MARGIN);
    vec![
        format!(
            "With at least {FEWEST_FOR_SCORES} machines, an outlier is a machine whose modified z-score of the \
             logarithm of the figure exceeds {SCORE_LIMIT} (Iglewicz and Hoaglin, How to Detect and Handle \
             Outliers, 1993) and whose figure differs from the median by more than {margin}. Of {FEWEST} or 4 machines, \
             it is one whose 95 % interval lies more than {margin} apart from those of all others, which overlap each \
             other. Intervals are of one run; they do not show how runs of a machine differ."
        ),
        "Changes since the last run are those that tactus compare finds, adjusted for all figures of \
         a machine: if nothing changed, a machine is reported with a chance of 5 %. This is not \
         adjusted for the number of machines. Facts of the kernel and the CPU that changed are named."
            .to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use tactus_judge::history::Figure;

    use super::*;
    use crate::fixture;

    fn ranking() -> Ranking {
        let text = include_str!("../../../experiments/quick.toml");
        let machines = ["n1", "n2", "<script>"].iter().zip([7, 8, 9]).map(|(machine, seed)| {
            let (before, run) = (fixture::run(text, seed), fixture::run(text, seed + 10));
            let before = (*machine == "n2").then_some(&before);
            MachineResult::of((*machine).to_owned(), &run, before, Figure::P99, None)
        });
        Ranking::of("quick".to_owned(), Figure::P99, true, machines.collect())
    }

    #[test]
    fn every_machine_has_a_row_and_the_drift_of_those_with_a_run_before() {
        let text = machines_text(&ranking(), &TableOptions::of_width(160));
        for part in ["machine", "n1", "n2", "first run", "n2 since quick-20261121-113355: "] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(text.starts_with("The p99 of the worst cell is "), "{text}");
        assert!(!text.contains("NaN"), "{text}");
        assert!(ranking().machines.iter().all(|result| result.cell.is_some()));
    }

    #[test]
    fn the_page_shows_hostile_names_as_text() {
        let page = machines_page(&ranking()).unwrap();
        assert!(!page.contains("<script>"), "{page}");
        assert!(page.contains("<svg"), "{page}");
        assert!(!page.contains("NaN"), "{page}");
    }

    #[test]
    fn machines_without_a_run_are_named_with_the_reason() {
        let mut ranking = ranking();
        assert!(!machines_text(&ranking, &TableOptions::of_width(160)).contains("without a run"));
        ranking.missing = [("n9".to_owned(), "it was <b>down".to_owned())].into();
        let text = machines_text(&ranking, &TableOptions::of_width(160));
        assert!(text.contains("not ranked: n9 (it was <b>down)."), "{text}");
        let page = machines_page(&ranking).unwrap();
        assert!(page.contains("not ranked: n9") && !page.contains("<b>down"), "{page}");
    }

    #[test]
    fn planted_drift_is_named_with_its_interval() {
        let mut ranking = ranking();
        let planted = Change {
            cell: "idle".to_owned(),
            quantile: 0.99,
            ratio: 1.5,
            interval: [1.4, 1.6],
            verdict: Verdict::Worse,
        };
        let other =
            Change { quantile: 0.9, ratio: 0.3, verdict: Verdict::Better, ..planted.clone() };
        let drift = |ranked: Option<&Change>, rounds| Drift::Compared {
            since: tactus_model::run::RunId::new("quick-1"),
            ranked: ranked.cloned(),
            rounds,
            figures: 4,
            changes: vec![other.clone()],
            others_same: false,
            facts: Vec::new(),
        };
        let options = TableOptions::of_width(200);
        ranking.machines[0].drift = drift(Some(&planted), 3);
        let text = machines_text(&ranking, &options);
        assert!(text.contains("quick-1: p99 of idle +50"), "{text}");
        assert!(text.contains("; other figures: p90 of idle −70"), "{text}");
        assert!(text.contains("Worse p99 than in their last run: "), "{text}");
        let name = ranking.machines[0].machine.clone();
        let row = |text: &str| {
            text.lines().find(|line| line.starts_with(&format!("{name} "))).unwrap().to_owned()
        };
        assert!(row(&text).contains("worse +50"), "{text}");
        // The change of another figure is not that of the row.
        let same = Change { verdict: Verdict::NoDifferenceFound, ..planted.clone() };
        ranking.machines[0].drift = drift(Some(&same), FEW_ROUNDS);
        let text = machines_text(&ranking, &options);
        assert!(row(&text).contains("no difference found"), "{text}");
        assert!(!text.contains("Worse p99"), "{text}");
        assert!(text.contains(&format!("warning: {name}, n2: 2 rounds are few.")), "{text}");
        ranking.machines[0].drift = drift(None, 3);
        let text = machines_text(&ranking, &options);
        assert!(row(&text).contains("not compared"), "{text}");
        assert!(text.contains("the p99 is not compared"), "{text}");
    }

    #[test]
    fn no_machine_is_a_sentence() {
        let ranking = Ranking::of("quick".to_owned(), Figure::Max, true, Vec::new());
        assert!(
            machines_text(&ranking, &TableOptions::default()).contains("No machine has a max.")
        );
        assert!(machines_page(&ranking).unwrap().contains("No machine has a max."));
    }
}
