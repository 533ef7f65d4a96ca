//! Settings of the machine that are files, each with one value.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::Errno;

/// The longest value of a setting, in bytes: a page, as sysfs has it.
pub const VALUE_MAX: usize = 4096;

/// The directory, below the root, of the notes of old values: one for each setting that is
/// changed until it is restored.
pub const NOTES: &str = "run/tactus/settings";

/// The name of the note of the setting at `path`; unique for each setting.
pub fn note_name(path: &Path) -> String {
    path.to_string_lossy().replace('-', "\\x2d").replace('/', "-")
}

/// The setting whose note has this name; `None` if it is not [changeable](is_changeable).
pub fn noted_setting(name: &str) -> Option<PathBuf> {
    let path = PathBuf::from(name.replace('-', "/").replace("\\x2d", "-"));
    is_changeable(&path).then_some(path)
}

/// The settings that Tactus changes, as paths below the root; `*` is the name of a device.
///
/// Root writes the value of a note to the file that the note names, so no note may name another
/// file.
pub const CHANGEABLE: [&str; 3] = [
    "proc/sys/kernel/sched_rr_timeslice_ms",
    "sys/kernel/debug/sched/base_slice_ns",
    "sys/block/*/queue/max_sectors_kb",
];

/// Whether `path` is one of the settings in [`CHANGEABLE`].
pub fn is_changeable(path: &Path) -> bool {
    let Some(path) = path.to_str() else { return false };
    let parts = || path.split('/');
    CHANGEABLE.iter().any(|setting| {
        setting.split('/').count() == parts().count()
            && setting.split('/').zip(parts()).all(|(known, part)| match known {
                "*" => !["", ".", ".."].contains(&part),
                known => known == part,
            })
    })
}

/// The settings below `root` that are changed although no process holds them: those that a
/// killed process has left. Settings that this user may not read are not among them.
pub fn left_changed(root: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root.join(NOTES)).into_iter().flatten().flatten();
    let mut left: Vec<PathBuf> = entries
        .filter_map(|entry| noted_setting(entry.file_name().to_str()?))
        .filter(|path| File::open(root.join(path)).is_ok_and(|file| file.try_lock().is_ok()))
        .collect();
    left.sort();
    left
}

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

    fn disk(name: &str) -> PathBuf {
        format!("sys/block/{name}/queue/max_sectors_kb").into()
    }

    #[test]
    fn every_changeable_setting_has_its_own_note() {
        let [rr, ordinary, _] = CHANGEABLE.map(PathBuf::from);
        for path in [rr, ordinary, disk("sda"), disk("dm-0"), disk("cciss!c0d0")] {
            assert_eq!(noted_setting(&note_name(&path)), Some(path));
        }
        assert_eq!(note_name(&disk("sda")), "sys-block-sda-queue-max_sectors_kb");
    }

    #[test]
    fn a_note_of_any_other_file_is_refused() {
        let others = ["etc/shadow", "/etc/shadow", "../../etc/shadow", "", "proc/sys/kernel/core"];
        let disks = ["..", ".", "", "sda/../.."].map(disk);
        for path in others.into_iter().map(PathBuf::from).chain(disks) {
            assert_eq!(noted_setting(&note_name(&path)), None, "{}", path.display());
        }
    }

    #[test]
    fn a_setting_with_a_note_and_without_a_holder_was_left_changed() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join(NOTES)).unwrap();
        for name in ["held", "left", "unnoted"] {
            let file = root.path().join(disk(name));
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, "1\n").unwrap();
        }
        for name in ["held", "left", "missing"] {
            std::fs::write(root.path().join(NOTES).join(note_name(&disk(name))), "").unwrap();
        }
        let held = Setting::open(&root.path().join(disk("held"))).unwrap();
        held.lock().unwrap();
        assert_eq!(left_changed(root.path()), [disk("left")]);
        drop(held);
        assert_eq!(left_changed(root.path()), [disk("held"), disk("left")]);
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
