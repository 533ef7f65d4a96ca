//! Documents generated from the definition of the command line.

use std::fs;
use std::path::Path;

use anyhow::{Context, bail};
use clap::Command;
use clap_complete::{Shell, generate};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use tactus_cli::manual;

/// Writes every generated file below `root`.
pub(crate) fn write(root: &Path) -> anyhow::Result<()> {
    for (path, content) in files()? {
        let path = root.join(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&path, content).with_context(|| path.display().to_string())?;
    }
    Ok(())
}

/// Fails if a generated file below `root` is out of date.
pub(crate) fn check(root: &Path) -> anyhow::Result<()> {
    for (path, content) in files()? {
        if fs::read(root.join(&path)).ok().as_deref() != Some(&content) {
            bail!("{path} is out of date; fix: run `cargo xtask generate` and commit the result");
        }
    }
    Ok(())
}

/// The path and content of every generated file.
fn files() -> anyhow::Result<Vec<(String, Vec<u8>)>> {
    let mut root = tactus_cli::arguments();
    root.build();
    let mut files = Vec::new();
    for command in visible(&root) {
        let page = manual_page(command)?;
        let name = command.get_display_name().unwrap_or("tactus");
        files.push((format!("docs/man/{name}.1"), page));
    }
    for (shell, name) in
        [(Shell::Bash, "tactus.bash"), (Shell::Fish, "tactus.fish"), (Shell::Zsh, "_tactus")]
    {
        let mut script = Vec::new();
        generate(shell, &mut tactus_cli::arguments(), "tactus", &mut script);
        files.push((format!("docs/completions/{name}"), script));
    }
    files.push(("docs/commands.md".to_owned(), reference(&root).into_bytes()));
    Ok(files)
}

/// The manual page of a command. The examples of its help have a section of their own.
fn manual_page(command: &Command) -> anyhow::Result<Vec<u8>> {
    let help = command.get_long_about().map(ToString::to_string).unwrap_or_default();
    let (about, examples) = without_examples(&help);
    let man = Man::new(command.clone().long_about(about).after_help("").after_long_help(""));
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    let mut end = Roff::new();
    list(&mut end, "EXIT STATUS", &manual::EXIT_CODES);
    list(&mut end, "ENVIRONMENT", &manual::ENVIRONMENT);
    list(&mut end, "FILES", &manual::FILES);
    if !examples.is_empty() {
        end.control("SH", ["EXAMPLES"]);
        for example in examples {
            end.control("PP", []);
            end.text([roman(example)]);
        }
    }
    end.to_writer(&mut page)?;
    man.render_version_section(&mut page)?;
    Ok(with_one_preamble(&String::from_utf8(page)?).into_bytes())
}

/// Keeps the first preamble only; every section is written with one.
fn with_one_preamble(page: &str) -> String {
    let is_preamble = |line: &str| line.starts_with(".ie ") || line.starts_with(".el ");
    let (head, rest) = page.split_at(page.find(".TH").unwrap_or(0));
    let rest: Vec<&str> = rest.lines().filter(|line| !is_preamble(line)).collect();
    format!("{head}{}\n", rest.join("\n"))
}

/// Writes a section of names and what they mean.
fn list(page: &mut Roff, head: &str, entries: &[(&str, &str)]) {
    page.control("SH", [head]);
    for (name, meaning) in entries {
        page.control("TP", []);
        page.text([bold(*name)]);
        page.text([roman(*meaning)]);
    }
}

/// Separates the examples of a help text from the rest: a paragraph that begins with `Example:` or
/// `Examples:` and has a semicolon between examples.
fn without_examples(help: &str) -> (String, Vec<String>) {
    let is_example = |paragraph: &&str| {
        paragraph.starts_with("Example: ") || paragraph.starts_with("Examples: ")
    };
    let (examples, about): (Vec<&str>, Vec<&str>) = help.split("\n\n").partition(is_example);
    let examples = examples.iter().filter_map(|paragraph| paragraph.split_once(": "));
    let examples = examples
        .flat_map(|(_, commands)| commands.split(';'))
        .map(|command| command.split_whitespace().collect::<Vec<_>>().join(" "));
    (about.join("\n\n"), examples.collect())
}

/// The command and its subcommands at every level, without hidden ones and `help`.
fn visible(command: &Command) -> Vec<&Command> {
    let subcommands = command
        .get_subcommands()
        .filter(|command| !command.is_hide_set() && command.get_name() != "help");
    std::iter::once(command).chain(subcommands.flat_map(visible)).collect()
}

/// The help texts of all commands, as a page.
fn reference(root: &Command) -> String {
    let mut page =
        "# Commands\n\nGenerated from the command line by `cargo xtask generate`.\n".to_owned();
    for command in visible(root) {
        let name = command.get_display_name().unwrap_or("tactus").replace('-', " ");
        let help = command.clone().term_width(100).render_long_help().to_string();
        let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
        page.push_str(&format!("\n## {name}\n\n```text\n{}\n```\n", lines.join("\n").trim_end()));
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_documents_are_up_to_date() {
        check(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).unwrap();
    }
}
