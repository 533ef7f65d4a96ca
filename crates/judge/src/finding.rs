//! Findings about a machine or a run.

use std::fmt;

use serde::Serialize;
use tactus_permission::widest;

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The name of the check, e.g. *clock source*.
    pub check: &'static str,
    /// The state.
    pub state: State,
    /// The fact, for a person to read; if it is unknown, the reason.
    pub fact: String,
    /// Why the check matters for timing, in whole sentences.
    pub why: &'static str,
    /// The effect on a measurement, in whole sentences; `None` if there is none or it is unknown.
    pub effect: Option<String>,
    /// The command that fixes it, or what to do if no command does. Tactus never runs it.
    pub fix: Option<String>,
}

impl Finding {
    pub(crate) fn fixed_by(mut self, fix: impl Into<Option<String>>) -> Self {
        self.fix = fix.into();
        self
    }
}

/// Lets one command fix all findings that it can, where each had its own.
pub(crate) fn share_fixes(findings: &mut [Finding]) {
    let all: Vec<String> = findings.iter().filter_map(|finding| finding.fix.clone()).collect();
    for fix in findings.iter_mut().filter_map(|finding| finding.fix.as_mut()) {
        *fix = widest(fix, all.iter().map(String::as_str)).to_owned();
    }
}

/// The state of a finding, from the worst to the best, which is the order of display.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Figures measured like this do not describe the machine.
    Invalidates,
    /// Figures are valid, but this affects them.
    Warning,
    /// It cannot be determined here.
    Unknown,
    /// Nothing is wrong.
    Fine,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Invalidates => "invalidates",
            Self::Warning => "warning",
            Self::Unknown => "unknown",
            Self::Fine => "fine",
        })
    }
}

/// The worst state among findings; [`State::Fine`] if there are none.
pub fn worst(findings: &[Finding]) -> State {
    findings.iter().map(|finding| finding.state).min().unwrap_or(State::Fine)
}

/// A check, before it is applied to facts.
pub(crate) struct Check {
    pub(crate) name: &'static str,
    pub(crate) why: &'static str,
}

impl Check {
    pub(crate) fn fine(&self, fact: impl Into<String>) -> Finding {
        self.finding(State::Fine, fact.into(), None)
    }

    pub(crate) fn warning(&self, fact: impl Into<String>, effect: impl Into<String>) -> Finding {
        self.finding(State::Warning, fact.into(), Some(effect.into()))
    }

    pub(crate) fn invalidates(
        &self,
        fact: impl Into<String>,
        effect: impl Into<String>,
    ) -> Finding {
        self.finding(State::Invalidates, fact.into(), Some(effect.into()))
    }

    /// The fact is unknown, for the given reason.
    pub(crate) fn unknown(&self, reason: impl Into<String>) -> Finding {
        self.finding(State::Unknown, reason.into(), None)
    }

    fn finding(&self, state: State, fact: String, effect: Option<String>) -> Finding {
        Finding { check: self.name, state, fact, why: self.why, effect, fix: None }
    }
}
