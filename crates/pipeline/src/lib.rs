//! The timing model of a pipeline: from measured operations to the time of a frame.
//!
//! A [`Pipeline`] is a description in TOML: stages, the operations of each, the processes that do
//! them, and a period with a budget. [`Pipeline::graph`] resolves it with the settings of a
//! measurement into a [`Graph`], whose cells are what must be measured. [`Prediction::of`] runs the
//! graph in virtual time ([`simulate`]) with durations drawn from the measured samples ([`draws`]),
//! so that it yields a distribution and no sum of means. [`Comparison::of`] sets frames of the real
//! pipeline beside it and says where the difference comes from.
//!
//! Nothing here reads a clock or measures. The same seed gives the same prediction.
#![forbid(unsafe_code)]

mod compare;
mod description;
mod dissect;
pub mod draws;
mod estimate;
mod graph;
mod predict;
mod resolve;
pub mod shipped;
pub mod simulate;
mod source;
mod steps;
pub mod warnings;

#[cfg(test)]
#[path = "../fixtures/graphs.rs"]
mod fixture;

pub use compare::{Behind, Cause, Compared, Comparison, Conditions, Measured};
pub use description::{BadPipeline, Pipeline};
pub use dissect::Span;
pub use estimate::{Chance, Estimate, QUANTILES};
pub use graph::{Graph, Link, Part, Process, Stage};
pub use predict::{Effect, Improvement, PartFigures, Parts, Prediction, Use};
pub use source::{Difference, Source};
