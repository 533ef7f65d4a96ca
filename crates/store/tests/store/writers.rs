//! Many writers of one store, in a file and on a server.

use std::collections::BTreeSet;

use tactus_model::result::Measurement;
use tactus_model::run::{RunId, RunStatus};
use tactus_store::{Location, Store, StoreError};
use tactus_testing::{Need, PostgresqlServer, require};

use crate::common::{CREATED, Size, at, facts, measurement, plan, turn};
use crate::exchange::{exported, finished_run};

const WRITERS: u32 = 4;

#[test]
fn many_writers_share_a_file() {
    let directory = tempfile::tempdir().unwrap();
    check(&Location::File(directory.path().join("runs.sqlite")));
}

#[test]
fn many_writers_share_a_server() {
    let Some(server) = require(Need::Postgresql, PostgresqlServer::start()) else { return };
    check(&at(&server.create("shared")));
}

fn check(location: &Location) {
    writers_of_runs_of_their_own(location);
    writers_of_one_run(location);
    importers_of_one_run(location);
}

/// Runs `work` in as many threads, each with a store of its own, which they open at once.
fn at_once<T: Send>(location: &Location, work: impl Fn(&mut Store, u32) -> T + Sync) -> Vec<T> {
    std::thread::scope(|scope| {
        let work = &work;
        let writer = |number| move || work(&mut location.open().unwrap(), number);
        let writers: Vec<_> = (0..WRITERS).map(|number| scope.spawn(writer(number))).collect();
        writers.into_iter().map(|writer| writer.join().unwrap()).collect()
    })
}

/// Runs of the same second get different names and the results of their writers.
fn writers_of_runs_of_their_own(location: &Location) {
    let runs = at_once(location, |store, writer| {
        let run = store.create_run(&plan(3), &facts(), "0.1.0", CREATED, None).unwrap();
        for turn in plan(3).turns() {
            let (measurement, samples) = measurement(turn, writer.into(), Size::SMALL);
            store.save_measurement(&run, &measurement, &samples).unwrap();
        }
        store.finish_run(&run, RunStatus::Complete, &facts()).unwrap();
        run
    });
    let store = location.open_to_read().unwrap();
    assert_eq!(runs.iter().collect::<BTreeSet<_>>().len(), WRITERS as usize, "{runs:?}");
    for (writer, run) in (0..).zip(&runs) {
        let expected: Vec<Measurement> = plan(3)
            .turns()
            .into_iter()
            .map(|turn| measurement(turn, writer, Size::SMALL).0)
            .collect();
        assert_eq!(store.load(run).unwrap().measurements, expected);
    }
}

/// Every turn is stored once, and nothing after the end of the run.
fn writers_of_one_run(location: &Location) {
    let run = create(location);
    let kept: Vec<Vec<u32>> = at_once(location, |store, writer| {
        let mut kept = Vec::new();
        for round in 0..8 {
            let (measurement, samples) = measurement(turn(round, 0), writer.into(), Size::SMALL);
            match store.save_measurement(&run, &measurement, &samples) {
                Ok(()) => kept.push(round),
                Err(StoreError::TurnTaken { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
        kept
    });
    let mut all: Vec<u32> = kept.iter().flatten().copied().collect();
    all.sort_unstable();
    assert_eq!(all, (0..8).collect::<Vec<_>>(), "every turn has one writer: {kept:?}");
    let ended =
        at_once(location, |store, _| store.finish_run(&run, RunStatus::Complete, &facts()).is_ok());
    assert_eq!(ended.iter().filter(|ended| **ended).count(), 1, "{ended:?}");
    assert_eq!(location.open_to_read().unwrap().load(&run).unwrap().measurements.len(), 8);
}

fn create(location: &Location) -> RunId {
    let mut store = location.open().unwrap();
    store.create_run(&plan(8), &facts(), "0.1.0", CREATED, None).unwrap()
}

/// A run that all import at once is there once.
fn importers_of_one_run(location: &Location) {
    let mut elsewhere = Store::open_in_memory().unwrap();
    let run = finished_run(&mut elsewhere);
    // Without samples an import is short, so nobody waits for as long as a lock is waited for.
    let document = String::from_utf8(exported(&elsewhere, &run, false)).unwrap();
    let document = document.replacen(run.as_str(), "imported", 1);
    let imported = at_once(location, |store, _| match store.import(document.as_bytes()) {
        Ok(run) => Some(run),
        Err(StoreError::AlreadyThere(run)) => {
            assert_eq!(run.as_str(), "imported");
            None
        }
        Err(error) => panic!("{error}"),
    });
    let imported: Vec<RunId> = imported.into_iter().flatten().collect();
    assert_eq!(imported, [RunId::new("imported")]);
}

#[test]
fn a_run_copied_from_a_file_to_a_server_and_back_is_the_same_to_the_byte() {
    let Some(server) = require(Need::Postgresql, PostgresqlServer::start()) else { return };
    let mut file = Store::open_in_memory().unwrap();
    let mut other_file = Store::open_in_memory().unwrap();
    let mut on_server = at(&server.create("copies")).open().unwrap();
    let run = finished_run(&mut file);
    let document = exported(&file, &run, true);
    assert_eq!(on_server.import(&document[..]).unwrap(), run);
    assert_eq!(exported(&on_server, &run, true), document);
    other_file.import(&exported(&on_server, &run, true)[..]).unwrap();
    assert_eq!(exported(&other_file, &run, true), document);
    for found in &file.load(&run).unwrap().measurements {
        let samples = file.samples(&run, found.turn).unwrap();
        assert_eq!(on_server.samples(&run, found.turn).unwrap(), samples);
        let recording = file.recording(&run, found.turn).unwrap();
        assert_eq!(on_server.recording(&run, found.turn).unwrap(), recording);
    }
}
