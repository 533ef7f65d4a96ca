//! A tokenizer for Rust source, just good enough to find texts that users read.

/// A piece of Rust source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// The content of a string literal, escapes unresolved.
    Text(String),
    /// The content of a doc comment line.
    Doc(String),
    /// An identifier, a keyword or a number.
    Word(String),
    /// Any other character outside comments.
    Mark(char),
}

/// A token and the line on which it starts.
pub(crate) type Located = (usize, Token);

/// The tokens of a source file without those of `#[cfg(test)]` items, and the names of modules
/// that are declared for tests only.
pub(crate) fn without_tests(source: &str) -> (Vec<Located>, Vec<String>) {
    let tokens = tokens(source);
    let (mut kept, mut modules) = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < tokens.len() {
        if !starts_test_item(&tokens[at..]) {
            kept.push(tokens[at].clone());
            at += 1;
            continue;
        }
        let end = at + length_of_item(&tokens[at..]);
        modules.extend(declared_module(&tokens[at..end]));
        at = end;
    }
    (kept, modules)
}

/// Whether the tokens start with `#[cfg(test)]`.
fn starts_test_item(tokens: &[Located]) -> bool {
    let mark = Token::Mark;
    let word = |text: &str| Token::Word(text.to_owned());
    let attribute =
        [mark('#'), mark('['), word("cfg"), mark('('), word("test"), mark(')'), mark(']')];
    tokens.len() >= attribute.len()
        && tokens.iter().zip(&attribute).all(|(token, wanted)| token.1 == *wanted)
}

/// The number of tokens of the item at the start: to its semicolon or its closing brace.
fn length_of_item(tokens: &[Located]) -> usize {
    let mut depth = 0_usize;
    for (place, (_, token)) in tokens.iter().enumerate() {
        match token {
            Token::Mark('{' | '(' | '[') => depth += 1,
            Token::Mark(')' | ']') => depth -= 1,
            Token::Mark('}') => {
                depth -= 1;
                if depth == 0 {
                    return place + 1;
                }
            }
            Token::Mark(';') if depth == 0 => return place + 1,
            _ => {}
        }
    }
    tokens.len()
}

/// The name in `mod name;`.
fn declared_module(item: &[Located]) -> Option<String> {
    match item {
        [.., (_, Token::Word(keyword)), (_, Token::Word(name)), (_, Token::Mark(';'))]
            if keyword == "mod" =>
        {
            Some(name.clone())
        }
        _ => None,
    }
}

/// All tokens of a source file.
fn tokens(source: &str) -> Vec<Located> {
    let mut reader = Reader { rest: source, line: 1 };
    let mut found = Vec::new();
    while let Some(first) = reader.rest.chars().next() {
        let line = reader.line;
        let token = match first {
            '/' if reader.rest.starts_with("//") => doc(reader.take_until("\n")),
            '/' if reader.rest.starts_with("/*") => {
                reader.skip_block_comment();
                None
            }
            '"' => {
                reader.take(1);
                Some(Token::Text(reader.string()))
            }
            '\'' => {
                reader.skip_character_or_lifetime();
                None
            }
            _ if first.is_alphanumeric() || first == '_' => {
                let word = reader.word();
                Some(reader.raw_string(&word).map_or(Token::Word(word), Token::Text))
            }
            _ => {
                reader.take(first.len_utf8());
                (!first.is_whitespace()).then_some(Token::Mark(first))
            }
        };
        found.extend(token.map(|token| (line, token)));
    }
    found
}

/// The content of a doc comment; `None` for other comments.
fn doc(comment: &str) -> Option<Token> {
    let text = comment.strip_prefix("///").or_else(|| comment.strip_prefix("//!"))?;
    (!text.starts_with('/')).then(|| Token::Doc(text.to_owned()))
}

struct Reader<'s> {
    rest: &'s str,
    line: usize,
}

impl<'s> Reader<'s> {
    fn take(&mut self, bytes: usize) -> &'s str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        self.line += taken.matches('\n').count();
        taken
    }

    /// Takes everything before `end`.
    fn take_until(&mut self, end: &str) -> &'s str {
        self.take(self.rest.find(end).unwrap_or(self.rest.len()))
    }

    fn word(&mut self) -> String {
        let end = self.rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
        self.take(end.unwrap_or(self.rest.len())).to_owned()
    }

    /// The rest of a string literal after its opening quote.
    fn string(&mut self) -> String {
        let mut is_escaped = false;
        let end = self.rest.find(|letter| {
            let ends = letter == '"' && !is_escaped;
            is_escaped = letter == '\\' && !is_escaped;
            ends
        });
        let text = self.take(end.unwrap_or(self.rest.len())).to_owned();
        self.take(self.rest.len().min(1));
        text
    }

    /// The literal after a prefix such as `r`, `b` or `br`, with its hashes.
    fn raw_string(&mut self, prefix: &str) -> Option<String> {
        let hashes = self.rest.len() - self.rest.trim_start_matches('#').len();
        if !matches!(prefix, "r" | "b" | "c" | "br" | "cr") || !self.rest[hashes..].starts_with('"')
        {
            return None;
        }
        self.take(hashes + 1);
        if !prefix.ends_with('r') {
            return Some(self.string());
        }
        let end = format!("\"{}", "#".repeat(hashes));
        let text = self.take_until(&end).to_owned();
        self.take(end.len().min(self.rest.len()));
        Some(text)
    }

    fn skip_block_comment(&mut self) {
        let mut depth = 0;
        loop {
            if self.rest.starts_with("/*") {
                depth += 1;
                self.take(2);
            } else if self.rest.starts_with("*/") {
                depth -= 1;
                self.take(2);
            } else if let Some(letter) = self.rest.chars().next() {
                self.take(letter.len_utf8());
            }
            if depth == 0 || self.rest.is_empty() {
                return;
            }
        }
    }

    /// Skips `'x'` or `'\n'`; of a lifetime only its quote.
    fn skip_character_or_lifetime(&mut self) {
        self.take(1);
        let mut letters = self.rest.chars();
        match (letters.next(), letters.next()) {
            (Some('\\'), Some(escaped)) => {
                self.take(1 + escaped.len_utf8());
                self.take_until("'");
                self.take(self.rest.len().min(1));
            }
            (Some(letter), Some('\'')) => {
                self.take(letter.len_utf8() + 1);
            }
            _ => {}
        }
    }
}

#[test]
fn texts_and_docs_are_found_and_tests_are_not() {
    let source = r###"
        //! Head
        // no doc
        /* "no" /* nested */ text */
        const A: &str = "one \"two\"";
        fn b<'a>(c: char) -> bool { c == '"' || c == '\'' } // "comment"
        #[cfg(test)]
        #[path = "x.rs"]
        mod checks;
        const R: &str = r#"raw "text""#;
        #[cfg(test)]
        mod tests { fn f() { g("}"); } }
        /// Tail
        const Z: &[u8] = b"bytes";
    "###;
    let (tokens, modules) = without_tests(source);
    let texts: Vec<(usize, &str)> = tokens
        .iter()
        .filter_map(|(line, token)| match token {
            Token::Text(text) | Token::Doc(text) => Some((*line, text.as_str())),
            _ => None,
        })
        .collect();
    let expected =
        [(2, " Head"), (5, "one \\\"two\\\""), (10, "raw \"text\""), (13, " Tail"), (14, "bytes")];
    assert_eq!(texts, expected);
    assert_eq!(modules, ["checks"]);
}
