//! Stores that are read where nothing can be written, and stores on a full disk.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use rusqlite::Connection;
use tactus_model::run::RunId;
use tactus_store::{Store, StoreError};
use tactus_testing::{Need, require};

use crate::common::{CREATED, Size, facts, measurement, plan, some_run};
use crate::helper;

fn permit(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// The names of the files in a directory, without the ballast, which only writers need.
fn files(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| !name.ends_with("-ballast")).collect();
    names.sort();
    names
}

fn printed(output: Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}{}", text(&output.stdout), text(&output.stderr))
}

/// What another user reads from a store; `None` if no other user may run this program.
fn read_by_another_user(path: &Path) -> Option<String> {
    let outcome = helper::command_without_rights("reading::reader", path).output();
    let outcome = outcome.map_err(|error| format!("another user may not run this: {error}"));
    require(Need::Machine, outcome).map(printed)
}

#[test]
#[ignore = "a helper of another test: reads the store and prints its runs"]
fn reader() {
    let Some(path) = helper::assigned_store() else { return };
    let read = || -> Result<(), StoreError> {
        let store = Store::open_to_read(&path)?;
        for run in store.list()? {
            let results = store.load(&run.id)?.measurements.len();
            println!("read {} with {results} results", run.id);
        }
        Ok(())
    };
    match read() {
        Ok(()) => println!("read all"),
        Err(error) => println!("{error}"),
    }
}

#[test]
fn a_missing_or_empty_file_is_an_empty_store_and_stays_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["missing.sqlite", "none/missing.sqlite", "empty.sqlite"] {
        fs::write(directory.path().join("empty.sqlite"), "").unwrap();
        let mut store = Store::open_to_read(&directory.path().join(name)).unwrap();
        assert_eq!(store.list().unwrap(), []);
        assert!(matches!(store.find("last"), Err(StoreError::NoRuns)));
        store.create_run(&plan(1), &facts(), "0.1.0", CREATED, None).unwrap_err();
    }
    assert_eq!(files(directory.path()), ["empty.sqlite"]);
}

#[test]
fn a_store_opened_for_reading_is_not_changed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("runs.sqlite");
    let run = some_run(&mut Store::open(&path).unwrap());
    let before = fs::read(&path).unwrap();
    let mut store = Store::open_to_read(&path).unwrap();
    assert_eq!(store.find("last").unwrap(), run);
    store.delete(&run).unwrap_err();
    store.import(&b"{}"[..]).unwrap_err();
    drop(store);
    assert_eq!(files(directory.path()), ["runs.sqlite"]);
    assert_eq!(fs::read(&path).unwrap(), before);
    for content in ["No database at all. ", "x"] {
        fs::write(&path, content).unwrap();
        let error = Store::open_to_read(&path).unwrap_err();
        assert!(matches!(error, StoreError::NotAStore { .. }), "{error}");
    }
}

#[test]
fn another_users_store_is_read_without_a_trace() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("runs.sqlite");
    let run = some_run(&mut Store::open(&path).unwrap());
    let expected = format!("read {run} with 1 results\nread all");
    permit(&path, 0o644);
    // In the last directory, as in /tmp, another user's files would lock the owner out.
    for mode in [0o755, 0o555, 0o1777] {
        permit(directory.path(), mode);
        let before = fs::read(&path).unwrap();
        let Some(found) = read_by_another_user(&path) else { return };
        assert!(found.contains(&expected), "mode {mode:o}: {found}");
        assert_eq!(files(directory.path()), ["runs.sqlite"], "mode {mode:o}");
        assert_eq!(fs::read(&path).unwrap(), before);
    }
    permit(&path, 0o600);
    let found = read_by_another_user(&path).unwrap();
    assert!(found.contains("cannot read the results database"), "{found}");
    permit(&path, 0o644);
    permit(directory.path(), 0o700);
    let found = read_by_another_user(&path).unwrap();
    assert!(found.contains("cannot read the results database"), "{found}");
}

#[test]
fn a_store_with_a_writer_that_lives_or_was_killed_is_read_by_another_user() {
    let directory = tempfile::tempdir().unwrap();
    permit(directory.path(), 0o755);
    let path = directory.path().join("runs.sqlite");
    let mut writer =
        helper::command("killed::writer", &path).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(writer.stdout.take().unwrap()).lines();
    let mut wait_for = |start: &str| {
        let found = lines.find(|line| line.as_ref().unwrap().contains(start));
        found.unwrap().unwrap()
    };
    let began = wait_for("began ");
    let run = RunId::new(began.split_once("began ").unwrap().1);
    let results = |found: &str| -> usize {
        let line = found.lines().find_map(|line| line.split_once(&format!("read {run} with ")));
        let (_, rest) = line.unwrap_or_else(|| panic!("{found}"));
        rest.split_once(" results").unwrap().0.parse().unwrap()
    };
    let mut earlier = 0;
    for _ in 0..8 {
        wait_for("saved ");
        let Some(found) = read_by_another_user(&path) else { break };
        let now = results(&found);
        assert!(now >= earlier, "{found}");
        earlier = now;
    }
    assert!(files(directory.path()).contains(&"runs.sqlite-wal".to_owned()), "the writer lives");
    writer.kill().unwrap();
    writer.wait().unwrap();
    let Some(found) = read_by_another_user(&path) else { return };
    let dead = results(&found);
    let owner = Store::open_to_read(&path).unwrap();
    assert_eq!(owner.load(&run).unwrap().measurements.len(), dead);
    assert!(dead >= earlier && dead > 0);
}

