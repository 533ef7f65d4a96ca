//! The queue of a device: what is delivered when, and what is not.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use tactus_model::time::Nanos;

use crate::device_clock::Correction;
use crate::item::{BranchId, ClientId, Epoch, IfLate, Item, Moment, Place, StreamId};
use crate::receipt::{Evidence, Outcome, Receipt};

/// From an instant on, nothing of earlier epochs of a branch is delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Whose branch.
    pub client: ClientId,
    /// The branch.
    pub branch: BranchId,
    /// The epoch that begins.
    pub epoch: Epoch,
    /// From when on.
    pub at: Moment,
}

impl Cut {
    /// Whether an item is cut.
    pub fn applies_to<P>(&self, item: &Item<P>) -> bool {
        item.client == self.client
            && item.branch == self.branch
            && item.epoch < self.epoch
            && item.due >= self.at
    }
}

/// How a delivery went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// When it began.
    pub began: Moment,
    /// When it had ended.
    pub ended: Moment,
    /// Whether the device took the item.
    pub taken: bool,
    /// How far the times can be trusted. Without evidence, nobody knows whether an item that was
    /// taken came out.
    pub evidence: Evidence,
    /// How the device's clock deviated, if the times are by that clock.
    pub correction: Option<Correction>,
    /// The refresh of the display with which a frame was seen.
    pub msc: Option<u64>,
}

impl Delivery {
    /// A delivery that was a call between these two readings of the clock.
    pub const fn by_call(began: Moment, ended: Moment, taken: bool) -> Self {
        Self { began, ended, taken, evidence: Evidence::Call, correction: None, msc: None }
    }
}

/// The items that wait for a device, and those that it has but has not answered.
///
/// Every item gets one receipt: from [`Self::push`], [`Self::take_due`], [`Self::settle`],
/// [`Self::cut`], [`Self::close`], [`Self::leave`], [`Self::remove_some`] or [`Self::end`].
#[derive(Clone, Debug)]
pub struct Device<P> {
    queue: BTreeMap<Place, Item<P>>,
    of_clients: Places<ClientId>,
    of_streams: Places<Key>,
    stopped: BTreeSet<Key>,
    /// Stopped streams whose items are not all removed yet.
    stopping: BTreeSet<Key>,
    /// The receipts of the items in delivery if nobody settles them.
    unsettled: BTreeMap<Place, Receipt>,
    lead: Nanos,
}

/// A stream: each client numbers its own.
type Key = (ClientId, StreamId);

/// Where the items of each client, or of each stream, stand.
#[derive(Clone, Debug)]
struct Places<K>(BTreeMap<K, BTreeSet<Place>>);

impl<K: Ord> Places<K> {
    const fn new() -> Self {
        Self(BTreeMap::new())
    }

    fn add(&mut self, key: K, place: Place) {
        self.0.entry(key).or_default().insert(place);
    }

    fn remove(&mut self, key: &K, place: &Place) {
        if let Some(places) = self.0.get_mut(key) {
            places.remove(place);
            if places.is_empty() {
                self.0.remove(key);
            }
        }
    }
}

/// What [`Device::take_some`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken<P> {
    /// An item to deliver now.
    Item(Item<P>),
    /// Nothing so far, and there may be more to look at.
    More,
    /// Nothing.
    Nothing,
}

impl<P> Device<P> {
    /// A device that must get each item this long before its time.
    pub const fn new(lead: Nanos) -> Self {
        Self {
            queue: BTreeMap::new(),
            of_clients: Places::new(),
            of_streams: Places::new(),
            stopped: BTreeSet::new(),
            stopping: BTreeSet::new(),
            unsettled: BTreeMap::new(),
            lead,
        }
    }

    /// The number of items that wait.
    pub fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// Adds an item, or returns the receipt of one whose stream has stopped.
    ///
    /// An item that is already due is the next to be delivered.
    pub fn push(&mut self, item: Item<P>) -> Option<Receipt> {
        if self.has_stopped(item.client, item.stream) {
            return Some(Receipt::undelivered(&item, Outcome::Stopped));
        }
        // The desk accepts each number of a client once.
        let replaced = self.queue.remove(&item.place());
        replaced.iter().for_each(|replaced| self.forget(replaced));
        self.of_clients.add(item.client, item.place());
        self.of_streams.add((item.client, item.stream), item.place());
        self.queue.insert(item.place(), item);
        replaced.map(|item| Receipt::undelivered(&item, Outcome::Failed))
    }

