//! What clients may submit: credit, horizons, branches, cuts.

use std::collections::{BTreeMap, VecDeque};

use tactus_model::time::Nanos;

use crate::device::Cut;
use crate::item::{BranchId, ClientId, Epoch, Item, Moment, StreamId};
use crate::receipt::{Outcome, Receipt};

/// A device of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceId(pub u32);

/// How much a client may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Items of a client without a receipt that it has read.
    pub items: u32,
    /// How far ahead of the present an item may be due.
    pub horizon: Nanos,
    /// Open streams.
    pub streams: u32,
    /// Branches.
    pub branches: u32,
}

/// How many cuts of a branch are remembered. Items of epochs before these are cut whatever their
/// time is.
pub const CUTS_KEPT: usize = 16;

/// Why something is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Transient: the client must read receipts first.
    #[error("{limit} items have no receipt yet, the most that a client may have")]
    Full {
        /// The limit.
        limit: u32,
    },
    /// Transient: it is too early for the item.
    #[error("the item is due further ahead than {horizon}")]
    TooFarAhead {
        /// The limit.
        horizon: Nanos,
        /// From when on it is accepted.
        from: Moment,
    },
    /// The client has no such stream.
    #[error("there is no stream {}", .0.0)]
    NoStream(StreamId),
    /// The stream's number is in use.
    #[error("stream {} is open already", .0.0)]
    StreamOpen(StreamId),
    /// The client has too many streams.
    #[error("{limit} streams are open, the most that a client may have")]
    Streams {
        /// The limit.
        limit: u32,
    },
    /// The client has too many branches.
    #[error("the client has {limit} branches, the most that it may have")]
    Branches {
        /// The limit.
        limit: u32,
    },
    /// Numbers must grow.
    #[error("item {given} does not follow item {last}")]
    Sequence {
        /// The number of the item.
        given: u64,
        /// The number of the last one.
        last: u64,
    },
    /// Epochs must grow.
    #[error("epoch {} of a cut does not follow epoch {}", .given.0, .last.0)]
    Epoch {
        /// The epoch of the cut.
        given: Epoch,
        /// The epoch of the branch.
        last: Epoch,
    },
    /// The client is not known.
    #[error("there is no client {}", .0.0)]
    NoClient(ClientId),
}

impl Refusal {
    /// Whether the same request can succeed later.
    pub const fn is_transient(self) -> bool {
        matches!(self, Self::Full { .. } | Self::TooFarAhead { .. })
    }
}

/// What becomes of an accepted item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accepted<P> {
    /// It goes to the queue of this device.
    Queued(DeviceId, Item<P>),
    /// Its branch was cut at an earlier time.
    Answered(Receipt),
}

/// Keeps account of all clients.
#[derive(Clone, Debug)]
pub struct Desk {
    limits: Limits,
    clients: BTreeMap<ClientId, Client>,
    next_client: u32,
}

#[derive(Clone, Debug)]
struct Client {
    items: u32,
    streams: BTreeMap<StreamId, DeviceId>,
    branches: BTreeMap<BranchId, Branch>,
    last_sequence: Option<u64>,
    outstanding: u32,
}

#[derive(Clone, Debug, Default)]
struct Branch {
    epoch: Epoch,
    /// The oldest first; both numbers grow, since a cut hides older ones of later instants.
    cuts: VecDeque<(Epoch, Moment)>,
    /// Items of earlier epochs are cut.
    forgotten: Epoch,
}

impl Desk {
    /// A desk without clients.
    pub const fn new(limits: Limits) -> Self {
        Self { limits, clients: BTreeMap::new(), next_client: 0 }
    }

    /// A new client that has room for `room` receipts, and so may have that number of items without a
    /// receipt that it has read, within the limit.
    pub fn enter(&mut self, room: u32) -> ClientId {
        let items = room.min(self.limits.items);
        let client = ClientId(self.next_client);
        self.next_client += 1;
        let (streams, branches) = (BTreeMap::new(), BTreeMap::new());
        let entered = Client { items, streams, branches, last_sequence: None, outstanding: 0 };
        self.clients.insert(client, entered);
        client
    }

    /// Ends a client. It must leave the devices too: items of streams that it has closed may be in
    /// delivery.
    pub fn leave(&mut self, client: ClientId) {
        self.clients.remove(&client);
    }

    /// Opens a stream of a client to a device.
    ///
    /// # Errors
    /// Fails if its number is in use or the client has too many.
    pub fn open(
        &mut self,
        client: ClientId,
        stream: StreamId,
        device: DeviceId,
    ) -> Result<(), Refusal> {
        let limit = self.limits.streams;
        let streams = &mut self.client(client)?.streams;
        if streams.contains_key(&stream) {
            return Err(Refusal::StreamOpen(stream));
        }
        if streams.len() >= limit as usize {
            return Err(Refusal::Streams { limit });
        }
        streams.insert(stream, device);
        Ok(())
    }

