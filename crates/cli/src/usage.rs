//! Errors of the command line, with the help of the subcommand they belong to.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use clap::error::ErrorKind;

/// Prints an error of the command line, or the help that it asks for, and returns the exit code.
pub(crate) fn report(error: clap::Error) -> ExitCode {
    let code = ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        // The reader may have closed the output.
        let _ = error.print();
        return code;
    }
    let rendered = error.render();
    let coloured = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let text = if coloured { rendered.ansi().to_string() } else { rendered.to_string() };
    let _ = write!(io::stderr(), "{}", naming_the_subcommand(&text, std::env::args().skip(1)));
    code
}

/// Names the subcommand of `arguments` where the text offers the help of any.
fn naming_the_subcommand(text: &str, arguments: impl Iterator<Item = String>) -> String {
    let mut command = super::arguments();
    let mut name = "tactus".to_owned();
    for argument in arguments {
        let Some(found) = command.find_subcommand(&argument) else { break };
        command = found.clone();
        name = format!("{name} {argument}");
    }
    match text.rfind("--help") {
        Some(place) => format!("{}{name} {}", &text[..place], &text[place..]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_that_is_offered_is_that_of_the_subcommand() {
        let named = |arguments: &[&str]| {
            let arguments = arguments.iter().map(ToString::to_string);
            naming_the_subcommand("For more information, try '--help'.\n", arguments)
        };
        assert!(named(&["lab", "gate", "--x"]).contains("try 'tactus lab gate --help'"));
        assert!(named(&["mesure"]).contains("try 'tactus --help'"));
    }
}
