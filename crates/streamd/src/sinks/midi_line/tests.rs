//! Lines in virtual time, with a reader that a parser judges.

use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use tactus_delivery::item::{BranchId, Epoch, IfLate, StreamId};
use tactus_midi::{Parsed, Parser, Problem};

use super::*;

/// A port with room for a number of bytes, and a clock that tests move.
#[derive(Clone)]
struct Simulated(Arc<Mutex<State>>);

struct State {
    now: Moment,
    room: usize,
    is_gone: bool,
    /// The bytes that came, each with its time.
    bytes: Vec<(u8, Moment)>,
}

impl Port for Simulated {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.0.lock().unwrap();
        if state.is_gone {
            return Err(io::ErrorKind::NotConnected.into());
        }
        let taken = bytes.len().min(state.room);
        state.room -= taken;
        let now = state.now;
        state.bytes.extend(bytes[..taken].iter().map(|byte| (*byte, now)));
        Ok(taken)
    }

    fn now(&self) -> Moment {
        self.0.lock().unwrap().now
    }
}

impl Simulated {
    fn new() -> Self {
        let now = Moment::from_nanos(10_000_000_000);
        let state = State { now, room: usize::MAX, is_gone: false, bytes: Vec::new() };
        Self(Arc::new(Mutex::new(state)))
    }

    fn line(&self, rate: Rate) -> MidiLine<Self> {
        MidiLine::new(self.clone(), rate)
    }

    fn set_room(&self, room: usize) {
        self.0.lock().unwrap().room = room;
    }

    fn advance(&self, length: Nanos) {
        let mut state = self.0.lock().unwrap();
        state.now = state.now + length;
    }

    fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().bytes.iter().map(|(byte, _)| *byte).collect()
    }

    /// What a receiver makes of the bytes.
    fn parsed(&self) -> (Vec<Message>, Vec<Problem>) {
        let (mut messages, mut problems) = (Vec::new(), Vec::new());
        let mut parser = Parser::new(Parser::LIMIT);
        for (byte, at) in &self.0.lock().unwrap().bytes {
            parser.push(*byte, *at, |parsed| match parsed {
                Parsed::Message { message, .. } => messages.push(message),
                Parsed::Problem { problem, .. } => problems.push(problem),
            });
        }
        (messages, problems)
    }
}

fn item(client: u32, sequence: u64, payload: &[u8]) -> Item<Payload> {
    Item {
        client: ClientId(client),
        sequence,
        stream: StreamId(1),
        branch: BranchId(0),
        epoch: Epoch(0),
        due: Moment::from_nanos(0),
        if_late: IfLate::Deliver,
        payload: payload.into(),
    }
}

/// Calls the line whenever it wants, for at most `length`, and returns what was settled.
fn run(line: &mut MidiLine<Simulated>, length: Nanos) -> Vec<(u64, bool)> {
    let port = line.port().clone();
    let end = port.now() + length;
    let mut settled = Vec::new();
    while let Some(turn) = line.next_turn().filter(|turn| *turn <= end) {
        port.advance(turn - port.now());
        line.settled(&mut |place, delivery| settled.push((place.sequence, delivery.taken)));
    }
    port.advance(end - port.now());
    settled
}

fn taken(handed_over: HandedOver) -> Option<bool> {
    match handed_over {
        HandedOver::Done(delivery) => Some(delivery.taken),
        HandedOver::Pending => None,
    }
}

const SECOND: Nanos = Nanos::from_secs(1);

#[test]
fn a_line_is_busy_for_as_long_as_it_sends() {
    let port = Simulated::new();
    let mut line = port.line(Rate::MIDI);
    let before = port.now();
    assert_eq!(taken(line.hand_over(&item(1, 0, &[0x90, 60, 1]))), Some(true));
    assert_eq!(line.ready_from(), before + Nanos::from_micros(960));
    assert_eq!(line.next_turn(), None);
    // A server that asks too early gets no message between the bytes of another.
    assert_eq!(taken(line.hand_over(&item(1, 1, &[0x90, 61, 1]))), None);
    assert_eq!(taken(line.hand_over(&item(1, 2, &[0x90, 62, 1]))), Some(false));
    assert_eq!(run(&mut line, SECOND), [(1, true)]);
    assert_eq!(port.bytes(), [0x90, 60, 1, 0x90, 61, 1], "no running status");
    let mut unpaced = port.line(Rate::Unpaced);
    assert_eq!(taken(unpaced.hand_over(&item(1, 3, &[0xF8]))), Some(true));
    assert!(unpaced.ready_from() <= port.now());
}

