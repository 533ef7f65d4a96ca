//! The predicted time of a frame of a pipeline, as text and as a page.

use askama::Template;
use tactus_model::time::Nanos;
use tactus_pipeline::{
    Behind, Cause, Chance, Comparison, Conditions, Effect, Estimate, Graph, PartFigures, Prediction,
};
use tactus_stats::PercentileAxis;

use crate::format::{self, THIN_SPACE};
use crate::page::ReportError;
use crate::page::frame::{Frame, written};
use crate::page::view::Table;
use crate::svg::percentiles::{self, Curve, Limit, Shared};
use crate::svg::style::CurveStyle;
use crate::table::column::{Column, Entry};
use crate::table::{TableOptions, grid};
use crate::wrap::wrapped;

/// A prediction with what it is about.
#[derive(Clone, Copy, Debug)]
pub struct Modelled<'m> {
    /// The pipeline.
    pub graph: &'m Graph,
    /// The prediction.
    pub prediction: &'m Prediction,
    /// The real pipeline beside it, if it has run.
    pub comparison: Option<&'m Comparison>,
    /// What limits the prediction.
    pub warnings: &'m [String],
}

/// Writes a prediction: the time of a frame, its parts, and what each would bring.
pub fn pipeline_text(modelled: &Modelled<'_>, options: &TableOptions) -> String {
    let width = options.width;
    let mut text = String::new();
    let paragraph = |text: &mut String, sentences: Vec<String>| {
        sentences.iter().for_each(|one| text.push_str(&wrapped(one, "", width)));
    };
    paragraph(&mut text, findings(modelled));
    for Section { heading, columns, .. } in sections(modelled) {
        text.push_str(&format!("\n{heading}\n\n{}", grid(columns, width)));
    }
    text.push('\n');
    paragraph(&mut text, causes(modelled));
    paragraph(&mut text, notes(modelled));
    text
}

/// Writes a prediction as a page that also draws the distribution.
///
/// # Errors
/// The page could not be put together.
pub fn pipeline_page(modelled: &Modelled<'_>) -> Result<String, ReportError> {
    let page = Page {
        title: modelled.graph.name.clone(),
        about: modelled.graph.about.clone(),
        findings: findings(modelled),
        drawing: drawing(modelled),
        sections: sections(modelled)
            .into_iter()
            .map(|Section { heading, about, columns }| SectionView {
                heading,
                about,
                table: Table::of(columns),
            })
            .collect(),
        causes: causes(modelled),
        notes: notes(modelled),
        frame: Frame::new("", &[]),
    };
    Ok(written(&page)?)
}

#[derive(Template)]
#[template(path = "pipeline.html")]
struct Page {
    title: String,
    about: String,
    findings: Vec<String>,
    drawing: String,
    sections: Vec<SectionView>,
    causes: Vec<String>,
    notes: Vec<String>,
    frame: Frame,
}

struct SectionView {
    heading: &'static str,
    about: &'static str,
    table: Table,
}

/// A table with its heading.
struct Section {
    heading: &'static str,
    about: &'static str,
    columns: Vec<Column>,
}

fn sections(modelled: &Modelled<'_>) -> Vec<Section> {
    vec![
        Section {
            heading: "Time of a frame",
            about: "From the due time of a frame until its last stage has ended.",
            columns: quantiles(modelled),
        },
        Section {
            heading: "Parts of a frame",
            about: "The quantiles of parts do not add up to those of frames; their shares of the frames near p99 do.",
            columns: parts(modelled),
        },
        Section {
            heading: "What a shorter part would bring",
            about: "The same draws, with one part half as long or without it.",
            columns: improvements(modelled.prediction),
        },
    ]
}

