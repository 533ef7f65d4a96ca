//! Sending to a port of this process, by the code of the server.

use std::sync::mpsc::{Sender, channel};

use tactus_delivery::item::{BranchId, ClientId, Epoch, IfLate, Item, Moment, StreamId};
use tactus_delivery::receipt::Receipt;
use tactus_midi::Parsed;
use tactus_midi::file::Timed;
use tactus_model::time::{Monotonic, Nanos};
use tactus_streamd::inputs::{Attentive, Gone, LineOptions, PortSpec, attend};
use tactus_streamd::outlet::Outlet;
use tactus_sys::clock;

use super::{Answers, SendArguments};
use crate::command::midi::ports::{ended_by_signal, joined, open_output};
use crate::error::{CommandError, CommandResult};

/// How long a slow output may take for the ends of notes.
const PATIENCE: Nanos = Nanos::from_secs(2);

const CLIENT: ClientId = ClientId(0);
const STREAM: StreamId = StreamId(0);

pub(super) fn send(
    arguments: &SendArguments,
    port: &PortSpec,
    messages: &[Timed],
    answers: &mut Answers<'_>,
) -> CommandResult {
    let quietness = arguments.thread.quietness;
    let line = LineOptions { rate: arguments.rate, has_running_status: false };
    let sink = open_output(port, line, quietness)?;
    let handle = ended_by_signal()?;
    let start = clock::now::<Monotonic>();
    let last = messages.last().map(|timed| timed.at).unwrap_or_default();
    let mut outlet = Outlet::new(sink);
    (0..).zip(messages).for_each(|(sequence, timed)| outlet.push(item(sequence, start, timed)));
    let (sender, receipts) = channel();
    let mut playing = Playing { outlet, receipts: sender, hold: start + last + arguments.hold };
    let of_thread = handle.clone();
    let thread = arguments.thread.spawn(move || {
        let ended = attend(&mut [], &of_thread, None, &mut playing);
        playing.outlet.end(&[(CLIENT, STREAM)], PATIENCE, clock::now::<Monotonic>);
        playing.pass_on();
        ended
    })?;
    let mut answered = Ok(());
    for receipt in receipts {
        // A reader that closed the output ends it.
        if answered.is_ok() {
            answered = answers.add(&receipt).inspect_err(|_| handle.end());
        }
    }
    joined(thread).map_err(CommandError::internal)?;
    answered
}

fn item(sequence: u64, start: Moment, timed: &Timed) -> Item<Box<[u8]>> {
    Item {
        client: CLIENT,
        sequence,
        stream: STREAM,
        branch: BranchId(0),
        epoch: Epoch(0),
        due: start + timed.at,
        if_late: IfLate::Deliver,
        payload: timed.message.bytes().into(),
    }
}

/// An outlet that delivers what it has.
struct Playing {
    outlet: Outlet,
    receipts: Sender<Receipt>,
    /// When it may end.
    hold: Moment,
}

impl Playing {
    fn pass_on(&mut self) {
        for receipt in self.outlet.receipts() {
            // Nobody reads receipts any more when the command ends.
            let _ = self.receipts.send(receipt);
        }
    }
}

impl Attentive for Playing {
    fn parsed(&mut self, _: usize, _: Parsed) {}

    fn gone(&mut self, _: usize, _: Gone) {}

    fn turn(&mut self, now: Moment) -> Option<Moment> {
        let next = self.outlet.turn(now);
        self.pass_on();
        next.or((now < self.hold).then_some(self.hold))
    }
}
