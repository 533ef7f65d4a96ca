//! How wide a text is in a terminal, by the letters' own width.
//!
//! Chinese and Japanese letters and most emoji take two columns, combining marks none
//! ([Unicode Standard Annex #11](https://www.unicode.org/reports/tr11/)).

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// How many columns a text takes.
pub(crate) fn columns_of(text: &str) -> usize {
    text.width()
}

/// The longest beginning of a text that takes at most `columns`.
pub(crate) fn beginning(text: &str, columns: usize) -> &str {
    let mut taken = 0;
    let beyond = text.char_indices().find(|(_, letter)| {
        taken += letter.width().unwrap_or(0);
        taken > columns
    });
    beyond.map_or(text, |(place, _)| &text[..place])
}

/// The longest end of a text that takes at most `columns`.
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
    fn wide_letters_take_two_columns_and_combining_marks_none() {
        let check = |text, columns| assert_eq!(columns_of(text), columns, "{text}");
        check("µs", 2);
        check("録音", 4);
        check("e\u{301}", 1);
    }

    #[test]
    fn a_wide_letter_is_never_cut_in_half() {
        assert_eq!(beginning("録音 a", 3), "録");
        assert_eq!(end("a 録音", 3), "音");
        assert_eq!(beginning("short", 9), "short");
        assert_eq!(end("short", 9), "short");
        assert_eq!(end("short", 0), "");
    }
}
