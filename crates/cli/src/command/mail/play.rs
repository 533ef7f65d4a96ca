//! `tactus mail play`.

use std::path::PathBuf;

use clap::Args;
use tactus_app::{Error, ErrorKind};
use tactus_clip::{Clip, probe};
use tactus_mail::Timing;
use tactus_mail::unpack::{UnpackError, Unpacked, unpack};
use tactus_model::format;
use tactus_playback::MediaTime;

use crate::command::play::{HowArguments, not_played, play};
use crate::error::{CommandError, CommandResult};

/// Play the clip of a mail, each picture at the time of its own stamp.
///
/// The mail is checked before a window opens: a clip that was cut, damaged or changed on the way is
/// an error. The clip is in a directory that only you can read, and is removed at the end.
///
/// Example: tactus mail play hello.eml
#[derive(Args)]
pub(super) struct PlayArguments {
    /// Mail: the file of a message, as mail programs store it
    #[arg(value_name = "MAIL")]
    mail: PathBuf,
    #[command(flatten)]
    how: HowArguments,
}

pub(super) fn run(arguments: &PlayArguments) -> CommandResult {
    let unpacked = unpack(&arguments.mail, &std::env::temp_dir()).map_err(failed)?;
    let Unpacked { from, subject, .. } = &unpacked;
    let [from, subject] = [from, subject]
        .map(|text| text.as_deref().map_or_else(|| "unknown".to_owned(), format::quoted));
    arguments.how.quietness.note(format_args!("from {from}: {subject}"));
    let clip = probe::probe(&unpacked.clip()).map_err(|error| not_played(error.into()))?;
    play(vec![with_stamps(clip, &unpacked.timing)], &arguments.how)
}

/// The clip with the times of its pictures, which the container has rounded.
fn with_stamps(clip: Clip, timing: &Timing) -> Clip {
    let stamps = timing.picture.iter().flat_map(|picture| &picture.stamps);
    let time = |nanos| MediaTime::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX));
    Clip { stamps: stamps.map(|stamp| time(stamp.as_nanos())).collect(), ..clip }
}

fn failed(error: UnpackError) -> CommandError {
    let kind = match error {
        UnpackError::Mail(_) => ErrorKind::Usage,
        UnpackError::Write { .. } => ErrorKind::Unavailable,
    };
    Error::new(kind, error).into()
}
