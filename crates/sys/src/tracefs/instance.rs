//! An instance: a private set of buffers and enabled events.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::{Pages, Tracefs};
use crate::error::{Errno, SysError};

/// Private buffers and enabled events, removed when this is dropped.
///
/// If the process is killed, the kernel stops recording into the buffers and frees them
/// (`free_buffer` with the option `disable_on_free`); the next instance removes the
/// remains.
#[derive(Debug)]
pub struct Instance {
    place: PathBuf,
    /// Closed before the instance is removed; the kernel refuses to remove an open
    /// instance.
    free_buffer: Option<File>,
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

/// The maximum number of instances of one process.
const INSTANCES_MAX: u32 = 1000;

/// The error of a failed call on a file.
pub(super) fn failed(call: &'static str, error: &io::Error) -> SysError {
    SysError::new(call, Errno::from_io_error(error).unwrap_or(Errno::IO))
}

impl Instance {
    /// Creates an instance that records nothing yet.
    ///
    /// # Errors
    /// - `EACCES` or `EPERM`: only root may create instances.
    /// - `ENOENT`: this kernel does not support instances.
    /// - `EROFS`: the file system is mounted read-only.
    pub fn make(tracefs: &Tracefs) -> Result<Self, SysError> {
        let instances = tracefs.instances();
        remove_abandoned(&instances);
        let process = std::process::id();
        for number in 0..INSTANCES_MAX {
            let place = instances.join(format!("{PREFIX}{process}-{number}"));
            match std::fs::create_dir(&place) {
                Ok(()) => return Self::take(place),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed("mkdir", &error)),
            }
        }
        Err(SysError::new("mkdir", Errno::EXIST))
    }

    /// Stops a new instance and sets it to be freed with this process.
    fn take(place: PathBuf) -> Result<Self, SysError> {
        let mut instance = Self { place, free_buffer: None };
        instance.write("tracing_on", "0")?;
        instance.write("options/disable_on_free", "1")?;
        let file = OpenOptions::new().write(true).open(instance.place.join("free_buffer"));
        instance.free_buffer = Some(file.map_err(|error| failed("open", &error))?);
        Ok(instance)
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
            .open(self.place.join(file))
            .map_err(|error| failed("open", &error))?;
        file.write_all(text.as_bytes()).map_err(|error| failed("write", &error))
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
            .open(self.place.join("set_event"))
            .map_err(|error| failed("open", &error))?;
        let mut enable = |event: &String| {
            let line = format!("{}\n", event.replace('/', ":"));
            list.write_all(line.as_bytes()).map_err(|error| failed("write", &error))
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
        let place = self.place.join(format!("per_cpu/cpu{cpu}"));
        let stats = File::open(place.join("stats")).map_err(|error| failed("open", &error))?;
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
        let length = self.stats.read_at(&mut text, 0).map_err(|error| failed("read", &error))?;
        Ok(String::from_utf8_lossy(&text[..length]).into_owned())
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // An instance that cannot be removed now records nothing, and the next
        // instance's creator removes it.
        let _ = self.switch(false);
        self.free_buffer = None;
        let _ = std::fs::remove_dir(&self.place);
    }
}

/// Removes the instances of processes that were killed.
///
/// The kernel refuses to remove an open instance, so the instance of a process that is
/// not visible from here (in another container) stays.
fn remove_abandoned(instances: &Path) {
    let Ok(entries) = std::fs::read_dir(instances) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(owner);
        if owner.is_some_and(|process| !Path::new("/proc").join(process).exists()) {
            // It may be open after all, or another process was faster.
            let _ = std::fs::remove_dir(entry.path());
        }
    }
}

/// The process after which one of our instances is named.
fn owner(name: &str) -> Option<&str> {
    let (process, number) = name.strip_prefix(PREFIX)?.split_once('-')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (is_number(process) && is_number(number)).then_some(process)
}

#[cfg(test)]
mod tests {
    use tactus_testing::{Need, require};

    use super::*;

    #[test]
    fn only_instances_of_ours_have_an_owner() {
        assert_eq!(owner("tactus-42-0"), Some("42"));
        assert_eq!(owner("tactus-cost"), None);
        assert_eq!(owner("tactus-42"), None);
        assert_eq!(owner("tactus--1"), None);
        assert_eq!(owner("somebodys-42-0"), None);
    }

    #[test]
    fn only_instances_of_ended_processes_are_removed() {
        let place = tempfile::tempdir().unwrap();
        let own = format!("tactus-{}-0", std::process::id());
        // No process has an id above the kernel's maximum (2^22).
        let names = ["tactus-99999999-0", "other-99999999-0", own.as_str()];
        for name in names {
            std::fs::create_dir(place.path().join(name)).unwrap();
        }
        remove_abandoned(place.path());
        let left: Vec<bool> = names.map(|name| place.path().join(name).exists()).into();
        assert_eq!(left, [false, true, true]);
    }

    #[test]
    fn an_instance_is_private_and_removed_with_its_owner_if_root() {
        let made = Tracefs::find()
            .map_err(|error| error.to_string())
            .and_then(|tracefs| Instance::make(&tracefs).map_err(|error| error.to_string()));
        let Some(instance) = require(Need::Perf, made) else { return };
        let place = instance.place.clone();
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
