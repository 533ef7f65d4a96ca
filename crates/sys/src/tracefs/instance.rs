//! An instance: a private set of buffers and enabled events.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{PLACES, Pages, Tracefs};
use crate::error::SysError;
use crate::owned_directory::{OwnedDirectory, Removal, remove_stale_with, remove_those_of, stale};

/// Private buffers and enabled events, removed when this is dropped.
///
/// If the process is killed, the kernel stops recording into the buffers and frees them
/// (`free_buffer` with the option `disable_on_free`), but its tracepoints stay enabled and
/// slow the whole machine until the instance is removed: by [`remove_instances_of`] in a
/// process that outlives the owner, or by the next [`remove_stale_instances`].
#[derive(Debug)]
pub struct Instance {
    /// Closed before the instance is removed; the kernel refuses to remove an open
    /// instance.
    free_buffer: Option<File>,
    directory: OwnedDirectory,
}

/// The buffer of one CPU: its pages and its statistics.
#[derive(Debug)]
pub struct CpuFiles {
    /// The recorded events.
    pub pages: Pages,
    stats: File,
}

/// The prefix of the names of our instances; the process id and a number follow.
const PREFIX: &str = "tactus-";

impl Instance {
    /// Creates an instance that records nothing yet.
    ///
    /// # Errors
    /// - `EACCES` or `EPERM`: only root may create instances.
    /// - `ENOENT`: this kernel does not support instances.
    /// - `EROFS`: the file system is mounted read-only.
    pub fn make(tracefs: &Tracefs) -> Result<Self, SysError> {
        let instances = tracefs.instances();
        let directory = OwnedDirectory::create_with(Removal::Alone, &instances, PREFIX)
            .map_err(SysError::of_io("mkdir"))?;
        Self::take(directory)
    }

    /// Stops a new instance and sets it to be freed with this process.
    fn take(directory: OwnedDirectory) -> Result<Self, SysError> {
        let mut instance = Self { free_buffer: None, directory };
        instance.write("tracing_on", "0")?;
        instance.write("options/disable_on_free", "1")?;
        let file = OpenOptions::new().write(true).open(instance.place().join("free_buffer"));
        instance.free_buffer = Some(file.map_err(SysError::of_io("open"))?);
        Ok(instance)
    }

    fn place(&self) -> &Path {
        self.directory.path()
    }

    /// Writes `text` to a file of the instance, for example `trace_clock`.
    ///
    /// # Errors
    /// - `EINVAL`: the kernel does not know the value.
    /// - `ENOENT`: the kernel does not have the file.
    /// - `ENOMEM`: there is not enough memory.
    pub fn write(&self, file: &str, text: &str) -> Result<(), SysError> {
        let mut file = OpenOptions::new()
            .write(true)
            .open(self.place().join(file))
            .map_err(SysError::of_io("open"))?;
        file.write_all(text.as_bytes()).map_err(SysError::of_io("write"))
    }

    /// Enables events, for example `sched/sched_switch`; returns the kernel's result for
    /// each.
    ///
    /// All names go to one open file: the kernel takes one name at a time.
    ///
    /// # Errors
    /// The list of events cannot be opened.
    pub fn enable(&self, events: &[String]) -> Result<Vec<Result<(), SysError>>, SysError> {
        let mut list = OpenOptions::new()
            .append(true)
            .open(self.place().join("set_event"))
            .map_err(SysError::of_io("open"))?;
        let mut enable = |event: &String| {
            let line = format!("{}\n", event.replace('/', ":"));
            list.write_all(line.as_bytes()).map_err(SysError::of_io("write"))
        };
        Ok(events.iter().map(&mut enable).collect())
    }

    /// Starts or stops recording.
    ///
    /// # Errors
    /// None known for an instance.
    pub fn switch(&self, on: bool) -> Result<(), SysError> {
        self.write("tracing_on", if on { "1" } else { "0" })
    }

    /// Opens the buffer of `cpu`, whose pages have `page_size` bytes.
    ///
    /// The instance cannot be removed while the buffer is open.
    ///
    /// # Errors
    /// - `ENOENT`: the CPU does not exist.
    /// - `EMFILE`: too many open files.
    pub fn cpu(&self, cpu: u32, page_size: usize) -> Result<CpuFiles, SysError> {
        let place = self.place().join(format!("per_cpu/cpu{cpu}"));
        let stats = File::open(place.join("stats")).map_err(SysError::of_io("open"))?;
        Ok(CpuFiles { pages: Pages::open(&place.join("trace_pipe_raw"), page_size)?, stats })
    }
}

