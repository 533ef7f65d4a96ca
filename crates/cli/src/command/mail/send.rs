//! `tactus mail send`.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use tactus_app::{Error, ErrorKind};
use tactus_mail::Letter;
use tactus_mail::message::{Address, CLIP_MAX, Subject, USUAL_MAX};
use tactus_mail::send::{SENDMAIL, SendError, send};
use tactus_mail::timing::BadTiming;
use tactus_mail::unpack::{Unreadable, timing_of};
use tactus_sys::regular_file;
use tactus_sys::whole_file::{Readers, WholeFile};

use super::size_text;
use crate::error::{CommandError, CommandResult};
use crate::quietness::Quietness;

/// Send a clip with its stamps, or write the mail to a file.
///
/// The mail goes to the mail program of this machine: `sendmail -t -i`, or another program with that
/// interface, such as msmtp. With --output, it goes to a file, which any mail program can send.
///
/// Example: tactus mail send hello.webm --to ann@example.org --subject "A first try"
#[derive(Args)]
pub(super) struct SendArguments {
    /// Clip of `tactus mail record`, with its stamps beside it
    #[arg(value_name = "CLIP")]
    clip: PathBuf,
    /// Address of a receiver; several are possible
    #[arg(long, value_name = "ADDRESS", required_unless_present = "output")]
    to: Vec<Address>,
    /// Address of the sender [default: the mail program fills it in]
    #[arg(long, value_name = "ADDRESS")]
    from: Option<Address>,
    /// Subject: one line
    #[arg(long, value_name = "TEXT", default_value_t)]
    subject: Subject,
    /// Text of the mail [default: what a video mail is]
    #[arg(long, value_name = "TEXT")]
    text: Option<String>,
    /// File for the mail, which is not sent
    #[arg(short, long, value_name = "FILE", conflicts_with = "sendmail")]
    output: Option<PathBuf>,
    /// Program that sends, by name or path
    #[arg(long, value_name = "PROGRAM", default_value = SENDMAIL)]
    sendmail: PathBuf,
    #[command(flatten)]
    quietness: Quietness,
}

pub(super) fn run(arguments: &SendArguments) -> CommandResult {
    let SendArguments { clip, to, from, subject, text, output, sendmail, quietness } = arguments;
    let timing = timing_of(clip).map_err(without_stamps)?;
    let bytes = read(clip)?;
    let letter =
        Letter { from: from.clone(), to: to.clone(), subject: subject.clone(), text: text.clone() };
    let message = letter.compose(&timing, &bytes).map_err(Error::usage)?;
    drop(bytes);
    let size = size_text(message.len() as u64);
    if message.len() > USUAL_MAX {
        let usual = size_text(USUAL_MAX as u64);
        quietness.note(format_args!("the mail has {size}; many servers refuse more than {usual}"));
    }
    match output {
        Some(path) => {
            write(path, &message)?;
            quietness.note(format_args!("{}: {size}", path.display()));
        }
        None => {
            send(sendmail, &message).map_err(unsent)?;
            quietness.note(format_args!("handed over to {}: {size}", sendmail.display()));
        }
    }
    Ok(())
}

fn read(clip: &Path) -> CommandResult<Vec<u8>> {
    let failed = |error| Error::usage(format!("cannot read {}: {error}", clip.display()));
    // One byte more, which `compose` refuses.
    Ok(regular_file::read(clip, CLIP_MAX).map_err(failed)?)
}

fn write(path: &Path, message: &[u8]) -> CommandResult {
    let written = WholeFile::create(path, Readers::Owner).and_then(|mut file| {
        file.write_all(message)?;
        file.finish()
    });
    let failed = |error| {
        Error::new(ErrorKind::Unavailable, format!("cannot write {}: {error}", path.display()))
    };
    Ok(written.map_err(failed)?)
}

fn without_stamps(error: Unreadable<BadTiming>) -> CommandError {
    let is_missing = matches!(&error, Unreadable::Read { path, .. } if fs::metadata(path).is_err());
    let hint = is_missing.then(|| "record the clip by `tactus mail record`".to_owned());
    Error::usage(error).with_hint_if_any(hint).into()
}

fn unsent(error: SendError) -> CommandError {
    let hint = matches!(error, SendError::NotInstalled(_)).then(|| {
        "apt-get install msmtp-mta and set it up, or write the mail to a file by --output"
            .to_owned()
    });
    Error::new(ErrorKind::Unavailable, error).with_hint_if_any(hint).into()
}