/// The sentences above the tables.
fn findings(modelled: &Modelled<'_>) -> Vec<String> {
    let Modelled { graph, prediction, comparison, .. } = modelled;
    let [p50, p99] = [0.5, 0.99].map(|quantile| {
        prediction.quantile(quantile).map_or_else(|| "unknown".to_owned(), |one| latency(one.value))
    });
    let headline = format!(
        "A frame takes {p50} in the median and {p99} at p99, of a budget of {}; {}.",
        latency(graph.budget),
        chance(&prediction.miss, ["misses", "miss"]),
    );
    let measured = comparison.map(|comparison| {
        let errors: Vec<String> = comparison
            .quantiles
            .iter()
            .filter(|one| [0.5, 0.99].contains(&one.quantile))
            .map(|one| format!("{} at {}", signed(one.error), format::percentile(one.quantile)))
            .collect();
        format!(
            "Over {} of the real pipeline, the prediction is off by {}; {}.",
            format::counted(comparison.frames as u64, "frame"),
            errors.join(" and "),
            chance(&comparison.miss, ["missed", "missed"]),
        )
    });
    let behind = prediction.busiest().filter(|busiest| busiest.share >= 1.0).map(|busiest| {
        format!(
            "warning: process `{}` needs {} of each period, so frames queue without end and their \
             time depends on how long the pipeline runs. fix: a longer period, or less work",
            busiest.process,
            percent(busiest.share)
        )
    });
    let first = prediction.improvements.first().map(|first| {
        format!(
            "Improve `{}` first. If it took half as long, p99 would be {} and the chance of a miss {}; \
             without it, {} and {}.",
            first.part,
            latency(first.half.p99),
            percent(first.half.miss),
            latency(first.nothing.p99),
            percent(first.nothing.miss),
        )
    });
    let fell_behind = comparison.and_then(|comparison| fell_behind(comparison.behind));
    let all = [Some(headline), measured, fell_behind, behind, first];
    let conditions = comparison.map(|comparison| doubts(graph, &comparison.conditions));
    let doubts = conditions.unwrap_or_default().into_iter();
    let warnings = modelled.warnings.iter().cloned().chain(doubts);
    let warnings = warnings.map(|text| format!("warning: {text}"));
    all.into_iter().flatten().chain(warnings).collect()
}

fn fell_behind(Behind { rounds, of }: Behind) -> Option<String> {
    let effect = match rounds == of {
        true => "The figures beside the prediction show how long it ran.",
        false => {
            "The figures beside the prediction are those of the other rounds; misses are of all."
        }
    };
    (rounds > 0).then(|| {
        format!(
            "The real pipeline fell behind in {rounds} of {}: data waited for a busy process for \
             longer than a period. {effect}",
            format::counted(of as u64, "round")
        )
    })
}

/// What makes the comparison say more about the machine's other work than about the prediction.
fn doubts(graph: &Graph, conditions: &Conditions) -> Vec<String> {
    /// Of the time of a CPU.
    const STEAL_MAX: f64 = 0.01;
    /// Of all CPUs.
    const FOREIGN_MAX: f64 = 0.25;
    let steal = conditions.steal.filter(|steal| *steal > STEAL_MAX).map(|steal| {
        format!(
            "the hypervisor took {} of a CPU while the pipeline ran. Frames that it delayed are not \
             in the operations. fix: compare on a host with free CPUs",
            percent(steal)
        )
    });
    let others = conditions.foreign_operations.zip(conditions.foreign_pipeline);
    let is_idle = graph.cells.get(graph.wake).is_none_or(|cell| cell.load.load.is_idle());
    let others = others.filter(|(before, then)| is_idle && before.max(*then) > FOREIGN_MAX);
    let others = others.map(|(before, then)| {
        format!(
            "other programs used {} of the CPUs while the operations were measured, and {} while \
             the pipeline ran. The comparison depends on what they did in each. fix: stop them, or \
             predict for a load of known size (--load)",
            percent(before),
            percent(then)
        )
    });
    steal.into_iter().chain(others).collect()
}

/// A chance with its interval, or its bound: `0.31 % of frames miss the budget (95 %: 0.1 – 0.6 %)`.
/// The verb is for one frame, and for several.
fn chance(chance: &Chance, [one, several]: [&str; 2]) -> String {
    match chance.unseen {
        Some(bound) => format!(
            "no frame {one} the budget (with 95{THIN_SPACE}% confidence, fewer than {} do)",
            percent(bound.rate)
        ),
        None => format!(
            "{} of frames {several} the budget (95{THIN_SPACE}%: {} – {})",
            percent(chance.share),
            percent(chance.low),
            percent(chance.high)
        ),
    }
}

fn latency(time: Nanos) -> String {
    format::latency(time)
}

fn percent(share: f64) -> String {
    // As parts of a million, since a chance of 1 in 10 000 is more than nothing.
    format::share((share * 1e6).round() as u64, 1_000_000)
}

fn signed(share: f64) -> String {
    format!("{:+.1}{THIN_SPACE}%", share * 100.0)
}

fn interval(estimate: &Estimate) -> Entry {
    let Estimate { low, high, .. } = *estimate;
    Entry::interval(format!("{} – {}", latency(low), latency(high)), low, high)
}

