//! Threads, preemption-off sections and C-state exits before the late thread.

use super::*;

#[test]
fn leaving_idle_is_named_with_its_state() {
    let mut script = Script::new(1);
    let probe = script.thread("probe", 100, 9);
    script.switch(5, 0, PREEMPTED, probe).arm(10, 0, TIMER, 1000, 0);
    script.switch(20, 0, SLEEPING, IDLE).idle_entry(22, 0, 3);
    script.timer_wakes(1300, 0, probe, true).idle_exit(1306, 0);
    script.switch(1310, 0, PREEMPTED, probe);
    let explained = script.explain_one(probe, 1000, 1312);
    assert_eq!(shown(&explained)[0], "301 C-state exit of CPU 0 (idle state 3)");
}

#[test]
fn timer_slack_of_ordinary_threads_is_named() {
    let Stage { mut script, probe, .. } = stage_of(120, 120);
    script.timer_wakes(1051, 0, probe, true).switch(1060, 0, PREEMPTED, probe);
    let explained = script.explain_one(probe, 1000, 1062);
    assert_eq!(explained.outcome, MatchOutcome::Timer);
    assert_eq!(shown(&explained)[0], "50 timer slack");
}

#[test]
fn a_thread_of_higher_priority_is_named() {
    let Stage { mut script, probe, .. } = stage_of(9, 4);
    script.timer_wakes(1002, 0, probe, false).switch(4002, 0, SLEEPING, probe);
    let explained = script.explain_one(probe, 1000, 4004);
    assert_eq!(shown(&explained)[0], "2995 thread hog (200, rt:95)");
}

#[test]
fn a_thread_of_the_same_class_runs_until_it_is_asked_to_reschedule() {
    let Stage { mut script, probe, .. } = stage_of(120, 120);
    script.timer_wakes(1051, 0, probe, false);
    // The tick at 4000 ends the hog's turn.
    script.vector_entry(4000, 0, InterruptVector::LocalTimer).need_resched(0);
    script.vector_exit(4010, 0, InterruptVector::LocalTimer);
    script.switch(4015, 0, PREEMPTED, probe);
    let explained = script.explain_one(probe, 1000, 4017);
    assert_eq!(shown(&explained)[0], "2944 thread hog (200, other)");
}

#[test]
fn time_after_a_thread_was_asked_to_reschedule_is_a_preemption_off_section() {
    let Stage { mut script, probe, hog } = stage();
    script.in_chain(&["asm_sysvec_apic_timer_interrupt", "clear_user_pages", "read_zero"]);
    script.timer_wakes(1002, 0, probe, true).switch(1770, 0, PREEMPTED, probe);
    assert_eq!(hog.priority, 120);
    let explained = script.explain_one(probe, 1000, 1772);
    assert_eq!(
        shown(&explained)[0],
        "763 preemption-off section in clear_user_pages, thread hog (200, other)"
    );
}

#[test]
fn without_other_data_a_section_is_named_by_where_it_rescheduled() {
    let Stage { mut script, probe, .. } = stage();
    script.timer_wakes(1002, 0, probe, true);
    script.in_chain(&["__schedule", "__cond_resched", "copy_page_range", "do_syscall_64"]);
    script.switch(1770, 0, PREEMPTED, probe);
    let explained = script.explain_one(probe, 1000, 1772);
    assert_eq!(
        shown(&explained)[0],
        "763 preemption-off section in copy_page_range, thread hog (200, other)"
    );
}

#[test]
fn a_thread_that_is_chosen_again_is_not_in_a_section() {
    let Stage { mut script, probe, .. } = stage_of(120, 120);
    script.timer_wakes(1051, 0, probe, true);
    // The scheduler clears the flag and picks the hog again.
    script.asked_no_more(0).noise(4000, 0);
    script.need_resched(0).noise(4001, 0).switch(4005, 0, PREEMPTED, probe);
    let explained = script.explain_one(probe, 1000, 4007);
    assert_eq!(shown(&explained)[0], "2945 thread hog (200, other)");
}

#[test]
fn a_section_is_not_named_after_an_interrupted_softirq() {
    let Stage { mut script, probe, .. } = stage();
    script.softirq_entry(900, 0, Softirq::NET_RX);
    script.in_chain(&["asm_sysvec_apic_timer_interrupt", "udp_rcv", "handle_softirqs", "send"]);
    script.timer_wakes(1002, 0, probe, true);
    script.softirq_exit(1010, 0, Softirq::NET_RX).switch(1310, 0, PREEMPTED, probe);
    let explained = script.explain_one(probe, 1000, 1312);
    assert_eq!(shown(&explained)[0], "300 preemption-off section, thread hog (200, other)");
}

