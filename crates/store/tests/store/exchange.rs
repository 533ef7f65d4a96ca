//! Export of runs as JSON and import into another store.

use serde_json::{Value, json};
use tactus_model::facts::MachineFacts;
use tactus_model::gate_rule::GateRule;
use tactus_model::run::{RunId, RunStatus};
use tactus_model::time::Nanos;
use tactus_store::{FORMAT_VERSION, FileRun, Store, StoreError};

use crate::common::{
    CREATED, Size, empty_store, facts, failure, foreign_run, measurement, plan, some_run, turn,
};

/// A finished run of two measurements, one of them without samples, and a failure.
pub fn finished_run(store: &mut Store) -> RunId {
    let run = some_run(store);
    let (second, _) = measurement(turn(0, 0), 2, Size::SMALL);
    store.save_measurement(&run, &second, &[]).unwrap();
    store.finish_run(&run, RunStatus::Complete, &facts()).unwrap();
    run
}

pub fn exported(store: &Store, run: &RunId, with_samples: bool) -> Vec<u8> {
    let mut json = Vec::new();
    store.export(run, &mut json, with_samples).unwrap();
    json
}

/// An exported run as a JSON value that a test can change.
pub fn document() -> Value {
    let mut store = empty_store();
    let run = finished_run(&mut store);
    serde_json::from_slice(&exported(&store, &run, true)).unwrap()
}

#[test]
fn a_run_is_the_same_in_another_store() {
    let mut here = empty_store();
    let mut there = empty_store();
    let run = finished_run(&mut here);
    let json = exported(&here, &run, true);
    assert_eq!(there.import(&json[..]).unwrap(), run);
    assert_eq!(there.load(&run).unwrap(), here.load(&run).unwrap());
    for turn in [turn(0, 0), turn(0, 1)] {
        assert_eq!(there.samples(&run, turn).unwrap(), here.samples(&run, turn).unwrap());
        assert_eq!(there.recording(&run, turn).unwrap(), here.recording(&run, turn).unwrap());
    }
    let kept = here.recording(&run, turn(0, 1)).unwrap().expect("one turn was recorded");
    assert_eq!(kept.samples.len(), 1);
    assert!(!kept.recording.is_empty());
    assert_eq!(here.recording(&run, turn(0, 0)).unwrap(), None);
    assert_eq!(exported(&there, &run, true), json, "and exports to the same bytes");
}

#[test]
fn a_run_of_another_program_is_stored_with_its_origin() {
    let (mut here, mut there) = (empty_store(), empty_store());
    let foreign = foreign_run();
    let id = here.add(foreign.clone()).unwrap();
    assert_eq!(id.as_str(), "cyclictest-20261121-113355");
    let kept = here.load(&id).unwrap();
    assert_eq!(
        (&kept.header.origin, &kept.measurements),
        (&foreign.header.origin, &foreign.measurements)
    );
    assert_eq!(here.list().unwrap()[0].origin.as_deref(), Some("cyclictest 2.40"));
    assert!(matches!(here.add(foreign.clone()), Err(StoreError::AlreadyThere(_))));
    let json = exported(&here, &id, true);
    assert_eq!(there.import(&json[..]).unwrap(), id);
    assert_eq!(there.load(&id).unwrap(), kept);
    let mut unbalanced = foreign;
    unbalanced.measurements[0].tasks[0].accounting.missed += 1;
    assert!(matches!(here.add(unbalanced), Err(StoreError::Unbalanced { .. })));
    assert_eq!(here.list().unwrap().len(), 1, "all of it or nothing");
}

#[test]
fn samples_may_be_omitted() {
    let mut here = empty_store();
    let mut there = empty_store();
    let run = finished_run(&mut here);
    let json = exported(&here, &run, false);
    assert!(!String::from_utf8(json.clone()).unwrap().contains("samples"));
    there.import(&json[..]).unwrap();
    assert_eq!(there.load(&run).unwrap(), here.load(&run).unwrap());
    assert_eq!(there.samples(&run, turn(0, 1)).unwrap(), []);
    assert_eq!(there.recording(&run, turn(0, 1)).unwrap(), None);
}

