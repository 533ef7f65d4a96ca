//! Measured loops.
//!
//! [`run()`] measures one cell: it starts the tasks on each CPU, lets each prepare itself as the
//! [policy](tactus_model::policy) requests, waits until all are ready, sends them a common
//! start time, and evaluates their samples after the window has closed. There are six probes.
//! The tasks of the timer probe sleep until a due time and record when they wake; the tasks of
//! the frames probe are players; the tasks of the sort probe compute; the task of the net probe
//! sends packets; the task of the cost probe repeats an operation; the task of the MIDI probe delivers
//! messages at their due times.
//!
//! The parts, in the order of the data path: [`schedule`] computes when wakeups are due,
//! [`timer`], [`frames`] and [`sort`] are the measured loops, [`tactus_prepare`] prepares the thread
//! in which they run, and [`evaluate`] turns samples into a result.
#![forbid(unsafe_code)]

mod apparatus;
mod cost;
mod crew;
mod error;
pub mod evaluate;
mod facility;
pub mod frames;
pub mod interrupted;
pub mod live;
mod midi;
mod net;
mod operations;
mod pipeline;
mod playback;
mod run;
pub mod schedule;
mod shortfalls;
pub mod sort;
mod task;
pub mod timer;
pub mod work;

pub use cost::cost_of_loop;
pub use crew::TaskProcess;
pub use error::ProbeError;
pub use interrupted::interrupted_main;
pub use net::relay_main;
pub use operations::system_call_ns;
pub use pipeline::{PipelineError, PipelineFrames, RunningPipeline};
pub use run::{LiveTasks, ProbeEvent, ProbeOutcome, places, run};
pub use shortfalls::Shortfalls;
#[doc(hidden)]
pub use task::is_message;
pub use task::task_main;
