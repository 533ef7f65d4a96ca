//! `tactus gate`: whether a run meets demands, for continuous integration.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use serde::Serialize;
use tactus_import::Options;
use tactus_judge::compare::{CompareOptions, Comparison, Selection, compare};
use tactus_judge::gate::junit::junit;
use tactus_judge::gate::{Demand, GateReport, Judgement, QuantileLimit, judge};
use tactus_judge::purpose::{AtMost, Purpose};
use tactus_judge::verdict::{Validity, Verdict, verdict as judged};
use tactus_model::run::Run;
use tactus_model::time::Nanos;
use tactus_report::format::printable;
use tactus_report::guests_text;
use tactus_store::Store;

use super::compare::margin;
use super::import::{Content, read_file};
use super::{open_store, table_options};
use crate::error::{CommandError, CommandResult, ErrorKind};
use crate::json_lines::write_line;

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
    no_reservations: bool,
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
    fn demands(&self) -> Vec<Demand> {
        let max = self.max.map(Demand::Max);
        let quantiles = self.quantile.iter().copied().map(Demand::Quantile);
        let missed = self.missed.map(Demand::Missed);
        let purpose = self.purpose.zip(self.at_most);
        let purpose = purpose.map(|(purpose, limit)| Demand::Purpose(purpose, limit));
        max.into_iter().chain(quantiles).chain(missed).chain(purpose).collect()
    }

    /// The validity that is demanded, if any is.
    fn validity(&self) -> Option<Validity> {
        match (self.no_reservations, self.valid) {
            (true, _) => Some(Validity::Valid),
            (false, true) => Some(Validity::WithReservations),
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

pub(crate) fn run(arguments: &GateArguments) -> CommandResult {
    let demands = arguments.demands();
    let validity = arguments.validity();
    if demands.is_empty() && arguments.no_worse_than.is_none() && validity.is_none() {
        return Err(CommandError::usage(
            "nothing is demanded; add --max, --quantile, --missed, --for, --no-worse-than or --valid",
        ));
    }
    let run = load_run(&arguments.run, open_store)?;
    let baseline = match &arguments.no_worse_than {
        Some(baseline) => Some(load_run(baseline, open_store)?),
        None => None,
    };
    let comparison = match &baseline {
        Some(baseline) => Some(against(baseline, &run, arguments.margin)?),
        None => None,
    };
    let verdict = judged(&run);
    let mut report = judge(&run, &demands, comparison.as_ref(), arguments.allow_unsupported);
    if let Some(wanted) = validity {
        report.demand_validity("the run", &verdict, wanted);
        if let Some(baseline) = &baseline {
            report.demand_validity("the baseline", &judged(baseline), wanted);
        }
    }
    if let Some(path) = &arguments.junit {
        write_file(path, &junit(&report))?;
    }
    if arguments.json {
        let passes = report.failures() == 0;
        let comparison = comparison.as_ref();
        write_line(&GateOutcome { passes, verdict: &verdict, report: &report, comparison })?;
    } else {
        let limits = guests_text([&run].into_iter().chain(&baseline), &table_options());
        write!(std::io::stdout(), "{}{limits}", text(&report))?;
        let why = verdict.why_invalid();
        if validity.is_none() && !why.is_empty() {
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

fn against(baseline: &Run, run: &Run, margin: f64) -> CommandResult<Comparison> {
    let whole = |run| Selection { run, cell: None };
    let options = CompareOptions { margin, force: false };
    Ok(compare(whole(baseline), whole(run), &options)?)
}

/// Reads a run from the store, or from a file when one of that name is there: an
/// exported run, or another tool's result.
///
/// The store is opened only when it is needed.
pub(super) fn load_run(
    name: &str,
    open_store: impl FnOnce() -> CommandResult<Store>,
) -> CommandResult<Run> {
    let path = Path::new(name);
    if !path.is_file() {
        let store = open_store()?;
        return Ok(store.load(&store.find(name)?)?);
    }
    let content = read_file(path, &Options::default())
        .with_context(|| format!("{name} is no run"))
        .map_err(|error| CommandError::new(ErrorKind::Usage, error))?;
    let mut store = Store::open_in_memory()?;
    let id = match content {
        Content::Exported(content) => store.import(&content[..])?,
        Content::Foreign(run) => store.add(&run)?,
    };
    Ok(store.load(&id)?)
}

pub(super) fn write_file(path: &Path, content: &str) -> CommandResult {
    fs::write(path, content)
        .with_context(|| format!("{} cannot be written", path.display()))
        .map_err(|error| CommandError::new(ErrorKind::Unavailable, error))
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
