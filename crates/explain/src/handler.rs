//! How long an interrupt handler ran, each time.

use std::collections::BTreeMap;

use tactus_model::cpus::CpuChoice;
use tactus_model::recording::{EventKind, EventSource, InterruptVector, Item, SourceError};
use tactus_model::time::{Instant, Monotonic};
use tactus_stats::LatencyHistogram;

/// The durations of the handler of `vector` on `cpus`, from its entry to its exit. They contain what
/// recording the events in between takes, and not the CPU's own entry into the kernel.
///
/// # Errors
/// Those of the source.
pub fn handler_times(
    source: &mut dyn EventSource,
    vector: InterruptVector,
    cpus: &CpuChoice,
) -> Result<LatencyHistogram, SourceError> {
    let mut lengths = LatencyHistogram::new();
    let mut entered: BTreeMap<u32, Instant<Monotonic>> = BTreeMap::new();
    while let Some(item) = source.next_item()? {
        let event = match item {
            Item::Event(event) => event,
            // An exit may be among what was lost.
            Item::Lost(_) => {
                entered.clear();
                continue;
            }
        };
        let is_of_cell = match cpus {
            CpuChoice::All => true,
            CpuChoice::These(cpus) => cpus.contains(event.cpu),
        };
        match event.kind {
            EventKind::VectorEntry(found) if found == vector && is_of_cell => {
                entered.insert(event.cpu, event.at);
            }
            EventKind::VectorExit(found) if found == vector => {
                if let Some(from) = entered.remove(&event.cpu) {
                    lengths.record(event.at - from);
                }
            }
            _ => {}
        }
    }
    Ok(lengths)
}

#[cfg(test)]
mod tests {
    use tactus_model::cpus::CpuList;
    use tactus_model::recording::{
        About, Context, Dictionary, Event, Lost, Observers, Recording, ThreadId,
    };
    use tactus_model::time::Nanos;

    use super::*;

    const TIMER: InterruptVector = InterruptVector::LocalTimer;

    fn event(at: u64, cpu: u32, kind: EventKind) -> Event {
        let at = Instant::from_nanos(at);
        Event {
            at,
            cpu,
            thread: ThreadId(1),
            context: Context { flags: 0, preempt_count: 0 },
            chain: None,
            kind,
        }
    }

    #[test]
    fn handlers_of_the_vector_and_the_cpus_are_timed_and_lost_ones_are_not() {
        let (enter, exit) = (EventKind::VectorEntry, EventKind::VectorExit);
        let events = vec![
            event(100, 0, enter(TIMER)),
            event(110, 1, enter(TIMER)),
            event(120, 0, enter(InterruptVector::IrqWork)),
            event(130, 0, exit(InterruptVector::IrqWork)),
            event(150, 0, exit(TIMER)),
            event(190, 1, exit(TIMER)),
            event(200, 0, enter(TIMER)),
            // Lost: the exit, and another entry.
            event(900, 0, exit(TIMER)),
        ];
        let at = Instant::from_nanos;
        let losses = vec![Lost { cpu: 0, from: at(250), to: at(850), count: 2 }];
        let about = About {
            started: at(0),
            cpus: [0, 1].into_iter().collect(),
            events: Vec::new(),
            absent: Vec::new(),
            kernel: None,
            mechanism: None,
            timer_tick: None,
            observers: Observers::default(),
            quotas: None,
            saved_for: None,
        };
        let recording = Recording { about, dictionary: Dictionary::new(), events, losses };
        let times = |cpus: &CpuChoice| handler_times(&mut recording.reader(), TIMER, cpus).unwrap();
        let zero: CpuList = [0].into_iter().collect();
        let of_zero = times(&CpuChoice::These(zero));
        assert_eq!((of_zero.count(), of_zero.max()), (1, Some(Nanos::from_nanos(50))));
        assert_eq!(times(&CpuChoice::All).count(), 2);
    }
}
