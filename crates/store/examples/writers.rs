//! Runs stored a second, by one writer and by eight, in a file and on a server: `cargo xtask stores`.
//!
//! A run has two turns of two tasks with their samples; it is created, measured and finished in four
//! transactions, each of which is synced to the disk. Runs are created in different seconds, so that
//! each gets the first name that is tried. The server is a PostgreSQL of its own with
//! Debian's settings, on a socket. Both kinds of store take turns.

#[expect(dead_code, reason = "only the tests use all of it")]
#[path = "../tests/store/common.rs"]
mod common;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use common::{CREATED, Size, at, facts, measurement, plan};
use tactus_model::run::RunStatus;
use tactus_model::time::Nanos;
use tactus_store::{Location, Store, StoreError};
use tactus_testing::PostgresqlServer;

/// The duration of a block.
const BLOCK: Duration = Duration::from_secs(5);

/// The blocks of each combination.
const BLOCKS: usize = 3;

fn main() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let server = PostgresqlServer::start_with(&[]).expect("PostgreSQL");
    let file = Location::File(folder.path().join("runs.sqlite"));
    let stores = [("SQLite", file), ("PostgreSQL", at(&server.create("results")))];
    println!("{:<12}{:>8}  runs/s in {BLOCKS} blocks of {} s", "store", "writers", BLOCK.as_secs());
    let mut rates = vec![Vec::new(); 4];
    for _ in 0..BLOCKS {
        for (index, (location, writers)) in combinations(&stores).enumerate() {
            rates[index].push(rate(location, writers));
        }
    }
    for ((name, writers), rates) in
        stores.iter().flat_map(|(name, _)| [(name, 1), (name, 8)]).zip(rates)
    {
        let rates: Vec<String> = rates.iter().map(|rate| format!("{rate:.1}")).collect();
        println!("{name:<12}{writers:>8}  {}", rates.join("  "));
    }
}

fn combinations<'s>(stores: &'s [(&str, Location)]) -> impl Iterator<Item = (&'s Location, usize)> {
    stores.iter().flat_map(|(_, location)| [(location, 1), (location, 8)])
}

/// The runs that this many writers store a second.
fn rate(location: &Location, writers: usize) -> f64 {
    let began = Instant::now();
    let stored: usize = std::thread::scope(|scope| {
        let write = || {
            let mut store = location.open().expect("a store");
            let mut stored = 0;
            while began.elapsed() < BLOCK {
                run(&mut store).expect("a run");
                stored += 1;
            }
            stored
        };
        let writers: Vec<_> = (0..writers).map(|_| scope.spawn(write)).collect();
        writers.into_iter().map(|writer| writer.join().expect("a writer")).sum()
    });
    stored as f64 / began.elapsed().as_secs_f64()
}

fn run(store: &mut Store) -> Result<(), StoreError> {
    static SECONDS: AtomicU64 = AtomicU64::new(0);
    let created = CREATED + Nanos::from_secs(SECONDS.fetch_add(1, Ordering::Relaxed));
    let plan = plan(1);
    let run = store.create_run(&plan, &facts(), "0", created, None)?;
    for turn in plan.turns() {
        let (measurement, samples) = measurement(turn, 1, Size::SMALL);
        store.save_measurement(&run, &measurement, &samples)?;
    }
    store.finish_run(&run, RunStatus::Complete, &facts())
}
