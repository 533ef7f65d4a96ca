//! Where files and programs are.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tactus_guests::{GuestPlaces, KvmTrials};
use tactus_kernels::Kernels;
use tactus_model::facts::{MachineFacts, NodeFacts};
use tactus_model::format::shell_word;
use tactus_model::run::RunId;
use tactus_store::{Location, Store, StoreError, without_passwords};

use crate::build_event::{BuildEvent, BuildListener};
use crate::{Error, ErrorKind, Result, files};

/// Where files and programs are. A command takes its places from its environment; a daemon may
/// have others.
///
/// A missing place is an error only if it is needed.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// The results database: a path, or the URL of a server.
    pub store: Option<OsString>,
    /// Whether the directory of that file must exist, because a person named the file. Otherwise
    /// it is created.
    pub store_is_named: bool,
    /// The results database that a person named on the command line, for commands in hints.
    pub store_option: Option<OsString>,
    /// The password for a server whose URL has none.
    pub server_password: Option<String>,
    /// The directory of pages and logs, if the results database is on a server. They are beside a
    /// file.
    pub data: Option<PathBuf>,
    /// The directory of fetched and built kernels.
    pub kernels: Option<PathBuf>,
    /// The `tactus` program, which is started again for each measurement.
    pub executable: Option<PathBuf>,
    /// The program that runs in guests, if it is not beside `executable`.
    pub guest_program: Option<OsString>,
    /// The directories of programs, in the format of `PATH`.
    pub search_path: OsString,
    /// Which kernels KVM boots, as far as this process has tried.
    pub kvm_trials: Arc<KvmTrials>,
    /// The command line, which is kept with the runs that it measures.
    pub command: Option<String>,
    /// Which node of a cluster this process measures on, which is kept with its runs.
    pub node: Option<NodeFacts>,
}

/// The command with these arguments as a line for a shell.
fn command_line(arguments: impl Iterator<Item = OsString>) -> String {
    let words = arguments.map(|argument| shell_word(&argument.to_string_lossy()));
    std::iter::once("tactus".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

impl Places {
    /// The places from the environment of this process.
    pub fn of_process() -> Self {
        let places =
            Self::of_environment(|name| std::env::var_os(name), std::env::current_exe().ok());
        // The command line is exported with runs.
        let command = without_passwords(&command_line(std::env::args_os().skip(1)));
        Self { command: Some(command), ..places }
    }

    /// The same places with the results database that a person named, if any.
    #[must_use]
    pub fn with_store(self, named: Option<OsString>) -> Self {
        match named {
            Some(store) => Self {
                store: Some(store.clone()),
                store_is_named: true,
                store_option: Some(store),
                ..self
            },
            None => self,
        }
    }

    /// The places from the environment of `lookup`: `TACTUS_STORE` or `XDG_DATA_HOME`,
    /// `XDG_CACHE_HOME`, `HOME`, `PGPASSWORD`, `TACTUS_GUEST`, `PATH`.
    pub fn of_environment(
        lookup: impl Fn(&str) -> Option<OsString>,
        executable: Option<PathBuf>,
    ) -> Self {
        let directory =
            |name: &str| lookup(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let cache = directory("XDG_CACHE_HOME").or_else(|| Some(directory("HOME")?.join(".cache")));
        Self {
            store: tactus_store::default_path(&lookup).ok().map(PathBuf::into_os_string),
            store_is_named: lookup("TACTUS_STORE").is_some_and(|path| !path.is_empty()),
            store_option: None,
            server_password: lookup("PGPASSWORD").and_then(|password| password.into_string().ok()),
            data: tactus_store::default_path(|name| {
                lookup(name).filter(|_| name != "TACTUS_STORE")
            })
            .ok()
            .and_then(|file| Some(file.parent()?.to_owned())),
            kernels: cache.map(|cache| cache.join("tactus/kernels")),
            executable,
            guest_program: lookup("TACTUS_GUEST"),
            search_path: lookup("PATH").unwrap_or_default(),
            kvm_trials: Arc::default(),
            command: None,
            node: None,
        }
    }

    /// Opens the store, and creates it if it does not exist.
    ///
    /// # Errors
    /// It has no place, cannot be written, is damaged, or is not a store; or the directory of a
    /// store that a person named does not exist.
    pub fn open_store(&self) -> Result<Store> {
        Ok(self.store_to_write()?.open()?)
    }

    /// Opens the store for reading; without a file it is empty.
    ///
    /// # Errors
    /// It has no place, cannot be read, is damaged, or is not a store.
    pub fn open_store_to_read(&self) -> Result<Store> {
        Ok(self.store()?.open_to_read()?)
    }

    /// The file of the store, if that is a file and does not exist.
    ///
    /// # Errors
    /// It has no place.
    pub fn absent_store(&self) -> Result<Option<PathBuf>> {
        let store = self.store()?;
        Ok(store.file().filter(|file| !file.exists()).map(Path::to_owned))
    }

    /// Opens the store for deleting runs, also on a full disk.
    ///
    /// # Errors
    /// As [`Places::open_store`].
    pub fn open_store_to_delete(&self) -> Result<Store> {
        Ok(self.store_to_write()?.open_to_delete()?)
    }

    /// The default file of a run's page: in `reports/` beside the store.
    ///
    /// # Errors
    /// The store has no place.
    pub fn page(&self, run: &RunId) -> Result<PathBuf> {
        let directory = self.beside_store()?;
        // The name of a run is a file name; that of a cell would be cut by a browser at its `#`.
        let name = run.as_str().replace('#', "-cell-");
        Ok(directory.join("reports").join(format!("{name}.html")))
    }

    /// The directory of the recordings that `tactus agent` saves: beside the store.
    ///
    /// # Errors
    /// The store has no place.
    pub fn recordings(&self) -> Result<PathBuf> {
        Ok(self.beside_store()?.join("recordings"))
    }

    /// The kernels in `/boot` and in the directory of fetched and built kernels.
    ///
    /// # Errors
    /// That directory has no place.
    pub fn kernels(&self, listener: BuildListener) -> Result<Kernels> {
        let kernels = Kernels::new("/boot", self.kernel_directory()?);
        Ok(kernels
            .building_with(self.search_path.clone())
            .with_listener(move |event| listener(&BuildEvent::Kernel(event.clone()))))
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
            consoles: self.beside_store()?.join("consoles"),
            kvm_trials: Arc::clone(&self.kvm_trials),
        })
    }

    fn store_to_write(&self) -> Result<Location> {
        let location = self.store()?;
        if let (Location::File(path), true) = (&location, self.store_is_named) {
            files::require_directory(path)?;
        }
        Ok(location)
    }

    fn store(&self) -> Result<Location> {
        let name = self.store.as_deref().ok_or(StoreError::NoPlace)?;
        Ok(Location::named(name, self.server_password.as_deref())?)
    }

    /// The directory of pages and logs.
    fn beside_store(&self) -> Result<PathBuf> {
        match self.store()? {
            Location::File(path) => Ok(path.parent().unwrap_or(Path::new(".")).to_owned()),
            Location::Server(_) => Ok(self.data.clone().ok_or(StoreError::NoPlace)?),
        }
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
        let shared =
            Places { store: None, ..places }.with_store(Some("postgresql://lab/db".into()));
        assert_eq!(
            shared.page(&RunId::new("quick")).unwrap(),
            Path::new("/home/ann/.local/share/tactus/reports/quick.html")
        );
        let wrong = shared.with_store(Some("mysql://lab/db".into())).open_store().unwrap_err();
        assert_eq!(wrong.kind(), ErrorKind::Usage, "{wrong}");
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
