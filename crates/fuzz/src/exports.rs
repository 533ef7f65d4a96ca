//! Exported runs, from JSON into the store and out again.

use std::io;

use tactus_store::{FileRun, Store};

use crate::{imports, seeds};

/// A complete export: two cells, two rounds, samples, recordings.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    seeds::files("tests/data/export", &[".json"])
}

/// Imports a run; an imported run can be shown and exported again.
pub(crate) fn run(bytes: &[u8]) {
    let mut store = Store::open_in_memory().expect("a database in memory");
    let imported = store.import(bytes);
    // What passes the checks without a database can be stored.
    assert_eq!(FileRun::read(bytes).map(drop).is_ok(), imported.is_ok(), "{imported:?}");
    let Ok(id) = imported else { return };
    let run = store.load(&id).expect("an imported run can be loaded");
    for measurement in &run.measurements {
        let _ = store.samples(&id, measurement.turn).expect("its samples can be loaded");
        let _ = store.recording(&id, measurement.turn);
    }
    store.export(&id, &mut io::sink(), true).expect("an imported run can be exported again");
    imports::show(&run);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seeds_are_imported() {
        for seed in seeds() {
            let mut store = Store::open_in_memory().unwrap();
            let id = store.import(&seed[..]).unwrap();
            assert!(!store.load(&id).unwrap().measurements.is_empty());
        }
    }
}
