//! Texts for the terminal, and its width.

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::{self, Write};
use std::sync::LazyLock;

use tactus_app::recording;
use tactus_model::experiment::Plan;
use tactus_model::result::Shortfall;
use tactus_record::file::RecordingFile;
use tactus_report::{TableOptions, format};

use crate::error::CommandResult;
use crate::json_lines::write_line;
use crate::style;

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

/// The arguments of this command that have several lines, such as the name of a file with a line feed.
static LINES: LazyLock<Vec<String>> = LazyLock::new(|| several_lines(std::env::args_os()));

/// The arguments, and the values of options among them, that have several lines.
fn several_lines(arguments: impl Iterator<Item = OsString>) -> Vec<String> {
    let texts = arguments.map(|argument| argument.to_string_lossy().into_owned());
    let with_value = texts.flat_map(|text| {
        let value = text.split_once('=').map(|(_, value)| value.to_owned());
        [Some(text), value].into_iter().flatten()
    });
    with_value.filter(|text| text.trim().contains('\n')).collect()
}

/// A text with its arguments in one line each: ends of lines in a name begin no other line.
fn in_one_line<'t>(text: &'t str, arguments: &[String]) -> Cow<'t, str> {
    let found = arguments.iter().filter(|argument| text.contains(argument.as_str()));
    found.fold(Cow::Borrowed(text), |text, argument| {
        Cow::Owned(text.replace(argument.as_str(), &argument.replace('\n', "\\n")))
    })
}

/// A message as lines for standard error: escaped, cut, and every line after the first indented,
/// so that a text from outside cannot pass for a message of its own. Names with several lines that
/// are arguments are in one line.
pub(crate) fn message(text: &str) -> String {
    let coloured = console::colors_enabled_stderr();
    let line = |(number, line): (usize, &str)| match format::cut(line, LINE_CHARACTERS) {
        first if number == 0 && coloured => style::paint(&first, true, true),
        line => line,
    };
    let lines: Vec<String> =
        in_one_line(text, &LINES).trim_end().lines().enumerate().map(line).collect();
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
    let coloured = console::colors_enabled();
    Printable { out: std::io::stdout().lock(), coloured, at_beginning: true }
}

/// Escapes texts that are written to it piece by piece, and then colours them.
struct Printable<W> {
    out: W,
    coloured: bool,
    /// Whether the next piece begins a line.
    at_beginning: bool,
}

impl<W: Write> Write for Printable<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        let text = in_one_line(&text, &LINES);
        for line in text.split_inclusive('\n') {
            let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
            let mut line = format::printable(line);
            let ends = !end.is_empty();
            if self.coloured {
                line = style::paint(&line, self.at_beginning, ends);
            }
            self.out.write_all((line + end).as_bytes())?;
            self.at_beginning = ends;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
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
    fn an_argument_with_several_lines_is_in_one_line() {
        let arguments = ["tactus", "x\nerror: forged", "--to=a\nb", "\n"].map(OsString::from);
        let lines = several_lines(arguments.into_iter());
        assert_eq!(lines, ["x\nerror: forged", "--to=a\nb", "a\nb"]);
        let said = in_one_line("cannot open x\nerror: forged: a\nb\nhint", &lines);
        assert_eq!(said, "cannot open x\\nerror: forged: a\\nb\nhint");
    }

    #[test]
    fn no_text_controls_the_terminal_or_passes_for_another_message() {
        let hostile = "a\u{1b}[2J \u{202e}b\u{200d}\u{9b}31m\r\nerror: not ours\u{0}";
        let escaped = "a\\u{1b}[2J \\u{202e}b\\u{200d}\\u{9b}31m\n  error: not ours\\u{0}";
        assert_eq!(message(hostile), escaped);
        for coloured in [false, true] {
            let mut out = Printable { out: Vec::new(), coloured, at_beginning: true };
            writeln!(out, "x {hostile}").unwrap();
            let written = String::from_utf8(out.out).unwrap();
            let ours = written.replace("\u{1b}[31m\u{1b}[1merror:\u{1b}[0m", "error:");
            assert_eq!(ours, format!("x {}\n", escaped.replace("\n  ", "\\r\n")));
        }
        assert!(message(&"x".repeat(1 << 20)).chars().count() <= LINE_CHARACTERS + 1);
    }
}
