//! Golden recordings: each is one planted sample with the events around it.
//!
//! `TACTUS_GOLDEN=1 cargo test -p tactus-explain --test live` writes new ones.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tactus_explain::{Cause, ProbeTask};

/// The description of a golden recording.
#[derive(Debug, Serialize, Deserialize)]
pub struct Golden {
    /// The task with only the planted sample.
    pub task: ProbeTask,
    /// The cause that must be named first.
    pub first: Cause,
}

/// The folder of the golden recordings.
pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/blame")
}
