//! Findings as text.

use std::fmt::Write;

use crate::finding::{Finding, State, worst};

/// The width of the name column.
const NAMES: usize = 24;

/// The findings as text of `width` columns: problems in full, all others in one line each.
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

fn in_full(finding: &Finding, width: usize) -> String {
    let Finding { check, state, fact, why, effect, fix } = finding;
    let mut text = wrapped(fact, &format!("{state}  {check}: "), "  ", width);
    text.push_str(&wrapped(why, "  why     ", "          ", width));
    if let Some(effect) = effect {
        text.push_str(&wrapped(effect, "  effect  ", "          ", width));
    }
    if let Some(fix) = fix {
        // Not wrapped, so that it can be copied.
        let _ = writeln!(text, "  fix     {}", printable(fix));
    }
    text
}

/// Wraps a text at `width`; the first line starts with `first`, all others with `indent`.
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

/// A text without control characters, which names of programs may contain.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}
