//! The places where kernels are built, one for each content: who works there, how far it is,
//! and what is known of kernels that were finished.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tactus_model::kernel::BuiltKernel;

use super::compile::{bytes_in, objects_in};
use crate::{FileError, failed};

/// A directory with a place for each kernel that is being built, and a record of each that was.
#[derive(Clone, Debug)]
pub(super) struct Sites {
    root: PathBuf,
}

/// Where one kernel is built.
#[derive(Clone, Debug)]
pub(super) struct Site {
    directory: PathBuf,
}

/// What a place says of the kernel that is built there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Begun {
    /// The kernel, as people write it.
    pub name: String,
    /// How many objects it will have, as far as that is known.
    pub of: u64,
}

/// What is known of a kernel that was built.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    /// The kernel, as people write it.
    pub name: String,
    /// The version of the source's package.
    pub source: String,
    /// What compiled it.
    pub compiler: String,
    /// Its objects.
    pub objects: u64,
    /// How long the last stretch of work on it took, in seconds, and the objects compiled in it.
    pub seconds: u64,
    /// As above.
    pub compiled: u64,
    /// The size of its image, in bytes.
    pub image_bytes: u64,
}

/// A kernel that is not finished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unfinished {
    pub begun: Begun,
    /// Objects that are there.
    pub objects: u64,
    /// What they take, in bytes.
    pub bytes: u64,
    pub directory: PathBuf,
    /// Whether somebody works on it.
    pub worked_on: bool,
}

impl Sites {
    pub(super) const fn new(root: PathBuf) -> Self {
        Self { root }
    }

    pub(super) fn site(&self, key: &str) -> Site {
        Site { directory: self.root.join("unfinished").join(key) }
    }

    /// Remembers a kernel that was built.
    pub(super) fn note(&self, key: &str, record: &Record) -> Result<(), FileError> {
        let directory = self.records_directory();
        fs::create_dir_all(&directory).map_err(|error| failed(&directory, error))?;
        write_json(&directory.join(key), record)
    }

    /// The kernels that were built, by their keys.
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

    /// The kernels that are not finished.
    pub(super) fn unfinished(&self) -> Vec<Unfinished> {
        let look = |key: String| {
            let site = self.site(&key);
            let begun = read_json(&site.file(BEGUN))?;
            let objects = objects_in(&site.objects());
            let bytes = bytes_in(&site.directory);
            let worked_on = matches!(site.try_lock(), Ok(None));
            Some(Unfinished { begun, objects, bytes, directory: site.directory, worked_on })
        };
        let mut unfinished: Vec<Unfinished> =
            names_in(&self.root.join("unfinished")).into_iter().filter_map(look).collect();
        unfinished.sort_by(|one, other| one.begun.name.cmp(&other.begun.name));
        unfinished
    }

    /// How many objects `kernel` will have: as many as one that was built of the same options
    /// but for the tick rate, else as the smallest that was built, else as ours had here.
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
const OBJECTS: u64 = 846;

const BEGUN: &str = "begun";

impl Site {
    pub(super) fn objects(&self) -> PathBuf {
        self.file("objects")
    }

    /// What the compiler said.
    pub(super) fn log(&self) -> PathBuf {
        self.file("log")
    }

    /// The configuration that was asked for.
    pub(super) fn asked(&self) -> PathBuf {
        self.file("asked.config")
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Takes the place for oneself; when somebody works there, waits for its end, and tells
    /// now and then how many objects are there.
    pub(super) fn lock(&self, mut wait: impl FnMut(u64)) -> Result<File, FileError> {
        const LOOK: Duration = Duration::from_secs(1);
        fs::create_dir_all(&self.directory).map_err(|error| failed(&self.directory, error))?;
        loop {
            if let Some(lock) = self.try_lock()? {
                return Ok(lock);
            }
            wait(objects_in(&self.objects()));
            thread::sleep(LOOK);
        }
    }

    fn try_lock(&self) -> Result<Option<File>, FileError> {
        // It lies beside the place, which is removed when the kernel is finished.
        let file = self.directory.with_extension("lock");
        let open = File::options().create(true).truncate(false).write(true).open(&file);
        let lock = open.map_err(|error| failed(&file, error))?;
        match lock.try_lock() {
            Ok(()) => Ok(Some(lock)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(failed(&file, error)),
        }
    }

    /// Says what is built here.
    pub(super) fn begin(&self, begun: &Begun) -> Result<(), FileError> {
        fs::create_dir_all(&self.directory).map_err(|error| failed(&self.directory, error))?;
        write_json(&self.file(BEGUN), begun)
    }

    /// Removes all that is here; how many bytes that were.
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
    fn the_number_of_objects_is_learned_from_the_kernel_that_is_most_alike() {
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
    fn a_place_is_one_workers_own_until_he_leaves() {
        let directory = tempfile::tempdir().unwrap();
        let sites = Sites::new(directory.path().to_owned());
        let site = sites.site("0a");
        let lock = site.lock(|_| panic!("nobody is there")).unwrap();
        site.begin(&Begun { name: "built".to_owned(), of: 10 }).unwrap();
        assert!(sites.unfinished()[0].worked_on);
        drop(lock);
        let [unfinished] = sites.unfinished().try_into().unwrap();
        assert!(!unfinished.worked_on);
        assert_eq!((unfinished.begun.name.as_str(), unfinished.objects), ("built", 0));
        assert!(site.clear().unwrap() > 0);
        assert_eq!(sites.unfinished(), []);
    }
}
