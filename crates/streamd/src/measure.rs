//! The measuring device: it takes any bytes, and only the times of its deliveries count.

use tactus_delivery::device::Delivery;
use tactus_delivery::item::Item;
use tactus_stream::Format;
use tactus_stream::message::PAYLOAD_BYTES_MOST;
use tactus_sys::clock;

use crate::sink::{HandedOver, Payload, Sink};

/// Takes every item at once. The server's own error against due times is what it shows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Measure;

impl Sink for Measure {
    fn format(&self) -> Format {
        Format::Bytes { most: PAYLOAD_BYTES_MOST as u32 }
    }

    fn hand_over(&mut self, _item: &Item<Payload>) -> HandedOver {
        let now = clock::now();
        HandedOver::Done(Delivery::by_call(now, now, true))
    }
}
