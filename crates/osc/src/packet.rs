//! Reading packets.

use crate::message::{Argument, Message};
use crate::time_tag::TimeTag;

/// How deep bundles may be nested.
pub const DEPTH: usize = 8;

/// The most messages of a packet.
pub const MESSAGES: usize = 1024;

/// The most values of a message.
pub const ARGUMENTS: usize = 4096;

/// A message, and when it is to take effect: the time of its bundle. A message without a bundle has
/// [`TimeTag::IMMEDIATE`]. A bundle takes effect no earlier than the bundle that contains it.
#[derive(Clone, Debug, PartialEq)]
pub struct Timed<'a> {
    /// When.
    pub time: TimeTag,
    /// What.
    pub message: Message<'a>,
}

/// Why a packet is not read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("byte {place} of the packet: {what}")]
pub struct Malformed {
    /// The offset in the packet.
    pub place: usize,
    /// What is wrong there.
    pub what: Wrong,
}

/// What is wrong with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    /// It ends before a value does.
    #[error("it ends within a value")]
    Short,
    /// Texts end with a NUL.
    #[error("the text has no end")]
    NoEnd,
    /// Texts are UTF-8 here; ASCII in the specification.
    #[error("the text is not UTF-8")]
    NotText,
    /// Neither an address nor a bundle.
    #[error("neither `/` of an address nor `#bundle`")]
    NeitherMessageNorBundle,
    /// Sizes are multiples of four.
    #[error("the size of an element is not a multiple of 4")]
    Size,
    /// The list of types begins with a comma.
    #[error("values without a list of types")]
    NoTypes,
    /// A type that is not known.
    #[error("unknown type `{0}`; known are i f s b h d t m c r S T F N I")]
    Type(char),
    /// A number that is no character.
    #[error("the value is not a character")]
    NotACharacter,
    /// More bytes than values.
    #[error("bytes after the last value")]
    Left,
    /// Too deep.
    #[error("bundles are nested more than {DEPTH} deep")]
    Depth,
    /// Too many messages.
    #[error("more than {MESSAGES} messages")]
    Messages,
    /// Too many values.
    #[error("more than {ARGUMENTS} values in a message")]
    Arguments,
}

/// Reads a packet: its messages in their order, or none of them.
///
/// # Errors
/// Some part of the packet cannot be read, or it exceeds a limit.
pub fn read(packet: &[u8]) -> Result<Vec<Timed<'_>>, Malformed> {
    let mut found = Vec::new();
    // Elements that are still to be read, the next one last.
    let mut open = vec![Element { from: 0, to: packet.len(), time: TimeTag::IMMEDIATE, depth: 0 }];
    while let Some(element) = open.pop() {
        let mut cursor = Cursor { packet, at: element.from, end: element.to };
        if packet[element.from..element.to].starts_with(b"#bundle\0") {
            if element.depth == DEPTH {
                return Err(cursor.wrong(Wrong::Depth));
            }
            let first = open.len();
            elements(&mut cursor, &element, &mut open)?;
            open[first..].reverse();
        } else {
            if found.len() == MESSAGES {
                return Err(cursor.wrong(Wrong::Messages));
            }
            found.push(Timed { time: element.time, message: message(&mut cursor)? });
        }
        if open.len() > MESSAGES {
            return Err(cursor.wrong(Wrong::Messages));
        }
    }
    Ok(found)
}

/// A bundle or a message, and when the bundle that contains it takes effect.
struct Element {
    from: usize,
    to: usize,
    time: TimeTag,
    depth: usize,
}

/// Adds the elements of a bundle.
fn elements(
    cursor: &mut Cursor<'_>,
    bundle: &Element,
    open: &mut Vec<Element>,
) -> Result<(), Malformed> {
    cursor.take(8)?;
    let time = TimeTag(u64::from_be_bytes(cursor.array()?)).later(bundle.time);
    while cursor.at < cursor.end {
        let start = cursor.at;
        let size = u32::from_be_bytes(cursor.array()?) as usize;
        if !size.is_multiple_of(4) || size == 0 {
            return Err(Malformed { place: start, what: Wrong::Size });
        }
        let from = cursor.at;
        cursor.take(size)?;
        open.push(Element { from, to: cursor.at, time, depth: bundle.depth + 1 });
    }
    Ok(())
}

