//! Scripts of clients in virtual time.
//!
//! Time stands still until every client has submitted what it may, and then goes on to the next
//! instant at which something happens. So items are never late, and what devices get depends only
//! on the scripts of the clients: not on the order in which clients come, nor on how far ahead they
//! may submit.

use std::collections::BTreeMap;

use tactus_model::random::SplitMix64;
use tactus_model::time::Nanos;

use crate::desk::{DeviceId, Limits, Refusal};
use crate::device::Cut;
use crate::item::{BranchId, ClientId, Epoch, IfLate, Item, Moment, StreamId};
use crate::receipt::Receipt;
use crate::virtual_server::VirtualServer;

/// What a client wants delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note<P> {
    /// When.
    pub due: Moment,
    /// Where.
    pub stream: StreamId,
    /// For which branch.
    pub branch: BranchId,
    /// What.
    pub payload: P,
}

/// A client cuts a branch, and plays something else from there on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change<P> {
    /// When the client decides it: at the latest, the instant of the cut.
    pub decided: Moment,
    /// The branch.
    pub branch: BranchId,
    /// From when on.
    pub at: Moment,
    /// What is delivered instead.
    pub instead: Vec<Note<P>>,
}

/// What a client does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script<P> {
    /// Its streams, with their devices.
    pub streams: Vec<(StreamId, DeviceId)>,
    /// What it has from the beginning.
    pub notes: Vec<Note<P>>,
    /// What it changes, in the order of the decisions.
    pub changes: Vec<Change<P>>,
}

/// What a simulation yields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Played<P> {
    /// What each device got and when, in order.
    pub devices: BTreeMap<DeviceId, Vec<(Moment, ClientId, P)>>,
    /// All receipts, as they came.
    pub receipts: Vec<Receipt>,
    /// The items that were accepted.
    pub accepted: u64,
}

/// Plays scripts to their end. The order in which clients come, and how much each submits at a
/// time, is drawn from `seed`.
///
/// # Errors
/// Fails if a script breaks a rule of the [`Desk`](crate::desk::Desk).
pub fn play<P: Clone>(
    scripts: &[Script<P>],
    limits: Limits,
    seed: u64,
) -> Result<Played<P>, Refusal> {
    let mut simulation = Simulation::new(scripts, limits)?;
    let mut random = SplitMix64::new(seed);
    loop {
        simulation.decide()?;
        simulation.submit_all(&mut random)?;
        simulation.deliver();
        if simulation.read() {
            // There may be room for more items of this instant.
            continue;
        }
        match simulation.next() {
            Some(next) => simulation.server.advance(next),
            None => return Ok(simulation.end()),
        }
    }
}

struct Simulation<'a, P> {
    server: VirtualServer<P>,
    clients: Vec<ScriptedClient<'a, P>>,
    played: Played<P>,
}

/// A client of the simulation.
struct ScriptedClient<'a, P> {
    client: ClientId,
    /// What it has not submitted yet, by time and then as written.
    pending: BTreeMap<(Moment, u64), (Epoch, Note<P>)>,
    /// The changes that it has not decided yet.
    changes: &'a [Change<P>],
    epochs: BTreeMap<BranchId, Epoch>,
    written: u64,
    submitted: u64,
    /// From when on its next item is accepted.
    blocked_until: Option<Moment>,
}

impl<P: Clone> ScriptedClient<'_, P> {
    fn write(&mut self, note: &Note<P>) {
        let epoch = self.epochs.get(&note.branch).copied().unwrap_or_default();
        self.pending.insert((note.due, self.written), (epoch, note.clone()));
        self.written += 1;
    }

    /// The next item to submit.
    fn first(&self) -> Option<Item<P>> {
        let (_, (epoch, note)) = self.pending.first_key_value()?;
        Some(Item {
            client: self.client,
            sequence: self.submitted,
            stream: note.stream,
            branch: note.branch,
            epoch: *epoch,
            due: note.due,
            if_late: IfLate::Drop(Nanos::ZERO),
            payload: note.payload.clone(),
        })
    }
}

