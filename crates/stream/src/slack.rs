//! How early items arrive, and so how far ahead a client has to submit them.

use serde::{Deserialize, Serialize};
use tactus_delivery::item::Moment;
use tactus_model::time::Nanos;

use crate::slot::Arrival;
use crate::spread::Spread;

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

#[derive(Clone, Debug, Default)]
struct Half {
    slack: Spread,
    late: u64,
    needed: Nanos,
}

impl SlackMeter {
    /// Counts an item that is due at `due`, for a device that must have it `lead` earlier.
    pub fn arrived(&mut self, arrival: Arrival, due: Moment, lead: Nanos) {
        self.advance(arrival.at);
        let half = &mut self.present;
        half.late += u64::from(arrival.is_late(due, lead));
        half.slack.record(due - lead - arrival.at);
        half.needed = half.needed.max(arrival.needed);
    }

    /// The slack of the items of the last minute; `None` if none arrived.
    pub fn slack(&mut self, now: Moment) -> Option<Slack> {
        self.advance(now);
        let mut all = self.last.slack.clone();
        all.add(&self.present.slack);
        Some(Slack {
            items: all.count(),
            late: self.last.late + self.present.late,
            p1: all.quantile(0.01)?,
            least: all.min()?,
            needed: self.last.needed.max(self.present.needed),
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