    /// Closes a stream, which is to be closed at the returned device.
    ///
    /// # Errors
    /// Fails if the client has no such stream.
    pub fn close(&mut self, client: ClientId, stream: StreamId) -> Result<DeviceId, Refusal> {
        let removed = self.client(client)?.streams.remove(&stream);
        removed.ok_or(Refusal::NoStream(stream))
    }

    /// The device of a stream.
    ///
    /// # Errors
    /// Fails if the client has no such stream.
    pub fn device(&self, client: ClientId, stream: StreamId) -> Result<DeviceId, Refusal> {
        let found = self.clients.get(&client).ok_or(Refusal::NoClient(client))?;
        found.streams.get(&stream).copied().ok_or(Refusal::NoStream(stream))
    }

    /// The number of streams of all clients that are open to a device.
    pub fn streams_of(&self, device: DeviceId) -> usize {
        let streams = self.clients.values().flat_map(|client| client.streams.values());
        streams.filter(|other| **other == device).count()
    }

    /// The number of streams of a client.
    pub fn streams(&self, client: ClientId) -> usize {
        self.clients.get(&client).map_or(0, |client| client.streams.len())
    }

    /// Takes an item, or says why not; a refused item gets no receipt.
    ///
    /// # Errors
    /// Fails if the item breaks a rule or a limit; some refusals are
    /// [transient](Refusal::is_transient).
    pub fn submit<P>(&mut self, item: Item<P>, now: Moment) -> Result<Accepted<P>, Refusal> {
        let Limits { horizon, branches, .. } = self.limits;
        let client = self.client(item.client)?;
        let items = client.items;
        let device = *client.streams.get(&item.stream).ok_or(Refusal::NoStream(item.stream))?;
        if let Some(last) = client.last_sequence
            && item.sequence <= last
        {
            return Err(Refusal::Sequence { given: item.sequence, last });
        }
        if item.due > now + horizon {
            return Err(Refusal::TooFarAhead { horizon, from: item.due - horizon });
        }
        if client.outstanding >= items {
            return Err(Refusal::Full { limit: items });
        }
        let cut = client.branch(item.branch, branches)?.has_cut(item.epoch, item.due);
        client.last_sequence = Some(item.sequence);
        client.outstanding += 1;
        Ok(match cut {
            true => Accepted::Answered(Receipt::undelivered(&item, Outcome::Cut)),
            false => Accepted::Queued(device, item),
        })
    }

    /// Notes that a client has read receipts, which makes room for as many items.
    pub fn read(&mut self, client: ClientId, receipts: u32) {
        if let Ok(client) = self.client(client) {
            client.outstanding = client.outstanding.saturating_sub(receipts);
        }
    }

    /// Begins a new epoch of a branch; the cut is to be made at these devices, before any item
    /// that is submitted after it.
    ///
    /// # Errors
    /// Fails if the epoch is not later than that of the branch, or the client has too many
    /// branches.
    pub fn cut(&mut self, cut: &Cut) -> Result<Vec<DeviceId>, Refusal> {
        let limit = self.limits.branches;
        let client = self.client(cut.client)?;
        let branch = client.branch(cut.branch, limit)?;
        if cut.epoch <= branch.epoch {
            return Err(Refusal::Epoch { given: cut.epoch, last: branch.epoch });
        }
        branch.cut(cut.epoch, cut.at);
        let mut devices: Vec<DeviceId> = client.streams.values().copied().collect();
        devices.sort_unstable();
        devices.dedup();
        Ok(devices)
    }

    fn client(&mut self, client: ClientId) -> Result<&mut Client, Refusal> {
        self.clients.get_mut(&client).ok_or(Refusal::NoClient(client))
    }
}

impl Client {
    fn branch(&mut self, branch: BranchId, limit: u32) -> Result<&mut Branch, Refusal> {
        if self.branches.len() >= limit as usize && !self.branches.contains_key(&branch) {
            return Err(Refusal::Branches { limit });
        }
        Ok(self.branches.entry(branch).or_default())
    }
}

impl Branch {
    fn cut(&mut self, epoch: Epoch, at: Moment) {
        self.epoch = epoch;
        while self.cuts.back().is_some_and(|(_, earlier)| *earlier >= at) {
            self.cuts.pop_back();
        }
        self.cuts.push_back((epoch, at));
        if self.cuts.len() > CUTS_KEPT
            && let Some((epoch, _)) = self.cuts.pop_front()
        {
            self.forgotten = epoch;
        }
    }

