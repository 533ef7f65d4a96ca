//! From inputs to an output.

use serde::Serialize;
use tactus_delivery::item::{BranchId, ClientId, Epoch, IfLate, Item, Moment, StreamId};
use tactus_delivery::receipt::Outcome;
use tactus_midi::{Filter, Message, Parsed, Problem};
use tactus_model::time::{Monotonic, Nanos};
use tactus_stats::LatencyHistogram;
use tactus_sys::clock;

use super::{Attentive, Gone};
use crate::outlet::Outlet;
use crate::sink::Sink;

/// The most messages that wait for a slow output.
const WAITING_MOST: usize = 1024;

/// What came in and what became of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ThruCounts {
    /// Whole messages that came in.
    pub messages: u64,
    /// Pieces of bytes that are no messages.
    pub problems: u64,
    /// Messages that the filter left out.
    pub filtered: u64,
    /// Messages that came out.
    pub delivered: u64,
    /// Messages that the output did not take.
    pub failed: u64,
    /// Messages that were lost because too many waited for the output.
    pub lost: u64,
}

/// Passes messages of inputs through a filter to one output, each as soon as it is whole.
///
/// Each input is a client of the sink, so messages are not torn, and an input that goes leaves no
/// note sounding. The queue is that of the delivery server: a message is due when its last byte has
/// arrived.
pub struct Thru {
    filter: Filter,
    outlet: Outlet,
    sequence: u64,
    counts: ThruCounts,
    latency: LatencyHistogram,
}

impl Thru {
    /// From nothing to this output.
    pub fn new(filter: Filter, sink: Box<dyn Sink>) -> Self {
        Self {
            filter,
            outlet: Outlet::new(sink),
            sequence: 0,
            counts: ThruCounts::default(),
            latency: LatencyHistogram::new(),
        }
    }

    /// What came in and what became of it.
    pub const fn counts(&self) -> ThruCounts {
        self.counts
    }

    /// How long after the arrival of its last byte each delivered message was written.
    pub const fn latency(&self) -> &LatencyHistogram {
        &self.latency
    }

    /// Takes a message of an input.
    fn push(&mut self, input: usize, message: &Message, arrived: Moment) {
        if self.outlet.waiting() >= WAITING_MOST {
            self.drop_waiting(input);
        }
        let (client, stream) = names(input);
        let sequence = self.sequence;
        self.sequence += 1;
        self.outlet.push(Item {
            client,
            sequence,
            stream,
            branch: BranchId(0),
            epoch: Epoch(0),
            due: arrived,
            if_late: IfLate::Deliver,
            payload: message.bytes().into(),
        });
    }

    /// Drops what waits of an input, and ends its notes: their ends may be among what is dropped.
    fn drop_waiting(&mut self, input: usize) {
        let (client, stream) = names(input);
        self.outlet.close(client, stream);
    }

    /// Hands over what can be handed over now. Returns when to go on.
    fn deliver(&mut self, now: Moment) -> Option<Moment> {
        let next = self.outlet.turn(now);
        self.count();
        next
    }

    /// Counts what has been answered.
    fn count(&mut self) {
        for receipt in self.outlet.receipts() {
            match (receipt.outcome, receipt.ended) {
                (Outcome::Delivered, Some(ended)) => {
                    self.counts.delivered += 1;
                    self.latency.record(ended - receipt.due);
                }
                (Outcome::Failed, _) => self.counts.failed += 1,
                _ => self.counts.lost += 1,
            }
        }
    }

    /// Delivers what came in, then ends the notes of all inputs, for at most `patience`.
    pub fn end(&mut self, inputs: usize, patience: Nanos) {
        let clients: Vec<_> = (0..inputs).map(names).collect();
        self.outlet.end(&clients, patience, clock::now::<Monotonic>);
        self.count();
    }
}

/// An input as a client with a stream.
fn names(input: usize) -> (ClientId, StreamId) {
    let number = input as u32;
    (ClientId(number), StreamId(number))
}

impl Attentive for Thru {
    fn parsed(&mut self, input: usize, parsed: Parsed) {
        let (message, ended) = match parsed {
            Parsed::Message { message, ended, .. } => (message, ended),
            Parsed::Problem { problem, .. } => {
                self.counts.problems += 1;
                // The end of a note may be among what is lost.
                if matches!(problem, Problem::Lost { .. }) {
                    self.drop_waiting(input);
                }
                return;
            }
        };
        self.counts.messages += 1;
        match self.filter.apply(&message) {
            Some(message) => {
                self.push(input, &message, ended);
                self.deliver(ended);
            }
            None => self.counts.filtered += 1,
        }
    }

    fn gone(&mut self, input: usize, _: Gone) {
        self.drop_waiting(input);
    }

