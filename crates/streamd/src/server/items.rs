//! Items from the rings of clients to the devices, and receipts back.

use tactus_delivery::desk::{Accepted, Refusal};
use tactus_delivery::item::{Item, Moment};
use tactus_delivery::receipt::{Outcome, Receipt};
use tactus_model::time::Nanos;
use tactus_stream::message::Counts;
use tactus_stream::slot::Submitted;

use crate::connection::{Closed, Connection, Session, count};
use crate::server::Server;

/// Items that are taken from a client before others are served again.
const ITEMS_AT_ONCE: usize = 64;

/// When a client is looked at again that has more items than room for receipts.
const FULL_GAP: Nanos = Nanos::from_millis(10);

impl Server {
    /// Takes items of all clients.
    pub(super) fn take_all_items(&mut self, now: Moment) {
        let clients: Vec<u64> = self.clients.values().copied().collect();
        for key in clients {
            if let Err(closed) = self.take_items(key, now, ITEMS_AT_ONCE) {
                self.close(key, closed);
            }
        }
    }

    /// Takes at most `most` items of a client.
    pub(super) fn take_items(&mut self, key: u64, now: Moment, most: usize) -> Result<(), Closed> {
        let Some(connection) = self.connections.get_mut(&key) else { return Ok(()) };
        let user = connection.peer.user;
        let Some(session) = connection.session_mut() else { return Ok(()) };
        if session.rests.is_some_and(|until| until > now) {
            return Ok(());
        }
        session.rests = None;
        self.desk.read(session.client, session.newly_read());
        // The client adds items meanwhile.
        for _ in 0..most.min(session.room as usize) {
            if session.rests.is_some() {
                break;
            }
            let Some(submitted) = session.next()? else { return Ok(()) };
            let header = Submitted { item: with_payload(&submitted.item, ()), at: submitted.at };
            let item = with_payload(&submitted.item, submitted.item.payload.into());
            let device = self.desk.device(item.client, item.stream);
            let takes = |device: usize| {
                self.devices[device].info.format.check(submitted.item.payload).is_ok()
            };
            let is_possible = device.is_ok_and(|device| takes(device.0 as usize));
            session.rests = self.users.item(user, now);
            if !is_possible {
                refuse(session, &mut self.total, &header.item)?;
                continue;
            }
            let retry = match self.desk.submit(item, now) {
                Ok(accepted) => {
                    session.counts.accepted += 1;
                    self.total.accepted += 1;
                    match accepted {
                        Accepted::Answered(receipt) => self.receipts.push(receipt),
                        Accepted::Queued(device, item) => {
                            let device = &self.devices[device.0 as usize];
                            session.arrived(&header, now, device.info.lead);
                            device.queue.push(item);
                        }
                    }
                    continue;
                }
                Err(Refusal::TooFarAhead { from, .. }) => from,
                Err(Refusal::Full { .. }) => now + FULL_GAP,
                Err(refusal @ Refusal::Sequence { .. }) => {
                    return Err(Closed(Some(refusal.to_string())));
                }
                Err(_) => {
                    refuse(session, &mut self.total, &header.item)?;
                    continue;
                }
            };
            session.hold(retry);
            return Ok(());
        }
        Ok(())
    }

    /// Passes on the receipts of all devices.
    pub(super) fn pass_on_receipts(&mut self) {
        let mut receipts = std::mem::take(&mut self.receipts);
        receipts.drain(..).for_each(|receipt| self.pass_on(receipt));
        for place in 0..self.devices.len() {
            self.devices[place].queue.collect(&mut receipts);
            receipts.drain(..).for_each(|receipt| self.pass_on(receipt));
        }
        self.receipts = receipts;
        self.connections.values_mut().for_each(Connection::notify);
    }

    fn pass_on(&mut self, receipt: Receipt) {
        let key = self.clients.get(&receipt.client).copied();
        let connection = key.and_then(|key| Some((key, self.connections.get_mut(&key)?)));
        let session = connection.and_then(|(key, found)| Some((key, found.session_mut()?)));
        let was_late = session.as_ref().is_some_and(|(_, session)| session.was_late(&receipt));
        count(&mut self.total, receipt.outcome, was_late);
        // The client may have gone.
        if let Some((key, session)) = session
            && let Err(closed) = session.answer(receipt)
        {
            self.close(key, closed);
        }
    }
}

/// Answers an item that breaks a rule.
fn refuse(session: &mut Session, total: &mut Counts, item: &Item<()>) -> Result<(), Closed> {
    total.accepted += 1;
    count(total, Outcome::Refused, false);
    session.refuse(item, Outcome::Refused)
}

pub(super) fn with_payload<P, Q>(item: &Item<P>, payload: Q) -> Item<Q> {
    let Item { client, sequence, stream, branch, epoch, due, if_late, .. } = *item;
    Item { client, sequence, stream, branch, epoch, due, if_late, payload }
}
