//! What samples say together: histograms, quantiles and how far they can be trusted.
//!
//! Everything here is a pure function of its arguments; what needs randomness
//! takes a seed. The order in which data flows: [`summary`] turns a task's
//! samples into what is kept of them, [`histogram`] is the form it is kept in,
//! [`cell`] pools the rounds and tasks of a cell, [`bootstrap`] and [`unseen`] say
//! what the pool supports, [`narrow`] whether to measure on, [`extreme`] what may be
//! expected of longer times, [`axis`] where a quantile stands in a graph, [`paired`]
//! what two kinds of window differ by, [`frames`] what a player is expected to show,
//! [`sorts`] what took the processor from a computation.
#![forbid(unsafe_code)]

pub mod axis;
pub mod bootstrap;
pub mod bursts;
pub mod cell;
pub mod extreme;
pub mod frames;
pub mod histogram;
pub mod narrow;
pub mod paired;
pub mod simulate;
pub mod sorts;
pub mod summary;
pub mod unseen;

pub use axis::{PercentileAxis, percentile_curve};
pub use bootstrap::Interval;
pub use bursts::BurstyCount;
pub use cell::{CellSummary, LoadRate, QuantileEstimate};
pub use histogram::{Bucket, LatencyHistogram};
pub use unseen::UnseenBound;
