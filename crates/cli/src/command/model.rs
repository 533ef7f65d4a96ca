//! `tactus model`: how long a frame of a pipeline takes, from measured operations.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use tactus_app::measure::require_end;
use tactus_app::model::{self, Foretold, Verified};
use tactus_app::plan::new_seed;
use tactus_app::runs::Runs;
use tactus_app::{Error, Places, Subject, files};
use tactus_model::address::Address;
use tactus_model::experiment::Plan;
use tactus_model::run::RunId;
use tactus_model::settings::Layer;
use tactus_model::warning::Warning;
use tactus_pipeline::{Comparison, Graph, Prediction};
use tactus_report::{Modelled, format, pipeline_page, pipeline_text};

use crate::error::{CommandResult, for_any_reader};
use crate::json_lines::write_line;
use crate::listener::RunListener;
use crate::quietness::Quietness;
use crate::terminal::{print_plan, say, stdout, table_options};
use crate::values::{seed, whole};

/// Predict how long a frame of a pipeline takes, and how often it misses its budget.
///
/// PIPELINE lists stages with the operations of each, the processes that do them, and how they hand
/// over (docs/model.md). The command measures these operations here, each as a stage experiences it,
/// and simulates frames with the measured durations: it predicts the distribution of a frame's
/// time, and says which part to improve first and what that would bring. --verify also runs the
/// pipeline with real processes and prints predicted and measured quantiles side by side. The run is
/// stored.
///
/// Shipped pipelines: video-1993, audio-graph, control-loop, player-socket, player-shm.
///
/// Examples: tactus model control-loop --verify; tactus model control-loop --load compute:cpus;
/// tactus model my.toml --run last -o page.html
#[derive(Args)]
pub(crate) struct ModelArguments {
    /// Shipped pipeline or file in TOML (docs/model.md)
    #[arg(value_name = "PIPELINE")]
    pipeline: String,
    /// Stored run with the operations, instead of measuring
    #[arg(long = "run", id = "stored", value_name = "RUN")]
    stored: Option<Address>,
    /// Also run the pipeline with real processes, and compare
    #[arg(long)]
    verify: bool,
    /// Frames of the real pipeline in each round [default: those of one to five seconds]
    #[arg(long, value_name = "N", requires = "verify", value_parser = whole(1..=50_000_u32))]
    frames: Option<u32>,
    /// Scheduling of all processes; replaces that of the pipeline
    #[arg(short, long, value_name = "POLICY")]
    policy: Option<String>,
    /// Competing work; replaces that of the pipeline
    #[arg(short, long, value_name = "LOAD")]
    load: Option<String>,
    /// The CPUs: all, or a list such as 0,2-3; replaces those of the pipeline
    #[arg(long, value_name = "CPUS")]
    cpus: Option<String>,
    /// Number of processes that measure each operation, and of runs of the real pipeline
    #[arg(short, long, value_name = "N", default_value = "16", value_parser = whole(1..=Plan::MAX_ROUNDS))]
    rounds: u32,
    /// Seed of the order and of the simulation [default: a new one]
    #[arg(long, value_name = "N", value_parser = seed)]
    seed: Option<u64>,
    /// Print the cells and the estimated duration, without measuring
    #[arg(long, conflicts_with = "stored")]
    plan_only: bool,
    /// Also write an HTML page
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print events and the prediction as JSON, one object a line; durations are in nanoseconds
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    quietness: Quietness,
}

/// The lines that `--json` adds after the events of a run.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
enum Conclusion<'a> {
    /// The prediction.
    Prediction {
        run: &'a RunId,
        pipeline: &'a str,
        #[serde(flatten)]
        prediction: &'a Prediction,
        warnings: &'a [Warning],
    },
    /// The real pipeline beside it.
    Comparison {
        run: &'a RunId,
        #[serde(flatten)]
        comparison: &'a Comparison,
        warnings: Vec<Warning>,
    },
    /// The page.
    Page { run: &'a RunId, path: &'a Path },
}

