//! The directories in which kernels are built, one for each key, with their locks, their progress,
//! and the records of finished kernels.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tactus_model::kernel::BuiltKernel;

use super::compile::{bytes_in, objects_in};
use crate::{FileError, failed};

/// A directory with a site for each unfinished kernel, and a record of each built kernel.
#[derive(Clone, Debug)]
pub(super) struct Sites {
    root: PathBuf,
}

/// The directory in which one kernel is built.
#[derive(Clone, Debug)]
pub(super) struct Site {
    directory: PathBuf,
}

/// The description of the kernel at a site.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Begun {
    /// The kernel's name in the form of `--kernel`.
    pub name: String,
    /// The expected number of objects.
    pub of: u64,
}

/// The record of a built kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    /// The kernel's name in the form of `--kernel`.
    pub name: String,
    /// The version of the source's package.
    pub source: String,
    /// The versions of the compiler and the linker.
    pub compiler: String,
    /// Its objects.
    pub objects: u64,
    /// The duration of the last build session, in seconds.
    pub seconds: u64,
    /// The objects compiled in that session.
    pub compiled: u64,
    /// The size of its image, in bytes.
    pub image_bytes: u64,
}

/// An unfinished kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unfinished {
    pub begun: Begun,
    /// Objects that exist.
    pub objects: u64,
    /// The size of the site, in bytes.
    pub bytes: u64,
    pub directory: PathBuf,
    /// Whether a command is building it now.
    pub in_use: bool,
}

impl Sites {
    pub(super) const fn new(root: PathBuf) -> Self {
        Self { root }
    }

    pub(super) fn site(&self, key: &str) -> Site {
        Site { directory: self.root.join("unfinished").join(key) }
    }

    /// Writes the record of a built kernel.
    pub(super) fn note(&self, key: &str, record: &Record) -> Result<(), FileError> {
        let directory = self.records_directory();
        fs::create_dir_all(&directory).map_err(|error| failed(&directory, error))?;
        write_json(&directory.join(key), record)
    }

    /// The built kernels with their keys.
    pub(super) fn records(&self) -> Vec<(String, Record)> {
        let mut records: Vec<(String, Record)> = names_in(&self.records_directory())
            .into_iter()
            .filter_map(|key| {
                let record = read_json(&self.records_directory().join(&key))?;
                Some((key, record))
            })
            .collect();
        records.sort_by(|(_, one), (_, other)| one.name.cmp(&other.name));
        records
    }

    /// The unfinished kernels.
    pub(super) fn unfinished(&self) -> Vec<Unfinished> {
        let look = |key: String| {
            let site = self.site(&key);
            let begun = read_json(&site.file(BEGUN))?;
            let objects = objects_in(&site.objects());
            let bytes = bytes_in(&site.directory);
            let in_use = matches!(site.try_lock(), Ok(None));
            Some(Unfinished { begun, objects, bytes, directory: site.directory, in_use })
        };
        let mut unfinished: Vec<Unfinished> =
            names_in(&self.root.join("unfinished")).into_iter().filter_map(look).collect();
        unfinished.sort_by(|one, other| one.begun.name.cmp(&other.begun.name));
        unfinished
    }

    /// The expected number of objects of `kernel`: that of a built kernel with the same options
    /// except the tick rate, else that of the smallest built kernel, else a constant.
    pub(super) fn expected_objects(&self, kernel: &BuiltKernel) -> u64 {
        let alike = |record: &Record| {
            record.name.parse::<BuiltKernel>().is_ok_and(|built| {
                (built.timers, built.preemption, &built.options)
                    == (kernel.timers, kernel.preemption, &kernel.options)
            })
        };
        let records = self.records();
        let of = |records: &mut dyn Iterator<Item = &(String, Record)>| {
            records.map(|(_, record)| record.objects).min()
        };
        of(&mut records.iter().filter(|(_, record)| alike(record)))
            .or_else(|| of(&mut records.iter()))
            .unwrap_or(OBJECTS)
    }

    fn records_directory(&self) -> PathBuf {
        self.root.join("built")
    }
}

/// The objects of `built`, of Linux 6.12.117.
pub(super) const OBJECTS: u64 = 846;

const BEGUN: &str = "begun";

impl Site {
    pub(super) fn objects(&self) -> PathBuf {
        self.file("objects")
    }

