//! Samples that are looked at while they are measured.
//!
//! The loop is the one of [`timer`](crate::timer). In place of memory that is read
//! afterwards each task writes into a ring in shared memory ([`SampleRings`]), and
//! whoever looks, in a process of his own, tells the schedule again beside what he
//! takes out ([`Follower`]), so that what was missed and what was dropped is known
//! at any moment and the measuring process does nothing besides measuring.

mod follow;
mod ring;

use std::os::fd::RawFd;

use serde::{Deserialize, Serialize};

pub use follow::Follower;
pub use ring::{RingLayout, RingWriter, SampleRings};

/// Where a child finds rings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RingsPlace {
    /// The number of the file that it inherits.
    pub file: RawFd,
    /// Their size.
    pub layout: RingLayout,
}
