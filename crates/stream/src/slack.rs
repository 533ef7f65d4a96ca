//! How early items arrive, and so how far ahead a client has to submit them.

use serde::{Deserialize, Serialize};
use tactus_delivery::item::Moment;
use tactus_model::time::Nanos;

use crate::slot::Arrival;

/// How early items arrived at the queues of their devices: from the arrival to the time of the
/// item, less the lead of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slack {
    /// The items.
    pub items: u64,
    /// Those that arrived too late to be delivered in time.
    pub late: u64,
    /// 99 % of the items had at least this slack; 0 if more than 1 % arrived late.
    pub p1: Nanos,
    /// The smallest slack; 0 if an item arrived late.
    pub least: Nanos,
    /// The longest that an item took from its submission to its queue, with the lead of its device.
    pub needed: Nanos,
}

impl Slack {
    /// How long before its time an item should be submitted: twice what was [`needed`](Self::needed).
    pub const fn recommended_lead(&self) -> Nanos {
        self.needed.saturating_mul(2)
    }
}

/// The two halves of the period that [`SlackMeter`] reports.
const HALF: Nanos = Nanos::from_secs(30);

/// Measures slack over the last 30 to 60 seconds.
#[derive(Clone, Debug, Default)]
pub struct SlackMeter {
    /// When the present half began.
    since: Option<Moment>,
    present: Half,
    last: Half,
}

#[derive(Clone, Debug)]
struct Half {
    /// Items by their slack. A histogram of [`tactus_stats`](https://docs.rs/tactus-stats) would
    /// take 400 KB of a client.
    slack: [u32; BUCKETS],
    items: u64,
    late: u64,
    least: Nanos,
    needed: Nanos,
}

impl Default for Half {
    fn default() -> Self {
        let (least, needed) = (Nanos::MAX, Nanos::ZERO);
        Self { slack: [0; BUCKETS], items: 0, late: 0, least, needed }
    }
}

/// Buckets of an octave.
const PARTS: usize = 8;

/// Buckets for all durations.
const BUCKETS: usize = 64 * PARTS;

/// The bucket of a duration: each octave has [`PARTS`] of equal width.
const fn bucket(length: Nanos) -> usize {
    let nanos = length.as_nanos();
    let octave = (nanos | PARTS as u64).ilog2() as usize - PARTS.ilog2() as usize;
    octave * PARTS + (nanos >> octave) as usize
}

/// The least duration in a bucket.
const fn least_of(bucket: usize) -> Nanos {
    let octave = (bucket / PARTS).saturating_sub(1);
    Nanos::from_nanos(((bucket - octave * PARTS) as u64) << octave)
}

impl SlackMeter {
    /// Counts an item that is due at `due`, for a device that must have it `lead` earlier.
    pub fn arrived(&mut self, arrival: Arrival, due: Moment, lead: Nanos) {
        self.advance(arrival.at);
        let in_time = due.as_nanos().saturating_sub(lead.as_nanos());
        let half = &mut self.present;
        half.late += u64::from(arrival.at.as_nanos() > in_time);
        half.items += 1;
        let slack = Nanos::from_nanos(in_time.saturating_sub(arrival.at.as_nanos()));
        let count = &mut half.slack[bucket(slack)];
        *count = count.saturating_add(1);
        half.least = half.least.min(slack);
        half.needed = half.needed.max(arrival.needed);
    }

    /// The slack of the items of the last minute; `None` if none arrived.
    pub fn slack(&mut self, now: Moment) -> Option<Slack> {
        self.advance(now);
        let (last, present) = (&self.last, &self.present);
        let items = last.items + present.items;
        let mut seen = 0;
        let p1 = last.slack.iter().zip(&present.slack).position(|(last, present)| {
            seen += u64::from(*last) + u64::from(*present);
            seen > items / 100
        })?;
        Some(Slack {
            items,
            late: last.late + present.late,
            p1: least_of(p1),
            least: last.least.min(present.least),
            needed: last.needed.max(present.needed),
        })
    }

    fn advance(&mut self, now: Moment) {
        let since = *self.since.get_or_insert(now);
        let elapsed = now - since;
        if elapsed >= HALF {
            self.last = std::mem::take(&mut self.present);
            if elapsed >= HALF + HALF {
                self.last = Half::default();
            }
            self.since = Some(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(count: u64) -> Nanos {
        Nanos::from_millis(count)
    }

    #[test]
    fn slack_is_what_remains_before_the_lead() {
        let mut meter = SlackMeter::default();
        let start = Moment::from_nanos(1_000_000_000);
        assert_eq!(meter.slack(start), None);
        for wait in [5, 7, 1] {
            let arrival = Arrival { at: start, needed: ms(wait) };
            meter.arrived(arrival, start + ms(10), ms(2));
        }
        let slack = meter.slack(start).unwrap();
        assert_eq!((slack.items, slack.late, slack.least), (3, 0, ms(8)));
        assert_eq!((slack.needed, slack.recommended_lead()), (ms(7), ms(14)));
        meter.arrived(Arrival { at: start, needed: ms(1) }, start + ms(1), ms(2));
        let slack = meter.slack(start).unwrap();
        assert_eq!((slack.late, slack.p1), (1, Nanos::ZERO));
    }

    #[test]
    fn buckets_cover_all_durations() {
        for nanos in [0, 1, 7, 8, 9, 15, 16, 17, 1000, 123_456_789, u64::MAX] {
            let length = Nanos::from_nanos(nanos);
            let least = least_of(bucket(length));
            assert!(least <= length && nanos - least.as_nanos() <= nanos / 8, "{nanos}");
        }
    }

    #[test]
    fn old_items_are_forgotten() {
        let mut meter = SlackMeter::default();
        let start = Moment::from_nanos(1);
        meter.arrived(Arrival { at: start, needed: ms(1) }, start, Nanos::ZERO);
        assert!(meter.slack(start + ms(29_000)).is_some());
        assert!(meter.slack(start + ms(30_000)).is_some());
        assert!(meter.slack(start + ms(59_000)).is_some());
        assert_eq!(meter.slack(start + ms(60_000)), None);
    }
}
