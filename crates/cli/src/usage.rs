//! Errors of the command line, in the form of all other errors.

use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};

use crate::error::CommandError;

/// Prints an error of the command line, or the help that it asks for, and returns the exit code.
pub(crate) fn report(error: &Error) -> ExitCode {
    let (mut command, name) = subcommand(std::env::args().skip(1));
    if asks_for_help(error) {
        // The reader may have closed the output.
        let _ = command.print_long_help();
        return ExitCode::SUCCESS;
    }
    match error.kind() {
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
        }
        _ => {
            // The reason for a wrong value says what is right.
            let help = || {
                let is_value = error.kind() == ErrorKind::ValueValidation;
                (!is_value).then(|| format!("see `{name} --help`"))
            };
            let hint = hint(error).or_else(|| separated(error, &command)).or_else(help);
            let error = tactus_app::Error::usage(reason(error)).with_hint_if_any(hint);
            let error = CommandError::from(error);
            // `git bisect run` would take the usual exit code for a verdict on each commit.
            let bisects = std::env::args_os().any(|argument| argument == "--bisect");
            if bisects { error.stops_bisect().report() } else { error.report() }
        }
    }
}

/// The subcommand that `arguments` name, with its full name.
fn subcommand(arguments: impl Iterator<Item = String>) -> (Command, String) {
    let mut command = super::arguments();
    let mut name = "tactus".to_owned();
    for argument in arguments.filter(|argument| argument != "help") {
        let Some(found) = command.find_subcommand(&argument) else { break };
        command = found.clone();
        name = format!("{name} {argument}");
    }
    (command.bin_name(name.clone()), name)
}

/// Whether `tactus help --help` was typed: the library knows no help of the help.
fn asks_for_help(error: &Error) -> bool {
    let text = text(error, ContextKind::InvalidSubcommand);
    error.kind() == ErrorKind::InvalidSubcommand && ["--help", "-h"].contains(&text.as_str())
}

/// What is wrong.
fn reason(error: &Error) -> String {
    let of = |kind| text(error, kind);
    let argument = of(ContextKind::InvalidArg);
    match error.kind() {
        // The parser's reason quotes the value.
        ErrorKind::ValueValidation => match std::error::Error::source(error) {
            Some(reason) => format!("`{}`: {reason}", option(&argument)),
            None => format!("`{}`: wrong value", option(&argument)),
        },
        ErrorKind::InvalidValue if of(ContextKind::InvalidValue).is_empty() => {
            format!("`{argument}` needs a value")
        }
        ErrorKind::InvalidValue => {
            let (value, all) = (of(ContextKind::InvalidValue), of(ContextKind::ValidValue));
            format!("`{}`: unknown value `{value}`; it is one of: {all}", option(&argument))
        }
        ErrorKind::UnknownArgument if argument.starts_with('-') => {
            format!("unknown option `{argument}`")
        }
        ErrorKind::UnknownArgument => format!("unexpected argument `{argument}`"),
        ErrorKind::InvalidSubcommand => {
            format!("unknown command `{}`", of(ContextKind::InvalidSubcommand))
        }
        ErrorKind::MissingRequiredArgument => format!("missing: {argument}"),
        ErrorKind::ArgumentConflict if argument == of(ContextKind::PriorArg) => {
            format!("`{}` is given more than once", option(&argument))
        }
        ErrorKind::ArgumentConflict => {
            let prior = of(ContextKind::PriorArg);
            format!("`{}` cannot be used with `{}`", option(&argument), option(&prior))
        }
        // The first line of the library's text, without its prefix.
        _ => {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            first.trim_start_matches("error: ").to_owned()
        }
    }
}

/// The command for what is not a command itself.
fn meant(unknown: &str) -> Option<&'static str> {
    Some(match unknown {
        "runs" => "tactus list",
        "experiments" => "tactus list experiments",
        "loads" => "tactus list loads",
        "policies" => "tactus list policies",
        "settings" => "tactus list settings",
        // Of `tactus lab`.
        "measure" => "tactus measure --kernel KERNEL",
        _ => return None,
    })
}

/// The command that was meant, or the nearest word that exists.
fn hint(error: &Error) -> Option<String> {
    if let Some(command) = meant(&text(error, ContextKind::InvalidSubcommand)) {
        return Some(format!("did you mean `{command}`?"));
    }
    let near =
        [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg, ContextKind::SuggestedValue]
            .map(|kind| text(error, kind));
    // Several commands come in the order of their likeness.
    let near = near.iter().find(|word| !word.is_empty())?.rsplit(", ").next()?;
    Some(format!("did you mean `{near}`?"))
}

/// The fix if a command to run is given without `--` before it.
fn separated(error: &Error, command: &Command) -> Option<String> {
    let argument = text(error, ContextKind::InvalidArg);
    let takes_command = command.get_positionals().any(clap::Arg::is_last_set);
    let is_word = error.kind() == ErrorKind::UnknownArgument && !argument.starts_with('-');
    (takes_command && is_word).then(|| format!("write `--` before the command: -- {argument}"))
}

/// The option of an argument in the library's form, `--limit <DURATION>`, or the name of a
/// positional argument, `[KERNEL]...`.
fn option(argument: &str) -> &str {
    let option = argument.split([' ', '=']).next().unwrap_or(argument);
    option.trim_end_matches("...").trim_matches(['[', ']', '<', '>'])
}

/// A part of an error as text; empty if the error does not have it.
fn text(error: &Error, kind: ContextKind) -> String {
    match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        Some(ContextValue::Strings(all)) => all.join(", "),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reason and the hint for a command line.
    fn answer(line: &str) -> (String, Option<String>) {
        let arguments = line.split_whitespace();
        let error = crate::arguments().try_get_matches_from(arguments).unwrap_err();
        (reason(&error), hint(&error))
    }

    #[test]
    fn an_error_of_the_command_line_has_the_form_of_all_errors() {
        for (line, expected, near) in [
            ("tactus mesure", "unknown command `mesure`", Some("measure")),
            ("tactus measure --intervall 1ms", "unknown option `--intervall`", Some("--interval")),
            ("tactus measure a b", "unexpected argument `b`", None),
            ("tactus measure --limit", "`--limit <DURATION>` needs a value", None),
            (
                "tactus measure --limit 0s",
                "`--limit`: `0s` is zero: write a longer duration, e.g. 10s",
                None,
            ),
            ("tactus measure --seed 1 --seed 2", "`--seed` is given more than once", None),
            ("tactus measure --csv --json", "`--csv` cannot be used with `--json`", None),
            (
                "tactus play a --through --transport shm",
                "`--through` cannot be used with `--transport`",
                None,
            ),
            ("tactus import", "missing: <FILE>...", None),
            (
                "tactus export --as hdf",
                "`--as`: unknown value `hdf`; it is one of: json-lines, perfetto, recording, hdr",
                Some("hdr"),
            ),
        ] {
            let near = near.map(|near| format!("did you mean `{near}`?"));
            assert_eq!(answer(line), (expected.to_owned(), near), "{line}");
        }
    }

    #[test]
    fn the_subcommand_is_found() {
        let named = |arguments: &[&str]| subcommand(arguments.iter().map(ToString::to_string)).1;
        assert_eq!(named(&["lab", "gate", "--x"]), "tactus lab gate");
        assert_eq!(named(&["mesure"]), "tactus");
        assert_eq!(named(&["help", "--help"]), "tactus");
    }
}
