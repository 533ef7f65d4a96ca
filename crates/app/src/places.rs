//! Where files and programs are.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use tactus_guests::GuestPlaces;
use tactus_kernels::{BuildEvent, Kernels};
use tactus_model::facts::MachineFacts;
use tactus_model::format::shell_word;
use tactus_model::run::RunId;
use tactus_store::{Store, StoreError};

use crate::{Error, ErrorKind, Result, files};

/// Where files and programs are. A command takes its places from its environment; a daemon may
/// have others.
///
/// A missing place is an error only if it is needed.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// The file of the results database.
    pub store: Option<PathBuf>,
    /// Whether the directory of that file must exist, because a person named the file. Otherwise
    /// it is created.
    pub store_is_named: bool,
    /// The directory of fetched and built kernels.
    pub kernels: Option<PathBuf>,
    /// The `tactus` program, which is started again for each measurement.
    pub executable: Option<PathBuf>,
    /// The program that runs in guests, if it is not beside `executable`.
    pub guest_program: Option<OsString>,
    /// The directories of programs, in the format of `PATH`.
    pub search_path: OsString,
    /// The command line, which is kept with the runs that it measures.
    pub command: Option<String>,
}

/// The command with these arguments as a line for a shell.
fn command_line(arguments: impl Iterator<Item = OsString>) -> String {
    let words = arguments.map(|argument| shell_word(&argument.to_string_lossy()));
    std::iter::once("tactus".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

/// Receives the progress of a kernel build, which takes minutes.
pub type BuildListener = Box<dyn Fn(&BuildEvent<'_>) + Send + Sync>;

impl Places {
    /// The places from the environment of this process.
    pub fn of_process() -> Self {
        let places =
            Self::of_environment(|name| std::env::var_os(name), std::env::current_exe().ok());
        Self { command: Some(command_line(std::env::args_os().skip(1))), ..places }
    }

    /// The places from the environment of `lookup`: `TACTUS_STORE` or `XDG_DATA_HOME`,
    /// `XDG_CACHE_HOME`, `HOME`, `TACTUS_GUEST`, `PATH`.
    pub fn of_environment(
        lookup: impl Fn(&str) -> Option<OsString>,
        executable: Option<PathBuf>,
    ) -> Self {
        let directory =
            |name: &str| lookup(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let cache = directory("XDG_CACHE_HOME").or_else(|| Some(directory("HOME")?.join(".cache")));
        Self {
            store: tactus_store::default_path(&lookup).ok(),
            store_is_named: lookup("TACTUS_STORE").is_some_and(|path| !path.is_empty()),
            kernels: cache.map(|cache| cache.join("tactus/kernels")),
            executable,
            guest_program: lookup("TACTUS_GUEST"),
            search_path: lookup("PATH").unwrap_or_default(),
            command: None,
        }
    }

    /// Opens the store, and creates it if it does not exist.
    ///
    /// # Errors
    /// It has no place, cannot be written, is damaged, or is not a store; or the directory of a
    /// store that a person named does not exist.
    pub fn open_store(&self) -> Result<Store> {
        Ok(Store::open(self.store_to_write()?)?)
    }

    /// Opens the store for reading; without a file it is empty.
    ///
    /// # Errors
    /// It has no place, cannot be read, is damaged, or is not a store.
    pub fn open_store_to_read(&self) -> Result<Store> {
        Ok(Store::open_to_read(self.store()?)?)
    }

    /// Opens the store for deleting runs, also on a full disk.
    ///
    /// # Errors
    /// As [`Places::open_store`].
    pub fn open_store_to_delete(&self) -> Result<Store> {
        Ok(Store::open_to_delete(self.store_to_write()?)?)
    }

    /// The default file of a run's page: in `reports/` beside the store.
    ///
    /// # Errors
    /// The store has no place.
    pub fn page(&self, run: &RunId) -> Result<PathBuf> {
        let directory = self.store()?.parent().unwrap_or(Path::new("."));
        // The name of a run is a file name; that of a cell would be cut by a browser at its `#`.
        let name = run.as_str().replace('#', "-cell-");
        Ok(directory.join("reports").join(format!("{name}.html")))
    }

    /// The kernels in `/boot` and in the directory of fetched and built kernels.
    ///
    /// # Errors
    /// That directory has no place.
    pub fn kernels(&self, listener: BuildListener) -> Result<Kernels> {
        let kernels = Kernels::new("/boot", self.kernel_directory()?);
        Ok(kernels.building_with(self.search_path.clone()).with_listener(listener))
    }

    /// The directory of bisections: worktrees, objects, images and verdicts.
    ///
    /// # Errors
    /// It has no place.
    pub fn bisections(&self) -> Result<PathBuf> {
        Ok(self.kernel_directory()?.join("bisections"))
    }

    pub(crate) fn kernel_directory(&self) -> Result<&Path> {
        self.kernels.as_deref().ok_or_else(|| {
            let reason = "cannot find the directory of kernels: HOME is not set";
            Error::new(ErrorKind::Unavailable, reason)
        })
    }

    pub(crate) fn executable(&self) -> Result<&Path> {
        self.executable.as_deref().ok_or_else(|| {
            Error::new(ErrorKind::Unavailable, "cannot find the path of the tactus program")
        })
    }

    pub(crate) fn guests(&self) -> Result<GuestPlaces> {
        Ok(GuestPlaces {
            executable: self.executable()?.to_owned(),
            program: self.guest_program.clone(),
            search_path: self.search_path.clone(),
            consoles: self.store()?.with_file_name("consoles"),
        })
    }

    fn store_to_write(&self) -> Result<&Path> {
        let path = self.store()?;
        if self.store_is_named {
            files::require_directory(path)?;
        }
        Ok(path)
    }

    fn store(&self) -> Result<&Path> {
        Ok(self.store.as_deref().ok_or(StoreError::NoPlace)?)
    }
}

/// The current facts of this machine.
pub(crate) fn facts() -> MachineFacts {
    tactus_sys::facts::read(Path::new("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_come_from_the_environment_and_a_missing_place_is_an_error_when_needed() {
        let ann = |name: &str| (name == "HOME").then(|| OsString::from("/home/ann"));
        let places = Places::of_environment(ann, None);
        assert_eq!(
            places.kernel_directory().unwrap(),
            Path::new("/home/ann/.cache/tactus/kernels")
        );
        assert_eq!(
            places.page(&RunId::new("quick")).unwrap(),
            Path::new("/home/ann/.local/share/tactus/reports/quick.html")
        );
        let nowhere = Places::of_environment(|_| None, None);
        for error in [
            nowhere.open_store().unwrap_err(),
            nowhere.kernel_directory().unwrap_err(),
            nowhere.executable().unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        }
    }
}
