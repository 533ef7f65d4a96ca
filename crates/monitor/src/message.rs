//! What reaches the monitor, and what it asks for.

use tactus_explain::ExplainedSample;
use tactus_model::cell::Cell;
use tactus_model::result::Shortfall;
use tactus_model::stream::Batch;
use tactus_model::time::Nanos;

/// A key as the monitor knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A character.
    Char(char),
    /// The enter key.
    Enter,
    /// The escape key, or an interrupt.
    Escape,
    /// The key that takes back the last character.
    Backspace,
    /// To the left.
    Left,
    /// To the right.
    Right,
    /// Upwards.
    Up,
    /// Downwards.
    Down,
}

/// Something that happened.
#[derive(Clone, Debug)]
pub enum Message {
    /// The window of the cell that was asked for last opens.
    Opened {
        /// The CPU of each task.
        cpus: Vec<u32>,
    },
    /// A task did something.
    Batch(Batch),
    /// Something was not granted.
    Shortfall(Shortfall),
    /// The window is over.
    Ended,
    /// The cell cannot be measured, or not any longer.
    Failed {
        /// Why, in a sentence.
        reason: String,
        /// What to do about it, where that is known.
        hint: Option<String>,
    },
    /// News of the causes.
    Causes(CauseNews),
    /// Time has passed: so long since the window opened.
    Tick {
        /// Zero as long as it has not opened.
        since_opened: Nanos,
    },
    /// A key was pressed.
    Key(Key),
}

/// News of what delayed late samples.
#[derive(Clone, Debug)]
pub enum CauseNews {
    /// The kernel's events are recorded from now on.
    Recording,
    /// They cannot be.
    Unavailable {
        /// Why, in a sentence.
        reason: String,
        /// The command that would fix it, where there is one.
        fix: Option<String>,
    },
    /// A late sample, explained.
    Explained(ExplainedSample),
}

/// What the monitor wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Measure this cell from now on.
    Measure(Box<Cell>),
    /// Record the kernel's events, or do so no longer.
    Record(bool),
    /// End.
    Quit,
}
