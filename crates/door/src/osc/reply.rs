//! The messages that go back.

use tactus_model::format::cut;
use tactus_osc::{Argument, Message, TimeTag};
use tactus_stream::{Moment, Receipt};

use super::account::Origin;

/// The addresses of these messages.
pub const ADDRESSES: [&str; 4] = ["/receipt", "/refused", "/subscribed", "/cookie"];

/// Characters of a text in a refusal at most: replies fit into one packet of every network.
const CHARACTERS: usize = 200;

/// `/receipt`: what became of an item.
///
/// Its values: the number that the sender gave it (0 without one), the device, the outcome, the
/// evidence; when it was due (as the sender wrote it), began and ended, as time tags
/// ([`TimeTag::NONE`] if it did not); how late it began, in microseconds (0 if it did not); and how
/// much faster than nominal the device's clock ran, in parts per billion (0 if the times are not by
/// that clock).
pub fn receipt(origin: &Origin, receipt: &Receipt) -> Vec<u8> {
    let tag = |moment: Option<Moment>| {
        moment.map_or(TimeTag::NONE, |moment| TimeTag::of(origin.offset.real(moment)))
    };

    Message {
        address: "/receipt",
        arguments: vec![
            Argument::Int(origin.id.unwrap_or_default()),
            Argument::Text(&origin.device),
            Argument::Text(receipt.outcome.word()),
            Argument::Text(receipt.evidence.word()),
            Argument::Time(origin.time),
            Argument::Time(tag(receipt.began)),
            Argument::Time(tag(receipt.ended)),
            Argument::Float(receipt.error_ns().unwrap_or_default() as f32 / 1000.0),
            Argument::Int(receipt.correction.map_or(0, |correction| correction.0)),
        ],
    }
    .bytes()
}

/// `/refused`: a message was not carried out. Its values: the number of the item (0 without one),
/// the address of the message, and the reason.
pub fn refused(id: Option<i32>, address: &str, reason: &str) -> Vec<u8> {
    let (address, reason) = (cut(address, CHARACTERS), cut(reason, CHARACTERS));
    let id = Argument::Int(id.unwrap_or_default());
    let arguments = vec![id, Argument::Text(&address), Argument::Text(&reason)];
    Message { address: "/refused", arguments }.bytes()
}

/// `/subscribed`: receipts follow, for `seconds`.
pub fn subscribed(seconds: u64) -> Vec<u8> {
    let seconds = Argument::Int(i32::try_from(seconds).unwrap_or(i32::MAX));
    Message { address: "/subscribed", arguments: vec![seconds] }.bytes()
}

/// `/cookie`: a number that the receiver returns to prove its address. It is not longer than the
/// shortest message that causes it.
pub fn cookie(number: i32) -> Vec<u8> {
    Message { address: "/cookie", arguments: vec![Argument::Int(number)] }.bytes()
}

#[cfg(test)]
mod tests {
    use tactus_model::time::Instant;
    use tactus_stream::{ClientId, Correction, Evidence, Outcome, StreamId};
    use tactus_sys::clock::ClockPair;

    use super::*;

    #[test]
    fn a_receipt_has_the_times_of_the_senders_clock() {
        let at = |nanos| Moment::from_nanos(nanos);
        let real = Instant::from_nanos(7_000_000_000);
        let offset = ClockPair { before: at(0), real, after: at(0) }.offset();
        let time = TimeTag::of(Instant::from_nanos(7_000_001_000));
        let origin = Origin { port: 1, id: Some(-3), device: "synth".to_owned(), time, offset };
        let mut given = Receipt {
            client: ClientId(0),
            sequence: 0,
            stream: StreamId(0),
            due: at(1000),
            began: Some(at(4500)),
            ended: Some(at(6000)),
            outcome: Outcome::Delivered,
            evidence: Evidence::DeviceClock,
            correction: Some(Correction(-7)),
            msc: None,
        };
        let real =
            |nanos: u64| Argument::Time(TimeTag::of(Instant::from_nanos(7_000_000_000 + nanos)));
        let bytes = receipt(&origin, &given);
        let read = tactus_osc::read(&bytes).unwrap();
        let [id, device, outcome, evidence, times @ ..] = &read[0].message.arguments[..] else {
            panic!("{read:?}")
        };
        assert_eq!((id, device), (&Argument::Int(-3), &Argument::Text("synth")));
        assert_eq!(outcome, &Argument::Text("delivered"));
        assert_eq!(evidence, &Argument::Text("device-clock"));
        let late = [Argument::Float(3.5), Argument::Int(-7)];
        assert_eq!(times, [real(1000), real(4500), real(6000), late[0], late[1]]);
        (given.began, given.ended, given.correction) = (None, None, None);
        let bytes = receipt(&origin, &given);
        let read = tactus_osc::read(&bytes).unwrap();
        let none = Argument::Time(TimeTag::NONE);
        let times = &read[0].message.arguments[5..];
        assert_eq!(times, [none, none, Argument::Float(0.0), Argument::Int(0)]);
    }

    #[test]
    fn nothing_is_amplified() {
        let shortest = Message { address: "/subscribe", arguments: vec![] }.bytes();
        assert!(cookie(i32::MIN).len() <= shortest.len());
        let refusal = refused(None, &"/ä".repeat(9000), &"ä".repeat(9000));
        assert!(refusal.len() < 1000);
    }
}
