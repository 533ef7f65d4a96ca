//! `tactus gate`: whether a run meets demands, for continuous integration.

use std::io::Write as _;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use tactus_app::gate::{Demands, Gated, gate};
use tactus_app::runs::Runs;
use tactus_app::{Places, Subject, files};
use tactus_judge::compare::Comparison;
use tactus_judge::gate::junit::junit;
use tactus_judge::gate::{Demand, GateReport, Judgement, QuantileLimit};
use tactus_judge::purpose::{AtMost, Purpose};
use tactus_judge::verdict::{Validity, Verdict};
use tactus_model::time::Nanos;
use tactus_report::format::printable;
use tactus_report::guests_text;

use crate::error::{CommandError, CommandResult};
use crate::json_lines::write_line;
use crate::percentage::margin;
use crate::terminal::table_options;

/// Require figures of a run, and exit with code 1 when a demand is not met.
///
/// Every demand is held against every cell of the run. Where the sample cannot
/// support a demand (too few samples for the quantile, one round for a comparison),
/// this is said and counts as not met, unless --allow-unsupported is given. Limits
/// speak of the intended schedule: due times that were slept through count with
/// their latency. With --valid a run whose figures cannot be relied on does not pass,
/// however good they are. docs/ci.md shows how to use this in continuous integration.
#[derive(Args)]
pub(crate) struct GateArguments {
    /// The run by name, unique beginning of a name, `last`, or the file of an exported run
    #[arg(value_name = "RUN", default_value = "last")]
    run: String,
    /// No wakeup is later than this
    #[arg(long, value_name = "LENGTH")]
    max: Option<Nanos>,
    /// A share of the wakeups, in per cent, is no later than this: 99.9=80us; repeatable
    #[arg(long, value_name = "PERCENT=LENGTH")]
    quantile: Vec<QuantileLimit>,
    /// No more due times than these are slept through
    #[arg(long, value_name = "N")]
    missed: Option<u64>,
    /// What the machine is for, as in `tactus show --for`; together with --at-most
    #[arg(long = "for", value_name = "PURPOSE", requires = "at_most")]
    purpose: Option<Purpose>,
    /// No more deadlines of the purpose are missed than this, with 95 % confidence: 1/h
    #[arg(long, value_name = "N/TIME", requires = "purpose")]
    at_most: Option<AtMost>,
    /// No quantile is worse than that of the same cell in this run or exported file, as `tactus compare` finds
    #[arg(long, value_name = "BASELINE")]
    no_worse_than: Option<String>,
    /// Nothing invalidates the figures, of the run and of the baseline: clock, load, accounting, machine
    #[arg(long)]
    valid: bool,
    /// As --valid, and nothing else is held against the figures either
    #[arg(long)]
    no_warnings: bool,
    /// Figures that differ from the baseline by less than this count as the same
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = margin)]
    margin: f64,
    /// Count demands that the sample cannot support as met
    #[arg(long)]
    allow_unsupported: bool,
    /// Write the outcome as JUnit XML to this file too
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write one JSON object
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

    /// The validity that is demanded, if any is.
    fn validity(&self) -> Option<Validity> {
        match (self.no_warnings, self.valid) {
            (true, _) => Some(Validity::Valid),
            (false, true) => Some(Validity::WithWarnings),
            (false, false) => None,
        }
    }
}

/// The report as `--json` gives it.
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
        return Err(CommandError::usage(
            "nothing is demanded; add --max, --quantile, --missed, --for, --no-worse-than or --valid",
        ));
    }
    let runs = Runs::new(places);
    let gated = gate(&runs, &arguments.run, &demands)?;
    let Gated { verdict, report, .. } = &gated;
    if let Some(path) = &arguments.junit {
        files::write(path, junit(report))?;
    }
    if arguments.json {
        let (passes, comparison) = (report.failures() == 0, gated.comparison.as_ref());
        write_line(&GateOutcome { passes, verdict, report, comparison })?;
    } else {
        print(&gated)?;
        let why = verdict.why_invalid();
        if demands.validity.is_none() && !why.is_empty() {
            let note =
                format!("note: {} is invalid, which --valid would refuse: {why}", report.run);
            eprintln!("{}", printable(&note));
        }
    }
    match report.failures() {
        0 => Ok(()),
        failures => {
            let all = report.judgements.len();
            Err(CommandError::not_met(format!("{failures} of {all} demands of {}", report.run)))
        }
    }
}

fn print(gated: &Gated<'_>) -> CommandResult {
    let runs = [&gated.subject].into_iter().chain(&gated.baseline).map(Subject::run);
    let limits = guests_text(runs, &table_options());
    Ok(write!(std::io::stdout(), "{}{limits}", text(&gated.report))?)
}

fn text(report: &GateReport) -> String {
    let line = |judgement: &Judgement| {
        let Judgement { cell, demand, outcome, passes, found } = judgement;
        let sign = if *passes { "ok  " } else { "FAIL" };
        let told = format!("{sign}  {cell}: {demand}: {}: {found}", outcome.words());
        format!("{}\n", printable(&told))
    };
    report.judgements.iter().map(line).collect()
}
