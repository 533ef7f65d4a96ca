//! Deliveries as markers of the Lab Streaming Layer.
//!
//! A marker says that something happened, and when: each delivery of a device becomes one, with the
//! time at which it began. That time needs no conversion, since LSL's local clock on Linux is the
//! monotonic clock. Items that were not delivered have no marker.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use labstream::{Error, Outlet, StreamInfo};
use tactus_delivery::device::Delivery;
use tactus_delivery::item::{ClientId, Item, Moment, Place};
use tactus_model::time::Nanos;
use tactus_stream::Format;
use tactus_streamd::sink::{HandedOver, Payload, Sink};

/// Deliveries that wait for the outlet; more are counted as lost.
const WAITING: usize = 4096;

/// How often the outlet looks for deliveries. Markers have their own times, so this only delays
/// their display; a bell could make the thread of a device wait.
const INTERVAL: Duration = Duration::from_millis(10);

/// The most bytes of a payload that a marker shows.
const SHOWN: usize = 64;

/// A delivery.
struct Delivered {
    began: Moment,
    is_taken: bool,
    payload: Payload,
}

/// An outlet that is open. Dropping it passes on what waits, and closes it.
#[derive(Debug)]
pub struct Markers {
    is_ending: Arc<AtomicBool>,
    lost: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl Markers {
    /// Opens the outlet `name` for the deliveries of a device. The device is `sink`; the returned one
    /// replaces it.
    ///
    /// # Errors
    /// The outlet cannot be opened.
    pub fn open(
        name: &str,
        device: &str,
        sink: Box<dyn Sink>,
    ) -> Result<(Self, Box<dyn Sink>), Error> {
        let info = StreamInfo::builder(name, "Markers", labstream::Format::String)
            .irregular()
            .channel_count(1)
            .source_id(&format!("tactus:{name}:{device}"))
            .build()?;
        let outlet = Outlet::new(info)?;
        let (sends, receives) = sync_channel(WAITING);
        let (is_ending, lost) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (format, ending) = (sink.format(), Arc::clone(&is_ending));
        let thread = std::thread::Builder::new().name("lsl".to_owned());
        let thread = thread.spawn(move || push(&outlet, &receives, format, &ending))?;
        let marked = Marked { sink, sends, lost: Arc::clone(&lost), pending: BTreeMap::new() };
        Ok((Self { is_ending, lost, thread: Some(thread) }, Box::new(marked)))
    }

    /// Deliveries without a marker, because too many came at once.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

impl Drop for Markers {
    fn drop(&mut self) {
        self.is_ending.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            // It has said why, if it panicked.
            let _ = thread.join();
        }
    }
}

/// The thread of the outlet.
fn push(outlet: &Outlet, deliveries: &Receiver<Delivered>, format: Format, ending: &AtomicBool) {
    loop {
        let is_last = ending.load(Ordering::Acquire);
        for delivered in deliveries.try_iter() {
            let text = text(format, &delivered.payload, delivered.is_taken);
            let seconds = Nanos::from_nanos(delivered.began.as_nanos()).as_secs_f64();
            // It fails only for streams of several channels.
            let _ = outlet.push_text_at(&text, seconds);
        }
        if is_last {
            return;
        }
        std::thread::sleep(INTERVAL);
    }
}

/// The text of a marker: a payload that is a text, otherwise its bytes in hexadecimal; after
/// `failed` if the device refused it.
fn text(format: Format, payload: &[u8], is_taken: bool) -> String {
    let mut text = if is_taken { String::new() } else { "failed ".to_owned() };
    let readable = match format {
        Format::Bytes { .. } => std::str::from_utf8(payload).ok().filter(|text| is_plain(text)),
        _ => None,
    };
    if let Some(readable) = readable {
        text.push_str(readable);
        return text;
    }
    for (index, byte) in payload.iter().take(SHOWN).enumerate() {
        let gap = if index == 0 { "" } else { " " };
        // Writing to a text cannot fail.
        let _ = write!(text, "{gap}{byte:02x}");
    }
    if payload.len() > SHOWN {
        text.push('…');
    }
    text
}

fn is_plain(text: &str) -> bool {
    !text.is_empty() && !text.contains(char::is_control)
}

/// A device whose deliveries are passed on.
struct Marked {
    sink: Box<dyn Sink>,
    sends: SyncSender<Delivered>,
    lost: Arc<AtomicU64>,
    /// What the device has and has not answered.
    pending: BTreeMap<Place, Payload>,
}

impl Marked {
    fn send(sends: &SyncSender<Delivered>, lost: &AtomicU64, delivery: Delivery, payload: Payload) {
        let delivered = Delivered { began: delivery.began, is_taken: delivery.taken, payload };
        if sends.try_send(delivered).is_err() {
            lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Sink for Marked {
    fn format(&self) -> Format {
        self.sink.format()
    }

    fn lead(&self) -> Nanos {
        self.sink.lead()
    }

    fn ready_from(&self) -> Moment {
        self.sink.ready_from()
    }

    fn next_turn(&self) -> Option<Moment> {
        self.sink.next_turn()
    }

    fn hand_over(&mut self, item: &Item<Payload>) -> HandedOver {
        let handed = self.sink.hand_over(item);
        match handed {
            HandedOver::Done(delivery) => {
                Self::send(&self.sends, &self.lost, delivery, item.payload.clone());
            }
            HandedOver::Pending => {
                self.pending.insert(item.place(), item.payload.clone());
            }
        }
        handed
    }

    fn settled(&mut self, found: &mut dyn FnMut(Place, Delivery)) {
        let Self { sink, sends, lost, pending } = self;
        sink.settled(&mut |place, delivery| {
            if let Some(payload) = pending.remove(&place) {
                Self::send(sends, lost, delivery, payload);
            }
            found(place, delivery);
        });
    }

    fn client_left(&mut self, client: ClientId) {
        self.sink.client_left(client);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_show_texts_and_bytes() {
        let bytes = Format::Bytes { most: 100 };
        for (format, payload, is_taken, wanted) in [
            (bytes, b"onset".as_slice(), true, "onset"),
            (bytes, b"a\nb", true, "61 0a 62"),
            (bytes, b"", true, ""),
            (bytes, b"onset", false, "failed onset"),
            (Format::Midi, &[0x90, 60, 100], true, "90 3c 64"),
            (Format::Dmx, &[255], false, "failed ff"),
        ] {
            assert_eq!(text(format, payload, is_taken), wanted);
        }
        let long = text(Format::Dmx, &[0; SHOWN + 1], true);
        assert!(long.ends_with("00…") && long.len() == 3 * SHOWN - 1 + '…'.len_utf8());
    }
}
