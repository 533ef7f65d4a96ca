//! Exported runs, from the JSON into the store and out of it again.

use std::io;

use tactus_store::Store;

use crate::{imports, seeds};

/// A run that was exported whole: two cells, two rounds, samples, what was recorded.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    seeds::files("tests/data/export", &[".json"])
}

/// Takes a run in; one that is taken in can be shown and exported again.
pub(crate) fn run(bytes: &[u8]) {
    let mut store = Store::open_in_memory().expect("a database in memory");
    let Ok(id) = store.import(bytes) else { return };
    let run = store.load(&id).expect("what was taken in can be loaded");
    for measurement in &run.measurements {
        let _ = store.samples(&id, measurement.turn).expect("so can its samples");
        let _ = store.recording(&id, measurement.turn);
    }
    store.export(&id, &mut io::sink(), true).expect("it can be exported again");
    imports::show(&run);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seeds_are_taken_in() {
        for seed in seeds() {
            let mut store = Store::open_in_memory().unwrap();
            let id = store.import(&seed[..]).unwrap();
            assert!(!store.load(&id).unwrap().measurements.is_empty());
        }
    }
}
