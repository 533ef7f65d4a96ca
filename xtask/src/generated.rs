//! Documents generated from the definition of the command line.

use std::fs;
use std::path::Path;

use anyhow::{Context, bail};
use clap::Command;
use clap_complete::{Shell, generate};
use clap_mangen::Man;

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
        let mut page = Vec::new();
        Man::new(command.clone()).render(&mut page)?;
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
