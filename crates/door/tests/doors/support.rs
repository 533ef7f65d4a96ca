//! Devices that keep what they get.

use std::sync::{Arc, Mutex};

use tactus_delivery::device::Delivery;
use tactus_delivery::item::Item;
use tactus_stream::{Format, Moment};
use tactus_streamd::sink::{HandedOver, Payload, Sink};
use tactus_sys::clock;

use crate::common::{Running, SETTINGS};

/// What a device got, and when it was due.
pub(crate) type Kept = Arc<Mutex<Vec<(Moment, Vec<u8>)>>>;

struct Keeping {
    format: Format,
    kept: Kept,
}

impl Sink for Keeping {
    fn format(&self) -> Format {
        self.format
    }

    fn hand_over(&mut self, item: &Item<Payload>) -> HandedOver {
        let now = clock::now();
        self.kept.lock().unwrap().push((item.due, item.payload.to_vec()));
        HandedOver::Done(Delivery::by_call(now, now, true))
    }
}

/// A server with the devices `synth` (MIDI), `lights` (DMX512) and `log` (bytes), and what they got.
pub(crate) fn server() -> (Running, [Kept; 3]) {
    let kept: [Kept; 3] = Default::default();
    let sink =
        |format, kept: &Kept| Box::new(Keeping { format, kept: Arc::clone(kept) }) as Box<dyn Sink>;
    let bytes = Format::Bytes { most: 1000 };
    let sinks = [
        ("synth", sink(Format::Midi, &kept[0])),
        ("lights", sink(Format::Dmx, &kept[1])),
        ("log", sink(bytes, &kept[2])),
    ];
    (Running::with(sinks, SETTINGS), kept)
}

/// The payloads that a device got.
pub(crate) fn payloads(kept: &Kept) -> Vec<Vec<u8>> {
    kept.lock().unwrap().iter().map(|(_, payload)| payload.clone()).collect()
}
