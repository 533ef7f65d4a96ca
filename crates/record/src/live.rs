//! Recording the running kernel.
//!
//! The kernel records by one of two mechanisms, perf or an instance of tracefs, into
//! one buffer for each CPU. The code behind the buffers is the same for both.
//!
//! There are four threads. The caller's thread opens the events and ends the
//! recording. The *drainer*, an ordinary thread, turns records into events and events into
//! blocks, from time to time and when a buffer reaches its watermark. The *watcher of the
//! level* then wakes it, and gives it a low real-time priority if the buffers stay full. The
//! *writer*, an ordinary thread, writes blocks to a file or keeps them in memory. If
//! the writer falls behind by more than its share of memory, the drainer leaves records
//! in the buffers, where the kernel counts what it loses.
//!
//! ```no_run
//! use tactus_record::live::{Keep, Options, Recorder};
//!
//! let options = Options { keep: Keep::File("system.tactusrec".into()), ..Options::default() };
//! let recorder = Recorder::start(options)?;
//! std::thread::sleep(std::time::Duration::from_secs(1));
//! let recorded = recorder.stop()?;
//! println!("{} events lost", recorded.summary.lost());
//! # Ok::<(), tactus_record::live::RecordError>(())
//! ```

mod background;
mod command;
mod copies;
mod drainer;
mod error;
mod follow;
mod idle_thread;
mod intake;
mod level;
mod mechanism;
mod open;
mod options;
mod overwriting;
mod pace;
mod perf;
mod quota;
mod recorder;
mod symbols;
mod threads;
mod tracefs;
mod writer;

pub use command::{Control, RecordEvent, Stopper, record, record_with};
pub use error::RecordError;
pub use follow::LiveSource;
pub use open::Prepared;
pub use options::{DrainerOptions, Keep, Options, Source};
pub use overwriting::{Newest, OverwritingRecorder};
pub use recorder::{Recorded, Recorder};
pub use symbols::Symbols;
pub use tactus_model::recording::CallChains;
pub use writer::{left_parts, require_regular};
