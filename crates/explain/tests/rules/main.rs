//! Every rule of matching and blame, each on a machine simulated for it.

mod circumstance;
mod host;
mod interrupt;
mod late_interrupt;
mod missing_switch;
mod observer;
mod outcome;
mod received;
#[expect(dead_code, reason = "another test uses the rest")]
#[path = "../support/mod.rs"]
mod support;
mod thread;
mod throttling;
mod waker;
mod whole;

use support::{IDLE, PREEMPTED, SLEEPING, STOPPED, Script, TIMER, Thread, UNINTERRUPTIBLE, shown};
use tactus_explain::{
    Cause, Circumstance, Circumstances, Explanation, MatchOutcome, Options, Segment, Serving,
    ServingCount, Unmatched, waits,
};
use tactus_model::probe::SleepMethod;
use tactus_model::recording::{
    EventKind, InterruptVector, Priority, QuotaGroup, Softirq, ThreadId,
};
use tactus_model::time::Nanos;

/// Two CPUs. The probe (fifo:90) has gone to sleep on CPU 0 with its timer armed for
/// 1000, and `hog` has run there since 20.
struct Stage {
    script: Script,
    probe: Thread,
    hog: Thread,
}

fn stage() -> Stage {
    stage_of(9, 120)
}

fn stage_of(probe_priority: i16, hog_priority: i16) -> Stage {
    let mut script = Script::new(2);
    let probe = script.thread("probe", 100, probe_priority);
    let hog = script.thread("hog", 200, hog_priority);
    script.idle_entry(1, 1, 1);
    script.switch(5, 0, PREEMPTED, probe);
    script.arm(10, 0, TIMER, 1000, if probe_priority < 100 { 0 } else { 50 });
    script.switch(20, 0, SLEEPING, hog);
    Stage { script, probe, hog }
}

#[track_caller]
fn check(script: Script, probe: Thread, came: u64, parts: &[&str]) {
    let explained = script.explain_one(probe, 1000, came);
    assert_eq!(shown(&explained), parts, "{:?}", explained.outcome);
}

#[track_caller]
fn check_outcome(explanation: &Explanation, outcome: MatchOutcome) {
    assert_eq!(explanation.count(outcome), 1, "{:?}", explanation.outcomes);
}
