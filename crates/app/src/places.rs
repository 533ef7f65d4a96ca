//! Where things are found and kept.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use tactus_guests::GuestPlaces;
use tactus_kernels::{BuildEvent, Kernels};
use tactus_model::facts::MachineFacts;
use tactus_model::run::RunId;
use tactus_store::{Store, StoreError};

use crate::{Error, ErrorKind, Result};

/// Where things are found and kept. A command takes its places from its environment; a
/// daemon may have others.
///
/// A place that is missing is an error only where it is needed.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// The file of the results database.
    pub store: Option<PathBuf>,
    /// The folder of kernels that were fetched or built.
    pub kernels: Option<PathBuf>,
    /// `tactus`, which is started again for each measurement.
    pub executable: Option<PathBuf>,
    /// The program of guests, where it is not beside `executable`.
    pub guest_program: Option<OsString>,
    /// The folders in which programs are looked for, as `PATH` names them.
    pub search_path: OsString,
}

/// Hears what happens while a kernel is built, which takes minutes.
pub type BuildListener = Box<dyn Fn(&BuildEvent<'_>) + Send + Sync>;

impl Places {
    /// The places that the environment of this process names.
    pub fn of_process() -> Self {
        Self::of_environment(|name| std::env::var_os(name), std::env::current_exe().ok())
    }

    /// The places that the environment of `lookup` names: `TACTUS_STORE` or `XDG_DATA_HOME`,
    /// `XDG_CACHE_HOME`, `HOME`, `TACTUS_GUEST`, `PATH`.
    pub fn of_environment(
        lookup: impl Fn(&str) -> Option<OsString>,
        executable: Option<PathBuf>,
    ) -> Self {
        let folder = |name: &str| lookup(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let cache = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")));
        Self {
            store: tactus_store::default_path(&lookup).ok(),
            kernels: cache.map(|cache| cache.join("tactus/kernels")),
            executable,
            guest_program: lookup("TACTUS_GUEST"),
            search_path: lookup("PATH").unwrap_or_default(),
        }
    }

    /// Opens the store, which is made when it is not there.
    ///
    /// # Errors
    /// It has no place, cannot be written, is damaged or not a store.
    pub fn open_store(&self) -> Result<Store> {
        Ok(Store::open(self.store()?)?)
    }

    /// The page of a run unless another file is named: in `reports/` beside the store.
    ///
    /// # Errors
    /// The store has no place.
    pub fn page(&self, run: &RunId) -> Result<PathBuf> {
        let folder = self.store()?.parent().unwrap_or(Path::new("."));
        Ok(folder.join("reports").join(format!("{run}.html")))
    }

    /// The kernels of this system, in `/boot` and in the folder of fetched and built ones.
    ///
    /// # Errors
    /// That folder has no place.
    pub fn kernels(&self, listener: BuildListener) -> Result<Kernels> {
        let kernels = Kernels::new("/boot", self.kernel_folder()?);
        Ok(kernels.building_with(self.search_path.clone()).with_listener(listener))
    }

    pub(crate) fn kernel_folder(&self) -> Result<&Path> {
        self.kernels.as_deref().ok_or_else(|| {
            let reason = "there is no place for fetched kernels: HOME is not set";
            Error::new(ErrorKind::Unavailable, reason)
        })
    }

    pub(crate) fn executable(&self) -> Result<&Path> {
        self.executable.as_deref().ok_or_else(|| {
            Error::new(ErrorKind::Unavailable, "the path of this program cannot be found")
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

    fn store(&self) -> Result<&Path> {
        Ok(self.store.as_deref().ok_or(StoreError::NoPlace)?)
    }
}

/// The facts of this machine as they are now.
pub(crate) fn facts() -> MachineFacts {
    tactus_sys::facts::read(Path::new("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_names_the_places_and_a_missing_one_hurts_where_it_is_needed() {
        let ann = |name: &str| (name == "HOME").then(|| OsString::from("/home/ann"));
        let places = Places::of_environment(ann, None);
        assert_eq!(places.kernel_folder().unwrap(), Path::new("/home/ann/.cache/tactus/kernels"));
        assert_eq!(
            places.page(&RunId::new("quick")).unwrap(),
            Path::new("/home/ann/.local/share/tactus/reports/quick.html")
        );
        let nowhere = Places::of_environment(|_| None, None);
        for error in [
            nowhere.open_store().unwrap_err(),
            nowhere.kernel_folder().unwrap_err(),
            nowhere.executable().unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        }
    }
}
