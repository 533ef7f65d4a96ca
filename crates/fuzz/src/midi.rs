//! The bytes of a MIDI cable, and files of messages.

use tactus_midi::hub::{Offered, Queue};
use tactus_midi::{
    Filter, Heard, Hub, Kinds, Message, Parsed, Parser, RunningStatus, Sounding, file,
};
use tactus_model::time::Instant;

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    vec![
        vec![0x90, 60, 100, 0xF8, 62, 100, 0xB0, 64, 127, 0xC1, 5],
        vec![0xF0, 0x7E, 0x7F, 6, 1, 0xFE, 0xF7, 0xF2, 0, 127, 0xF6, 1, 2, 0xF4],
    ]
}

/// Every message is whole and has a text, and what it leaves sounding is ended at every listener and
/// every output.
pub(crate) fn run(bytes: &[u8]) {
    let at = Instant::from_nanos(0);
    let filter: Filter = "transpose=5,move=1:2".parse().expect("it is a filter");
    let (mut parser, mut running, mut restored) =
        (Parser::new(64), RunningStatus::default(), Parser::new(64));
    let (mut hub, mut output) = (Hub::default(), Sounding::default());
    hub.enter(Kinds::ALL, Slow::default());
    let mut check = |parsed| {
        let Parsed::Message { message, began, ended } = parsed else { return };
        assert!(began <= ended && message.bytes().len() <= 64);
        assert_eq!(Message::new(message.bytes()).as_ref(), Some(&message));
        assert_eq!(message.to_string().parse().as_ref(), Ok(&message));
        hub.pass(&message, began, ended);
        if let Some(out) = filter.apply(&message) {
            output.follow(&out);
        }
        let mut again = Vec::new();
        for byte in running.encode(&message) {
            restored.push(*byte, at, |parsed| again.push(parsed));
        }
        assert_eq!(again, [Parsed::Message { message, began: at, ended: at }]);
    };
    for (at, byte) in (0..).zip(bytes) {
        parser.push(*byte, Instant::from_nanos(at), &mut check);
    }
    parser.finish(&mut check);
    let ends = output.silence();
    assert!(output.is_silent() && ends.len() <= 16 * 129);
    hub.silence(at);
    while hub.is_behind() {
        hub.catch_up(at);
    }
    let (_, queue, ..) = hub.listeners().next().expect("it reads");
    assert!(queue.sounding.is_silent());
}

/// A queue that has no room for every third message.
#[derive(Default)]
struct Slow {
    offered: u64,
    sounding: Sounding,
}

impl Queue for Slow {
    fn offer(&mut self, heard: &Heard) -> Offered {
        self.offered += 1;
        if self.offered.is_multiple_of(3) {
            return Offered::Full;
        }
        self.sounding.follow(&heard.message);
        Offered::Taken
    }
}

pub(crate) fn file_seeds() -> Vec<Vec<u8>> {
    let song = b"MThd\0\0\0\x06\0\0\0\x01\0\x60MTrk\0\0\0\x17\0\xff\x51\x03\x07\xa1\x20\
        \0\x90\x3c\x64\x60\x3c\0\0\xf0\x02\x01\xf7\0\xff\x2f\0";
    let text =
        "# a chord\n0s note-on 1 60 100\n0.5s bend 1 9000\n1s 80 3c 40\n2s exclusive 7e 01\n";
    vec![song.to_vec(), text.into()]
}

/// A file is messages in the order of their times, or an error.
pub(crate) fn read_file(bytes: &[u8]) {
    if let Ok(found) = file::read(bytes) {
        assert!(found.messages.is_sorted_by_key(|timed| timed.at));
        assert!(found.messages.len() <= bytes.len());
    } else if let Ok(text) = str::from_utf8(bytes) {
        let _ = (text.parse::<Filter>(), text.parse::<Kinds>(), text.parse::<Message>());
    }
}
