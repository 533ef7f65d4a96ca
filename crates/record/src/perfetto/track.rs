//! Events that become slices and marks on our own tracks.

use std::borrow::Cow;

use tactus_model::recording::{Dictionary, Event, EventKind, InterruptVector, ThreadId};

/// The kinds of `TrackEvent.Type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Begin = 1,
    End = 2,
    Instant = 3,
}

/// A slice's beginning or end, or a mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Slice<'a> {
    /// The number of its track.
    pub(super) track: u64,
    pub(super) phase: Phase,
    /// Its name; empty at its end.
    pub(super) name: Cow<'a, str>,
}

/// The upper half of a track number is the kind of its object.
const OF_CPU: u64 = 1 << 32;
const OF_THREAD: u64 = 2 << 32;

/// The slice that `event` begins or ends; `None` for other events.
pub(super) fn slice<'a>(event: &Event, dictionary: &'a Dictionary) -> Option<Slice<'a>> {
    let on_cpu = OF_CPU | u64::from(event.cpu);
    let of_thread = |thread: ThreadId| OF_THREAD | u64::from(thread.0 as u32);
    let on_thread = of_thread(event.thread);
    let (track, phase, name) = match event.kind {
        // Those with words of their own.
        EventKind::SystemCallEnter { call, .. } => {
            let name = dictionary.name(call).into();
            return Some(Slice { track: on_thread, phase: Phase::Begin, name });
        }
        EventKind::Mark { text } => {
            let name = dictionary.name(text).into();
            return Some(Slice { track: on_thread, phase: Phase::Instant, name });
        }
        EventKind::InheritPriority { thread, old, new } => {
            let name = format!("priority {} becomes {}", old.class(), new.class()).into();
            return Some(Slice { track: of_thread(thread), phase: Phase::Instant, name });
        }
        EventKind::ReclaimBegin { reclaim, .. } => {
            let name = format!("reclaim ({reclaim})").into();
            return Some(Slice { track: on_thread, phase: Phase::Begin, name });
        }
        EventKind::VectorEntry(InterruptVector::LocalTimer)
        | EventKind::VectorExit(InterruptVector::LocalTimer) => return None,
        EventKind::VectorEntry(vector) => (on_cpu, Phase::Begin, vector.word()),
        EventKind::VectorExit(_) => (on_cpu, Phase::End, ""),
        EventKind::CallEnter(call) => (on_thread, Phase::Begin, call.word()),
        EventKind::CallExit { .. } => (on_thread, Phase::End, ""),
        EventKind::PageFaultUser(_) => (on_thread, Phase::Instant, "page fault in user mode"),
        EventKind::PageFaultKernel(_) => (on_thread, Phase::Instant, "page fault in the kernel"),
        EventKind::ContentionBegin { kind, .. } => (on_thread, Phase::Begin, kind.word()),
        EventKind::CompactionBegin { .. } => (on_thread, Phase::Begin, "compaction"),
        EventKind::BlockStart { .. } => (on_thread, Phase::Instant, "block request"),
        EventKind::BlockedReason { thread, io, .. } => {
            let name = if io { "was blocked on I/O" } else { "was blocked" };
            (of_thread(thread), Phase::Instant, name)
        }
        EventKind::ContentionEnd { .. }
        | EventKind::ReclaimEnd { .. }
        | EventKind::CompactionEnd { .. }
        | EventKind::SystemCallExit { .. } => (on_thread, Phase::End, ""),
        _ => return None,
    };
    Some(Slice { track, phase, name: name.into() })
}

impl Slice<'_> {
    /// The name of the track for this slice of `event`.
    pub(super) fn track_name(&self, event: &Event) -> String {
        if self.track & OF_THREAD != 0 {
            format!("calls, faults and marks of thread {}", self.track as u32)
        } else {
            format!("interrupts of CPU {}", event.cpu)
        }
    }
}
