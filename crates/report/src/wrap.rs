//! Long texts in lines.

use crate::columns::columns_of;
use crate::format::printable;

/// The least room for text in a line, in columns.
const LEAST_ROOM: usize = 20;

/// Wraps a text into lines of at most `width` columns, each after `indent`.
pub(crate) fn wrapped(text: &str, indent: &str, width: usize) -> String {
    hanging(indent, text, indent, width)
}

/// Wraps a text into lines of at most `width` columns: the first is after `first`, all others are
/// after `indent`.
pub(crate) fn hanging(first: &str, text: &str, indent: &str, width: usize) -> String {
    let mut lines = vec![(first, String::new())];
    for word in printable(text).split(' ') {
        let Some((start, line)) = lines.last_mut() else { break };
        let room = width.saturating_sub(columns_of(start)).max(LEAST_ROOM);
        if line.is_empty() {
            line.push_str(word);
        } else if columns_of(line) + 1 + columns_of(word) <= room {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push((indent, word.to_owned()));
        }
    }
    lines
        .iter()
        .map(|(start, line)| format!("{start}{line}").trim_end().to_owned() + "\n")
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_wrapped_between_words() {
        let text = wrapped("one two three four five six", "  ", 22);
        assert_eq!(text, "  one two three four\n  five six\n");
    }

    #[test]
    fn the_first_line_has_its_own_beginning() {
        let text = hanging("a name: ", "one two three four five six", "  ", 28);
        assert_eq!(text, "a name: one two three four\n  five six\n");
    }

    #[test]
    fn wide_characters_count_as_two_columns() {
        let text = wrapped("録音録音録音録音 録音録音", "", 24);
        assert_eq!(text, "録音録音録音録音\n録音録音\n");
    }
}
