//! `tactus mail play`.

use std::path::PathBuf;

use clap::Args;
use tactus_app::{Error, ErrorKind};
use tactus_clip::{Clip, probe};
use tactus_mail::Timing;
use tactus_mail::unpack::{UnpackError, Unpacked, unpack};
use tactus_model::format;
use tactus_model::time::Nanos;
use tactus_playback::MediaTime;

use crate::command::play::{Commands, HowArguments, not_played, play_by};
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
    // A signal from now on removes the clip.
    let commands = Commands::default();
    commands.obey_signals()?;
    let unpacked = unpack(&arguments.mail, &std::env::temp_dir()).map_err(failed)?;
    let directory = unpacked.directory().to_owned();
    // What cannot be removed now, the next `mail play` removes.
    commands.before_exit(move || drop(std::fs::remove_dir_all(directory)));
    let Unpacked { from, subject, .. } = &unpacked;
    let [from, subject] = [from, subject]
        .map(|text| text.as_deref().map_or_else(|| "unknown".to_owned(), format::quoted));
    arguments.how.quietness.note(format_args!("from {from}: {subject}"));
    let mail = &arguments.mail;
    let clip =
        probe::probe(&unpacked.clip()).map_err(|error| not_played(error.about(mail).into()))?;
    let clip = Clip { name: mail.clone(), ..clip };
    play_by(&commands, vec![with_stamps(clip, &unpacked.timing)], &arguments.how)
}

/// The clip with the times of its pictures, which the container has rounded. The usual time between
/// two is the period: WebM has none for a variable rate.
fn with_stamps(mut clip: Clip, timing: &Timing) -> Clip {
    let stamps: Vec<Nanos> =
        timing.picture.iter().flat_map(|picture| &picture.stamps).copied().collect();
    let mut gaps: Vec<Nanos> = stamps.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let middle = gaps.len() / 2;
    if let Some(picture) = clip.picture.as_mut().filter(|_| !gaps.is_empty()) {
        picture.period = *gaps.select_nth_unstable(middle).1;
    }
    let time = |nanos: Nanos| MediaTime::ZERO.after(nanos);
    Clip { stamps: stamps.into_iter().map(time).collect(), ..clip }
}

fn failed(error: UnpackError) -> CommandError {
    let kind = match error {
        UnpackError::Mail(_) | UnpackError::NotWebm(_) => ErrorKind::Usage,
        UnpackError::Write { .. } => ErrorKind::Unavailable,
    };
    Error::new(kind, error).into()
}
