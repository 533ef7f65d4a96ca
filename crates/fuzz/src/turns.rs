//! Result files that the nodes of a cluster write, which are hostile until they are checked.

use std::sync::LazyLock;

use serde_json::{Value, json};
use tactus_cluster::job::JobSettings;
use tactus_cluster::{Job, read_messages};
use tactus_model::digest::sha256;
use tactus_model::experiment::{Experiment, Overrides};
use tactus_model::message::Message;

use crate::seeds;

/// The digest of the job.
const DIGEST: &str = "d";

/// The turn that is expected.
const TURN: usize = 1;

/// A job of four turns.
static JOB: LazyLock<Job> = LazyLock::new(|| {
    let text = "name = \"x\"\nseed = 1\nrounds = 2\nguest-time = \"exact\"\n[settings]\nkernel = \"debian\"\n\
                load = [\"idle\", \"syscall\"]\nduration = \"10ms\"";
    let experiment = Experiment::parse(text).expect("a valid experiment");
    let plan = experiment.plan(&Overrides::default()).expect("a valid plan");
    let turns = plan.turns();
    let settings = JobSettings { proofs: 2, jobs: 1, limit: None, turns_per_task: None };
    let job = Job::new(plan, turns, &settings, Vec::new());
    let mut job = serde_json::to_value(&job).expect("a job is JSON");
    job["parts"] = json!([{
        "kernel": "debian", "architecture": "amd64", "release": null, "kernel_sha256": "k",
        "has_config": false, "program_sha256": "p", "archive_sha256": "a", "emulator": "e",
    }]);
    serde_json::from_value(job).expect("a job")
});

/// A file of a failed turn, and one with a result, which carries samples.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let run: Value =
        serde_json::from_slice(&seeds::file("tests/data/export/run.json")).expect("it is JSON");
    let result = &run["results"][0];
    let mut finished = result["measurement"].clone();
    finished["message"] = "finished".into();
    finished["turn"] = serde_json::to_value(JOB.turns[TURN]).expect("a turn is JSON");
    finished["guest"] = json!({
        "kernel_release": null, "kernel_sha256": "k", "program_sha256": "p", "archive_sha256": "a",
        "emulator": "e", "accelerator": "tcg", "command_line": [], "seed": 7,
        "proof": { "runs": 2, "bytes": 7, "sha256": "s" }, "facts": run["header"]["facts_before"],
    });
    let samples =
        json!({ "message": "samples", "task": 0, "block": result["samples"][0]["block"] });
    let failed = json!({ "message": "failed", "reason": "a text", "hint": null });
    let opened = json!({ "message": "opened" });
    vec![file(true, &[&opened, &failed]), file(false, &[&opened, &samples, &finished])]
}

fn file(failed: bool, messages: &[&Value]) -> Vec<u8> {
    let body: String = messages.iter().map(|message| format!("{message}\n")).collect();
    let header = json!({
        "format": "tactus-turn-2", "job": DIGEST, "turn": TURN, "node": "n1", "failed": failed,
        "sha256": sha256([&body]),
    });
    format!("{header}\n{body}").into_bytes()
}

/// Reads a file as it is, and with the digest of its messages, which a hostile node computes too.
pub(crate) fn run(bytes: &[u8]) {
    let _ = read_messages(bytes, &JOB, DIGEST, TURN);
    for message in sealed(bytes).unwrap_or_default() {
        match message {
            Message::Samples { block, .. } | Message::TracedSamples { block, .. } => {
                let _ = block.decode();
            }
            Message::Finished(measurement) => {
                assert_eq!(measurement.turn, JOB.turns[TURN]);
                let _ = tactus_stats::CellSummary::pool(&[&measurement]);
            }
            _ => {}
        }
    }
}

/// The messages of a file whose header gets the digest of all that follows.
fn sealed(bytes: &[u8]) -> Option<Vec<Message>> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    let (head, body) = bytes.split_at(end + 1);
    let mut header: Value = serde_json::from_slice(head).ok()?;
    *header.get_mut("sha256")? = sha256([body]).into();
    let file = [header.to_string().as_bytes(), b"\n", body].concat();
    read_messages(&file[..], &JOB, DIGEST, TURN).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seeds_are_accepted_and_altered_ones_only_with_a_new_digest() {
        for (seed, count) in seeds().into_iter().zip([2, 3]) {
            assert_eq!(read_messages(&seed[..], &JOB, DIGEST, TURN).map(|it| it.len()), Ok(count));
            let text = String::from_utf8(seed).unwrap();
            let altered = text.replace("\"opened\"}", "\"opened\" }");
            assert_ne!(altered, text);
            assert!(read_messages(altered.as_bytes(), &JOB, DIGEST, TURN).is_err());
            assert_eq!(sealed(altered.as_bytes()).map(|it| it.len()), Some(count));
        }
    }
}
