//! Settings of the machine that are files, each with one number.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::Errno;

/// A setting of the kernel in [sysfs](https://docs.kernel.org/filesystems/sysfs.html),
/// [procfs](https://man7.org/linux/man-pages/man5/proc.5.html) or debugfs.
#[derive(Debug)]
pub struct Setting {
    path: PathBuf,
    /// Held for its lock. Files of debugfs are not seekable, so each value is read and
    /// written by opening the file again.
    file: File,
}

impl Setting {
    /// Opens the setting at `path` for reading and writing.
    ///
    /// # Errors
    /// - `ENOENT`: this kernel does not have the setting.
    /// - `EACCES`: only root may change it.
    /// - `EROFS`: a container sees it but may not change it.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        Ok(Self { path: path.to_owned(), file })
    }

    /// Locks the setting against others that also use this lock, while this value
    /// exists: [flock(2)](https://man7.org/linux/man-pages/man2/flock.2.html).
    ///
    /// # Errors
    /// `EWOULDBLOCK`: another process holds the lock.
    pub fn lock(&self) -> io::Result<()> {
        self.file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => Errno::WOULDBLOCK.into(),
            TryLockError::Error(error) => error,
        })
    }

    /// Reads the value.
    ///
    /// # Errors
    /// The file does not contain a number.
    pub fn get(&self) -> io::Result<u64> {
        let text = fs::read_to_string(&self.path)?;
        let number = text.trim().parse().ok();
        number
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the value is not a number"))
    }

    /// Writes the value.
    ///
    /// # Errors
    /// `EINVAL`: the value is out of the kernel's range.
    pub fn set(&self, value: u64) -> io::Result<()> {
        // One write: the kernel takes each write as a number of its own.
        let mut file = OpenOptions::new().write(true).truncate(true).open(&self.path)?;
        file.write_all(format!("{value}\n").as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_read_set_and_held_by_one() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("max_sectors_kb");
        std::fs::write(&path, "1280\n").unwrap();
        let setting = Setting::open(&path).unwrap();
        setting.lock().unwrap();
        assert_eq!(setting.get().unwrap(), 1280);
        setting.set(4).unwrap();
        assert_eq!(setting.get().unwrap(), 4);
        let other = Setting::open(&path).unwrap();
        assert_eq!(other.lock().unwrap_err().kind(), io::ErrorKind::WouldBlock);
        drop(setting);
        other.lock().unwrap();
    }

    #[test]
    fn a_value_that_is_not_a_number_is_an_error() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "always [madvise] never\n").unwrap();
        let error = Setting::open(file.path()).unwrap().get().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }
}
