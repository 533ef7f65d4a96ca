use proptest::prelude::*;

use super::*;
use crate::codec::EventBlock;

fn thread() -> impl Strategy<Value = ThreadId> {
    any::<i32>().prop_map(ThreadId)
}

fn name() -> impl Strategy<Value = NameId> {
    any::<u32>().prop_map(NameId::from_index)
}

fn function() -> impl Strategy<Value = FunctionId> {
    any::<u32>().prop_map(FunctionId::from_index)
}

fn priority() -> impl Strategy<Value = Priority> {
    any::<i16>().prop_map(Priority)
}

fn nanos() -> impl Strategy<Value = Nanos> {
    any::<u64>().prop_map(Nanos::from_nanos)
}

fn wakeup() -> impl Strategy<Value = Wakeup> {
    (thread(), name(), priority(), any::<u32>()).prop_map(|(thread, name, priority, target_cpu)| {
        Wakeup { thread, name, priority, target_cpu }
    })
}

fn fault() -> impl Strategy<Value = PageFault> {
    (any::<u64>(), any::<u64>(), any::<u32>()).prop_map(|(address, instruction, error_code)| {
        PageFault { address, instruction, error_code }
    })
}

fn waits() -> impl Strategy<Value = EventKind> {
    let reclaim = || prop::sample::select(Reclaim::ALL);
    prop_oneof![
        (thread(), priority(), priority())
            .prop_map(|(thread, old, new)| EventKind::InheritPriority { thread, old, new }),
        (any::<u64>(), any::<u8>())
            .prop_map(|(lock, kind)| EventKind::ContentionBegin { lock, kind: LockKind(kind) }),
        (any::<u64>(), any::<i32>())
            .prop_map(|(lock, error)| EventKind::ContentionEnd { lock, error }),
        (reclaim(), any::<u8>())
            .prop_map(|(reclaim, order)| EventKind::ReclaimBegin { reclaim, order }),
        (reclaim(), any::<u64>())
            .prop_map(|(reclaim, pages)| EventKind::ReclaimEnd { reclaim, pages }),
        any::<bool>().prop_map(|sync| EventKind::CompactionBegin { sync }),
        any::<u8>().prop_map(|status| EventKind::CompactionEnd { status }),
        (any::<u32>(), any::<u64>(), any::<u32>()).prop_map(|(device, sector, sectors)| {
            EventKind::BlockStart { device, sector, sectors }
        }),
        (thread(), function(), any::<bool>())
            .prop_map(|(thread, place, io)| EventKind::BlockedReason { thread, place, io }),
        (name(), any::<[u64; 3]>())
            .prop_map(|(call, arguments)| EventKind::SystemCallEnter { call, arguments }),
        (name(), any::<i64>())
            .prop_map(|(call, returned)| EventKind::SystemCallExit { call, returned }),
        name().prop_map(|text| EventKind::Mark { text }),
    ]
}

fn softirq() -> impl Strategy<Value = Softirq> {
    any::<u8>().prop_map(Softirq)
}

fn scheduling() -> impl Strategy<Value = EventKind> {
    let switch = (thread(), name(), priority(), any::<u16>(), thread(), name(), priority());
    prop_oneof![
        switch.prop_map(|(prev, prev_name, prev_priority, state, next, next_name, priority)| {
            EventKind::Switch {
                prev,
                prev_name,
                prev_priority,
                prev_state: TaskState(state),
                next,
                next_name,
                next_priority: priority,
            }
        }),
        wakeup().prop_map(EventKind::Waking),
        wakeup().prop_map(EventKind::Wakeup),
        wakeup().prop_map(EventKind::WakeupNew),
        (thread(), priority(), any::<u32>(), any::<u32>()).prop_map(
            |(thread, priority, from_cpu, to_cpu)| EventKind::Migrate {
                thread,
                priority,
                from_cpu,
                to_cpu
            }
        ),
        (thread(), nanos()).prop_map(|(thread, runtime)| EventKind::Runtime { thread, runtime }),
        (thread(), name()).prop_map(|(child, child_name)| EventKind::Fork { child, child_name }),
        thread().prop_map(|thread| EventKind::Exit { thread }),
    ]
}

