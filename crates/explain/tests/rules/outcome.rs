//! How each sample is matched, or why it is not.

use super::*;

#[test]
fn an_undelayed_sample_has_all_segments() {
    let Stage { mut script, probe, .. } = stage();
    script.timer_wakes(1002, 0, probe, true).switch(1010, 0, PREEMPTED, probe);
    let explained = script.explain_one(probe, 1000, 1012);
    assert_eq!(explained.outcome, MatchOutcome::Timer);
    let segments = explained.segments.expect("its timer was found");
    let lengths: Vec<(Segment, u64)> =
        segments.iter().map(|(segment, length)| (segment, length.as_nanos() / 1000)).collect();
    assert_eq!(
        lengths,
        [
            (Segment::DueToIrq, 2),
            (Segment::IrqToTimer, 1),
            (Segment::TimerToWakeup, 1),
            (Segment::WakeupToSwitch, 6),
            (Segment::SwitchToUser, 2),
        ]
    );
}

#[test]
fn a_wakeup_by_a_device_is_classified() {
    let Stage { mut script, probe, .. } = stage();
    script.irq_entry(1500, 0, 25, "eth0").wake(1505, 0, probe, 0).need_resched(0);
    script.irq_exit(1510, 0, 25).switch(1520, 0, PREEMPTED, probe);
    let explanation = script.explain(probe, SleepMethod::Ppoll, &[(1000, 1522)]);
    check_outcome(&explanation, MatchOutcome::WokenByInterrupt);
    assert_eq!(shown(&explanation.worst[0])[0], "505 waiting for interrupt eth0");
}

#[test]
fn a_timer_served_elsewhere_is_classified_and_has_segments() {
    let Stage { mut script, probe, hog } = stage();
    script.vector_entry(1003, 1, InterruptVector::LocalTimer);
    script.expire(1004, 1009, 1, TIMER, "hrtimer_wakeup").wake(1006, 1, probe, 0);
    script.vector_exit(1010, 1, InterruptVector::LocalTimer);
    script.vector_entry(1008, 0, InterruptVector::Reschedule).need_resched(0);
    script.vector_exit(1009, 0, InterruptVector::Reschedule);
    script.switch(1015, 0, PREEMPTED, probe);
    assert_eq!(hog.id, 200);
    let explanation = script.explain(probe, SleepMethod::Nanosleep, &[(1000, 1017)]);
    check_outcome(&explanation, MatchOutcome::TimerElsewhere);
    assert!(explanation.worst[0].segments.is_some());
}

#[test]
fn a_thread_that_waits_is_followed_to_another_queue() {
    let Stage { mut script, probe, hog } = stage_of(120, 120);
    let other = script.thread("other", 400, 120);
    script.switch(30, 1, PREEMPTED, other);
    script.timer_wakes(1051, 0, probe, false);
    script.migrate(3000, 1, probe, 0, 1);
    script.need_resched(1).switch(5000, 1, SLEEPING, probe);
    assert_eq!(hog.id, 200);
    let explanation = script.explain(probe, SleepMethod::Nanosleep, &[(1000, 5002)]);
    check_outcome(&explanation, MatchOutcome::TimerElsewhere);
    let shown = shown(&explanation.worst[0]);
    assert_eq!(shown[..2], ["2000 thread other (400, other)", "1944 thread hog (200, other)"]);
}

#[test]
fn a_due_time_that_had_passed_before_the_sleep_is_classified() {
    let mut script = Script::new(1);
    let probe = script.thread("probe", 100, 9);
    let hog = script.thread("hog", 200, 4);
    script.switch(5, 0, PREEMPTED, hog).switch(10, 0, SLEEPING, probe);
    script.switch(800, 0, PREEMPTED, hog).switch(2800, 0, SLEEPING, probe);
    let explanation = script.explain(probe, SleepMethod::Nanosleep, &[(1000, 2802)]);
    check_outcome(&explanation, MatchOutcome::AlreadyPast);
    assert_eq!(shown(&explanation.worst[0])[0], "1800 thread hog (200, rt:95)");
}

#[test]
fn a_timer_armed_after_its_time_counts_as_past() {
    let mut script = Script::new(1);
    let probe = script.thread("probe", 100, 9);
    let hog = script.thread("hog", 200, 120);
    script.switch(5, 0, PREEMPTED, hog).switch(900, 0, SLEEPING, probe);
    script.arm(1200, 0, TIMER, 1000, 0).switch(1205, 0, SLEEPING, hog);
    script.timer_wakes(1207, 0, probe, true).switch(1215, 0, PREEMPTED, probe);
    let explanation = script.explain(probe, SleepMethod::Nanosleep, &[(1000, 1217)]);
    check_outcome(&explanation, MatchOutcome::AlreadyPast);
}

#[test]
fn a_timer_that_interrupts_a_computing_thread_is_matched() {
    let mut script = Script::new(1);
    let probe = script.thread("probe", 100, 9);
    script.switch(5, 0, PREEMPTED, probe).arm(10, 0, TIMER, 1000, 0);
    script.vector_entry(1002, 0, InterruptVector::LocalTimer);
    script.expire(1003, 1006, 0, TIMER, "posix_timer_fn");
    script.vector_exit(1007, 0, InterruptVector::LocalTimer).noise(1200, 0);
    let explanation = script.explain(probe, SleepMethod::SignalHandler, &[(1000, 1010)]);
    check_outcome(&explanation, MatchOutcome::TimerWhileRunning);
}

#[test]
fn a_sample_that_overlaps_a_loss_is_void() {
    let Stage { mut script, probe, .. } = stage();
    script.timer_wakes(1500, 0, probe, true).switch(1508, 0, PREEMPTED, probe);
    script.noise(1600, 0).lose(1, 1200, 1300);
    let explanation = script.explain(probe, SleepMethod::Nanosleep, &[(1000, 1510)]);
    check_outcome(&explanation, MatchOutcome::Void);
    assert_eq!(explanation.pareto.undivided, 1);
    assert_eq!(explanation.classified(), 1.0);
}

#[test]
fn samples_outside_the_recording_are_untraced() {
    let Stage { mut script, probe, .. } = stage();
    script.ends_early();
    let explanation = script.explain(probe, SleepMethod::Nanosleep, &[(50_000, 50_300)]);
    check_outcome(&explanation, MatchOutcome::Untraced);
    assert_eq!(explanation.pareto.undivided, 1);
}

#[test]
fn a_thread_without_events_is_unmatched() {
    let Stage { mut script, .. } = stage();
    let stranger = script.thread("stranger", 999, 9);
    script.noise(3000, 0);
    let explanation = script.explain(stranger, SleepMethod::Nanosleep, &[(1000, 1300)]);
    check_outcome(&explanation, MatchOutcome::Unmatched(Unmatched::ThreadUnseen));
}

#[test]
fn a_wakeup_by_a_timer_of_another_time_is_unmatched_and_still_divided() {
    let Stage { mut script, probe, .. } = stage();
    script.timer_wakes(1500, 0, probe, true).switch(1508, 0, PREEMPTED, probe);
    let explanation = script.explain(probe, SleepMethod::Nanosleep, &[(1100, 1510)]);
    check_outcome(&explanation, MatchOutcome::Unmatched(Unmatched::OtherTimer));
    assert!(!explanation.worst[0].parts.is_empty());
}