impl<'a, P: Clone> Simulation<'a, P> {
    fn new(scripts: &'a [Script<P>], limits: Limits) -> Result<Self, Refusal> {
        let mut server = VirtualServer::new(limits);
        let mut clients = Vec::new();
        for script in scripts {
            let client = server.enter(limits.items);
            for (stream, device) in &script.streams {
                server.open(client, *stream, *device)?;
            }
            let mut scripted = ScriptedClient {
                client,
                pending: BTreeMap::new(),
                changes: &script.changes,
                epochs: BTreeMap::new(),
                written: 0,
                submitted: 0,
                blocked_until: None,
            };
            script.notes.iter().for_each(|note| scripted.write(note));
            clients.push(scripted);
        }
        let played = Played { devices: BTreeMap::new(), receipts: Vec::new(), accepted: 0 };
        Ok(Self { server, clients, played })
    }

    /// Makes the changes that are decided by now.
    fn decide(&mut self) -> Result<(), Refusal> {
        for scripted in &mut self.clients {
            while let Some((change, later)) = scripted.changes.split_first()
                && change.decided <= self.server.now()
            {
                scripted.changes = later;
                let epoch = scripted.epochs.entry(change.branch).or_default();
                *epoch = epoch.next();
                let (client, branch) = (scripted.client, change.branch);
                let cut = Cut { client, branch, epoch: *epoch, at: change.at };
                self.server.cut(&cut)?;
                change.instead.iter().for_each(|note| scripted.write(note));
            }
        }
        Ok(())
    }

    /// Lets clients submit, in random order, until none can.
    fn submit_all(&mut self, random: &mut SplitMix64) -> Result<(), Refusal> {
        let mut able: Vec<usize> = (0..self.clients.len()).collect();
        while !able.is_empty() {
            random.shuffle(&mut able);
            let mut left = Vec::new();
            for index in able {
                let most = random.below(8) + 1;
                if self.submit(index, most)? {
                    left.push(index);
                }
            }
            able = left;
        }
        Ok(())
    }

    /// Lets a client submit at most `most` items; whether it may have more to submit.
    fn submit(&mut self, index: usize, most: u64) -> Result<bool, Refusal> {
        let scripted = &mut self.clients[index];
        scripted.blocked_until = None;
        for _ in 0..most {
            let Some(item) = scripted.first() else { return Ok(false) };
            match self.server.submit(item) {
                Ok(()) => {}
                Err(Refusal::TooFarAhead { from, .. }) => {
                    scripted.blocked_until = Some(from);
                    return Ok(false);
                }
                Err(refusal) if refusal.is_transient() => return Ok(false),
                Err(refusal) => return Err(refusal),
            }
            scripted.pending.pop_first();
            scripted.submitted += 1;
            self.played.accepted += 1;
        }
        Ok(true)
    }

    /// Delivers what is due now.
    fn deliver(&mut self) {
        let now = self.server.now();
        self.server.deliver(|device, client, payload| {
            self.played.devices.entry(device).or_default().push((now, client, payload));
        });
    }

    /// Lets clients read their receipts; whether there were any.
    fn read(&mut self) -> bool {
        let receipts = self.server.take_receipts();
        let any = !receipts.is_empty();
        self.played.receipts.extend(receipts);
        any
    }

    /// The next instant at which something happens.
    fn next(&self) -> Option<Moment> {
        let blocked = self.clients.iter().filter_map(|scripted| scripted.blocked_until);
        let changes = self.clients.iter().filter_map(|scripted| scripted.changes.first());
        let due = self.server.next().into_iter();
        due.chain(blocked).chain(changes.map(|change| change.decided)).min()
    }

    fn end(self) -> Played<P> {
        let Self { server, mut played, .. } = self;
        played.receipts.extend(server.end());
        played
    }
}
