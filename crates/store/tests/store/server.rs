//! A store on a server: the same tests as in a file, and what only a server does.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tactus_model::experiment::Turn;
use tactus_model::run::RunId;
use tactus_store::{Location, ServerError, StoreError};
use tactus_testing::{Need, PostgresqlServer, require};

use crate::common::{CREATED, SERVER, Size, at, facts, failure, measurement, plan, some_run, turn};

/// The modules whose tests use [`crate::common::empty_store`].
const SAME_TESTS: [&str; 3] = ["runs::", "exchange::", "schema::"];

/// How many tests these modules have at least.
const TESTS_MIN: usize = 30;

#[test]
fn the_tests_of_a_file_pass_on_a_server() {
    let Some(server) = require(Need::Postgresql, PostgresqlServer::start()) else { return };
    let output = Command::new(std::env::current_exe().unwrap())
        .args(SAME_TESTS)
        .arg("--test-threads=4")
        .env(SERVER, server.socket_directory())
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{printed}");
    let passed = printed.lines().filter(|line| line.ends_with("... ok")).count();
    assert!(passed >= TESTS_MIN, "{printed}");
    let stores =
        server.sql("postgres", "SELECT count(*) FROM pg_database WHERE datname LIKE 'store%'");
    assert!(stores.parse::<usize>().unwrap() >= TESTS_MIN, "{stores} stores on the server");
}

/// The failure of a server in an error.
fn of_server(error: StoreError) -> ServerError {
    match error {
        StoreError::Server { error, .. } => error,
        other => panic!("{other}"),
    }
}

#[test]
fn a_wrong_address_is_an_error_that_says_what_is_wrong() {
    let Some(server) = require(Need::Postgresql, PostgresqlServer::start()) else { return };
    let opened = |url: &str| {
        let location = at(url);
        let error = location.open().unwrap_err();
        assert!(error.to_string().contains(&location.to_string()), "{error}");
        of_server(error)
    };
    let error = opened(&server.url("nowhere"));
    assert!(matches!(error, ServerError::NoDatabase(_)), "{error}");
    assert!(error.to_string().contains("\"nowhere\" does not exist"), "{error}");
    let socket = server.socket_directory().display();
    let error = opened(&format!("postgresql://ann@/postgres?host={socket}"));
    assert!(matches!(error, ServerError::Login(_)), "{error}");
    let error = opened("postgresql://ann@/postgres?host=/nonexistent");
    assert!(matches!(error, ServerError::Unreachable(_)), "{error}");
    let error = opened("postgresql://ann@127.0.0.1:1/postgres");
    assert!(matches!(error, ServerError::Unreachable(_)), "{error}");
}

#[test]
fn a_database_of_another_program_and_one_without_tables_are_not_changed() {
    let Some(server) = require(Need::Postgresql, PostgresqlServer::start()) else { return };
    let tables = || server.sql("other", "SELECT count(*) FROM pg_class");
    let other = at(&server.create("other"));
    let before = tables();
    assert_eq!(other.open_to_read().unwrap().list().unwrap(), []);
    assert!(
        other.open_to_read().unwrap().create_run(&plan(1), &facts(), "", CREATED, None).is_err()
    );
    assert_eq!(tables(), before);
    server.sql("other", "CREATE SCHEMA tactus; CREATE TABLE tactus.score (title TEXT)");
    let before = tables();
    for error in [other.open().unwrap_err(), other.open_to_read().unwrap_err()] {
        assert!(matches!(of_server(error), ServerError::NotAStore));
    }
    assert_eq!(tables(), before);
}

