//! A device with its queue, for one thread.

use tactus_delivery::device::Device;
use tactus_delivery::item::{ClientId, Item, Moment, StreamId};
use tactus_delivery::receipt::Receipt;
use tactus_model::time::Nanos;

use crate::sink::{HandedOver, Payload, Sink};

/// The queue of a device and the way to it: the delivery core of the server, without a server.
pub struct Outlet {
    device: Device<Payload>,
    sink: Box<dyn Sink>,
    receipts: Vec<Receipt>,
}

impl Outlet {
    /// An empty queue before this sink.
    pub fn new(sink: Box<dyn Sink>) -> Self {
        Self { device: Device::new(sink.lead()), sink, receipts: Vec::new() }
    }

    /// The number of items that wait.
    pub fn waiting(&self) -> usize {
        self.device.waiting()
    }

    /// Adds an item.
    pub fn push(&mut self, item: Item<Payload>) {
        self.receipts.extend(self.device.push(item));
    }

    /// Drops what waits of a client's stream, and ends what the client has left sounding.
    pub fn close(&mut self, client: ClientId, stream: StreamId) {
        self.device.close(client, stream, &mut self.receipts);
        self.sink.client_left(client);
    }

    /// Hands over what can be handed over now. Returns when to go on; `None` if nothing waits.
    pub fn turn(&mut self, now: Moment) -> Option<Moment> {
        let (device, sink, receipts) = (&mut self.device, &mut self.sink, &mut self.receipts);
        loop {
            sink.settled(&mut |place, delivery| receipts.extend(device.settle(&place, delivery)));
            if sink.ready_from() > now {
                break;
            }
            let Some(item) = device.take_due(now, receipts) else { break };
            if let HandedOver::Done(delivery) = sink.hand_over(&item) {
                receipts.extend(device.settle(&item.place(), delivery));
            }
        }
        let next = device.next().map(|next| next.max(sink.ready_from()));
        next.into_iter().chain(sink.next_turn()).min()
    }

    /// The receipts since the last call.
    pub fn receipts(&mut self) -> impl Iterator<Item = Receipt> {
        self.receipts.drain(..)
    }

    /// Ends the streams of these clients and then their notes, for at most `patience` if the device
    /// is slow. What was due already is delivered before.
    pub fn end(&mut self, clients: &[(ClientId, StreamId)], patience: Nanos, now: fn() -> Moment) {
        let begin = now();
        let mut is_closed = false;
        loop {
            let next = self.turn(now());
            let is_due = next.is_some_and(|next| next <= begin + patience);
            if !is_closed && (!is_due || self.device.next().is_none_or(|next| next > begin)) {
                clients.iter().for_each(|(client, stream)| self.close(*client, *stream));
                is_closed = true;
                continue;
            }
            let Some(next) = next.filter(|_| now() < begin + patience) else { break };
            std::thread::sleep((next - now()).into());
        }
        self.device.end(&mut self.receipts);
    }
}
