//! Switches that no event told.

use super::*;

#[test]
fn a_thread_that_runs_though_it_was_not_seen_to_come_lacks_events() {
    let mut script = Script::new(1);
    let probe = script.thread("probe", 100, 9);
    let hog = script.thread("hog", 200, 120);
    script.switch(5, 0, PREEMPTED, probe).arm(10, 0, TIMER, 1000, 0);
    script.switch(20, 0, SLEEPING, hog).appears(0, probe).noise(1500, 0);
    let explanation = script.explain(probe, SleepMethod::Nanosleep, &[(1000, 1490)]);
    check_outcome(&explanation, MatchOutcome::Unmatched(Unmatched::EventsMissing));
    assert_eq!(explanation.pareto.undivided, 1);
}

/// One processor whose idle thread tells nothing: the probe sleeps, its timer wakes
/// it out of idle, and it is heard again when it arms its next timer at `heard`.
fn mute_idle(heard: u64) -> (Script, Thread) {
    let mut script = Script::new(1);
    let probe = script.thread("probe", 100, 9);
    script.switch(5, 0, PREEMPTED, probe).arm(10, 0, TIMER, 1000, 0);
    script.switch(20, 0, SLEEPING, IDLE).timer_wakes(1002, 0, probe, true);
    script.appears(0, probe).arm(heard, 0, TIMER, 2000, 0);
    (script, probe)
}

#[test]
fn a_switch_out_of_a_mute_idle_thread_is_inferred() {
    let (mut script, probe) = mute_idle(1160);
    script.switch(1165, 0, SLEEPING, IDLE).timer_wakes(2001, 0, probe, true);
    script.appears(0, probe).arm(2030, 0, TIMER, 3000, 0);
    let samples = [(1000, 1150), (2000, 2012)];
    let explanation = script.explain(probe, SleepMethod::Nanosleep, &samples);
    assert_eq!(explanation.count(MatchOutcome::TimerSwitchUntold), 2, "{:?}", explanation.outcomes);
    assert_eq!(explanation.matched(), 1.0);
    let late = &explanation.worst[0];
    let known = late.segments.expect("its timer was found");
    assert_eq!(known.get(Segment::WakeupToSwitch), Nanos::from_micros(146));
    assert_eq!(known.get(Segment::SwitchToUser), Nanos::ZERO);
    assert_eq!(shown(late)[0], "143 processor 0 from idle to its thread, the switch not told");
}

#[test]
fn a_thread_that_is_heard_before_its_sample_came_ends_the_way_out_of_idle() {
    let (script, probe) = mute_idle(1110);
    let explained = script.explain_one(probe, 1000, 1150);
    assert_eq!(explained.outcome, MatchOutcome::TimerSwitchUntold);
    let untold = "103 processor 0 from idle to its thread, the switch not told";
    assert_eq!(shown(&explained)[0], untold);
    assert_eq!(
        shown(&explained)[1],
        "40 the switch to the late thread and its return to user mode"
    );
}

#[test]
fn a_switch_out_of_any_mute_thread_is_inferred() {
    let Stage { mut script, probe, .. } = stage();
    script.timer_wakes(1002, 0, probe, true).appears(0, probe).arm(1200, 0, TIMER, 2000, 0);
    let explained = script.explain_one(probe, 1000, 1150);
    assert_eq!(explained.outcome, MatchOutcome::TimerSwitchUntold);
    assert_eq!(shown(&explained)[0], "143 a kernel section not preempted, thread hog (200, other)");
}

#[test]
fn beside_a_loss_of_events_no_switch_is_inferred() {
    let (mut script, probe) = mute_idle(1160);
    script.lose(0, 400, 500);
    script.switch(1165, 0, SLEEPING, IDLE);
    let explanation = script.explain(probe, SleepMethod::Nanosleep, &[(1000, 1150)]);
    check_outcome(&explanation, MatchOutcome::Unmatched(Unmatched::EventsMissing));
}

#[test]
fn out_of_idle_without_a_wakeup_events_are_missing() {
    let mut script = Script::new(1);
    let probe = script.thread("probe", 100, 9);
    script.switch(5, 0, PREEMPTED, probe).arm(10, 0, TIMER, 1000, 0);
    script.switch(20, 0, SLEEPING, IDLE).appears(0, probe).noise(1500, 0);
    let explanation = script.explain(probe, SleepMethod::Nanosleep, &[(1000, 1490)]);
    check_outcome(&explanation, MatchOutcome::Unmatched(Unmatched::EventsMissing));
}