    fn turn(&mut self, now: Moment) -> Option<Moment> {
        self.deliver(now)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{File, OpenOptions};
    use std::io::{Read as _, Write as _};
    use std::os::unix::fs::OpenOptionsExt as _;

    use tactus_midi::Parser;

    use super::*;
    use crate::inputs::{EndedBy, Input, PortSpec, attend};
    use crate::server::Handle;
    use crate::sinks::{MidiLine, PtyPort, Rate};

    /// Inputs, the programs that write to them, and a thru whose output another program reads.
    struct Scene {
        inputs: Vec<Input>,
        keys: Vec<File>,
        synth: File,
        parser: Parser,
        thru: Thru,
    }

    fn scene(inputs: usize, filter: &str, rate: Rate) -> Scene {
        let open = |_| Input::open(&PortSpec::Pty(None)).unwrap();
        let inputs: Vec<Input> = (0..inputs).map(open).collect();
        let write = |input: &Input| OpenOptions::new().write(true).open(input.address()).unwrap();
        let keys = inputs.iter().map(write).collect();
        let port = PtyPort::open(None).unwrap();
        // O_NONBLOCK
        let synth = OpenOptions::new().read(true).custom_flags(0o4000).open(port.path()).unwrap();
        let sink = Box::new(MidiLine::new(port, rate).with_running_status());
        Scene {
            inputs,
            keys,
            synth,
            parser: Parser::default(),
            thru: Thru::new(filter.parse().unwrap(), sink),
        }
    }

    impl Scene {
        /// Runs until this many `messages` have come in.
        fn run(&mut self, messages: u64) {
            let handle = Handle::new().unwrap();
            while self.thru.counts().messages < messages {
                let until = clock::now::<Monotonic>() + Nanos::from_millis(5);
                let ended = attend(&mut self.inputs, &handle, Some(until), &mut self.thru).unwrap();
                assert_eq!(ended, EndedBy::Time);
            }
        }

        fn end(&mut self) {
            self.thru.end(self.inputs.len(), Nanos::from_secs(5));
        }

        /// The bytes that came out.
        fn bytes(&mut self) -> Vec<u8> {
            let mut bytes = Vec::new();
            let _ = self.synth.read_to_end(&mut bytes);
            bytes
        }

        /// The messages that came out.
        fn heard(&mut self) -> Vec<String> {
            let bytes = self.bytes();
            let mut texts = Vec::new();
            let mut keep = |parsed| match parsed {
                Parsed::Message { message, .. } => texts.push(message.to_string()),
                Parsed::Problem { problem, .. } => texts.push(problem.to_string()),
            };
            for byte in bytes {
                self.parser.push(byte, Moment::from_nanos(0), &mut keep);
            }
            texts
        }
    }

    #[test]
    fn inputs_are_merged_without_tearing_messages_and_end_without_notes() {
        let mut scene = scene(2, "kinds=normal,transpose=12", Rate::Unpaced);
        scene.keys[0].write_all(&[0x90, 60]).unwrap();
        scene.keys[1].write_all(&[0xF0, 1, 0x90, 64, 1, 65]).unwrap();
        scene.run(1);
        scene.keys[0].write_all(&[100, 62, 90]).unwrap();
        scene.keys[1].write_all(&[2, 0x80, 64, 1]).unwrap();
        scene.run(5);
        let mut heard = scene.heard();
        heard.sort();
        let wanted = [
            "note-off 1 76 1",
            "note-on 1 72 100",
            "note-on 1 74 90",
            "note-on 1 76 1",
            "note-on 1 77 2",
        ];
        assert_eq!(heard, wanted);
        scene.end();
        let mut heard = scene.heard();
        heard.sort();
        assert_eq!(heard, ["note-off 1 72 64", "note-off 1 74 64", "note-off 1 77 64"]);
        let counts = scene.thru.counts();
        assert_eq!((counts.messages, counts.delivered, counts.problems), (5, 5, 1));
        assert_eq!(scene.thru.latency().count(), 5);
    }

    #[test]
    fn a_status_byte_that_does_not_change_is_left_out() {
        let mut scene = scene(1, "", Rate::Unpaced);
        scene.keys[0]
            .write_all(&[0x90, 60, 1, 0x90, 61, 1, 0xF8, 0x90, 62, 1, 0x80, 62, 1])
            .unwrap();
        scene.run(5);
        scene.end();
        let wanted = [0x90, 60, 1, 61, 1, 0xF8, 62, 1, 0x80, 62, 1, 60, 64, 61, 64];
        assert_eq!(scene.bytes(), wanted);
    }

    #[test]
    fn a_slow_output_delays_messages_and_loses_none() {
        // A byte takes 3.3 ms; all of it about 60 ms.
        let mut scene = scene(1, "", Rate::Baud(3000));
        let exclusive = [&[0xF0][..], &[5; 14], &[0xF7]].concat();
        scene.keys[0].write_all(&[&exclusive[..], &[0xC0, 1]].concat()).unwrap();
        scene.run(2);
        scene.end();
        let counts = scene.thru.counts();
        assert_eq!((counts.messages, counts.delivered, counts.lost), (2, 2, 0));
        assert_eq!(scene.heard().last().map(String::as_str), Some("program 1 1"));
        let shortest = scene.thru.latency().min().unwrap();
        assert!(shortest >= Nanos::from_millis(10), "it is paced: {shortest}");
    }

    #[test]
    fn a_flood_loses_messages_which_are_counted_and_leaves_no_note() {
        let mut scene = scene(1, "", Rate::Baud(300));
        let flood: Vec<u8> = (0..1000).flat_map(|_| [0x90, 60, 1]).collect();
        for messages in [1000, 2000] {
            scene.keys[0].write_all(&flood).unwrap();
            scene.run(messages);
        }
        scene.thru.end(1, Nanos::ZERO);
        let counts = scene.thru.counts();
        assert!(counts.lost > 0);
        assert_eq!(counts.delivered + counts.failed + counts.lost, 2000);
    }
}
