//! The timing monitor: what a cell does while it is measured, as a person looks at it.

mod figures;
mod plain;

pub use figures::{LatencyFigures, LiveFigures, StretchFigures, Worst};
pub use plain::{plain_header, plain_line, plain_total};
