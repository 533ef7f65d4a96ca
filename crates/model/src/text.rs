//! Values that users write as words: one definition produces the enum, its text and its errors.

/// The error for an unknown word, with the nearest known word.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown {what} `{given}`{hint}; it is one of: {known}")]
pub struct UnknownWord {
    /// What kind of word was expected.
    pub what: &'static str,
    /// The given word.
    pub given: String,
    /// The known words, separated by commas.
    pub known: String,
    /// " (did you mean …?)", or empty if no known word is near.
    hint: String,
}

impl UnknownWord {
    /// Describes `given`, which is not one of the words in `known`.
    pub fn new(what: &'static str, given: &str, known: &[&str]) -> Self {
        let hint = nearest(&given.to_lowercase(), known)
            .map(|word| format!(" (did you mean `{word}`?)"))
            .unwrap_or_default();
        Self { what, given: given.to_owned(), known: known.join(", "), hint }
    }

    /// The same error with the known word for a word of the same meaning, if `given` is one of those
    /// in `meanings`.
    #[must_use]
    pub fn or_meaning(self, meanings: &[(&str, &str)]) -> Self {
        let known = meanings.iter().find(|(other, _)| other.eq_ignore_ascii_case(&self.given));
        match known {
            Some((_, word)) => Self { hint: format!(" (did you mean `{word}`?)"), ..self },
            None => self,
        }
    }
}

/// Finds the known word nearest to `given`, if one is near enough.
pub fn nearest<'a>(given: &str, known: &[&'a str]) -> Option<&'a str> {
    // The comparison takes time and memory for every character, and a name on Linux has at most
    // 255.
    if given.len() > 255 {
        return None;
    }
    known
        .iter()
        .map(|word| (strsim::damerau_levenshtein(given, word), *word))
        .filter(|(distance, word)| {
            // Two different two-letter words have distance two and nothing in common.
            let alike = *distance < word.len().min(given.len());
            (alike && *distance <= 2.max(word.len() / 3))
                || (given.len() > 2 && word.contains(given))
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, word)| word)
}

/// Defines an enum whose variants are words, in options, plans and JSON alike.
macro_rules! keywords {
    ($(#[$meta:meta])* pub enum $name:ident: $what:literal {
        $(
            $(#[doc = $about:literal])+ $(#[doc(alias = $alias:literal)])*
            $variant:ident = $word:literal,
        )+
    }) => {
        $(#[$meta])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash,
            serde::Serialize, serde::Deserialize,
        )]
        pub enum $name {
            $($(#[doc = $about])+ $(#[doc(alias = $alias)])* #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            /// All values, in the order of the documentation.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The word for this value.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// What the value means: the text of its documentation here.
            pub fn about(self) -> &'static str {
                match self { $(Self::$variant => concat!($($about),+).trim_start()),+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.word())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::text::UnknownWord;
            /// Accepts the word in upper and lower case.
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let known = Self::ALL.iter().find(|value| value.word().eq_ignore_ascii_case(text));
                known.copied().ok_or_else(|| {
                    $crate::text::UnknownWord::new($what, text, &[$($word),+])
                })
            }
        }
    };
}
pub(crate) use keywords;

/// Serializes a type that has `FromStr` and `Display` as its text.
macro_rules! serde_as_text {
    ($name:ty) => {
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use serde_as_text;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_suggested_only_if_it_is_near() {
        let known = ["nanosleep", "timerfd", "futex"];
        assert_eq!(nearest("nanoslep", &known), Some("nanosleep"));
        assert_eq!(nearest("timer", &known), Some("timerfd"));
        assert_eq!(nearest("banana", &known), None);
        assert_eq!(nearest("", &["rr"]), None);
        assert_eq!(nearest("xy", &["rr", "fifo"]), None);
        assert_eq!(nearest("fif", &["rr", "fifo"]), Some("fifo"));
    }
}