#[test]
fn slices_of_other_threads_after_the_flag_are_theirs() {
    let Stage { mut script, probe, .. } = stage();
    let irq_thread = script.thread("irq/25-eth0", 300, 4);
    script.timer_wakes(1002, 0, probe, true);
    script.switch(1010, 0, PREEMPTED, irq_thread).switch(1510, 0, SLEEPING, probe);
    let explained = script.explain_one(probe, 1000, 1512);
    assert_eq!(shown(&explained)[0], "500 thread irq/25-eth0 (300, rt:95)");
}

#[test]
fn an_idle_cpu_that_takes_milliseconds_to_react_was_stalled() {
    let mut script = Script::new(1);
    let probe = script.thread("probe", 100, 9);
    script.switch(5, 0, PREEMPTED, probe).arm(10, 0, TIMER, 1000, 0);
    script.switch(20, 0, SLEEPING, IDLE).idle_entry(22, 0, 3);
    script.timer_wakes(4260, 0, probe, true).idle_exit(4266, 0);
    script.switch(4270, 0, PREEMPTED, probe);
    let explained = script.explain_one(probe, 1000, 4272);
    assert_eq!(shown(&explained)[0], "3260 vCPU stall of CPU 0 (hypervisor or SMI)");
}

#[test]
fn a_thread_whose_class_changes_while_it_runs_is_named_with_both_classes() {
    let Stage { mut script, probe, hog } = stage_of(120, 120);
    let real_time = Thread { priority: 59, ..hog };
    script.timer_wakes(1051, 0, probe, true).asked_no_more(0);
    // Its sched_switch event shows the new priority.
    script.appears(0, real_time).switch(9000, 0, SLEEPING, probe);
    let explained = script.explain_one(probe, 1000, 9002);
    let shown = shown(&explained);
    assert!(shown[0].ends_with("thread hog (200, other raised to rt:40)"), "{shown:?}");
}

#[test]
fn a_thread_that_inherits_a_priority_while_it_waits_is_named_with_both() {
    let Stage { mut script, probe, .. } = stage();
    let holder = script.thread("holder", 300, 120);
    let boosted = Thread { priority: 9, ..holder };
    script.switch(100, 0, PREEMPTED, holder).switch(200, 0, PREEMPTED, IDLE);
    script.switch(300, 0, PREEMPTED, boosted);
    script.timer_wakes(1000, 0, probe, false).switch(3000, 0, SLEEPING, probe);
    let explained = script.explain_one(probe, 1000, 3002);
    assert_eq!(shown(&explained)[0], "1995 thread holder (300, other raised to rt:90)");
}

#[test]
fn the_stopper_thread_that_moves_the_late_thread_is_a_move() {
    let mut script = Script::new(2);
    let probe = script.thread("probe", 100, 120);
    let stopper = script.thread("migration/0", 15, 0);
    script.idle_entry(1, 1, 1).switch(5, 0, PREEMPTED, probe).arm(10, 0, TIMER, 1000, 0);
    script.switch(20, 0, SLEEPING, IDLE);
    script.timer_wakes(1000, 0, probe, true).switch(1010, 0, PREEMPTED, probe);
    script.switch(1020, 0, PREEMPTED, stopper);
    script.migrate(1200, 0, probe, 0, 1).switch(1205, 0, SLEEPING, IDLE);
    script.need_resched(1).idle_exit(1210, 1).switch(1215, 1, PREEMPTED, probe);
    let explained = script.explain_one(probe, 1000, 1220);
    assert_eq!(shown(&explained)[0], "180 moved to another CPU (affinity or balance)");
}

#[test]
fn a_thread_reads_with_its_own_priority_and_the_one_that_it_inherits() {
    let Stage { mut script, probe, hog } = stage_of(69, 120);
    let inherits = |old: i16, new: i16| EventKind::InheritPriority {
        thread: ThreadId(hog.id),
        old: Priority(old),
        new: Priority(new),
    };
    script.push_at(support::micros(900), 1, inherits(120, 49));
    script.timer_wakes(1002, 0, probe, false);
    script.push_at(support::micros(5000), 0, inherits(49, 120));
    script.need_resched(0).noise(5001, 0).switch(5010, 0, PREEMPTED, probe);
    let shown = shown(&script.explain_one(probe, 1000, 5012));
    assert_eq!(shown[0], "3993 thread hog (200, other raised to rt:50)", "{shown:?}");
}

#[test]
fn a_program_that_executed_another_has_one_name_which_is_its_last() {
    let Stage { mut script, probe, .. } = stage_of(9, 4);
    script.timer_wakes(1002, 0, probe, false);
    // The hog came to the CPU by its name, and executed another program since.
    let executed = script.thread("perl", 200, 4);
    script.appears(0, executed).switch(4002, 0, SLEEPING, probe);
    let explained = script.explain_one(probe, 1000, 4004);
    assert_eq!(shown(&explained)[0], "2995 thread perl (200, rt:95)");
    let parts = &explained.parts;
    assert!(parts.iter().all(|part| !part.cause.to_string().contains("hog")), "{parts:?}");
}
