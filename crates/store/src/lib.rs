//! The results database: runs with their results and samples.
//!
//! One SQLite file contains all runs, or a database of PostgreSQL that many machines share. A turn
//! is written in one transaction and is on disk when
//! [`Store::save_measurement`] returns, so a kill or a power failure at any moment loses at
//! most the cell in flight. A result that does not balance is not stored, and a complete run is
//! never changed. [`FileRun`] reads an exported run, with the same checks, without a store.
#![forbid(unsafe_code)]

mod balance;
mod ballast;
mod bounded;
mod columns;
mod database;
mod document;
mod engine;
mod error;
mod export;
mod fault;
mod file_run;
mod find;
mod import;
mod load;
mod location;
mod name;
mod postgresql;
mod reading;
mod save;
mod sqlite;
mod store;

pub use balance::Imbalance;
pub use error::StoreError;
pub use export::{FORMAT, FORMAT_VERSION, document};
pub use file_run::FileRun;
pub use location::{Location, default_path};
pub use name::after as run_name;
pub use postgresql::{Refusal, Server, ServerError, without_passwords};
pub use store::Store;