#[test]
fn a_long_message_is_sent_in_parts_at_the_rate() {
    let port = Simulated::new();
    let mut line = port.line(Rate::MIDI);
    let dump: Vec<u8> = [&[0xF0][..], &[5; 98], &[0xF7]].concat();
    let before = port.now();
    assert_eq!(taken(line.hand_over(&item(1, 0, &dump))), None);
    assert_eq!(run(&mut line, SECOND), [(0, true)]);
    assert_eq!(port.bytes(), dump);
    for (index, (_, at)) in port.0.lock().unwrap().bytes.iter().enumerate() {
        let sent = Nanos::from_micros(320 * index as u64);
        let ahead = sent.saturating_sub(*at - before);
        assert!(ahead < Nanos::from_micros(3200) && *at - before <= sent, "byte {index}");
    }
    assert_eq!(line.ready_from(), before + Nanos::from_millis(32));
}

#[test]
fn a_reader_that_stops_makes_items_fail_and_sees_whole_messages_later() {
    let port = Simulated::new();
    let mut line = port.line(Rate::Unpaced);
    port.set_room(4);
    assert_eq!(taken(line.hand_over(&item(1, 0, &[0x90, 60, 1]))), Some(true));
    assert_eq!(taken(line.hand_over(&item(1, 1, &[0x90, 61, 1]))), None, "a byte of it fits");
    assert!(line.ready_from() > port.now());
    assert_eq!(run(&mut line, SECOND), [(1, false)]);
    assert_eq!(taken(line.hand_over(&item(1, 2, &[0x90, 62, 1]))), Some(false), "at once");
    port.set_room(usize::MAX);
    assert_eq!(taken(line.hand_over(&item(1, 3, &[0x90, 63, 1]))), Some(true));
    let (messages, problems) = port.parsed();
    let keys: Vec<u8> = messages.iter().map(|message| message.bytes()[1]).collect();
    assert_eq!(keys, [60, 63]);
    assert_eq!(problems, [Problem::Truncated { status: 0x90, data: 0 }]);
}

#[test]
fn a_short_stall_loses_nothing() {
    let port = Simulated::new();
    let mut line = port.line(Rate::Unpaced);
    port.set_room(2);
    assert_eq!(taken(line.hand_over(&item(1, 0, &[0x90, 60, 1]))), None);
    assert_eq!(run(&mut line, Nanos::from_millis(50)), []);
    port.set_room(usize::MAX);
    assert_eq!(run(&mut line, Nanos::from_millis(50)), [(0, true)]);
    assert_eq!(port.bytes(), [0x90, 60, 1]);
}

#[test]
fn an_exclusive_message_that_breaks_is_ended() {
    let port = Simulated::new();
    let mut line = port.line(Rate::Unpaced);
    port.set_room(3);
    assert_eq!(taken(line.hand_over(&item(1, 0, &[0xF0, 1, 2, 3, 4, 0xF7]))), None);
    assert_eq!(run(&mut line, SECOND), [(0, false)]);
    assert_eq!(port.bytes(), [0xF0, 1, 2]);
    port.set_room(usize::MAX);
    assert_eq!(run(&mut line, SECOND), []);
    assert_eq!(port.bytes(), [0xF0, 1, 2, 0xF7]);
}

#[test]
fn a_client_that_leaves_ends_its_notes_and_its_exclusive_message() {
    let port = Simulated::new();
    let mut line = port.line(Rate::MIDI);
    for (client, key) in [(1, 60), (2, 60), (1, 64)] {
        line.hand_over(&item(client, 0, &[0x93, key, 9]));
        run(&mut line, SECOND);
    }
    let dump: Vec<u8> = [&[0xF0][..], &[5; 98], &[0xF7]].concat();
    line.hand_over(&item(1, 1, &dump));
    line.client_left(ClientId(1));
    assert_eq!(run(&mut line, SECOND), [(1, false)]);
    let ends = [&dump[..PART], &[0xF7, 0x83, 64, 64]].concat();
    assert_eq!(port.bytes()[9..], ends, "client 2 still holds key 60");
    line.client_left(ClientId(2));
    drop(line);
    assert_eq!(port.bytes()[9 + ends.len()..], [0x83, 60, 64]);
}

