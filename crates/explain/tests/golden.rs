//! Golden recordings of planted causes, replayed: no privilege, no real time.

#[path = "support/golden.rs"]
mod golden;

use golden::{Golden, folder};
use tactus_explain::{Options, explain};
use tactus_model::time::Nanos;
use tactus_record::file::RecordingFile;

#[test]
fn every_golden_recording_names_what_was_planted_first() {
    let entries = std::fs::read_dir(folder()).expect("golden recordings belong to the checkout");
    let mut replayed = 0;
    for entry in entries {
        let path = entry.expect("the folder can be read").path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let json = std::fs::read_to_string(&path).expect("it can be read");
        let golden: Golden = serde_json::from_str(&json).expect("it is as the test wrote it");
        let mut source =
            RecordingFile::open(&path.with_extension("tactusrec")).expect("it lies beside");
        let options = Options { threshold: Nanos::from_micros(100), slowest: 1, timelines: 1 };
        let explanation =
            explain(&mut source, vec![golden.task], options).expect("it is not damaged");
        let explained = &explanation.worst[0];
        let parts: Nanos = explained.parts.iter().map(|part| part.time).sum();
        assert_eq!(parts, explained.sample.latency(), "{}", path.display());
        assert_eq!(explained.parts[0].cause, golden.first, "{}", path.display());
        if let Some(segments) = &explained.segments {
            assert_eq!(segments.total(), explained.sample.latency());
        }
        replayed += 1;
    }
    assert!(replayed >= 5, "only {replayed} golden recordings were found");
}
