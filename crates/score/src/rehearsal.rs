//! Performances in virtual time, with a server of their own.
//!
//! Time stands still until every program has run as far ahead as it may and has submitted what is
//! accepted, and then goes on to the next instant at which something happens.

use std::collections::BTreeMap;
use std::rc::Rc;

use tactus_delivery::desk::{DeviceId, Limits, Refusal};
use tactus_delivery::device::Cut;
use tactus_delivery::item::{BranchId, ClientId, Epoch, Item, Moment, StreamId};
use tactus_delivery::virtual_server::VirtualServer;
use tactus_model::random::SplitMix64;
use tactus_model::time::Nanos;

use crate::draft::Written;
use crate::perform::{Host, Next, Performance, Played, Submitted};

/// What a device got: when, from which program, and what.
pub type Delivered = (Moment, ClientId, Rc<[u8]>);

/// What a rehearsal yields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rehearsed {
    /// What each device got, by its name.
    pub devices: BTreeMap<String, Vec<Delivered>>,
    /// The receipts of each performance.
    pub played: Vec<Vec<Played>>,
}

/// The limits of a server that never makes a program wait.
pub const UNLIMITED: Limits =
    Limits { items: u32::MAX, horizon: Nanos::MAX, streams: u32::MAX, branches: u32::MAX };

/// Performs until nothing happens any more. In which order programs run is drawn from `random`.
///
/// # Errors
/// Fails if a program needs more than the server's limits, such as too many streams.
pub fn rehearse(
    performances: &mut [Performance],
    limits: Limits,
    random: &mut SplitMix64,
) -> Result<Rehearsed, Refusal> {
    let mut server = VirtualServer::new(limits);
    let mut names = Vec::new();
    let mut clients = Vec::new();
    for performance in &*performances {
        clients.push(Client::enter(&mut server, performance, limits, &mut names)?);
    }
    let mut rehearsed = Rehearsed::default();
    rehearsed.played.resize_with(performances.len(), Vec::new);
    let mut order: Vec<usize> = (0..performances.len()).collect();
    loop {
        random.shuffle(&mut order);
        let mut next = None;
        for index in &order {
            let now = server.now();
            let mut seat = Seat { server: &mut server, client: &mut clients[*index] };
            if let Next::At(at) = performances[*index].step(now, &mut seat)? {
                next = Some(next.map_or(at, |next: Moment| next.min(at)));
            }
        }
        let now = server.now();
        server.deliver(|DeviceId(device), client, payload| {
            let name = names[device as usize].clone();
            rehearsed.devices.entry(name).or_default().push((now, client, payload));
        });
        let receipts = server.take_receipts();
        for receipt in &receipts {
            // Clients have their numbers in the order in which they entered.
            let index = receipt.client.0 as usize;
            rehearsed.played[index].extend(performances[index].answered(*receipt));
        }
        if !receipts.is_empty() {
            // There may be room for more items of this instant.
            continue;
        }
        match next.into_iter().chain(server.next()).min() {
            Some(next) => server.advance(next),
            None => return Ok(rehearsed),
        }
    }
}

struct Client {
    id: ClientId,
    submitted: u64,
    epochs: BTreeMap<BranchId, Epoch>,
}

impl Client {
    /// Opens the streams of a performance. Devices are numbered by their places in `names`.
    fn enter(
        server: &mut VirtualServer<Rc<[u8]>>,
        performance: &Performance,
        limits: Limits,
        names: &mut Vec<String>,
    ) -> Result<Self, Refusal> {
        let id = server.enter(limits.items);
        for (number, stream) in (0..).zip(performance.score().streams().iter()) {
            let known = names.iter().position(|name| *name == stream.device);
            let device = known.unwrap_or_else(|| {
                names.push(stream.device.clone());
                names.len() - 1
            });
            server.open(id, StreamId(number), DeviceId(device as u32))?;
        }
        Ok(Self { id, submitted: 0, epochs: BTreeMap::new() })
    }
}

/// The place of a program at the server.
struct Seat<'a> {
    server: &'a mut VirtualServer<Rc<[u8]>>,
    client: &'a mut Client,
}

impl Host for Seat<'_> {
    type Error = Refusal;

    fn submit(&mut self, item: &Written, due: Moment) -> Result<Submitted, Refusal> {
        let Client { id, submitted, epochs } = &mut *self.client;
        let sequence = *submitted;
        let item = Item {
            client: *id,
            sequence,
            stream: item.stream,
            branch: item.branch,
            epoch: epochs.get(&item.branch).copied().unwrap_or_default(),
            due,
            if_late: item.if_late,
            payload: Rc::clone(&item.payload),
        };
        match self.server.submit(item) {
            Ok(()) => {
                *submitted += 1;
                Ok(Submitted::Accepted(sequence))
            }
            Err(Refusal::TooFarAhead { from, .. }) => Ok(Submitted::TooEarly(from)),
            Err(refusal) if refusal.is_transient() => Ok(Submitted::Full),
            Err(refusal) => Err(refusal),
        }
    }

    fn cut(&mut self, branch: BranchId, at: Moment) -> Result<(), Refusal> {
        let epoch = self.client.epochs.entry(branch).or_default();
        *epoch = epoch.next();
        self.server.cut(&Cut { client: self.client.id, branch, epoch: *epoch, at })
    }
}
