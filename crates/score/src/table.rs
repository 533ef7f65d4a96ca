//! Receipts as a table, such as a laboratory publishes.

use serde::Serialize;
use tactus_delivery::device_clock::Correction;
use tactus_delivery::item::Moment;
use tactus_delivery::receipt::{Evidence, Outcome};

use crate::perform::{Performance, Played};

/// An item and its receipt. Times are nanoseconds; those of delivery are on the clock of the
/// server, `CLOCK_MONOTONIC` unless the time is virtual.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// The name that the program gave the item.
    pub label: Option<String>,
    /// The device.
    pub device: String,
    /// The branch of the program.
    pub branch: String,
    /// When it was due in logical time, since the score began.
    pub logical_ns: u64,
    /// When it was due.
    pub due_ns: u64,
    /// When its delivery began; `None` if it never did.
    pub began_ns: Option<u64>,
    /// When its delivery had ended; `None` if it never did.
    pub ended_ns: Option<u64>,
    /// How much later than due its delivery began; negative if it was early.
    pub error_ns: Option<i64>,
    /// What became of it.
    pub outcome: Outcome,
    /// How far the times can be trusted.
    pub evidence: Evidence,
    /// How much faster than nominal the device's clock ran, in parts per billion, if the times are
    /// by that clock.
    pub correction_ppb: Option<Correction>,
}

impl Row {
    /// The row of an item of this performance.
    pub fn new(played: &Played, performance: &Performance) -> Self {
        let Played { item, receipt } = played;
        let score = performance.score();
        let nanos = |moment: Moment| moment.as_nanos();
        let streams = score.streams();
        Self {
            label: item.label.as_deref().map(str::to_owned),
            device: streams[item.stream.0 as usize].device.clone(),
            branch: score.branch_name(item.branch),
            logical_ns: item.due.since_start().as_nanos(),
            due_ns: nanos(receipt.due),
            began_ns: receipt.began.map(nanos),
            ended_ns: receipt.ended.map(nanos),
            error_ns: receipt.error_ns(),
            outcome: receipt.outcome,
            evidence: receipt.evidence,
            correction_ppb: receipt.correction,
        }
    }

    /// The names of the columns of [`Self::csv`].
    pub const COLUMNS: &'static str = "label,device,branch,logical_ns,due_ns,began_ns,ended_ns,\
        error_ns,outcome,evidence,correction_ppb";

    /// The row as comma-separated values, by [RFC 4180](https://www.rfc-editor.org/rfc/rfc4180).
    pub fn csv(&self) -> String {
        let number = |number: Option<u64>| number.map(|number| number.to_string());
        let fields = [
            self.label.clone(),
            Some(self.device.clone()),
            Some(self.branch.clone()),
            number(Some(self.logical_ns)),
            number(Some(self.due_ns)),
            number(self.began_ns),
            number(self.ended_ns),
            self.error_ns.map(|error| error.to_string()),
            Some(self.outcome.word().to_owned()),
            Some(self.evidence.word().to_owned()),
            self.correction_ppb.map(|correction| correction.0.to_string()),
        ];
        fields.map(|field| quoted(field.unwrap_or_default())).join(",")
    }
}

fn quoted(field: String) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_values_has_the_columns_and_is_quoted() {
        let row = Row {
            label: Some("flash, \"bright\"".to_owned()),
            device: "lights".to_owned(),
            branch: "trial".to_owned(),
            logical_ns: 5,
            due_ns: 105,
            began_ns: Some(104),
            ended_ns: None,
            error_ns: Some(-1),
            outcome: Outcome::Delivered,
            evidence: Evidence::DeviceClock,
            correction_ppb: Some(Correction(-7)),
        };
        let csv = row.csv();
        assert_eq!(
            csv,
            "\"flash, \"\"bright\"\"\",lights,trial,5,105,104,,-1,delivered,device-clock,-7"
        );
        let keys = serde_json::to_value(&row).unwrap();
        assert_eq!(keys.as_object().unwrap().len(), Row::COLUMNS.split(',').count());
    }
}
