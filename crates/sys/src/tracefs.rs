//! The kernel's tracing: formats of its tracepoints, and instances that record them.
//!
//! See the kernel's *Documentation/trace/events.rst* and *ftrace.rst*. This module
//! reads and writes the files; other modules interpret them.

mod instance;
mod pages;

use std::io;
use std::path::{Path, PathBuf};

use crate::capability::{Reading, with};

pub use instance::{
    CpuFiles, Instance, remove_instances_of, remove_stale_instances, stale_instances,
};
pub use pages::Pages;

/// The directory in which the kernel shows its tracepoints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tracefs {
    events: PathBuf,
}

/// The two possible mount points of the file system.
pub const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

impl Tracefs {
    /// Finds the file system; mounts it if it is not mounted and this process may mount
    /// it.
    ///
    /// # Errors
    /// - `ENOENT`: it is not mounted and this process may not mount it, or the kernel
    ///   has no tracepoints.
    /// - `EACCES`: it is mounted, but this process may not read it (CAP_DAC_READ_SEARCH
    ///   or another mode of the mount point allows it).
    pub fn find() -> io::Result<Self> {
        let found = Self::find_among(&PLACES.map(Path::new));
        if found.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
            && mount(PLACES[0]).is_ok()
        {
            return Self::find_among(&PLACES.map(Path::new));
        }
        found
    }

    fn find_among(places: &[&Path]) -> io::Result<Self> {
        let mut error = io::Error::from(crate::Errno::NOENT);
        for place in places {
            let events = place.join("events");
            match with(Reading::KernelFiles, || std::fs::read_dir(&events)) {
                Ok(_) => return Ok(Self { events }),
                // A permission error says more than a missing file in the other place.
                Err(refused) if refused.kind() != io::ErrorKind::NotFound => error = refused,
                Err(_) => {}
            }
        }
        Err(error)
    }

    /// The directory of all events.
    pub fn directory(&self) -> &Path {
        &self.events
    }

    /// The directory of the instances.
    fn instances(&self) -> PathBuf {
        self.events.with_file_name("instances")
    }

    /// The text of a file next to the events, for example `header_page`.
    ///
    /// # Errors
    /// Those of [`Self::format`].
    pub fn header(&self, name: &str) -> io::Result<String> {
        // The kernel returns these texts to the first read and nothing to a second one.
        let mut text = vec![0; 4096];
        let open = || std::fs::File::open(self.events.join(name));
        let length = io::Read::read(&mut with(Reading::KernelFiles, open)?, &mut text)?;
        Ok(String::from_utf8_lossy(&text[..length]).into_owned())
    }

    /// The text of the `format` file of `event`, for example `sched/sched_switch`.
    ///
    /// # Errors
    /// - `ENOENT`: this kernel does not have the event.
    /// - `EACCES`: only root may read its format.
    pub fn format(&self, event: &str) -> io::Result<String> {
        let format = self.events.join(event).join("format");
        with(Reading::KernelFiles, || std::fs::read_to_string(format))
    }
}

/// Mounts tracefs; the kernel creates the directory itself.
fn mount(place: &str) -> Result<(), crate::SysError> {
    let place = std::ffi::CString::new(place)
        .map_err(|_| crate::SysError::new("mount", crate::Errno::INVAL))?;
    let name = c"tracefs";
    // SAFETY: three NUL-terminated strings that live through the call, and no data.
    let returned = unsafe {
        libc::mount(
            name.as_ptr(),
            place.as_ptr(),
            name.as_ptr(),
            libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC,
            std::ptr::null(),
        )
    };
    crate::SysError::check("mount", returned).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_place_that_can_be_read_is_taken() {
        let place = tempfile::tempdir().unwrap();
        let missing = place.path().join("missing");
        let error = Tracefs::find_among(&[&missing]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        let event = place.path().join("events/sched/sched_switch");
        std::fs::create_dir_all(&event).unwrap();
        std::fs::write(event.join("format"), "ID: 7\n").unwrap();
        let tracefs = Tracefs::find_among(&[&missing, place.path()]).unwrap();
        assert_eq!(tracefs.format("sched/sched_switch").unwrap(), "ID: 7\n");
        assert!(tracefs.format("sched/none").is_err());
    }
}