#[test]
fn an_imported_run_did_not_begin_on_this_machine() {
    let mut store = empty_store();
    let mut other = empty_store();
    let here = MachineFacts { machine_id: Some("here".to_owned()), ..facts() };
    let to_continue = |store: &Store, text| store.find_to_continue(text, Some("here"));
    let ours = store.create_run(&plan(1), &here, "0.1.0", CREATED, None).unwrap();
    assert_eq!(store.header(&ours).unwrap().facts_before, here);
    let exported = exported(&store, &ours, true);
    assert!(!String::from_utf8(exported.clone()).unwrap().contains("machine_id"));
    let error = store.import(&exported[..]).unwrap_err();
    assert!(matches!(&error, StoreError::AlreadyThere(there) if *there == ours), "{error}");

    let imported = other.import(&exported[..]).unwrap();
    assert_eq!(other.header(&imported).unwrap().facts_before, facts());
    assert_eq!(other.find("last").unwrap(), imported);
    let none = to_continue(&other, "last").unwrap_err();
    assert!(matches!(none, StoreError::NoneOfMachine), "{none}");

    // However late it claims to have begun.
    let later = CREATED + Nanos::from_secs(1);
    let theirs = other.create_run(&plan(2), &facts(), "0.1.0", later, None).unwrap();
    let theirs = store.import(&self::exported(&other, &theirs, true)[..]).unwrap();
    assert_eq!(store.find("last").unwrap(), theirs);
    assert_eq!(to_continue(&store, "last").unwrap(), ours);
    assert_eq!(to_continue(&store, theirs.as_str()).unwrap(), theirs, "by name it is found");
    assert!(store.find_to_continue("last", None).is_err());
    let again = store.create_run(&plan(1), &here, "0.1.0", CREATED, None).unwrap();
    assert_eq!(store.find("last").unwrap(), again, "the last added, not the last begun");
    assert_eq!(store.list().unwrap()[0].id, again);
}

#[test]
fn the_same_run_is_not_imported_twice() {
    let mut store = empty_store();
    let run = finished_run(&mut store);
    for with_samples in [true, false] {
        let error = store.import(&exported(&store, &run, with_samples)[..]).unwrap_err();
        assert!(matches!(&error, StoreError::AlreadyThere(there) if *there == run), "{error}");
    }
    assert_eq!(store.list().unwrap().len(), 1);
}

#[test]
fn another_run_of_the_same_name_gets_an_unused_name() {
    let mut here = empty_store();
    let mut there = empty_store();
    let run = finished_run(&mut here);
    let other = there.create_run(&plan(1), &facts(), "0.1.0", CREATED, None).unwrap();
    assert_eq!(run, other);
    let json = exported(&here, &run, true);
    let renamed = there.import(&json[..]).unwrap();
    assert_eq!(renamed.as_str(), format!("{run}-2"));
    assert_eq!(there.load(&renamed).unwrap().measurements, here.load(&run).unwrap().measurements);
    let error = there.import(&json[..]).unwrap_err();
    assert!(matches!(&error, StoreError::AlreadyThere(there) if *there == renamed), "{error}");
}

#[test]
fn sorted_keys_are_accepted() {
    // JSON values keep their keys sorted, like `jq --sort-keys`.
    let json = serde_json::to_vec_pretty(&document()).unwrap();
    assert!(json.starts_with(b"{\n  \"failures\""));
    empty_store().import(&json[..]).unwrap();
}

#[test]
fn facts_missing_in_an_older_version_are_unknown() {
    let mut document = document();
    let facts = document["header"]["facts_before"].as_object_mut().unwrap();
    facts.retain(|name, _| name == "taken");
    let mut store = empty_store();
    let run = store.import(document.to_string().as_bytes()).unwrap();
    assert_eq!(store.header(&run).unwrap().facts_before, MachineFacts::unknown(CREATED));
}

