//! The predicted time of a frame of a pipeline, as text and as a page.

mod sentences;

use askama::Template;
use tactus_model::time::Nanos;
use tactus_model::warning::Warning;
use tactus_pipeline::{Comparison, Effect, Estimate, Graph, PartFigures, Parts, Prediction};
use tactus_stats::PercentileAxis;

use self::sentences::{causes, findings, notes};
use crate::format::{self, percent, signed_percent};
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
    pub warnings: &'m [Warning],
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
            about: "The quantiles of parts do not add up to those of frames; their shares of the frames near p99 do, with the waits for busy processes.",
            columns: parts(modelled),
        },
        Section {
            heading: "What a shorter part would bring",
            about: "The same draws, with one part half as long or without it.",
            columns: improvements(modelled.prediction),
        },
    ]
}

fn latency(time: Nanos) -> String {
    format::latency(time)
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
            Entry::optional(compared(row).map(|one| signed_percent(one.error)))
        })
        .meaning("predicted less measured, as a share of the measured value"),
    ]);
    columns
}

/// A row of the table of parts.
struct PartRow<'p> {
    name: &'p str,
    /// `None` for waits, which are no part.
    figures: Option<&'p PartFigures>,
    of_p99: Nanos,
}

/// The parts, and after those the waits of data, if there are any.
fn part_rows(parts: &Parts, has_waits: bool) -> Vec<PartRow<'_>> {
    let rows = parts.parts.iter().map(|part| PartRow {
        name: &part.name,
        figures: Some(part),
        of_p99: part.of_p99,
    });
    let [_, of_p99] = parts.waiting;
    let waits = PartRow { name: "waiting for a busy process", figures: None, of_p99 };
    rows.chain(has_waits.then_some(waits)).collect()
}

fn parts(modelled: &Modelled<'_>) -> Vec<Column> {
    let predicted = &modelled.prediction.parts;
    let measured = modelled.comparison.map(|comparison| &comparison.parts);
    let mut both = std::iter::once(predicted).chain(measured);
    let has_waits = both.any(|parts| parts.waiting[1] > Nanos::ZERO);
    let rows = part_rows(predicted, has_waits);
    let names = Column::names("part", &rows, |row| Entry::text(row.name));
    let mut columns = vec![names];
    columns.extend(figures("predicted", &rows));
    if let Some(measured) = measured {
        columns.extend(figures("measured", &part_rows(measured, has_waits)));
    }
    columns
}

/// The figures of parts, below a heading of their own.
fn figures(group: &'static str, rows: &[PartRow<'_>]) -> impl Iterator<Item = Column> {
    let of = |name, of: fn(&PartFigures) -> Option<Nanos>| {
        Column::of(name, rows, move |row| Entry::latency(row.figures.and_then(of))).grouped(group)
    };
    [
        of("p50", |row| (row.count > 0).then_some(row.median)),
        of("p99", |row| row.p99).meaning("of at least 100 occurrences"),
        of("max", |row| (row.count > 0).then_some(row.max)).dispensable(2),
        Column::of("of p99", rows, |row| Entry::latency(Some(row.of_p99)))
            .grouped(group)
            .meaning("mean share of the frames near p99")
            .dispensable(1),
    ]
    .into_iter()
}

fn improvements(prediction: &Prediction) -> Vec<Column> {
    let rows = &prediction.improvements;
    // Of too few samples, neither this nor that of the frames as they are is known.
    let has_p99 = prediction.quantile(0.99).is_some();
    let columns_of = |group: &'static str, of: fn(&tactus_pipeline::Improvement) -> &Effect| {
        [
            Column::of("p50", rows, |row| Entry::latency(Some(of(row).median)))
                .grouped(group)
                .dispensable(1),
            Column::of("p99", rows, |row| Entry::latency(has_p99.then(|| of(row).p99)))
                .grouped(group),
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
        let warnings = [Warning {
            name: "<b>",
            fact: "bold".to_owned(),
            effect: "None.".to_owned(),
            fix: None,
        }];
        let modelled = Modelled {
            graph: &graph,
            prediction: &prediction,
            comparison: Some(&comparison),
            warnings: &warnings,
        };
        let page = pipeline_page(&modelled).unwrap();
        assert_eq!(page.matches("<svg").count(), 1);
        assert!(page.contains("warning: &#60;b&#62;: bold. None."));
    }
}
