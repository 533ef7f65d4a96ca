//! Items, and what belongs to them.

use serde::{Deserialize, Serialize};
pub use tactus_model::time::Moment;
use tactus_model::time::Nanos;

/// A client of the server; numbers are not used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ClientId(pub u32);

/// A stream of a client: its items go to one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct StreamId(pub u32);

/// A branch of a client's program. It may have items in several streams, and is cut in all of them
/// at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BranchId(pub u32);

/// How often a branch had been cut when an item was computed.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Epoch(pub u32);

impl Epoch {
    /// The epoch after it. The last one has none after it.
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

/// What happens to an item whose time has passed when its device takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum IfLate {
    /// It is delivered all the same, as soon as possible.
    Deliver,
    /// It is dropped if it is later than this.
    Drop(Nanos),
    /// If it is later than this, it is dropped, and its stream stops until its client resumes it.
    Stop(Nanos),
}

impl IfLate {
    /// The lateness beyond which an item is not delivered.
    pub const fn tolerance(self) -> Option<Nanos> {
        match self {
            Self::Deliver => None,
            Self::Drop(tolerance) | Self::Stop(tolerance) => Some(tolerance),
        }
    }
}

/// Something that is to be delivered at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item<P> {
    /// Who submitted it.
    pub client: ClientId,
    /// Its number among the items of its client, which grows.
    pub sequence: u64,
    /// Where it goes.
    pub stream: StreamId,
    /// The branch that it belongs to.
    pub branch: BranchId,
    /// The epoch of the branch in which it was computed.
    pub epoch: Epoch,
    /// When it is to be delivered.
    pub due: Moment,
    /// What happens if it is late.
    pub if_late: IfLate,
    /// What is delivered.
    pub payload: P,
}

/// Where an item stands in the queue of its device: by time, then by client, then as submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// When it is due.
    pub due: Moment,
    /// Who submitted it.
    pub client: ClientId,
    /// Its number among the items of its client.
    pub sequence: u64,
}

impl<P> Item<P> {
    /// Its place.
    pub const fn place(&self) -> Place {
        Place { due: self.due, client: self.client, sequence: self.sequence }
    }
}
