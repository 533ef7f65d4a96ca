//! Events that Perfetto supports as ftrace events.

use tactus_model::protobuf::Message;
use tactus_model::recording::{Dictionary, Event, EventKind, InterruptVector, Wakeup};

/// Adds `event` to the events of a bundle; returns false if there is no message for it.
pub(super) fn encode(event: &Event, dictionary: &Dictionary, events: &mut Message) -> bool {
    let mut payload = Message::default();
    let Some(field) = encode_kind(&event.kind, dictionary, &mut payload) else { return false };
    events.message(2, |message| {
        // The kernel's number of the idle thread is 0 on every CPU.
        message.number(1, event.at.as_nanos()).number(2, event.thread.0 as u64);
        message.message(field, |inner| inner.append(&payload));
    });
    true
}

/// Fills `out`; returns the field of `FtraceEvent` to which it belongs.
fn encode_kind(kind: &EventKind, dictionary: &Dictionary, out: &mut Message) -> Option<u64> {
    let address = |function| dictionary.function(function).address;
    let signed = |value: i64| value as u64;
    let wakeup = |out: &mut Message, wakeup: &Wakeup| {
        out.text(1, dictionary.name(wakeup.name))
            .number(2, wakeup.thread.0 as u64)
            .number(3, signed(wakeup.priority.0.into()))
            .number(4, 1)
            .number(5, wakeup.target_cpu.into());
    };
    Some(match kind {
        EventKind::Switch {
            prev,
            prev_name,
            prev_priority,
            prev_state,
            next,
            next_name,
            next_priority,
        } => {
            out.text(1, dictionary.name(*prev_name))
                .number(2, prev.0 as u64)
                .number(3, signed(prev_priority.0.into()))
                .number(4, prev_state.0.into())
                .text(5, dictionary.name(*next_name))
                .number(6, next.0 as u64)
                .number(7, signed(next_priority.0.into()));
            4
        }
        EventKind::Waking(who) => {
            wakeup(out, who);
            20
        }
        EventKind::Wakeup(who) => {
            wakeup(out, who);
            17
        }
        EventKind::WakeupNew(who) => {
            wakeup(out, who);
            114
        }
        EventKind::Migrate { thread, priority, from_cpu, to_cpu } => {
            out.number(2, thread.0 as u64)
                .number(3, signed(priority.0.into()))
                .number(4, (*from_cpu).into())
                .number(5, (*to_cpu).into());
            491
        }
        EventKind::Fork { child, child_name } => {
            out.text(3, dictionary.name(*child_name)).number(4, child.0 as u64);
            239
        }
        EventKind::Exit { thread } => {
            out.number(2, thread.0 as u64);
            238
        }
        EventKind::HrtimerStart { timer, function, expires, soft_expires, mode } => {
            out.number(1, *timer)
                .number(2, address(*function))
                .number(3, expires.as_nanos())
                .number(4, soft_expires.as_nanos())
                .number(5, (*mode).into());
            551
        }
        EventKind::HrtimerCancel { timer } => {
            out.number(1, *timer);
            552
        }
        EventKind::HrtimerExpireEntry { timer, function, now } => {
            out.number(1, *timer).number(2, now.as_nanos()).number(3, address(*function));
            553
        }
        EventKind::HrtimerExpireExit { timer } => {
            out.number(1, *timer);
            554
        }
        EventKind::TimerExpireEntry { timer, function, now_jiffies } => {
            out.number(1, *timer).number(2, *now_jiffies).number(3, address(*function));
            557
        }
        EventKind::TimerExpireExit { timer } => {
            out.number(1, *timer);
            558
        }
        EventKind::VectorEntry(InterruptVector::LocalTimer) => 559,
        EventKind::VectorExit(InterruptVector::LocalTimer) => 560,
        EventKind::IrqEntry { irq, name } => {
            out.number(1, signed((*irq).into())).text(2, dictionary.name(*name));
            36
        }
        EventKind::IrqExit { irq, handled } => {
            out.number(1, signed((*irq).into())).number(2, (*handled).into());
            37
        }
        EventKind::SoftirqRaise(softirq) => {
            out.number(1, softirq.0.into());
            26
        }
        EventKind::SoftirqEntry(softirq) => {
            out.number(1, softirq.0.into());
            24
        }
        EventKind::SoftirqExit(softirq) => {
            out.number(1, softirq.0.into());
            25
        }
        EventKind::IdleEntry { state } => {
            out.number(1, (*state).into());
            13
        }
        EventKind::IdleExit => {
            out.number(1, u32::MAX.into());
            13
        }
        EventKind::SignalDeliver { signal } => {
            out.number(3, signed((*signal).into()));
            324
        }
        EventKind::BlockIssue { device, sector, sectors } => {
            out.number(1, (*device).into()).number(2, *sector).number(3, (*sectors).into());
            45
        }
        EventKind::BlockComplete { device, sector, sectors, error } => {
            out.number(1, (*device).into())
                .number(2, *sector)
                .number(3, (*sectors).into())
                .number(4, signed((*error).into()));
            125
        }
        EventKind::WorkStart { work, function } => {
            out.number(1, *work).number(2, address(*function));
            58
        }
        EventKind::WorkEnd { work, .. } => {
            out.number(1, *work);
            57
        }
        // Charged time does not appear in a timeline; other events go on tracks.
        EventKind::Runtime { .. }
        | EventKind::VectorEntry(_)
        | EventKind::VectorExit(_)
        | EventKind::CallEnter(_)
        | EventKind::CallExit { .. }
        | EventKind::PageFaultUser(_)
        | EventKind::PageFaultKernel(_)
        | EventKind::InheritPriority { .. }
        | EventKind::ContentionBegin { .. }
        | EventKind::ContentionEnd { .. }
        | EventKind::ReclaimBegin { .. }
        | EventKind::ReclaimEnd { .. }
        | EventKind::CompactionBegin { .. }
        | EventKind::CompactionEnd { .. }
        | EventKind::BlockStart { .. }
        | EventKind::BlockedReason { .. }
        | EventKind::SystemCallEnter { .. }
        | EventKind::SystemCallExit { .. }
        | EventKind::Mark { .. } => return None,
    })
}
