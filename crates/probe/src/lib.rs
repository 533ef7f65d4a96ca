//! Measured loops.
//!
//! [`run()`] measures one cell: it starts a task on each CPU, has each
//! prepare itself as the [policy](tactus_model::policy) asks, lets all of them
//! meet, gives them one instant to start at, and evaluates what they found after
//! the window has closed. There are three probes. The tasks of the timer probe sleep
//! until a due time and tell when they came; those of the frames probe are players; those
//! of the sort probe compute.
//!
//! The parts, in the order in which data flows through them: [`schedule`] says
//! when wakeups are due, [`timer`], [`frames`] and [`sort`] are the measured loops, [`tactus_rt`] prepares the
//! thread they run in, [`evaluate`] turns its samples into a result.
#![forbid(unsafe_code)]

mod cost;
mod crew;
mod error;
pub mod evaluate;
mod facility;
pub mod frames;
pub mod live;
mod run;
pub mod schedule;
pub mod sort;
mod task;
pub mod timer;
pub mod work;

pub use cost::cost_of_loop;
pub use crew::TaskProcess;
pub use error::ProbeError;
pub use run::{LiveTasks, ProbeEvent, ProbeOutcome, places, run};
pub use task::task_main;
