//! Missing sched_switch events.

use super::*;

#[test]
fn a_running_thread_without_a_switch_to_it_has_missing_events() {
    let mut script = Script::new(1);
    let probe = script.thread("probe", 100, 9);
    let hog = script.thread("hog", 200, 120);
    script.switch(5, 0, PREEMPTED, probe).arm(10, 0, TIMER, 1000, 0);
    script.switch(20, 0, SLEEPING, hog).appears(0, probe).noise(1500, 0);
    let explanation = script.explain(probe, SleepMethod::Nanosleep, &[(1000, 1490)]);
    check_outcome(&explanation, MatchOutcome::Unmatched(Unmatched::EventsMissing));
    assert_eq!(explanation.pareto.undivided, 1);
}

/// A CPU whose idle thread writes no events: the probe sleeps, its timer wakes it out
/// of idle, and its first event is at `first_event`, when it arms its next timer.
fn mute_idle(first_event: u64) -> (Script, Thread) {
    let mut script = Script::new(1);
    let probe = script.thread("probe", 100, 9);
    script.switch(5, 0, PREEMPTED, probe).arm(10, 0, TIMER, 1000, 0);
    script.switch(20, 0, SLEEPING, IDLE).timer_wakes(1002, 0, probe, true);
    script.appears(0, probe).arm(first_event, 0, TIMER, 2000, 0);
    (script, probe)
}

#[test]
fn a_switch_out_of_a_mute_idle_thread_is_inferred() {
    let (mut script, probe) = mute_idle(1160);
    script.switch(1165, 0, SLEEPING, IDLE).timer_wakes(2001, 0, probe, true);
    script.appears(0, probe).arm(2030, 0, TIMER, 3000, 0);
    let samples = [(1000, 1150), (2000, 2012)];
    let explanation = script.explain(probe, SleepMethod::Nanosleep, &samples);
    assert_eq!(
        explanation.count(MatchOutcome::TimerSwitchMissing),
        2,
        "{:?}",
        explanation.outcomes
    );
    assert_eq!(explanation.matched(), 1.0);
    let late = &explanation.worst[0];
    let known = late.segments.expect("its timer was found");
    assert_eq!(known.get(Segment::WakeupToSwitch), Nanos::from_micros(146));
    assert_eq!(known.get(Segment::SwitchToUser), Nanos::ZERO);
    assert_eq!(shown(late)[0], "143 C-state exit of CPU 0 and switch (missing sched_switch event)");
}

#[test]
fn an_event_of_the_thread_before_its_arrival_ends_the_c_state_exit() {
    let (script, probe) = mute_idle(1110);
    let explained = script.explain_one(probe, 1000, 1150);
    assert_eq!(explained.outcome, MatchOutcome::TimerSwitchMissing);
    let switch = "103 C-state exit of CPU 0 and switch (missing sched_switch event)";
    assert_eq!(shown(&explained)[0], switch);
    assert_eq!(shown(&explained)[1], "40 switch to the late thread and return to user mode");
}

#[test]
fn a_switch_out_of_any_mute_thread_is_inferred() {
    let Stage { mut script, probe, .. } = stage();
    script.timer_wakes(1002, 0, probe, true).appears(0, probe).arm(1200, 0, TIMER, 2000, 0);
    let explained = script.explain_one(probe, 1000, 1150);
    assert_eq!(explained.outcome, MatchOutcome::TimerSwitchMissing);
    assert_eq!(shown(&explained)[0], "143 preemption-off section, thread hog (200, other)");
}

#[test]
fn next_to_a_loss_no_switch_is_inferred() {
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
