//! The groups of subcommands in the help of `tactus`.

use clap::Command;

/// The headings, and the subcommands below each.
const GROUPS: [(&str, &[&str]); 5] = [
    (
        "Measure and explain",
        &[
            "doctor", "measure", "costs", "model", "why", "explain", "watch", "agent", "lint",
            "record",
        ],
    ),
    ("Guarantee", &["need", "admit", "reserve", "qosd", "qos"]),
    ("Deliver at a time", &["streamd", "streams", "midi", "play", "judge", "mail"]),
    ("Stored runs", &["list", "show", "report", "compare", "machines", "gate", "serve"]),
    (
        "Rarely used",
        &["quanta", "export", "import", "delete", "reproduce", "lab", "completions", "help"],
    ),
];

/// The width of the column of names.
const NAMES: usize = 13;

/// The maximum width of a line.
const WIDTH: usize = 100;

/// The template of the help: clap lists all subcommands below one heading.
pub(crate) fn template(command: &Command) -> String {
    let mut text = "{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
    for (heading, names) in GROUPS {
        text.push_str(&format!("\n{heading}:\n"));
        for name in names {
            text.push_str(&entry(name, &about(command, name)));
        }
    }
    text + "\nOptions:\n{options}{after-help}"
}

/// What a subcommand does, in a line.
fn about(command: &Command, name: &str) -> String {
    let found = command.find_subcommand(name).and_then(Command::get_about);
    // clap adds the command `help` later.
    found.map_or_else(
        || "Print this message, or the help of a command".to_owned(),
        ToString::to_string,
    )
}

/// A name with its description, wrapped.
fn entry(name: &str, about: &str) -> String {
    let mut line = format!("  {name:NAMES$}");
    let mut text = String::new();
    for word in about.split_whitespace() {
        if line.chars().count() + word.chars().count() > WIDTH {
            text.push_str(line.trim_end());
            text.push('\n');
            line = " ".repeat(NAMES + 2);
        }
        line.push_str(word);
        line.push(' ');
    }
    text + line.trim_end() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        let mut listed: Vec<&str> =
            GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        listed.sort_unstable();
        let command = crate::arguments();
        let visible = command.get_subcommands().filter(|command| !command.is_hide_set());
        let mut known: Vec<&str> = visible.map(Command::get_name).chain(["help"]).collect();
        known.sort_unstable();
        assert_eq!(listed, known);
    }
}
