//! Invalid store files, and concurrent access to one file.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rusqlite::Connection;
use tactus_model::run::RunStatus;
use tactus_store::{Store, StoreError};
use tactus_testing::{Need, require};

use crate::common::{CREATED, Size, facts, measurement, plan, some_run, turn};
use crate::helper;

/// Checks that opening a file fails with an error that contains `expected`, and leaves the file
/// unchanged.
fn check_refused(path: &Path, expected: &str) -> StoreError {
    let before = fs::read(path).unwrap();
    let error = Store::open(path).unwrap_err();
    let text = error.to_string();
    assert!(text.contains(expected), "{text}\n  does not contain: {expected}");
    assert!(text.contains(&path.display().to_string()), "{text}\n  does not name the file");
    assert_eq!(fs::read(path).unwrap(), before, "the file was changed");
    error
}

#[test]
fn a_file_of_another_kind_is_rejected_unchanged() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("runs.sqlite");
    for length in [1, 20, 99, 100, 511, 512, 4096, 100_000] {
        fs::write(&path, "No database at all. ".repeat(6000).get(..length).unwrap()).unwrap();
        let error = check_refused(&path, "is no results database of Tactus");
        assert!(matches!(error, StoreError::NotAStore { .. }), "{length} bytes: {error}");
    }
}

#[test]
fn a_truncated_store_is_rejected_unchanged() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("runs.sqlite");
    some_run(&mut Store::open(&path).unwrap());
    let whole = fs::read(&path).unwrap();
    for length in [1, 50, 100, 1000, 4096, 8192, whole.len() - 4096] {
        fs::write(&path, &whole[..length]).unwrap();
        let error = check_refused(&path, "To start afresh, move it away (mv ");
        assert!(matches!(error, StoreError::Damaged { .. }), "{length} bytes: {error}");
    }
    fs::write(&path, &whole).unwrap();
    Store::open(&path).unwrap();
}

#[test]
fn a_damaged_value_is_an_error_not_a_panic() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("runs.sqlite");
    let run = some_run(&mut Store::open(&path).unwrap());
    for damage in [
        "UPDATE task SET histograms = x'00'",
        "UPDATE task SET histograms = x'ffffffff00'",
        "UPDATE task SET content = x''",
        "UPDATE measurement SET content = '{}'",
        "UPDATE run SET facts_before = 'nothing'",
        "UPDATE run SET status = 'done'",
    ] {
        let damaged = directory.path().join("damaged.sqlite");
        fs::copy(&path, &damaged).unwrap();
        Connection::open(&damaged).unwrap().execute(damage, []).unwrap();
        let error = Store::open(&damaged).unwrap().load(&run).unwrap_err();
        assert!(matches!(error, StoreError::Damaged { .. }), "{damage}: {error}");
    }
}

/// Development versions before 0.1 wrote the key `fix`.
#[test]
fn a_store_with_the_old_key_of_a_fix_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("runs.sqlite");
    let mut store = Store::open(&path).unwrap();
    let run = some_run(&mut store);
    let expected = store.load(&run).unwrap();
    let update = "UPDATE measurement SET content = replace(content, '\"fix\":', '\"mend\":')
                  WHERE content LIKE '%\"fix\":%'";
    assert_eq!(Connection::open(&path).unwrap().execute(update, []).unwrap(), 1);
    assert_eq!(store.load(&run).unwrap(), expected);
    assert_eq!(expected.measurements[0].shortfalls[0].fix.as_deref(), Some("ulimit -r 90"));
}

#[test]
fn the_database_itself_rejects_unbalanced_rows() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("runs.sqlite");
    some_run(&mut Store::open(&path).unwrap());
    let connection = Connection::open(&path).unwrap();
    connection.execute("UPDATE task SET dropped = dropped + 1", []).unwrap_err();
}

#[test]
fn a_database_of_another_program_is_rejected_unchanged() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("places.sqlite");
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE bookmark (url TEXT)").unwrap();
    let error = check_refused(&path, "is no results database of Tactus");
    assert!(matches!(error, StoreError::NotAStore { .. }), "{error}");
}

