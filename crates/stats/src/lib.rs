//! Statistics of samples: histograms, quantiles and their uncertainty.
//!
//! Everything here is a pure function of its arguments; functions that need randomness take a
//! seed. In order of data flow: [`summary`] reduces a task's samples to the stored result,
//! [`histogram`] is its form, [`cell`] pools the rounds and tasks of a cell, [`bootstrap`] and
//! [`unseen`] compute what the pool supports, [`order`] the limit of a quantile of single values, [`narrow`] decides whether to continue measuring,
//! [`extreme`] estimates the tail for longer durations, [`axis`] computes the position of a
//! quantile in a graph, [`paired`] the difference between two kinds of window, [`frames`] the
//! expected frames of a player, [`changes`] where the level of a series changed, [`sorts`] the overhead in a computation, [`interrupt_cost`] the cost of a clock interrupt, [`costs`] the cost of an operation, and [`modes`] the
//! speeds of a machine that has two.
#![forbid(unsafe_code)]

pub mod axis;
pub mod bootstrap;
pub mod bursts;
pub mod cell;
pub mod changes;
pub mod costs;
pub mod extreme;
pub mod frames;
pub mod histogram;
pub mod interrupt_cost;
pub mod median;
pub mod modes;
pub mod narrow;
pub mod order;
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
