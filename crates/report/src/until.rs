//! Progress of a run that continues until its confidence intervals are narrow.

use tactus_model::experiment::Plan;
use tactus_model::run::{Run, RunStatus};
use tactus_model::until::{Aim, Until, Width};
use tactus_stats::narrow::Narrowness;

use crate::format::{self, THIN_SPACE};
use crate::wrap::wrapped;

/// How many rounds a plan has, and when further rounds end.
pub fn rounds_text(plan: &Plan) -> String {
    let rounds = format::counted(plan.rounds.into(), "round");
    match plan.until {
        Some(until) => format!(
            "{rounds}, then more until {} is known to {}, for at most {}",
            until.aim.percentile(),
            until.aim.width.in_words(),
            format::span(until.limit)
        ),
        None => rounds,
    }
}

/// How many rounds a run has taken, and why.
pub fn rounds_taken_text(run: &Run) -> String {
    let plan = &run.header.plan;
    let rounds = format::counted(plan.rounds.into(), "round");
    match plan.until {
        Some(until) if run.header.status.has_ended() => {
            format!(
                "{rounds} (aim: {} known to {} within {})",
                until.aim.percentile(),
                until.aim.width.in_words(),
                format::span(until.limit)
            )
        }
        _ => rounds_text(plan),
    }
}

/// Progress after a round: how many cells have reached the aim, and which has the widest interval.
pub fn narrowing_line(aim: Aim, rounds: u32, labels: &[String], cells: &[Narrowness]) -> String {
    let met = cells.iter().filter(|cell| cell.met).count();
    let rounds = format::counted(rounds.into(), "round");
    let progress = format!(
        "{rounds}: {} known to {} in {met} of {}",
        aim.percentile(),
        aim.width.in_words(),
        format::counted(cells.len() as u64, "cell")
    );
    let widest = labels.iter().zip(cells).max_by(|(_, a), (_, b)| {
        // A missing interval counts as wider than any other.
        let width = |cell: &Narrowness| cell.relative_width().unwrap_or(f64::INFINITY);
        width(a).total_cmp(&width(b))
    });
    widest.map_or(progress.clone(), |(label, cell)| {
        let width = width(aim, cell).unwrap_or_else(|| "not yet known".to_owned());
        format!("{progress}; worst: {width} in {}", format::printable(label))
    })
}

/// Writes the width of each cell's interval for a run with an aim; empty for other runs.
pub fn until_text(run: &Run, columns: usize) -> String {
    let plan = &run.header.plan;
    let Some(until) = plan.until else { return String::new() };
    let cells: Vec<(String, Narrowness)> = plan
        .labels()
        .into_iter()
        .enumerate()
        .map(|(cell, label)| {
            (label, Narrowness::of(&run.of_cell(cell).collect::<Vec<_>>(), until.aim))
        })
        .collect();
    let (met, wide): (Vec<_>, Vec<_>) = cells.into_iter().partition(|(_, cell)| cell.met);
    let mut text = wrapped(
        &format!(
            "The aim was a 95{THIN_SPACE}% interval of {} no wider than {}; {} taken.",
            until.aim.percentile(),
            until.aim.width.in_words(),
            match plan.rounds {
                1 => "1 round was".to_owned(),
                rounds => format!("{rounds} rounds were"),
            }
        ),
        "",
        columns,
    );
    let more = further_rounds(run, until).filter(|_| !wide.is_empty());
    for (heading, cells) in [("Reached: ", met), ("Not reached: ", wide)] {
        if !cells.is_empty() {
            let widths: Vec<String> =
                cells.iter().map(|(label, cell)| width_of_cell(until.aim, label, cell)).collect();
            text.push_str(&wrapped(&format!("{heading}{}.", widths.join("; ")), "  ", columns));
        }
    }
    if let Some(more) = more {
        text.push_str(&wrapped(&more, "  ", columns));
    }
    text
}

/// How to get more rounds of a complete run that missed its aim; `None` for an incomplete run,
/// which `--continue` resumes.
fn further_rounds(run: &Run, until: Until) -> Option<String> {
    (run.header.status == RunStatus::Complete).then(|| {
        format!(
            "The run stopped at its limit of {}. Complete runs are never changed; for more rounds, measure \
             again with `--limit {}`.",
            format::span(until.limit),
            until.limit.saturating_mul(2)
        )
    })
}

fn width_of_cell(aim: Aim, label: &str, cell: &Narrowness) -> String {
    let width = match (width(aim, cell), cell.unsupported) {
        (Some(width), _) => width,
        (None, Some(reason)) => format!("no interval, because there are {reason}"),
        (None, None) => "no interval".to_owned(),
    };
    format!("{}: {width}", format::printable(label))
}

/// The width in the aim's unit: a share of the percentile, or a duration.
fn width(aim: Aim, cell: &Narrowness) -> Option<String> {
    Some(match aim.width {
        Width::Millionths(_) => {
            format!("{}%", format::quantity(cell.relative_width()? * 100.0))
        }
        Width::Length(_) => format::latency(cell.width()?),
    })
}

#[cfg(test)]
mod tests {
    use tactus_model::time::Nanos;

    use super::*;
    use crate::fixture;

    fn narrowed(aim: &str) -> Run {
        let mut run = fixture::quick();
        let until = Until { aim: aim.parse().unwrap(), limit: Nanos::from_secs(90) };
        run.header.plan.until = Some(until);
        run
    }

    #[test]
    fn every_cell_appears_once_with_its_width_or_the_reason_for_none() {
        assert_eq!(until_text(&fixture::quick(), 100), "");
        let run = narrowed("p99:25%");
        let text = until_text(&run, 100);
        let unbroken = until_text(&run, 10_000);
        for label in run.header.plan.labels() {
            assert_eq!(unbroken.matches(&format!("{label}: ")).count(), 1, "{label}: {unbroken}");
        }
        insta::assert_snapshot!(text);
    }

    #[test]
    fn a_line_names_the_widest_and_no_interval_is_the_widest() {
        let run = narrowed("p99:25%");
        let plan = &run.header.plan;
        let aim = plan.until.unwrap().aim;
        let labels = plan.labels();
        let mut cells: Vec<Narrowness> = (0..labels.len())
            .map(|cell| Narrowness::of(&run.of_cell(cell).collect::<Vec<_>>(), aim))
            .collect();
        insta::assert_snapshot!(narrowing_line(aim, plan.rounds, &labels, &cells));
        cells[3] = Narrowness::of(&[], aim);
        let line = narrowing_line(aim, plan.rounds, &labels, &cells);
        assert!(line.ends_with(&format!("not yet known in {}", labels[3])), "{line}");
    }

    #[test]
    fn planned_rounds_and_rounds_taken_read_differently() {
        let mut run = narrowed("p99:25%");
        let check = |run: &Run, expected: &str| {
            assert_eq!(rounds_taken_text(run).replace(format::THIN_SPACE, " "), expected);
        };
        check(&run, "2 rounds (aim: p99 known to 25 % within 1 min 30 s)");
        run.header.status = RunStatus::Interrupted;
        check(&run, "2 rounds, then more until p99 is known to 25 %, for at most 1 min 30 s");
        assert!(
            !until_text(&run, 1000).contains("measure again"),
            "--continue takes the remaining rounds"
        );
        run.header.plan.until = None;
        check(&run, "2 rounds");
    }
}
