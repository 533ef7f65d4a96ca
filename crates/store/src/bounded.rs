//! Limits on the texts and lists of a JSON document, applied before anything is allocated for
//! them.

use std::io::{self, Read};

use tactus_model::experiment::Plan;
use tactus_model::limits::{
    BINARY_TEXT_BYTES, BUCKETS, DEPTH, FAILURES, LIST_ENTRIES, REMARKS, TASKS, TEXT_BYTES,
};

/// The keys whose texts are binary content in base64.
const BINARY: [&[u8]; 2] = [b"bytes", b"recording"];

/// The lists with a limit other than [`LIST_ENTRIES`]. The store or the program takes the
/// entries of `results` one at a time.
const LISTS: [(&[u8], usize); 9] = [
    (b"results", usize::MAX),
    (b"failures", FAILURES),
    (b"cells", Plan::MAX_CELLS),
    (b"tasks", TASKS),
    (b"buckets", BUCKETS),
    (b"shortfalls", REMARKS),
    (b"notes", REMARKS),
    (b"files", REMARKS),
    (b"parts", REMARKS),
];

/// The longest of these keys is much shorter; only the beginning of a key is kept.
const KEY_BYTES: usize = 16;

/// A JSON document that ends with an error where it exceeds a limit. Any other fault is left to
/// the parser that reads from here.
pub(crate) struct Bounded<R> {
    inner: R,
    scan: Scan,
}

/// The beginning of a key, and the length of the whole.
type Key = ([u8; KEY_BYTES], usize);

/// Where in the document the bytes read so far end.
#[derive(Default)]
struct Scan {
    in_text: bool,
    escaped: bool,
    /// The bytes of the open text.
    text: usize,
    /// The beginning of the last text, which is a key if a colon follows.
    beginning: [u8; KEY_BYTES],
    /// The last key, to which a list or a text that follows belongs.
    key: Key,
    /// The open lists and objects: the key of each, and how many more entries it may have.
    open: Vec<(Key, usize)>,
}

impl<R> Bounded<R> {
    pub(crate) fn new(inner: R) -> Self {
        Self { inner, scan: Scan::default() }
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        buffer[..read]
            .iter()
            .try_for_each(|byte| self.scan.take(*byte))
            .map_err(|reason| io::Error::new(io::ErrorKind::InvalidData, reason))?;
        Ok(read)
    }
}

impl Scan {
    fn take(&mut self, byte: u8) -> Result<(), String> {
        if self.in_text {
            return self.take_in_text(byte);
        }
        match byte {
            b'"' => (self.in_text, self.text) = (true, 0),
            b':' => self.key = (self.beginning, self.text),
            b',' => match self.open.last_mut() {
                Some((key, 0)) => {
                    return Err(format!("a list has too many entries{}", place(key)));
                }
                Some((_, left)) => *left -= 1,
                None => {}
            },
            b'[' | b'{' => {
                if self.open.len() >= DEPTH {
                    return Err(format!("it is nested more than {DEPTH} deep"));
                }
                let most = if byte == b'[' { self.entries() } else { LIST_ENTRIES };
                // The entries after the first each follow a comma.
                self.open.push((self.key, most.saturating_sub(1)));
            }
            b']' | b'}' => drop(self.open.pop()),
            _ => {}
        }
        Ok(())
    }

    fn take_in_text(&mut self, byte: u8) -> Result<(), String> {
        match byte {
            _ if self.escaped => self.escaped = false,
            b'\\' => self.escaped = true,
            b'"' => {
                self.in_text = false;
                return Ok(());
            }
            _ => {}
        }
        if let Some(place) = self.beginning.get_mut(self.text) {
            *place = byte;
        }
        self.text += 1;
        let most =
            if BINARY.contains(&beginning(&self.key)) { BINARY_TEXT_BYTES } else { TEXT_BYTES };
        if self.text > most {
            return Err(format!("a text has more than {most} bytes{}", place(&self.key)));
        }
        Ok(())
    }

    /// The most entries of a list under the last key.
    fn entries(&self) -> usize {
        let found = LISTS.iter().find(|(key, _)| *key == beginning(&self.key));
        found.map_or(LIST_ENTRIES, |(_, most)| *most)
    }
}

/// A key, cut.
fn beginning((bytes, length): &Key) -> &[u8] {
    &bytes[..(*length).min(KEY_BYTES)]
}

fn place(key: &Key) -> String {
    format!(" (near the key `{}`)", String::from_utf8_lossy(beginning(key)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(document: &str) -> Result<(), String> {
        let mut bytes = Vec::new();
        let read = Bounded::new(document.as_bytes()).read_to_end(&mut bytes);
        read.map(drop).map_err(|error| error.to_string())
    }

    #[test]
    fn texts_lists_and_depths_beyond_their_limits_are_refused() {
        let text = |length: usize| "a".repeat(length);
        read(&format!("{{\"reason\": \"{}\"}}", text(TEXT_BYTES))).unwrap();
        let error = read(&format!("{{\"reason\": \"{}\"}}", text(TEXT_BYTES + 1))).unwrap_err();
        assert!(error.contains("`reason`"), "{error}");
        read(&format!("{{\"recording\": \"{}\"}}", text(2 * TEXT_BYTES))).unwrap();
        // A quote in a text does not end it.
        read(&format!("[\"{}\"]", "\\\"".repeat(TEXT_BYTES))).unwrap_err();

        let list = |entries: usize| vec!["{}"; entries].join(",");
        read(&format!("{{\"tasks\": [{}]}}", list(TASKS))).unwrap();
        let error = read(&format!("{{\"tasks\": [{}]}}", list(TASKS + 1))).unwrap_err();
        assert!(error.contains("`tasks`"), "{error}");
        let error = read(&format!("{{\"failures\": [{}]}}", list(FAILURES + 1))).unwrap_err();
        assert!(error.contains("`failures`"), "{error}");
        read(&format!("{{\"results\": [{}]}}", list(LIST_ENTRIES + 1))).unwrap();
        read(&format!("[{}]", list(LIST_ENTRIES + 1))).unwrap_err();

        read(&"[".repeat(DEPTH)).unwrap();
        read(&"[".repeat(DEPTH + 1)).unwrap_err();
    }
}
