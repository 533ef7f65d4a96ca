//! Files that appear complete or not at all.
//!
//! The bytes go to a temporary file beside the target, which
//! [rename(2)](https://man7.org/linux/man-pages/man2/rename.2.html) puts in its place at the end.
//! A full disk, an error or a kill leaves the target as it was. The owner of a temporary file
//! holds a lock on it ([flock(2)](https://man7.org/linux/man-pages/man2/flock.2.html)), which ends
//! with its process: [`WholeFile::create`] removes files in the same directory that nobody holds.
//!
//! A file whose beginning is worth reading without its end is begun by
//! [`WholeFile::create_with_part`]: its temporary file has a name that a person finds, and stays.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The beginning of the names of temporary files.
const PREFIX: &str = ".tactus-part-";

/// What [`WholeFile::create_with_part`] appends to the name of the target. If that name is taken,
/// a number follows.
pub const PART: &str = ".part";

/// The most parts of one target.
const PARTS_MAX: u32 = 1000;

/// The size of the buffer in bytes.
const BUFFER: usize = 1 << 16;

/// Who may read a new file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// Everyone whom the umask permits; a file that is replaced keeps its mode.
    Usual,
    /// The owner only (mode 0600): the file contains addresses of the kernel.
    Owner,
}

/// A file that appears complete at [`finish`](Self::finish), or not at all.
#[derive(Debug)]
pub struct WholeFile {
    /// `None` after the end.
    out: Option<BufWriter<File>>,
    target: PathBuf,
    /// `None` if the target is written directly.
    temporary: Option<PathBuf>,
    /// Whether the temporary file stays if the file is not finished.
    stays: bool,
}

impl WholeFile {
    /// Begins the file `path`, and removes what killed processes left in its directory.
    ///
    /// An existing `path` that is not a regular file, e.g. a pipe, or that leads to a file without
    /// a name, e.g. `/proc/self/fd/3` to one of memfd_create(2), is written directly.
    ///
    /// # Errors
    /// The directory does not exist or cannot be written, the name is too long or ends with a
    /// slash, or the user may not write an existing `path`.
    pub fn create(path: &Path, readers: Readers) -> io::Result<Self> {
        Self::begin(path, readers, temporary)
    }

    /// Like [`create`](Self::create), but the temporary file is the target with [`PART`] at its
    /// end: after a kill it remains, and nobody removes it. See [`keep_part`](Self::keep_part).
    ///
    /// # Errors
    /// Those of [`create`](Self::create), or there are very many parts of this target.
    pub fn create_with_part(path: &Path, readers: Readers) -> io::Result<Self> {
        Self::begin(path, readers, |target, readers| {
            let mut numbers = 1..=PARTS_MAX;
            let name = || numbers.next().map(|number| part(target, number));
            first_free(name, readers)
        })
    }

