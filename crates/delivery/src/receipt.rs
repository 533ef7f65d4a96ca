//! The answer to an item.

use serde::{Deserialize, Serialize};
use tactus_model::time::Nanos;

use crate::device_clock::Correction;
use crate::item::{ClientId, Item, Moment, StreamId};

/// What became of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The device took it.
    Delivered,
    /// The device refused it.
    Failed,
    /// It was later than its policy tolerates.
    Late,
    /// Its stream had stopped for a late item.
    Stopped,
    /// Its branch was cut before its time.
    Cut,
    /// Its stream was closed, or its client had gone.
    Closed,
    /// The server ended first.
    Ended,
    /// It broke a rule, e.g. it was for a stream that is not open.
    Refused,
    /// The delivery began, and its end was not seen: the item may have come out.
    Unknown,
}

impl Outcome {
    /// All outcomes.
    pub const ALL: [Self; 9] = [
        Self::Delivered,
        Self::Failed,
        Self::Late,
        Self::Stopped,
        Self::Cut,
        Self::Closed,
        Self::Ended,
        Self::Refused,
        Self::Unknown,
    ];

    /// Its word, as in JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::Failed => "failed",
            Self::Late => "late",
            Self::Stopped => "stopped",
            Self::Cut => "cut",
            Self::Closed => "closed",
            Self::Ended => "ended",
            Self::Refused => "refused",
            Self::Unknown => "unknown",
        }
    }
}

/// How far the times of a receipt can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Evidence {
    /// It was not delivered, so there are no times.
    None,
    /// Virtual time: exact by construction.
    Virtual,
    /// Clock readings of the server right before and after the call that hands the item over. What
    /// the kernel and the device do after it is not included.
    Call,
    /// A time stamp that the kernel took when the item left.
    Kernel,
    /// A position of the device's own clock, converted by the observed relation of both clocks.
    DeviceClock,
}

impl Evidence {
    /// All kinds of evidence.
    pub const ALL: [Self; 5] =
        [Self::None, Self::Virtual, Self::Call, Self::Kernel, Self::DeviceClock];

    /// Its word, as in JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Virtual => "virtual",
            Self::Call => "call",
            Self::Kernel => "kernel",
            Self::DeviceClock => "device-clock",
        }
    }
}

/// What became of an item, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// Who submitted the item.
    pub client: ClientId,
    /// The item's number among those of its client.
    pub sequence: u64,
    /// The stream it was for.
    pub stream: StreamId,
    /// When it was due.
    pub due: Moment,
    /// When its delivery began; `None` if it was never begun.
    pub began: Option<Moment>,
    /// When its delivery had ended; `None` if it never did.
    pub ended: Option<Moment>,
    /// What became of it.
    pub outcome: Outcome,
    /// How far the times can be trusted.
    pub evidence: Evidence,
    /// How the device's clock deviated, if the times are by that clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correction: Option<Correction>,
    /// The refresh of the display with which a frame was seen, as the display counts them (MSC).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub msc: Option<u64>,
}

impl Receipt {
    /// The receipt of an item that was not delivered.
    pub const fn undelivered<P>(item: &Item<P>, outcome: Outcome) -> Self {
        Self {
            client: item.client,
            sequence: item.sequence,
            stream: item.stream,
            due: item.due,
            began: None,
            ended: None,
            outcome,
            evidence: Evidence::None,
            correction: None,
            msc: None,
        }
    }

    /// How much later than due the delivery began, in nanoseconds; negative if it was early, `None`
    /// if it was never begun. Saturates.
    pub fn error_ns(&self) -> Option<i64> {
        let signed = |length: Nanos| i64::try_from(length.as_nanos()).unwrap_or(i64::MAX);
        let began = self.began?;
        Some(if began < self.due { -signed(self.due - began) } else { signed(began - self.due) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::{BranchId, Epoch, IfLate};

    #[test]
    fn an_error_is_signed() {
        let item = Item {
            client: ClientId(0),
            sequence: 0,
            stream: StreamId(0),
            branch: BranchId(0),
            epoch: Epoch(0),
            due: Moment::from_nanos(105),
            if_late: IfLate::Deliver,
            payload: (),
        };
        let receipt = Receipt::undelivered(&item, Outcome::Delivered);
        let error_ns = |began: Option<u64>| {
            Receipt { began: began.map(Moment::from_nanos), ..receipt }.error_ns()
        };
        assert_eq!(error_ns(None), None);
        assert_eq!((error_ns(Some(104)), error_ns(Some(108))), (Some(-1), Some(3)));
        assert_eq!(error_ns(Some(u64::MAX)), Some(i64::MAX));
    }

    #[test]
    fn words_are_those_of_json() {
        for outcome in Outcome::ALL {
            assert_eq!(serde_json::to_value(outcome).unwrap(), outcome.word());
        }
        for evidence in Evidence::ALL {
            assert_eq!(serde_json::to_value(evidence).unwrap(), evidence.word());
        }
    }
}