#[test]
fn a_line_that_ends_silences_everything() {
    let port = Simulated::new();
    let mut line = port.line(Rate::MIDI);
    line.hand_over(&item(1, 0, &[0x90, 60, 9]));
    drop(line);
    assert_eq!(port.bytes(), [0x90, 60, 9, 0x80, 60, 64]);
}

#[test]
fn a_line_ends_first_what_a_killed_server_has_left() {
    let port = Simulated::new();
    let mut line = port.line(Rate::MIDI).silenced();
    assert!(line.next_turn().is_some());
    assert_eq!(run(&mut line, SECOND), []);
    assert_eq!(port.bytes().len(), 16 * 3 * 3);
    assert!(line.ready_from() <= port.now());
    assert_eq!(taken(line.hand_over(&item(1, 0, &[0x90, 60, 9]))), Some(true));
}

#[test]
fn items_for_a_device_that_is_gone_fail() {
    let port = Simulated::new();
    let mut line = port.line(Rate::MIDI);
    line.hand_over(&item(1, 0, &[0x90, 60, 9]));
    run(&mut line, SECOND);
    port.0.lock().unwrap().is_gone = true;
    for sequence in 1..3 {
        assert_eq!(taken(line.hand_over(&item(1, sequence, &[0xF8]))), Some(false));
    }
    line.client_left(ClientId(1));
    assert_eq!(taken(line.hand_over(&item(1, 3, &[0xF8]))), Some(false));
}

#[test]
fn rates_are_parsed() {
    for (text, rate) in [("31250", Rate::MIDI), ("unpaced", Rate::Unpaced)] {
        assert_eq!(text.parse(), Ok(rate));
        assert_eq!(rate.to_string(), text);
    }
    let error = "9".parse::<Rate>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "`9` is not a rate: write 300 to 10000000 bits a second, or `unpaced`"
    );
}

fn message() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        8 => (0x80_u8..0xA0, 60_u8..64, 0_u8..2).prop_map(|(status, key, value)| vec![status, key, value]),
        2 => prop::collection::vec(0_u8..128, 0..30)
            .prop_map(|data| [&[0xF0][..], &data, &[0xF7]].concat()),
        1 => Just(vec![0xF8]),
    ]
}

proptest! {
    /// Whatever the reader and the clients do, each item is answered once, the reader sees exactly
    /// the delivered messages whole, and in the end nothing sounds.
    #[test]
    fn each_item_is_answered_and_nothing_hangs(
        steps in prop::collection::vec((0_u32..3, message(), 0_usize..60, prop::bool::weighted(0.1)), 1..60),
        is_paced in any::<bool>(),
    ) {
        let port = Simulated::new();
        let mut line = port.line(if is_paced { Rate::MIDI } else { Rate::Unpaced });
        let (mut answers, mut delivered) = (0, Vec::new());
        let count = steps.len();
        let payloads: Vec<Vec<u8>> = steps.iter().map(|step| step.1.clone()).collect();
        let mut note = |sequence: u64, taken: bool| {
            answers += 1;
            if taken {
                delivered.push(payloads[sequence as usize].clone());
            }
        };
        for (sequence, (client, payload, room, leaves)) in steps.into_iter().enumerate() {
            port.set_room(room);
            let item = item(client, sequence as u64, &payload);
            while line.ready_from() > port.now() {
                for (sequence, taken) in run(&mut line, Nanos::from_millis(1)) {
                    note(sequence, taken);
                }
            }
            if let Some(taken) = taken(line.hand_over(&item)) {
                note(item.sequence, taken);
            }
            if leaves {
                line.client_left(item.client);
            }
        }
        port.set_room(usize::MAX);
        run(&mut line, SECOND).into_iter().for_each(|(sequence, taken)| note(sequence, taken));
        prop_assert_eq!(answers, count);
        drop(line);
        let (messages, problems) = port.parsed();
        let is_truncated = |problem: &Problem| matches!(problem, Problem::Truncated { .. });
        prop_assert!(problems.iter().all(is_truncated));
        let mut sounding = Sounding::default();
        messages.iter().for_each(|message| sounding.follow(message));
        prop_assert!(sounding.is_silent(), "{:?}", messages);
        let mut seen = messages.iter().map(|message| message.bytes().to_vec());
        for wanted in delivered {
            prop_assert!(seen.any(|bytes| bytes == wanted), "{wanted:?} in this order");
        }
    }
}
