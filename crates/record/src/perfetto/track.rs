//! Events that become slices and marks on our own tracks.

use tactus_model::recording::{Event, EventKind, InterruptVector};

/// The kinds of `TrackEvent.Type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Begin = 1,
    End = 2,
    Instant = 3,
}

/// A slice's beginning or end, or a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slice {
    /// The number of its track.
    pub(super) track: u64,
    pub(super) phase: Phase,
    /// Its name; empty at its end.
    pub(super) name: &'static str,
}

/// The upper half of a track number is the kind of its object.
const OF_CPU: u64 = 1 << 32;
const OF_THREAD: u64 = 2 << 32;

/// The slice that `event` begins or ends; `None` for other events.
pub(super) fn slice(event: &Event) -> Option<Slice> {
    let on_cpu = OF_CPU | u64::from(event.cpu);
    let on_thread = OF_THREAD | u64::from(event.thread.0 as u32);
    let (track, phase, name) = match event.kind {
        EventKind::VectorEntry(InterruptVector::LocalTimer)
        | EventKind::VectorExit(InterruptVector::LocalTimer) => return None,
        EventKind::VectorEntry(vector) => (on_cpu, Phase::Begin, vector.word()),
        EventKind::VectorExit(_) => (on_cpu, Phase::End, ""),
        EventKind::CallEnter(call) => (on_thread, Phase::Begin, call.word()),
        EventKind::CallExit { .. } => (on_thread, Phase::End, ""),
        EventKind::PageFaultUser(_) => (on_thread, Phase::Instant, "page fault in user mode"),
        EventKind::PageFaultKernel(_) => (on_thread, Phase::Instant, "page fault in the kernel"),
        _ => return None,
    };
    Some(Slice { track, phase, name })
}

impl Slice {
    /// The name of the track for this slice of `event`.
    pub(super) fn track_name(&self, event: &Event) -> String {
        if self.track & OF_THREAD != 0 {
            format!("calls and faults of thread {}", event.thread)
        } else {
            format!("interrupts of CPU {}", event.cpu)
        }
    }
}
