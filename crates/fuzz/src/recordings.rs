//! Recordings, from the file to the explanation.

use std::io;
use std::sync::LazyLock;

use serde_json::Value;
use tactus_explain::account::{AccountOptions, TickRate, account};
use tactus_explain::{Options, ProbeTask, explain, witness};
use tactus_model::recording::{EventSource, Item};
use tactus_model::time::Nanos;
use tactus_record::codec::{Block, BlockHeader, PREAMBLE};
use tactus_record::file::RecordingFile;

use crate::seeds;

/// The golden recordings, and recordings of programs.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    seeds::files("tests/data/blame", &[".tactusrec"])
}

/// The tasks of the golden recordings; every input is explained for each of them.
static TASKS: LazyLock<Vec<ProbeTask>> = LazyLock::new(|| {
    let described = seeds::files("tests/data/blame", &[".json"]);
    let tasks = described.iter().map(|json| {
        let golden: Value = serde_json::from_slice(json).expect("it describes a recording");
        serde_json::from_value(golden["task"].clone()).expect("it describes a task")
    });
    tasks.collect()
});

/// Reads a recording as it is, and with correct checksums: after a random change they never match.
pub(crate) fn run(bytes: &[u8]) {
    read(bytes);
    let sealed = sealed(bytes);
    if sealed != bytes {
        read(&sealed);
    }
}

/// The same blocks with correct checksums.
fn sealed(bytes: &[u8]) -> Vec<u8> {
    let (start, mut rest) = bytes.split_at(PREAMBLE.min(bytes.len()));
    let mut sealed = start.to_vec();
    while let Ok(header) = BlockHeader::parse(rest) {
        let Some(payload) = rest.get(BlockHeader::LENGTH..BlockHeader::LENGTH + header.length)
        else {
            break;
        };
        let block = Block::build(header.kind, |bytes| bytes.extend_from_slice(payload));
        sealed.extend_from_slice(block.bytes());
        rest = &rest[BlockHeader::LENGTH + header.length..];
    }
    sealed.extend_from_slice(rest);
    sealed
}

fn read(bytes: &[u8]) {
    let Ok(mut file) = RecordingFile::from_bytes(bytes.to_vec()) else { return };
    let mut events = 0;
    while let Ok(Some(item)) = file.next_item() {
        events += u64::from(matches!(item, Item::Event(_)));
    }
    assert!(events <= file.event_count(), "{events} of {}", file.event_count());
    assert!(events <= bytes.len() as u64, "every event has at least a byte");
    // The following may reject the recording, but must not panic.
    file.rewind();
    let _ = tactus_record::ndjson::export(&mut file, &mut io::sink());
    file.rewind();
    let _ = tactus_record::perfetto::export(&mut file, &mut io::sink());
    file.rewind();
    let rates = TickRate::new(250).into_iter().collect();
    let _ = account(&mut file, &AccountOptions { rates });
    file.rewind();
    let options = Options { threshold: Nanos::from_micros(1), slowest: 3, timelines: 1 };
    if let Ok(explanation) = explain(&mut file, TASKS.clone(), options) {
        for explained in explanation.worst.iter().filter(|sample| sample.outcome.can_blame()) {
            let parts: Nanos = explained.parts.iter().map(|part| part.time).sum();
            assert_eq!(parts, explained.sample.latency(), "causes add up to the latency");
        }
    }
    file.rewind();
    let _ = witness(&mut file, TASKS.clone());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seeds_are_recordings_with_correct_checksums() {
        for seed in seeds() {
            assert!(RecordingFile::from_bytes(seed.clone()).unwrap().event_count() > 0);
            assert!(sealed(&seed) == seed);
        }
        assert!(TASKS.len() > 5, "{}", TASKS.len());
    }
}
