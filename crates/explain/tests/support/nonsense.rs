//! Event streams without any consistency.

use proptest::prelude::*;
use tactus_model::recording::{
    ChainId, Context, Event, EventKind, FunctionId, InterruptVector, NameId, PageFault, Priority,
    SleepingCall, Softirq, TaskState, ThreadId, Wakeup,
};
use tactus_model::time::{Instant, Nanos};

const CPUS: u32 = 3;
const THREADS: i32 = 5;

fn thread() -> impl Strategy<Value = ThreadId> {
    (0..THREADS).prop_map(ThreadId)
}

fn name() -> impl Strategy<Value = NameId> {
    (0..4_u32).prop_map(NameId::from_index)
}

fn function() -> impl Strategy<Value = FunctionId> {
    (0..4_u32).prop_map(FunctionId::from_index)
}

fn wakeup() -> impl Strategy<Value = Wakeup> {
    (thread(), name(), -1..140_i16, 0..CPUS).prop_map(|(thread, name, priority, target_cpu)| {
        Wakeup { thread, name, priority: Priority(priority), target_cpu }
    })
}

fn switch() -> impl Strategy<Value = EventKind> {
    (thread(), thread(), name(), -1..140_i16, prop::sample::select(vec![0, 1, 2, 4, 16, 256]))
        .prop_map(|(prev, next, name, priority, state)| EventKind::Switch {
            prev,
            prev_name: name,
            prev_priority: Priority(priority),
            prev_state: TaskState(state),
            next,
            next_name: name,
            next_priority: Priority(priority),
        })
}

fn kind(span: u64) -> impl Strategy<Value = EventKind> {
    let vector = || prop::sample::select(InterruptVector::ALL.to_vec());
    let timer = 0..3_u64;
    let page_fault = PageFault { address: 0, instruction: 0, error_code: 0 };
    prop_oneof![
        4 => switch(),
        2 => wakeup().prop_map(EventKind::Waking),
        2 => wakeup().prop_map(EventKind::Wakeup),
        1 => wakeup().prop_map(EventKind::WakeupNew),
        1 => (thread(), 0..CPUS).prop_map(|(thread, to_cpu)| EventKind::Migrate {
            thread, priority: Priority(120), from_cpu: 0, to_cpu,
        }),
        1 => (thread(), 0..span).prop_map(|(thread, runtime)| EventKind::Runtime {
            thread, runtime: Nanos::from_nanos(runtime),
        }),
        2 => (timer.clone(), function(), 0..span, 0..span).prop_map(|(timer, function, a, b)| {
            EventKind::HrtimerStart {
                timer, function, mode: 0,
                expires: Nanos::from_nanos(a.max(b)), soft_expires: Nanos::from_nanos(a.min(b)),
            }
        }),
        1 => timer.clone().prop_map(|timer| EventKind::HrtimerCancel { timer }),
        2 => (timer.clone(), function(), 0..span).prop_map(|(timer, function, now)| {
            EventKind::HrtimerExpireEntry { timer, function, now: Nanos::from_nanos(now) }
        }),
        2 => timer.prop_map(|timer| EventKind::HrtimerExpireExit { timer }),
        2 => vector().prop_map(EventKind::VectorEntry),
        2 => vector().prop_map(EventKind::VectorExit),
        1 => (0..3_i32, name()).prop_map(|(irq, name)| EventKind::IrqEntry { irq, name }),
        1 => (0..3_i32).prop_map(|irq| EventKind::IrqExit { irq, handled: true }),
        1 => (0..10_u8).prop_map(|softirq| EventKind::SoftirqEntry(Softirq(softirq))),
        1 => (0..10_u8).prop_map(|softirq| EventKind::SoftirqExit(Softirq(softirq))),
        1 => (0..3_u32).prop_map(|state| EventKind::IdleEntry { state }),
        1 => Just(EventKind::IdleExit),
        1 => Just(EventKind::PageFaultUser(page_fault)),
        1 => thread().prop_map(|thread| EventKind::Exit { thread }),
        1 => Just(EventKind::CallExit { call: SleepingCall::ClockNanosleep, returned: 0 }),
    ]
}

/// Up to 200 events within `span` nanoseconds, in the order of time.
pub fn events(span: u64) -> impl Strategy<Value = Vec<Event>> {
    let event = (0..span, 0..CPUS, thread(), any::<u8>(), prop::option::of(0..3_u32), kind(span))
        .prop_map(|(at, cpu, thread, flags, chain, kind)| Event {
            at: Instant::from_nanos(at),
            cpu,
            thread: match kind {
                EventKind::Switch { prev, .. } => prev,
                _ => thread,
            },
            context: Context { flags, preempt_count: 0 },
            chain: chain.and_then(ChainId::from_index),
            kind,
        });
    prop::collection::vec(event, 0..200).prop_map(|mut events| {
        events.sort_by_key(|event| event.at);
        events
    })
}
