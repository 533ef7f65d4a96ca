//! A folder: a window of thumbnails, and the player of each clip that is chosen there.

use std::path::Path;

use tactus_app::{Error, ErrorKind};
use tactus_gallery::{Gallery, GalleryError};

use super::commands::Commands;
use super::keys::Keys;
use super::{HowArguments, clip, play_one};
use crate::error::{CommandError, CommandResult};
use crate::terminal::say;

pub(super) fn run(commands: &Commands, folder: &Path, how: &HowArguments) -> CommandResult {
    if how.explain {
        return Err(CommandError::usage("--explain explains clips: name one, not a folder"));
    }
    let mut gallery = Gallery::open(folder, how.only_display()?).map_err(failed)?;
    commands.close(gallery.closer());
    let _keys = Keys::attend(commands.clone());
    while let Some(path) = gallery.choose().map_err(failed)? {
        // A clip that cannot be played ends neither the window nor the command.
        match clip(&path).and_then(|clip| play_one(commands, vec![clip], how)) {
            Ok(()) => {}
            Err(CommandError::Failed(error)) if error.kind() != ErrorKind::OutputClosed => {
                say!("{}: {error}", path.display());
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn failed(error: GalleryError) -> CommandError {
    let (kind, hint) = match &error {
        GalleryError::Folder { .. } | GalleryError::Empty(_) => (ErrorKind::Usage, None),
        GalleryError::Window(error) => (ErrorKind::Unavailable, error.hint()),
        _ => (ErrorKind::Unavailable, None),
    };
    Error::new(kind, error).with_hint_if_any(hint.map(str::to_owned)).into()
}
