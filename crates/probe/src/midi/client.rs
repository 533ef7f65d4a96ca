//! The program that hands messages over ahead of their time.

use std::sync::mpsc::{self, SyncSender};

use tactus_delivery::desk::{Desk, DeviceId, Limits};
use tactus_delivery::item::{BranchId, ClientId, Epoch, IfLate, Item, Moment, StreamId};
use tactus_delivery::receipt::Receipt;
use tactus_midi::message::Short;
use tactus_model::midi::MidiProbe;
use tactus_model::time::{Monotonic, Nanos};
use tactus_sys::clock;
use tactus_sys::sleep::{Nanosleep, Sleeper};

use super::{Messages, message};

/// The stream of the messages.
const STREAM: StreamId = StreamId(0);

/// What a client knows after a window.
#[derive(Debug, Default)]
pub(super) struct HandedOver {
    /// The receipts, if they were to be kept.
    pub receipts: Vec<Receipt>,
    /// How many messages were handed over after their time.
    pub late: u64,
}

/// The client of a library: it keeps the account of what it may hand over.
pub(super) struct Client {
    desk: Desk,
    id: ClientId,
    ahead: Nanos,
    items: SyncSender<Item<Short>>,
    receipts: mpsc::Receiver<Receipt>,
    keeps_receipts: bool,
    found: HandedOver,
}

impl Client {
    /// A client that hands items over to a queue with room for all that the probe may have there.
    pub(super) fn new(
        midi: &MidiProbe,
        items: SyncSender<Item<Short>>,
        receipts: mpsc::Receiver<Receipt>,
    ) -> Self {
        let most = u32::try_from(midi.waiting_max()).unwrap_or(u32::MAX);
        let limits = Limits { items: most, horizon: midi.ahead, streams: 1, branches: 1 };
        let mut desk = Desk::new(limits);
        let id = desk.enter(most);
        // The first stream of a client is accepted.
        let _ = desk.open(id, STREAM, DeviceId(0));
        let found = HandedOver::default();
        Self { desk, id, ahead: midi.ahead, items, receipts, keeps_receipts: false, found }
    }

    /// Hands over all messages at their time, less the time ahead, and reads their receipts.
    pub(super) fn hand_over(mut self, messages: Messages, keeps_receipts: bool) -> HandedOver {
        self.keeps_receipts = keeps_receipts;
        for (sequence, due) in (0..).zip(messages.schedule) {
            let due = messages.start + due;
            let slept = Nanosleep.sleep_until(due - self.ahead);
            let is_possible = slept.is_ok_and(|now| now <= messages.until);
            if !is_possible || !self.submit(sequence, due) {
                break;
            }
        }
        // The output thread ends when there is nothing more to come.
        drop(self.items);
        let HandedOver { mut receipts, late } = self.found;
        self.receipts.iter().for_each(|receipt| {
            if keeps_receipts {
                receipts.push(receipt);
            }
        });
        HandedOver { receipts, late }
    }

    /// Submits a message as soon as there is room for it; false if the output thread has ended.
    fn submit(&mut self, sequence: u64, due: Moment) -> bool {
        while let Ok(receipt) = self.receipts.try_recv() {
            self.read(receipt);
        }
        loop {
            let item = Item {
                client: self.id,
                sequence,
                stream: STREAM,
                branch: BranchId(0),
                epoch: Epoch(0),
                due,
                if_late: IfLate::Deliver,
                payload: message(sequence),
            };
            let now = clock::now::<Monotonic>();
            if self.desk.submit(item, now).is_ok() {
                self.found.late += u64::from(now > due);
                // The queue has room for all items that the desk accepts.
                return self.items.send(item).is_ok();
            }
            // Too many have no receipt.
            match self.receipts.recv() {
                Ok(receipt) => self.read(receipt),
                Err(mpsc::RecvError) => return false,
            }
        }
    }

    fn read(&mut self, receipt: Receipt) {
        self.desk.read(self.id, 1);
        if self.keeps_receipts {
            self.found.receipts.push(receipt);
        }
    }
}
