//! A server in virtual time: a desk, and devices that take each item at its time.

use std::collections::BTreeMap;

use tactus_model::time::Nanos;

use crate::desk::{Accepted, Desk, DeviceId, Limits, Refusal};
use crate::device::{Cut, Delivery, Device};
use crate::item::{ClientId, Item, Moment, StreamId};
use crate::receipt::{Evidence, Receipt};

/// Delivers at exactly the present instant, which stands still until [`Self::advance`].
#[derive(Clone, Debug)]
pub struct VirtualServer<P> {
    now: Moment,
    desk: Desk,
    devices: BTreeMap<DeviceId, Device<P>>,
    receipts: Vec<Receipt>,
}

impl<P> VirtualServer<P> {
    /// A server without clients, at instant 0.
    pub const fn new(limits: Limits) -> Self {
        Self {
            now: Moment::from_nanos(0),
            desk: Desk::new(limits),
            devices: BTreeMap::new(),
            receipts: Vec::new(),
        }
    }

    /// The present instant.
    pub const fn now(&self) -> Moment {
        self.now
    }

    /// A new client that has room for `room` receipts; see [`Desk::enter`].
    pub fn enter(&mut self, room: u32) -> ClientId {
        self.desk.enter(room)
    }

    /// Opens a stream to a device, which may be new.
    ///
    /// # Errors
    /// As [`Desk::open`].
    pub fn open(
        &mut self,
        client: ClientId,
        stream: StreamId,
        device: DeviceId,
    ) -> Result<(), Refusal> {
        self.desk.open(client, stream, device)?;
        self.devices.entry(device).or_insert_with(|| Device::new(Nanos::ZERO));
        Ok(())
    }

    /// Takes an item.
    ///
    /// # Errors
    /// As [`Desk::submit`].
    pub fn submit(&mut self, item: Item<P>) -> Result<(), Refusal> {
        match self.desk.submit(item, self.now)? {
            Accepted::Queued(device, item) => {
                let device = self.devices.get_mut(&device);
                self.receipts.extend(device.and_then(|device| device.push(item)));
            }
            Accepted::Answered(receipt) => self.receipts.push(receipt),
        }
        Ok(())
    }

    /// Makes a cut.
    ///
    /// # Errors
    /// As [`Desk::cut`].
    pub fn cut(&mut self, cut: &Cut) -> Result<(), Refusal> {
        for device in self.desk.cut(cut)? {
            if let Some(device) = self.devices.get_mut(&device) {
                device.cut(cut, &mut self.receipts);
            }
        }
        Ok(())
    }

    /// Delivers what is due now, device by device.
    pub fn deliver(&mut self, mut deliver: impl FnMut(DeviceId, ClientId, P)) {
        let now = self.now;
        for (id, device) in &mut self.devices {
            while let Some(item) = device.take_due(now, &mut self.receipts) {
                let evidence = Evidence::Virtual;
                let done = Delivery { evidence, ..Delivery::by_call(now, now, true) };
                self.receipts.extend(device.settle(&item.place(), done));
                deliver(*id, item.client, item.payload);
            }
        }
    }

    /// Takes the receipts since the last call; their clients have read them.
    pub fn take_receipts(&mut self) -> Vec<Receipt> {
        let receipts = std::mem::take(&mut self.receipts);
        receipts.iter().for_each(|receipt| self.desk.read(receipt.client, 1));
        receipts
    }

    /// When an item is due next.
    pub fn next(&self) -> Option<Moment> {
        self.devices.values().filter_map(Device::next).min()
    }

    /// Goes on to an instant; time never goes back.
    pub fn advance(&mut self, to: Moment) {
        self.now = self.now.max(to);
    }

    /// Ends the server; the last receipts.
    pub fn end(mut self) -> Vec<Receipt> {
        for device in self.devices.values_mut() {
            device.end(&mut self.receipts);
        }
        self.receipts
    }
}
