//! Settings of the machine that are files, each with one value.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::Errno;

/// The longest value of a setting, in bytes: a page, as sysfs has it.
pub const VALUE_MAX: usize = 4096;

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

    /// Reads the value, without white space at its end.
    ///
    /// # Errors
    /// `InvalidData`: the file is longer than [`VALUE_MAX`] or is not UTF-8.
    pub fn get(&self) -> io::Result<String> {
        let mut text = String::new();
        File::open(&self.path)?.take(VALUE_MAX as u64 + 1).read_to_string(&mut text)?;
        if text.len() > VALUE_MAX {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the value is too long"));
        }
        text.truncate(text.trim_end().len());
        Ok(text)
    }

    /// Writes the value.
    ///
    /// # Errors
    /// `EINVAL`: the kernel refuses the value. `InvalidInput`: it is longer than [`VALUE_MAX`].
    pub fn set(&self, value: &str) -> io::Result<()> {
        if value.len() > VALUE_MAX {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the value is too long"));
        }
        // One write: the kernel takes each write as a value of its own.
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
        let path = root.path().join("cpuset.cpus");
        std::fs::write(&path, "0-3\n").unwrap();
        let setting = Setting::open(&path).unwrap();
        setting.lock().unwrap();
        assert_eq!(setting.get().unwrap(), "0-3");
        setting.set("0-1").unwrap();
        assert_eq!(setting.get().unwrap(), "0-1");
        let other = Setting::open(&path).unwrap();
        assert_eq!(other.lock().unwrap_err().kind(), io::ErrorKind::WouldBlock);
        drop(setting);
        other.lock().unwrap();
    }

    #[test]
    fn a_value_has_a_limit() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let setting = Setting::open(file.path()).unwrap();
        let longest = "x".repeat(VALUE_MAX);
        assert_eq!(
            setting.set(&(longest.clone() + "x")).unwrap_err().kind(),
            io::ErrorKind::InvalidInput
        );
        std::fs::write(file.path(), &longest).unwrap();
        assert_eq!(setting.get().unwrap(), longest);
        std::fs::write(file.path(), longest + "x").unwrap();
        assert_eq!(setting.get().unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
