//! Whether a run meets demands.

use tactus_judge::compare::{CompareOptions, Comparison};
use tactus_judge::gate::{Demand, GateReport, judge};
use tactus_judge::verdict::{Validity, Verdict, verdict};

use crate::runs::Runs;
use crate::{Result, Subject, compare};

/// What is demanded of a run.
#[derive(Clone, Debug)]
pub struct Demands {
    /// Of each cell.
    pub of_cells: Vec<Demand>,
    /// The run or file whose quantiles must not be better.
    pub no_worse_than: Option<String>,
    /// The share by which figures may differ from it and count as the same.
    pub margin: f64,
    /// How far the figures must be reliable, of the run and of the other.
    pub validity: Option<Validity>,
    /// Whether demands that the sample cannot support count as met.
    pub allow_unsupported: bool,
}

impl Demands {
    /// Whether nothing is demanded.
    pub const fn is_empty(&self) -> bool {
        self.of_cells.is_empty() && self.no_worse_than.is_none() && self.validity.is_none()
    }
}

/// How a run stands to demands.
#[derive(Debug)]
pub struct Gated<'r> {
    /// The run.
    pub subject: Subject<'r>,
    /// The run that it must not be worse than.
    pub baseline: Option<Subject<'r>>,
    /// Whether the run's figures can be relied on.
    pub verdict: Verdict,
    /// Demand by demand.
    pub report: GateReport,
    /// What differs from the other run.
    pub comparison: Option<Comparison>,
}

/// Holds demands against a run by name.
///
/// # Errors
/// There is no such run, or it cannot be compared with the other.
pub fn gate<'r>(runs: &'r Runs<'_>, name: &str, demands: &Demands) -> Result<Gated<'r>> {
    let subject = runs.find(name)?;
    let baseline = demands.no_worse_than.as_deref().map(|name| runs.find(name)).transpose()?;
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
