//! The receiver: stamps what comes out of the line.

use std::fs::File;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, SyncSender};
use std::thread::{self, JoinHandle};

use tactus_midi::{Parsed, Parser};
use tactus_model::policy::{RealtimePriority, Scheduling};
use tactus_model::recording::ThreadId;
use tactus_model::result::Shortfall;
use tactus_model::sample::Sample;
use tactus_model::time::{Monotonic, Nanos};
use tactus_prepare::ThreadRef;
use tactus_sys::{SysError, clock};

use super::{END, Messages, NUMBERS, REHEARSAL, number_of};
use crate::apparatus::Destination;
use crate::schedule::Schedule;
use crate::timer::SampleSink;

/// Above all policies that an experiment usually compares.
const PRIORITY: u8 = 98;
/// The longest message that is parsed: ours have three bytes.
const MESSAGE_MAX: usize = 16;

/// The receiving thread.
pub(super) struct Receiver {
    begin: SyncSender<(Messages, Destination)>,
    /// How often the rehearsal was received.
    rehearsed: Arc<AtomicU64>,
    thread: JoinHandle<Received>,
    id: ThreadId,
}

/// What a receiver has of a window.
#[derive(Default)]
pub(super) struct Received {
    /// The messages, in order, as far as there was memory.
    pub samples: Vec<Sample>,
    /// Messages for which no memory was left.
    pub dropped: u64,
}

impl Receiver {
    /// Starts a thread that reads from `line` until it has ended.
    pub(super) fn start(line: File) -> Result<Self, SysError> {
        let (begin, begun) = mpsc::sync_channel(1);
        let (introduce, introduced) = mpsc::sync_channel(1);
        let rehearsed = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&rehearsed);
        let thread = thread::Builder::new().name("midi/receiver".to_owned()).spawn(move || {
            let _ = introduce.send(tactus_sys::thread::current_id());
            receive(line, &begun, &counted)
        });
        let thread = thread.map_err(SysError::of_io("clone"))?;
        // The thread sends before anything else.
        let id = introduced.recv().unwrap_or_default();
        Ok(Self { begin, rehearsed, thread, id })
    }

    /// Gives it its priority. Returns what was not granted.
    pub(super) fn schedule(&self) -> Result<Option<Shortfall>, SysError> {
        let Some(highest) = RealtimePriority::new(PRIORITY) else { return Ok(None) };
        let refused = ThreadRef::Id(self.id).schedule(Scheduling::Fifo(highest))?;
        Ok(refused.map(|refused| refused.explain_here()))
    }

    /// Its number.
    pub(super) const fn thread(&self) -> ThreadId {
        self.id
    }

    /// Whether the rehearsal has arrived.
    pub(super) fn is_rehearsed(&self) -> bool {
        self.rehearsed.load(Ordering::Relaxed) > 0
    }

    /// Says which messages come, before the first does, and where their samples go.
    pub(super) fn begin(&self, messages: Messages, kept: Destination) {
        // A thread that has ended says why in `end`.
        let _ = self.begin.send((messages, kept));
    }

    /// Waits for the end of the line.
    pub(super) fn end(self) -> Received {
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// A window that is being received.
struct Window {
    start: u64,
    schedule: Schedule,
    /// The number of the next message, without its wrap.
    expected: u64,
    kept: Destination,
    dropped: u64,
}

impl Window {
    /// Takes a message; the due times of lost ones before it are passed over.
    fn take(&mut self, number: u64, now: u64) {
        let lost = number.wrapping_sub(self.expected) % NUMBERS;
        self.expected += lost + 1;
        if let Some(due) = self.schedule.nth(lost as usize) {
            let came = Nanos::from_nanos(now.saturating_sub(self.start));
            self.dropped += u64::from(!self.kept.keep(Sample { due, came }));
        }
    }

    fn received(self) -> Received {
        match self.kept {
            Destination::Memory(memory) => {
                Received { samples: memory.into_vec(), dropped: self.dropped }
            }
            Destination::Ring(_) => Received::default(),
        }
    }
}

/// Reads until the end. A turn allocates nothing, and makes no system call but the read.
fn receive(
    mut line: File,
    begun: &mpsc::Receiver<(Messages, Destination)>,
    rehearsed: &AtomicU64,
) -> Received {
    let mut window: Option<Window> = None;
    let mut parser = Parser::new(MESSAGE_MAX);
    let mut bytes = [0; 256];
    loop {
        let read = match line.read(&mut bytes) {
            // The other end is closed.
            Ok(0) | Err(_) => return window.map(Window::received).unwrap_or_default(),
            Ok(read) => read,
        };
        let now = clock::now::<Monotonic>();
        for byte in &bytes[..read] {
            match *byte {
                REHEARSAL => _ = rehearsed.fetch_add(1, Ordering::Relaxed),
                END => return window.map(Window::received).unwrap_or_default(),
                byte => parser.push(byte, now, |parsed| {
                    let Parsed::Message { message, .. } = parsed else { return };
                    let Some(number) = number_of(message.bytes()) else { return };
                    if window.is_none() {
                        // It was sent before the first message was handed over.
                        window = begun.try_recv().ok().map(Window::from);
                    }
                    if let Some(window) = &mut window {
                        window.take(number, now.as_nanos());
                    }
                }),
            }
        }
    }
}

impl From<(Messages, Destination)> for Window {
    fn from((messages, kept): (Messages, Destination)) -> Self {
        let Messages { start, schedule, .. } = messages;
        Self { start: start.as_nanos(), schedule, expected: 0, kept, dropped: 0 }
    }
}

#[cfg(test)]
mod tests {
    use tactus_model::probe::Interval;

    use super::*;
    use crate::timer::SampleMemory;

    #[test]
    fn lost_messages_are_passed_over_and_numbers_wrap() {
        let millis = Nanos::from_millis;
        let schedule = Schedule::new(Interval::Fixed(millis(1)), Nanos::ZERO, millis(40_000), 0);
        let kept = Destination::Memory(SampleMemory::take(100_000).unwrap());
        let mut window = Window { start: 0, schedule, expected: 0, kept, dropped: 0 };
        let came = |number: u64| number * 1_000_000 + 5;
        let numbers: Vec<u64> = (0..40_000).filter(|number| number % 1000 != 7).collect();
        numbers.iter().for_each(|number| window.take(number % NUMBERS, came(*number)));
        let received = window.received();
        assert_eq!(received.samples.len(), numbers.len());
        assert!(received.samples.iter().all(|sample| sample.latency().as_nanos() == 5));
    }
}
