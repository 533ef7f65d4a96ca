//! The thread of a device: sleeps until an item is due, and hands it over.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::sync_channel;
use std::thread::{self, JoinHandle};

use tactus_delivery::device::{Delivery, Taken};
use tactus_delivery::item::{Moment, Place};
use tactus_model::policy::Scheduling;
use tactus_model::result::Shortfall;
use tactus_model::time::{Monotonic, Nanos};
use tactus_prepare::Preparation;
use tactus_stream::Format;
use tactus_stream::message::DeviceInfo;
use tactus_sys::wait::Waker;
use tactus_sys::{SysError, affinity, clock};

use crate::queue::{Granted, Queue, Rest};
use crate::sink::{HandedOver, Sink};

/// The longest final spin.
pub const SPIN_MOST: Nanos = Nanos::from_millis(1);

/// Items that are handed over before the thread looks for clients that have gone.
const ITEMS_AT_ONCE: usize = 64;

/// How the threads of devices run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Their policy.
    pub policy: Scheduling,
    /// How long before the time of an item the thread stops sleeping and watches the clock
    /// instead: at most [`SPIN_MOST`].
    pub spin: Nanos,
}

/// A device that runs.
#[derive(Debug)]
pub(crate) struct RunningDevice {
    pub info: DeviceInfo,
    pub queue: Arc<Queue>,
    thread: Option<JoinHandle<()>>,
}

impl RunningDevice {
    /// Starts the thread of a device. Returns what it was not granted too.
    pub fn start(
        name: &str,
        spec: &str,
        sink: Box<dyn Sink>,
        pace: Pace,
        answered: Arc<Waker>,
    ) -> io::Result<(Self, Vec<Shortfall>)> {
        let (format, lead, address) = (sink.format(), sink.lead(), sink.address());
        let queue = Arc::new(Queue::new(lead, answered));
        let own = Arc::clone(&queue);
        let (send, prepared) = sync_channel(1);
        let started = thread::Builder::new().name(format!("device/{name}")).spawn(move || {
            // The receiver waits for this.
            let _ = send.send(prepare(pace.policy));
            let spin = pace.spin.min(SPIN_MOST);
            DeviceThread { sink, queue: own, spin, settled: Vec::new() }.run();
        });
        let thread = Some(started?);
        let shortfalls = match prepared.recv() {
            Ok(prepared) => prepared.map_err(|error| io::Error::from(error.errno))?,
            Err(_) => Vec::new(),
        };
        let spec = match address {
            Some(address) => format!("{spec} at {address}"),
            None => spec.to_owned(),
        };
        let info = DeviceInfo { name: name.to_owned(), spec, format, lead };
        Ok((Self { info, queue, thread }, shortfalls))
    }

    /// Ends the thread, and waits for it. The sink silences what sounds.
    pub fn end(&mut self) {
        if let Some(thread) = self.thread.take() {
            self.queue.end();
            // A panic of it was reported by itself.
            let _ = thread.join();
        }
    }
}

impl Drop for RunningDevice {
    fn drop(&mut self) {
        self.end();
    }
}

/// Prepares the calling thread. Returns what it was not granted.
fn prepare(policy: Scheduling) -> Result<Vec<Shortfall>, SysError> {
    let mut preparation = Preparation::new();
    preparation.set_timer_slack(Nanos::from_nanos(1))?;
    preparation.place(&affinity::get()?, policy)?;
    Ok(preparation.finish()?.shortfalls)
}

struct DeviceThread {
    sink: Box<dyn Sink>,
    queue: Arc<Queue>,
    spin: Nanos,
    settled: Vec<(Place, Delivery)>,
}

/// After a panic too, the server learns that the thread has ended.
impl Drop for DeviceThread {
    fn drop(&mut self) {
        self.queue.has_ended.store(true, Ordering::Release);
        self.queue.answer();
    }
}

impl DeviceThread {
    fn run(mut self) {
        loop {
            self.silence();
            self.settle();
            let has_more = self.deliver();
            if self.queue.has_receipts() {
                self.queue.answer();
            }
            if has_more {
                continue;
            }
            let (ready, turn) = (self.sink.ready_from(), self.sink.next_turn());
            match self.queue.rest(ready, turn) {
                Rest::End => return,
                Rest::None => {}
                Rest::Until(due) => self.sleep(due),
            }
        }
    }

    /// Sleeps until `due`, or until the queue changes.
    fn sleep(&self, due: Option<Moment>) {
        // It has no errors according to the man page; without sleep, the thread still does the same.
        let _ = self.queue.wait(due.map(|due| due - self.spin));
        if let Some(due) = due {
            self.spin_until(due);
        }
    }

    /// Watches the clock until `due`, if that is at most a spin ahead. An item that becomes the
    /// first meanwhile is at most a spin late.
    fn spin_until(&self, due: Moment) {
        let now = clock::now::<Monotonic>;
        if due - now() <= self.spin {
            while now() < due {
                std::hint::spin_loop();
            }
        }
    }

    /// Passes memory for frames on to the sink. The queue has it before the items that name it.
    fn take_frames(&mut self) {
        if let Format::Frame { .. } = self.sink.format() {
            for Granted { client, number, file } in self.queue.take_frames() {
                self.sink.add_frame(client, number, file);
            }
        }
    }

    /// Silences clients that have gone.
    fn silence(&mut self) {
        self.take_frames();
        for client in self.queue.take_left() {
            self.sink.client_left(client);
        }
    }

    /// Passes on deliveries that the sink has ended meanwhile.
    fn settle(&mut self) {
        let settled = &mut self.settled;
        self.sink.settled(&mut |place, delivery| settled.push((place, delivery)));
        for (place, delivery) in self.settled.drain(..) {
            self.queue.settle(&place, delivery);
        }
    }

    /// Hands over what is due; whether more may be.
    fn deliver(&mut self) -> bool {
        for _ in 0..ITEMS_AT_ONCE {
            let now: Moment = clock::now();
            if now < self.sink.ready_from() {
                return false;
            }
            let item = match self.queue.take_due(now) {
                Taken::Item(item) => item,
                Taken::More => continue,
                Taken::Nothing => return false,
            };
            self.take_frames();
            if let HandedOver::Done(delivery) = self.sink.hand_over(&item) {
                self.queue.settle(&item.place(), delivery);
            }
        }
        true
    }
}
