//! Whether the figures of a run can be relied on: valid, valid with warnings, or
//! invalid, and why.
//!
//! A verdict is computed from what is stored of the run and never stored itself. A
//! run is not altered afterwards, while the rules of judging grow; so a run that was
//! measured by an older version, or imported, is judged by the same rules as one of
//! today, on any machine.
//!
//! It has three sources: what [`doctor`](crate::doctor) says of the machine before and
//! after, as far as it bears on this plan; what the run met (load that was not there,
//! settings that were not granted, steal, samples lost); and what the sample supports.
//! A property of the machine that is measured along, as its preemption model or its
//! tick, is no warning: it is what the run is about.

mod changed;
mod conditions;
mod evidence;
mod foreign;
mod guest;
mod met;
mod sample;

use std::fmt;

use serde::Serialize;
use tactus_model::run::Run;

pub(crate) use guest::is_exact;

pub use changed::{ChangedFact, changed_facts};
pub use met::shortfalls;

use crate::finding::{Finding, State, worst};
use evidence::Evidence;

/// Whether the figures of a run can be relied on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// What the findings come to.
    pub validity: Validity,
    /// What is held against the run and what is not known, the gravest first.
    pub findings: Vec<Finding>,
}

/// How far the figures of a run can be relied on, from the worst to the best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Validity {
    /// The figures are not those of what the plan says was measured.
    Invalid,
    /// The figures are right and have to be read with the findings in mind.
    WithWarnings,
    /// Nothing is held against them.
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
    fn of(mut findings: Vec<Finding>) -> Self {
        findings.retain(|finding| finding.state != State::Fine);
        findings.sort_by_key(|finding| finding.state);
        let validity = match worst(&findings) {
            State::Invalidates => Validity::Invalid,
            State::Warning => Validity::WithWarnings,
            State::Unknown | State::Fine => Validity::Valid,
        };
        Self { validity, findings }
    }

    /// The findings of one state.
    pub fn of_state(&self, state: State) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(move |finding| finding.state == state)
    }

    /// The verdict in a few words: `invalid`, `3 warnings`, `valid`.
    pub fn mark(&self) -> String {
        match (self.validity, self.of_state(State::Warning).count()) {
            (Validity::WithWarnings, 1) => "1 warning".to_owned(),
            (Validity::WithWarnings, count) => format!("{count} warnings"),
            (validity, _) => validity.to_string(),
        }
    }

    /// What invalidates the run, in a line; empty where nothing does.
    pub fn why_invalid(&self) -> String {
        let reasons = self.of_state(State::Invalidates);
        let said: Vec<String> =
            reasons.map(|Finding { check, fact, .. }| format!("{check}: {fact}")).collect();
        said.join("; ")
    }
}

/// Judges a run from what is stored of it.
pub fn verdict(run: &Run) -> Verdict {
    let cells = Evidence::of_cells(run);
    let of_figures = [
        foreign::findings(run, &cells),
        guest::findings(&cells),
        met::findings(run, &cells),
        sample::findings(run, &cells),
    ];
    // What the host is and what became of it enters no figure in exact time.
    let of_host = match is_exact(run) {
        true => Vec::new(),
        false => [changed::findings(run), conditions::findings(run, &cells)].concat(),
    };
    Verdict::of([of_figures.concat(), of_host].concat())
}
