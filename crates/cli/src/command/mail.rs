//! `tactus mail`: video mail.

mod play;
mod record;
mod send;

use clap::{Args, Subcommand};
use tactus_model::format;

use crate::error::CommandResult;

/// Record, send and play video mail.
///
/// A clip is a WebM file with a picture from the screen, a camera or a test pattern, and sound from a
/// microphone or a test tone. Each picture and each block of sound is stamped when it is taken, so
/// both are in step. A mail has the clip and its stamps as attachments; every mail program shows the
/// clip, and `tactus mail play` keeps to the stamps. docs/mail.md describes the formats.
///
/// Example: tactus mail record hello.webm --picture screen --sound microphone
#[derive(Args)]
pub(crate) struct MailArguments {
    #[command(subcommand)]
    command: MailCommand,
}

#[derive(Subcommand)]
enum MailCommand {
    Record(record::RecordArguments),
    Send(send::SendArguments),
    Play(play::PlayArguments),
}

pub(crate) fn run(arguments: &MailArguments) -> CommandResult {
    match &arguments.command {
        MailCommand::Record(arguments) => record::run(arguments),
        MailCommand::Send(arguments) => send::run(arguments),
        MailCommand::Play(arguments) => play::run(arguments),
    }
}

/// A number of bytes with its unit.
fn size_text(bytes: u64) -> String {
    format::quantity(bytes as f64) + "B"
}