#[test]
fn a_log_without_its_index_is_read_only_where_the_index_can_be_made() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("runs.sqlite");
    let mut store = Store::open(&path).unwrap();
    let run = some_run(&mut store);
    let copy = directory.path().join("copy");
    fs::create_dir(&copy).unwrap();
    for suffix in ["", "-wal"] {
        let name = format!("runs.sqlite{suffix}");
        fs::copy(directory.path().join(&name), copy.join(&name)).unwrap();
        permit(&copy.join(&name), 0o644);
    }
    permit(directory.path(), 0o755);
    permit(&copy, 0o755);
    let path = copy.join("runs.sqlite");
    let Some(found) = read_by_another_user(&path) else { return };
    assert!(
        found.contains("copy") && found.contains("-wal to one, and set TACTUS_STORE"),
        "{found}"
    );
    assert_eq!(Store::open_to_read(&path).unwrap().find("last").unwrap(), run);
}

#[test]
fn an_older_store_is_migrated_by_its_owner_and_another_user_learns_how() {
    let directory = tempfile::tempdir().unwrap();
    permit(directory.path(), 0o755);
    let path = directory.path().join("runs.sqlite");
    let run = some_run(&mut Store::open(&path).unwrap());
    let older = "ALTER TABLE run DROP COLUMN command;
        ALTER TABLE failure DROP COLUMN by_host;
        PRAGMA user_version = 4";
    Connection::open(&path).unwrap().execute_batch(older).unwrap();
    permit(&path, 0o644);
    let before = fs::read(&path).unwrap();
    if let Some(found) = read_by_another_user(&path) {
        assert!(found.contains("has version 4") && found.contains("`tactus list`"), "{found}");
        assert_eq!(fs::read(&path).unwrap(), before);
    }
    let store = Store::open_to_read(&path).unwrap();
    assert_eq!(store.find("last").unwrap(), run);
}

/// Runs a shell script that mounts a file system of its own at `$there`, which the rest of the
/// machine does not see. `$helper FUNCTION` runs a function of this program on the store in it.
fn on_a_file_system(options: &str, script: &str) -> Option<String> {
    let directory = tempfile::tempdir().unwrap();
    let program = std::env::current_exe().unwrap();
    let script = format!(
        "set -e; there={there}; mount -t tmpfs -o {options} tactus-test $there
        export TACTUS_TEST_STORE=$there/runs.sqlite
        helper() {{ {program} --exact \"$1\" --ignored --nocapture; }}
        {script}",
        there = directory.path().display(),
        program = program.display(),
    );
    let output = Command::new("unshare").args(["--mount", "sh", "-c", &script]).output();
    let mounted = output.map_err(|error| error.to_string()).and_then(|output| {
        let refused = String::from_utf8_lossy(&output.stderr).into_owned();
        let failed = refused.contains("unshare failed") || refused.contains("mount:");
        if failed { Err(refused) } else { Ok(printed(output)) }
    });
    require(Need::Root, mounted)
}

#[test]
#[ignore = "a helper of another test: writes runs until the disk is full"]
fn filler() {
    let Some(path) = helper::assigned_store() else { return };
    let mut store = Store::open(&path).unwrap();
    for run in 0.. {
        let run = if run == 0 { Ok(some_run(&mut store)) } else { larger_run(&mut store) };
        match run {
            Ok(run) => println!("filled with {run}"),
            Err(error) => return println!("{error}"),
        }
    }
}

fn larger_run(store: &mut Store) -> Result<RunId, StoreError> {
    let run = store.create_run(&plan(2), &facts(), "0.1.0", CREATED, None)?;
    for turn in plan(2).turns() {
        let (measurement, samples) = measurement(turn, 1, Size::USUAL);
        store.save_measurement(&run, &measurement, &samples)?;
    }
    Ok(run)
}

#[test]
#[ignore = "a helper of another test: deletes the run that was added last"]
fn deleter() {
    let Some(path) = helper::assigned_store() else { return };
    let delete = || {
        let mut store = Store::open_to_delete(&path)?;
        let first = store.list()?.pop().unwrap().id;
        store.delete(&first)?;
        Ok::<_, StoreError>(first)
    };
    match delete() {
        Ok(run) => println!("deleted {run}"),
        Err(error) => println!("{error}"),
    }
}

#[test]
fn needs_root_a_store_on_a_read_only_file_system_is_read() {
    let script = "helper reading::one_run; mount -o remount,ro $there; helper reading::reader";
    let Some(found) = on_a_file_system("size=8m", script) else { return };
    assert!(found.contains("with 1 results\nread all"), "{found}");
}

#[test]
#[ignore = "a helper of another test: writes one run"]
fn one_run() {
    let Some(path) = helper::assigned_store() else { return };
    some_run(&mut Store::open(&path).unwrap());
}

#[test]
fn needs_root_runs_on_a_full_disk_are_read_and_deleted() {
    // The rest of the space is filled to the last byte, after the store could not grow.
    let script = "
        helper reading::filler
        dd if=/dev/zero of=$there/rest bs=512 2>/dev/null || true
        helper reading::reader; helper reading::deleter; helper reading::deleter
        helper reading::deleter; helper reading::reader";
    let Some(found) = on_a_file_system("size=8m", script) else { return };
    assert!(found.contains("no space left for the results database"), "{found}");
    let count = |start: &str| found.lines().filter(|line| line.contains(start)).count();
    assert_eq!((count("read all"), count("deleted ")), (2, 3), "{found}");
    let without = script.replacen("dd ", "rm $there/*-ballast; dd ", 1);
    let found = on_a_file_system("size=8m", &without).unwrap();
    assert!(!found.contains("deleted ") && found.contains("by removing other files"), "{found}");
}
