//! The way through a library: a queue in the program, and the output thread that waits for its
//! head.

use std::fs::File;
use std::io::Write;
use std::sync::mpsc::{self, RecvTimeoutError, SyncSender, TryRecvError};
use std::thread::{self, JoinHandle};

use tactus_delivery::device::{Delivery, Device};
use tactus_delivery::item::{Item, Moment};
use tactus_delivery::receipt::Receipt;
use tactus_midi::message::Short;
use tactus_model::midi::MidiProbe;
use tactus_model::time::{Clock, Instant, Monotonic, Nanos};
use tactus_sys::sleep::Sleeper;
use tactus_sys::{SysError, clock};

use super::Messages;
use super::client::{Client, HandedOver};

/// A library whose client is ready.
pub(super) struct Library {
    begin: SyncSender<(Messages, bool)>,
    client: JoinHandle<HandedOver>,
    output: Output,
}

/// What the output thread has.
struct Output {
    port: File,
    items: mpsc::Receiver<Item<Short>>,
    receipts: SyncSender<Receipt>,
    queue: Device<Short>,
    /// The client hands over nothing more.
    is_last: bool,
}

impl Library {
    /// Starts the client, a thread with the policy of the calling one.
    pub(super) fn start(port: File, midi: &MidiProbe) -> Result<Self, SysError> {
        let room = usize::try_from(midi.waiting_max()).unwrap_or(usize::MAX);
        let (items, handed_over) = mpsc::sync_channel(room);
        let (receipts, answered) = mpsc::sync_channel(room);
        let (begin, begun) = mpsc::sync_channel(1);
        let client = Client::new(midi, items, answered);
        let client =
            thread::Builder::new().name("midi/client".to_owned()).spawn(move || {
                match begun.recv() {
                    Ok((messages, keeps_receipts)) => client.hand_over(messages, keeps_receipts),
                    Err(mpsc::RecvError) => HandedOver::default(),
                }
            });
        let client = client.map_err(SysError::of_io("clone"))?;
        let queue = Device::new(Nanos::ZERO);
        let output = Output { port, items: handed_over, receipts, queue, is_last: false };
        Ok(Self { begin, client, output })
    }

    /// Lets the client begin.
    pub(super) fn begin(&self, messages: Messages, keeps_receipts: bool) {
        // A client that has ended leaves nothing to deliver.
        let _ = self.begin.send((messages, keeps_receipts));
    }

    /// Writes a byte that is no message.
    pub(super) fn write(&mut self, byte: u8) -> Result<(), SysError> {
        self.output.port.write_all(&[byte]).map_err(SysError::of_io("write"))
    }

    /// Delivers what the client hands over, until it has ended or `until` has come.
    ///
    /// # Errors
    /// The sleeper's, and those of the line.
    pub(super) fn deliver<C: Clock>(
        &mut self,
        sleeper: &mut impl Sleeper<C>,
        until: Moment,
    ) -> Result<(), SysError> {
        while let Some(next) = self.output.next(until) {
            let mut now = clock::now::<Monotonic>();
            if now < next {
                now = on_monotonic(sleeper.sleep_until(Instant::from_nanos(next.as_nanos()))?);
            }
            self.output.deliver(now)?;
        }
        Ok(())
    }

    /// Waits for the client, and closes the line.
    pub(super) fn end(self) -> HandedOver {
        let Self { client, output, .. } = self;
        drop(output);
        client.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// The probe's clock is the monotonic clock.
fn on_monotonic<C: Clock>(instant: Instant<C>) -> Moment {
    Moment::from_nanos(instant.as_nanos())
}

impl Output {
    /// When the head of the queue is due, as soon as there is one; `None` if nothing more comes.
    fn next(&mut self, until: Moment) -> Option<Moment> {
        self.take_all();
        while !self.is_last && self.queue.next().is_none() {
            let left = until - clock::now::<Monotonic>();
            match self.items.recv_timeout(left.into()) {
                Ok(item) => self.push(item),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    self.is_last = true;
                }
            }
        }
        self.queue.next().filter(|next| *next <= until)
    }

    /// Takes what was handed over meanwhile. All of it is due after the head.
    fn take_all(&mut self) {
        while !self.is_last {
            match self.items.try_recv() {
                Ok(item) => self.push(item),
                Err(TryRecvError::Empty) => return,
                Err(TryRecvError::Disconnected) => self.is_last = true,
            }
        }
    }

    fn push(&mut self, item: Item<Short>) {
        let answered = self.queue.push(item);
        answered.into_iter().for_each(|receipt| self.answer(receipt));
    }

    /// Writes what is due.
    fn deliver(&mut self, now: Moment) -> Result<(), SysError> {
        let mut late = Vec::new();
        while let Some(item) = self.queue.take_due(now, &mut late) {
            let began = clock::now();
            self.port.write_all(item.payload.bytes()).map_err(SysError::of_io("write"))?;
            let ended = clock::now();
            let delivery = Delivery::by_call(began, ended, true);
            let receipt = self.queue.settle(&item.place(), delivery);
            receipt.into_iter().for_each(|receipt| self.answer(receipt));
        }
        late.into_iter().for_each(|receipt| self.answer(receipt));
        Ok(())
    }

    fn answer(&self, receipt: Receipt) {
        // There is room for as many receipts as items; a client that has ended reads none.
        let _ = self.receipts.try_send(receipt);
    }
}
