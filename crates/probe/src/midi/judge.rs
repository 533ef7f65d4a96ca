//! From stamps and receipts to samples and findings.

use tactus_delivery::item::Moment;
use tactus_delivery::receipt::Receipt;
use tactus_model::recording::ThreadId;
use tactus_model::result::MessageFindings;
use tactus_model::sample::{Sample, SampleBlock};
use tactus_model::time::Nanos;
use tactus_model::traced::HandedOver as Written;
use tactus_stats::LatencyHistogram;

use super::Messages;
use super::client::HandedOver;
use super::receiver::Received;
use crate::timer::TakenSamples;

/// The samples of a window, and what else its messages showed. Messages that did not arrive are late
/// at least until `ended`, when delivering ended. `stamped_by` is the receiver, if the measured thread
/// writes the messages.
pub(super) fn judged(
    messages: &Messages,
    received: Received,
    handed_over: &HandedOver,
    stamped_by: Option<ThreadId>,
    ended: Moment,
) -> (TakenSamples, MessageFindings) {
    let Received { samples, dropped } = received;
    let ended = ended - messages.start;
    let intended = messages.schedule.remaining();
    let missed = intended - samples.len() as u64 - dropped;
    let Parts { output, receiver, written } =
        Parts::of(messages.start, &samples, &handed_over.receipts);
    let findings = MessageFindings {
        intervals: intervals(&samples).to_record(),
        output: output.to_record(),
        receiver: receiver.to_record(),
        handed_over_late: handed_over.late,
        written: stamped_by.and_then(|receiver| handed(receiver, &written)),
    };
    // What followed the last sample is unknown if samples were dropped.
    let skipped = if dropped == 0 { lost(messages, &samples, ended) } else { Vec::new() };
    (TakenSamples { samples, skipped, missed, dropped, ended, ..Default::default() }, findings)
}

/// The messages that did not arrive.
fn lost(messages: &Messages, samples: &[Sample], ended: Nanos) -> Vec<Sample> {
    let mut arrived = samples.iter().map(|sample| sample.due).peekable();
    let due_times = messages.schedule.clone();
    let lost = due_times.filter(|due| arrived.next_if_eq(due).is_none());
    lost.map(|due| Sample { due, came: ended.max(due) }).collect()
}

fn intervals(samples: &[Sample]) -> LatencyHistogram {
    samples.windows(2).map(|pair| pair[1].came.saturating_sub(pair[0].came)).collect()
}

/// The two parts of messages that have receipts.
struct Parts {
    /// From the due time to the beginning of the call that wrote a message.
    output: LatencyHistogram,
    /// From there to the receiver's stamp.
    receiver: LatencyHistogram,
    /// The due time of each, and when that call began.
    written: Vec<Sample>,
}

impl Parts {
    fn of(start: Moment, samples: &[Sample], receipts: &[Receipt]) -> Self {
        let mut receipts = receipts.iter().peekable();
        let [mut output, mut receiver] = [(); 2].map(|()| LatencyHistogram::new());
        let mut written = Vec::with_capacity(samples.len());
        for sample in samples {
            let (due, came) = (start + sample.due, start + sample.came);
            // Both are in the order of due times.
            while receipts.next_if(|receipt| receipt.due < due).is_some() {}
            let began = receipts.next_if(|receipt| receipt.due == due);
            if let Some(began) = began.and_then(|receipt| receipt.began) {
                output.record(began - due);
                receiver.record(came - began);
                written.push(Sample { due: sample.due, came: began - start });
            }
        }
        Self { output, receiver, written }
    }
}

/// When messages were written; `None` if there are too many.
fn handed(receiver: ThreadId, written: &[Sample]) -> Option<Written> {
    let is_kept = written.len() <= Written::SAMPLES_MAX;
    is_kept.then(|| Written { receiver, block: SampleBlock::encode(written) })
}

#[cfg(test)]
mod tests {
    use tactus_delivery::item::{ClientId, StreamId};
    use tactus_delivery::receipt::{Evidence, Outcome};
    use tactus_model::probe::Interval;

    use super::*;
    use crate::schedule::Schedule;

    const fn millis(count: u64) -> Nanos {
        Nanos::from_millis(count)
    }

    const START: Moment = Moment::from_nanos(7_000_000_000);

    fn messages() -> Messages {
        let schedule = Schedule::new(Interval::Fixed(millis(10)), Nanos::ZERO, millis(50), 0);
        Messages { start: START, schedule, until: START + millis(60) }
    }

    fn receipt(due: u64, began: u64) -> Receipt {
        let began = Some(START + millis(began));
        Receipt {
            client: ClientId(0),
            sequence: due,
            stream: StreamId(0),
            due: START + millis(due),
            began,
            ended: began,
            outcome: Outcome::Delivered,
            evidence: Evidence::Call,
            correction: None,
            msc: None,
        }
    }

    #[test]
    fn a_lost_message_is_missed_and_the_others_are_compared_with_their_receipts() {
        let sample = |due, came| Sample { due: millis(due), came: millis(came) };
        let samples = vec![sample(0, 2), sample(10, 11), sample(30, 45), sample(40, 46)];
        let receipts = [(0, 1), (10, 11), (20, 25), (30, 40), (40, 46)];
        let receipts = receipts.map(|(due, began)| receipt(due, began)).into();
        let received = Received { samples, dropped: 0 };
        let handed_over = HandedOver { receipts, late: 1 };
        let (taken, findings) =
            judged(&messages(), received, &handed_over, Some(ThreadId(7)), START + millis(48));
        assert_eq!((taken.missed, taken.dropped), (1, 0));
        let written = findings.written.unwrap();
        let began = [(0, 1), (10, 11), (30, 40), (40, 46)].map(|(due, came)| sample(due, came));
        assert_eq!(
            (written.receiver, written.block.decode().unwrap()),
            (ThreadId(7), began.into())
        );
        assert_eq!(taken.skipped, [sample(20, 48)]);
        assert_eq!((findings.receiver.count, findings.receiver.max), (4, millis(5)));
        assert_eq!((findings.output.count, findings.output.max), (4, millis(10)));
        assert_eq!((findings.intervals.count, findings.intervals.max), (3, millis(34)));
        assert_eq!((findings.intervals.min, findings.handed_over_late), (millis(1), 1));
    }

    #[test]
    fn dropped_messages_are_no_lost_ones() {
        let samples = vec![Sample { due: Nanos::ZERO, came: millis(1) }];
        let received = Received { samples, dropped: 3 };
        let (taken, _) =
            judged(&messages(), received, &HandedOver::default(), None, START + millis(50));
        assert_eq!((taken.samples.len(), taken.missed, taken.dropped), (1, 1, 3));
        assert!(taken.skipped.is_empty());
    }
}
