//! The findings of the doctor as text.

use std::fmt::Write;

use tactus_judge::doctor::{Finding, State, worst};

use crate::format::printable;
use crate::wrap::{hanging, wrapped};

/// The width of the name column.
const NAMES: usize = 24;

/// The findings as text of `width` columns: problems in full, all others in one line each.
pub fn findings_text(findings: &[Finding], width: usize) -> String {
    let mut text = wrapped(&summary(findings), "", width);
    let problems: Vec<&Finding> = findings.iter().filter(|finding| is_in_full(finding)).collect();
    for (index, finding) in problems.iter().enumerate() {
        let same_fix = |other: &&&Finding| finding.fix.is_some() && other.fix == finding.fix;
        let earlier = problems[..index].iter().find(same_fix).map(|other| other.check);
        text.push('\n');
        text.push_str(&in_full(finding, earlier, width));
    }
    for state in [State::Unknown, State::Fine] {
        let of_state = |finding: &&Finding| finding.state == state && !is_in_full(finding);
        if findings.iter().any(|finding| of_state(&finding)) {
            let _ = writeln!(text, "\n{state}");
        }
        for Finding { check, fact, .. } in findings.iter().filter(of_state) {
            let first = format!("  {check:NAMES$}");
            text.push_str(&hanging(&first, fact, &" ".repeat(NAMES + 2), width));
        }
    }
    text
}

const fn is_in_full(finding: &Finding) -> bool {
    matches!(finding.state, State::Invalidates | State::Warning)
}

/// The summary line.
fn summary(findings: &[Finding]) -> String {
    let count = |state| findings.iter().filter(|finding| finding.state == state).count();
    let counted = |number: usize, one: &str, many: &str| match number {
        0 => None,
        1 => Some(format!("1 {one}")),
        _ => Some(format!("{number} {many}")),
    };
    let parts: Vec<String> = [
        counted(count(State::Invalidates), "invalidating problem", "invalidating problems"),
        counted(count(State::Warning), "warning", "warnings"),
        counted(count(State::Unknown), "unknown", "unknown"),
        counted(count(State::Fine), "fine", "fine"),
    ]
    .into_iter()
    .flatten()
    .collect();
    let verdict = match worst(findings) {
        State::Invalidates => {
            "Measurements here are invalid: they do not show the machine's own timing."
        }
        State::Warning => "Measurements here are valid, with warnings.",
        State::Unknown => "No known problem, but not everything could be checked.",
        State::Fine => "The machine is fit for measurements.",
    };
    format!("{verdict} {}.", parts.join(", "))
}

/// A problem with its reason, effect and fix; `earlier` is an earlier problem with the same fix.
fn in_full(finding: &Finding, earlier: Option<&str>, width: usize) -> String {
    let Finding { check, state, fact, why, effect, fix } = finding;
    let mut text = hanging(&format!("{state}  {check}: "), fact, "  ", width);
    text.push_str(&hanging("  why     ", why, "          ", width));
    if let Some(effect) = effect {
        text.push_str(&hanging("  effect  ", effect, "          ", width));
    }
    if let Some(earlier) = earlier {
        let _ = writeln!(text, "  fix     the same as for {earlier}");
    } else if let Some(fix) = fix {
        // Not wrapped, so that it can be copied.
        let _ = writeln!(text, "  fix     {}", printable(fix));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(check: &'static str, state: State, fact: &str) -> Finding {
        let why = "It matters.";
        Finding { check, state, fact: fact.to_owned(), why, effect: None, fix: None }
    }

    #[test]
    fn problems_are_in_full_and_all_others_take_one_line() {
        let clock = Finding {
            effect: Some("Each clock reading takes a microsecond, which is part of every latency.".to_owned()),
            fix: Some("echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource".to_owned()),
            ..finding("clock source", State::Invalidates, "hpet")
        };
        let findings = [
            clock,
            finding("hypervisor", State::Warning, "kvm"),
            finding("heat", State::Unknown, "no sensor can be read"),
            finding("swap", State::Fine, "none"),
        ];
        insta::assert_snapshot!(findings_text(&findings, 60));
    }

    #[test]
    fn a_fix_of_two_problems_is_printed_once() {
        let fix = Some("sudo setcap cap_sys_nice+ep tactus".to_owned());
        let problem = |check| Finding { fix: fix.clone(), ..finding(check, State::Warning, "no") };
        let text = findings_text(&[problem("tracing"), problem("deadline class")], 60);
        assert_eq!(text.matches("setcap").count(), 1, "{text}");
        assert!(text.contains("fix     the same as for tracing\n"), "{text}");
    }

    #[test]
    fn control_characters_of_a_program_never_reach_the_terminal() {
        let name = finding("tasks", State::Warning, "\u{1b}[31m runs");
        assert!(!findings_text(&[name], 0).contains('\u{1b}'));
    }
}
