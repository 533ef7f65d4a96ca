//! From bytes to messages.

use tactus_model::time::{Instant, Monotonic};

use crate::message::{
    END_OF_EXCLUSIVE, Message, REAL_TIME, SYSTEM_EXCLUSIVE, Short, data_bytes, is_status,
};

/// When a byte arrived.
type Arrival = Instant<Monotonic>;

/// What the bytes were.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// A whole message, with its status byte even if the sender left it out (running status).
    Message {
        /// The message.
        message: Message,
        /// When its first byte arrived.
        began: Arrival,
        /// When its last byte arrived.
        ended: Arrival,
    },
    /// Bytes that are no message. Nothing is left out silently.
    Problem {
        /// What is wrong.
        problem: Problem,
        /// When the first of the bytes arrived.
        began: Arrival,
    },
}

/// Why bytes are no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// Data without a status byte before it.
    #[error("{count} data bytes without a status byte")]
    Stray {
        /// How many, one after the other.
        count: u64,
    },
    /// Another message began before the end of this one.
    #[error("message {status:#04x} ends after {data} of its data bytes")]
    Truncated {
        /// Its status byte.
        status: u8,
        /// The number of its data bytes that came.
        data: usize,
    },
    /// A system exclusive message is longer than the parser accepts; it is left out.
    #[error("a system exclusive message has {length} bytes, and the limit is {limit}")]
    TooLong {
        /// Its length, until it ended or was truncated.
        length: u64,
        /// The limit.
        limit: usize,
    },
    /// A status byte without a meaning.
    #[error("status byte {0:#04x} is not defined")]
    Undefined(u8),
    /// Bytes that arrived when nobody had room for them. A parser does not find this: who reads for it
    /// adds it.
    #[error("{bytes} bytes were lost")]
    Lost {
        /// How many.
        bytes: u64,
    },
    /// The end of a system exclusive message that never began.
    #[error("the end of a system exclusive message without its beginning")]
    StrayEnd,
}

/// Turns the bytes of one cable into messages.
///
/// Real-time bytes may come between the bytes of any message: they are returned at once, and the
/// message continues. The running status ends with any other system message.
#[derive(Clone, Debug)]
pub struct Parser {
    /// The longest system exclusive message, its first and last byte included.
    limit: usize,
    state: State,
    /// The status of a channel message that the next data byte may belong to.
    running: Option<u8>,
}

#[derive(Clone, Debug)]
enum State {
    /// Between messages.
    Idle,
    /// Data without a status byte.
    Stray { count: u64, began: Arrival },
    /// Within a message of at most three bytes.
    Short { bytes: [u8; 3], length: usize, began: Arrival },
    /// Within a system exclusive message.
    Exclusive { bytes: Vec<u8>, length: u64, began: Arrival },
}

impl Parser {
    /// The limit of [`Self::default`].
    pub const LIMIT: usize = 64 << 10;

    /// A parser that accepts system exclusive messages of at most `limit` bytes.
    pub const fn new(limit: usize) -> Self {
        Self { limit, state: State::Idle, running: None }
    }

    /// Takes the next byte, and passes on what it completes: at most a problem and a message.
    pub fn push(&mut self, byte: u8, at: Arrival, mut found: impl FnMut(Parsed)) {
        if byte >= REAL_TIME {
            found(match Short::new(&[byte]) {
                Some(short) => whole(Message::Short(short), at, at),
                None => problem(Problem::Undefined(byte), at),
            });
        } else if is_status(byte) {
            self.status(byte, at, &mut found);
        } else {
            self.data(byte, at, &mut found);
        }
    }

    /// Says what is left when no more bytes come: a message that is not whole.
    pub fn finish(&mut self, found: impl FnMut(Parsed)) {
        self.running = None;
        self.interrupt(found);
    }

    fn status(&mut self, byte: u8, at: Arrival, found: &mut impl FnMut(Parsed)) {
        if byte == END_OF_EXCLUSIVE {
            return self.end_of_exclusive(at, found);
        }
        self.interrupt(&mut *found);
        self.running = (byte < SYSTEM_EXCLUSIVE).then_some(byte);
        match (byte, data_bytes(byte)) {
            (SYSTEM_EXCLUSIVE, _) => {
                self.state = State::Exclusive { bytes: vec![byte], length: 1, began: at };
            }
            (_, None) => found(problem(Problem::Undefined(byte), at)),
            (_, Some(_)) => self.begin(byte, at, found),
        }
    }

    /// Begins a short message, which may consist of its status byte.
    fn begin(&mut self, status: u8, at: Arrival, found: &mut impl FnMut(Parsed)) {
        match Short::new(&[status]) {
            Some(short) => found(whole(Message::Short(short), at, at)),
            None => self.state = State::Short { bytes: [status, 0, 0], length: 1, began: at },
        }
    }

    fn data(&mut self, byte: u8, at: Arrival, found: &mut impl FnMut(Parsed)) {
        if let (State::Idle, Some(status)) = (&self.state, self.running) {
            self.state = State::Short { bytes: [status, 0, 0], length: 1, began: at };
        }
        match &mut self.state {
            State::Idle => self.state = State::Stray { count: 1, began: at },
            State::Stray { count, .. } => *count += 1,
            State::Short { bytes, length, began } => {
                bytes[*length] = byte;
                *length += 1;
                if let Some(short) = Short::new(&bytes[..*length]) {
                    found(whole(Message::Short(short), *began, at));
                    self.state = State::Idle;
                }
            }
            State::Exclusive { bytes, length, .. } => {
                *length += 1;
                // Room for the last byte is kept.
                if bytes.len() + 1 < self.limit {
                    bytes.push(byte);
                }
            }
        }
    }