/// Development versions before 0.1 wrote the keys `mend` and `processor`.
#[test]
fn an_export_with_old_keys_is_accepted() {
    let mut store = empty_store();
    let run = finished_run(&mut store);
    let json = String::from_utf8(exported(&store, &run, true)).unwrap();
    let mut old = json.clone();
    for (key, old_key) in [("\"fix\":", "\"mend\":"), ("\"cpu\":{", "\"processor\":{")] {
        assert!(old.contains(key), "{key}");
        old = old.replace(key, old_key);
    }
    let mut there = empty_store();
    there.import(old.as_bytes()).unwrap();
    assert_eq!(there.load(&run).unwrap(), store.load(&run).unwrap());
    assert_eq!(exported(&there, &run, true), json.as_bytes(), "an export has the new key");
}

/// Changes an exported run, and checks that its import is rejected for that change.
fn check_refused(expected: &str, alter: impl FnOnce(&mut Value)) -> StoreError {
    let mut document = document();
    alter(&mut document);
    let mut store = empty_store();
    let document = document.to_string();
    let error = store.import(document.as_bytes()).unwrap_err();
    assert!(error.to_string().contains(expected), "{error}\n  does not say: {expected}");
    let unstored = FileRun::read(document.as_bytes()).unwrap_err();
    assert_eq!(unstored.to_string(), error.to_string());
    assert_eq!(store.list().unwrap(), [], "nothing was imported");
    error
}

#[test]
fn an_invalid_export_is_rejected() {
    let remove = |key: &'static str| {
        move |document: &mut Value| {
            document.as_object_mut().unwrap().remove(key);
        }
    };
    check_refused("`format` is `tactus-recording`, not `tactus-run`", |document| {
        document["format"] = json!("tactus-recording");
    });
    check_refused("must come before `header`", remove("format"));
    check_refused("must come before `header`", remove("format_version"));
    check_refused("`results` comes before `header`", remove("header"));
    check_refused("the key `results` is missing", remove("results"));
    check_refused("the key `failures` is missing", remove("failures"));
    check_refused("unknown field `note`", |document| document["note"] = json!("?"));
    check_refused("unknown field `rank`", |document| document["results"][0]["rank"] = json!(1));
    check_refused("missing field `tasks`", |document| {
        document["results"][0]["measurement"].as_object_mut().unwrap().remove("tasks");
    });
    check_refused("is not a valid run name", |document| {
        document["header"]["id"] = json!("../../etc/passwd");
    });
    check_refused("the rule of its gate is out of range", |document| {
        let mut rule = json!(GateRule::default());
        rule["false_alarms"] = json!(0);
        document["header"]["plan"]["gate"] = rule;
    });
    check_refused("occurs twice", |document| {
        let again = document["results"][0].clone();
        document["results"].as_array_mut().unwrap().push(again);
    });
    check_refused("cell 1 of round 1 occurs twice", |document| {
        document["failures"][0]["turn"] = json!({"round": 0, "cell": 0});
    });
    check_refused("its plan has no cell 8 in round 1", |document| {
        document["results"][0]["measurement"]["turn"]["cell"] = json!(7);
    });
    check_refused("after the year 2262", |document| {
        document["header"]["created"] = json!(u64::MAX);
    });
    for text in ["", "[]", "{}", "null", "{\"format\":\"tactus-run\"", "\u{fffd}"] {
        let error = empty_store().import(text.as_bytes()).unwrap_err();
        assert!(matches!(error, StoreError::NotAnExport { .. }), "{text}: {error}");
    }
}

#[test]
fn a_newer_format_version_is_rejected() {
    let error = check_refused("import it with the version of tactus", |document| {
        document["format_version"] = json!(FORMAT_VERSION + 1);
        document["header"] = json!("all new");
    });
    assert!(matches!(error, StoreError::UnknownFormat { .. }), "{error}");
}

