//! Messages between our processes: the request for a cell, and the messages of a measuring process.

use serde_json::Value;
use tactus_model::message::{CellRequest, Message};

use crate::seeds;

/// A request and every kind of message, from the exported run.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let run: Value =
        serde_json::from_slice(&seeds::file("tests/data/export/run.json")).expect("it is JSON");
    let result = &run["results"][0];
    let samples = &result["samples"][0];
    let messages = [
        serde_json::json!({ "turn": { "round": 0, "cell": 0 }, "cell": run["header"]["plan"]["cells"][0], "seed": 7, "boot_seed": 7 }),
        serde_json::json!({ "message": "opened" }),
        serde_json::json!({ "message": "samples", "task": 0, "block": samples["block"] }),
        serde_json::json!({ "message": "recording", "bytes": "AAEC" }),
        serde_json::json!({ "message": "failed", "reason": "a text", "hint": null }),
    ];
    let mut finished = result["measurement"].clone();
    finished["message"] = "finished".into();
    messages.into_iter().chain([finished]).map(|message| message.to_string().into_bytes()).collect()
}

/// Reads a line as a request and as a message.
pub(crate) fn run(bytes: &[u8]) {
    let _ = serde_json::from_slice::<CellRequest>(bytes);
    match serde_json::from_slice::<Message>(bytes) {
        Ok(Message::Samples { block, .. } | Message::TracedSamples { block, .. }) => {
            if let Ok(samples) = block.decode() {
                assert_eq!(samples.len() as u64, block.count);
            }
        }
        Ok(Message::Finished(measurement)) => {
            let _ = tactus_stats::CellSummary::pool(&[&measurement]);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seeds_are_messages() {
        for seed in seeds() {
            let as_request = serde_json::from_slice::<CellRequest>(&seed).map(drop);
            let as_message = serde_json::from_slice::<Message>(&seed).map(drop);
            assert!(as_request.or(as_message).is_ok(), "{}", String::from_utf8_lossy(&seed));
        }
    }
}