    fn end_of_exclusive(&mut self, at: Arrival, found: &mut impl FnMut(Parsed)) {
        match &mut self.state {
            State::Exclusive { bytes, length, began } if *length == bytes.len() as u64 => {
                bytes.push(END_OF_EXCLUSIVE);
                let message = Message::Exclusive(std::mem::take(bytes).into());
                found(whole(message, *began, at));
                self.state = State::Idle;
            }
            State::Exclusive { length, .. } => {
                *length += 1;
                self.interrupt(found);
            }
            _ => {
                self.interrupt(&mut *found);
                found(problem(Problem::StrayEnd, at));
            }
        }
        self.running = None;
    }

    /// Ends what is not whole.
    fn interrupt(&mut self, mut found: impl FnMut(Parsed)) {
        let limit = self.limit;
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Idle => {}
            State::Stray { count, began } => found(problem(Problem::Stray { count }, began)),
            State::Short { bytes: [status, ..], length, began } => {
                found(problem(Problem::Truncated { status, data: length - 1 }, began));
            }
            State::Exclusive { bytes, length, began } if length == bytes.len() as u64 => {
                let data = bytes.len() - 1;
                found(problem(Problem::Truncated { status: SYSTEM_EXCLUSIVE, data }, began));
            }
            State::Exclusive { length, began, .. } => {
                found(problem(Problem::TooLong { length, limit }, began));
            }
        }
    }
}

impl Default for Parser {
    fn default() -> Self {
        Self::new(Self::LIMIT)
    }
}

const fn whole(message: Message, began: Arrival, ended: Arrival) -> Parsed {
    Parsed::Message { message, began, ended }
}

const fn problem(problem: Problem, began: Arrival) -> Parsed {
    Parsed::Problem { problem, began }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that arrive a nanosecond apart, to text: `90 3c 64@0-2`, or the problem.
    fn parse_within(limit: usize, bytes: &[u8]) -> Vec<String> {
        let mut parser = Parser::new(limit);
        let mut found = Vec::new();
        let mut keep = |parsed: Parsed| {
            found.push(match parsed {
                Parsed::Message { message, began, ended } => {
                    let bytes: Vec<String> =
                        message.bytes().iter().map(|byte| format!("{byte:02x}")).collect();
                    format!("{}@{}-{}", bytes.join(" "), began.as_nanos(), ended.as_nanos())
                }
                Parsed::Problem { problem, began } => format!("{problem}@{}", began.as_nanos()),
            });
        };
        for (at, byte) in bytes.iter().enumerate() {
            parser.push(*byte, Arrival::from_nanos(at as u64), &mut keep);
        }
        parser.finish(&mut keep);
        found
    }

    fn parse(bytes: &[u8]) -> Vec<String> {
        parse_within(Parser::LIMIT, bytes)
    }

    #[test]
    fn running_status_is_restored() {
        let found = parse(&[0x90, 60, 100, 62, 100, 0xC1, 5, 6]);
        assert_eq!(found, ["90 3c 64@0-2", "90 3e 64@3-4", "c1 05@5-6", "c1 06@7-7"]);
    }

    #[test]
    fn real_time_bytes_are_lifted_out_of_any_message() {
        let found = parse(&[0xF0, 1, 0xF8, 2, 0xFE, 0xF7, 0x90, 0xFA, 60, 0xFC, 100, 0xF8, 61, 1]);
        let wanted = [
            "f8@2-2",
            "fe@4-4",
            "f0 01 02 f7@0-5",
            "fa@7-7",
            "fc@9-9",
            "90 3c 64@6-10",
            "f8@11-11",
            "90 3d 01@12-13",
        ];
        assert_eq!(found, wanted);
    }

    #[test]
    fn truncated_messages_are_reported() {
        let found = parse(&[0x90, 60, 0x80, 60, 0, 0xF0, 1, 2, 0xB0, 7, 9, 0xE0]);
        let wanted = [
            "message 0x90 ends after 1 of its data bytes@0",
            "80 3c 00@2-4",
            "message 0xf0 ends after 2 of its data bytes@5",
            "b0 07 09@8-10",
            "message 0xe0 ends after 0 of its data bytes@11",
        ];
        assert_eq!(found, wanted);
    }

    #[test]
    fn stray_bytes_are_reported_once_for_each_run() {
        let found = parse(&[1, 2, 3, 0xF6, 4, 0xF7, 0xF4, 0xFD]);
        let wanted = [
            "3 data bytes without a status byte@0",
            "f6@3-3",
            "1 data bytes without a status byte@4",
            "the end of a system exclusive message without its beginning@5",
            "status byte 0xf4 is not defined@6",
            "status byte 0xfd is not defined@7",
        ];
        assert_eq!(found, wanted);
    }

    #[test]
    fn system_messages_end_the_running_status() {
        for system in [&[0xF0, 0xF7][..], &[0xF1, 1], &[0xF2, 1, 2], &[0xF3, 1], &[0xF6], &[0xF5]] {
            let found = parse(&[&[0x90, 60, 100], system, &[61, 100]].concat());
            let last = found.last().unwrap();
            assert!(last.starts_with("2 data bytes without a status byte"), "{found:?}");
        }
    }

    #[test]
    fn long_exclusive_messages_are_left_out_and_counted() {
        assert_eq!(parse_within(4, &[0xF0, 1, 2, 0xF7]), ["f0 01 02 f7@0-3"]);
        let long = "a system exclusive message has 5 bytes, and the limit is 4@0";
        assert_eq!(parse_within(4, &[0xF0, 1, 2, 3, 0xF7, 0xF8]), [long, "f8@5-5"]);
        assert_eq!(parse_within(4, &[0xF0, 1, 2, 3, 4, 0xF6]), [long, "f6@5-5"]);
    }
}
