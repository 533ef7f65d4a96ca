//! Measured loops.