#[test]
fn a_reader_needs_no_right_to_write() {
    let Some(server) = require(Need::Postgresql, PostgresqlServer::start()) else { return };
    let owner = at(&server.create("results"));
    let run = some_run(&mut owner.open().unwrap());
    server.sql(
        "results",
        "CREATE ROLE reader LOGIN; GRANT USAGE ON SCHEMA tactus TO reader;
         GRANT SELECT ON ALL TABLES IN SCHEMA tactus TO reader",
    );
    let socket = server.socket_directory().display();
    let reader = at(&format!("postgresql://reader@/results?host={socket}"));
    let store = reader.open_to_read().unwrap();
    assert_eq!(store.load(&run).unwrap(), owner.open_to_read().unwrap().load(&run).unwrap());
    let refused = reader.open().unwrap().save_failure(&run, &failure(turn(0, 0)));
    let error = of_server(refused.unwrap_err());
    assert!(matches!(error, ServerError::Refused(_)), "{error}");
    assert!(error.to_string().contains("belongs to the superuser tactus"), "{error}");
    let refused = owner.open_to_read().unwrap().save_failure(&run, &failure(turn(0, 0)));
    assert!(matches!(of_server(refused.unwrap_err()), ServerError::Refused(_)));
    server.sql("results", "REVOKE ALL ON SCHEMA tactus FROM reader");
    assert!(matches!(of_server(reader.open_to_read().unwrap_err()), ServerError::Refused(_)));
}

#[test]
fn another_writer_becomes_a_member_of_the_first() {
    let Some(server) = require(Need::Postgresql, PostgresqlServer::start()) else { return };
    server.create("results");
    server.sql("results", "CREATE ROLE ann LOGIN; CREATE ROLE bob LOGIN");
    let socket = server.socket_directory().display();
    let of = |user| at(&format!("postgresql://{user}@/results?host={socket}"));
    let refused = |user| {
        let error = of_server(of(user).open().unwrap_err());
        assert!(matches!(error, ServerError::Refused(_)), "{error}");
        error.to_string()
    };
    assert!(refused("ann").contains("`GRANT CREATE ON DATABASE DATABASE TO USER`"));
    server.sql("results", "GRANT CREATE ON DATABASE results TO ann");
    of("ann").open().unwrap();
    let words = refused("bob");
    assert!(words.contains("belongs to ann") && words.contains("`GRANT ann TO bob`"), "{words}");
    assert!(!words.contains("GRANT CREATE"), "{words}");
    server.sql("results", "GRANT ann TO bob");
    some_run(&mut of("bob").open().unwrap());
}

#[test]
fn a_text_that_the_server_cannot_store_is_refused() {
    let Some(server) = require(Need::Postgresql, PostgresqlServer::start()) else { return };
    let mut store = at(&server.create("texts")).open().unwrap();
    let run = some_run(&mut store);
    let before = store.load(&run).unwrap();
    let mut odd = failure(turn(0, 0));
    odd.reason = "a\0b".to_owned();
    let error = of_server(store.save_failure(&run, &odd).unwrap_err());
    assert!(matches!(error, ServerError::Nul(_)), "{error}");
    assert_eq!(store.load(&run).unwrap(), before);
}

/// How often the server crashes below a writer.
const CRASHES: usize = 3;

/// A writer that is not done by then hangs.
const PATIENCE: Duration = Duration::from_secs(600);

#[test]
fn a_server_that_crashes_loses_nothing_that_was_acknowledged() {
    let Some(mut server) = require(Need::Postgresql, PostgresqlServer::start()) else { return };
    let location = at(&server.create("results"));
    let plan = plan(10_000);
    let run = location.open().unwrap().create_run(&plan, &facts(), "0", CREATED, None).unwrap();
    let (saved, end) = (AtomicUsize::new(0), AtomicBool::new(false));
    let turns: Vec<Turn> = plan.turns();
    let fates = std::thread::scope(|scope| {
        let writer = scope.spawn(|| write_until(&location, &run, &turns, &saved, &end));
        let began = Instant::now();
        let await_more = || {
            let more = saved.load(Ordering::Relaxed) + 5;
            while saved.load(Ordering::Relaxed) < more && !writer.is_finished() {
                assert!(began.elapsed() < PATIENCE, "the writer hangs");
                std::thread::sleep(Duration::from_millis(5));
            }
        };
        for _ in 0..CRASHES {
            await_more();
            server.crash();
            server.go();
        }
        await_more();
        end.store(true, Ordering::Relaxed);
        writer.join().unwrap()
    });
    let loaded = location.open_to_read().unwrap().load(&run).unwrap();
    let held: BTreeMap<Turn, _> =
        loaded.measurements.into_iter().map(|found| (found.turn, found)).collect();
    for (turn, acknowledged) in fates {
        match held.get(&turn) {
            Some(found) => assert_eq!(found, &measurement(turn, 1, Size::SMALL).0),
            None => assert!(!acknowledged, "{turn:?} was acknowledged and is missing"),
        }
    }
}