#[test]
fn an_empty_file_becomes_a_store() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("runs.sqlite");
    fs::write(&path, "").unwrap();
    let run = some_run(&mut Store::open(&path).unwrap());
    let mut store = Store::open(&path).unwrap();
    assert_eq!(store.find("last").unwrap(), run);
    store.finish_run(&run, RunStatus::Complete, &facts()).unwrap();
}

#[test]
fn a_path_under_a_file_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    for path in [file.join("runs.sqlite"), file.join("deep/below/runs.sqlite")] {
        let error = Store::open(&path).unwrap_err();
        assert!(matches!(error, StoreError::Unwritable { .. }), "{error}");
    }
    let error = Store::open(directory.path()).unwrap_err();
    assert!(matches!(error, StoreError::IsADirectory { .. }), "{error}");
}

#[test]
fn a_store_without_write_permission_is_reported_with_a_fix() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("runs.sqlite");
    let check = |path: &Path| {
        let outcome = helper::command_without_rights("files::opener", path).output();
        let outcome = outcome.map_err(|error| format!("another user may not run this: {error}"));
        let Some(outcome) = require(Need::Machine, outcome) else { return };
        let output = String::from_utf8(outcome.stdout).unwrap();
        let expected = format!("cannot write the results database {}", path.display());
        assert!(output.contains(&expected), "{output}\n  does not contain: {expected}");
        assert!(output.contains("or set TACTUS_STORE to another file"), "{output}");
    };
    let permit = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    permit(directory.path(), 0o555);
    check(&path);
    check(&directory.path().join("below/runs.sqlite"));
    permit(directory.path(), 0o755);
    some_run(&mut Store::open(&path).unwrap());
    permit(&path, 0o444);
    check(&path);
    permit(directory.path(), 0o555);
    check(&path);
    permit(&path, 0o000);
    check(&path);
    permit(directory.path(), 0o755);
}

#[test]
#[ignore = "a helper of another test: opens the store and prints the outcome"]
fn opener() {
    let Some(path) = helper::assigned_store() else { return };
    match Store::open(&path) {
        Ok(_) => println!("opened"),
        Err(error) => println!("{error}"),
    }
}

#[test]
fn two_processes_write_to_one_store_at_once() {
    for _ in 0..4 {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("runs.sqlite");
        let writers: Vec<_> = (0..2)
            .map(|_| helper::command("files::two_rounds_writer", &path).spawn().unwrap())
            .collect();
        for writer in writers {
            let outcome = writer.wait_with_output().unwrap();
            assert!(outcome.status.success(), "{outcome:?}");
        }
        let list = Store::open(&path).unwrap().list().unwrap();
        let done: Vec<u64> = list.iter().map(|run| run.turns_done).collect();
        assert_eq!(done, [40, 40]);
    }
}

#[test]
#[ignore = "a helper of another test: writes a run of forty turns"]
fn two_rounds_writer() {
    let Some(path) = helper::assigned_store() else { return };
    let mut store = Store::open(&path).unwrap();
    let run = store.create_run(&plan(20), &facts(), "0.1.0", CREATED, None).unwrap();
    for turn in plan(20).turns() {
        let (measurement, samples) = measurement(turn, 1, Size::SMALL);
        store.save_measurement(&run, &measurement, &samples).unwrap();
    }
    store.finish_run(&run, RunStatus::Complete, &facts()).unwrap();
}

#[test]
fn a_reader_sees_one_state_during_a_write() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("runs.sqlite");
    let mut writer = Store::open(&path).unwrap();
    let run = some_run(&mut writer);
    let reader = Store::open(&path).unwrap();
    let (result, samples) = measurement(turn(0, 0), 2, Size::SMALL);
    writer.save_measurement(&run, &result, &samples).unwrap();
    assert_eq!(reader.load(&run).unwrap().measurements.len(), 2);
    writer.delete(&run).unwrap();
    assert!(matches!(reader.load(&run), Err(StoreError::NoRuns)));
}
