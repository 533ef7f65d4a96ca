//! From receipts to samples.

use tactus_delivery::item::Moment;
use tactus_model::frames::{FrameTimes, Rate};
use tactus_model::result::PlaybackFindings;
use tactus_model::sample::Sample;
use tactus_model::time::Nanos;
use tactus_stats::LatencyHistogram;

use super::Played;
use super::line::Receipt;
use crate::timer::TakenSamples;

/// The samples of a clip with so many frames at this rate, and what else their receipts showed. Due
/// times are those of the clip, lateness is by the player's own clock. A frame that was not shown ended
/// with the one that was shown after it, or when the player `ended` by the time of the clip.
pub(super) fn judged(rate: Rate, frames: u64, receipts: &[Receipt], ended: Nanos) -> Played {
    let times = FrameTimes::new(rate);
    let [mut whole, mut drawing] = [(); 2].map(|()| LatencyHistogram::new());
    let mut samples: Vec<Sample> = Vec::with_capacity(receipts.len());
    for receipt in receipts {
        let (Some(shown), Some(number)) = (receipt.shown, number(rate, receipt, frames)) else {
            continue;
        };
        let due = times.due(number);
        // Frames are shown in their order, each once.
        if samples.last().is_some_and(|last| last.due >= due) {
            continue;
        }
        samples.push(Sample { due, came: moved(due, receipt.due, shown) });
        if let (Some(lead), Some(began)) = (receipt.lead, receipt.began) {
            let asked = receipt.due.as_nanos().saturating_sub(lead.as_nanos());
            whole.record(shown - Moment::from_nanos(asked));
            drawing.record(shown - began);
        }
    }
    let skipped = skipped(times, frames, &samples, ended);
    let missed = skipped.len() as u64;
    Played {
        taken: TakenSamples { samples, skipped, missed, ended, ..TakenSamples::default() },
        findings: PlaybackFindings {
            frame_times: whole.to_record(),
            drawing: drawing.to_record(),
            ..PlaybackFindings::default()
        },
    }
}

/// The number of a receipt's frame; `None` if the clip has none there.
fn number(rate: Rate, receipt: &Receipt, frames: u64) -> Option<u64> {
    let number = (receipt.media.as_secs_f64() * rate.as_f64()).round();
    (number >= 0.0 && number < frames as f64).then_some(number as u64)
}

/// `due`, later or earlier by as much as the frame was seen after or before it was due.
fn moved(due: Nanos, at: Moment, shown: Moment) -> Nanos {
    // One of the two differences is zero.
    (due + (shown - at)).saturating_sub(at - shown)
}

/// The frames that were not shown.
fn skipped(times: FrameTimes, frames: u64, samples: &[Sample], ended: Nanos) -> Vec<Sample> {
    let mut shown = samples.iter().peekable();
    let mut skipped = Vec::new();
    for due in (0..frames).map(|number| times.due(number)) {
        if shown.next_if(|sample| sample.due == due).is_none() {
            let came = shown.peek().map_or(ended, |next| next.came).max(due);
            skipped.push(Sample { due, came });
        }
    }
    skipped
}

#[cfg(test)]
mod tests {
    use tactus_playback::MediaTime;

    use super::*;

    const fn millis(count: u64) -> Nanos {
        Nanos::from_millis(count)
    }

    /// A receipt of a frame of a clip that started at 5 s, shown so many µs after it was due.
    fn receipt(media_ms: i64, late_us: Option<i64>) -> Receipt {
        let due = 5_000_000_000 + media_ms * 1_000_000;
        let at = |nanos: i64| Moment::from_nanos(nanos.unsigned_abs());
        Receipt {
            media: MediaTime::from_nanos(media_ms * 1_000_000),
            due: at(due),
            lead: late_us.map(|_| Nanos::from_micros(300)),
            began: late_us.map(|late| at(due + late * 1_000 - 200_000)),
            shown: late_us.map(|late| at(due + late * 1_000)),
        }
    }

    #[test]
    fn every_frame_is_shown_or_skipped() {
        let rate = "10".parse().unwrap();
        // The first is early, 200 is dropped, 400 was never decoded, 600 is of another clip.
        let receipts = [(0, Some(-50)), (100, Some(20)), (200, None), (300, Some(7000))];
        let receipts = receipts.into_iter().chain([(600, Some(1))]);
        let receipts: Vec<Receipt> = receipts.map(|(media, late)| receipt(media, late)).collect();
        let Played { taken, findings } = judged(rate, 5, &receipts, millis(450));
        let sample = |due, came| Sample { due: millis(due), came };
        let shown = [
            sample(0, Nanos::ZERO),
            sample(100, millis(100) + Nanos::from_micros(20)),
            sample(300, millis(307)),
        ];
        assert_eq!(taken.samples, shown);
        assert_eq!(taken.skipped, [sample(200, millis(307)), sample(400, millis(450))]);
        assert_eq!((taken.missed, taken.dropped), (2, 0));
        assert_eq!((findings.drawing.count, findings.drawing.max), (3, Nanos::from_micros(200)));
        // From 300 µs before it was due to 7 ms after.
        assert_eq!(findings.frame_times.max, Nanos::from_micros(7300));
    }

    #[test]
    fn a_player_that_shows_nothing_skips_everything() {
        let Played { taken, findings } = judged("60".parse().unwrap(), 3, &[], millis(100));
        assert_eq!((taken.samples.len(), taken.missed), (0, 3));
        assert!(taken.skipped.iter().all(|sample| sample.came == millis(100)));
        assert_eq!(findings.drawing.count, 0);
    }
}
