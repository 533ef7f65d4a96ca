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

#[test]
fn an_idle_cpu_with_a_runnable_real_time_thread_is_throttling() {
    let Stage { mut script, probe, .. } = stage_of(9, 4);
    script.timer_wakes(1002, 0, probe, false);
    script.switch(1100, 0, PREEMPTED, IDLE).idle_entry(1102, 0, 1);
    script.idle_exit(40_000, 0).switch(40_010, 0, PREEMPTED, probe);
    let explained = script.explain_one(probe, 1000, 40_012);
    assert_eq!(shown(&explained)[0], "38910 real-time throttling (sched_rt_runtime_us)");
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