/// Saves turns until `end`; returns for each whether it was acknowledged. Only a broken connection
/// may prevent that.
fn write_until(
    location: &Location,
    run: &RunId,
    turns: &[Turn],
    saved: &AtomicUsize,
    end: &AtomicBool,
) -> Vec<(Turn, bool)> {
    let mut store = location.open().unwrap();
    let mut fates = Vec::new();
    for turn in turns {
        if end.load(Ordering::Relaxed) {
            break;
        }
        let (measurement, samples) = measurement(*turn, 1, Size::SMALL);
        let stored = store.save_measurement(run, &measurement, &samples);
        fates.push((*turn, stored.is_ok()));
        match stored.map_err(of_server) {
            Ok(()) => drop(saved.fetch_add(1, Ordering::Relaxed)),
            Err(ServerError::Lost(_) | ServerError::Unreachable(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
    fates
}

#[test]
fn needs_root_a_full_disk_of_the_server_is_reported_and_nothing_is_half_written() {
    let Some(server) = require(Need::Postgresql, PostgresqlServer::start()) else { return };
    let disk = tempfile::tempdir().unwrap();
    let Some(_mounted) = require(Need::Root, Mounted::at(disk.path())) else { return };
    std::os::unix::fs::chown(disk.path(), Some(65534), Some(65534)).unwrap();
    let space = format!("CREATE TABLESPACE small LOCATION '{}'", disk.path().display());
    server.sql("postgres", &space);
    server.sql("postgres", "CREATE DATABASE full_disk TABLESPACE small");
    let location = at(&server.url("full_disk"));
    let mut store = location.open().unwrap();
    let plan = plan(2_000);
    let run = store.create_run(&plan, &facts(), "0", CREATED, None).unwrap();
    let mut saved = Vec::new();
    let error = plan.turns().into_iter().find_map(|turn| {
        let (measurement, samples) = measurement(turn, 1, Size::USUAL);
        match store.save_measurement(&run, &measurement, &samples) {
            Ok(()) => {
                saved.push(measurement);
                None
            }
            Err(error) => Some(error),
        }
    });
    let error = of_server(error.expect("the disk is smaller than the run"));
    assert!(matches!(error, ServerError::Full(_)), "{error}");
    assert!(error.to_string().contains("--continue"), "{error}");
    let loaded = location.open_to_read().unwrap().load(&run).unwrap();
    assert_eq!(loaded.measurements, saved);
    server.sql("postgres", "DROP DATABASE full_disk WITH (FORCE)");
    server.sql("postgres", "DROP TABLESPACE small");
}

/// A small file system in memory, until this is dropped.
struct Mounted<'d>(&'d std::path::Path);

impl<'d> Mounted<'d> {
    fn at(directory: &'d std::path::Path) -> Result<Self, String> {
        let mut mount = Command::new("mount");
        let output = mount.args(["-t", "tmpfs", "-o", "size=14m", "tactus-test"]).arg(directory);
        let output = output.output().map_err(|error| error.to_string())?;
        if output.status.success() {
            Ok(Self(directory))
        } else {
            Err(String::from_utf8_lossy(&output.stderr).into_owned())
        }
    }
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.0).status();
    }
}
