//! Warnings about figures, as values.

use std::fmt;

use serde::Serialize;

/// What limits figures, and the fix.
///
/// Displayed in a line: `autogroup: on. Nice values apply only within a session. fix: sudo sysctl …`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// What it is about, e.g. *autogroup*.
    pub name: &'static str,
    /// The fact, without a full stop at its end.
    pub fact: String,
    /// Its effect on the figures, in whole sentences.
    pub effect: String,
    /// A command, or what to do if no command does; `None` if nothing is known to fix it.
    pub fix: Option<String>,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}. {}", self.name, self.fact, self.effect)?;
        self.fix.as_ref().map_or(Ok(()), |fix| write!(f, " fix: {fix}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_is_a_line() {
        let mut warning = Warning {
            name: "load",
            fact: "others run".to_owned(),
            effect: "Figures are too high.".to_owned(),
            fix: Some("stop them".to_owned()),
        };
        assert_eq!(warning.to_string(), "load: others run. Figures are too high. fix: stop them");
        warning.fix = None;
        assert_eq!(warning.to_string(), "load: others run. Figures are too high.");
    }
}
