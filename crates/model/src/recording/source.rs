//! Sources of events: a running kernel, a file, a simulator, memory.

use super::account::{About, Lost};
use super::dictionary::Dictionary;
use super::event::Event;

/// A source of events in time order.
///
/// The events of all CPUs are merged: timestamps never decrease. A loss precedes the first
/// event that is later than its start.
pub trait EventSource {
    /// The coverage of the recording.
    fn about(&self) -> &About;

    /// The data that events refer to; complete for every event returned so far.
    fn dictionary(&self) -> &Dictionary;

    /// The next event or loss; `None` at the end.
    ///
    /// # Errors
    /// The recording is damaged from here on, or the kernel delivers no more events.
    fn next_item(&mut self) -> Result<Option<Item>, SourceError>;
}

/// An item of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// An event.
    Event(Event),
    /// A gap: events were lost.
    Lost(Lost),
}

/// Why a source cannot continue.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// The stored data cannot be read from here on; everything before it is valid.
    #[error("the recording is damaged: {0}")]
    Damaged(String),
    /// The kernel refused to continue.
    #[error("the recording ended early: {0}")]
    BrokenOff(String),
}