fn message<'a>(cursor: &mut Cursor<'a>) -> Result<Message<'a>, Malformed> {
    if cursor.packet[cursor.at..cursor.end].first() != Some(&b'/') {
        return Err(cursor.wrong(Wrong::NeitherMessageNorBundle));
    }
    let address = cursor.text()?;
    // Old programs leave out the types of a message without values.
    if cursor.at == cursor.end {
        return Ok(Message { address, arguments: Vec::new() });
    }
    let place = cursor.at;
    let types = cursor.text()?;
    let Some(types) = types.strip_prefix(',') else {
        return Err(Malformed { place, what: Wrong::NoTypes });
    };
    if types.len() > ARGUMENTS {
        return Err(Malformed { place, what: Wrong::Arguments });
    }
    let read = |tag| argument(cursor, tag);
    let arguments = types.chars().map(read).collect::<Result<_, _>>()?;
    if cursor.at < cursor.end {
        return Err(cursor.wrong(Wrong::Left));
    }
    Ok(Message { address, arguments })
}

fn argument<'a>(cursor: &mut Cursor<'a>, tag: char) -> Result<Argument<'a>, Malformed> {
    Ok(match tag {
        'i' => Argument::Int(i32::from_be_bytes(cursor.array()?)),
        'h' => Argument::Long(i64::from_be_bytes(cursor.array()?)),
        'f' => Argument::Float(f32::from_be_bytes(cursor.array()?)),
        'd' => Argument::Double(f64::from_be_bytes(cursor.array()?)),
        's' | 'S' => Argument::Text(cursor.text()?),
        'b' => {
            let size = u32::from_be_bytes(cursor.array()?) as usize;
            let blob = cursor.take(size)?;
            cursor.pad()?;
            Argument::Blob(blob)
        }
        't' => Argument::Time(TimeTag(u64::from_be_bytes(cursor.array()?))),
        'm' => Argument::Midi(cursor.array()?),
        'r' => Argument::Color(cursor.array()?),
        'c' => {
            let start = cursor.at;
            let value = char::from_u32(u32::from_be_bytes(cursor.array()?));
            Argument::Char(value.ok_or(Malformed { place: start, what: Wrong::NotACharacter })?)
        }
        'T' => Argument::Bool(true),
        'F' => Argument::Bool(false),
        'N' => Argument::Nil,
        'I' => Argument::Impulse,
        other => return Err(cursor.wrong(Wrong::Type(other))),
    })
}

/// A place in a packet, and the end of the element that is read.
struct Cursor<'a> {
    packet: &'a [u8],
    at: usize,
    end: usize,
}

impl<'a> Cursor<'a> {
    const fn wrong(&self, what: Wrong) -> Malformed {
        Malformed { place: self.at, what }
    }

