//! Performances in virtual time, with a server of their own.
//!
//! Time stands still until every program has run as far ahead as it may and has submitted what is
//! accepted, and then goes on to the next instant at which something happens.

use std::collections::BTreeMap;
use std::rc::Rc;

use tactus_delivery::desk::{Accepted, Desk, DeviceId, Limits, Refusal};
use tactus_delivery::device::{Cut, Delivery, Device};
use tactus_delivery::item::{BranchId, ClientId, Epoch, Item, Moment, StreamId};
use tactus_delivery::receipt::{Evidence, Receipt};
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
    let mut server = Server::new(performances, limits)?;
    let mut order: Vec<usize> = (0..performances.len()).collect();
    loop {
        random.shuffle(&mut order);
        let mut next = None;
        for index in &order {
            let performance = &mut performances[*index];
            let mut host = Seat { server: &mut server, index: *index };
            if let Next::At(at) = performance.step(host.server.now, &mut host)? {
                next = Some(next.map_or(at, |next: Moment| next.min(at)));
            }
        }
        server.deliver();
        if server.answer(performances) {
            // There may be room for more items of this instant.
            continue;
        }
        let devices = server.devices.values().filter_map(Device::next).min();
        match next.into_iter().chain(devices).min() {
            Some(next) => server.now = server.now.max(next),
            None => return Ok(server.rehearsed),
        }
    }
}

struct Server {
    now: Moment,
    desk: Desk,
    names: BTreeMap<String, DeviceId>,
    devices: BTreeMap<DeviceId, Device<Rc<[u8]>>>,
    clients: Vec<Client>,
    receipts: Vec<Receipt>,
    rehearsed: Rehearsed,
}

struct Client {
    id: ClientId,
    submitted: u64,
    epochs: BTreeMap<BranchId, Epoch>,
}

impl Server {
    fn new(performances: &[Performance], limits: Limits) -> Result<Self, Refusal> {
        let mut server = Self {
            now: Moment::from_nanos(0),
            desk: Desk::new(limits),
            names: BTreeMap::new(),
            devices: BTreeMap::new(),
            clients: Vec::new(),
            receipts: Vec::new(),
            rehearsed: Rehearsed::default(),
        };
        for performance in performances {
            let id = server.desk.enter(limits.items);
            for (number, stream) in (0..).zip(performance.score().streams().iter()) {
                let device = server.device(&stream.device);
                server.desk.open(id, StreamId(number), device)?;
            }
            server.clients.push(Client { id, submitted: 0, epochs: BTreeMap::new() });
            server.rehearsed.played.push(Vec::new());
        }
        Ok(server)
    }

    fn device(&mut self, name: &str) -> DeviceId {
        let new = DeviceId(self.names.len() as u32);
        let device = *self.names.entry(name.to_owned()).or_insert(new);
        self.devices.entry(device).or_insert_with(|| Device::new(Nanos::ZERO));
        device
    }

    fn deliver(&mut self) {
        for (name, id) in &self.names {
            let Some(device) = self.devices.get_mut(id) else { continue };
            while let Some(item) = device.take_due(self.now, &mut self.receipts) {
                let evidence = Evidence::Virtual;
                let done = Delivery { began: self.now, ended: self.now, taken: true, evidence };
                self.receipts.extend(device.settle(&item.place(), done));
                let got = (self.now, item.client, item.payload);
                self.rehearsed.devices.entry(name.clone()).or_default().push(got);
            }
        }
    }

    /// Passes receipts on; whether there were any.
    fn answer(&mut self, performances: &mut [Performance]) -> bool {
        let receipts = std::mem::take(&mut self.receipts);
        for receipt in &receipts {
            self.desk.read(receipt.client, 1);
            let Some(index) = self.clients.iter().position(|client| client.id == receipt.client)
            else {
                continue;
            };
            let played = performances[index].answered(*receipt);
            self.rehearsed.played[index].extend(played);
        }
        !receipts.is_empty()
    }
}

/// The place of a program at the server.
struct Seat<'a> {
    server: &'a mut Server,
    index: usize,
}

impl Host for Seat<'_> {
    type Error = Refusal;

    fn submit(&mut self, item: &Written, due: Moment) -> Result<Submitted, Refusal> {
        let Server { now, desk, devices, clients, receipts, .. } = &mut *self.server;
        let client = &mut clients[self.index];
        let sequence = client.submitted;
        let item = Item {
            client: client.id,
            sequence,
            stream: item.stream,
            branch: item.branch,
            epoch: client.epochs.get(&item.branch).copied().unwrap_or_default(),
            due,
            if_late: item.if_late,
            payload: Rc::clone(&item.payload),
        };
        match desk.submit(item, *now) {
            Ok(Accepted::Queued(device, item)) => {
                let device = devices.get_mut(&device);
                receipts.extend(device.and_then(|device| device.push(item)));
            }
            Ok(Accepted::Answered(receipt)) => receipts.push(receipt),
            Err(Refusal::TooFarAhead { from, .. }) => return Ok(Submitted::TooEarly(from)),
            Err(refusal) if refusal.is_transient() => return Ok(Submitted::Full),
            Err(refusal) => return Err(refusal),
        }
        client.submitted += 1;
        Ok(Submitted::Accepted(sequence))
    }

    fn cut(&mut self, branch: BranchId, at: Moment) -> Result<(), Refusal> {
        let Server { desk, devices, clients, receipts, .. } = &mut *self.server;
        let client = &mut clients[self.index];
        let epoch = client.epochs.entry(branch).or_default();
        *epoch = epoch.next();
        let cut = Cut { client: client.id, branch, epoch: *epoch, at };
        for device in desk.cut(&cut)? {
            if let Some(device) = devices.get_mut(&device) {
                device.cut(&cut, receipts);
            }
        }
        Ok(())
    }
}
