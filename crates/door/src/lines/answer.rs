//! Answers.

use serde::Serialize;
use tactus_stream::{Correction, Evidence, Format, Moment, Outcome, Receipt, Slack};

use super::request::Id;

/// What the door answers: to each `send` a receipt or a refusal, to each other request one answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// What became of an item.
    Receipt(Answered),
    /// A line was not carried out.
    Refused {
        /// The number of the line in the connection, from 1.
        line: u64,
        /// What the program calls the item.
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<Id>,
        /// Why.
        reason: String,
        /// When the same item would be taken, if it was too early for it, in nanoseconds.
        #[serde(skip_serializing_if = "Option::is_none")]
        from: Option<u64>,
    },
    /// A cut or a resumption was carried out.
    Done {
        /// The number of the line in the connection, from 1.
        line: u64,
    },
    /// The devices.
    Devices(Vec<Device>),
    /// The clock.
    Clock(Clock),
    /// The server has ended; what had no receipt is answered before.
    Ended {
        /// Why.
        reason: String,
    },
}

/// A receipt. Times are in nanoseconds of the monotonic clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Answered {
    /// What the program calls the item.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<Id>,
    /// The device.
    pub to: String,
    /// When it was due.
    pub due: u64,
    /// When its delivery began; `null` if it did not.
    pub began: Option<u64>,
    /// When its delivery had ended; `null` if it did not.
    pub ended: Option<u64>,
    /// What became of it.
    pub outcome: Outcome,
    /// How far the times can be trusted.
    pub evidence: Evidence,
    /// How much faster than nominal the device's clock ran, in parts per billion; `null` if the times
    /// are not by that clock.
    pub correction_ppb: Option<Correction>,
    /// The refresh of the display with which a frame was seen (MSC); only frames have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub msc: Option<u64>,
}

impl Answered {
    /// The receipt of an item.
    pub fn new(id: Option<Id>, to: String, receipt: &Receipt) -> Self {
        Self {
            id,
            to,
            due: receipt.due.as_nanos(),
            began: receipt.began.map(Moment::as_nanos),
            ended: receipt.ended.map(Moment::as_nanos),
            outcome: receipt.outcome,
            evidence: receipt.evidence,
            correction_ppb: receipt.correction,
            msc: receipt.msc,
        }
    }
}

/// A device.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Device {
    /// Its name.
    pub name: String,
    /// What it takes.
    pub format: Format,
    /// How long before its time it must have an item, in nanoseconds.
    pub lead: u64,
}

/// The clock, and how far ahead it is good to send.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Clock {
    /// The monotonic clock, in nanoseconds.
    pub now: u64,
    /// The real-time clock at the same time, in nanoseconds since 1970.
    pub real: u64,
    /// How far ahead of the present an item may be due, in nanoseconds.
    pub horizon: u64,
    /// Items that may be without a receipt; then the door reads no further line.
    pub items: u32,
    /// How early the items of the last minute arrived; `null` without any.
    pub slack: Option<Slack>,
    /// How long before its time an item should be sent, in nanoseconds; `null` without any yet.
    pub lead: Option<u64>,
}

#[cfg(test)]
mod tests {
    use serde_json::Value as Json;

    use super::*;

    #[test]
    fn the_schema_has_every_answer_and_key() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/lines.schema.json");
        let schema: Json = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let receipt = Receipt { msc: Some(1), ..crate::unanswered(0, Moment::from_nanos(1)) };
        let answers = [
            Answer::Receipt(Answered::new(Some(Id::Number(1)), "a".to_owned(), &receipt)),
            Answer::Refused {
                line: 1,
                id: Some(Id::Number(1)),
                reason: String::new(),
                from: Some(1),
            },
            Answer::Done { line: 1 },
            Answer::Clock(Clock { now: 1, real: 1, horizon: 1, items: 1, slack: None, lead: None }),
            Answer::Ended { reason: String::new() },
        ];
        for answer in answers {
            let json = serde_json::to_value(answer).unwrap();
            let (word, content) = json.as_object().unwrap().iter().next().unwrap();
            let found = &schema["$defs"]["answer"]["properties"][word]["properties"];
            let mut found: Vec<&String> = found.as_object().unwrap().keys().collect();
            let mut wanted: Vec<&String> = content.as_object().unwrap().keys().collect();
            found.sort_unstable();
            wanted.sort_unstable();
            assert_eq!(found, wanted, "{word}");
        }
    }
}
