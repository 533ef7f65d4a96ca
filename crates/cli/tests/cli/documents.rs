//! The documents for users: their commands parse, and the comparison with other tools is complete.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// A file of the repository, by its path from the root.
fn read(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// README.md and the pages in docs/, except the generated reference.
fn documents() -> Vec<(String, String)> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let names = fs::read_dir(docs).unwrap().map(|entry| entry.unwrap().file_name());
    let names = names.map(|name| name.into_string().unwrap());
    let pages = names.filter(|name| name.ends_with(".md") && name != "commands.md");
    let paths = pages.map(|name| format!("docs/{name}")).chain(["README.md".to_owned()]);
    paths.map(|path| (path.clone(), read(&path))).collect()
}

/// The parts of a text that are in backquotes.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The words of each line that a reader types: the lines of shell blocks, those after a prompt in
/// other blocks, and those quoted in the text. A line with an open quote, or a backslash at its end,
/// continues in the next one. Scripts are not typed; a test in `judged` runs the one there is.
fn typed_lines(document: &str) -> Vec<Vec<String>> {
    let mut lines = Vec::new();
    for (number, block) in document.split("```").enumerate() {
        if number % 2 == 0 {
            // In the text, up to three words are the name of a command or of an option.
            let whole = quoted(block).filter(|text| text.split_whitespace().count() > 3);
            lines.extend(whole.filter(|text| !text.contains('…')).filter_map(shlex::split));
            continue;
        }
        let Some((language, body)) = block.split_once('\n') else { continue };
        if body.starts_with("#!") {
            continue;
        }
        let mut typed = String::new();
        for line in body.lines() {
            let begins = language == "sh" || !typed.is_empty();
            let Some(line) = line.strip_prefix("$ ").or(begins.then_some(line)) else { continue };
            typed.push_str(line.trim_end_matches('\\'));
            let words = if line.ends_with('\\') { None } else { shlex::split(&typed) };
            typed.push('\n');
            if let Some(words) = words {
                lines.push(words);
                typed.clear();
            }
        }
        assert!(typed.is_empty(), "an open quote: {typed}");
    }
    lines
}

/// What separates commands in a line, and what ends their arguments.
const OPERATORS: [&str; 6] = ["|", "||", "&&", "&", ">", "2>"];

/// The words of each command that a reader types, from the name of the program.
fn commands(document: &str) -> Vec<Vec<String>> {
    let lines = typed_lines(document);
    let commands =
        lines.iter().flat_map(|words| words.split(|word| OPERATORS.contains(&word.as_str())));
    // Before the name: `sudo`, `NAME=value`, and in the README `cargo run --release --`.
    commands
        .filter_map(|words| {
            let cargo = ["cargo", "run", "--release", "--"];
            if words.starts_with(&cargo.map(str::to_owned)) {
                return Some(words[cargo.len() - 1..].to_vec());
            }
            let at = words.iter().position(|word| word == "tactus")?;
            Some(words[at..].to_vec())
        })
        .collect()
}

/// The long options of all commands, as `--name`.
fn long_options(command: &clap::Command) -> BTreeSet<String> {
    let own = command.get_arguments().filter_map(|argument| argument.get_long());
    let own: BTreeSet<String> = own.map(|name| format!("--{name}")).collect();
    command.get_subcommands().map(long_options).fold(own, |all, more| &all | &more)
}

/// The options that another tool prints in its help, from a list with one in each line.
fn options_of(tool: &str) -> BTreeSet<String> {
    let list = read(&format!("tests/data/options/{tool}.txt"));
    list.lines().map(str::to_owned).collect()
}

/// The options of a text that are in backquotes, without their values.
fn options_in(text: &str) -> BTreeSet<String> {
    let words = quoted(text).flat_map(str::split_whitespace);
    let options = words.filter(|word| word.starts_with('-') && word.len() > 1);
    options.map(|word| word.split('=').next().unwrap_or(word).to_owned()).collect()
}

/// The part of the page below a heading, until the next heading of the same level.
fn section<'a>(page: &'a str, heading: &str) -> &'a str {
    let start = page.find(heading).unwrap_or_else(|| panic!("no heading {heading}"));
    let body = &page[start + heading.len()..];
    body.split("\n## ").next().unwrap_or(body)
}

#[test]
fn every_command_in_the_documents_is_accepted() {
    let mut count = 0;
    for (path, document) in documents() {
        for words in commands(&document) {
            let parsed = tactus_cli::arguments().try_get_matches_from(&words);
            assert!(parsed.is_ok(), "{path}: {words:?}\n{}", parsed.unwrap_err());
            count += 1;
        }
    }
    assert!(count > 50, "only {count} commands were found");
}

#[test]
fn every_option_of_the_other_tools_has_a_row_with_options_that_exist() {
    let page = read("docs/from-cyclictest.md");
    let mut arguments = tactus_cli::arguments();
    arguments.build();
    let ours = long_options(&arguments);
    for (tool, heading) in [
        ("cyclictest", "\n## Options of cyclictest\n"),
        ("rtla-timerlat", "\n## Options of rtla timerlat\n"),
        ("rtla-osnoise", "\n## Options of rtla osnoise\n"),
    ] {
        let rows = section(&page, heading).lines().filter(|line| line.starts_with("| `-"));
        let mut named = BTreeSet::new();
        for row in rows {
            let columns: Vec<&str> = row.split(" | ").collect();
            let [theirs, counterpart, ..] = columns[..] else { panic!("{tool}: {row}") };
            named.extend(options_in(theirs));
            let counterparts = options_in(counterpart);
            let unknown: Vec<_> = counterparts
                .iter()
                .filter(|name| name.starts_with("--"))
                .filter(|name| !ours.contains(*name))
                .collect();
            assert!(unknown.is_empty(), "{tool}: no such option of tactus: {unknown:?}");
        }
        let theirs = options_of(tool);
        let missing: Vec<_> = theirs.difference(&named).collect();
        assert!(missing.is_empty(), "{tool}: no row for {missing:?}");
        let invented: Vec<_> = named.difference(&theirs).collect();
        assert!(invented.is_empty(), "{tool} has no option {invented:?}");
    }
}
