//! Messages to the monitor, and its requests.

use tactus_explain::ExplainedSample;
use tactus_model::cell::Cell;
use tactus_model::live::Batch;
use tactus_model::result::Shortfall;
use tactus_model::time::Nanos;

/// A key that the monitor understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A character.
    Char(char),
    /// The enter key.
    Enter,
    /// The escape key, or an interrupt.
    Escape,
    /// The key that deletes the last character.
    Backspace,
    /// Arrow left.
    Left,
    /// Arrow right.
    Right,
    /// Arrow up.
    Up,
    /// Arrow down.
    Down,
}

/// Something that happened.
#[derive(Clone, Debug)]
pub enum Message {
    /// An event of the watched cell.
    Event(WatchEvent),
    /// Time has passed.
    Tick {
        /// The time since the window opened; zero before that.
        since_opened: Nanos,
    },
    /// A key was pressed.
    Key(Key),
}

/// An event of a watched cell.
#[derive(Clone, Debug, PartialEq)]
pub enum WatchEvent {
    /// The window of the cell opens.
    Opened {
        /// The CPU of each task.
        cpus: Vec<u32>,
    },
    /// New samples of a task.
    Batch(Batch),
    /// The machine did not grant a setting.
    Shortfall(Shortfall),
    /// The window has ended.
    Ended,
    /// The measurement of the cell failed.
    Failed {
        /// The reason, in a sentence.
        reason: String,
        /// The fix, if known.
        hint: Option<String>,
    },
    /// Kernel events are recorded from now on.
    Recording,
    /// Kernel events cannot be recorded, or no longer.
    NotRecorded {
        /// The reason, in a sentence.
        reason: String,
        /// The command that fixes it, if there is one.
        fix: Option<String>,
    },
    /// Late samples with their causes, the slowest first.
    Explained(Vec<ExplainedSample>),
}

/// An action that the monitor requests from its caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Measure this cell from now on.
    Measure(Box<Cell>),
    /// Start (`true`) or stop (`false`) recording kernel events.
    Record(bool),
    /// End the program.
    Quit,
}