    /// Whether an item of this epoch and time is cut.
    fn has_cut(&self, epoch: Epoch, due: Moment) -> bool {
        // The instants grow, so the first cut after the epoch is the earliest.
        let first = self.cuts.iter().find(|(later, _)| *later > epoch);
        epoch < self.forgotten || first.is_some_and(|(_, at)| due >= *at)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::item::IfLate;

    const LIMITS: Limits =
        Limits { items: 3, horizon: Nanos::from_millis(10), streams: 2, branches: 2 };

    fn at(ms: u64) -> Moment {
        Moment::from_nanos(ms * 1_000_000)
    }

    fn item(client: ClientId, sequence: u64, due: u64) -> Item<()> {
        Item {
            client,
            sequence,
            stream: StreamId(1),
            branch: BranchId(0),
            epoch: Epoch(0),
            due: at(due),
            if_late: IfLate::Deliver,
            payload: (),
        }
    }

    fn desk() -> (Desk, ClientId) {
        let mut desk = Desk::new(LIMITS);
        let client = desk.enter(u32::MAX);
        desk.open(client, StreamId(1), DeviceId(5)).unwrap();
        (desk, client)
    }

    #[test]
    fn a_client_has_as_many_items_as_room_for_receipts() {
        let (mut desk, client) = desk();
        for sequence in 0..3 {
            let found = desk.submit(item(client, sequence, 1), at(0));
            assert!(matches!(found, Ok(Accepted::Queued(DeviceId(5), _))));
        }
        let full = desk.submit(item(client, 3, 1), at(0)).unwrap_err();
        assert_eq!(full, Refusal::Full { limit: 3 });
        assert!(full.is_transient());
        desk.read(client, 1);
        assert!(desk.submit(item(client, 3, 1), at(0)).is_ok(), "the number is still free");
    }

    #[test]
    fn an_item_beyond_the_horizon_is_accepted_later() {
        let (mut desk, client) = desk();
        let refused = desk.submit(item(client, 0, 25), at(1)).unwrap_err();
        let Refusal::TooFarAhead { from, .. } = refused else { panic!("{refused}") };
        assert_eq!(from, at(15));
        assert!(desk.submit(item(client, 0, 25), from).is_ok());
        let far = Item { due: Moment::from_nanos(u64::MAX), ..item(client, 1, 0) };
        assert!(desk.submit(far, at(1)).is_err());
    }

    #[test]
    fn rules_that_a_client_breaks_are_named() {
        let (mut desk, client) = desk();
        desk.submit(item(client, 4, 1), at(0)).unwrap();
        let mut refused = |item| desk.submit(item, at(0)).unwrap_err();
        let sequence = refused(item(client, 4, 1));
        assert_eq!(sequence, Refusal::Sequence { given: 4, last: 4 });
        let other = Item { stream: StreamId(9), ..item(client, 5, 1) };
        assert_eq!(refused(other), Refusal::NoStream(StreamId(9)));
        assert_eq!(refused(item(ClientId(8), 0, 1)), Refusal::NoClient(ClientId(8)));
        for (branch, fits) in [(1, true), (2, false)] {
            let found = desk.submit(
                Item { branch: BranchId(branch), ..item(client, 5 + u64::from(branch), 1) },
                at(0),
            );
            assert_eq!(found.is_ok(), fits);
        }
        assert_eq!(
            desk.open(client, StreamId(1), DeviceId(5)),
            Err(Refusal::StreamOpen(StreamId(1)))
        );
        desk.open(client, StreamId(2), DeviceId(5)).unwrap();
        let third = desk.open(client, StreamId(3), DeviceId(5));
        assert_eq!(third, Err(Refusal::Streams { limit: 2 }));
        desk.leave(client);
        assert_eq!(desk.close(client, StreamId(1)), Err(Refusal::NoClient(client)));
    }

    #[test]
    fn an_item_of_an_earlier_epoch_is_cut_on_arrival() {
        let (mut desk, client) = desk();
        let cut = Cut { client, branch: BranchId(0), epoch: Epoch(1), at: at(5) };
        assert_eq!(desk.cut(&cut), Ok(vec![DeviceId(5)]));
        let again = Refusal::Epoch { given: Epoch(1), last: Epoch(1) };
        assert_eq!(desk.cut(&cut), Err(again));
        let before = desk.submit(item(client, 0, 4), at(0)).unwrap();
        assert!(matches!(before, Accepted::Queued(..)));
        let Ok(Accepted::Answered(receipt)) = desk.submit(item(client, 1, 5), at(0)) else {
            panic!()
        };
        assert_eq!(receipt.outcome, Outcome::Cut);
        let new = Item { epoch: Epoch(1), ..item(client, 2, 5) };
        assert!(matches!(desk.submit(new, at(0)), Ok(Accepted::Queued(..))));
    }

    proptest! {
        #[test]
        fn remembered_cuts_decide_like_all_cuts(
            instants in prop::collection::vec(0_u64..40, 1..16),
            epoch in 0_u32..16,
            due in 0_u64..40,
        ) {
            let mut branch = Branch::default();
            for (index, instant) in instants.iter().enumerate() {
                branch.cut(Epoch(index as u32 + 1), at(*instant));
            }
            let later = instants.iter().skip(epoch as usize);
            let wanted = later.clone().any(|instant| due >= *instant);
            prop_assert_eq!(branch.has_cut(Epoch(epoch), at(due)), wanted);
        }
    }
}
