//! Runtime budgets that were used up.

use super::*;

#[test]
fn real_time_throttling_is_named_by_the_timer_that_ends_it() {
    let Stage { mut script, probe, .. } = stage();
    script.timer_wakes(1002, 0, probe, false);
    script.vector_entry(40_000, 0, InterruptVector::LocalTimer);
    script.expire(40_001, 40_005, 0, 0x55, "sched_rt_period_timer").need_resched(0);
    script.vector_exit(40_006, 0, InterruptVector::LocalTimer);
    script.switch(40_010, 0, PREEMPTED, probe);
    let explained = script.explain_one(probe, 1000, 40_012);
    assert_eq!(shown(&explained)[0], "38993 real-time throttling (sched_rt_runtime_us)");
}

/// An idle CPU with a runnable real-time thread; `function` is called by a timer before the thread
/// comes.
fn idle_before_a_real_time_thread(function: &str) -> Vec<String> {
    let Stage { mut script, probe, .. } = stage_of(9, 4);
    script.timer_wakes(1002, 0, probe, false);
    script.switch(1100, 0, PREEMPTED, IDLE).idle_entry(1102, 0, 1);
    script.vector_entry(39_990, 0, InterruptVector::LocalTimer);
    script.expire(39_991, 39_995, 0, 0x55, function);
    script.vector_exit(39_996, 0, InterruptVector::LocalTimer);
    script.idle_exit(40_000, 0).switch(40_010, 0, PREEMPTED, probe);
    shown(&script.explain_one(probe, 1000, 40_012))
}

#[test]
fn an_idle_cpu_with_a_runnable_real_time_thread_is_throttling() {
    let shown = idle_before_a_real_time_thread("sched_rt_period_timer");
    assert_eq!(shown[0], "38890 real-time throttling (sched_rt_runtime_us)", "{shown:?}");
}

#[test]
fn a_thread_that_waits_without_the_end_of_a_period_is_not_throttled() {
    let shown = idle_before_a_real_time_thread("hrtimer_wakeup");
    assert!(!shown.iter().any(|cause| cause.contains("throttling")), "{shown:?}");
}

/// A lower-ranked thread takes the CPU from a real-time thread until `came`.
fn behind_an_ordinary_thread(came: u64) -> Vec<String> {
    let Stage { mut script, probe, .. } = stage_of(9, 4);
    let ordinary = script.thread("ordinary", 300, 120);
    script.timer_wakes(1002, 0, probe, false);
    script.switch(1100, 0, PREEMPTED, ordinary).switch(came, 0, PREEMPTED, probe);
    shown(&script.explain_one(probe, 1000, came + 2))
}

#[test]
fn a_moment_of_an_ordinary_thread_is_not_throttling() {
    let long = behind_an_ordinary_thread(51_100);
    assert_eq!(long[0], "50000 fair server running ordinary threads", "{long:?}");
    let moment = behind_an_ordinary_thread(1500);
    assert_eq!(moment[0], "400 thread ordinary (300, other)", "{moment:?}");
}

#[test]
fn the_fair_server_is_named_by_its_timer() {
    let Stage { mut script, probe, .. } = stage_of(9, 4);
    let fair = script.thread("ordinary", 300, 120);
    script.timer_wakes(1002, 0, probe, false);
    script.vector_entry(1090, 0, InterruptVector::LocalTimer);
    script.expire(1091, 1095, 0, 0x55, "dl_task_timer");
    script.vector_exit(1096, 0, InterruptVector::LocalTimer);
    script.switch(1100, 0, PREEMPTED, fair).switch(51_100, 0, PREEMPTED, probe);
    let explained = script.explain_one(probe, 1000, 51_102);
    assert_eq!(shown(&explained)[0], "50000 fair server running ordinary threads");
}

