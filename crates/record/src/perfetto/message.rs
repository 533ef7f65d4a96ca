//! The encoding of protocol buffers, as far as writing needs it.
//!
//! See <https://protobuf.dev/programming-guides/encoding/>.

use tactus_model::varint::write_unsigned;

/// A message being built.
#[derive(Clone, Debug, Default)]
pub(super) struct Message(Vec<u8>);

/// The wire types that are used.
const VARINT: u64 = 0;
const LENGTH: u64 = 2;

impl Message {
    /// The encoded bytes.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Adds a number; a negative number is encoded as its 64-bit two's complement.
    pub(super) fn number(&mut self, field: u64, value: u64) -> &mut Self {
        write_unsigned(&mut self.0, field << 3 | VARINT);
        write_unsigned(&mut self.0, value);
        self
    }

    /// Adds a text.
    pub(super) fn text(&mut self, field: u64, text: &str) -> &mut Self {
        self.field(field, text.as_bytes())
    }

    /// Adds a message; `fill` fills it.
    pub(super) fn message(&mut self, field: u64, fill: impl FnOnce(&mut Self)) -> &mut Self {
        let mut inner = Self::default();
        fill(&mut inner);
        self.field(field, &inner.0)
    }

    /// Adds all fields of another message.
    pub(super) fn append(&mut self, other: &Self) {
        self.0.extend_from_slice(&other.0);
    }

    fn field(&mut self, field: u64, bytes: &[u8]) -> &mut Self {
        write_unsigned(&mut self.0, field << 3 | LENGTH);
        write_unsigned(&mut self.0, bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }
}