fn quantiles(modelled: &Modelled<'_>) -> Vec<Column> {
    let rows: Vec<(f64, Estimate)> = tactus_pipeline::QUANTILES
        .iter()
        .filter_map(|quantile| Some((*quantile, modelled.prediction.quantile(*quantile)?)))
        .collect();
    let mut columns = vec![
        Column::names("quantile", &rows, |(quantile, _)| {
            Entry::text(format::percentile(*quantile))
        }),
        Column::of("predicted", &rows, |(_, one)| Entry::latency(Some(one.value))),
        Column::of("95 % interval", &rows, |(_, one)| interval(one))
            .meaning("of the prediction, over the rounds of the measurement")
            .dispensable(1),
    ];
    let Some(comparison) = modelled.comparison else { return columns };
    let compared = |(quantile, _): &(f64, Estimate)| {
        comparison.quantiles.iter().find(|one| one.quantile == *quantile)
    };
    columns.extend([
        Column::of("measured", &rows, |row| {
            Entry::latency(compared(row).map(|one| one.measured.value))
        }),
        Column::of("95 % interval", &rows, |row| {
            compared(row).map_or_else(Entry::empty, |one| interval(&one.measured))
        })
        .meaning("of the measured value, over its rounds")
        .dispensable(1),
        Column::of("error", &rows, |row| {
            Entry::optional(compared(row).map(|one| signed(one.error)))
        })
        .meaning("predicted less measured, as a share of the measured value"),
    ]);
    columns
}

fn parts(modelled: &Modelled<'_>) -> Vec<Column> {
    let predicted = &modelled.prediction.parts.parts;
    let names = Column::names("part", predicted, |row| Entry::text(row.name.clone()));
    let mut columns = vec![names];
    columns.extend(figures("predicted", predicted));
    if let Some(comparison) = modelled.comparison {
        columns.extend(figures("measured", &comparison.parts.parts));
    }
    columns
}

/// The figures of parts, below a heading of their own.
fn figures(group: &'static str, rows: &[PartFigures]) -> impl Iterator<Item = Column> {
    let of = |name, of: fn(&PartFigures) -> Nanos| {
        Column::of(name, rows, move |row| Entry::latency(Some(of(row)))).grouped(group)
    };
    let shares = of("of p99", |row| row.of_p99);
    [
        of("p50", |row| row.median),
        of("p99", |row| row.p99),
        of("max", |row| row.max).dispensable(2),
        shares.meaning("mean share of the frames near p99").dispensable(1),
    ]
    .into_iter()
}

fn improvements(prediction: &Prediction) -> Vec<Column> {
    let rows = &prediction.improvements;
    let columns_of = |group: &'static str, of: fn(&tactus_pipeline::Improvement) -> &Effect| {
        [
            Column::of("p50", rows, |row| Entry::latency(Some(of(row).median)))
                .grouped(group)
                .dispensable(1),
            Column::of("p99", rows, |row| Entry::latency(Some(of(row).p99))).grouped(group),
            Column::of("misses", rows, |row| {
                Entry::number(percent(of(row).miss), (of(row).miss * 1e6) as u64)
            })
            .grouped(group),
        ]
    };
    let names = [Column::names("part", rows, |row| Entry::text(row.part.clone()))];
    let half = columns_of("half as long", |row| &row.half);
    let nothing = columns_of("without it", |row| &row.nothing);
    names.into_iter().chain(half).chain(nothing).collect()
}

/// Why the real pipeline differs from its prediction.
fn causes(modelled: &Modelled<'_>) -> Vec<String> {
    let Some(comparison) = modelled.comparison else { return Vec::new() };
    if comparison.behind.rounds == comparison.behind.of {
        return Vec::new();
    }
    let of = |name: &str, causes: &[Cause]| {
        let first = causes.iter().find_map(|cause| match cause {
            Cause::Part { part, share } => Some((part, *share)),
            _ => None,
        });
        let most = match first {
            Some((part, share)) => {
                format!("{name}: `{part}` differs most, by {} of the measured value", signed(share))
            }
            None => format!("{name}: no part differs by 3{THIN_SPACE}% of it or more"),
        };
        let is_first = |cause: &&Cause| matches!((cause, first), (Cause::Part { part, .. }, Some((most, _))) if part == most);
        let others: Vec<String> =
            causes.iter().filter(|cause| !is_first(cause)).take(4).map(cause).collect();
        match others.is_empty() {
            true => format!("{most}."),
            false => format!("{most}; then {}.", others.join("; ")),
        }
    };
    vec![
        of("Median, real less predicted", &comparison.median_causes),
        of("p99, real less predicted", &comparison.p99_causes),
    ]
}

fn cause(cause: &Cause) -> String {
    let share = signed(cause.share());
    match cause {
        Cause::Part { part, .. } => format!("`{part}` {share}"),
        Cause::Waiting { .. } => format!("waits for a busy process {share}"),
        Cause::Dependence { .. } => format!(
            "dependence of the parts {share} (against the same measured parts, each drawn alone)"
        ),
        Cause::Speed { .. } => {
            format!("the machine's speed: a system call took {share} while the pipeline ran")
        }
        Cause::Steal { .. } => format!("steal time took {share} of the time of a CPU"),
    }
}

