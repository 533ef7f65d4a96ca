//! Recordings for Perfetto (<https://ui.perfetto.dev>).
//!
//! Events for which Perfetto has a typed message become ftrace events, which it draws
//! on the tracks of threads and CPUs. Interrupt vectors without a message, system calls,
//! page faults, waits in the kernel and marks become track events. Field numbers are those of
//! `protos/perfetto/trace/perfetto_trace.proto`.
//!
//! Times are those of `CLOCK_MONOTONIC`. Perfetto interprets them as its default clock,
//! `CLOCK_BOOTTIME`, which differs only by time in suspend.

mod ftrace;
mod track;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use tactus_model::protobuf::Message;
use tactus_model::recording::{
    Dictionary, Event, EventKind, EventSource, Item, NameId, ProcessId, SourceError, ThreadId,
};

/// Why a recording was not exported to Perfetto.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The recording cannot be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The output cannot be written.
    #[error(transparent)]
    Write(#[from] io::Error),
}

/// The number of events of one CPU in a packet.
const BUNDLE: usize = 1024;

/// The sequence number of our packets; ftrace bundles have the same number.
const SEQUENCE: u64 = 1;

/// Writes everything in `source` to `out`.
///
/// # Errors
/// The recording is damaged, or writing to `out` fails.
pub fn export(source: &mut dyn EventSource, out: &mut dyn Write) -> Result<(), ExportError> {
    let mut writer = Writer::new(out);
    writer.first()?;
    while let Some(item) = source.next_item()? {
        match item {
            Item::Event(event) => writer.event(&event, source.dictionary())?,
            Item::Lost(lost) => writer.lost(lost.cpu)?,
        }
    }
    writer.flush()?;
    writer.processes(source.dictionary())
}

struct Writer<'a> {
    out: &'a mut dyn Write,
    bundles: BTreeMap<u32, Bundle>,
    /// Tracks that have been described.
    tracks: BTreeSet<u64>,
    /// The last name of each thread.
    names: BTreeMap<ThreadId, NameId>,
}

#[derive(Default)]
struct Bundle {
    events: Message,
    count: usize,
    lost: bool,
}

impl<'a> Writer<'a> {
    fn new(out: &'a mut dyn Write) -> Self {
        let (bundles, tracks, names) = (BTreeMap::new(), BTreeSet::new(), BTreeMap::new());
        Self { out, bundles, tracks, names }
    }

    /// Writes a packet; `fill` fills it.
    fn packet(&mut self, fill: impl FnOnce(&mut Message)) -> io::Result<()> {
        let mut trace = Message::default();
        trace.message(1, |packet| {
            packet.number(10, SEQUENCE);
            fill(packet);
        });
        self.out.write_all(trace.bytes())
    }

    /// The packet that starts the sequence.
    fn first(&mut self) -> io::Result<()> {
        self.packet(|packet| {
            packet.number(13, 1);
        })
    }

    fn event(&mut self, event: &Event, dictionary: &Dictionary) -> io::Result<()> {
        if let EventKind::Switch { prev, prev_name, next, next_name, .. } = event.kind {
            self.names.insert(prev, prev_name);
            self.names.insert(next, next_name);
        }
        if let Some(slice) = track::slice(event, dictionary) {
            return self.slice(event, &slice);
        }
        let bundle = self.bundles.entry(event.cpu).or_default();
        if ftrace::encode(event, dictionary, &mut bundle.events) {
            bundle.count += 1;
        }
        if bundle.count >= BUNDLE { self.flush_one(event.cpu) } else { Ok(()) }
    }

    fn slice(&mut self, event: &Event, slice: &track::Slice<'_>) -> io::Result<()> {
        if self.tracks.insert(slice.track) {
            let name = slice.track_name(event);
            self.packet(|packet| {
                packet.message(60, |track| {
                    track.number(1, slice.track).text(2, &name);
                });
            })?;
        }
        self.packet(|packet| {
            packet.number(8, event.at.as_nanos());
            packet.message(11, |track_event| {
                track_event.number(9, slice.phase as u64).number(11, slice.track);
                if !slice.name.is_empty() {
                    track_event.text(23, &slice.name);
                }
            });
        })
    }

    /// Reports that events of `cpu` are missing from here on.
    fn lost(&mut self, cpu: u32) -> io::Result<()> {
        self.flush_one(cpu)?;
        self.bundles.entry(cpu).or_default().lost = true;
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        let cpus: Vec<u32> = self.bundles.keys().copied().collect();
        cpus.into_iter().try_for_each(|cpu| self.flush_one(cpu))
    }

    fn flush_one(&mut self, cpu: u32) -> io::Result<()> {
        let bundle = self.bundles.entry(cpu).or_default();
        if bundle.count == 0 && !bundle.lost {
            return Ok(());
        }
        let bundle = std::mem::take(bundle);
        self.packet(|packet| {
            packet.message(1, |message| {
                message.number(1, cpu.into());
                message.append(&bundle.events);
                if bundle.lost {
                    message.number(3, 1);
                }
            });
        })
    }

    /// Writes which thread belongs to which process, and their names.
    fn processes(&mut self, dictionary: &Dictionary) -> Result<(), ExportError> {
        let names = std::mem::take(&mut self.names);
        let name = |thread: i32| names.get(&ThreadId(thread)).map(|name| dictionary.name(*name));
        let process_of: BTreeMap<ThreadId, ProcessId> =
            dictionary.processes().iter().copied().collect();
        let processes: BTreeSet<i32> = process_of.values().map(|process| process.0).collect();
        self.packet(|packet| {
            packet.message(2, |tree| {
                for process in processes {
                    tree.message(1, |message| {
                        message.number(1, process as u64);
                        if let Some(name) = name(process) {
                            message.text(3, name);
                        }
                    });
                }
                for (thread, process) in process_of {
                    tree.message(2, |message| {
                        message.number(1, thread.0 as u64).number(3, process.0 as u64);
                        if let Some(name) = name(thread.0) {
                            message.text(2, name);
                        }
                    });
                }
            });
        })?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::{Plan, simulate};

    #[test]
    fn a_trace_is_a_sequence_of_packets() {
        let simulation = simulate(&Plan::default());
        let mut bytes = Vec::new();
        export(&mut simulation.recording.reader(), &mut bytes).unwrap();
        let mut rest = bytes.as_slice();
        let mut packets = 0;
        while let Some((&tag, after)) = rest.split_first() {
            assert_eq!(tag, 1 << 3 | 2);
            rest = after;
            let length = tactus_model::varint::read_unsigned(&mut rest).unwrap();
            rest = &rest[length as usize..];
            packets += 1;
        }
        assert!(packets > 4, "{packets}");
    }
}
