//! Golden recordings: one planted sample each with the events around it.
//!
//! `TACTUS_GOLDEN=1 cargo test -p tactus-explain --test live` writes them anew.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tactus_explain::{Cause, ProbeTask};

/// What is known of a golden recording.
#[derive(Debug, Serialize, Deserialize)]
pub struct Golden {
    /// The task with the planted sample alone.
    pub task: ProbeTask,
    /// The cause that is named first.
    pub first: Cause,
}

/// Where golden recordings lie.
pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/blame")
}
