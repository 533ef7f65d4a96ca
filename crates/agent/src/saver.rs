//! Saving recordings, no more often than permitted.

use std::path::PathBuf;

use tactus_model::time::{Instant, Monotonic, Nanos, Realtime};
use tactus_model::token_bucket::TokenBucket;
use tactus_record::file::RecordingFile;
use tactus_sys::clock;

use crate::shelf::{Kept, NotSaved, Shelf};

/// After a recording could not be written, no other is written for this time.
const AFTER_FAILURE: Nanos = Nanos::from_secs(10);

/// How many recordings may be saved at once.
const AT_ONCE: u64 = 3;

/// Puts recordings on the shelf.
pub(crate) struct Saver {
    shelf: Shelf,
    tokens: TokenBucket,
    /// The earliest time of the next save.
    next: Instant<Monotonic>,
}

/// A recording that was saved.
pub(crate) struct Saved {
    pub(crate) file: PathBuf,
    pub(crate) bytes: u64,
    /// The recordings that were removed for it.
    pub(crate) removed: Vec<Kept>,
}

impl Saver {
    pub(crate) fn new(shelf: Shelf, per_hour: u32, now: Instant<Monotonic>) -> Self {
        let every = Nanos::from_secs(3600 / u64::from(per_hour.max(1)));
        Self { shelf, tokens: TokenBucket::new(every, AT_ONCE), next: now }
    }

    /// The size of all saved recordings in bytes.
    pub(crate) fn kept_bytes(&self) -> u64 {
        self.shelf.kept().iter().map(|kept| kept.bytes).sum()
    }

    /// Saves a recording, if it may now.
    pub(crate) fn save(
        &mut self,
        recording: RecordingFile,
        now: Instant<Monotonic>,
    ) -> Option<Result<Saved, NotSaved>> {
        if now < self.next || self.tokens.take(now).is_err() {
            return None;
        }
        let bytes = recording.into_bytes().ok()?;
        let saved = self.shelf.save(&stamp(clock::now::<Realtime>()), &bytes);
        if saved.is_err() {
            self.next = now + AFTER_FAILURE;
        }
        let bytes = bytes.len() as u64;
        Some(saved.map(|(file, removed)| Saved { file, bytes, removed }))
    }
}

/// A time in the name of a file, e.g. `20261128-205500.123`, in UTC.
fn stamp(at: Instant<Realtime>) -> String {
    let millis = at.as_nanos() / 1_000_000 % 1000;
    format!("{}.{millis:03}", tactus_model::format::compact_date(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_are_in_the_order_of_time() {
        let at = |seconds: u64, millis: u64| {
            stamp(Instant::from_nanos(seconds * 1_000_000_000 + millis * 1_000_000))
        };
        assert_eq!(at(0, 0), "19700101-000000.000");
        assert_eq!(at(1_795_260_835, 7), "20261121-113355.007");
        assert_eq!(at(951_782_399, 999), "20000228-235959.999");
        assert_eq!(at(951_782_400, 0), "20000229-000000.000");
    }
}