/// What limits the figures.
fn notes(modelled: &Modelled<'_>) -> Vec<String> {
    let Prediction { samples, rounds, frames, seed, .. } = modelled.prediction;
    vec![format!(
        "Predicted from {} of each part in {}, drawn in stretches that keep their order, \
         through {} frames in virtual time (seed {seed}). Rarer events than 1 in {} are not in it.",
        format::counted(*samples as u64, "sample"),
        format::counted(*rounds as u64, "round"),
        format::count(*frames as u64),
        format::count(*samples as u64),
    )]
}

/// The distributions, with a line at the budget.
fn drawing(modelled: &Modelled<'_>) -> String {
    let measured = modelled.comparison.map(|comparison| ("measured", &comparison.curve));
    let named = [("predicted", &modelled.prediction.curve)].into_iter().chain(measured);
    let curves: Vec<Curve> = named
        .enumerate()
        .map(|(number, (name, points))| Curve {
            name: name.to_owned(),
            style: CurveStyle::numbered(number),
            points: points.clone(),
        })
        .collect();
    let limit = Limit { name: "budget".to_owned(), latency: modelled.graph.budget };
    let shared = Shared::of(PercentileAxis::Reciprocal, curves.iter()).with_limits(&[limit]);
    percentiles::panel("Time of a frame", &curves, &shared).inline()
}

#[cfg(test)]
mod tests {
    use tactus_model::settings::Layer;
    use tactus_pipeline::draws::Samples;
    use tactus_pipeline::{Conditions, Measured, Pipeline, Span};

    use super::*;

    fn graph() -> Graph {
        let text = tactus_pipeline::shipped::find("control-loop").unwrap();
        Pipeline::parse(text).unwrap().graph(&Layer::default()).unwrap()
    }

    /// Cells that take 10, 20, 30, … µs, each 2 % longer from sample to sample.
    fn prediction(graph: &Graph) -> Prediction {
        let samples = |cell: u64| {
            let round = |_| (0..200).map(|k| Nanos::from_nanos((cell + 1) * (10_000 + 50 * k)));
            Samples::new((0..5).map(|number| round(number).collect()))
        };
        let all: Vec<Samples> = (0..graph.cells.len() as u64).map(samples).collect();
        Prediction::of(graph, &all, 1)
    }

    /// Frames whose stages begin 30 µs after one another and take 50 µs.
    fn comparison(graph: &Graph, prediction: &Prediction) -> Comparison {
        let frame = |number: u64| {
            let due = graph.period.saturating_mul(number);
            let span = |stage: u64| {
                let begin = due + Nanos::from_micros(30 + 80 * stage + number % 7);
                Span { begin, end: begin + Nanos::from_micros(50) }
            };
            (0..3).map(span).collect()
        };
        let measured = Measured { rounds: vec![(0..400).map(frame).collect(); 3], ended: 0 };
        Comparison::of(graph, prediction, &measured, &Conditions::default()).unwrap()
    }

    #[test]
    fn a_prediction_has_three_tables_and_the_part_to_improve() {
        let graph = graph();
        let prediction = prediction(&graph);
        let comparison = comparison(&graph, &prediction);
        let mut modelled =
            Modelled { graph: &graph, prediction: &prediction, comparison: None, warnings: &[] };
        let alone = pipeline_text(&modelled, &TableOptions::default());
        assert!(alone.starts_with("A frame takes "), "{alone}");
        let headings = ["Time of a frame", "Parts of a frame", "What a shorter part would bring"];
        for heading in headings {
            assert_eq!(alone.lines().filter(|line| *line == heading).count(), 1, "{alone}");
        }
        assert!(alone.contains(&format!("Improve `{}` first", prediction.improvements[0].part)));
        assert!(!alone.contains("measured") && alone.contains("1 in 1\u{202f}000"), "{alone}");
        modelled.comparison = Some(&comparison);
        let compared = pipeline_text(&modelled, &TableOptions::default());
        assert!(compared.contains("Over 1\u{202f}200 frames of the real pipeline"), "{compared}");
        assert!(compared.contains("error") && compared.contains("Median, real less predicted"));
    }

    #[test]
    fn a_page_draws_both_distributions() {
        let graph = graph();
        let prediction = prediction(&graph);
        let comparison = comparison(&graph, &prediction);
        let warnings = ["<b> is bold".to_owned()];
        let modelled = Modelled {
            graph: &graph,
            prediction: &prediction,
            comparison: Some(&comparison),
            warnings: &warnings,
        };
        let page = pipeline_page(&modelled).unwrap();
        assert_eq!(page.matches("<svg").count(), 1);
        assert!(page.contains("&#60;b&#62; is bold"));
    }
}
