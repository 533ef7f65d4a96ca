//! Where items come out.

use std::os::fd::OwnedFd;

use tactus_delivery::device::Delivery;
use tactus_delivery::item::{ClientId, Item, Moment, Place};
use tactus_model::time::Nanos;
use tactus_stream::Format;

/// The bytes of an item.
pub type Payload = Box<[u8]>;

/// What a sink has done with an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandedOver {
    /// The delivery is over.
    Done(Delivery),
    /// The device has the item; [`Sink::settled`] passes on how it went.
    Pending,
}

/// The way to a device. One thread, which has the device's priority, calls all of it.
pub trait Sink: Send {
    /// What the device takes. The server checks the payload of an item when it is submitted.
    fn format(&self) -> Format;

    /// Where programs find the device, if its description does not say that.
    fn address(&self) -> Option<String> {
        None
    }

    /// How long before its time the device must have an item.
    fn lead(&self) -> Nanos {
        Nanos::ZERO
    }

    /// From when on the device takes the next item: a line is busy while it sends. Until then,
    /// items wait in their order, and can be cut.
    fn ready_from(&self) -> Moment {
        Moment::from_nanos(0)
    }

    /// When [`Self::settled`] must be called next although no item is due; `None` if there is no
    /// need.
    fn next_turn(&self) -> Option<Moment> {
        None
    }

    /// Hands an item over at its time, less the lead.
    fn hand_over(&mut self, item: &Item<Payload>) -> HandedOver;

    /// Passes on the deliveries that have ended since the last call, and does what the sink must
    /// do meanwhile, e.g. sends the next part of a long item.
    fn settled(&mut self, _found: &mut dyn FnMut(Place, Delivery)) {}

    /// Takes memory that a client writes frames to, before an item names it by this number. Only
    /// sinks that take [frames](Format::Frame) get any.
    fn add_frame(&mut self, _client: ClientId, _number: u32, _file: OwnedFd) {}

    /// Silences what a client has left sounding, as soon as possible. A sink that is dropped
    /// silences everything.
    fn client_left(&mut self, _client: ClientId) {}
}
