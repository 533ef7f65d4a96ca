//! An instance: a set of buffers and enabled events of our own.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::{Pages, Tracefs};
use crate::error::{Errno, SysError};

/// Buffers and enabled events that nobody else uses, gone when this is dropped.
///
/// When the process is killed, the kernel ceases to record into the buffers and
/// frees them (`free_buffer` with the option `disable_on_free`); what is left of
/// the instance is removed when the next one is made.
#[derive(Debug)]
pub struct Instance {
    place: PathBuf,
    /// Closed before the instance is removed; the kernel refuses to remove what is open.
    free_buffer: Option<File>,
}

/// The buffer of one processor: its pages and its accounts.
#[derive(Debug)]
pub struct ProcessorFiles {
    /// The recorded events.
    pub pages: Pages,
    stats: File,
}

/// What the names of our instances begin with; the process and a number follow.
const PREFIX: &str = "tactus-";

/// The most instances of one process.
const INSTANCES_MAX: u32 = 1000;

/// What the kernel answered to a call on a file.
pub(super) fn failed(call: &'static str, error: &io::Error) -> SysError {
    SysError::new(call, Errno::from_io_error(error).unwrap_or(Errno::IO))
}

impl Instance {
    /// Makes an instance that records nothing yet.
    ///
    /// # Errors
    /// `EACCES` or `EPERM`: only root may make instances; `ENOENT`: this kernel
    /// has none; `EROFS`: the file system is mounted for reading only.
    pub fn make(tracefs: &Tracefs) -> Result<Self, SysError> {
        let instances = tracefs.instances();
        remove_those_of_the_dead(&instances);
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

    /// Stops a new instance and has the kernel watch over it.
    fn take(place: PathBuf) -> Result<Self, SysError> {
        let mut instance = Self { place, free_buffer: None };
        instance.write("tracing_on", "0")?;
        instance.write("options/disable_on_free", "1")?;
        let file = OpenOptions::new().write(true).open(instance.place.join("free_buffer"));
        instance.free_buffer = Some(file.map_err(|error| failed("open", &error))?);
        Ok(instance)
    }

    /// Writes `text` to one of the instance's files, as `trace_clock`.
    ///
    /// # Errors
    /// `EINVAL`: the kernel does not know such a value; `ENOENT`: it has no such
    /// file; `ENOMEM`.
    pub fn write(&self, file: &str, text: &str) -> Result<(), SysError> {
        let mut file = OpenOptions::new()
            .write(true)
            .open(self.place.join(file))
            .map_err(|error| failed("open", &error))?;
        file.write_all(text.as_bytes()).map_err(|error| failed("write", &error))
    }

    /// Enables events, as `sched/sched_switch`; gives for each what the kernel answered.
    ///
    /// They are all written to one open file: the kernel takes a name at a time.
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

    /// Begins or ceases to record.
    ///
    /// # Errors
    /// None that an instance is known to give.
    pub fn switch(&self, on: bool) -> Result<(), SysError> {
        self.write("tracing_on", if on { "1" } else { "0" })
    }

    /// Opens the buffer of `cpu`, whose pages are of `page_size` bytes.
    ///
    /// As long as it is open the instance cannot be removed.
    ///
    /// # Errors
    /// `ENOENT`: there is no such processor; `EMFILE`: too many open files.
    pub fn processor(&self, cpu: u32, page_size: usize) -> Result<ProcessorFiles, SysError> {
        let place = self.place.join(format!("per_cpu/cpu{cpu}"));
        let stats = File::open(place.join("stats")).map_err(|error| failed("open", &error))?;
        Ok(ProcessorFiles { pages: Pages::open(&place.join("trace_pipe_raw"), page_size)?, stats })
    }
}

impl ProcessorFiles {
    /// The text of the buffer's accounts as they are now (`stats`).
    ///
    /// # Errors
    /// None that a valid buffer is known to give.
    pub fn stats(&self) -> Result<String, SysError> {
        // The kernel's text is of eight short lines.
        let mut text = [0; 512];
        let length = self.stats.read_at(&mut text, 0).map_err(|error| failed("read", &error))?;
        Ok(String::from_utf8_lossy(&text[..length]).into_owned())
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // What cannot be removed now records nothing, and is removed by whoever
        // makes the next instance.
        let _ = self.switch(false);
        self.free_buffer = None;
        let _ = std::fs::remove_dir(&self.place);
    }
}

/// Removes what killed processes left behind.
///
/// The kernel refuses to remove an instance that somebody has open, so one of a
/// process that cannot be seen from here (of another container) stays.
fn remove_those_of_the_dead(instances: &Path) {
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

/// The process that an instance of ours is named after.
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
    fn what_the_dead_left_is_removed_and_nothing_else() {
        let place = tempfile::tempdir().unwrap();
        let own = format!("tactus-{}-0", std::process::id());
        // No process has a number above the kernel's greatest (2^22).
        let names = ["tactus-99999999-0", "other-99999999-0", own.as_str()];
        for name in names {
            std::fs::create_dir(place.path().join(name)).unwrap();
        }
        remove_those_of_the_dead(place.path());
        let left: Vec<bool> = names.map(|name| place.path().join(name).exists()).into();
        assert_eq!(left, [false, true, true]);
    }

    #[test]
    fn an_instance_is_its_own_and_goes_with_its_owner_if_root() {
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