pub(crate) fn run(arguments: &ModelArguments, places: &Places) -> CommandResult {
    arguments.output.as_deref().map_or(Ok(()), files::check)?;
    let pipeline = model::pipeline(&arguments.pipeline)?;
    let graph = model::graph(&pipeline, &arguments.settings()?)?;
    let seed = arguments.seed.unwrap_or_else(new_seed);
    if let Some(address) = &arguments.stored {
        let runs = Runs::new(places);
        let subject = runs.find(address)?;
        // Before the real pipeline runs, which takes time.
        let foretold = model::predict(&subject, &graph, seed)?;
        let verified = match arguments.frames(&graph) {
            Some(frames) => model::verify(places, &graph, frames, arguments.rounds),
            None => Verified::default(),
        };
        return conclude(&subject, &graph, &foretold, verified, arguments);
    }
    let plan = model::plan(&graph, arguments.rounds, seed);
    if arguments.plan_only {
        return print_plan(&plan, arguments.json);
    }
    let frames = arguments.frames(&graph);
    if let Some(frames) = frames {
        let each = graph.period.saturating_mul(frames.into());
        arguments.quietness.note(format_args!(
            "After each round, the real pipeline runs for {}, {} in all.",
            format::span(each),
            format::span(each.saturating_mul(arguments.rounds.into()))
        ));
    }
    let mut store = places.open_store()?;
    let mut listener = RunListener::new(arguments.json, arguments.quietness);
    let (done, verified) =
        model::measure(places, &mut store, (&graph, &plan), frames, &mut listener)?;
    for_any_reader(listener.end())?;
    let subject = Subject::stored(&store, &done.run)?;
    let foretold = model::predict(&subject, &graph, seed)?;
    conclude(&subject, &graph, &foretold, verified, arguments)?;
    Ok(require_end(subject.run())?)
}

impl ModelArguments {
    /// The settings that replace those of the pipeline.
    fn settings(&self) -> CommandResult<Layer> {
        let mut layer = Layer::default();
        let given = [("policy", &self.policy), ("load", &self.load), ("cpus", &self.cpus)];
        for (name, value) in given {
            if let Some(value) = value {
                layer.set(name, vec![value.clone()]).map_err(Error::usage)?;
            }
        }
        Ok(layer)
    }

    /// The frames of the real pipeline in each round, if it runs.
    fn frames(&self, graph: &Graph) -> Option<u32> {
        let usual = || model::usual_frames(graph);
        self.verify.then(|| self.frames.unwrap_or_else(usual))
    }
}

/// Prints the prediction, and writes the page.
fn conclude(
    subject: &Subject<'_>,
    graph: &Graph,
    Foretold { prediction, warnings }: &Foretold,
    verified: Verified,
    arguments: &ModelArguments,
) -> CommandResult {
    let comparison = model::compare(subject, graph, prediction, &verified)?;
    let run = subject.id();
    let modelled = Modelled { graph, prediction, comparison: comparison.as_ref(), warnings };
    if arguments.json {
        let pipeline = &graph.name;
        for_any_reader(write_line(&Conclusion::Prediction {
            run,
            pipeline,
            prediction,
            warnings,
        }))?;
        if let Some(comparison) = &comparison {
            let warnings = comparison.warnings(graph);
            for_any_reader(write_line(&Conclusion::Comparison { run, comparison, warnings }))?;
        }
    } else {
        for_any_reader(write!(stdout(), "{}", pipeline_text(&modelled, &table_options())))?;
    }
    if let Some(path) = &arguments.output {
        let page = pipeline_page(&modelled)?;
        let path = files::write_page(Some(path), || Ok(path.clone()), &page)?;
        for_any_reader(match arguments.json {
            true => write_line(&Conclusion::Page { run, path: &path }),
            false => writeln!(stdout(), "\nPage: {}", path.display()),
        })?;
    }
    match verified.failure {
        Some(failure) => Err(failure.into()),
        None if verified.runs.is_empty() && verified.ended > 0 => {
            say!(
                "warning: in all {}, the real pipeline fell so far behind its period that it was \
                 ended. fix: a longer period, or less work in its stages",
                format::counted(verified.ended as u64, "round")
            );
            Ok(())
        }
        None => Ok(()),
    }
}