fn timers() -> impl Strategy<Value = EventKind> {
    prop_oneof![
        (any::<u64>(), function(), nanos(), nanos(), any::<u8>()).prop_map(
            |(timer, function, expires, soft_expires, mode)| EventKind::HrtimerStart {
                timer,
                function,
                expires,
                soft_expires,
                mode
            }
        ),
        any::<u64>().prop_map(|timer| EventKind::HrtimerCancel { timer }),
        (any::<u64>(), function(), nanos()).prop_map(|(timer, function, now)| {
            EventKind::HrtimerExpireEntry { timer, function, now }
        }),
        any::<u64>().prop_map(|timer| EventKind::HrtimerExpireExit { timer }),
        (any::<u64>(), function(), any::<u64>()).prop_map(|(timer, function, now_jiffies)| {
            EventKind::TimerExpireEntry { timer, function, now_jiffies }
        }),
        any::<u64>().prop_map(|timer| EventKind::TimerExpireExit { timer }),
    ]
}

fn others() -> impl Strategy<Value = EventKind> {
    let vector = || prop::sample::select(InterruptVector::ALL);
    let call = || prop::sample::select(SleepingCall::ALL);
    prop_oneof![
        vector().prop_map(EventKind::VectorEntry),
        vector().prop_map(EventKind::VectorExit),
        (any::<i32>(), name()).prop_map(|(irq, name)| EventKind::IrqEntry { irq, name }),
        (any::<i32>(), any::<bool>())
            .prop_map(|(irq, handled)| EventKind::IrqExit { irq, handled }),
        softirq().prop_map(EventKind::SoftirqRaise),
        softirq().prop_map(EventKind::SoftirqEntry),
        softirq().prop_map(EventKind::SoftirqExit),
        any::<u32>().prop_map(|state| EventKind::IdleEntry { state }),
        Just(EventKind::IdleExit),
        call().prop_map(EventKind::CallEnter),
        (call(), any::<i64>()).prop_map(|(call, returned)| EventKind::CallExit { call, returned }),
        any::<i32>().prop_map(|signal| EventKind::SignalDeliver { signal }),
        (any::<u32>(), any::<u64>(), any::<u32>()).prop_map(|(device, sector, sectors)| {
            EventKind::BlockIssue { device, sector, sectors }
        }),
        (any::<u32>(), any::<u64>(), any::<u32>(), any::<i32>()).prop_map(
            |(device, sector, sectors, error)| EventKind::BlockComplete {
                device,
                sector,
                sectors,
                error
            }
        ),
        (any::<u64>(), function())
            .prop_map(|(work, function)| EventKind::WorkStart { work, function }),
        (any::<u64>(), function())
            .prop_map(|(work, function)| EventKind::WorkEnd { work, function }),
        fault().prop_map(EventKind::PageFaultUser),
        fault().prop_map(EventKind::PageFaultKernel),
    ]
}

pub(crate) fn event() -> impl Strategy<Value = Event> {
    let context =
        any::<(u8, u8)>().prop_map(|(flags, preempt_count)| Context { flags, preempt_count });
    let chain = prop::option::of((0_u32..u32::MAX).prop_map(ChainId::from_index));
    let kind = prop_oneof![scheduling(), timers(), others(), waits()];
    (any::<u64>(), thread(), context, chain, kind).prop_map(|(at, thread, context, chain, kind)| {
        Event { at: Instant::from_nanos(at), cpu: 3, thread, context, chain: chain.flatten(), kind }
    })
}

#[test]
fn every_vector_call_and_kind_of_reclaim_has_a_number() {
    for vector in InterruptVector::ALL {
        assert!(VECTORS.contains(vector), "{vector}");
    }
    for call in SleepingCall::ALL {
        assert!(CALLS.contains(call), "{call}");
    }
    for reclaim in Reclaim::ALL {
        assert!(RECLAIMS.contains(reclaim), "{reclaim}");
    }
}

proptest! {
    #[test]
    fn events_are_restored(events in prop::collection::vec(event(), 0..40)) {
        let mut copies = Vec::new();
        for block in EventBlock::encode(3, &events) {
            let mut block = EventBlock::parse(block.into_payload()).unwrap();
            while let Some(event) = block.next_event().unwrap() {
                copies.push(event);
            }
        }
        prop_assert_eq!(copies, events);
    }

    #[test]
    fn any_bytes_are_events_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        if let Ok(mut block) = EventBlock::parse(bytes) {
            while let Ok(Some(_)) = block.next_event() {}
        }
    }
}
