//! The clips of a folder.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The most clips that a window shows.
pub const CLIPS_MAX: usize = 5_000;
/// The most files of a folder that are looked at.
const FILES_MAX: usize = 100_000;

/// What names of clips end with, in lower case.
const ENDINGS: [&str; 28] = [
    "3gp", "aac", "avi", "flac", "flv", "gif", "m2ts", "m4a", "m4v", "mkv", "mov", "mp3", "mp4",
    "mpeg", "mpg", "mts", "nut", "oga", "ogg", "ogv", "opus", "ts", "vob", "wav", "webm", "wma",
    "wmv", "y4m",
];

/// A file that is a clip by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its path.
    pub path: PathBuf,
    /// Its name, with other characters in place of those that are no Unicode.
    pub name: String,
}

/// The clips of a folder by their names, and whether there are more of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// At most [`CLIPS_MAX`].
    pub entries: Vec<Entry>,
    /// Some were left out.
    pub is_cut: bool,
}

/// Lists the regular files of a folder whose names end like those of clips. Hidden files and folders
/// in it are left out.
///
/// # Errors
/// The folder cannot be read.
pub fn list(folder: &Path) -> io::Result<Listing> {
    let mut files = fs::read_dir(folder)?;
    let mut entries: Vec<Entry> = files
        .by_ref()
        .take(FILES_MAX)
        .flatten()
        .filter(|file| is_clip(&file.file_name().to_string_lossy()))
        // A FIFO would keep its reader waiting.
        .filter(|file| fs::metadata(file.path()).is_ok_and(|found| found.is_file()))
        .map(|file| {
            let name = file.file_name().to_string_lossy().into_owned();
            Entry { path: file.path(), name }
        })
        .collect();
    entries.sort_by(|left, right| left.name.cmp(&right.name));
    let is_cut = entries.len() > CLIPS_MAX || files.next().is_some();
    entries.truncate(CLIPS_MAX);
    Ok(Listing { entries, is_cut })
}

fn is_clip(name: &str) -> bool {
    let ending = name.rsplit_once('.').map(|(start, ending)| (start, ending.to_ascii_lowercase()));
    ending.is_some_and(|(start, ending)| {
        !start.is_empty() && !name.starts_with('.') && ENDINGS.contains(&ending.as_str())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clips_are_known_by_their_names_and_sorted() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b.MKV", "a.webm", "notes.txt", ".hidden.mp4", "mp4", ".webm", "c.mp4.part"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        fs::create_dir(folder.path().join("folder.avi")).unwrap();
        let listing = list(folder.path()).unwrap();
        let names: Vec<&str> = listing.entries.iter().map(|entry| &*entry.name).collect();
        assert_eq!((names, listing.is_cut), (vec!["a.webm", "b.MKV"], false));
        assert!(list(&folder.path().join("none")).is_err());
        assert!(ENDINGS.is_sorted());
    }
}
