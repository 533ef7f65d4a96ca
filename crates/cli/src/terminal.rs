//! Texts for the terminal, and its width.

use std::io::{self, Write};

use tactus_app::recording;
use tactus_model::experiment::Plan;
use tactus_model::result::Shortfall;
use tactus_record::file::RecordingFile;
use tactus_report::{TableOptions, format};

use crate::error::CommandResult;
use crate::json_lines::write_line;

/// Table options with the width that `COLUMNS` asks for, else with that of the terminal.
pub(crate) fn table_options() -> TableOptions {
    let asked = std::env::var("COLUMNS").ok();
    let width = asked.as_deref().and_then(columns).or_else(width_of_terminal);
    width.map_or_else(TableOptions::default, TableOptions::of_width)
}

/// A width as a person sets it; `None` for what is no width.
fn columns(text: &str) -> Option<usize> {
    text.trim().parse::<u16>().ok().filter(|columns| *columns > 0).map(usize::from)
}

fn width_of_terminal() -> Option<usize> {
    let out = console::Term::stdout();
    let size = out.is_term().then(|| out.size_checked()).flatten();
    size.map(|(_, columns)| usize::from(columns))
}

/// The maximum number of characters of a line on standard error.
const LINE_CHARACTERS: usize = 2000;

/// A message as lines for standard error: escaped, cut, and every line after the first indented,
/// so that a text from outside cannot pass for a message of its own.
pub(crate) fn message(text: &str) -> String {
    let lines: Vec<String> =
        text.trim_end().lines().map(|line| format::cut(line, LINE_CHARACTERS)).collect();
    lines.join("\n  ")
}

/// Writes a line to standard error. Nothing depends on these lines: a reader that closed it, or a
/// full disk behind it, does not end a measurement.
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        let text = $crate::terminal::message(&format!($($text)*));
        let _ = writeln!(std::io::stderr(), "{text}");
    }};
}
pub(crate) use say;

/// Standard output for texts: everything but ends of lines is escaped.
pub(crate) fn stdout() -> impl Write {
    Printable(std::io::stdout().lock())
}

/// Escapes texts that are written to it piece by piece.
struct Printable<W>(W);

impl<W: Write> Write for Printable<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        for line in text.split_inclusive('\n') {
            let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
            self.0.write_all((format::printable(line) + end).as_bytes())?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// What was requested and not granted, with its fix, as lines.
pub(crate) fn shortfall_text(shortfall: &Shortfall) -> String {
    let Shortfall { asked, granted, reason, fix, .. } = shortfall;
    let fix = fix.as_ref().map(|fix| format!("fix: {fix}\n"));
    format!("warning: requested {asked}, got {granted}: {reason}\n{}", fix.unwrap_or_default())
}

/// Warns of a recording without its end.
pub(crate) fn warn_of_missing_end(recording: &RecordingFile) {
    if let Some(lacks) = recording::lacks(recording) {
        say!("warning: {lacks}");
    }
}

/// Prints the cells of a plan and the estimated duration.
pub(crate) fn print_plan(plan: &Plan, json: bool) -> CommandResult {
    if json {
        return Ok(write_line(plan)?);
    }
    Ok(write!(stdout(), "{}", tactus_report::plan_table(plan, &table_options()))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_width_is_a_positive_number_of_columns() {
        assert_eq!(columns("80"), Some(80));
        for text in ["", "0", "-1", "wide", "99999999"] {
            assert_eq!(columns(text), None, "{text}");
        }
    }

    #[test]
    fn no_text_controls_the_terminal_or_passes_for_another_message() {
        let hostile = "a\u{1b}[2J \u{202e}b\u{200d}\u{9b}31m\r\nerror: not ours\u{0}";
        let escaped = "a\\u{1b}[2J \\u{202e}b\\u{200d}\\u{9b}31m\n  error: not ours\\u{0}";
        assert_eq!(message(hostile), escaped);
        let mut out = Printable(Vec::new());
        writeln!(out, "{hostile}").unwrap();
        let written = String::from_utf8(out.0).unwrap();
        assert_eq!(written, escaped.replace("\n  ", "\\r\n") + "\n");
        assert!(message(&"x".repeat(1 << 20)).chars().count() <= LINE_CHARACTERS + 1);
    }
}
