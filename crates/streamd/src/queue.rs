//! The queue of a device, between the thread that takes items from clients and the thread that
//! delivers them.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tactus_delivery::device::{Delivery, Device, Removal, Taken};
use tactus_delivery::item::{ClientId, Item, Moment, Place, StreamId};
use tactus_delivery::receipt::{Evidence, Receipt};
use tactus_model::time::Nanos;
use tactus_stream::message::Errors;
use tactus_stream::spread::Spread;
use tactus_sys::SysError;
use tactus_sys::pi_mutex::{PiGuard, PiMutex};
use tactus_sys::private_futex::Signal;
use tactus_sys::wait::Waker;

use crate::sink::Payload;

/// Items that are looked at while the other thread may wait.
const ITEMS_AT_ONCE: usize = 64;

/// What both threads share. The lock has priority inheritance.
#[derive(Debug)]
pub(crate) struct Queue {
    state: PiMutex<State>,
    /// How long before its time the device must have an item.
    lead: Nanos,
    /// Wakes the thread of the device.
    changed: Signal,
    /// Wakes the thread that passes on receipts.
    answered: Arc<Waker>,
    /// Whether the thread of the device has ended.
    pub has_ended: AtomicBool,
}

#[derive(Debug)]
struct State {
    device: Device<Payload>,
    /// Receipts to pass on.
    receipts: Vec<Receipt>,
    /// Memory for frames that the sink does not have yet.
    frames: Vec<Granted>,
    /// Clients that have gone, whose notes are to be silenced.
    left: Vec<ClientId>,
    /// How late deliveries began.
    errors: Spread,
    /// Until when the thread of the device sleeps; `None` while it is awake.
    sleeps_until: Option<Moment>,
    is_ending: bool,
}

/// Memory for a frame of a client.
#[derive(Debug)]
pub(crate) struct Granted {
    pub client: ClientId,
    pub number: u32,
    pub file: OwnedFd,
}

/// What the thread of a device does when nothing is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    /// It ends.
    End,
    /// Something has happened meanwhile.
    None,
    /// It sleeps until then, or until the queue changes.
    Until(Option<Moment>),
}

impl Queue {
    pub fn new(lead: Nanos, answered: Arc<Waker>) -> Self {
        let state = State {
            device: Device::new(lead),
            receipts: Vec::new(),
            frames: Vec::new(),
            left: Vec::new(),
            errors: Spread::default(),
            sleeps_until: None,
            is_ending: false,
        };
        let (changed, has_ended) = (Signal::default(), AtomicBool::new(false));
        Self { state: PiMutex::new(state), lead, changed, answered, has_ended }
    }

    /// # Panics
    /// The other thread has panicked while it held the lock.
    fn lock(&self) -> PiGuard<'_, State> {
        self.state.lock().expect("the other thread of a queue does not panic")
    }

    /// Adds an item.
    pub fn push(&self, item: Item<Payload>) {
        let mut state = self.lock();
        let answered = state.device.push(item);
        state.receipts.extend(answered);
        let sleep = state.sleeps_until.zip(state.device.next());
        let is_first = sleep.is_some_and(|(until, next)| next < until);
        if is_first {
            state.sleeps_until = None;
        }
        drop(state);
        if is_first {
            self.changed.send();
        }
    }

    /// Removes items, in steps, so that the device never waits long.
    pub fn remove(&self, removal: &Removal) {
        let mut from = Some(removal.start());
        while let Some(place) = from {
            let state = &mut *self.lock();
            from = state.device.remove_some(removal, place, ITEMS_AT_ONCE, &mut state.receipts);
        }
    }

    /// Lets later items of a stream be delivered again.
    pub fn resume(&self, client: ClientId, stream: StreamId) {
        if self.lock().device.has_stopped(client, stream) {
            self.remove(&Removal::Stop(client, stream));
        }
        let state = &mut *self.lock();
        state.device.resume(client, stream, &mut state.receipts);
    }

    /// Drops the items of a client that has gone, and silences it.
    pub fn leave(&self, client: ClientId) {
        self.remove(&Removal::Leave(client));
        self.lock().left.push(client);
        self.changed.send();
    }

    /// Passes memory for a frame on, before any item that names it.
    pub fn grant(&self, granted: Granted) {
        self.lock().frames.push(granted);
    }

    /// The memory since the last call.
    pub fn take_frames(&self) -> Vec<Granted> {
        std::mem::take(&mut self.lock().frames)
    }

    /// Ends the thread of the device.
    pub fn end(&self) {
        self.lock().is_ending = true;
        self.changed.send();
    }

    /// Swaps the receipts since the last call into `receipts`, which must be empty.
    pub fn collect(&self, receipts: &mut Vec<Receipt>) {
        std::mem::swap(receipts, &mut self.lock().receipts);
    }

    /// Answers everything that waits, after the thread of the device has ended.
    pub fn finish(&self, receipts: &mut Vec<Receipt>) {
        let state = &mut *self.lock();
        state.device.end(&mut state.receipts);
        receipts.append(&mut state.receipts);
    }

    /// Items that wait, and how late deliveries began, with their number.
    pub fn report(&self) -> (usize, u64, Option<Errors>) {
        let state = self.lock();
        let (waiting, errors) = (state.device.waiting(), state.errors.clone());
        drop(state);
        let quantile = |quantile| errors.quantile(quantile).unwrap_or_default();
        let found = Errors {
            p50: quantile(0.5),
            p99: quantile(0.99),
            p999: quantile(0.999),
            max: errors.max().unwrap_or_default(),
        };
        (waiting, errors.count(), (errors.count() > 0).then_some(found))
    }

    /// The clients that have gone since the last call.
    pub fn take_left(&self) -> Vec<ClientId> {
        std::mem::take(&mut self.lock().left)
    }

    /// The item to hand over now, if one is due.
    pub fn take_due(&self, now: Moment) -> Taken<Payload> {
        let state = &mut *self.lock();
        state.device.take_some(now, ITEMS_AT_ONCE, &mut state.receipts)
    }

    /// Answers an item that was handed over.
    pub fn settle(&self, place: &Place, delivery: Delivery) {
        let state = &mut *self.lock();
        if delivery.taken {
            // The device's own clock gives the time at which the item came out, others when it went in.
            let lead = match delivery.evidence {
                Evidence::DeviceClock => Nanos::ZERO,
                _ => self.lead,
            };
            state.errors.record(delivery.began - (place.due - lead));
        }
        state.receipts.extend(state.device.settle(place, delivery));
    }

    /// Whether receipts are to be passed on.
    pub fn has_receipts(&self) -> bool {
        !self.lock().receipts.is_empty()
    }

    /// What the thread of the device does now: it is ready for an item from `ready` on, and has
    /// something to do by itself at `turn`.
    pub fn rest(&self, ready: Moment, turn: Option<Moment>) -> Rest {
        let mut state = self.lock();
        if state.is_ending {
            return Rest::End;
        }
        if !state.left.is_empty() {
            return Rest::None;
        }
        let next = state.device.next().map(|next| next.max(ready));
        let due = next.into_iter().chain(turn).min();
        state.sleeps_until = Some(due.unwrap_or(Moment::from_nanos(u64::MAX)));
        Rest::Until(due)
    }

    /// Waits until something changes, or until `due`.
    pub fn wait(&self, due: Option<Moment>) -> Result<(), SysError> {
        let waited = self.changed.wait(due).map(drop);
        self.lock().sleeps_until = None;
        waited
    }

    /// Wakes the thread that passes on receipts.
    pub fn answer(&self) {
        self.answered.wake();
    }
}
