//! The outcome of a gate as JUnit XML, which continuous integration shows as tests.
//!
//! It uses the elements and attributes that Jenkins and GitLab read
//! (<https://github.com/testmoapp/junitxml>). The run is the suite; each demand on a
//! cell is a case.

use std::fmt::Write;

use super::{GateReport, Judgement, Outcome};

/// Writes the report as a JUnit document.
pub fn junit(report: &GateReport) -> String {
    let (tests, failures) = (report.judgements.len(), report.failures());
    let name = escaped(&report.run);
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <testsuites name=\"tactus gate\" tests=\"{tests}\" failures=\"{failures}\">\n  \
         <testsuite name=\"{name}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" skipped=\"0\">\n"
    );
    report.judgements.iter().for_each(|judgement| put_case(&mut text, judgement));
    text.push_str("  </testsuite>\n</testsuites>\n");
    text
}

fn put_case(text: &mut String, judgement: &Judgement) {
    let Judgement { cell, demand, found, outcome, passes } = judgement;
    let (cell, demand, found) = (escaped(cell), escaped(demand), escaped(found));
    let _ = writeln!(text, "    <testcase classname=\"{cell}\" name=\"{demand}\">");
    // Writing to a String cannot fail.
    let _ = match (passes, outcome) {
        (true, Outcome::Met) => writeln!(text, "      <system-out>{found}</system-out>"),
        (true, _) => {
            writeln!(text, "      <system-out>{} (allowed): {found}</system-out>", outcome.words())
        }
        (false, _) => {
            let kind = outcome.words();
            writeln!(text, "      <failure type=\"{kind}\" message=\"{kind}: {found}\"/>")
        }
    };
    text.push_str("    </testcase>\n");
}

/// Escapes a text for an element or an attribute, and replaces characters that XML 1.0
/// forbids (section 2.2 of the recommendation).
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&apos;"),
            // An attribute would turn these into spaces.
            '\t' | '\n' | '\r' => {
                let _ = write!(escaped, "&#{};", u32::from(letter));
            }
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            letter if letter < ' ' => escaped.push('\u{fffd}'),
            letter => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judgement(cell: &str, outcome: Outcome, passes: bool, found: &str) -> Judgement {
        let demand = "max at most 200 µs".to_owned();
        Judgement { cell: cell.to_owned(), demand, outcome, passes, found: found.to_owned() }
    }

    #[test]
    fn a_report_is_a_suite_of_cases() {
        let report = GateReport {
            run: "quick-20261121-113355".to_owned(),
            notes: Vec::new(),
            judgements: vec![
                judgement("idle · fifo:90", Outcome::Met, true, "71 µs"),
                judgement("cmd:\"a && b <c>\" · other", Outcome::NotMet, false, "3 ms"),
                judgement("compute:2", Outcome::Unsupported, false, "few samples"),
                judgement("compute:3", Outcome::Unsupported, true, "few samples"),
            ],
        };
        insta::assert_snapshot!(junit(&report));
    }

    #[test]
    fn characters_that_xml_forbids_are_replaced() {
        assert_eq!(escaped("a\u{1b}[31m\u{0}\u{ffff}\n"), "a\u{fffd}[31m\u{fffd}\u{fffd}&#10;");
        assert_eq!(escaped("µ · → 'x'"), "µ · → &apos;x&apos;");
    }
}
