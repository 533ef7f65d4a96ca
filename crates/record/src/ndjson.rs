//! Recordings as lines of JSON, for other programs.
//!
//! The first line describes what the recording covers; every other line is an event or
//! a loss. Times are nanoseconds of `CLOCK_MONOTONIC`. Events have the kernel's names.
//!
//! ```
//! use tactus_record::simulate::{Plan, simulate};
//!
//! let simulation = simulate(&Plan::default());
//! let mut lines = Vec::new();
//! tactus_record::ndjson::export(&mut simulation.recording.reader(), &mut lines).unwrap();
//! let first = lines.split(|byte| *byte == b'\n').next().unwrap();
//! let about: serde_json::Value = serde_json::from_slice(first).unwrap();
//! assert_eq!(about["about"]["cpus"], "0-1");
//! ```

use std::io::Write;

use serde_json::{Map, Value, json};
use tactus_model::recording::{Dictionary, Event, EventKind, EventSource, Item, PageFault, Wakeup};

use crate::perfetto::ExportError;

/// Writes everything in `source` to `out`, one line for each item.
///
/// # Errors
/// The recording is damaged, or writing to `out` fails.
pub fn export(source: &mut dyn EventSource, out: &mut dyn Write) -> Result<(), ExportError> {
    writeln!(out, "{}", json!({ "about": source.about() }))?;
    while let Some(item) = source.next_item()? {
        let line = match item {
            Item::Event(event) => event_line(&event, source.dictionary()),
            Item::Lost(lost) => json!({ "lost": lost }),
        };
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn event_line(event: &Event, dictionary: &Dictionary) -> Value {
    let (name, fields) = name_and_fields(&event.kind, dictionary);
    let mut line = Map::new();
    line.insert("at".to_owned(), event.at.as_nanos().into());
    line.insert("cpu".to_owned(), event.cpu.into());
    line.insert("thread".to_owned(), event.thread.0.into());
    line.insert("flags".to_owned(), event.context.flags.into());
    line.insert("preempt_count".to_owned(), event.context.preempt_count.into());
    line.insert("event".to_owned(), name.into());
    if let Value::Object(fields) = fields {
        line.extend(fields);
    }
    if let Some(chain) = event.chain {
        let frames: Vec<Value> = dictionary
            .chain(chain)
            .iter()
            .map(|frame| function_value(dictionary, *frame))
            .collect();
        line.insert("chain".to_owned(), frames.into());
    }
    Value::Object(line)
}

/// A function's name, or its address if it has no name.
fn function_value(dictionary: &Dictionary, function: tactus_model::recording::FunctionId) -> Value {
    let place = dictionary.function(function);
    match dictionary.name(place.name) {
        "?" => format!("{:#x}", place.address).into(),
        name => name.into(),
    }
}

/// The kernel's name of an event, and its fields.
fn name_and_fields(kind: &EventKind, dictionary: &Dictionary) -> (String, Value) {
    let name = |id| dictionary.name(id);
    let function = |id| function_value(dictionary, id);
    let wakeup = |who: &Wakeup| {
        json!({ "pid": who.thread, "comm": name(who.name), "prio": who.priority,
                "target_cpu": who.target_cpu })
    };
    let fault = |fault: &PageFault| {
        json!({ "address": fault.address, "ip": fault.instruction,
                "error_code": fault.error_code })
    };
    let (event, fields) = match kind {
        EventKind::Switch {
            prev,
            prev_name,
            prev_priority,
            prev_state,
            next,
            next_name,
            next_priority,
        } => (
            "sched_switch",
            json!({ "prev_pid": prev, "prev_comm": name(*prev_name),
                    "prev_prio": prev_priority, "prev_state": prev_state,
                    "next_pid": next, "next_comm": name(*next_name),
                    "next_prio": next_priority }),
        ),
        EventKind::Waking(who) => ("sched_waking", wakeup(who)),
        EventKind::Wakeup(who) => ("sched_wakeup", wakeup(who)),
        EventKind::WakeupNew(who) => ("sched_wakeup_new", wakeup(who)),
        EventKind::Migrate { thread, priority, from_cpu, to_cpu } => (
            "sched_migrate_task",
            json!({ "pid": thread, "prio": priority, "orig_cpu": from_cpu, "dest_cpu": to_cpu }),
        ),
        EventKind::Runtime { thread, runtime } => {
            ("sched_stat_runtime", json!({ "pid": thread, "runtime": runtime }))
        }
        EventKind::Fork { child, child_name } => {
            ("sched_process_fork", json!({ "child_pid": child, "child_comm": name(*child_name) }))
        }
        EventKind::Exit { thread } => ("sched_process_exit", json!({ "pid": thread })),
        EventKind::HrtimerStart { timer, function: id, expires, soft_expires, mode } => (
            "hrtimer_start",
            json!({ "hrtimer": timer, "function": function(*id), "expires": expires,
                    "softexpires": soft_expires, "mode": mode }),
        ),
        EventKind::HrtimerCancel { timer } => ("hrtimer_cancel", json!({ "hrtimer": timer })),
        EventKind::HrtimerExpireEntry { timer, function: id, now } => (
            "hrtimer_expire_entry",
            json!({ "hrtimer": timer, "function": function(*id), "now": now }),
        ),
        EventKind::HrtimerExpireExit { timer } => {
            ("hrtimer_expire_exit", json!({ "hrtimer": timer }))
        }
        EventKind::TimerExpireEntry { timer, function: id, now_jiffies } => (
            "timer_expire_entry",
            json!({ "timer": timer, "function": function(*id), "now": now_jiffies }),
        ),
        EventKind::TimerExpireExit { timer } => ("timer_expire_exit", json!({ "timer": timer })),
        EventKind::VectorEntry(vector) => return (format!("{vector}_entry"), json!({})),
        EventKind::VectorExit(vector) => return (format!("{vector}_exit"), json!({})),
        EventKind::IrqEntry { irq, name: id } => {
            ("irq_handler_entry", json!({ "irq": irq, "name": name(*id) }))
        }
        EventKind::IrqExit { irq, handled } => {
            ("irq_handler_exit", json!({ "irq": irq, "handled": handled }))
        }
        EventKind::SoftirqRaise(softirq) => ("softirq_raise", json!({ "vec": softirq.name() })),
        EventKind::SoftirqEntry(softirq) => ("softirq_entry", json!({ "vec": softirq.name() })),
        EventKind::SoftirqExit(softirq) => ("softirq_exit", json!({ "vec": softirq.name() })),
        EventKind::IdleEntry { state } => ("cpu_idle", json!({ "state": state })),
        EventKind::IdleExit => ("cpu_idle", json!({ "state": null })),
        EventKind::CallEnter(call) => return (format!("sys_enter_{call}"), json!({})),
        EventKind::CallExit { call, returned } => {
            return (format!("sys_exit_{call}"), json!({ "ret": returned }));
        }
        EventKind::SignalDeliver { signal } => ("signal_deliver", json!({ "sig": signal })),
        EventKind::BlockIssue { device, sector, sectors } => {
            ("block_rq_issue", json!({ "dev": device, "sector": sector, "nr_sector": sectors }))
        }
        EventKind::BlockComplete { device, sector, sectors, error } => (
            "block_rq_complete",
            json!({ "dev": device, "sector": sector, "nr_sector": sectors, "error": error }),
        ),
        EventKind::WorkStart { work, function: id } => {
            ("workqueue_execute_start", json!({ "work": work, "function": function(*id) }))
        }
        EventKind::WorkEnd { work, function: id } => {
            ("workqueue_execute_end", json!({ "work": work, "function": function(*id) }))
        }
        EventKind::PageFaultUser(what) => ("page_fault_user", fault(what)),
        EventKind::PageFaultKernel(what) => ("page_fault_kernel", fault(what)),
        EventKind::InheritPriority { thread, old, new } => {
            ("sched_pi_setprio", json!({ "pid": thread, "oldprio": old, "newprio": new }))
        }
        EventKind::ContentionBegin { lock, kind } => {
            ("contention_begin", json!({ "lock_addr": lock, "flags": kind, "kind": kind.word() }))
        }
        EventKind::ContentionEnd { lock, error } => {
            ("contention_end", json!({ "lock_addr": lock, "ret": error }))
        }
        EventKind::ReclaimBegin { reclaim, order } => {
            return (format!("mm_vmscan_{reclaim}_reclaim_begin"), json!({ "order": order }));
        }
        EventKind::ReclaimEnd { reclaim, pages } => {
            return (format!("mm_vmscan_{reclaim}_reclaim_end"), json!({ "nr_reclaimed": pages }));
        }
        EventKind::CompactionBegin { sync } => ("mm_compaction_begin", json!({ "sync": sync })),
        EventKind::CompactionEnd { status } => ("mm_compaction_end", json!({ "status": status })),
        EventKind::BlockStart { device, sector, sectors } => {
            ("block_io_start", json!({ "dev": device, "sector": sector, "nr_sector": sectors }))
        }
        EventKind::BlockedReason { thread, place, io } => (
            "sched_blocked_reason",
            json!({ "pid": thread, "caller": function(*place), "io_wait": io }),
        ),
        EventKind::SystemCallEnter { call, arguments } => {
            return (format!("sys_enter_{}", name(*call)), json!({ "args": arguments }));
        }
        EventKind::SystemCallExit { call, returned } => {
            return (format!("sys_exit_{}", name(*call)), json!({ "ret": returned }));
        }
        EventKind::Mark { text } => ("print", json!({ "buf": name(*text) })),
    };
    (event.to_owned(), fields)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::{Plan, simulate};

    #[test]
    fn every_event_is_a_line() {
        let simulation = simulate(&Plan::default());
        let mut bytes = Vec::new();
        export(&mut simulation.recording.reader(), &mut bytes).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let lines: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), simulation.recording.events.len() + 1);
        let switches =
            lines.iter().filter(|line| line["event"] == "sched_switch").collect::<Vec<_>>();
        assert!(switches.iter().any(|line| line["next_comm"] == "probe"));
    }
}