    /// When to look for due items; `None` while none waits.
    pub fn next(&self) -> Option<Moment> {
        if !self.stopping.is_empty() {
            return Some(Moment::from_nanos(0));
        }
        let (place, _) = self.queue.first_key_value()?;
        Some(place.due - self.lead)
    }

    /// The item to deliver now, if one is due. [`Self::settle`] says how that went, at once or
    /// after other items were taken.
    ///
    /// Adds the receipts of items that are too late, and of those whose stream stops.
    pub fn take_due(&mut self, now: Moment, receipts: &mut Vec<Receipt>) -> Option<Item<P>> {
        match self.take_some(now, usize::MAX, receipts) {
            Taken::Item(item) => Some(item),
            Taken::More | Taken::Nothing => None,
        }
    }

    /// Like [`Self::take_due`], after looking at no more than `most` items, so others can use the
    /// device meanwhile.
    pub fn take_some(&mut self, now: Moment, most: usize, receipts: &mut Vec<Receipt>) -> Taken<P> {
        let reached = now + self.lead;
        for _ in 0..most {
            let first = self.queue.first_entry().filter(|first| first.key().due <= reached);
            let Some(first) = first else {
                if self.remove_stopped(receipts) {
                    continue;
                }
                return Taken::Nothing;
            };
            let item = first.remove();
            self.forget(&item);
            let key = (item.client, item.stream);
            let lateness = reached - item.due;
            let outcome = match item.if_late.tolerance() {
                _ if self.stopped.contains(&key) => Outcome::Stopped,
                Some(tolerance) if lateness > tolerance => Outcome::Late,
                _ => {
                    let unsettled = Receipt::undelivered(&item, Outcome::Unknown);
                    self.unsettled.insert(item.place(), unsettled);
                    return Taken::Item(item);
                }
            };
            receipts.push(Receipt::undelivered(&item, outcome));
            if outcome == Outcome::Late && matches!(item.if_late, IfLate::Stop(_)) {
                self.stopped.insert(key);
                self.stopping.insert(key);
            }
        }
        Taken::More
    }

    /// The receipt of an item in delivery; `None` if it is none.
    pub fn settle(&mut self, place: &Place, delivery: Delivery) -> Option<Receipt> {
        let Delivery { began, ended, taken, evidence, correction, msc } = delivery;
        let outcome = match (taken, evidence) {
            (false, _) => Outcome::Failed,
            (true, Evidence::None) => Outcome::Unknown,
            (true, _) => Outcome::Delivered,
        };
        let receipt = self.unsettled.remove(place)?;
        let (began, ended) = (Some(began), Some(ended));
        Some(Receipt { began, ended, outcome, evidence, correction, msc, ..receipt })
    }

    /// Removes the items that are cut.
    pub fn cut(&mut self, cut: &Cut, receipts: &mut Vec<Receipt>) {
        self.remove_all(&Removal::Cut(*cut), receipts);
    }

    /// Whether a late item has stopped the stream.
    pub fn has_stopped(&self, client: ClientId, stream: StreamId) -> bool {
        self.stopped.contains(&(client, stream))
    }

    /// Lets later items of a stopped stream be delivered again.
    pub fn resume(&mut self, client: ClientId, stream: StreamId, receipts: &mut Vec<Receipt>) {
        if self.stopped.contains(&(client, stream)) {
            self.remove_all(&Removal::Stop(client, stream), receipts);
        }
        self.forget_stop(&(client, stream));
    }

    /// Removes the items of a stream that is closed.
    pub fn close(&mut self, client: ClientId, stream: StreamId, receipts: &mut Vec<Receipt>) {
        self.remove_all(&Removal::Close(client, stream), receipts);
    }

    /// Removes the items of a client that has gone.
    pub fn leave(&mut self, client: ClientId, receipts: &mut Vec<Receipt>) {
        self.remove_all(&Removal::Leave(client), receipts);
    }

