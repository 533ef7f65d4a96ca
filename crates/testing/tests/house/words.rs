//! The words of docs/language.md: texts that users read do not contain the phrases of its table.

use std::collections::BTreeSet;

use crate::source::{Located, Token, without_tests};
use crate::{crates, files, read};

/// Proper uses: the file, and a part of the line that contains the phrase.
const PROPER: [(&str, &str); 2] = [
    // The capacity that SCHED_DEADLINE reserves.
    ("experiments/standard.toml", "The deadline reservation"),
    // The old names of two keys, still accepted.
    ("docs/run-format.md", "`mend`, the machine's `cpu` as `processor`"),
];

/// A phrase that texts must not contain.
struct Phrase {
    words: Vec<String>,
    /// Whether capital letters count.
    is_exact: bool,
    /// What to say instead.
    instead: String,
}

/// A text of a file.
struct Text {
    file: String,
    line: usize,
    text: String,
}

/// The phrases of the table in docs/language.md: those in backquotes in its second column.
fn phrases() -> Vec<Phrase> {
    let page = read("docs/language.md");
    let (_, table) = page.split_once("| say | not |").expect("the table of words");
    let rows = table.lines().skip(1).take_while(|line| line.is_empty() || line.starts_with('|'));
    let columns = rows.filter_map(|row| {
        let mut columns = row.split('|').map(str::trim).skip(1);
        Some((columns.next()?, columns.next()?))
    });
    let phrase = |instead: &str, text: &str| Phrase {
        words: words(text).map(|(_, word)| word.to_owned()).collect(),
        is_exact: text.chars().any(char::is_uppercase),
        instead: instead.to_owned(),
    };
    columns
        .flat_map(|(instead, not)| {
            let quoted = not.split('`').skip(1).step_by(2);
            quoted.map(|text| phrase(instead, text)).collect::<Vec<_>>()
        })
        .collect()
}

/// The words of a text, with the number of line ends before each.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut line = 0;
    text.split_inclusive(|letter: char| !letter.is_alphanumeric() && letter != '_').filter_map(
        move |part| {
            let word =
                part.trim_end_matches(|letter: char| !letter.is_alphanumeric() && letter != '_');
            let found = (!word.is_empty()).then_some((line, word));
            line += usize::from(part.ends_with('\n'));
            found
        },
    )
}

/// A phrase in a text, with its line in the file. They sort by place.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Complaint {
    file: String,
    line: usize,
    what: String,
}

/// The phrases in a text.
fn complaints(text: &Text, phrases: &[Phrase]) -> Vec<Complaint> {
    let found: Vec<(usize, &str)> = words(&text.text).collect();
    let mut complaints = Vec::new();
    for phrase in phrases {
        let is_same = |(found, wanted): (&(usize, &str), &String)| match phrase.is_exact {
            true => found.1 == wanted,
            false => found.1.to_lowercase() == *wanted,
        };
        for window in found.windows(phrase.words.len()) {
            let line = window[0].0;
            if !window.iter().zip(&phrase.words).all(is_same) || is_proper(text, line) {
                continue;
            }
            let what = format!("\"{}\": say {}", phrase.words.join(" "), phrase.instead);
            complaints.push(Complaint { file: text.file.clone(), line: text.line + line, what });
        }
    }
    complaints
}

/// Whether a line of a text contains a proper use.
fn is_proper(text: &Text, line: usize) -> bool {
    let line = text.text.lines().nth(line).unwrap_or_default();
    PROPER.iter().any(|(file, part)| text.file == *file && line.contains(part))
}

/// The text without its parts from `open` to `close`, with its line ends.
fn without(text: &str, open: &str, close: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(open) {
        let (part, after) = after.split_once(close).unwrap_or((after, ""));
        kept.push_str(before);
        kept.push(' ');
        kept.extend(part.matches('\n'));
        rest = after;
    }
    kept + rest
}

/// The text of a format string, without the names in its braces and without escapes.
fn without_placeholders(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        kept.push_str(before);
        kept.push(' ');
        let end = after.find(['{', '}', ' ', '\n', '"']).unwrap_or(after.len());
        rest = if after[end..].starts_with('}') { &after[end + 1..] } else { after };
    }
    let text = kept + rest;
    ["\\n", "\\t", "\\\""].iter().fold(text, |text, escape| text.replace(escape, "  "))
}

