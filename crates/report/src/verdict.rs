//! The verdict of a run as text.

use std::fmt::Write;

use tactus_judge::doctor::{Finding, State};
use tactus_judge::verdict::Verdict;

use crate::format;
use crate::wrap::hanging;

/// Writes whether a run is valid, its warnings, each fix once, and the checks that could not be
/// made, in lines of at most `width` columns.
pub fn verdict_text(verdict: &Verdict, width: usize) -> String {
    let mut text = format!("{}\n", headline(verdict));
    let against = against(verdict);
    for (finding, fix) in &against {
        let mark = if finding.state == State::Invalidates { "×" } else { "-" };
        let words = format!("{}: {}", finding.check, sentence(finding));
        text.push_str(&hanging(&format!("  {mark} "), &words, "    ", width));
        if let Some(fix) = *fix {
            let fixed = against.iter().filter(|(other, _)| other.fix.as_deref() == Some(fix));
            let fixed = fixed.count();
            if fixed > 1 {
                let _ = writeln!(text, "    The last {fixed} points have the same fix:");
            }
            // Not wrapped: the reader copies it. Writing to a String cannot fail.
            let _ = writeln!(text, "    fix: {}", format::printable(fix));
        }
    }
    if let Some(unknown) = unknown(verdict) {
        text.push_str(&hanging("  ", &unknown, "    ", width));
    }
    text
}

/// What is held against a run, the worst first, each with the fix to show: findings with the same
/// fix stand together, and the last of them has it.
pub(crate) fn against(verdict: &Verdict) -> Vec<(&Finding, Option<&str>)> {
    let states = [State::Invalidates, State::Warning];
    let mut rest: Vec<&Finding> =
        states.into_iter().flat_map(|state| verdict.of_state(state)).collect();
    let mut ordered = Vec::new();
    while let Some(first) = rest.first() {
        let fix = first.fix.as_deref();
        let alike = |finding: &&Finding| fix.is_some() && finding.fix.as_deref() == fix;
        let mut group: Vec<&Finding> = rest.iter().copied().filter(alike).collect();
        if group.is_empty() {
            group.push(first);
        }
        rest.retain(|finding| !group.iter().any(|taken| std::ptr::eq(*taken, *finding)));
        let last = group.len() - 1;
        let shown = group.into_iter().enumerate();
        ordered.extend(shown.map(|(place, finding)| (finding, fix.filter(|_| place == last))));
    }
    ordered
}

/// The verdict in a line: `Valid, with 3 warnings.`
pub(crate) fn headline(verdict: &Verdict) -> String {
    let warnings = match verdict.of_state(State::Warning).count() as u64 {
        0 => String::new(),
        count => format!(", with {}", format::counted(count, "warning")),
    };
    match verdict.of_state(State::Invalidates).count() {
        0 if !verdict.refused.is_empty() => {
            let asked: Vec<&str> =
                verdict.refused.iter().map(|policy| policy.asked.as_str()).collect();
            let mut granted: Vec<&str> = verdict
                .refused
                .iter()
                .flat_map(|policy| &policy.granted)
                .map(String::as_str)
                .collect();
            granted.sort_unstable();
            granted.dedup();
            let (asked, granted) = (asked.join(", "), granted.join(" and "));
            format!("Not measured: {asked}. Figures for {granted} are valid{warnings}.")
        }
        0 if verdict.policy_refused() => {
            format!("Valid only for the policies that were granted{warnings}.")
        }
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
    fn a_fix_of_several_warnings_appears_once_after_the_last() {
        let mut run = small();
        let shortfall = |asked: &str| Shortfall {
            asked: asked.to_owned(),
            granted: "less".to_owned(),
            reason: "CAP_SYS_NICE is not held".to_owned(),
            fix: Some("sudo setcap cap_sys_nice+ep tactus".to_owned()),
        };
        run.measurements[0].shortfalls.extend([shortfall("policy rr:1"), shortfall("lock-memory")]);
        let text = verdict_text(&verdict(&run), 100);
        assert_eq!(text.matches("setcap").count(), 1, "{text}");
        let fix = "    The last 2 points have the same fix:\n    fix: sudo setcap";
        assert!(text.find("lock-memory") < text.find(fix), "{text}");
        assert!(text.starts_with("Valid only for the policies that were granted"), "{text}");
    }

    #[test]
    fn reasons_for_invalidity_come_first() {
        let mut run = small();
        run.header.facts_before.cpu.clock_source = Some("jiffies".to_owned());
        run.header.facts_after = Some(run.header.facts_before.clone());
        insta::assert_snapshot!("invalid", verdict_text(&verdict(&run), 80));
    }
}
