//! The recorder of kernel events, while the budget permits it, with the count of its events.

use std::ops::Range;

use tactus_model::recording::{LateWakeup, Observers};
use tactus_model::time::{Instant, Monotonic, Nanos};
use tactus_record::live::{Newest, Options, OverwritingRecorder, RecordError};

use crate::price::Yardstick;

/// The time between two attempts to record, if that is refused.
const AFTER_REFUSAL: Nanos = Nanos::from_secs(600);

/// Records events, or not.
pub(crate) struct EventRecorder {
    /// The size of the buffer of each CPU in bytes.
    ring_size: usize,
    running: Option<OverwritingRecorder>,
    /// The events when they were last counted.
    counted: u64,
    /// The earliest time of the next attempt to record.
    next_attempt: Instant<Monotonic>,
}

/// What recording costs.
pub(crate) struct Begun {
    /// The CPU time of an event.
    pub(crate) price: Nanos,
    /// The size of all buffers in bytes.
    pub(crate) buffers: u64,
}

impl EventRecorder {
    /// Does not record yet.
    pub(crate) const fn new(ring_size: usize, now: Instant<Monotonic>) -> Self {
        Self { ring_size, running: None, counted: 0, next_attempt: now }
    }

    /// Whether it does not record, and may try to.
    pub(crate) fn may_begin(&self, now: Instant<Monotonic>) -> bool {
        self.running.is_none() && now >= self.next_attempt
    }

    /// Begins to record. After a refusal, the next attempt has to wait.
    ///
    /// # Errors
    /// Recording is refused.
    pub(crate) fn begin(&mut self, now: Instant<Monotonic>) -> Result<Begun, RecordError> {
        let (recorder, price) = start(self.ring_size).inspect_err(|_| {
            self.next_attempt = now + AFTER_REFUSAL;
        })?;
        let buffers = recorder.memory();
        self.counted = recorder.counted().unwrap_or(0);
        self.running = Some(recorder);
        Ok(Begun { price, buffers })
    }

    /// Ends recording; returns whether it recorded.
    pub(crate) fn end(&mut self) -> bool {
        self.running.take().is_some()
    }

    /// The events since they were last counted.
    pub(crate) fn new_events(&mut self) -> u64 {
        let counted = self.running.as_ref().and_then(|recorder| recorder.counted().ok());
        let events = counted.map_or(0, |counted| counted.saturating_sub(self.counted));
        self.counted = counted.unwrap_or(self.counted);
        events
    }

    /// Takes the newest events out of the buffers, with the number of events until then since they were last
    /// counted; `None` if it does not record. `late` is that of [`OverwritingRecorder::take`].
    pub(crate) fn take(
        &mut self,
        late: impl FnOnce(Range<Instant<Monotonic>>) -> Option<LateWakeup>,
    ) -> Option<(u64, Option<Newest>)> {
        let recorder = self.running.as_mut()?;
        let before = recorder.counted().unwrap_or(0);
        let newest = recorder.take(late);
        // The events until now belong to the last second, those from now on to the next.
        let events = before.saturating_sub(self.counted);
        self.counted = recorder.counted().unwrap_or(before);
        Some((events, newest.ok()))
    }
}

fn start(ring_size: usize) -> Result<(OverwritingRecorder, Nanos), RecordError> {
    let yardstick = Yardstick::before()?;
    let recorder = OverwritingRecorder::start(Options {
        ring_size,
        observers: Observers::of_processes([std::process::id()]),
        ..Options::of_the_late()
    })?;
    let price = yardstick.price(&recorder)?;
    Ok((recorder, price))
}