/// The string literals of a source file, and its doc comments if `with_docs`; those of tests
/// and the old keys that `alias = "…"` still accepts are left out.
fn texts_of_source(file: &str, tokens: &[Located], with_docs: bool) -> Vec<Text> {
    let is_alias = |place: usize| {
        let before = &tokens[place.saturating_sub(2)..place];
        matches!(before, [(_, Token::Word(word)), (_, Token::Mark('='))] if word == "alias")
    };
    let text = |line: usize, text: String| Text { file: file.to_owned(), line, text };
    let mut texts: Vec<Text> = Vec::new();
    let mut last_doc = 0;
    for (place, (line, token)) in tokens.iter().enumerate() {
        match token {
            Token::Text(literal) if !is_alias(place) => {
                texts.push(text(*line, without_placeholders(literal)));
            }
            // The lines of a doc comment are one text.
            Token::Doc(doc) if with_docs => match texts.last_mut() {
                Some(last) if last_doc > 0 && last_doc + 1 == *line => {
                    last.text.push('\n');
                    last.text.push_str(doc);
                    last_doc = *line;
                }
                _ => {
                    texts.push(text(*line, doc.clone()));
                    last_doc = *line;
                }
            },
            _ => {}
        }
    }
    texts
}

/// The texts of all source files that are not tests.
fn texts_of_sources() -> Vec<Text> {
    let folders = crates().into_iter().map(|name| format!("crates/{name}/src"));
    let sources =
        folders.chain(["xtask/src".to_owned()]).flat_map(|folder| files(&folder, &[".rs"]));
    let read: Vec<(String, Vec<Located>, Vec<String>)> = sources
        .map(|path| {
            let (tokens, modules) = without_tests(&read(&path));
            (path, tokens, modules)
        })
        .collect();
    // A module for tests is a file or a folder beside or below the file that declares it.
    let tests: BTreeSet<String> = read
        .iter()
        .flat_map(|(path, _, modules)| {
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            let stem = path.trim_end_matches(".rs");
            let is_root = ["/lib", "/main", "/mod"].iter().any(|name| stem.ends_with(name));
            let folder = if is_root { folder } else { stem };
            modules.iter().map(move |module| format!("{folder}/{module}"))
        })
        .collect();
    let is_test = |path: &str| {
        tests.iter().any(|module| {
            path.strip_prefix(module.as_str())
                .is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
        })
    };
    read.iter()
        .filter(|(path, ..)| !is_test(path))
        .flat_map(|(path, tokens, _)| {
            texts_of_source(path, tokens, path.starts_with("crates/cli/src/"))
        })
        .collect()
}

/// The texts of templates, documents and shipped files.
fn texts_of_documents() -> Vec<Text> {
    let whole = |file: String| Text { text: read(&file), file, line: 1 };
    let templates = files("crates/report/templates", &[".html", ".js"]).into_iter().map(|file| {
        let text = whole(file);
        let text_without = without(&without(&text.text, "{{", "}}"), "{%", "%}");
        Text { text: text_without, ..text }
    });
    let pages = crate::entries("docs").into_iter().filter(|name| name.ends_with(".md"));
    let pages = pages.filter(|name| name != "language.md").map(|name| format!("docs/{name}"));
    let shipped = ["docs/man", "experiments", "papers"];
    let shipped = shipped.iter().flat_map(|folder| files(folder, &[""]));
    templates
        .chain(["README.md".to_owned()].into_iter().chain(pages).chain(shipped).map(whole))
        .collect()
}

#[test]
fn texts_for_users_keep_to_the_words_of_the_language_page() {
    let phrases = phrases();
    assert!(phrases.len() > 20, "the table of docs/language.md is not found");
    let texts = texts_of_sources().into_iter().chain(texts_of_documents());
    let mut found: Vec<Complaint> = texts.flat_map(|text| complaints(&text, &phrases)).collect();
    found.sort();
    let lines: Vec<String> = found
        .iter()
        .map(|Complaint { file, line, what }| format!("{file}:{line}: {what}"))
        .collect();
    let count = lines.len();
    assert!(count == 0, "{count} phrases against docs/language.md:\n{}", lines.join("\n"));
}

#[test]
fn every_proper_use_is_still_there() {
    for (file, part) in PROPER {
        assert!(read(file).contains(part), "{file}: {part}");
    }
}

#[test]
fn phrases_are_found_across_lines_and_names_in_braces_are_not() {
    let phrases = phrases();
    let check = |text: &str, expected: usize| {
        let text = Text { file: "f".to_owned(), line: 7, text: without_placeholders(text) };
        assert_eq!(complaints(&text, &phrases).len(), expected, "{}", text.text);
    };
    check("The processor.", 1);
    check("a length of\n   time", 1);
    check("{told} {told:>8} coprocessor", 0);
    check("line\\ntold", 1);
    check("<LENGTH>, length", 1);
}
