//! Simulated machines for tests: small trees of files that stand for `/proc`, `/sys` and the
//! rest.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use tempfile::TempDir;

/// A tree of files in a temporary directory.
pub struct FakeRoot(TempDir);

impl FakeRoot {
    /// Builds a tree from a description with a line for each file.
    ///
    /// `path = text` is a file (with `\n`, `\t` and `\0` as escapes), `path -> target` is a
    /// symbolic link, `path/` is an empty directory. A line that begins with `|` adds a line
    /// to the file before it. Empty lines are ignored.
    pub fn new(description: &str) -> Self {
        let root = Self(TempDir::new().expect("a directory for temporary files"));
        let mut last: Option<(String, String)> = None;
        for line in description.lines().map(str::trim_start).filter(|line| !line.is_empty()) {
            if let Some(more) = line.strip_prefix('|') {
                let (path, text) = last.as_mut().expect("a line that has a file before it");
                text.push_str(more);
                text.push('\n');
                root.write(path, text);
            } else if let Some((path, target)) = line.split_once(" -> ") {
                let path = root.make_room(path);
                symlink(target, path).expect("a link");
            } else if let Some((path, text)) = line.split_once(" =") {
                let text = text.strip_prefix(' ').unwrap_or(text);
                let text = text.replace("\\n", "\n").replace("\\t", "\t").replace("\\0", "\0");
                let text = if text.is_empty() { text } else { text + "\n" };
                root.write(path, &text);
                last = Some((path.to_owned(), text));
            } else {
                let directory = line.strip_suffix('/').expect("a line of a known form");
                fs::create_dir_all(root.path().join(directory)).expect("a directory");
            }
        }
        root
    }

    /// The root of the tree.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file, and creates missing directories above it.
    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        fs::write(self.make_room(path), text).expect("a file");
    }

    fn make_room(&self, path: &str) -> std::path::PathBuf {
        let path = self.path().join(path);
        if let Some(above) = path.parent() {
            fs::create_dir_all(above).expect("directories");
        }
        path
    }
}