    fn begin(
        path: &Path,
        readers: Readers,
        temporary: impl FnOnce(&Path, Readers) -> io::Result<(PathBuf, File)>,
    ) -> io::Result<Self> {
        if path.as_os_str().as_bytes().ends_with(b"/") {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let before = match fs::metadata(path) {
            // The name would be refused only at the end.
            Err(error) if error.kind() == io::ErrorKind::InvalidFilename => return Err(error),
            before => before.ok(),
        };
        let resolved = fs::canonicalize(path);
        if before.as_ref().is_some_and(|before| !before.is_file() || resolved.is_err()) {
            let file = OpenOptions::new().write(true).truncate(true).open(path)?;
            let out = Some(BufWriter::with_capacity(BUFFER, file));
            return Ok(Self { out, target: path.to_owned(), temporary: None, stays: false });
        }
        if before.is_some() {
            // rename(2) asks only for the directory's permission, but a file that the user may
            // not write stays as it is.
            OpenOptions::new().write(true).open(path)?;
        }
        // A link keeps pointing to its file.
        let target = resolved.unwrap_or_else(|_| path.to_owned());
        remove_left(directory_of(&target));
        let (temporary, file) = temporary(&target, readers)?;
        let out = Some(BufWriter::with_capacity(BUFFER, file));
        let begun = Self { out, target, temporary: Some(temporary), stays: false };
        if let (Readers::Usual, Some(before)) = (readers, before) {
            begun.file()?.set_permissions(before.permissions())?;
        }
        Ok(begun)
    }

    /// Stores everything on the disk and gives the file its name.
    ///
    /// # Errors
    /// The file cannot be written; the target stays as it was.
    pub fn finish(mut self) -> io::Result<()> {
        let ended = || io::Error::from(io::ErrorKind::BrokenPipe);
        let mut out = self.out.take().ok_or_else(ended)?;
        out.flush()?;
        let Some(temporary) = &self.temporary else { return Ok(()) };
        out.get_ref().sync_all()?;
        fs::rename(temporary, &self.target)?;
        self.temporary = None;
        // Without this, only a loss of power could still undo the new name.
        let _ = File::open(directory_of(&self.target)).and_then(|directory| directory.sync_all());
        Ok(())
    }

    /// From now on, the temporary file stays if this file is dropped without an end. Returns its
    /// path; `None` if the target is written directly.
    pub fn keep_part(&mut self) -> Option<&Path> {
        self.stays = true;
        self.temporary.as_deref()
    }

    /// Removes the temporary file, after [`keep_part`](Self::keep_part) too; the target stays as it
    /// was.
    pub fn discard(mut self) {
        self.stays = false;
    }

    fn file(&self) -> io::Result<&File> {
        self.out.as_ref().map(BufWriter::get_ref).ok_or_else(|| io::ErrorKind::BrokenPipe.into())
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.as_mut().map_or(Err(io::ErrorKind::BrokenPipe.into()), |out| out.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Drop for WholeFile {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary
            && !self.stays
        {
            // If it cannot be removed now, the next file in this directory removes it.
            let _ = fs::remove_file(temporary);
        }
    }
}

fn directory_of(path: &Path) -> &Path {
    let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
    directory.unwrap_or(Path::new("."))
}

/// The name of a part of `target`, counted from 1.
fn part(target: &Path, number: u32) -> PathBuf {
    let mut name = OsString::from(target);
    name.push(PART);
    if number > 1 {
        name.push(number.to_string());
    }
    name.into()
}

/// Whether a file is a part of some target, by its name, and no process writes it.
pub fn is_left_part(path: &Path) -> bool {
    let extension = path.extension().map(|extension| extension.to_string_lossy().into_owned());
    let number = extension.as_deref().and_then(|text| text.strip_prefix(&PART[1..]));
    if !number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit())) {
        return false;
    }
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(path);
    opened.is_ok_and(|file| {
        // Nobody locks a new file before its writer, which would then leave it.
        file.metadata().is_ok_and(|at| at.is_file() && at.len() > 0) && !is_held(&file)
    })
}

/// Creates a temporary file beside the target and locks it.
fn temporary(target: &Path, readers: Readers) -> io::Result<(PathBuf, File)> {
    let (directory, process) = (directory_of(target), std::process::id());
    let mut numbers = 0..u32::MAX;
    let name =
        || numbers.next().map(|number| directory.join(format!("{PREFIX}{process}-{number}")));
    first_free(name, readers)
}

/// Creates the first of these files that does not exist, and locks it.
fn first_free(
    mut name: impl FnMut() -> Option<PathBuf>,
    readers: Readers,
) -> io::Result<(PathBuf, File)> {
    let mode = match readers {
        Readers::Usual => 0o666,
        Readers::Owner => 0o600,
    };
    while let Some(path) = name() {
        match OpenOptions::new().write(true).create_new(true).mode(mode).open(&path) {
            // A process that removes what is left may have found the file before its lock.
            Ok(file) if !is_held(&file) && is_at(&file, &path) => return Ok((path, file)),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Removes the temporary files that no process holds.
fn remove_left(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
        let opened = OpenOptions::new().write(true).custom_flags(flags).open(entry.path());
        // A file of another user is left to that user.
        if let Ok(file) = opened
            && matches!(file.try_lock(), Ok(()))
        {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Locks a file; returns whether another process holds it. Without locks on its filesystem,
/// nobody does, and nobody removes it.
fn is_held(file: &File) -> bool {
    matches!(file.try_lock(), Err(TryLockError::WouldBlock))
}

/// Whether the file still has this name.
fn is_at(file: &File, path: &Path) -> bool {
    let number = |found: fs::Metadata| (found.dev(), found.ino());
    let open = file.metadata().map(number);
    open.is_ok_and(|open| fs::symlink_metadata(path).map(number).is_ok_and(|named| named == open))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    /// The names in a directory.
    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_file_appears_complete() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let mut file = WholeFile::create(&path, Readers::Owner).unwrap();
        file.write_all(b"all").unwrap();
        assert!(!path.exists());
        file.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"all");
        assert_eq!((names(folder.path()), mode(&path)), (vec!["a".to_owned()], 0o600));
    }

    #[test]
    fn an_unfinished_file_leaves_the_target_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "before").unwrap();
        let mut file = WholeFile::create(&path, Readers::Usual).unwrap();
        file.write_all(b"half").unwrap();
        drop(file);
        assert_eq!(fs::read(&path).unwrap(), b"before");
        assert_eq!(names(folder.path()), ["a"]);
    }

    #[test]
    fn a_replaced_file_keeps_its_mode_and_its_links() {
        let folder = tempfile::tempdir().unwrap();
        let [path, link] = ["a", "link"].map(|name| folder.path().join(name));
        fs::write(&path, "before").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        symlink("a", &link).unwrap();
        WholeFile::create(&link, Readers::Usual).unwrap().finish().unwrap();
        assert_eq!((fs::read(&path).unwrap().len(), mode(&path)), (0, 0o640));
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        WholeFile::create(&path, Readers::Owner).unwrap().finish().unwrap();
        assert_eq!(mode(&path), 0o600);
    }

    #[test]
    fn a_file_without_a_name_is_written_directly() {
        let unnamed = tempfile::tempfile().unwrap();
        let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&unnamed));
        for text in ["first", "2nd"] {
            let mut file = WholeFile::create(Path::new(&path), Readers::Owner).unwrap();
            file.write_all(text.as_bytes()).unwrap();
            file.finish().unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
    }

    #[test]
    fn a_file_that_a_killed_process_left_is_removed_and_others_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let left = folder.path().join(format!("{PREFIX}1-0"));
        fs::write(&left, "left").unwrap();
        let held = WholeFile::create(&folder.path().join("a"), Readers::Owner).unwrap();
        assert!(!left.exists());
        let second = WholeFile::create(&folder.path().join("b"), Readers::Owner).unwrap();
        held.finish().unwrap();
        second.finish().unwrap();
        assert_eq!(names(folder.path()), ["a", "b"]);
    }

