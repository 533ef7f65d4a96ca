//! The width of a text in a terminal, by the width of its characters.
//!
//! Chinese and Japanese characters and most emoji take two columns, combining marks take none
//! ([Unicode Standard Annex #11](https://www.unicode.org/reports/tr11/)).

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The number of columns of a text.
pub(crate) fn columns_of(text: &str) -> usize {
    text.width()
}

/// The longest prefix of a text of at most `columns`.
pub(crate) fn beginning(text: &str, columns: usize) -> &str {
    let mut taken = 0;
    let beyond = text.char_indices().find(|(_, letter)| {
        taken += letter.width().unwrap_or(0);
        taken > columns
    });
    beyond.map_or(text, |(place, _)| &text[..place])
}

/// The longest suffix of a text of at most `columns`.
pub(crate) fn end(text: &str, columns: usize) -> &str {
    let mut taken = 0;
    let beyond = text.char_indices().rev().find(|(_, letter)| {
        taken += letter.width().unwrap_or(0);
        taken > columns
    });
    beyond.map_or(text, |(place, letter)| &text[place + letter.len_utf8()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_take_two_columns_and_combining_marks_none() {
        let check = |text, columns| assert_eq!(columns_of(text), columns, "{text}");
        check("µs", 2);
        check("録音", 4);
        check("e\u{301}", 1);
    }

    #[test]
    fn a_wide_character_is_never_cut_in_half() {
        assert_eq!(beginning("録音 a", 3), "録");
        assert_eq!(end("a 録音", 3), "音");
        assert_eq!(beginning("short", 9), "short");
        assert_eq!(end("short", 9), "short");
        assert_eq!(end("short", 0), "");
    }
}
