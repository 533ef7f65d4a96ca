//! Messages.

use crate::time_tag::TimeTag;

/// A value in a message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Argument<'a> {
    /// `i`
    Int(i32),
    /// `h`
    Long(i64),
    /// `f`
    Float(f32),
    /// `d`
    Double(f64),
    /// `s`, and `S`, an alternate string.
    Text(&'a str),
    /// `b`
    Blob(&'a [u8]),
    /// `t`
    Time(TimeTag),
    /// `m`: port, status, and two bytes of data.
    Midi([u8; 4]),
    /// `c`
    Char(char),
    /// `r`: red, green, blue, alpha.
    Color([u8; 4]),
    /// `T` and `F`
    Bool(bool),
    /// `N`
    Nil,
    /// `I`: an impulse, or infinity.
    Impulse,
}

impl Argument<'_> {
    /// Its type tag.
    pub const fn tag(&self) -> char {
        match self {
            Self::Int(_) => 'i',
            Self::Long(_) => 'h',
            Self::Float(_) => 'f',
            Self::Double(_) => 'd',
            Self::Text(_) => 's',
            Self::Blob(_) => 'b',
            Self::Time(_) => 't',
            Self::Midi(_) => 'm',
            Self::Char(_) => 'c',
            Self::Color(_) => 'r',
            Self::Bool(true) => 'T',
            Self::Bool(false) => 'F',
            Self::Nil => 'N',
            Self::Impulse => 'I',
        }
    }
}

/// An address and the values for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Message<'a> {
    /// Where it goes: a text that begins with `/`.
    pub address: &'a str,
    /// Its values.
    pub arguments: Vec<Argument<'a>>,
}

impl Message<'_> {
    /// Its bytes. A NUL in a text ends that text.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(64);
        put_text(&mut bytes, self.address);
        let tags: String =
            [','].into_iter().chain(self.arguments.iter().map(Argument::tag)).collect();
        put_text(&mut bytes, &tags);
        for argument in &self.arguments {
            put(&mut bytes, argument);
        }
        bytes
    }
}

fn put(bytes: &mut Vec<u8>, argument: &Argument<'_>) {
    match argument {
        Argument::Int(value) => bytes.extend(value.to_be_bytes()),
        Argument::Long(value) => bytes.extend(value.to_be_bytes()),
        Argument::Float(value) => bytes.extend(value.to_be_bytes()),
        Argument::Double(value) => bytes.extend(value.to_be_bytes()),
        Argument::Text(text) => put_text(bytes, text),
        Argument::Blob(blob) => {
            bytes.extend((blob.len() as u32).to_be_bytes());
            bytes.extend_from_slice(blob);
            pad(bytes);
        }
        Argument::Time(tag) => bytes.extend(tag.0.to_be_bytes()),
        Argument::Midi(value) | Argument::Color(value) => bytes.extend_from_slice(value),
        Argument::Char(value) => bytes.extend(u32::from(*value).to_be_bytes()),
        Argument::Bool(_) | Argument::Nil | Argument::Impulse => {}
    }
}

fn put_text(bytes: &mut Vec<u8>, text: &str) {
    let until_nul = text.split('\0').next().unwrap_or_default();
    bytes.extend_from_slice(until_nul.as_bytes());
    bytes.push(0);
    pad(bytes);
}

/// Fills up to a multiple of four bytes.
fn pad(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}
