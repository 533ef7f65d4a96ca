//! Runs a plan cell by cell on a target.
