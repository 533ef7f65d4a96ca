//! The encoding of protocol buffers, as far as writing needs it.
//!
//! See <https://protobuf.dev/programming-guides/encoding/>.

use crate::varint::write_unsigned;

/// A message being built.
///
/// ```
/// use tactus_model::protobuf::Message;
///
/// let mut message = Message::default();
/// message.number(1, 150).text(2, "late").message(3, |inner| _ = inner.signed(1, -1));
/// assert_eq!(message.bytes(), b"\x08\x96\x01\x12\x04late\x1a\x02\x08\x01");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Message(Vec<u8>);

/// The wire types that are used.
const VARINT: u64 = 0;
const FIXED: u64 = 1;
const LENGTH: u64 = 2;

impl Message {
    /// The encoded bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Adds a number; a negative number is encoded as its 64-bit two's complement.
    pub fn number(&mut self, field: u64, value: u64) -> &mut Self {
        write_unsigned(&mut self.0, field << 3 | VARINT);
        write_unsigned(&mut self.0, value);
        self
    }

    /// Adds a number of the types `sint32` and `sint64`.
    pub fn signed(&mut self, field: u64, value: i64) -> &mut Self {
        self.number(field, (value << 1 ^ value >> 63) as u64)
    }

    /// Adds a number of the type `double`.
    pub fn double(&mut self, field: u64, value: f64) -> &mut Self {
        write_unsigned(&mut self.0, field << 3 | FIXED);
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    /// Adds a text.
    pub fn text(&mut self, field: u64, text: &str) -> &mut Self {
        self.field(field, text.as_bytes())
    }

    /// Adds a message; `fill` fills it.
    pub fn message(&mut self, field: u64, fill: impl FnOnce(&mut Self)) -> &mut Self {
        let mut inner = Self::default();
        fill(&mut inner);
        self.field(field, &inner.0)
    }

    /// Adds all fields of another message.
    pub fn append(&mut self, other: &Self) {
        self.0.extend_from_slice(&other.0);
    }

    /// Writes the message after its length, as in a stream of messages.
    pub fn write_delimited(&self, out: &mut Vec<u8>) {
        write_unsigned(out, self.0.len() as u64);
        out.extend_from_slice(&self.0);
    }

    fn field(&mut self, field: u64, bytes: &[u8]) -> &mut Self {
        write_unsigned(&mut self.0, field << 3 | LENGTH);
        write_unsigned(&mut self.0, bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }
}
