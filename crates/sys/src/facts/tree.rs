//! The directory tree that facts are read from: the machine's own, or a simulated one in a
//! test.

use std::fs;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::capability::{self, Reading, with};

/// The maximum number of bytes to read from a file; a kernel's configuration is the longest,
/// about 300 KB.
const FILE_LIMIT: u64 = 4 << 20;

/// Files below a root directory. Anything that cannot be read is `None`.
pub(crate) struct Tree<'r> {
    root: &'r Path,
}

impl<'r> Tree<'r> {
    pub(crate) const fn new(root: &'r Path) -> Self {
        Self { root }
    }

    pub(crate) const fn root(&self) -> &Path {
        self.root
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// Opens `path` by `open`: below the machine's own `/sys/kernel` with the right to read what
    /// the kernel shows only to root (tracefs, debugfs), everywhere else with the user's rights.
    fn opened<T>(&self, path: &str, open: impl FnOnce(PathBuf) -> T) -> T {
        let of_kernel = path.trim_start_matches('/').starts_with("sys/kernel/");
        let path = self.path(path);
        if of_kernel && self.root == Path::new("/") {
            with(Reading::KernelFiles, || open(path))
        } else {
            open(path)
        }
    }

    /// Whether the file or directory exists.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.opened(path, |path| path.exists())
    }

    /// Whether the directory contains a directory.
    pub(crate) fn has_directory_in(&self, directory: &str) -> bool {
        let entries = self.opened(directory, fs::read_dir).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_type()).any(|kind| kind.is_ok_and(|kind| kind.is_dir()))
    }

    /// The names of the directories in a directory.
    pub(crate) fn directories_in(&self, directory: &str) -> Vec<String> {
        let entries = self.opened(directory, fs::read_dir).into_iter().flatten().flatten();
        let is_one = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
        entries.filter(is_one).filter_map(|entry| entry.file_name().into_string().ok()).collect()
    }

    /// The names of the entries of a directory, in no order.
    pub(crate) fn names_in(&self, directory: &str) -> Option<Vec<String>> {
        let entries = self.opened(directory, fs::read_dir).ok()?.flatten();
        Some(entries.filter_map(|entry| entry.file_name().into_string().ok()).collect())
    }

    /// `N` bytes of a file starting at `offset`.
    pub(crate) fn bytes_at<const N: usize>(&self, path: &str, offset: u64) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        self.opened(path, fs::File::open).ok()?.read_exact_at(&mut bytes, offset).ok()?;
        Some(bytes)
    }

    /// The text of a file, without leading and trailing white space and NUL.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        let mut bytes = Vec::new();
        self.opened(path, fs::File::open).ok()?.take(FILE_LIMIT).read_to_end(&mut bytes).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        Some(text.trim_matches(|c: char| c.is_whitespace() || c == '\0').to_owned())
    }

    /// The text of a file that is not empty.
    pub(crate) fn words(&self, path: &str) -> Option<String> {
        self.text(path).filter(|text| !text.is_empty())
    }

    /// The value of a file that contains only this value.
    pub(crate) fn value<T: FromStr>(&self, path: &str) -> Option<T> {
        self.text(path)?.parse().ok()
    }

    /// The value of a file that contains 0 or 1.
    pub(crate) fn flag(&self, path: &str) -> Option<bool> {
        match self.text(path)?.as_str() {
            "0" => Some(false),
            "1" => Some(true),
            _ => None,
        }
    }

    /// The target of a symbolic link.
    pub(crate) fn link(&self, path: &str) -> Option<String> {
        let target = fs::read_link(self.path(path)).ok()?;
        Some(target.to_string_lossy().into_owned())
    }

    /// The capabilities that the program file gives to every user.
    pub(crate) fn capabilities_of(&self, program: &str) -> Option<Vec<String>> {
        capability::of_file(&self.path(program))
    }

    /// The entries of a directory whose names are `prefix` and a number, in the order
    /// of the numbers.
    pub(crate) fn numbered(&self, directory: &str, prefix: &str) -> Option<Vec<String>> {
        let mut numbers: Vec<u32> = self
            .opened(directory, fs::read_dir)
            .ok()?
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.strip_prefix(prefix)?.parse().ok())
            .collect();
        numbers.sort_unstable();
        Some(numbers.into_iter().map(|number| format!("{directory}/{prefix}{number}")).collect())
    }
}
