//! `tactus gate`: whether a run fulfils demands, for continuous integration.

use std::io::Write as _;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use tactus_app::gate::{Demands, Gated, gate};
use tactus_app::runs::Runs;
use tactus_app::{Error, Places, Subject, files};
use tactus_judge::compare::Comparison;
use tactus_judge::gate::junit::junit;
use tactus_judge::gate::{Demand, GateReport, Judgement, Outcome, QuantileLimit};
use tactus_judge::purpose::{AtMost, Purpose};
use tactus_judge::verdict::{Validity, Verdict};
use tactus_model::address::Address;
use tactus_model::time::Nanos;
use tactus_report::format::printable;
use tactus_report::guests_text;

use crate::error::{CommandError, CommandResult, for_any_reader};
use crate::json_lines::write_line;
use crate::percentage::margin;
use crate::terminal::{say, stdout, table_options};
use crate::values::whole;

/// Check a run against limits or a baseline, and exit with code 1 if a demand fails.
///
/// Use it in continuous integration (docs/ci.md). Every demand applies to every cell of the run. A
/// demand that the sample cannot support (too few samples for a quantile, one round for a
/// comparison) fails, unless --allow-unsupported is given. Limits apply to the intended schedule:
/// missed due times count with their latency (no coordinated omission). With --valid, a run with
/// invalid figures fails, even if they are within the limits.
///
/// Example: tactus gate --max 1ms --quantile 99.9=80us --no-worse-than baseline.json --valid
#[derive(Args)]
pub(crate) struct GateArguments {
    /// Run: its name, a unique prefix of the name, `last`, or the file of an exported run; or one cell of it, as RUN#CELL
    #[arg(value_name = "RUN", default_value = "last")]
    run: Address,
    /// Require that no wakeup is later than this
    #[arg(long, value_name = "DURATION")]
    max: Option<Nanos>,
    /// Require that this percentage of the due times is met within a duration, e.g. 99.9=80us; may be repeated
    #[arg(long, value_name = "PERCENT=DURATION")]
    quantile: Vec<QuantileLimit>,
    /// Require at most this number of missed due times
    #[arg(long, value_name = "N", value_parser = whole(0..=u64::MAX))]
    missed: Option<u64>,
    /// With --at-most: what the machine is for: audio:RATE/FRAMES, control:RATE:LATENESS, video:RATE, midi, or PERIOD:LATENESS
    #[arg(long = "for", value_name = "PURPOSE", requires = "at_most")]
    purpose: Option<Purpose>,
    /// With --for: require at most this rate of deadline misses, with 95 % confidence, e.g. 1/h
    #[arg(long, value_name = "N/DURATION", requires = "purpose")]
    at_most: Option<AtMost>,
    /// Require that no quantile is worse than in the same cell of this run or exported file, by the method of `tactus compare`
    #[arg(long, value_name = "BASELINE")]
    no_worse_than: Option<Address>,
    /// Require that the figures of the run and the baseline are valid: clock, load, accounting, machine
    #[arg(long)]
    valid: bool,
    /// Like --valid, and require that the figures have no warnings
    #[arg(long)]
    no_warnings: bool,
    /// Count figures that differ from the baseline by less than this as the same
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = margin)]
    margin: f64,
    /// Let demands that the sample cannot support pass
    #[arg(long)]
    allow_unsupported: bool,
    /// Also write the outcome as JUnit XML
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl GateArguments {
    fn demands(&self) -> Demands {
        let max = self.max.map(Demand::Max);
        let quantiles = self.quantile.iter().copied().map(Demand::Quantile);
        let missed = self.missed.map(Demand::Missed);
        let purpose = self.purpose.zip(self.at_most);
        let purpose = purpose.map(|(purpose, limit)| Demand::Purpose(purpose, limit));
        Demands {
            of_cells: max.into_iter().chain(quantiles).chain(missed).chain(purpose).collect(),
            no_worse_than: self.no_worse_than.clone(),
            margin: self.margin,
            validity: self.validity(),
            allow_unsupported: self.allow_unsupported,
        }
    }

    /// The required validity, if any.
    fn validity(&self) -> Option<Validity> {
        match (self.no_warnings, self.valid) {
            (true, _) => Some(Validity::Valid),
            (false, true) => Some(Validity::WithWarnings),
            (false, false) => None,
        }
    }
}

/// The report, for `--json`.
#[derive(Serialize)]
struct GateOutcome<'a> {
    passes: bool,
    verdict: &'a Verdict,
    #[serde(flatten)]
    report: &'a GateReport,
    #[serde(skip_serializing_if = "Option::is_none")]
    comparison: Option<&'a Comparison>,
}

pub(crate) fn run(arguments: &GateArguments, places: &Places) -> CommandResult {
    let demands = arguments.demands();
    if demands.is_empty() {
        return Err(Error::usage("no demand is given")
            .with_hint(
                "add `--max`, `--quantile`, `--missed`, `--for`, `--no-worse-than` or `--valid`",
            )
            .into());
    }
    let runs = Runs::new(places);
    let gated = gate(&runs, &arguments.run, &demands)?;
    let Gated { verdict, report, .. } = &gated;
    if let Some(path) = &arguments.junit {
        files::write(path, junit(report))?;
    }
    if arguments.json {
        let (passes, comparison) = (report.failures() == 0, gated.comparison.as_ref());
        for_any_reader(write_line(&GateOutcome { passes, verdict, report, comparison }))?;
    } else {
        for_any_reader(print(&gated))?;
        let why = verdict.why_invalid();
        if demands.validity.is_none() && !why.is_empty() {
            let note =
                format!("note: {} is invalid and would fail with `--valid`: {why}", report.run);
            say!("{}", printable(&note));
        }
    }
    match report.failures() {
        0 => Ok(()),
        failures => {
            let all = report.judgements.len();
            Err(CommandError::not_met(format!("{failures} of {all} demands on {}", report.run)))
        }
    }
}

fn print(gated: &Gated<'_>) -> CommandResult {
    let runs = [&gated.subject].into_iter().chain(&gated.baseline).map(Subject::run);
    let limits = guests_text(runs, &table_options());
    Ok(write!(stdout(), "{}{limits}", text(&gated.report))?)
}

fn text(report: &GateReport) -> String {
    let line = |judgement: &Judgement| {
        let Judgement { cell, demand, outcome, passes, found } = judgement;
        let sign = if *passes { "ok  " } else { "FAIL" };
        let found = match outcome {
            Outcome::Met | Outcome::NotMet => format!("found: {found}"),
            Outcome::Unsupported => format!("{}: {found}", outcome.words()),
        };
        format!("{}\n", printable(&format!("{sign}  {cell}: {demand}; {found}")))
    };
    let note = |note: &String| format!("note: {note}\n");
    report.judgements.iter().map(line).chain(report.notes.iter().map(note)).collect()
}
