//! Delays before the wakeup: page faults and relays.

use super::*;

#[test]
fn a_major_fault_of_the_probe_is_its_own() {
    let Stage { mut script, probe, hog } = stage();
    script.timer_wakes(1002, 0, probe, true).switch(1010, 0, PREEMPTED, probe);
    script.fault(1015, 0).switch(1020, 0, UNINTERRUPTIBLE, hog);
    script.irq(5000, 5002, 0, 30, "virtio-blk");
    script.softirq_entry(5003, 0, Softirq::BLOCK).wake(5004, 0, probe, 0);
    script.softirq_exit(5006, 0, Softirq::BLOCK).need_resched(0);
    script.switch(5010, 0, PREEMPTED, probe);
    let explained = script.explain_one(probe, 1000, 5020);
    assert_eq!(explained.outcome, MatchOutcome::Timer);
    // From the fault to the wakeup, and from the switch back to the arrival.
    assert_eq!(shown(&explained)[0], "3999 page fault of the late thread");
}

#[test]
fn a_stopped_relay_is_named_for_the_late_wakeup() {
    let mut script = Script::new(2);
    let probe = script.thread("sink", 100, 9);
    let relay = script.thread("relay", 101, 9);
    let shell = script.thread("sh", 50, 120);
    script.switch(1, 0, PREEMPTED, probe).switch(2, 0, SLEEPING, relay);
    script.switch(500, 0, STOPPED, IDLE).idle_entry(502, 0, 1);
    script.switch(10, 1, PREEMPTED, shell).wake(30_000, 1, relay, 0);
    script.idle_exit(30_003, 0).switch(30_005, 0, PREEMPTED, relay);
    script.wake(30_020, 0, probe, 0).switch(30_030, 0, SLEEPING, probe);
    let explanation = script.explain(probe, SleepMethod::Nanosleep, &[(1000, 30_035)]);
    check_outcome(&explanation, MatchOutcome::WokenByThread);
    assert_eq!(shown(&explanation.worst[0])[0], "29000 thread relay (101, rt:90) was stopped");
}

#[test]
fn a_chain_of_relays_is_followed_to_the_thread_that_worked() {
    let mut script = Script::new(2);
    let sink = script.thread("sink", 100, 120);
    let relay = script.thread("relay", 101, 120);
    let worker = script.thread("worker", 102, 120);
    script.switch(1, 0, PREEMPTED, relay).switch(2, 0, SLEEPING, sink);
    script.switch(3, 0, SLEEPING, IDLE).idle_entry(4, 0, 1);
    script.switch(10, 1, PREEMPTED, worker).wake(6000, 1, relay, 0);
    script.idle_exit(6003, 0).switch(6005, 0, PREEMPTED, relay);
    script.wake(6020, 0, sink, 0).switch(6030, 0, SLEEPING, sink);
    let explanation = script.explain(sink, SleepMethod::Futex, &[(1000, 6035)]);
    check_outcome(&explanation, MatchOutcome::WokenByThread);
    assert_eq!(shown(&explanation.worst[0])[0], "5000 thread worker (102, other)");
}
