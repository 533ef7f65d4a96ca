//! Where events come from: a running kernel, a file, a simulator, memory.

use super::account::{About, Lost};
use super::dictionary::Dictionary;
use super::event::Event;

/// A source of events in the order of time.
///
/// The events of all processors come merged: no event is earlier than the one
/// before it. A loss comes before the first event that is later than its start.
pub trait EventSource {
    /// What the recording covers.
    fn about(&self) -> &About;

    /// What the events refer to; complete for every event that was handed out.
    fn dictionary(&self) -> &Dictionary;

    /// The next event or loss; `None` at the end.
    ///
    /// # Errors
    /// The recording is damaged from here on, or the kernel gives no more.
    fn next_item(&mut self) -> Result<Option<Item>, SourceError>;
}

/// What a source hands out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// An event.
    Event(Event),
    /// Events that are not there.
    Lost(Lost),
}

/// Why a source gives no more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// What was kept cannot be read from here on; all before it stands.
    #[error("the recording is damaged: {0}")]
    Damaged(String),
    /// The kernel refused.
    #[error("the recording broke off: {0}")]
    BrokenOff(String),
}