#[test]
fn deadline_throttling_is_named() {
    let Stage { mut script, probe, .. } = stage_of(-1, 120);
    script.timer_wakes(1002, 0, probe, false);
    script.vector_entry(9000, 0, InterruptVector::LocalTimer);
    script.expire(9001, 9005, 0, 0x55, "dl_task_timer").need_resched(0);
    script.vector_exit(9006, 0, InterruptVector::LocalTimer);
    script.switch(9010, 0, PREEMPTED, probe);
    let explained = script.explain_one(probe, 1000, 9012);
    assert_eq!(shown(&explained)[0], "7993 throttling of a SCHED_DEADLINE thread");
}

#[test]
fn throttling_by_a_quota_is_named_by_the_timer_that_renews_it() {
    let Stage { mut script, probe, .. } = stage_of(120, 120);
    script.timer_wakes(1051, 0, probe, false);
    script.switch(1060, 0, SLEEPING, IDLE).idle_entry(1062, 0, 1);
    script.vector_entry(60_000, 0, InterruptVector::LocalTimer);
    script.expire(60_001, 60_005, 0, 0x55, "sched_cfs_period_timer").need_resched(0);
    script.vector_exit(60_006, 0, InterruptVector::LocalTimer);
    script.idle_exit(60_007, 0).switch(60_010, 0, PREEMPTED, probe);
    let explained = script.explain_one(probe, 1000, 60_012);
    assert_eq!(shown(&explained)[0], "58944 control group throttling (cpu.max)");
}

#[test]
fn throttling_by_a_quota_ends_when_it_is_renewed_whoever_runs_next() {
    let Stage { mut script, probe, .. } = stage_of(120, 120);
    let sibling = script.thread("sibling", 101, 120);
    script.timer_wakes(1051, 0, probe, false);
    script.switch(1060, 0, SLEEPING, IDLE).idle_entry(1062, 0, 1);
    script.vector_entry(60_000, 0, InterruptVector::LocalTimer);
    script.expire(60_001, 60_005, 0, 0x55, "sched_cfs_period_timer").need_resched(0);
    script.vector_exit(60_006, 0, InterruptVector::LocalTimer);
    script.idle_exit(60_007, 0).switch(60_010, 0, PREEMPTED, sibling);
    script.switch(65_010, 0, PREEMPTED, probe);
    let explained = script.explain_one(probe, 1000, 65_012);
    let shown = shown(&explained);
    assert_eq!(shown[0], "58944 control group throttling (cpu.max)", "{shown:?}");
    assert_eq!(shown[1], "5000 thread sibling (101, other)", "{shown:?}");
}

/// The probe waits for a spinning `hog`, through ticks that ask the hog to reschedule or not.
fn behind_a_spinner(asks: bool) -> Vec<String> {
    let Stage { mut script, probe, .. } = stage_of(120, 120);
    script.timer_wakes(1051, 0, probe, false);
    for tick in 1..10 {
        let at = tick * 4000;
        script.vector_entry(at, 0, InterruptVector::LocalTimer);
        if asks {
            script.need_resched(0);
        }
        script.expire(at + 1, at + 5, 0, 0x77, "tick_nohz_handler");
        script.vector_exit(at + 6, 0, InterruptVector::LocalTimer);
        script.asked_no_more(0).noise(at + 10, 0);
    }
    script.vector_entry(38_000, 0, InterruptVector::LocalTimer);
    script.expire(38_001, 38_005, 0, 0x55, "sched_cfs_period_timer");
    script.vector_exit(38_006, 0, InterruptVector::LocalTimer);
    script.need_resched(0).switch(40_000, 0, PREEMPTED, probe);
    shown(&script.explain_one(probe, 1000, 40_002))
}

#[test]
fn ticks_that_ask_nobody_to_reschedule_show_that_the_thread_was_not_in_the_queue() {
    let throttled = behind_a_spinner(false);
    assert!(throttled[0].ends_with("control group throttling (cpu.max)"), "{throttled:?}");
    let waited = behind_a_spinner(true);
    assert!(waited[0].ends_with("thread hog (200, other)"), "{waited:?}");
    assert!(!waited.iter().any(|cause| cause.contains("throttling")), "{waited:?}");
}

