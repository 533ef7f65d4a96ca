//! Whether the figures of a run are reliable: valid, valid with warnings, or invalid,
//! and why.
//!
//! A verdict is computed from the stored run and never stored itself. Runs do not
//! change, but the rules of judging do; so runs of older versions and imported runs
//! are judged by the current rules, on any machine.
//!
//! A verdict has three sources: the findings of [`doctor`](crate::doctor) about the
//! machine before and after the run, as far as they affect this plan; the events of the
//! run (missing load, settings not granted, steal time, lost samples); and the size of
//! the sample. A property of the machine that the run measures, such as its preemption
//! model or its tick, is not a warning.

mod cell_record;
mod changed;
mod conditions;
mod foreign;
mod guest;
mod met;
mod sample;

use std::fmt;

use serde::Serialize;
use tactus_model::run::Run;

pub(crate) use guest::{is_exact, needed_third_boot};

pub use changed::{ChangedFact, changed_facts, other_machine};
pub use met::shortfalls;

use crate::finding::{Finding, State, share_fixes, worst};
use cell_record::CellRecord;

/// Whether the figures of a run are reliable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// The conclusion from the findings.
    pub validity: Validity,
    /// Problems, warnings and unknown facts, the worst first.
    pub findings: Vec<Finding>,
    /// The policies that no task of the run was granted.
    #[serde(skip)]
    pub refused: Vec<RefusedPolicy>,
}

/// A policy of the plan that no task was granted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RefusedPolicy {
    /// The policy of the plan.
    pub asked: String,
    /// The policies that its tasks ran under.
    pub granted: Vec<String>,
}

/// How reliable the figures of a run are, from the worst to the best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Validity {
    /// The figures do not describe what the plan names.
    Invalid,
    /// The figures are valid, but the findings affect them.
    WithWarnings,
    /// The figures are valid without warnings.
    Valid,
}

impl Validity {
    /// The validity in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::WithWarnings => "valid with warnings",
            Self::Valid => "valid",
        }
    }
}

impl fmt::Display for Validity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.words())
    }
}

impl Verdict {
    fn of(mut findings: Vec<Finding>, refused: Vec<RefusedPolicy>) -> Self {
        findings.retain(|finding| finding.state != State::Fine);
        findings.sort_by_key(|finding| finding.state);
        share_fixes(&mut findings);
        let validity = match worst(&findings) {
            State::Invalidates => Validity::Invalid,
            State::Warning => Validity::WithWarnings,
            State::Unknown | State::Fine => Validity::Valid,
        };
        Self { validity, findings, refused }
    }

    /// The findings of one state.
    pub fn of_state(&self, state: State) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(move |finding| finding.state == state)
    }

    /// Whether a policy was refused, so that figures are not for what the plan names.
    pub fn policy_refused(&self) -> bool {
        self.findings.iter().any(|finding| finding.check == met::POLICY.name)
    }

    /// The verdict in one or two words: `invalid`, `3 warnings`, `valid`.
    pub fn mark(&self) -> String {
        match (self.validity, self.of_state(State::Warning).count()) {
            (Validity::WithWarnings, 1) => "1 warning".to_owned(),
            (Validity::WithWarnings, count) => format!("{count} warnings"),
            (validity, _) => validity.to_string(),
        }
    }

    /// The reasons why the run is invalid, in one line; empty if it is not.
    pub fn why_invalid(&self) -> String {
        let reasons = self.of_state(State::Invalidates);
        let lines: Vec<String> =
            reasons.map(|Finding { check, fact, .. }| format!("{check}: {fact}")).collect();
        lines.join("; ")
    }
}

/// Judges a stored run.
pub fn verdict(run: &Run) -> Verdict {
    let cells = CellRecord::of_cells(run);
    let of_figures = [
        foreign::findings(run, &cells),
        guest::findings(&cells),
        met::findings(run, &cells),
        sample::findings(run, &cells),
    ];
    // In deterministic time, the host does not affect any figure.
    let of_host = match is_exact(run) {
        true => Vec::new(),
        false => [changed::findings(run), conditions::findings(run, &cells)].concat(),
    };
    Verdict::of([of_figures.concat(), of_host].concat(), met::refused_policies(&cells))
}
