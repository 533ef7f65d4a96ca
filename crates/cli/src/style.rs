//! Colours of the words that a reader looks for first: verdicts, and what kind a message is.
//!
//! A line is coloured after it was escaped for the terminal, and only as a whole or at its beginning
//! or end, so a text from outside cannot contain or change a control sequence.

use std::io::{self, IsTerminal};

use clap::ColorChoice;
use console::Style;

/// Decides for both outputs whether texts are coloured. Without a choice, a text for a terminal is,
/// except if `NO_COLOR` is set (<https://no-color.org>) or the terminal cannot.
///
/// The library keeps the decision, which its progress bars follow too.
pub(crate) fn choose(choice: ColorChoice) {
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
    let coloured = |is_terminal: bool| match choice {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => is_terminal && !dumb && !set("NO_COLOR"),
    };
    console::set_colors_enabled(coloured(io::stdout().is_terminal()));
    console::set_colors_enabled_stderr(coloured(io::stderr().is_terminal()));
}

/// What a word or a line says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Meaning {
    Bad,
    Doubtful,
    Good,
    /// What to do.
    Advice,
}

impl Meaning {
    fn paint(self, text: &str) -> String {
        let style = match self {
            Self::Bad => Style::new().red().bold(),
            Self::Doubtful => Style::new().yellow().bold(),
            Self::Good => Style::new().green().bold(),
            Self::Advice => Style::new().cyan(),
        };
        style.force_styling(true).apply_to(text).to_string()
    }
}

/// The first words of lines, after the indentation, that are coloured.
const BEGINNINGS: [(&str, Meaning); 16] = [
    ("error:", Meaning::Bad),
    ("internal error:", Meaning::Bad),
    ("not met:", Meaning::Bad),
    ("incomplete:", Meaning::Bad),
    ("undecided:", Meaning::Bad),
    ("interrupted:", Meaning::Doubtful),
    ("warning:", Meaning::Doubtful),
    ("hint:", Meaning::Advice),
    ("fix:", Meaning::Advice),
    ("note:", Meaning::Advice),
    // The demands of a gate.
    ("FAIL  ", Meaning::Bad),
    ("ok    ", Meaning::Good),
    // The findings of the doctor and the warnings of a verdict.
    ("invalidates  ", Meaning::Bad),
    ("warning  ", Meaning::Doubtful),
    ("fix     ", Meaning::Advice),
    ("× ", Meaning::Bad),
];

/// The beginnings of lines that are coloured as a whole.
const LINES: [(&str, Meaning); 13] = [
    ("Invalid for ", Meaning::Bad),
    ("Valid only for ", Meaning::Doubtful),
    ("Not measured: ", Meaning::Doubtful),
    ("Valid, with ", Meaning::Doubtful),
    ("Valid.", Meaning::Good),
    ("Measurements here are invalid", Meaning::Bad),
    ("Measurements here are valid, with", Meaning::Doubtful),
    ("The machine is fit for ", Meaning::Good),
    // The decision of `lab gate`.
    ("Fail: ", Meaning::Bad),
    ("Undecided: ", Meaning::Doubtful),
    ("Pass: ", Meaning::Good),
    // The sides of a comparison.
    ("A is invalid, ", Meaning::Bad),
    ("B is invalid, ", Meaning::Bad),
];

/// The last words of lines that are coloured: verdicts of comparisons, in the last column.
const ENDS: [(&str, Meaning); 2] = [("  worse", Meaning::Bad), ("  better", Meaning::Good)];

/// Colours a line without its end. `begins` and `ends` say whether it has the line's first and last
/// words.
pub(crate) fn paint(line: &str, begins: bool, ends: bool) -> String {
    let text = line.trim_start_matches(' ');
    let indentation = &line[..line.len() - text.len()];
    let beginning = |table: &'static [(&str, Meaning)]| {
        table.iter().find(|(words, _)| begins && text.starts_with(words))
    };
    if let Some((_, meaning)) = beginning(&LINES) {
        return format!("{indentation}{}", meaning.paint(text));
    }
    if let Some((words, meaning)) = beginning(&BEGINNINGS) {
        let (word, rest) = text.split_at(words.trim_end().len());
        return format!("{indentation}{}{rest}", meaning.paint(word));
    }
    if let Some((words, meaning)) = ENDS.iter().find(|(words, _)| ends && line.ends_with(words)) {
        let (rest, word) = line.split_at(line.len() - words.trim_start().len());
        return format!("{rest}{}", meaning.paint(word));
    }
    line.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_at_fixed_places_are_coloured_and_the_text_stays() {
        for (line, expected) in [
            ("error: no such run", "\u{1b}[31m\u{1b}[1merror:\u{1b}[0m no such run"),
            ("    fix: wait", "    \u{1b}[36mfix:\u{1b}[0m wait"),
            ("Valid, with 2 warnings.", "\u{1b}[33m\u{1b}[1mValid, with 2 warnings.\u{1b}[0m"),
            ("  p99  12 µs  worse", "  p99  12 µs  \u{1b}[31m\u{1b}[1mworse\u{1b}[0m"),
            ("idle · other  no error: here", "idle · other  no error: here"),
            ("nothing is worse", "nothing is worse"),
        ] {
            let painted = paint(line, true, true);
            assert_eq!(painted, expected);
        }
        assert_eq!(paint("error: x", false, true), "error: x");
        assert_eq!(paint("a  worse", true, false), "a  worse");
    }
}
