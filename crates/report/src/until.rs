//! How far a run came that was to go on until its intervals are narrow.

use tactus_model::experiment::Plan;
use tactus_model::format::percentile_number;
use tactus_model::run::{Run, RunStatus};
use tactus_model::until::{Aim, Until, Width};
use tactus_stats::narrow::Narrowness;

use crate::format;
use crate::table::wrapped;

/// How many rounds a plan has, and what further ones are for.
pub fn rounds_text(plan: &Plan) -> String {
    let rounds = format::counted(plan.rounds.into(), "round");
    match plan.until {
        Some(until) => format!(
            "{rounds}, then more until {}, for {} at most",
            until.aim,
            format::span(until.limit)
        ),
        None => rounds,
    }
}

/// How many rounds a run has come to, and what they were for.
pub fn rounds_taken_text(run: &Run) -> String {
    let plan = &run.header.plan;
    let rounds = format::counted(plan.rounds.into(), "round");
    match plan.until {
        Some(until) if run.header.status == RunStatus::Complete => format!(
            "{rounds}, taken until {}, for {} at most",
            until.aim,
            format::span(until.limit)
        ),
        _ => rounds_text(plan),
    }
}

/// How far a run has come after a round: how many cells are there, and which is the widest.
pub fn narrowing_line(aim: Aim, rounds: u32, labels: &[String], cells: &[Narrowness]) -> String {
    let met = cells.iter().filter(|cell| cell.met).count();
    let rounds = format::counted(rounds.into(), "round");
    let stands =
        format!("{rounds}: {aim} in {met} of {}", format::counted(cells.len() as u64, "cell"));
    let widest = labels.iter().zip(cells).max_by(|(_, a), (_, b)| {
        // Without an interval nothing is known, which is wider than any.
        let width = |cell: &Narrowness| cell.relative_width().unwrap_or(f64::INFINITY);
        width(a).total_cmp(&width(b))
    });
    widest.map_or(stands.clone(), |(label, cell)| {
        let width = width(aim, cell)
            .map_or_else(|| "no interval yet".to_owned(), |width| format!("widest {width}"));
        format!("{stands}, {width} under {}", format::printable(label))
    })
}

/// Says of each cell of a run that was to go on until its intervals are narrow how narrow
/// they became; nothing of other runs.
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
            "The interval of p{} was to become as narrow as {}; {} taken.",
            percentile_number(until.aim.quantile()),
            until.aim.width,
            match plan.rounds {
                1 => "1 round was".to_owned(),
                rounds => format!("{rounds} rounds were"),
            }
        ),
        "",
        columns,
    );
    let goes_on = anew(run, until).filter(|_| !wide.is_empty());
    for (heading, cells) in [("It did: ", met), ("It did not: ", wide)] {
        if !cells.is_empty() {
            let said: Vec<String> =
                cells.iter().map(|(label, cell)| told(until.aim, label, cell)).collect();
            text.push_str(&wrapped(&format!("{heading}{}.", said.join("; ")), "  ", columns));
        }
    }
    if let Some(goes_on) = goes_on {
        text.push_str(&wrapped(&goes_on, "  ", columns));
    }
    text
}

/// How a run that ended before its intervals were narrow is gone on with; nothing of one that
/// has not ended, which is continued.
fn anew(run: &Run, until: Until) -> Option<String> {
    (run.header.status == RunStatus::Complete).then(|| {
        format!(
            "Its limit of {} ended it. It is complete, and a complete run is never altered: to have more \
             rounds, measure anew with --limit {}.",
            format::span(until.limit),
            until.limit.saturating_mul(2)
        )
    })
}

fn told(aim: Aim, label: &str, cell: &Narrowness) -> String {
    let said = match (width(aim, cell), cell.unsupported) {
        (Some(width), _) => width,
        (None, Some(reason)) => format!("no interval, since {reason}"),
        (None, None) => "no interval".to_owned(),
    };
    format!("{} {said}", format::printable(label))
}

/// The width as the aim is written: a share of the percentile, or a length.
fn width(aim: Aim, cell: &Narrowness) -> Option<String> {
    Some(match aim.width {
        Width::Millionths(_) => format!("{}%", format::quantity(cell.relative_width()? * 100.0)),
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
    fn every_cell_is_said_once_with_its_width_or_what_is_missing() {
        assert_eq!(until_text(&fixture::quick(), 100), "");
        let run = narrowed("p99:25%");
        let text = until_text(&run, 100);
        let unbroken = until_text(&run, 10_000);
        for label in run.header.plan.labels() {
            assert_eq!(unbroken.matches(&format!("{label} ")).count(), 1, "{label}: {unbroken}");
        }
        insta::assert_snapshot!(text);
    }

    #[test]
    fn a_line_names_the_widest_and_none_is_wider_than_no_interval() {
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
        assert!(line.ends_with(&format!("no interval yet under {}", labels[3])), "{line}");
    }

    #[test]
    fn rounds_to_come_and_rounds_taken_are_told_apart() {
        let mut run = narrowed("p99:25%");
        let check = |run: &Run, expected: &str| {
            assert_eq!(rounds_taken_text(run).replace(format::THIN_SPACE, " "), expected);
        };
        check(&run, "2 rounds, taken until p99:25%, for 1 min 30 s at most");
        run.header.status = RunStatus::Interrupted;
        check(&run, "2 rounds, then more until p99:25%, for 1 min 30 s at most");
        assert!(!until_text(&run, 1000).contains("anew"), "what is left is taken by --continue");
        run.header.plan.until = None;
        check(&run, "2 rounds");
    }
}
