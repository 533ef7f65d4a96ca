//! The listener that writes every event of a run as a line of JSON.

use std::io::{self, BufWriter, Write};

use serde::Serialize;
use tactus_lab::event::Event;

/// Writes one value as a line of JSON to standard output.
pub(crate) fn write_line(value: &impl Serialize) -> io::Result<()> {
    // Standard output looks for the ends of lines in every piece that it is given,
    // and JSON comes in pieces of a few bytes.
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    serde_json::to_writer(&mut out, value)?;
    out.write_all(b"\n")?;
    out.flush()
}

/// Writes events, and remembers the first that could not be written.
#[derive(Default)]
pub(crate) struct JsonLines {
    /// Why the output ended, when it did.
    pub(crate) error: Option<io::Error>,
}

impl JsonLines {
    /// Writes `event`, unless the output has ended before.
    pub(crate) fn hear(&mut self, event: &Event<'_>) {
        if self.error.is_none() {
            self.error = write_line(event).err();
        }
    }
}
