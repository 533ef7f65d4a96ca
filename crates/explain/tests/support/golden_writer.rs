//! Cuts a sample and the events around it out of a live session.

use tactus_explain::{ExplainedSample, ProbeTask};
use tactus_model::recording::{Event, EventKind};
use tactus_model::time::Nanos;

use crate::cut::cut;
use crate::golden::{Golden, folder};
use crate::live::Session;

/// Stores a sample of a session as the golden recording `name`, if `TACTUS_GOLDEN` is
/// set.
pub fn keep(name: &str, session: &Session, explained: &ExplainedSample) {
    if std::env::var_os("TACTUS_GOLDEN").is_none() {
        return;
    }
    let task = ProbeTask { samples: vec![explained.sample], ..session.task.clone() };
    let due = task.opened + explained.sample.due;
    let came = task.opened + explained.sample.came;
    // From the moment the thread went to sleep until it is charged.
    let left = |event: &&Event| {
        event.at <= due
            && matches!(event.kind, EventKind::Switch { prev, .. } if prev == task.thread)
    };
    let asleep = session.recording.events.iter().rev().find(left).map_or(due, |event| event.at);
    let from = asleep - Nanos::from_millis(1);
    let recording = cut(&session.recording, from, came + Nanos::from_millis(5));
    let golden = Golden { task, first: explained.parts[0].cause.clone() };
    let json = serde_json::to_string_pretty(&golden).expect("it has no maps");
    std::fs::create_dir_all(folder()).expect("the checkout can be written");
    std::fs::write(folder().join(format!("{name}.json")), json + "\n").expect("it can be written");
    let bytes = tactus_record::file::to_bytes(&recording);
    let path = folder().join(format!("{name}.tactusrec"));
    std::fs::write(path, bytes).expect("it can be written");
}