    fn take(&mut self, bytes: usize) -> Result<&'a [u8], Malformed> {
        let rest = &self.packet[self.at..self.end];
        let taken = rest.get(..bytes).ok_or(self.wrong(Wrong::Short))?;
        self.at += bytes;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    fn text(&mut self) -> Result<&'a str, Malformed> {
        let rest = &self.packet[self.at..self.end];
        let length = rest.iter().position(|byte| *byte == 0).ok_or(self.wrong(Wrong::NoEnd))?;
        let text = std::str::from_utf8(&rest[..length]).map_err(|_| self.wrong(Wrong::NotText))?;
        self.take(length + 1)?;
        self.pad()?;
        Ok(text)
    }

    /// Passes the bytes up to a multiple of four, counted from the start of the packet.
    fn pad(&mut self) -> Result<(), Malformed> {
        self.take(self.at.next_multiple_of(4) - self.at).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bundle(time: TimeTag, elements: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = b"#bundle\0".to_vec();
        bytes.extend(time.0.to_be_bytes());
        for element in elements {
            bytes.extend((element.len() as u32).to_be_bytes());
            bytes.extend_from_slice(element);
        }
        bytes
    }

    fn note(value: i32) -> Vec<u8> {
        Message { address: "/note", arguments: vec![Argument::Int(value)] }.bytes()
    }

    /// The values of the notes in a packet, with their times.
    fn notes(packet: &[u8]) -> Vec<(u64, i32)> {
        let of = |timed: &Timed<'_>| match timed.message.arguments[..] {
            [Argument::Int(value)] => (timed.time.0, value),
            ref other => panic!("{other:?}"),
        };
        read(packet).unwrap().iter().map(of).collect()
    }

    #[track_caller]
    fn check_refused(packet: &[u8], reason: &str) {
        assert_eq!(read(packet).unwrap_err().to_string(), reason);
    }

    #[test]
    fn messages_have_the_time_of_their_bundle_and_their_order() {
        assert_eq!(notes(&note(7)), [(1, 7)]);
        let inner = bundle(TimeTag(90), &[note(2), note(3)]);
        let early = bundle(TimeTag(10), &[note(4)]);
        let outer = bundle(TimeTag(50), &[note(1), inner, early, note(5)]);
        assert_eq!(notes(&outer), [(50, 1), (90, 2), (90, 3), (50, 4), (50, 5)]);
        let at_once = bundle(TimeTag::IMMEDIATE, &[note(1)]);
        assert_eq!(notes(&bundle(TimeTag(50), &[at_once])), [(50, 1)]);
        assert_eq!(notes(&bundle(TimeTag(50), &[])), []);
    }

    #[test]
    fn every_type_is_read() {
        let arguments = vec![
            Argument::Int(-1),
            Argument::Long(i64::MIN),
            Argument::Float(0.5),
            Argument::Double(-0.25),
            Argument::Text("näh"),
            Argument::Blob(&[1, 2, 3, 4, 5]),
            Argument::Time(TimeTag(u64::MAX)),
            Argument::Midi([0, 0x90, 60, 100]),
            Argument::Char('ß'),
            Argument::Color([1, 2, 3, 4]),
            Argument::Bool(true),
            Argument::Bool(false),
            Argument::Nil,
            Argument::Impulse,
        ];
        let message = Message { address: "/all", arguments };
        assert_eq!(read(&message.bytes()).unwrap()[0].message, message);
        let old = read(b"/old\0\0\0\0").unwrap();
        assert_eq!(old[0].message, Message { address: "/old", arguments: vec![] });
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_its_place() {
        check_refused(b"", "byte 0 of the packet: neither `/` of an address nor `#bundle`");
        check_refused(b"/abc", "byte 0 of the packet: the text has no end");
        check_refused(b"/ab\0,i\0\0\0\0", "byte 8 of the packet: it ends within a value");
        check_refused(b"/ab\0abc\0", "byte 4 of the packet: values without a list of types");
        check_refused(b"/\xFFb\0,\0\0\0", "byte 0 of the packet: the text is not UTF-8");
        check_refused(b"/ab\0,\0\0\0\0\0\0\0", "byte 8 of the packet: bytes after the last value");
        check_refused(
            b"/ab\0,[]\0",
            "byte 8 of the packet: unknown type `[`; known are i f s b h d t m c r S T F N I",
        );
        check_refused(b"#bundle\0\0\0\0\0", "byte 8 of the packet: it ends within a value");
        let odd = b"#bundle\0\0\0\0\0\0\0\0\x01\0\0\0\x05/abcd".as_slice();
        check_refused(odd, "byte 16 of the packet: the size of an element is not a multiple of 4");
        let whole = bundle(TimeTag(5), &[note(1), note(2)]);
        for length in 0..whole.len() {
            let is_bundle = matches!(length, 16 | 36);
            assert_eq!(read(&whole[..length]).is_ok(), is_bundle, "{length}");
        }
    }

    #[test]
    fn depth_and_number_are_limited() {
        let nested = |depth: usize| {
            (0..depth).fold(note(1), |inner, _| bundle(TimeTag::IMMEDIATE, &[inner]))
        };
        assert_eq!(read(&nested(DEPTH)).unwrap().len(), 1);
        assert_eq!(read(&nested(DEPTH + 1)).unwrap_err().what, Wrong::Depth);
        let many = |count| bundle(TimeTag::IMMEDIATE, &vec![note(1); count]);
        assert_eq!(read(&many(MESSAGES)).unwrap().len(), MESSAGES);
        assert_eq!(read(&many(MESSAGES + 1)).unwrap_err().what, Wrong::Messages);
        let empty = vec![bundle(TimeTag::IMMEDIATE, &[]); MESSAGES + 1];
        assert!(read(&bundle(TimeTag::IMMEDIATE, &empty)).is_err());
        let types = format!(",{}", "T".repeat(ARGUMENTS + 1));
        let mut long = Message { address: "/a", arguments: vec![] }.bytes()[..4].to_vec();
        long.extend(types.bytes());
        long.resize(long.len().next_multiple_of(4) + 4, 0);
        assert_eq!(read(&long).unwrap_err().what, Wrong::Arguments);
    }
}
