//! What became of frames.

use serde::Serialize;
use tactus_delivery::item::Moment;
use tactus_model::time::Nanos;
use tactus_stats::LatencyHistogram;

use crate::media::MediaTime;

/// A frame that was shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Its time in the clip.
    pub media: MediaTime,
    /// When it was due.
    pub due: Moment,
    /// When it was seen.
    pub at: Moment,
    /// How far the clock was behind wall time then, in nanoseconds; negative if ahead.
    pub slip_ns: i64,
}

/// Counts frames while they are shown.
#[derive(Debug, Default)]
pub struct Tally {
    shown: u64,
    dropped: u64,
    missing: u64,
    repeated: u64,
    early: u64,
    early_max: Nanos,
    late: LatencyHistogram,
    slip_ns: i64,
    slip_ns_worst: i64,
    /// When the last frame was seen.
    last_at: Option<Moment>,
    /// When the first frame was due that was dropped since then.
    dropped_due: Option<Moment>,
}

/// What became of the frames of a clip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Frames that were seen.
    pub shown: u64,
    /// Frames that were not, because the next one was due as well.
    pub dropped: u64,
    /// Frames that were neither: their decoder had not delivered them when playing ended, or their display
    /// did not answer any more.
    pub missing: u64,
    /// Periods of a frame in which the one before was still seen.
    pub repeated: u64,
    /// Frames that were seen before they were due, e.g. at the refresh before.
    pub early: u64,
    /// By how much the earliest of them was.
    pub early_max_ns: Nanos,
    /// Lateness of the frames that were seen; an early one counts as zero.
    pub late_p50_ns: Option<Nanos>,
    /// The 99th percentile.
    pub late_p99_ns: Option<Nanos>,
    /// The worst.
    pub late_max_ns: Option<Nanos>,
    /// How far the clip is behind wall time; negative if it is ahead.
    pub slip_ns: i64,
    /// The largest distance from wall time, with its sign.
    pub slip_ns_worst: i64,
}

impl Summary {
    /// Both together: sums, and the worst of each percentile.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        let worst = |left: i64, right: i64| if right.abs() > left.abs() { right } else { left };
        Self {
            shown: self.shown + other.shown,
            dropped: self.dropped + other.dropped,
            missing: self.missing + other.missing,
            repeated: self.repeated + other.repeated,
            early: self.early + other.early,
            early_max_ns: self.early_max_ns.max(other.early_max_ns),
            late_p50_ns: self.late_p50_ns.max(other.late_p50_ns),
            late_p99_ns: self.late_p99_ns.max(other.late_p99_ns),
            late_max_ns: self.late_max_ns.max(other.late_max_ns),
            slip_ns: worst(self.slip_ns, other.slip_ns),
            slip_ns_worst: worst(self.slip_ns_worst, other.slip_ns_worst),
        }
    }
}

impl Tally {
    /// Counts a frame, which is to be seen for `period`.
    pub fn show(&mut self, frame: Shown, period: Nanos) {
        self.shown += 1;
        self.early += u64::from(frame.at < frame.due);
        self.early_max = self.early_max.max(frame.due - frame.at);
        self.late.record(frame.at - frame.due);
        let awaited = self.dropped_due.take().unwrap_or(frame.due);
        if let Some(last_at) = self.last_at.replace(frame.at) {
            // A frame that is late by less than half of its period leaves no period without a new
            // frame.
            let half = Nanos::from_nanos(period.as_nanos() / 2);
            self.repeated += (frame.at + half - awaited.max(last_at)).div_floor(period);
        }
        self.slip_ns = frame.slip_ns;
        if frame.slip_ns.abs() > self.slip_ns_worst.abs() {
            self.slip_ns_worst = frame.slip_ns;
        }
    }

    /// Counts frames that were dropped, the first of which was due at this instant.
    pub fn drop_frames(&mut self, count: u64, due: Moment) {
        self.dropped += count;
        if count > 0 {
            self.dropped_due.get_or_insert(due);
        }
    }

    /// Counts frames that never came.
    pub fn miss(&mut self, count: u64) {
        self.missing += count;
    }

    /// A pause or a jump follows: the frame before it may be seen for any time.
    pub fn interrupt(&mut self) {
        (self.last_at, self.dropped_due) = (None, None);
    }

    /// The counts so far.
    pub fn summary(&self) -> Summary {
        let Self { shown, dropped, missing, repeated, early, early_max, late, .. } = self;
        Summary {
            shown: *shown,
            dropped: *dropped,
            missing: *missing,
            repeated: *repeated,
            early: *early,
            early_max_ns: *early_max,
            late_p50_ns: late.quantile(0.5),
            late_p99_ns: late.quantile(0.99),
            late_max_ns: late.max(),
            slip_ns: self.slip_ns,
            slip_ns_worst: self.slip_ns_worst,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_without_a_new_frame_are_counted() {
        let period = Nanos::from_millis(40);
        let start = Moment::from_nanos(1_000_000_000_000);
        let mut tally = Tally::default();
        let show = |tally: &mut Tally, due_ms: u64, at_ms: u64| {
            let (due, at) = (start + Nanos::from_millis(due_ms), start + Nanos::from_millis(at_ms));
            let media = MediaTime::from_nanos(due_ms.cast_signed() * 1_000_000);
            tally.show(Shown { media, due, at, slip_ns: -3 }, period);
        };
        show(&mut tally, 0, 1);
        show(&mut tally, 40, 55);
        tally.drop_frames(2, start + Nanos::from_millis(80));
        show(&mut tally, 160, 161);
        tally.miss(1);
        show(&mut tally, 200, 193);
        // At a variable rate, the next frame may be due much later.
        show(&mut tally, 900, 901);
        // Frames that catch up repeat none.
        show(&mut tally, 940, 1060);
        show(&mut tally, 980, 1061);
        tally.interrupt();
        let summary = tally.summary();
        assert_eq!((summary.shown, summary.dropped, summary.repeated), (7, 2, 5));
        assert_eq!((summary.slip_ns, summary.missing), (-3, 1));
        assert_eq!((summary.early, summary.early_max_ns), (1, Nanos::from_millis(7)));
        assert!(summary.late_max_ns >= summary.late_p50_ns);
    }
}
