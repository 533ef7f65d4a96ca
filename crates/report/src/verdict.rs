//! The verdict of a run as text.

use std::fmt::Write;

use tactus_judge::doctor::{Finding, State};
use tactus_judge::verdict::Verdict;

use crate::format;
use crate::wrap::hanging;

/// Writes whether a run is valid, its warnings with their fixes, and the checks that could not be
/// made, in lines of at most `width` columns.
pub fn verdict_text(verdict: &Verdict, width: usize) -> String {
    let mut text = format!("{}\n", headline(verdict));
    for (mark, state) in [("×", State::Invalidates), ("-", State::Warning)] {
        for finding in verdict.of_state(state) {
            let words = format!("{}: {}", finding.check, sentence(finding));
            text.push_str(&hanging(&format!("  {mark} "), &words, "    ", width));
            if let Some(fix) = &finding.fix {
                // Not wrapped: the reader copies it. Writing to a String cannot fail.
                let _ = writeln!(text, "    fix: {}", format::printable(fix));
            }
        }
    }
    if let Some(unknown) = unknown(verdict) {
        text.push_str(&hanging("  ", &unknown, "    ", width));
    }
    text
}

/// The verdict in a line: `Valid, with 3 warnings.`
pub(crate) fn headline(verdict: &Verdict) -> String {
    let warnings = match verdict.of_state(State::Warning).count() as u64 {
        0 => String::new(),
        count => format!(", with {}", format::counted(count, "warning")),
    };
    match verdict.of_state(State::Invalidates).count() {
        0 => format!("Valid{warnings}."),
        1 => "Invalid for 1 reason.".to_owned(),
        count => format!("Invalid for {count} reasons."),
    }
}

/// The finding and its effect on the figures.
pub(crate) fn sentence(finding: &Finding) -> String {
    let fact = finding.fact.trim_end_matches('.');
    let effect = finding.effect.as_deref().unwrap_or_default();
    format!("{fact}. {effect}").trim_end().to_owned()
}

/// The checks that could not be made, in a sentence; `None` if all were made.
pub(crate) fn unknown(verdict: &Verdict) -> Option<String> {
    let checks: Vec<&str> = verdict.of_state(State::Unknown).map(|found| found.check).collect();
    (!checks.is_empty()).then(|| format!("Could not check: {}.", checks.join(", ")))
}

#[cfg(test)]
mod tests {
    use tactus_judge::verdict::verdict;
    use tactus_model::policy::Scheduling;
    use tactus_model::result::Shortfall;
    use tactus_model::run::Run;

    use super::*;
    use crate::fixture;

    fn small() -> Run {
        let text =
            "name = \"small\"\nrounds = 1\n[settings]\npolicy = \"fifo:90\"\nduration = \"3s\"";
        fixture::run(text, 5)
    }

    #[test]
    fn a_refused_policy_is_a_warning_with_its_fix() {
        let mut run = small();
        let refused = Shortfall {
            asked: "policy fifo:90".to_owned(),
            granted: "policy other".to_owned(),
            reason: "this user may not use real-time priorities".to_owned(),
            fix: Some("sudo prlimit --rtprio=99 --pid $$".to_owned()),
        };
        for measurement in &mut run.measurements {
            measurement.shortfalls.extend([refused.clone(), refused.clone()]);
            for task in &mut measurement.tasks {
                task.granted.scheduling = Scheduling::ORDINARY;
            }
        }
        insta::assert_snapshot!("refused", verdict_text(&verdict(&run), 100));
    }

    #[test]
    fn reasons_for_invalidity_come_first() {
        let mut run = small();
        run.header.facts_before.cpu.clock_source = Some("jiffies".to_owned());
        run.header.facts_after = Some(run.header.facts_before.clone());
        insta::assert_snapshot!("invalid", verdict_text(&verdict(&run), 80));
    }
}
