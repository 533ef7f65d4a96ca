//! Stored runs load unchanged, and invalid results are rejected.

use tactus_model::result::Measurement;
use tactus_model::run::{RunId, RunStatus};
use tactus_model::time::{Instant, Nanos};
use tactus_store::{Store, StoreError};

use crate::common::{
    CREATED, Size, empty_store, facts, failure, measurement, plan, some_run, turn,
};

#[test]
fn a_run_round_trips() {
    let mut store = empty_store();
    let run = store.create_run(&plan(2), &facts(), "0.1.0", CREATED, None).unwrap();
    assert_eq!(run.as_str(), "papers-two-20261121-113355");
    let taken = [turn(0, 1), turn(0, 0), turn(1, 0)];
    let results: Vec<_> =
        (1_u64..).zip(taken).map(|(seed, turn)| measurement(turn, seed, Size::SMALL)).collect();
    for (measurement, samples) in &results {
        store.save_measurement(&run, measurement, samples).unwrap();
    }
    store.save_failure(&run, &failure(turn(1, 1))).unwrap();
    let unfinished = store.header(&run).unwrap();
    assert_eq!(unfinished.status, RunStatus::Unfinished);
    assert_eq!(unfinished.facts_after, None);
    let mut later = facts();
    later.taken = CREATED + Nanos::from_secs(60);
    store.finish_run(&run, RunStatus::Complete, &later).unwrap();

    let loaded = store.load(&run).unwrap();
    assert_eq!(loaded.header, store.header(&run).unwrap());
    assert_eq!(loaded.header.id, run);
    assert_eq!(loaded.header.created, CREATED);
    assert_eq!(loaded.header.version, "0.1.0");
    assert_eq!(loaded.header.status, RunStatus::Complete);
    assert_eq!(loaded.header.plan, plan(2));
    assert_eq!(loaded.header.facts_before, facts());
    assert_eq!(loaded.header.facts_after, Some(later));
    let expected: Vec<Measurement> = results.iter().map(|(result, _)| result.clone()).collect();
    assert_eq!(loaded.measurements, expected, "in the order in which they were taken");
    assert_eq!(loaded.failures, [failure(turn(1, 1))]);
    for (measurement, samples) in &results {
        assert_eq!(&store.samples(&run, measurement.turn).unwrap(), samples);
    }
    assert_eq!(store.finished_turns(&run).unwrap(), taken.into_iter().collect());
}

#[test]
fn runs_of_the_same_second_get_different_names() {
    let mut store = empty_store();
    let names: Vec<RunId> = (0..3).map(|_| some_run(&mut store)).collect();
    let expected = ["", "-2", "-3"].map(|end| format!("papers-two-20261121-113355{end}"));
    assert_eq!(names, expected.map(RunId::new));
}

#[test]
fn the_list_shows_the_progress_of_each_run() {
    let mut store = empty_store();
    assert_eq!(store.list().unwrap(), []);
    let run = some_run(&mut store);
    let later = CREATED + Nanos::from_secs(1);
    let empty = store.create_run(&plan(3), &facts(), "0.1.0", later, None).unwrap();
    let list = store.list().unwrap();
    let [first, second] = &list[..] else { panic!("{list:?}") };
    assert_eq!((&first.id, &second.id), (&empty, &run), "the newest comes first");
    assert_eq!((first.turns_planned, first.turns_done, first.max), (6, 0, None));
    assert_eq!(second.name, "papers/two");
    assert_eq!((second.cells, second.turns_planned), (2, 4));
    assert_eq!((second.turns_done, second.failures), (1, 1));
    let (measurement, _) = measurement(turn(0, 1), 1, Size::SMALL);
    assert_eq!(second.observed, measurement.accounting().observed);
    let max = measurement.tasks.iter().flat_map(|task| &task.blocks).map(|block| block.max).max();
    assert_eq!(second.max, max);
    assert_eq!(store.find("last").unwrap(), empty);
}