    /// Removes items after looking at no more than `most` of them, from `from` on: first
    /// [`Removal::start`], then what this returned, until it returns `None`. So others can use the
    /// device meanwhile. The earliest items come first.
    pub fn remove_some(
        &mut self,
        removal: &Removal,
        from: Place,
        most: usize,
        receipts: &mut Vec<Receipt>,
    ) -> Option<Place> {
        let places = match removal {
            Removal::Cut(Cut { client, .. }) => self.of_clients.0.get(client),
            Removal::Close(client, stream) => {
                self.forget_stop(&(*client, *stream));
                self.of_streams.0.get(&(*client, *stream))
            }
            Removal::Stop(client, stream) => self.of_streams.0.get(&(*client, *stream)),
            Removal::Leave(client) => {
                self.stopped.retain(|(other, _)| other != client);
                self.stopping.retain(|(other, _)| other != client);
                self.of_clients.0.get(client)
            }
        };
        let places: Vec<Place> = places?.range(from..).take(most).copied().collect();
        for place in &places {
            if let Entry::Occupied(entry) = self.queue.entry(*place)
                && removal.applies_to(entry.get())
            {
                let item = entry.remove();
                receipts.push(Receipt::undelivered(&item, removal.outcome()));
                self.forget(&item);
            }
        }
        let last = places.last().filter(|_| places.len() == most)?;
        Some(Place { sequence: last.sequence.saturating_add(1), ..*last })
    }

    fn remove_all(&mut self, removal: &Removal, receipts: &mut Vec<Receipt>) {
        self.remove_some(removal, removal.start(), usize::MAX, receipts);
    }

    /// Removes an item of a stream that has stopped; whether there may be more.
    fn remove_stopped(&mut self, receipts: &mut Vec<Receipt>) -> bool {
        let Some(key) = self.stopping.first().copied() else { return false };
        let first = self.of_streams.0.get(&key).and_then(BTreeSet::first).copied();
        match first.and_then(|place| self.queue.remove(&place)) {
            Some(item) => {
                self.forget(&item);
                receipts.push(Receipt::undelivered(&item, Outcome::Stopped));
            }
            None => drop(self.stopping.remove(&key)),
        }
        true
    }

    /// Notes that a stream has not stopped.
    fn forget_stop(&mut self, key: &Key) {
        self.stopped.remove(key);
        self.stopping.remove(key);
    }

    /// Notes that an item waits no longer.
    fn forget(&mut self, item: &Item<P>) {
        self.of_clients.remove(&item.client, &item.place());
        self.of_streams.remove(&(item.client, item.stream), &item.place());
    }

    /// Removes everything. Items in delivery that nobody has settled may have come out.
    pub fn end(&mut self, receipts: &mut Vec<Receipt>) {
        receipts.extend(std::mem::take(&mut self.unsettled).into_values());
        self.of_clients.0.clear();
        self.of_streams.0.clear();
        self.stopping.clear();
        let left = std::mem::take(&mut self.queue).into_values();
        receipts.extend(left.map(|item| Receipt::undelivered(&item, Outcome::Ended)));
    }
}

/// What is removed before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    /// What a cut removes.
    Cut(Cut),
    /// The items of a stream that is closed.
    Close(ClientId, StreamId),
    /// The items of a stream that has stopped for a late item.
    Stop(ClientId, StreamId),
    /// The items of a client that has gone.
    Leave(ClientId),
}

impl Removal {
    /// The first place where an item may be removed.
    pub const fn start(&self) -> Place {
        let due = match self {
            Self::Cut(cut) => cut.at,
            _ => Moment::from_nanos(0),
        };
        Place { due, client: ClientId(0), sequence: 0 }
    }

    /// Whether it applies to an item of the client.
    fn applies_to<P>(&self, item: &Item<P>) -> bool {
        match self {
            Self::Cut(cut) => cut.applies_to(item),
            Self::Close(_, stream) | Self::Stop(_, stream) => item.stream == *stream,
            Self::Leave(_) => true,
        }
    }

