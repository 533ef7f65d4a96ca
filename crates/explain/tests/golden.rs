//! Golden recordings of planted causes, replayed: no privilege, no real time.

#[path = "support/golden.rs"]
mod golden;

use golden::{Golden, folder};
use tactus_explain::account::{AccountOptions, TickRate, account};
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
        let mut source = RecordingFile::open(&path.with_extension("tactusrec"))
            .expect("the recording is in the same folder");
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

#[test]
fn every_golden_recording_is_accounted_for_to_the_nanosecond() {
    let entries = std::fs::read_dir(folder()).expect("golden recordings belong to the checkout");
    let mut accounted = 0;
    for entry in entries {
        let path = entry.expect("the folder can be read").path();
        if path.extension().is_none_or(|extension| extension != "tactusrec") {
            continue;
        }
        let mut source = RecordingFile::open(&path).expect("it is a recording");
        let options = AccountOptions { rates: TickRate::new(1000).into_iter().collect() };
        let accounts = account(&mut source, &options).expect("it is not damaged");
        let programs: Nanos = accounts.programs.iter().map(|program| program.used).sum();
        let sum = programs + accounts.idle.used + accounts.unknown();
        assert_eq!(sum, accounts.time(), "{}", path.display());
        assert!(accounts.used() > Nanos::ZERO, "{}", path.display());
        accounted += 1;
    }
    assert!(accounted >= 5, "only {accounted} golden recordings were found");
}