    #[test]
    fn a_part_stays_under_a_name_that_is_found_and_is_never_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let begin = |text: &str| {
            let mut file = WholeFile::create_with_part(&path, Readers::Owner).unwrap();
            file.write_all(text.as_bytes()).unwrap();
            file.flush().unwrap();
            file
        };
        drop(begin("nothing"));
        assert!(names(folder.path()).is_empty(), "it was not worth keeping");
        let mut first = begin("first");
        let part = first.keep_part().unwrap().to_owned();
        assert!(!is_left_part(&part), "its writer lives");
        drop(first);
        assert!(is_left_part(&part) && !path.exists());
        begin("second").finish().unwrap();
        WholeFile::create(&path.with_extension("b"), Readers::Usual).unwrap().finish().unwrap();
        assert_eq!(names(folder.path()), ["a", "a.b", "a.part"]);
        assert_eq!((fs::read(&part).unwrap(), mode(&part)), (b"first".to_vec(), 0o600));
        begin("third").keep_part();
        assert!(is_left_part(&folder.path().join("a.part2")));
        let mut fourth = begin("fourth");
        assert!(fourth.keep_part().is_some_and(Path::exists));
        fourth.discard();
        assert!(!folder.path().join("a.part3").exists());
        assert!(!is_left_part(&folder.path().join("a.b")));
    }

    #[test]
    fn a_name_that_the_end_would_refuse_is_refused_at_the_beginning() {
        let folder = tempfile::tempdir().unwrap();
        let create = |name: &str| WholeFile::create(&folder.path().join(name), Readers::Owner);
        let refused = |name: &str| create(name).unwrap_err().kind();
        assert_eq!(refused(&"x".repeat(300)), io::ErrorKind::InvalidFilename);
        assert_eq!(refused("x/"), io::ErrorKind::IsADirectory);
        assert!(names(folder.path()).is_empty());
    }

    #[test]
    fn a_device_is_written_directly_and_a_full_one_is_an_error() {
        let write = |path: &str| {
            let mut file = WholeFile::create(Path::new(path), Readers::Owner)?;
            file.write_all(b"all")?;
            file.finish()
        };
        write("/dev/null").unwrap();
        assert_eq!(write("/dev/full").unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
}
