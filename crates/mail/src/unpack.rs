//! A clip from a mail, in a private directory while it is played.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use tactus_sys::owned_directory::OwnedDirectory;
use tactus_sys::regular_file;

use crate::Timing;
use crate::message::{BadMail, MESSAGE_MAX, Opened};
use crate::timing::{self, BadTiming};

/// The beginning of the names of directories.
const PREFIX: &str = "tactus-mail-";
/// The name of the clip, whatever the mail calls it.
const CLIP: &str = "video.webm";
/// The first bytes of a WebM file: RFC 8794, section 11.2.1.
const EBML: [u8; 4] = [0x1A, 0x45, 0xDF, 0xA3];

/// A clip that can be played. Dropping it removes the clip, and so does the next one after a kill.
#[derive(Debug)]
pub struct Unpacked {
    directory: OwnedDirectory,
    /// Who sent it, as the mail says.
    pub from: Option<String>,
    /// What it is about.
    pub subject: Option<String>,
    /// The stamps.
    pub timing: Timing,
}

/// Why a file of a mail or a clip has nothing that can be used.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable<E: std::error::Error> {
    /// It cannot be read.
    #[error("cannot read {}: {error}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// Its content is damaged or something else.
    #[error("{}: {error}", .path.display())]
    Bad {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: E,
    },
}

/// Reads a file of at most so many bytes.
fn read<T, E: std::error::Error>(
    path: &Path,
    most: usize,
    parse: impl FnOnce(&[u8]) -> Result<T, E>,
) -> Result<T, Unreadable<E>> {
    let bytes = regular_file::read(path, most)
        .map_err(|error| Unreadable::Read { path: path.to_owned(), error })?;
    parse(&bytes).map_err(|error| Unreadable::Bad { path: path.to_owned(), error })
}

/// Why a mail cannot be unpacked.
#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    /// It is not a video mail that can be read.
    #[error(transparent)]
    Mail(#[from] Unreadable<BadMail>),
    /// The clip has another format: ffmpeg would read what it names.
    #[error("{}: the clip is not WebM", .0.display())]
    NotWebm(PathBuf),
    /// The clip cannot be written.
    #[error("cannot write the clip below {}: {error}", .parent.display())]
    Write {
        /// The directory for temporary files.
        parent: PathBuf,
        /// The reason.
        error: io::Error,
    },
}

/// Reads a mail and writes its clip into a directory below `parent` that only this user may read.
///
/// # Errors
/// See [`UnpackError`].
pub fn unpack(mail: &Path, parent: &Path) -> Result<Unpacked, UnpackError> {
    let opened = read(mail, MESSAGE_MAX, Opened::read)?;
    let Opened { from, subject, timing, clip } = opened;
    if !clip.starts_with(&EBML) {
        return Err(UnpackError::NotWebm(mail.to_owned()));
    }
    let written = OwnedDirectory::create(parent, PREFIX).and_then(|directory| {
        let path = directory.path().join(CLIP);
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
        file?.write_all(&clip)?;
        Ok(directory)
    });
    let directory =
        written.map_err(|error| UnpackError::Write { parent: parent.to_owned(), error })?;
    Ok(Unpacked { directory, from, subject, timing })
}

impl Unpacked {
    /// Its private directory.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The clip.
    pub fn clip(&self) -> PathBuf {
        self.directory.path().join(CLIP)
    }
}

/// The stamps beside a clip.
///
/// # Errors
/// They are missing or damaged.
pub fn timing_of(clip: &Path) -> Result<Timing, Unreadable<BadTiming>> {
    read(&timing::beside(clip), timing::BYTES_MAX, Timing::read)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::Letter;
    use crate::Moment;
    use crate::timing::{PictureTiming, VERSION};

    const WEBM: &[u8] = b"\x1A\x45\xDF\xA3 a clip";

    fn mail(folder: &Path, clip: &[u8]) -> PathBuf {
        let picture = PictureTiming {
            source: "synthetic".to_owned(),
            width: 16,
            height: 16,
            stamps: Vec::new(),
            within: Default::default(),
            missing: 0,
        };
        let origin = Moment::from_nanos(1);
        let timing =
            Timing { version: VERSION, origin, picture: Some(picture), sound: None, video: None };
        let message = Letter::default().compose(&timing, clip).unwrap();
        // A name that leads elsewhere, as a hostile sender writes it.
        let text = String::from_utf8(message).unwrap().replace("video.webm", "../../escape");
        let path = folder.join("a.eml");
        fs::write(&path, text).unwrap();
        path
    }

    #[test]
    fn a_clip_is_private_and_goes_with_its_owner() {
        let folder = tempfile::tempdir().unwrap();
        let unpacked = unpack(&mail(folder.path(), WEBM), folder.path()).unwrap();
        let clip = unpacked.clip();
        assert_eq!(fs::read(&clip).unwrap(), WEBM);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&clip), mode(clip.parent().unwrap())), (0o600, 0o700));
        drop(unpacked);
        let left: Vec<_> = fs::read_dir(folder.path()).unwrap().flatten().collect();
        assert_eq!(left.len(), 1, "only the mail: {left:?}");
    }

    #[test]
    fn a_clip_that_names_other_files_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let playlist = b"#EXTM3U\n#EXTINF:9,\n/etc/hostname\n";
        let error = unpack(&mail(folder.path(), playlist), folder.path()).unwrap_err();
        assert!(matches!(error, UnpackError::NotWebm(_)), "{error}");
    }

    #[test]
    fn what_cannot_be_read_or_written_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("none.eml");
        let missing = unpack(&path, folder.path()).unwrap_err().to_string();
        assert!(missing.starts_with(&format!("cannot read {}: ", path.display())), "{missing}");
        let nowhere = folder.path().join("nowhere");
        let unwritten = unpack(&mail(folder.path(), WEBM), &nowhere).unwrap_err().to_string();
        assert!(unwritten.starts_with("cannot write the clip below "), "{unwritten}");
        let clip = folder.path().join("a.webm");
        let text = timing_of(&clip).unwrap_err().to_string();
        assert!(text.contains("a.webm.timing.json: "), "{text}");
    }
}
