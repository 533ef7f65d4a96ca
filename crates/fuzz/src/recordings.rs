//! Recordings, from the file to the explanation.

use std::io;
use std::sync::LazyLock;

use serde_json::Value;
use tactus_explain::account::{AccountOptions, TickRate, account};
use tactus_explain::{Options, ProbeTask, explain, witness};
use tactus_model::recording::{
    About, Context, Dictionary, Event, EventKind, EventSource, Item, LockKind, Priority, Reclaim,
    Recording, ThreadId,
};
use tactus_model::time::{Instant, Nanos};
use tactus_record::codec::{Block, BlockHeader, PREAMBLE};
use tactus_record::decode::Tracepoint;
use tactus_record::file::RecordingFile;

use crate::seeds;

/// The golden recordings, and one of events that explain sleeps, which they do not have.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = seeds::files("tests/data/blame", &[".tactusrec"]);
    seeds.push(tactus_record::file::to_bytes(&of_sleeps()));
    seeds
}

/// A recording with each event that explains a sleep.
fn of_sleeps() -> Recording {
    let mut dictionary = Dictionary::new();
    let (call, text) = (dictionary.intern("futex"), dictionary.intern("job done"));
    let place = dictionary.intern_function(0xffff_ffff_8100_0000);
    dictionary.name_function(place, "futex_do_wait");
    let thread = ThreadId(7);
    let (old, new) = (Priority(120), Priority(9));
    let (device, sector, sectors) = (8, 4096, 16);
    let (reclaim, lock) = (Reclaim::Memcg, 0xffff_8880_0000_1000);
    let kinds = [
        EventKind::SystemCallEnter { call, arguments: [0x7fff_0000_1000, 128, 2] },
        EventKind::InheritPriority { thread, old, new },
        EventKind::ContentionBegin { lock, kind: LockKind(0x20) },
        EventKind::ContentionEnd { lock, error: 0 },
        EventKind::ReclaimBegin { reclaim, order: 0 },
        EventKind::CompactionBegin { sync: true },
        EventKind::CompactionEnd { status: 5 },
        EventKind::ReclaimEnd { reclaim, pages: 32 },
        EventKind::BlockStart { device, sector, sectors },
        EventKind::BlockedReason { thread, place, io: true },
        EventKind::SystemCallExit { call, returned: -11 },
        EventKind::Mark { text },
    ];
    let event = |(index, kind)| Event {
        at: Instant::from_nanos(1_000 * (1 + index as u64)),
        cpu: 0,
        thread,
        context: Context::default(),
        chain: None,
        kind,
    };
    let about = About {
        events: Tracepoint::all().into_iter().map(Tracepoint::name).collect(),
        ..About::new(Instant::from_nanos(0), [0].into_iter().collect())
    };
    let events = kinds.into_iter().enumerate().map(event).collect();
    Recording { about, dictionary, events, losses: Vec::new() }
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