#[test]
fn fair_server_threads_are_named_however_many_take_turns() {
    let Stage { mut script, probe, .. } = stage_of(9, 4);
    let fair = [script.thread("one", 300, 120), script.thread("other", 301, 120)];
    script.timer_wakes(1002, 0, probe, false);
    script.vector_entry(1090, 0, InterruptVector::LocalTimer);
    script.expire(1091, 1095, 0, 0x55, "dl_task_timer");
    script.vector_exit(1096, 0, InterruptVector::LocalTimer);
    for turn in 0..10 {
        script.switch(1100 + turn * 5000, 0, PREEMPTED, fair[turn as usize % 2]);
    }
    script.switch(51_100, 0, PREEMPTED, probe);
    let explained = script.explain_one(probe, 1000, 51_102);
    assert_eq!(shown(&explained)[0], "50000 fair server running ordinary threads");
}

#[test]
fn the_fair_server_is_named_for_a_thread_that_wakes_while_it_serves() {
    let Stage { mut script, probe, hog } = stage_of(49, 59);
    let ordinary = script.thread("ordinary", 300, 120);
    // The real-time hog has to leave, then the probe wakes.
    script.switch(500, 0, PREEMPTED, ordinary);
    script.timer_wakes(1002, 0, probe, false);
    for tick in 1..10 {
        script.vector_entry(tick * 4000, 0, InterruptVector::LocalTimer);
        script.vector_exit(tick * 4000 + 6, 0, InterruptVector::LocalTimer);
    }
    script.switch(40_000, 0, PREEMPTED, probe).switch(40_500, 0, SLEEPING, hog);
    let shown = shown(&script.explain_one(probe, 1000, 40_002));
    assert!(shown[0].ends_with("fair server running ordinary threads"), "{shown:?}");
}

/// A `hog` that makes itself a real-time thread while it runs, and an ordinary one again before it
/// leaves; the probe wakes meanwhile. A timer that calls `function` expires at `served`.
fn behind_a_thread_of_changed_class(function: &str, served: u64) -> Vec<String> {
    let Stage { mut script, probe, .. } = stage_of(69, 120);
    script.timer_wakes(1002, 0, probe, false);
    for tick in 1..4 {
        let at = tick * 4000;
        script.vector_entry(at, 0, InterruptVector::LocalTimer);
        script.vector_exit(at + 6, 0, InterruptVector::LocalTimer);
    }
    script.vector_entry(served, 1, InterruptVector::LocalTimer);
    script.expire(served + 1, served + 5, 1, 0x55, function);
    script.vector_exit(served + 6, 1, InterruptVector::LocalTimer);
    script.need_resched(0).switch(14_000, 0, PREEMPTED, probe);
    shown(&script.explain_one(probe, 1000, 14_002))
}

#[test]
fn a_thread_whose_class_changed_while_it_ran_is_named_and_not_throttling() {
    // The period of the real-time runtime ends during the wait too, and does not end it.
    for function in ["hrtimer_wakeup", "sched_rt_period_timer"] {
        let shown = behind_a_thread_of_changed_class(function, 9000);
        assert_eq!(
            shown[0], "12975 thread hog (200, other raised to rt:30 or higher)",
            "{shown:?}"
        );
        assert!(!shown.iter().any(|cause| cause.contains("throttling")), "{shown:?}");
    }
    let ended = behind_a_thread_of_changed_class("sched_rt_period_timer", 13_980);
    assert!(ended[0].ends_with("real-time throttling (sched_rt_runtime_us)"), "{ended:?}");
}

/// An ordinary probe waits while its CPU is idle for `idle`; then a timer that calls `function`
/// expires there, and `hog` runs before the probe.
fn idle_before_an_ordinary_thread(idle: u64, function: &str) -> Vec<String> {
    let Stage { mut script, probe, hog } = stage_of(120, 120);
    script.timer_wakes(1051, 0, probe, false);
    script.switch(1060, 0, SLEEPING, IDLE).idle_entry(1062, 0, 1).idle_exit(1060 + idle, 0);
    script.switch(1062 + idle, 0, PREEMPTED, hog);
    script.vector_entry(20_000, 0, InterruptVector::LocalTimer);
    script.expire(20_001, 20_005, 0, 0x55, function).need_resched(0);
    script.vector_exit(20_006, 0, InterruptVector::LocalTimer);
    script.switch(20_010, 0, PREEMPTED, probe);
    shown(&script.explain_one(probe, 1000, 20_012))
}

