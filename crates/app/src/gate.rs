//! Whether a run fulfils demands.

use tactus_judge::compare::{CompareOptions, Comparison};
use tactus_judge::gate::{Demand, GateReport, judge};
use tactus_judge::verdict::{Validity, Verdict, verdict};
use tactus_model::address::Address;

use crate::runs::Runs;
use crate::{Result, Subject, compare};

/// The demands on a run.
#[derive(Clone, Debug)]
pub struct Demands {
    /// Demands on each cell.
    pub of_cells: Vec<Demand>,
    /// The baseline: a run or file whose quantiles must not be better.
    pub no_worse_than: Option<Address>,
    /// Figures that differ from the baseline by less than this share count as equal.
    pub margin: f64,
    /// The validity required of the run and of the baseline.
    pub validity: Option<Validity>,
    /// Whether demands that the sample cannot support count as fulfilled.
    pub allow_unsupported: bool,
}

impl Demands {
    /// Whether there is no demand.
    pub const fn is_empty(&self) -> bool {
        self.of_cells.is_empty() && self.no_worse_than.is_none() && self.validity.is_none()
    }
}

/// Which demands a run fulfils.
#[derive(Debug)]
pub struct Gated<'r> {
    /// The run.
    pub subject: Subject<'r>,
    /// The run that it must not be worse than, if any.
    pub baseline: Option<Subject<'r>>,
    /// Whether the run's figures are valid.
    pub verdict: Verdict,
    /// The outcome of each demand.
    pub report: GateReport,
    /// The differences from the baseline.
    pub comparison: Option<Comparison>,
}

/// Checks demands on a run, or on one cell of it.
///
/// # Errors
/// There is no such run, or it cannot be compared with the baseline.
pub fn gate<'r>(runs: &'r Runs<'_>, address: &Address, demands: &Demands) -> Result<Gated<'r>> {
    let alone = |address: &Address| runs.find(address).map(Subject::alone);
    let subject = alone(address)?;
    let baseline = demands.no_worse_than.as_ref().map(alone).transpose()?;
    let options = CompareOptions { margin: demands.margin, force: false };
    let comparison = baseline
        .as_ref()
        .map(|baseline| compare::whole(baseline.run(), subject.run(), &options))
        .transpose()?;
    let verdict_of = |subject: &Subject<'_>| verdict(subject.run());
    let verdict = verdict_of(&subject);
    let mut report =
        judge(subject.run(), &demands.of_cells, comparison.as_ref(), demands.allow_unsupported);
    if let Some(wanted) = demands.validity {
        report.demand_validity("the run", &verdict, wanted);
        if let Some(baseline) = &baseline {
            report.demand_validity("the baseline", &verdict_of(baseline), wanted);
        }
    }
    Ok(Gated { subject, baseline, verdict, report, comparison })
}
