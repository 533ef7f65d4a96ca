//! Recording the running kernel.
//!
//! Three threads take part. The caller's opens the events and ends
//! the recording. The *drainer*, of low real-time priority, sleeps until a ring
//! reaches its watermark, turns records into events and those into blocks. The
//! *keeper*, an ordinary thread, writes blocks to a file or keeps them in
//! memory; when it falls behind by more than its share of memory, the drainer
//! leaves records in the rings, where the kernel counts what it loses.
//!
//! ```no_run
//! use tactus_record::live::{Keep, Options, Recorder};
//!
//! let options = Options { keep: Keep::File("system.tactusrec".into()), ..Options::default() };
//! let recorder = Recorder::start(options)?;
//! std::thread::sleep(std::time::Duration::from_secs(1));
//! let recorded = recorder.stop()?;
//! assert!(recorded.summary.balances());
//! # Ok::<(), tactus_record::live::RecordError>(())
//! ```

mod command;
mod copies;
mod drainer;
mod error;
mod follow;
mod keeper;
mod open;
mod options;
mod recorder;
mod symbols;
mod threads;

pub use command::{Control, RecordEvent, Stopper, record, record_with};
pub use error::RecordError;
pub use follow::LiveSource;
pub use options::{DrainerOptions, Keep, Options};
pub use recorder::{Recorded, Recorder};
pub use symbols::Symbols;