#[test]
fn an_idle_moment_is_no_throttling_although_another_group_has_a_quota() {
    for (idle, function) in [(40, "sched_cfs_period_timer"), (3000, "tick_nohz_handler")] {
        let shown = idle_before_an_ordinary_thread(idle, function);
        assert!(!shown.iter().any(|cause| cause.contains("throttling")), "{idle}: {shown:?}");
    }
    let throttled = idle_before_an_ordinary_thread(3000, "sched_cfs_period_timer");
    assert!(throttled[0].ends_with("control group throttling (cpu.max)"), "{throttled:?}");
}

/// A `victim` computes for `used` ms behind a hog that runs in turns with it; then the hog runs
/// alone, through ticks that ask it to reschedule, until the timer of quotas and a moment after it.
/// The victim's group has a quota of 20 ms in 100 ms; `None` if the recording does not show it.
fn behind_a_hog_outside(used: u64, groups: Option<Vec<QuotaGroup>>) -> (Nanos, Explanation) {
    let mut script = Script::new(1);
    let (victim, hog) = (script.thread("victim", 100, 120), script.thread("hog", 50, 120));
    if let Some(groups) = groups {
        script.with_quotas(groups);
    }
    let mut at = 1000;
    script.switch(at, 0, SLEEPING, hog);
    for _ in 0..used / 4 {
        script.switch(at + 4000, 0, PREEMPTED, victim).switch(at + 8000, 0, PREEMPTED, hog);
        at += 8000;
    }
    while at + 4000 < 100_000 {
        at += 4000;
        script.vector_entry(at, 0, InterruptVector::LocalTimer).need_resched(0);
        script.expire(at + 1, at + 5, 0, 0x77, "tick_nohz_handler");
        script.vector_exit(at + 6, 0, InterruptVector::LocalTimer);
        script.asked_no_more(0).noise(at + 10, 0);
    }
    script.vector_entry(100_000, 0, InterruptVector::LocalTimer);
    script.expire(100_001, 100_005, 0, 0x55, "sched_cfs_period_timer").need_resched(0);
    script.vector_exit(100_006, 0, InterruptVector::LocalTimer);
    script.switch(103_000, 0, PREEMPTED, victim).switch(104_000, 0, SLEEPING, IDLE);
    let options = Options { threshold: Nanos::from_millis(1), slowest: 1, timelines: 0 };
    let mut found =
        waits(&mut script.into_recording().reader(), options, |_, name| name == "victim")
            .expect("it is whole");
    let explanation = found.names.remove(0).explanation;
    (explanation.throttled_by_quota(), explanation)
}

fn quota_of(threads: &[i32]) -> Option<Vec<QuotaGroup>> {
    Some(vec![QuotaGroup {
        path: "/robot".to_owned(),
        quota: Nanos::from_millis(20),
        period: Nanos::from_millis(100),
        throttled: Nanos::from_millis(60),
        threads: threads.iter().copied().map(ThreadId).collect(),
    }])
}

#[test]
fn a_group_that_used_up_its_quota_is_throttled_although_others_take_turns() {
    let (throttled, explanation) = behind_a_hog_outside(20, quota_of(&[100]));
    assert_eq!(throttled, Nanos::from_micros(58_916), "{explanation:?}");
    assert_eq!(explanation.throttled[0].path, "/robot");
}

#[test]
fn a_group_that_did_not_use_up_its_quota_is_not_throttled() {
    let (throttled, _) = behind_a_hog_outside(8, quota_of(&[100]));
    assert_eq!(throttled, Nanos::ZERO);
}

#[test]
fn a_thread_outside_every_group_with_a_quota_is_never_throttled_by_one() {
    for groups in [quota_of(&[50]), Some(Vec::new())] {
        let (throttled, _) = behind_a_hog_outside(20, groups);
        assert_eq!(throttled, Nanos::ZERO);
    }
}