    const fn outcome(&self) -> Outcome {
        match self {
            Self::Cut(_) => Outcome::Cut,
            Self::Close(..) | Self::Leave(_) => Outcome::Closed,
            Self::Stop(..) => Outcome::Stopped,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn at(ms: u64) -> Moment {
        Moment::from_nanos(ms * MS)
    }

    fn item(sequence: u64, due: u64) -> Item<()> {
        Item {
            client: ClientId(1),
            sequence,
            stream: StreamId(1),
            branch: BranchId(0),
            epoch: Epoch(0),
            due: at(due),
            if_late: IfLate::Deliver,
            payload: (),
        }
    }

    fn done(began: u64) -> Delivery {
        let (began, evidence) = (at(began), Evidence::Virtual);
        Delivery { began, ended: began, taken: true, evidence, correction: None, msc: None }
    }

    /// Delivers what is due, and returns the numbers delivered and the outcomes of all receipts.
    fn run(device: &mut Device<()>, now: u64) -> (Vec<u64>, Vec<(u64, Outcome)>) {
        let (mut delivered, mut receipts) = (Vec::new(), Vec::new());
        while let Some(item) = device.take_due(at(now), &mut receipts) {
            delivered.push(item.sequence);
            receipts.extend(device.settle(&item.place(), done(now)));
        }
        (delivered, receipts.iter().map(|receipt| (receipt.sequence, receipt.outcome)).collect())
    }

    #[test]
    fn items_come_in_the_order_of_their_times_then_as_submitted() {
        let mut device = Device::new(Nanos::ZERO);
        for (sequence, due) in [(0, 3), (1, 1), (2, 3), (3, 2)] {
            assert_eq!(device.push(item(sequence, due)), None);
        }
        assert_eq!(device.next(), Some(at(1)));
        assert_eq!(run(&mut device, 2).0, [1, 3]);
        assert_eq!(run(&mut device, 3).0, [0, 2]);
        assert_eq!(device.next(), None);
    }

    #[test]
    fn a_device_with_a_lead_gets_items_early() {
        let mut device = Device::new(Nanos::from_millis(2));
        device.push(item(0, 5));
        device.push(Item { if_late: IfLate::Drop(Nanos::ZERO), ..item(1, 5) });
        assert_eq!(device.next(), Some(at(3)));
        assert_eq!(run(&mut device, 3).0, [0, 1], "neither is late");
    }

    #[test]
    fn late_items_are_delivered_dropped_or_stop_their_stream() {
        let mut device = Device::new(Nanos::ZERO);
        let tolerance = Nanos::from_millis(2);
        device.push(item(0, 1));
        device.push(Item { if_late: IfLate::Drop(tolerance), ..item(1, 1) });
        device.push(Item { if_late: IfLate::Drop(tolerance), ..item(2, 3) });
        device.push(Item { if_late: IfLate::Stop(tolerance), ..item(3, 2) });
        device.push(item(4, 9));
        let (delivered, outcomes) = run(&mut device, 5);
        assert_eq!(delivered, [0]);
        let found: BTreeMap<u64, Outcome> = outcomes.into_iter().collect();
        let wanted = [
            (0, Outcome::Delivered),
            (1, Outcome::Late),
            (2, Outcome::Stopped),
            (3, Outcome::Late),
            (4, Outcome::Stopped),
        ];
        assert_eq!(found, wanted.into_iter().collect());
        assert!(device.has_stopped(ClientId(1), StreamId(1)));
        assert_eq!(device.push(item(5, 9)).unwrap().outcome, Outcome::Stopped);
        device.resume(ClientId(1), StreamId(1), &mut Vec::new());
        assert_eq!(device.push(item(6, 9)), None);
    }

    #[test]
    fn a_stream_stops_in_steps_and_nothing_of_it_is_delivered_meanwhile() {
        let stopping = |resumes_after: usize| {
            let mut device = Device::new(Nanos::ZERO);
            device.push(Item { if_late: IfLate::Stop(Nanos::ZERO), ..item(0, 1) });
            (1..20)
                .for_each(|sequence| assert_eq!(device.push(item(sequence, 3 + sequence)), None));
            device.push(Item { stream: StreamId(2), ..item(20, 4) });
            let (mut receipts, mut delivered) = (Vec::new(), Vec::new());
            for step in 0.. {
                if step == resumes_after {
                    device.resume(ClientId(1), StreamId(1), &mut receipts);
                    device.push(item(21, 4));
                }
                let before = receipts.len();
                match device.take_some(at(4), 3, &mut receipts) {
                    Taken::Item(item) => delivered.push(item.sequence),
                    Taken::Nothing if step > resumes_after => break,
                    Taken::More | Taken::Nothing => {}
                }
                assert!(step == resumes_after || receipts.len() <= before + 3);
            }
            let stopped = receipts.iter().filter(|receipt| receipt.outcome == Outcome::Stopped);
            assert_eq!((stopped.count(), receipts.len(), device.waiting()), (19, 20, 0));
            delivered
        };
        assert_eq!(stopping(2), [20, 21]);
        assert_eq!(stopping(30), [20, 21]);
    }

    #[test]
    fn streams_of_the_same_number_belong_to_their_clients() {
        let mut device = Device::new(Nanos::ZERO);
        let other = |sequence, due| Item { client: ClientId(2), ..item(sequence, due) };
        device.push(Item { if_late: IfLate::Stop(Nanos::ZERO), ..item(0, 1) });
        device.push(other(0, 3));
        let (delivered, outcomes) = run(&mut device, 2);
        assert_eq!((delivered, outcomes), (vec![], vec![(0, Outcome::Late)]));
        assert_eq!(device.push(other(1, 3)), None);
        assert!(!device.has_stopped(ClientId(2), StreamId(1)));
        device.resume(ClientId(2), StreamId(1), &mut Vec::new());
        assert_eq!(device.push(item(1, 3)).unwrap().outcome, Outcome::Stopped);
        let mut receipts = Vec::new();
        device.close(ClientId(1), StreamId(1), &mut receipts);
        assert_eq!((receipts.len(), device.waiting()), (0, 2));
        device.leave(ClientId(2), &mut receipts);
        assert_eq!((receipts.len(), device.waiting()), (2, 0));
    }

    #[test]
    fn a_cut_takes_earlier_epochs_from_its_instant_on() {
        let mut device = Device::new(Nanos::ZERO);
        device.push(item(0, 1));
        device.push(item(1, 2));
        device.push(Item { branch: BranchId(7), ..item(2, 2) });
        device.push(Item { epoch: Epoch(1), ..item(3, 2) });
        device.push(Item { client: ClientId(2), ..item(4, 2) });
        let cut = Cut { client: ClientId(1), branch: BranchId(0), epoch: Epoch(1), at: at(2) };
        let mut receipts = Vec::new();
        device.cut(&cut, &mut receipts);
        assert_eq!((receipts.len(), receipts[0].sequence), (1, 1));
        assert_eq!(receipts[0].outcome, Outcome::Cut);
        assert_eq!(run(&mut device, 2).0, [0, 2, 3, 4]);
    }

    #[test]
    fn a_removal_can_be_made_in_steps() {
        let mut device = Device::new(Nanos::ZERO);
        for sequence in 0..10 {
            device.push(Item { stream: StreamId(sequence as u32 % 2), ..item(sequence, 5) });
            device.push(Item { client: ClientId(2), ..item(sequence, 5) });
        }
        let (removal, mut receipts) = (Removal::Close(ClientId(1), StreamId(1)), Vec::new());
        let (mut from, mut steps) = (Some(removal.start()), 0);
        while let Some(place) = from {
            from = device.remove_some(&removal, place, 3, &mut receipts);
            steps += 1;
        }
        let removed: Vec<u64> = receipts.iter().map(|receipt| receipt.sequence).collect();
        assert_eq!((removed, steps, device.waiting()), (vec![1, 3, 5, 7, 9], 2, 15));
        device.leave(ClientId(2), &mut receipts);
        assert_eq!(run(&mut device, 5).0, [0, 2, 4, 6, 8]);
    }

    #[test]
    fn an_item_in_delivery_is_unknown_if_the_server_ends() {
        let mut device = Device::new(Nanos::ZERO);
        (0..3).for_each(|sequence| assert_eq!(device.push(item(sequence, 1)), None));
        let mut receipts = Vec::new();
        let first = device.take_due(at(1), &mut receipts).unwrap().place();
        let second = device.take_due(at(1), &mut receipts).unwrap().place();
        assert!(device.settle(&second, done(1)).is_some(), "answered before the first");
        assert_eq!(device.settle(&second, done(1)), None, "answered once");
        let third = device.take_due(at(1), &mut receipts).unwrap().place();
        let lost = Delivery { evidence: Evidence::None, ..done(1) };
        assert_eq!(device.settle(&third, lost).unwrap().outcome, Outcome::Unknown);
        device.push(item(3, 1));
        device.end(&mut receipts);
        let outcomes: Vec<Outcome> = receipts.iter().map(|receipt| receipt.outcome).collect();
        assert_eq!(outcomes, [Outcome::Unknown, Outcome::Ended]);
        assert_eq!(device.settle(&first, done(1)), None);
    }
}
