//! The results database: runs, what they found, and their samples.
//!
//! One SQLite file holds every run. A turn is written in one transaction and is
//! on the disk when [`Store::save_measurement`] returns, so a kill or a power
//! failure at any moment loses at most the cell in flight. Nothing is stored
//! that does not balance, and a complete run is never altered. [`FileRun`] reads an exported
//! run, by the same checks, without a store.
#![forbid(unsafe_code)]

mod balance;
mod columns;
mod database;
mod document;
mod error;
mod export;
mod fault;
mod file_run;
mod find;
mod import;
mod load;
mod location;
mod name;
mod save;
mod store;

pub use balance::{COUNT_LIMIT, Imbalance};
pub use error::StoreError;
pub use export::{FORMAT, FORMAT_VERSION};
pub use file_run::FileRun;
pub use location::default_path;
pub use store::Store;
