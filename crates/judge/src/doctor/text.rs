//! Findings as a person reads them.

use std::fmt::Write;

use crate::finding::{Finding, State, worst};

/// The width of the column of names.
const NAMES: usize = 24;

/// The findings as text of `width` columns: what is wrong in full, what is fine in a line each.
pub fn findings_text(findings: &[Finding], width: usize) -> String {
    let mut text = wrapped(&summary(findings), "", "", width);
    for finding in findings.iter().filter(|finding| is_in_full(finding)) {
        text.push('\n');
        text.push_str(&in_full(finding, width));
    }
    for state in [State::Unknown, State::Fine] {
        let of_state = |finding: &&Finding| finding.state == state && !is_in_full(finding);
        if findings.iter().any(|finding| of_state(&finding)) {
            let _ = writeln!(text, "\n{state}");
        }
        for Finding { check, fact, .. } in findings.iter().filter(of_state) {
            let first = format!("  {check:NAMES$}");
            text.push_str(&wrapped(fact, &first, &" ".repeat(NAMES + 2), width));
        }
    }
    text
}

const fn is_in_full(finding: &Finding) -> bool {
    matches!(finding.state, State::Invalidates | State::Warning)
}

/// What the findings come to.
fn summary(findings: &[Finding]) -> String {
    let count = |state| findings.iter().filter(|finding| finding.state == state).count();
    let counted = |number: usize, one: &str, many: &str| match number {
        0 => None,
        1 => Some(format!("1 {one}")),
        _ => Some(format!("{number} {many}")),
    };
    let parts: Vec<String> = [
        counted(count(State::Invalidates), "thing invalidates", "things invalidate"),
        counted(count(State::Warning), "warning", "warnings"),
        counted(count(State::Unknown), "unknown", "unknown"),
        counted(count(State::Fine), "fine", "fine"),
    ]
    .into_iter()
    .flatten()
    .collect();
    let verdict = match worst(findings) {
        State::Invalidates => "What is measured here is not the machine's own timing.",
        State::Warning => "What is measured here is valid, with these warnings.",
        State::Unknown => "What is known stands in the way of nothing.",
        State::Fine => "Fit to be measured.",
    };
    format!("{verdict} {}.", parts.join(", "))
}

fn in_full(finding: &Finding, width: usize) -> String {
    let Finding { check, state, fact, why, effect, fix } = finding;
    let mut text = wrapped(fact, &format!("{state}  {check}: "), "  ", width);
    text.push_str(&wrapped(why, "  why     ", "          ", width));
    if let Some(effect) = effect {
        text.push_str(&wrapped(effect, "  effect  ", "          ", width));
    }
    if let Some(fix) = fix {
        // Not broken into lines: it is there to be copied.
        let _ = writeln!(text, "  fix    {}", printable(fix));
    }
    text
}

/// Breaks a text into lines of at most `width`, the first after `first`, the others after `indent`.
fn wrapped(text: &str, first: &str, indent: &str, width: usize) -> String {
    let mut lines = String::new();
    let mut line = first.to_owned();
    let mut is_empty = true;
    for word in printable(text).split_whitespace() {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > width {
            lines.push_str(line.trim_end());
            lines.push('\n');
            line = indent.to_owned();
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    lines + line.trim_end() + "\n"
}

/// A text without control characters: names of programs are not ours, and may hold any.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}
