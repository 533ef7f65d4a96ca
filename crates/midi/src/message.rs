//! Messages.

/// The first byte of a system exclusive message.
pub const SYSTEM_EXCLUSIVE: u8 = 0xF0;
/// The last byte of a system exclusive message.
pub const END_OF_EXCLUSIVE: u8 = 0xF7;
/// The first status byte of real-time messages, which consist of that byte.
pub const REAL_TIME: u8 = 0xF8;

/// A whole message.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Message {
    /// A message of one to three bytes, its status byte first.
    Short(Short),
    /// A system exclusive message, from its first byte to [`END_OF_EXCLUSIVE`].
    Exclusive(Box<[u8]>),
}

/// A message of one to three bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Short {
    bytes: [u8; 3],
    length: u8,
}

/// The number of data bytes that follow a status byte; `None` for bytes that begin no short message:
/// data, the two of system exclusive, and the undefined 0xF4, 0xF5, 0xF9 and 0xFD.
pub const fn data_bytes(status: u8) -> Option<usize> {
    match status {
        0xC0..=0xDF | 0xF1 | 0xF3 => Some(1),
        0x80..=0xEF | 0xF2 => Some(2),
        0xF6 | 0xF8 | 0xFA | 0xFB | 0xFC | 0xFE | 0xFF => Some(0),
        _ => None,
    }
}

/// Whether a byte is a status byte.
pub const fn is_status(byte: u8) -> bool {
    byte >= 0x80
}

impl Short {
    /// The message of these bytes; `None` if they are not one whole message.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let (status, data) = bytes.split_first()?;
        let is_whole = data_bytes(*status)? == data.len() && !data.iter().copied().any(is_status);
        is_whole.then(|| {
            let mut padded = [0; 3];
            padded[..bytes.len()].copy_from_slice(bytes);
            Self { bytes: padded, length: bytes.len() as u8 }
        })
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }

    /// Its status byte.
    pub const fn status(&self) -> u8 {
        self.bytes[0]
    }

    /// Its channel, 0 to 15; `None` for system messages.
    pub const fn channel(&self) -> Option<u8> {
        if self.bytes[0] < SYSTEM_EXCLUSIVE { Some(self.bytes[0] & 0x0F) } else { None }
    }
}

impl Message {
    /// The message of these bytes; `None` if they are not one whole message.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [SYSTEM_EXCLUSIVE, data @ .., END_OF_EXCLUSIVE] => {
                let is_whole = !data.iter().copied().any(is_status);
                is_whole.then(|| Self::Exclusive(bytes.into()))
            }
            _ => Short::new(bytes).map(Self::Short),
        }
    }

    /// Its bytes, its status byte first.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Short(short) => short.bytes(),
            Self::Exclusive(bytes) => bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_messages_are_messages() {
        for bytes in [
            &[0x90, 60, 100][..],
            &[0xC5, 3],
            &[0xF2, 0, 127],
            &[0xF8],
            &[0xF0, 1, 2, 0xF7],
            &[0xF0, 0xF7],
        ] {
            let message = Message::new(bytes).unwrap_or_else(|| panic!("{bytes:?}"));
            assert_eq!(message.bytes(), bytes);
        }
        for bytes in [
            &[][..],
            &[60],
            &[0x90, 60],
            &[0x90, 60, 0x80],
            &[0x90, 60, 1, 2],
            &[0xF4],
            &[0xF9],
            &[0xF0, 1],
            &[0xF0, 0x90, 0xF7],
            &[0xF7],
        ] {
            assert_eq!(Message::new(bytes), None, "{bytes:?}");
        }
    }
}
