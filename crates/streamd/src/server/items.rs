//! Items from the rings of clients to the devices, and receipts back.

use tactus_delivery::desk::{Accepted, Refusal};
use tactus_delivery::item::{Item, Moment};
use tactus_delivery::receipt::{Outcome, Receipt};
use tactus_model::time::Nanos;
use tactus_stream::message::Counts;
use tactus_stream::slot::Submitted;

use crate::connection::{Closed, Connection, Held, Session, count};
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

    /// Takes at most so many items of a client.
    pub(super) fn take_items(&mut self, key: u64, now: Moment, most: usize) -> Result<(), Closed> {
        let Some(connection) = self.connections.get_mut(&key) else { return Ok(()) };
        let Some(session) = &mut connection.session else { return Ok(()) };
        if session.held.is_some_and(|held| held.retry > now) {
            return Ok(());
        }
        self.desk.read(session.client, session.newly_read());
        // The client adds items meanwhile.
        for _ in 0..most.min(session.room as usize) {
            let Some(submitted) = session.next()? else { return Ok(()) };
            let header = Submitted { item: with_payload(&submitted.item, ()), at: submitted.at };
            let item = with_payload(&submitted.item, submitted.item.payload.into());
            let device = self.desk.device(item.client, item.stream);
            let takes = |device: usize| {
                self.devices[device].info.format.check(submitted.item.payload).is_ok()
            };
            if !device.is_ok_and(|device| takes(device.0 as usize)) {
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
            session.held = Some(Held { retry });
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
        count(&mut self.total, receipt.outcome);
        // The client may have gone.
        let Some(key) = self.clients.get(&receipt.client).copied() else { return };
        let session = self.connections.get_mut(&key).and_then(|found| found.session.as_mut());
        if let Some(session) = session
            && let Err(closed) = session.answer(receipt)
        {
            self.close(key, closed);
        }
    }
}

/// Answers an item that breaks a rule.
fn refuse(session: &mut Session, total: &mut Counts, item: &Item<()>) -> Result<(), Closed> {
    total.accepted += 1;
    count(total, Outcome::Refused);
    session.refuse(item, Outcome::Refused)
}

pub(super) fn with_payload<P, Q>(item: &Item<P>, payload: Q) -> Item<Q> {
    let Item { client, sequence, stream, branch, epoch, due, if_late, .. } = *item;
    Item { client, sequence, stream, branch, epoch, due, if_late, payload }
}
