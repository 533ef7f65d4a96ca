//! What an examination yields: of a machine, or of a run.

use std::fmt;

use serde::Serialize;

/// One thing that was checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was checked, as *clock source*.
    pub check: &'static str,
    /// How it stands with it.
    pub state: State,
    /// What was found, as a person reads it; where it is unknown, the reason for that.
    pub fact: String,
    /// Why it matters for timing, in whole sentences.
    pub why: &'static str,
    /// What it does to a measurement, in whole sentences; `None` where nothing, or not known.
    pub effect: Option<String>,
    /// The command that mends it, or what to do where no command does. Nobody runs it unasked.
    pub fix: Option<String>,
}

impl Finding {
    pub(crate) fn fixed_by(mut self, fix: impl Into<Option<String>>) -> Self {
        self.fix = fix.into();
        self
    }
}

/// How it stands with one thing.
///
/// The order is from the worst to the best, in which findings are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Figures measured so are not those of the machine.
    Invalidates,
    /// Figures are right and have to be read with this in mind.
    Warning,
    /// It cannot be told here.
    Unknown,
    /// As it should be.
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

/// The worst state among findings; fine where there are none.
pub fn worst(findings: &[Finding]) -> State {
    findings.iter().map(|finding| finding.state).min().unwrap_or(State::Fine)
}

/// A question to the facts, before it is answered.
pub(crate) struct Check {
    pub(crate) name: &'static str,
    pub(crate) why: &'static str,
}

impl Check {
    pub(crate) fn fine(&self, fact: impl Into<String>) -> Finding {
        self.finding(State::Fine, fact.into(), None)
    }

    pub(crate) fn warning(
        &self,
        fact: impl Into<String>,
        effect: impl Into<String>,
    ) -> Finding {
        self.finding(State::Warning, fact.into(), Some(effect.into()))
    }

    pub(crate) fn invalidates(
        &self,
        fact: impl Into<String>,
        effect: impl Into<String>,
    ) -> Finding {
        self.finding(State::Invalidates, fact.into(), Some(effect.into()))
    }

    /// The answer cannot be had, for the reason given.
    pub(crate) fn unknown(&self, reason: impl Into<String>) -> Finding {
        self.finding(State::Unknown, reason.into(), None)
    }

    fn finding(&self, state: State, fact: String, effect: Option<String>) -> Finding {
        Finding { check: self.name, state, fact, why: self.why, effect, fix: None }
    }
}
