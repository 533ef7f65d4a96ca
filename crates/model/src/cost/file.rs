//! The settings of operations on files.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::bytes::Bytes;
use crate::text::{keywords, serde_as_text};

keywords! {
    /// Where the content of a file is when it is read.
    pub enum Cache: "state of the page cache" {
        /// In the page cache.
        Warm = "warm",
        /// On the disk: before each pass over the file, its pages are dropped from the page cache.
        Cold = "cold",
    }
}

keywords! {
    /// The advice of a reader to the kernel about its reads: posix_fadvise(2), or madvise(2) of mapped files.
    pub enum Advice: "advice" {
        /// Nothing: the kernel guesses.
        None = "none",
        /// It reads in order, so the kernel reads more ahead.
        Sequential = "sequential",
        /// It reads in any order, so the kernel reads nothing ahead.
        Random = "random",
        /// It reads all of it soon: the kernel begins at once.
        WillNeed = "will-need",
    }
}

/// A directory for files: an absolute path, or that for temporary files.
///
/// As text: the path, or `temporary`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Directory(Option<String>);

impl Directory {
    /// The word for the directory for temporary files.
    const TEMPORARY: &str = "temporary";

    /// The directory for temporary files: TMPDIR.
    pub const fn temporary() -> Self {
        Self(None)
    }

    /// Its path; `temporary` is that of the directory for temporary files.
    pub fn path(&self, temporary: PathBuf) -> PathBuf {
        self.0.as_ref().map_or(temporary, PathBuf::from)
    }
}

impl fmt::Display for Directory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0.as_deref().unwrap_or(Self::TEMPORARY))
    }
}

/// The error for a text that names no directory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a directory: write an absolute path, e.g. /var/tmp, or temporary (TMPDIR)")]
pub struct NotDirectory(String);

impl FromStr for Directory {
    type Err = NotDirectory;

    fn from_str(text: &str) -> Result<Self, NotDirectory> {
        match text {
            Self::TEMPORARY => Ok(Self(None)),
            path if Path::new(path).is_absolute() => Ok(Self(Some(path.to_owned()))),
            _ => Err(NotDirectory(text.to_owned())),
        }
    }
}

serde_as_text!(Directory);

/// How many reads are on their way at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueDepth(u32);

impl QueueDepth {
    /// One read after the other.
    pub const ONE: Self = Self(1);

    /// The number.
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl fmt::Display for QueueDepth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// The error for a text that is not a queue depth.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a queue depth: write 1 to 256, e.g. 32")]
pub struct NotQueueDepth(String);

impl FromStr for QueueDepth {
    type Err = NotQueueDepth;

    fn from_str(text: &str) -> Result<Self, NotQueueDepth> {
        let depth = text.parse().ok().filter(|depth| (1..=256).contains(depth));
        depth.map(Self).ok_or_else(|| NotQueueDepth(text.to_owned()))
    }
}

serde_as_text!(QueueDepth);

/// The file that an operation reads, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileReads {
    /// The size of the file. It is read from its beginning to its end, in passes.
    pub file_size: Bytes,
    /// Where it is made.
    pub directory: Directory,
    /// Where its content is when a pass begins.
    pub cache: Cache,
    /// Advice to the kernel about the reads.
    pub advice: Advice,
    /// How many reads are on their way at a time.
    pub queue_depth: QueueDepth,
}

impl Default for FileReads {
    fn default() -> Self {
        Self::BLANK
    }
}

impl FileReads {
    /// Placeholder settings.
    pub(super) const BLANK: Self = Self {
        file_size: Bytes::new(16 << 20),
        directory: Directory::temporary(),
        cache: Cache::Warm,
        advice: Advice::None,
        queue_depth: QueueDepth::ONE,
    };

    /// Whether the pages of the file are dropped from the page cache before each pass.
    pub fn is_cold(&self) -> bool {
        self.cache == Cache::Cold
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_an_absolute_path_or_the_temporary_one() {
        let tmp = || PathBuf::from("/tmp");
        let path = |text: &str| text.parse::<Directory>().map(|found| found.path(tmp()));
        assert_eq!(path("temporary"), Ok(tmp()));
        assert_eq!(path("/mnt/disk"), Ok(PathBuf::from("/mnt/disk")));
        assert!(path("disk").unwrap_err().to_string().contains("e.g. /var/tmp"));
        assert_eq!("/mnt".parse::<Directory>().unwrap().to_string(), "/mnt");
    }

    #[test]
    fn a_queue_has_at_least_one_read_and_an_end() {
        assert_eq!("32".parse::<QueueDepth>().map(QueueDepth::get), Ok(32));
        for text in ["0", "257", "-1", "many"] {
            assert!(text.parse::<QueueDepth>().is_err(), "{text}");
        }
    }
}