#[test]
fn an_unbalanced_import_is_rejected() {
    let error = check_refused("intended", |document| {
        let task = &mut document["results"][0]["measurement"]["tasks"][0];
        let intended = task["accounting"]["intended"].as_u64().unwrap();
        task["accounting"]["intended"] = json!(intended + 1);
    });
    assert!(matches!(error, StoreError::Unbalanced { .. }), "{error}");
    check_refused("intended", |document| {
        let task = &mut document["results"][0]["measurement"]["traced"]["tasks"][0];
        task["accounting"]["missed"] = json!(0);
    });
    check_refused("the count of samples", |document| {
        document["results"][0]["traced"]["samples"] = document["results"][0]["samples"].clone();
    });
    check_refused("the recording of cell 2 in round 1: the recording is damaged", |document| {
        let recording = &mut document["results"][0]["traced"]["recording"];
        // A letter in the middle of the base64 text.
        let mut text = recording.as_str().unwrap().to_owned();
        let middle = text.len() / 2;
        let other = if text.as_bytes()[middle] == b'A' { "B" } else { "A" };
        text.replace_range(middle..=middle, other);
        *recording = json!(text);
    });
    check_refused("a text has more than", |document| {
        document["header"]["plan"]["about"] = json!("x".repeat(200_000));
    });
    check_refused("a list has too many entries (near the key `tasks`)", |document| {
        let tasks = &mut document["results"][0]["measurement"]["tasks"];
        *tasks = json!(vec![tasks[0].clone(); 8193]);
    });
    check_refused("it has more than 9007199254740992 wakeups", |document| {
        let task = &mut document["results"][0]["measurement"]["tasks"][0];
        task["accounting"]["intended"] = json!(u64::MAX);
    });
    check_refused("a block of samples is damaged", |document| {
        document["results"][0]["samples"][0]["block"]["bytes"] = json!("AAAA");
    });
}

/// Fails after some bytes, like a pipe or a disk.
struct Broken(usize);

impl std::io::Read for Broken {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        if self.0 == 0 {
            return Err(std::io::Error::other("the cable was pulled"));
        }
        self.0 -= 1;
        bytes[0] = b' ';
        Ok(1)
    }
}

impl std::io::Write for Broken {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(std::io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn an_error_of_the_reader_or_writer_is_reported() {
    let mut store = empty_store();
    let run = finished_run(&mut store);
    for limit in [0, 10_000] {
        let error = store.export(&run, Broken(limit), true).unwrap_err();
        assert!(matches!(error, StoreError::Export(_)), "{error}");
    }
    let error = store.import(Broken(5)).unwrap_err();
    assert!(matches!(error, StoreError::Import(_)), "{error}");
}

#[test]
fn fractions_keep_their_last_digit() {
    let mut here = empty_store();
    let mut there = empty_store();
    let run = here.create_run(&plan(1), &facts(), "0.1.0", CREATED, None).unwrap();
    let (mut result, _) = measurement(turn(0, 0), 1, Size::SMALL);
    // Fractions for which a fast decimal parser gets the last binary digit wrong.
    for (cell, fraction) in [5.024_386_880_171_92e-1, 7.205_759_403_792_794e16].iter().enumerate() {
        result.turn.cell = cell;
        result.cost.loop_ns = *fraction;
        result.rates.load_average = Some(1.0 / fraction);
        here.save_measurement(&run, &result, &[]).unwrap();
    }
    here.save_failure(&run, &failure(turn(0, 1))).unwrap_err();
    there.import(&exported(&here, &run, true)[..]).unwrap();
    assert_eq!(there.load(&run).unwrap(), here.load(&run).unwrap());
    let expected = Nanos::from_secs(2);
    assert_eq!(here.load(&run).unwrap().measurements[0].window, expected);
}

#[test]
fn a_run_is_the_same_straight_from_its_file_as_through_a_store() {
    let mut store = empty_store();
    let id = finished_run(&mut store);
    for with_samples in [true, false] {
        let json = exported(&store, &id, with_samples);
        let read = FileRun::read(&json[..]).unwrap();
        let mut there = empty_store();
        there.import(&json[..]).unwrap();
        assert_eq!(read.run, there.load(&id).unwrap());
        for turn in read.run.measurements.iter().map(|measurement| measurement.turn) {
            assert_eq!(read.samples(turn), there.samples(&id, turn).unwrap());
            assert_eq!(read.recording(turn).cloned(), there.recording(&id, turn).unwrap());
        }
    }
    let foreign = foreign_run();
    let added = store.add(foreign.clone()).unwrap();
    assert_eq!(FileRun::of(foreign).unwrap().run, store.load(&added).unwrap());
}
