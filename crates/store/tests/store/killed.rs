//! A writer that is killed at any moment loses at most the turn in flight.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{ChildStdout, Stdio};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tactus_model::experiment::Turn;
use tactus_model::random::SplitMix64;
use tactus_model::run::RunId;
use tactus_store::Store;

use crate::common::{CREATED, Size, facts, measurement, plan, turn};
use crate::helper;

/// How often the writer is killed.
const KILLS: usize = 20;

/// The maximum delay of a kill after the writer's start, or after its first turn.
const LATEST: Duration = Duration::from_millis(400);

/// Enough that the writer does not finish before it is killed.
const ROUNDS: u32 = 10_000;

/// How long a writer runs if nobody kills it.
const WRITER_LIMIT: Duration = Duration::from_secs(20);

/// Measurements of all sizes, so that kills hit short and long transactions.
fn size_of(turn: Turn) -> Size {
    if turn.cell == 0 { Size::SMALL } else { Size { blocks: 16, ..Size::USUAL } }
}

fn seed_of(turn: Turn) -> u64 {
    u64::from(turn.round) * 2 + turn.cell as u64
}

#[test]
fn a_kill_at_any_moment_loses_at_most_the_turn_in_flight() {
    let mut random = SplitMix64::new(helper::printed_seed());
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("runs.sqlite");
    for kill in 0..KILLS {
        let after = Duration::from_nanos(random.below(LATEST.as_nanos() as u64));
        // Every other kill may hit the creation of the file and of the run.
        let from_first_turn = kill % 2 == 0;
        let (run, acknowledged) = write_until_killed(&path, from_first_turn, after);
        check_store(&path, run.as_ref(), &acknowledged);
        println!("kill {kill} after {after:?}: {} turns acknowledged", acknowledged.len());
        assert!(!(from_first_turn && acknowledged.is_empty()));
    }
}

/// Starts a writer, kills it after a while, and returns the turns it reported as saved.
fn write_until_killed(
    path: &Path,
    from_first_turn: bool,
    after: Duration,
) -> (Option<RunId>, BTreeSet<Turn>) {
    let mut writer = helper::command("killed::writer", path).stderr(Stdio::null()).spawn().unwrap();
    let mut output = WriterOutput {
        lines: BufReader::new(writer.stdout.take().unwrap()),
        run: None,
        saved: BTreeSet::new(),
    };
    while from_first_turn && output.saved.is_empty() && output.next() {}
    std::thread::sleep(after);
    // SIGKILL, which no process can catch.
    writer.kill().unwrap();
    writer.wait().unwrap();
    while output.next() {}
    (output.run, output.saved)
}

/// The output of a writer so far.
struct WriterOutput {
    lines: BufReader<ChildStdout>,
    run: Option<RunId>,
    saved: BTreeSet<Turn>,
}

impl WriterOutput {
    /// Reads a line, and returns whether there was one. A truncated line acknowledges nothing.
    fn next(&mut self) -> bool {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        let Some(line) = line.strip_suffix('\n') else { return false };
        if let Some((_, name)) = line.split_once("began ") {
            self.run = Some(RunId::new(name));
        } else if let Some((_, place)) = line.split_once("saved ") {
            let (round, cell) = place.split_once(' ').unwrap();
            self.saved.insert(turn(round.parse().unwrap(), cell.parse().unwrap()));
        }
        true
    }
}

fn check_store(path: &Path, run: Option<&RunId>, acknowledged: &BTreeSet<Turn>) {
    let store = Store::open(path).unwrap();
    let connection = Connection::open(path).unwrap();
    let verdict: String =
        connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(verdict, "ok");
    let orphans: i64 = connection
        .query_row("SELECT count(*) FROM pragma_foreign_key_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(orphans, 0);
    let Some(run) = run else { return };
    let loaded = store.load(run).unwrap();
    let held: BTreeSet<Turn> = loaded.measurements.iter().map(|found| found.turn).collect();
    assert!(held.is_superset(acknowledged), "{acknowledged:?} is not all in {held:?}");
    assert!(
        held.len() <= acknowledged.len() + 1,
        "more than the turn in flight was stored beyond them"
    );
    for found in &loaded.measurements {
        let (expected, samples) = measurement(found.turn, seed_of(found.turn), size_of(found.turn));
        assert_eq!(found, &expected);
        assert_eq!(store.samples(run, found.turn).unwrap(), samples);
    }
}

#[test]
#[ignore = "a helper of another test: writes turns until it is killed"]
fn writer() {
    let Some(path) = helper::assigned_store() else { return };
    let started = Instant::now();
    let mut output = std::io::stdout();
    let mut store = Store::open(&path).unwrap();
    let plan = plan(ROUNDS);
    let run = store.create_run(&plan, &facts(), "0.1.0", CREATED, None).unwrap();
    writeln!(output, "began {run}").unwrap();
    for turn in plan.turns() {
        let (measurement, samples) = measurement(turn, seed_of(turn), size_of(turn));
        store.save_measurement(&run, &measurement, &samples).unwrap();
        writeln!(output, "saved {} {}", turn.round, turn.cell).unwrap();
        if started.elapsed() > WRITER_LIMIT {
            break;
        }
    }
}
