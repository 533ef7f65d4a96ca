//! The command lines in the results of the rt-tests.

/// The program of a command line, without its directory.
pub(crate) fn program(command_line: &str) -> &str {
    let first = command_line.split_whitespace().next().unwrap_or_default();
    first.rsplit('/').next().unwrap_or_default()
}

/// The options of a program, for parsing its command line like getopt_long(3).
pub(crate) struct Known {
    /// Short options with a value.
    pub(crate) with_value: &'static str,
    /// Short options with an optional value.
    pub(crate) with_optional_value: &'static str,
    /// Long options with the equivalent short option, or their own name. Other long options
    /// keep their name.
    pub(crate) long: &'static [(&'static str, &'static str)],
    /// Long options without a short form that take a value.
    pub(crate) long_with_value: &'static [&'static str],
}

/// The options of a command line, each with its value if it has one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Given(Vec<(String, Option<String>)>);

impl Given {
    /// Parses a command line. A value that contained spaces cannot be distinguished from
    /// options; none of the options queried here has such a value.
    pub(crate) fn of(command_line: &str, known: &Known) -> Self {
        let mut words = command_line.split_whitespace().skip(1).peekable();
        let mut given = Vec::new();
        while let Some(word) = words.next() {
            if let Some(long) = word.strip_prefix("--") {
                let (name, value) = match long.split_once('=') {
                    Some((name, value)) => (name, Some(value.to_owned())),
                    None => (long, None),
                };
                let name = known
                    .long
                    .iter()
                    .find(|(known, _)| *known == name)
                    .map_or(name, |found| found.1);
                let wants = known.long_with_value.contains(&name)
                    || (name.len() == 1 && known.with_value.contains(name));
                let value =
                    value.or_else(|| if wants { words.next().map(str::to_owned) } else { None });
                given.push((name.to_owned(), value));
            } else if let Some(letters) = word.strip_prefix('-') {
                for (place, letter) in letters.char_indices() {
                    let rest = &word[1 + place + letter.len_utf8()..];
                    let attached = (!rest.is_empty()).then(|| rest.to_owned());
                    if known.with_value.contains(letter) {
                        let value = attached.or_else(|| words.next().map(str::to_owned));
                        given.push((letter.to_string(), value));
                        break;
                    }
                    if known.with_optional_value.contains(letter) {
                        // The rt-tests take the next word as the value unless it is an option.
                        let value = attached.or_else(|| {
                            words.next_if(|next| !next.starts_with('-')).map(str::to_owned)
                        });
                        given.push((letter.to_string(), value));
                        break;
                    }
                    given.push((letter.to_string(), None));
                }
            }
        }
        Self(given)
    }

    /// Whether an option was given.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(given, _)| given == name)
    }

    /// The value of an option; the last occurrence counts.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.0.iter().rev().find(|(given, _)| given == name)?.1.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cyclictest::OPTIONS;

    #[test]
    fn options_are_parsed_like_the_tool_parses_them() {
        let given = Given::of(
            "/usr/bin/cyclictest -qmp80 -t 2 -a -i 500 --policy=rr --histogram 100 --latency 5 -S",
            &OPTIONS,
        );
        assert_eq!(given.value("p"), Some("80"));
        assert_eq!(given.value("t"), Some("2"));
        assert_eq!(given.value("a"), None);
        assert_eq!(given.value("i"), Some("500"));
        assert_eq!(given.value("policy"), Some("rr"));
        assert_eq!(given.value("h"), Some("100"));
        assert_eq!(given.value("latency"), Some("5"));
        assert!(given.has("q") && given.has("m") && given.has("S") && given.has("a"));
        assert!(!given.has("N"));
        assert_eq!(program("/usr/bin/cyclictest -q"), "cyclictest");
        assert_eq!(program(""), "");
    }
}