    /// The log of the compiler.
    pub(super) fn log(&self) -> PathBuf {
        self.file("log")
    }

    /// The requested configuration.
    pub(super) fn requested(&self) -> PathBuf {
        self.file("asked.config")
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Locks the site. While another command holds the lock, this waits, and passes the number
    /// of existing objects to `wait` every second.
    pub(super) fn lock(&self, mut wait: impl FnMut(u64)) -> Result<File, FileError> {
        const INTERVAL: Duration = Duration::from_secs(1);
        fs::create_dir_all(&self.directory).map_err(|error| failed(&self.directory, error))?;
        loop {
            if let Some(lock) = self.try_lock()? {
                return Ok(lock);
            }
            wait(objects_in(&self.objects()));
            thread::sleep(INTERVAL);
        }
    }

    fn try_lock(&self) -> Result<Option<File>, FileError> {
        // The lock is beside the site, which is removed when the kernel is finished.
        let file = self.directory.with_extension("lock");
        let open = File::options().create(true).truncate(false).write(true).open(&file);
        let lock = open.map_err(|error| failed(&file, error))?;
        match lock.try_lock() {
            Ok(()) => Ok(Some(lock)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(failed(&file, error)),
        }
    }

    /// Writes the description of the kernel.
    pub(super) fn begin(&self, begun: &Begun) -> Result<(), FileError> {
        fs::create_dir_all(&self.directory).map_err(|error| failed(&self.directory, error))?;
        write_json(&self.file(BEGUN), begun)
    }

    /// Removes the site; returns its size in bytes.
    pub(super) fn clear(&self) -> Result<u64, FileError> {
        let bytes = bytes_in(&self.directory);
        fs::remove_dir_all(&self.directory).map_err(|error| failed(&self.directory, error))?;
        Ok(bytes)
    }
}

fn names_in(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect()
}

fn read_json<T: serde::de::DeserializeOwned>(file: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(file).ok()?).ok()
}

fn write_json(file: &Path, value: &impl Serialize) -> Result<(), FileError> {
    let write = || {
        let directory = file.parent().unwrap_or(Path::new("."));
        let mut scratch = tempfile::NamedTempFile::new_in(directory)?;
        serde_json::to_writer(&mut scratch, value)?;
        scratch.persist(file).map_err(|error| error.error)
    };
    write().map(drop).map_err(|error: io::Error| failed(file, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(name: &str, objects: u64) -> Record {
        Record {
            name: name.to_owned(),
            source: "6.12.1-1".to_owned(),
            compiler: "gcc".to_owned(),
            objects,
            seconds: 1,
            compiled: objects,
            image_bytes: 1,
        }
    }

    #[test]
    fn the_number_of_objects_comes_from_the_most_similar_kernel() {
        let directory = tempfile::tempdir().unwrap();
        let sites = Sites::new(directory.path().to_owned());
        let expected = |name: &str| sites.expected_objects(&name.parse().unwrap());
        assert_eq!(expected("built"), OBJECTS);
        sites.note("b", &record("built+hz=1000+EXT4_FS=y", 900)).unwrap();
        sites.note("a", &record("built+hz=100", 700)).unwrap();
        assert_eq!(expected("built+hz=20000"), 700);
        assert_eq!(expected("built+hz=300+EXT4_FS=y"), 900);
        assert_eq!(expected("built+preempt=rt"), 700);
        let names: Vec<_> = sites.records().into_iter().map(|(_, record)| record.name).collect();
        assert_eq!(names, ["built+hz=100", "built+hz=1000+EXT4_FS=y"]);
    }

    #[test]
    fn a_site_is_locked_by_one_command() {
        let directory = tempfile::tempdir().unwrap();
        let sites = Sites::new(directory.path().to_owned());
        let site = sites.site("0a");
        let lock = site.lock(|_| panic!("the site is not locked")).unwrap();
        site.begin(&Begun { name: "built".to_owned(), of: 10 }).unwrap();
        assert!(sites.unfinished()[0].in_use);
        drop(lock);
        let [unfinished] = sites.unfinished().try_into().unwrap();
        assert!(!unfinished.in_use);
        assert_eq!((unfinished.begun.name.as_str(), unfinished.objects), ("built", 0));
        assert!(site.clear().unwrap() > 0);
        assert_eq!(sites.unfinished(), []);
    }
}
