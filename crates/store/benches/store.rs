//! The duration of a save and a load, and the size of the file.
//!
//! `cargo bench -p tactus-store`

#[expect(dead_code, reason = "only the tests use all of it")]
#[path = "../tests/store/common.rs"]
mod common;

use common::{CREATED, Size, facts, measurement, plan, turn};
use divan::Bencher;
use tactus_model::run::RunId;
use tactus_store::Store;
use tempfile::TempDir;

/// The number of measurements in the run: two cells in twenty rounds.
const MEASUREMENTS: u32 = 40;

fn main() {
    let (directory, _) = filled();
    let bytes = std::fs::metadata(directory.path().join("runs.sqlite")).map(|file| file.len());
    println!("bytes a measurement with its samples: {:?}", bytes.map(|bytes| bytes / 40));
    divan::main();
}

fn store(directory: &TempDir) -> Store {
    Store::open(&directory.path().join("runs.sqlite")).expect("a store in a temporary directory")
}

fn filled() -> (TempDir, RunId) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut store = store(&directory);
    let run =
        store.create_run(&plan(MEASUREMENTS / 2), &facts(), "0", CREATED, None).expect("a run");
    for index in 0..MEASUREMENTS {
        let turn = turn(index / 2, index as usize % 2);
        let (measurement, samples) = measurement(turn, index.into(), Size::USUAL);
        store.save_measurement(&run, &measurement, &samples).expect("a measurement that balances");
    }
    (directory, run)
}

#[divan::bench]
fn open_and_list(bencher: Bencher<'_, '_>) {
    let (directory, _) = filled();
    bencher.bench(|| store(&directory).list());
}

#[divan::bench]
fn load_a_run_of_40_measurements(bencher: Bencher<'_, '_>) {
    let (directory, run) = filled();
    bencher.bench(|| store(&directory).load(&run));
}

#[divan::bench]
fn export_with_samples(bencher: Bencher<'_, '_>) {
    let (directory, run) = filled();
    bencher.bench(|| store(&directory).export(&run, std::io::sink(), true));
}

#[divan::bench]
fn save_a_measurement(bencher: Bencher<'_, '_>) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut store = store(&directory);
    let run = store.create_run(&plan(10_000), &facts(), "0", CREATED, None).expect("a run");
    let mut round = 0;
    bencher
        .with_inputs(|| {
            round += 1;
            measurement(turn(round, 0), 1, Size::USUAL)
        })
        .bench_local_values(|(measurement, samples)| {
            store.save_measurement(&run, &measurement, &samples)
        });
}