#[test]
fn a_complete_run_cannot_be_changed() {
    let mut store = empty_store();
    let run = some_run(&mut store);
    store.finish_run(&run, RunStatus::Complete, &facts()).unwrap();
    let before = store.load(&run).unwrap();
    let (measurement, samples) = measurement(turn(0, 0), 2, Size::SMALL);
    let refusals = [
        store.save_measurement(&run, &measurement, &samples),
        store.save_failure(&run, &failure(turn(0, 0))),
        store.finish_run(&run, RunStatus::Interrupted, &facts()),
    ];
    for refusal in refusals {
        assert!(matches!(refusal, Err(StoreError::Complete(_))), "{refusal:?}");
    }
    assert_eq!(store.load(&run).unwrap(), before);
}

#[test]
fn an_interrupted_run_continues_and_retries_its_failures() {
    let mut store = empty_store();
    let run = some_run(&mut store);
    store.finish_run(&run, RunStatus::Interrupted, &facts()).unwrap();
    let mut again = failure(turn(1, 0));
    again.reason = "it hung again".to_owned();
    store.save_failure(&run, &again).unwrap();
    assert_eq!(store.load(&run).unwrap().failures, [again]);
    let (measurement, samples) = measurement(turn(1, 0), 2, Size::SMALL);
    store.save_measurement(&run, &measurement, &samples).unwrap();
    let loaded = store.load(&run).unwrap();
    assert_eq!(loaded.failures, []);
    assert_eq!(loaded.measurements.len(), 2);
}

#[test]
fn a_turn_is_stored_once_and_only_if_planned() {
    let mut store = empty_store();
    let run = some_run(&mut store);
    let mut refused = |turn| {
        let (measurement, samples) = measurement(turn, 3, Size::SMALL);
        store.save_measurement(&run, &measurement, &samples).unwrap_err()
    };
    assert!(matches!(refused(turn(0, 1)), StoreError::TurnTaken { .. }));
    assert!(matches!(refused(turn(2, 0)), StoreError::NotPlanned { .. }));
    assert!(matches!(refused(turn(0, usize::MAX)), StoreError::NotPlanned { .. }));
    let refusal = store.save_failure(&run, &failure(turn(0, 1))).unwrap_err();
    assert!(matches!(refusal, StoreError::TurnTaken { .. }));
    let refusal = store.samples(&run, turn(0, 0)).unwrap_err();
    assert!(matches!(refusal, StoreError::NotMeasured { .. }));
    assert_eq!(store.load(&run).unwrap().measurements.len(), 1);
}

/// Changes a measurement that balances, and checks that it is rejected for that change.
fn check_unbalanced(expected: &str, alter: impl FnOnce(&mut Measurement)) {
    let mut store = empty_store();
    let run = store.create_run(&plan(1), &facts(), "0.1.0", CREATED, None).unwrap();
    let (mut measurement, samples) = measurement(turn(0, 0), 4, Size::SMALL);
    alter(&mut measurement);
    let error = store.save_measurement(&run, &measurement, &samples).unwrap_err();
    assert!(matches!(error, StoreError::Unbalanced { .. }), "{error}");
    assert!(error.to_string().contains(expected), "{error}\n  does not contain: {expected}");
    assert_eq!(store.load(&run).unwrap().measurements, [], "a part of it was stored");
}

#[test]
fn an_unbalanced_result_is_not_stored() {
    check_unbalanced("intended", |result| result.tasks[0].accounting.intended += 1);
    check_unbalanced("intended 18446744073709551615 is more than", |result| {
        result.tasks[0].accounting.intended = u64::MAX;
    });
    check_unbalanced("the count of missed latencies", |result| {
        result.tasks[1].accounting.missed += 1;
        result.tasks[1].accounting.intended += 1;
    });
    check_unbalanced("the count of all blocks 80 is not observed 120", |result| {
        result.tasks[0].blocks.pop();
    });
    check_unbalanced("the count of all buckets", |result| {
        result.tasks[0].blocks[0].buckets[0].1 += 1;
    });
    check_unbalanced("ascending", |result| result.tasks[0].blocks[0].buckets.reverse());
    check_unbalanced("ascending and filled", |result| result.tasks[0].blocks[0].buckets[0].1 = 0);
    check_unbalanced("early 121 is more than 120", |result| {
        result.tasks[0].accounting.early = 121;
    });
    check_unbalanced("task 0 occurs twice", |result| result.tasks[1].task = 0);
    check_unbalanced("task 1 has samples but no result", |result| {
        result.tasks.pop();
    });
    check_unbalanced("the load average is not a finite number", |result| {
        result.rates.load_average = Some(f64::NAN);
    });
}