impl CpuFiles {
    /// The present text of the buffer's statistics (`stats`).
    ///
    /// # Errors
    /// None known for a valid buffer.
    pub fn stats(&self) -> Result<String, SysError> {
        // The kernel's text has eight short lines.
        let mut text = [0; 512];
        let length = self.stats.read_at(&mut text, 0).map_err(SysError::of_io("read"))?;
        Ok(String::from_utf8_lossy(&text[..length]).into_owned())
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // An instance that cannot be removed now records nothing, and the next start
        // removes it.
        let _ = self.switch(false);
        self.free_buffer = None;
    }
}

/// The two possible directories of instances below `root`.
fn places(root: &Path) -> impl Iterator<Item = PathBuf> {
    PLACES.iter().map(|place| root.join(&place[1..]).join("instances"))
}

/// The stale instances below `root`, e.g. `tactus-42-0`: those of processes that were killed.
pub fn stale_instances(root: &Path) -> Vec<String> {
    // The second place may show the same file system as the first.
    let mut names = BTreeSet::new();
    for place in places(root) {
        let stale = stale(&place, PREFIX).filter_map(|(path, _lock)| {
            path.file_name().map(|name| name.to_string_lossy().into_owned())
        });
        names.extend(stale);
    }
    names.into_iter().collect()
}

/// Removes the stale instances below `root`, and so disables their tracepoints. Mounts nothing.
///
/// The kernel refuses to remove an open instance, so that of an older version of Tactus, which
/// took no lock, stays while its owner runs.
pub fn remove_stale_instances(root: &Path) {
    places(root).for_each(|place| remove_stale_with(Removal::Alone, &place, PREFIX));
}

/// Removes the instances below `root` of `process`, which is ending, as soon as the kernel has
/// closed them; waits `patience` at most.
pub fn remove_instances_of(root: &Path, process: u32, patience: Duration) {
    let places: Vec<PathBuf> = places(root).collect();
    remove_those_of(process, Removal::Alone, &places, PREFIX, patience);
}

#[cfg(test)]
mod tests {
    use std::thread;

    use tactus_testing::{Need, require};

    use super::*;
    use crate::error::Errno;

    /// How long an owner takes to close its instance, and an impatient remover waits.
    const STEP: Duration = Duration::from_millis(5);

    /// A tree with the instances of this process, with and without a lock, and of others.
    fn tree() -> (tempfile::TempDir, OwnedDirectory) {
        let root = tempfile::tempdir().unwrap();
        let place = root.path().join("sys/kernel/tracing/instances");
        std::fs::create_dir_all(&place).unwrap();
        let living = OwnedDirectory::create(&place, PREFIX).unwrap();
        for name in [&*format!("tactus-{}-5", std::process::id()), "tactus-cost", "other-1-0"] {
            std::fs::create_dir(place.join(name)).unwrap();
        }
        (root, living)
    }

    #[test]
    fn an_instance_without_an_owner_is_stale_even_if_its_process_id_is_in_use() {
        let (root, living) = tree();
        let stale = format!("tactus-{}-5", std::process::id());
        assert_eq!(stale_instances(root.path()), [stale]);
        remove_stale_instances(root.path());
        assert_eq!(stale_instances(root.path()), [""; 0]);
        let left = std::fs::read_dir(living.path().parent().unwrap()).unwrap().count();
        assert_eq!(left, 3, "the living instance and those of others");
    }

    #[test]
    fn the_instances_of_a_process_are_removed_when_it_has_closed_them() {
        let (root, living) = tree();
        let path = living.path().to_owned();
        let closing = thread::spawn(move || {
            thread::sleep(10 * STEP);
            drop(living);
        });
        remove_instances_of(root.path(), std::process::id(), Duration::from_secs(60));
        assert!(!path.exists());
        closing.join().unwrap();
        let (root, living) = tree();
        remove_instances_of(root.path(), std::process::id(), STEP);
        assert!(living.path().exists(), "patience has a limit");
    }

    #[test]
    fn an_instance_is_private_and_removed_with_its_owner_if_root() {
        let made = Tracefs::find()
            .map_err(|error| error.to_string())
            .and_then(|tracefs| Instance::make(&tracefs).map_err(|error| error.to_string()));
        let Some(instance) = require(Need::Perf, made) else { return };
        let place = instance.place().to_owned();
        assert_eq!(std::fs::read_to_string(place.join("tracing_on")).unwrap().trim(), "0");
        let events = ["sched/sched_switch", "sched/no_such_event"].map(str::to_owned);
        let enabled = instance.enable(&events).unwrap();
        assert!(enabled[0].is_ok());
        assert_eq!(enabled[1].unwrap_err().errno, Errno::INVAL);
        assert!(instance.write("trace_clock", "no-such-clock").is_err());
        drop(instance);
        assert!(!place.exists());
    }
}
