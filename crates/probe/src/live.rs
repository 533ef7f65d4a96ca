//! Samples that another process reads while they are measured.
//!
//! The loop is that of [`timer`](crate::timer). Instead of keeping samples in memory that is read
//! afterwards, each task writes into a ring in shared memory ([`SampleRings`]). The reader, in a
//! separate process, repeats the schedule along with the samples that it takes out ([`Follower`]). So
//! it knows at any moment what was missed and dropped, and the measuring process does nothing
//! besides measuring.

mod follow;
mod ring;

use std::os::fd::RawFd;

use serde::{Deserialize, Serialize};

pub use follow::Follower;
pub use ring::{RingLayout, RingWriter, SampleRings};

/// The place of rings that a child inherits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RingsPlace {
    /// The file descriptor.
    pub file: RawFd,
    /// Their size.
    pub layout: RingLayout,
}
