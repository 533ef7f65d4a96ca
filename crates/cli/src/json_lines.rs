//! Lines of JSON on standard output.

use std::io::{self, BufWriter, Write};

use serde::Serialize;
use tactus_lab::event::Event;

/// Writes one value as a line of JSON to standard output.
pub(crate) fn write_line(value: &impl Serialize) -> io::Result<()> {
    // Standard output searches every write for the end of a line, and the serializer writes
    // a few bytes at a time.
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    serde_json::to_writer(&mut out, value)?;
    out.write_all(b"\n")?;
    out.flush()
}

/// Writes events, and keeps the first error.
#[derive(Default)]
pub(crate) struct JsonLines {
    /// The error that ended the output, if any.
    pub(crate) error: Option<io::Error>,
}

impl JsonLines {
    /// Writes `event`, unless a write failed before.
    pub(crate) fn write(&mut self, event: &Event<'_>) {
        if self.error.is_none() {
            self.error = write_line(event).err();
        }
    }
}