#[test]
fn samples_of_a_task_are_complete_or_absent() {
    let mut store = empty_store();
    let run = store.create_run(&plan(1), &facts(), "0.1.0", CREATED, None).unwrap();
    let (measurement, mut samples) = measurement(turn(0, 0), 5, Size::SMALL);
    samples.pop();
    let error = store.save_measurement(&run, &measurement, &samples).unwrap_err().to_string();
    assert!(error.contains("the count of samples 80 is not observed 120"), "{error}");
    store.save_measurement(&run, &measurement, &[]).unwrap();
    assert_eq!(store.samples(&run, turn(0, 0)).unwrap(), []);
}

#[test]
fn a_deleted_run_leaves_nothing_behind() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("runs.sqlite");
    let mut store = Store::open(&path).unwrap();
    let kept = some_run(&mut store);
    let deleted = store.create_run(&plan(1), &facts(), "0.1.0", CREATED, None).unwrap();
    let (result, samples) = measurement(turn(0, 0), 6, Size::USUAL);
    store.save_measurement(&deleted, &result, &samples).unwrap();
    let pages = |path| -> i64 {
        let connection = rusqlite::Connection::open(path).unwrap();
        connection.query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap()
    };
    let before = pages(&path);
    store.delete(&deleted).unwrap();
    assert!(pages(&path) < before / 2, "{} pages after {before}", pages(&path));
    assert!(matches!(store.delete(&deleted), Err(StoreError::UnknownRun { .. })));
    assert_eq!(store.list().unwrap().len(), 1);
    store.load(&kept).unwrap();
    let connection = rusqlite::Connection::open(&path).unwrap();
    for table in ["measurement", "task", "sample_block", "failure"] {
        let orphans: i64 = connection
            .query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0))
            .unwrap();
        assert!(orphans <= 6, "{orphans} rows of {table}");
    }
}

/// The reason for the columns of histograms; see `docs/run-format.md`.
#[test]
fn a_typical_measurement_takes_little_space_besides_its_samples() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("runs.sqlite");
    let mut store = Store::open(&path).unwrap();
    let run = store.create_run(&plan(10), &facts(), "0.1.0", CREATED, None).unwrap();
    for round in 0..10 {
        let (result, _) = measurement(turn(round, 0), round.into(), Size::USUAL);
        store.save_measurement(&run, &result, &[]).unwrap();
    }
    drop(store);
    let size = std::fs::metadata(&path).unwrap().len();
    assert!(size < 10 * 120_000, "{size} bytes for ten measurements");
}

#[test]
fn an_unknown_run_is_rejected_by_every_operation() {
    let mut store = empty_store();
    let unknown = RunId::new("papers-two-20261121-113356");
    assert!(matches!(store.load(&unknown), Err(StoreError::NoRuns)));
    some_run(&mut store);
    let error = store.load(&unknown).unwrap_err().to_string();
    assert!(error.contains("did you mean papers-two-20261121-113355?"), "{error}");
    assert!(store.header(&unknown).is_err());
    assert!(store.samples(&unknown, turn(0, 0)).is_err());
    assert!(store.finished_turns(&unknown).is_err());
    assert!(store.finish_run(&unknown, RunStatus::Complete, &facts()).is_err());
    assert!(store.save_failure(&unknown, &failure(turn(0, 0))).is_err());
    assert!(store.export(&unknown, Vec::new(), true).is_err());
}

#[test]
fn a_start_time_beyond_the_range_of_the_tables_is_rejected() {
    let mut store = empty_store();
    let moment = Instant::from_nanos(u64::MAX);
    let error = store.create_run(&plan(1), &facts(), "0.1.0", moment, None).unwrap_err();
    assert!(matches!(error, StoreError::Unkeepable { .. }), "{error}");
}
