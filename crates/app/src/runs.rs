//! Finding, listing and deleting runs.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use serde::Serialize;
use tactus_judge::verdict::{Validity, Verdict, verdict};
use tactus_model::address::Address;
use tactus_model::run::{RunId, RunSummary};
use tactus_store::Store;

use crate::subject::{Subject, is_exported_run};
use crate::{Error, Places, Result};

/// The runs of the store, which is opened for reading on first use, and those in files.
#[derive(Debug)]
pub struct Runs<'p> {
    places: &'p Places,
    store: OnceCell<Store>,
}

/// What a name means if recordings are accepted too.
#[derive(Debug)]
pub enum Source<'r> {
    /// The file of a recording, which has not been read.
    Recording(PathBuf),
    /// A run.
    Run(Box<Subject<'r>>),
}

impl<'p> Runs<'p> {
    /// The runs in the store of `places` and in files.
    pub const fn new(places: &'p Places) -> Self {
        Self { places, store: OnceCell::new() }
    }

    /// The store.
    ///
    /// # Errors
    /// It has no place or cannot be read.
    pub fn store(&self) -> Result<&Store> {
        if let Some(store) = self.store.get() {
            return Ok(store);
        }
        let store = self.places.open_store_to_read()?;
        Ok(self.store.get_or_init(|| store))
    }

    /// A run: an exported file, or a run of the store by its name, a unique prefix of it, or
    /// `last`. A cell in the address is chosen.
    ///
    /// # Errors
    /// There is no such run or cell, or the file contains no run.
    pub fn find(&self, address: &Address) -> Result<Subject<'_>> {
        if let Some(path) = file(address.as_str()) {
            return Subject::of_file(path);
        }
        let subject = match file(address.run()) {
            Some(path) => Subject::of_file(path)?,
            None => self.stored(address.run())?,
        };
        match address.cell() {
            Some(cell) => subject.choose(cell),
            None => Ok(subject),
        }
    }

    fn stored(&self, name: &str) -> Result<Subject<'_>> {
        if name.is_empty() {
            let error = Error::usage("the name of the run is empty");
            return Err(error.with_hint("`tactus list` shows all runs; `last` is the last one"));
        }
        let store = self.store()?;
        Subject::stored(store, &store.find(name)?)
    }

    /// Runs, and single cells as runs of their own; without an address, the last run.
    ///
    /// # Errors
    /// Those of [`Runs::find`].
    pub fn find_all(&self, addresses: &[Address]) -> Result<Vec<Subject<'_>>> {
        if addresses.is_empty() {
            return Ok(vec![self.stored("last")?]);
        }
        addresses.iter().map(|address| Ok(self.find(address)?.alone())).collect()
    }

    /// A run, or the file of a recording.
    ///
    /// # Errors
    /// Those of [`Runs::find`].
    pub fn source(&self, address: &Address) -> Result<Source<'_>> {
        match file(address.as_str()) {
            Some(path) if !is_exported_run(path)? => Ok(Source::Recording(path.to_owned())),
            _ => match self.find(address) {
                Err(_) if Path::new(address.as_str()).is_dir() => {
                    let error = Error::usage(format!("{} is a directory", address.as_str()));
                    Err(error.with_hint("name the file of a recording or of an exported run"))
                }
                found => Ok(Source::Run(Box::new(found?))),
            },
        }
    }
}

/// The path that `text` is, if it is one of a file.
fn file(text: &str) -> Option<&Path> {
    // A pipe or a device too, which opening refuses.
    Some(Path::new(text)).filter(|path| path.exists() && !path.is_dir())
}

/// A run of a list.
#[derive(Debug, Serialize)]
pub struct ListedRun {
    /// Its summary.
    #[serde(flatten)]
    pub summary: RunSummary,
    /// Whether its figures are valid.
    pub validity: Validity,
    /// The reasons.
    #[serde(skip)]
    pub verdict: Verdict,
}

/// Runs of the store, the last added first.
#[derive(Debug)]
pub struct Listing {
    /// The runs with their verdicts.
    pub runs: Vec<ListedRun>,
    /// The number of older runs that are not listed.
    pub older: usize,
}

/// Lists the `newest` runs of a store, or all of them. A verdict is computed from the whole run,
/// which takes about a second for a hundred runs.
///
/// # Errors
/// The store cannot be read.
pub fn list(store: &Store, newest: Option<usize>) -> Result<Listing> {
    let mut summaries = store.list()?;
    let older = newest.map_or(0, |newest| summaries.len().saturating_sub(newest));
    summaries.truncate(summaries.len() - older);
    let listed = |summary: RunSummary| {
        let verdict = verdict(&store.load(&summary.id)?);
        Ok(ListedRun { summary, validity: verdict.validity, verdict })
    };
    Ok(Listing { runs: summaries.into_iter().map(listed).collect::<Result<_>>()?, older })
}

/// Deletes runs permanently, if `agreed` agrees to all of them. Every name is looked up before
/// anything is deleted, so a typing error deletes nothing. Calls `on_deleted` for each deleted
/// run.
///
/// # Errors
/// There is no such run, an address names a cell, those of `agreed`, or the store cannot be written.
pub fn delete(
    store: &mut Store,
    addresses: &[Address],
    agreed: impl FnOnce(&[RunId]) -> Result<bool>,
    mut on_deleted: impl FnMut(&RunId),
) -> Result<()> {
    let mut runs = Vec::new();
    for address in addresses {
        let run = store.find(address.whole_run()?)?;
        // Two names may mean one run.
        if !runs.contains(&run) {
            runs.push(run);
        }
    }
    if !agreed(&runs)? {
        return Ok(());
    }
    for run in runs {
        store.delete(&run)?;
        on_deleted(&run);
    }
    Ok(())
}
