//! Every rule of matching and blame, each on a machine made up for it.

mod support;

use support::{IDLE, PREEMPTED, SLEEPING, STOPPED, Script, TIMER, Thread, UNINTERRUPTIBLE, shown};
use tactus_explain::{
    Circumstance, Circumstances, Explanation, MatchOutcome, Segment, Serving, ServingCount,
    Unmatched,
};
use tactus_model::probe::SleepMethod;
use tactus_model::recording::{InterruptVector, Softirq};
use tactus_model::time::Nanos;

/// Two processors; the probe (fifo:90) has gone to sleep on processor 0 with its
/// timer armed for 1000, and `hog` runs there since 20.
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

#[test]
fn the_segments_of_a_sample_that_nothing_delays() {
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
fn interrupts_off_in_a_thread_are_named_by_the_call_chain() {
    let Stage { mut script, probe, .. } = stage();
    script.in_chain(&[
        "sysvec_apic_timer_interrupt",
        "asm_sysvec_apic_timer_interrupt",
        "_raw_spin_unlock_irqrestore",
        "flush_everything",
    ]);
    script.timer_wakes(1500, 0, probe, true).switch(1508, 0, PREEMPTED, probe);
    check(
        script,
        probe,
        1510,
        &[
            "500 interrupts off in flush_everything, thread hog (200, other)",
            "5 the switch to the late thread and its return to user mode",
            "3 timer hrtimer_wakeup on processor 0",
            "2 timer interrupt on processor 0",
        ],
    );
}

#[test]
fn a_late_interrupt_that_finds_user_mode_was_held_below_the_kernel() {
    let Stage { mut script, probe, .. } = stage();
    script.in_chain(&["sysvec_apic_timer_interrupt", "asm_sysvec_apic_timer_interrupt"]);
    script.timer_wakes(1500, 0, probe, true).switch(1508, 0, PREEMPTED, probe);
    let explained = script.explain_one(probe, 1000, 1510);
    let below = "500 processor 0 held below the kernel, by hypervisor or firmware";
    assert_eq!(shown(&explained)[0], below);
}

#[test]
fn the_first_interrupt_after_a_silence_tells_where_it_was() {
    let Stage { mut script, probe, .. } = stage();
    // The interrupt that another processor sends is taken before the timer's.
    script.in_chain(&["sysvec_reschedule_ipi", "asm_sysvec_reschedule_ipi"]);
    script.vector_entry(1500, 0, InterruptVector::Reschedule);
    script.vector_exit(1503, 0, InterruptVector::Reschedule);
    script.in_chain(&[
        "asm_sysvec_apic_timer_interrupt",
        "irqentry_exit_to_user_mode",
        "asm_sysvec_reschedule_ipi",
    ]);
    script.timer_wakes(1505, 0, probe, true).switch(1513, 0, PREEMPTED, probe);
    check(
        script,
        probe,
        1515,
        &[
            "500 processor 0 held below the kernel, by hypervisor or firmware",
            "5 the switch to the late thread and its return to user mode",
            "4 timer interrupt on processor 0",
            "3 interrupt reschedule on processor 0",
            "3 timer hrtimer_wakeup on processor 0",
        ],
    );
}

#[test]
fn a_late_interrupt_within_a_function_that_switches_none_was_held_below_the_kernel() {
    let Stage { mut script, probe, .. } = stage();
    script.in_chain(&["asm_sysvec_apic_timer_interrupt", "clear_page_erms", "exc_page_fault"]);
    script.timer_wakes(1500, 0, probe, true).switch(1508, 0, PREEMPTED, probe);
    let explained = script.explain_one(probe, 1000, 1510);
    let below = "500 processor 0 held below the kernel, by hypervisor or firmware";
    assert_eq!(shown(&explained)[0], below);
}

#[test]
fn where_interrupts_were_not_just_switched_on_a_late_one_is_a_gap_with_its_place() {
    let Stage { mut script, probe, .. } = stage();
    script.in_chain(&["asm_sysvec_apic_timer_interrupt", "vma_merge", "do_brk"]);
    script.timer_wakes(1500, 0, probe, true).switch(1508, 0, PREEMPTED, probe);
    let explanation = script.explain(probe, SleepMethod::Nanosleep, &[(1000, 1510)]);
    assert_eq!(shown(&explanation.worst[0])[0], "500 unexplained gap in vma_merge");
    let first = &explanation.pareto.rows[0].cause;
    assert_eq!(first.to_string(), "unexplained gap in kernel code");
    assert!(explanation.pareto.explained() < 0.5);
}

#[test]
fn a_thread_that_gave_way_on_the_way_out_of_an_interrupt_tells_nothing_of_a_late_one() {
    let Stage { mut script, probe, .. } = stage();
    let other = script.thread("other", 300, 120);
    script.in_chain(&["__schedule", "irqentry_exit", "asm_sysvec_reschedule_ipi"]);
    script.switch(1400, 0, PREEMPTED, other);
    script.in_chain(&["asm_sysvec_apic_timer_interrupt"]);
    script.timer_wakes(1500, 0, probe, true).switch(1508, 0, PREEMPTED, probe);
    let explained = script.explain_one(probe, 1000, 1510);
    assert_eq!(shown(&explained)[0], "400 unexplained gap");
}

#[test]
fn without_a_call_chain_a_late_interrupt_is_a_gap() {
    let Stage { mut script, probe, .. } = stage();
    script.timer_wakes(1500, 0, probe, true).switch(1508, 0, PREEMPTED, probe);
    let explained = script.explain_one(probe, 1000, 1510);
    assert_eq!(shown(&explained)[0], "500 unexplained gap");
}

#[test]
fn a_thread_whose_interrupts_alone_come_without_a_chain_is_named_beside_the_gap() {
    let Stage { mut script, probe, .. } = stage();
    script.in_chain(&["asm_sysvec_apic_timer_interrupt"]);
    script.vector_entry(100, 1, InterruptVector::LocalTimer);
    script.vector_exit(101, 1, InterruptVector::LocalTimer);
    script.timer_wakes(1500, 0, probe, true).switch(1508, 0, PREEMPTED, probe);
    let explanation = script.explain(probe, SleepMethod::Nanosleep, &[(1000, 1510)]);
    let gap = "500 unexplained gap in thread hog (200, other)";
    assert_eq!(shown(&explanation.worst[0])[0], gap);
    assert!(explanation.pareto.explained() < 0.5);
}

#[test]
fn an_interrupt_that_is_open_at_the_due_time_is_named() {
    let Stage { mut script, probe, .. } = stage();
    script.irq(900, 1400, 0, 25, "eth0");
    script.timer_wakes(1402, 0, probe, true).switch(1410, 0, PREEMPTED, probe);
    let explained = script.explain_one(probe, 1000, 1412);
    assert_eq!(shown(&explained)[0], "400 interrupt eth0 on processor 0");
}

#[test]
fn a_softirq_between_wakeup_and_switch_is_named() {
    let Stage { mut script, probe, .. } = stage();
    script.timer_wakes(1002, 0, probe, true);
    script.softirq_entry(1008, 0, Softirq::NET_RX).softirq_exit(1708, 0, Softirq::NET_RX);
    script.switch(1712, 0, PREEMPTED, probe);
    check(
        script,
        probe,
        1714,
        &[
            "700 softirq NET_RX on processor 0",
            "7 the switch to the late thread and its return to user mode",
            "4 timer interrupt on processor 0",
            "3 timer hrtimer_wakeup on processor 0",
        ],
    );
}

#[test]
fn an_interrupt_within_a_softirq_takes_its_own_time_only() {
    let Stage { mut script, probe, .. } = stage();
    script.timer_wakes(1002, 0, probe, true);
    script.softirq_entry(1010, 0, Softirq::NET_RX);
    script.irq(1110, 1310, 0, 25, "eth0");
    script.softirq_exit(1710, 0, Softirq::NET_RX);
    script.switch(1712, 0, PREEMPTED, probe);
    let explained = script.explain_one(probe, 1000, 1714);
    assert_eq!(
        shown(&explained)[..2],
        ["500 softirq NET_RX on processor 0", "200 interrupt eth0 on processor 0"]
    );
}

#[test]
fn a_storm_of_timers_is_timer_work_by_function() {
    let Stage { mut script, probe, .. } = stage();
    script.vector_entry(950, 0, InterruptVector::LocalTimer);
    script.expire(951, 1400, 0, 0x77, "posix_timer_fn");
    script.vector_exit(1401, 0, InterruptVector::LocalTimer);
    script.timer_wakes(1402, 0, probe, true).switch(1410, 0, PREEMPTED, probe);
    let explained = script.explain_one(probe, 1000, 1412);
    assert_eq!(shown(&explained)[0], "400 timer posix_timer_fn on processor 0");
}

#[test]
fn a_timer_served_by_the_interrupt_of_an_earlier_one_has_no_late_interrupt() {
    let Stage { mut script, probe, .. } = stage();
    script.vector_entry(990, 0, InterruptVector::LocalTimer);
    script.expire(991, 1009, 0, 0x77, "tick_nohz_handler");
    let explained = {
        // The same interrupt goes on to the probe's timer.
        script.expire(1010, 1014, 0, TIMER, "hrtimer_wakeup");
        script.wake(1012, 0, probe, 0);
        script.need_resched(0);
        script.vector_exit(1015, 0, InterruptVector::LocalTimer);
        script.switch(1020, 0, PREEMPTED, probe);
        script.explain_one(probe, 1000, 1022)
    };
    let segments = explained.segments.expect("its timer was found");
    assert_eq!(segments.get(Segment::DueToIrq), Nanos::ZERO);
    assert_eq!(segments.get(Segment::IrqToTimer), Nanos::from_micros(10));
}

#[test]
fn leaving_idle_is_named_with_its_state() {
    let mut script = Script::new(1);
    let probe = script.thread("probe", 100, 9);
    script.switch(5, 0, PREEMPTED, probe).arm(10, 0, TIMER, 1000, 0);
    script.switch(20, 0, SLEEPING, IDLE).idle_entry(22, 0, 3);
    script.timer_wakes(1300, 0, probe, false).idle_exit(1306, 0);
    script.switch(1310, 0, PREEMPTED, probe);
    let explained = script.explain_one(probe, 1000, 1312);
    assert_eq!(shown(&explained)[0], "301 processor 0 leaving idle state 3");
}

#[test]
fn timer_slack_is_told_apart_for_ordinary_threads() {
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
fn a_thread_of_the_same_class_runs_until_it_is_asked_to_give_way() {
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
fn a_kernel_section_is_what_a_thread_takes_after_it_was_asked_to_give_way() {
    let Stage { mut script, probe, hog } = stage();
    script.in_chain(&["asm_sysvec_apic_timer_interrupt", "clear_user_pages", "read_zero"]);
    script.timer_wakes(1002, 0, probe, true).switch(1770, 0, PREEMPTED, probe);
    assert_eq!(hog.priority, 120);
    let explained = script.explain_one(probe, 1000, 1772);
    assert_eq!(
        shown(&explained)[0],
        "763 a kernel section not preempted in clear_user_pages, thread hog (200, other)"
    );
}

#[test]
fn a_kernel_section_is_named_by_where_it_gave_way_when_nothing_else_tells() {
    let Stage { mut script, probe, .. } = stage();
    script.timer_wakes(1002, 0, probe, true);
    script.in_chain(&["__schedule", "__cond_resched", "copy_page_range", "do_syscall_64"]);
    script.switch(1770, 0, PREEMPTED, probe);
    let explained = script.explain_one(probe, 1000, 1772);
    assert_eq!(
        shown(&explained)[0],
        "763 a kernel section not preempted in copy_page_range, thread hog (200, other)"
    );
}

#[test]
fn a_thread_that_is_chosen_again_ran_because_it_was_chosen() {
    let Stage { mut script, probe, .. } = stage_of(120, 120);
    script.timer_wakes(1051, 0, probe, true);
    // The scheduler takes the flag away and picks the hog once more.
    script.asked_no_more(0).noise(4000, 0);
    script.need_resched(0).noise(4001, 0).switch(4005, 0, PREEMPTED, probe);
    let explained = script.explain_one(probe, 1000, 4007);
    assert_eq!(shown(&explained)[0], "2945 thread hog (200, other)");
}

#[test]
fn a_section_is_not_named_by_a_softirq_that_was_interrupted() {
    let Stage { mut script, probe, .. } = stage();
    script.softirq_entry(900, 0, Softirq::NET_RX);
    script.in_chain(&["asm_sysvec_apic_timer_interrupt", "udp_rcv", "handle_softirqs", "send"]);
    script.timer_wakes(1002, 0, probe, true);
    script.softirq_exit(1010, 0, Softirq::NET_RX).switch(1310, 0, PREEMPTED, probe);
    let explained = script.explain_one(probe, 1000, 1312);
    assert_eq!(shown(&explained)[0], "300 a kernel section not preempted, thread hog (200, other)");
}

#[test]
fn other_slices_after_the_flag_are_theirs() {
    let Stage { mut script, probe, .. } = stage();
    let irq_thread = script.thread("irq/25-eth0", 300, 4);
    script.timer_wakes(1002, 0, probe, true);
    script.switch(1010, 0, PREEMPTED, irq_thread).switch(1510, 0, SLEEPING, probe);
    let explained = script.explain_one(probe, 1000, 1512);
    assert_eq!(shown(&explained)[0], "500 thread irq/25-eth0 (300, rt:95)");
}

#[test]
fn two_processors_that_resume_late_together_were_paused_by_the_host() {
    let Stage { mut script, probe, .. } = stage();
    script.noise(400, 1).arm_function(401, 1, 0x99, "tick_nohz_handler", 2000, 0);
    // Both are silent until 27000, where both serve what was due meanwhile.
    script.timer_wakes(27_000, 0, probe, true).switch(27_010, 0, PREEMPTED, probe);
    script.vector_entry(27_004, 1, InterruptVector::LocalTimer);
    script.expire(27_006, 27_008, 1, 0x99, "tick_nohz_handler");
    script.vector_exit(27_009, 1, InterruptVector::LocalTimer);
    let explained = script.explain_one(probe, 1000, 27_012);
    assert_eq!(shown(&explained)[0], "26000 the host paused the whole machine");
}

#[test]
fn silence_of_a_processor_with_nothing_due_proves_no_pause() {
    let Stage { mut script, probe, .. } = stage();
    script.noise(400, 1);
    script.timer_wakes(27_000, 0, probe, true).switch(27_010, 0, PREEMPTED, probe);
    script.noise(27_004, 1);
    let explained = script.explain_one(probe, 1000, 27_012);
    assert_eq!(shown(&explained)[0], "26000 unexplained gap");
}

#[test]
fn what_was_not_charged_was_stolen() {
    let Stage { mut script, probe, .. } = stage();
    script.noise(600, 1).noise(3000, 1);
    script.noise(900, 0);
    script.timer_wakes(8000, 0, probe, true);
    // From 20 to 8006 is 7986, of which 5 in the interrupt; 981 were charged.
    script.charge(8006, 0, 981).switch(8010, 0, PREEMPTED, probe);
    let explained = script.explain_one(probe, 1000, 8012);
    assert_eq!(shown(&explained)[0], "7000 steal: the host took processor 0");
}

#[test]
fn steal_within_an_interrupt_is_told_once_charges_are_known_to_include_interrupts() {
    let Stage { mut script, probe, .. } = stage();
    // Twenty charges over interrupts of 30 each, none of which leaves them out.
    script.charge(21, 0, 1);
    for tick in 1..21 {
        let at = tick * 40;
        script.irq(at, at + 30, 0, 25, "eth0").charge(at + 31, 0, 40);
    }
    script.vector_entry(1001, 0, InterruptVector::LocalTimer);
    script.expire(8000, 8004, 0, TIMER, "hrtimer_wakeup").wake(8001, 0, probe, 0);
    script.need_resched(0).vector_exit(8005, 0, InterruptVector::LocalTimer);
    script.charge(8006, 0, 200).switch(8010, 0, PREEMPTED, probe);
    let explained = script.explain_one(probe, 1000, 8012);
    assert_eq!(shown(&explained)[0], "6975 steal: the host took processor 0");
}

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

#[test]
fn a_small_residual_is_not_called_steal() {
    let Stage { mut script, probe, .. } = stage();
    script.timer_wakes(1500, 0, probe, true);
    script.charge(1506, 0, 1450).switch(1510, 0, PREEMPTED, probe);
    let explained = script.explain_one(probe, 1000, 1512);
    assert_eq!(shown(&explained)[0], "500 unexplained gap");
}

#[test]
fn real_time_throttling_is_named_by_the_timer_that_ends_it() {
    let Stage { mut script, probe, .. } = stage();
    script.timer_wakes(1002, 0, probe, false);
    script.vector_entry(40_000, 0, InterruptVector::LocalTimer);
    script.expire(40_001, 40_005, 0, 0x55, "sched_rt_period_timer").need_resched(0);
    script.vector_exit(40_006, 0, InterruptVector::LocalTimer);
    script.switch(40_010, 0, PREEMPTED, probe);
    let explained = script.explain_one(probe, 1000, 40_012);
    assert_eq!(shown(&explained)[0], "38993 throttling of real-time threads");
}

#[test]
fn an_idle_processor_beside_a_real_time_thread_that_could_run_is_throttling() {
    let Stage { mut script, probe, .. } = stage_of(9, 4);
    script.timer_wakes(1002, 0, probe, false);
    script.switch(1100, 0, PREEMPTED, IDLE).idle_entry(1102, 0, 1);
    script.idle_exit(40_000, 0).switch(40_010, 0, PREEMPTED, probe);
    let explained = script.explain_one(probe, 1000, 40_012);
    assert_eq!(shown(&explained)[0], "38910 throttling of real-time threads");
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
    assert_eq!(shown(&explained)[0], "50000 the share kept for ordinary threads (fair server)");
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
    assert_eq!(shown(&explained)[0], "7993 throttling of a deadline thread");
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
    assert_eq!(shown(&explained)[0], "58944 throttling by the control group's quota");
}

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
    assert_eq!(shown(&explained)[0], "3999 a page fault of the late thread");
}

#[test]
fn a_relay_that_was_stopped_is_named_behind_the_wakeup_it_owes() {
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
fn a_thread_of_which_nothing_was_recorded_is_unmatched() {
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

#[test]
fn a_vector_whose_exit_is_not_recorded_takes_no_time() {
    let Stage { script, probe, .. } = stage();
    let mut recording = script.into_recording();
    recording.about.events.retain(|event| event != "irq_vectors/irq_work_exit");
    let mut script = Script::new(2);
    // The same stage again, now on a machine that tells no exit of irq_work.
    script.switch(5, 0, PREEMPTED, probe).arm(10, 0, TIMER, 1000, 0);
    let about = recording.about;
    script.vector_entry(30, 0, InterruptVector::IrqWork);
    let mut recording = script.into_recording();
    recording.about = about;
    let mut machine = tactus_explain::machine::Machine::new(&recording.about);
    struct Count(usize);
    impl tactus_explain::machine::Observer for Count {
        fn slice(&mut self, slice: tactus_explain::machine::Slice) {
            use tactus_explain::machine::Activity;
            self.0 += usize::from(matches!(slice.activity, Activity::Vector(_)));
        }
    }
    let mut count = Count(0);
    for event in &recording.events {
        machine.step(event, &mut count);
    }
    let open = machine.processors()[0].open_slice(0, support::micros(100)).expect("it was seen");
    assert_eq!(open.thread.0, 100);
    assert_eq!(open.activity, tactus_explain::machine::Activity::Thread);
    assert_eq!(count.0, 0);
}

#[test]
fn the_pareto_takes_threads_of_one_name_together() {
    let mut script = Script::new(1);
    let probe = script.thread("probe", 100, 9);
    let first = script.thread("cc1", 200, 4);
    let second = script.thread("cc1", 201, 4);
    script.switch(5, 0, PREEMPTED, probe);
    for (hog, base) in [(first, 0), (second, 10_000)] {
        script.arm(base + 10, 0, TIMER, base + 1000, 0).switch(base + 20, 0, SLEEPING, hog);
        script.timer_wakes(base + 1002, 0, probe, false);
        script.switch(base + 3000, 0, SLEEPING, probe);
    }
    let explanation =
        script.explain(probe, SleepMethod::Nanosleep, &[(1000, 3002), (11_000, 13_002)]);
    let row = &explanation.pareto.rows[0];
    assert_eq!(row.cause.to_string(), "thread cc1 (rt:95)");
    assert_eq!((row.samples, row.first), (2, 2));
    assert_eq!(explanation.pareto.explained(), 1.0);
    assert_eq!(
        explanation.pareto.headline(explanation.threshold).as_deref(),
        Some("100 % of the time over 100us: thread cc1 (rt:95)")
    );
}

#[test]
fn an_explanation_comes_back_from_json() {
    let Stage { mut script, probe, .. } = stage();
    script.timer_wakes(1500, 0, probe, true).switch(1508, 0, PREEMPTED, probe);
    let explanation = script.explain(probe, SleepMethod::Nanosleep, &[(1000, 1510)]);
    let json = serde_json::to_string(&explanation).expect("it has no maps");
    let back: Explanation = serde_json::from_str(&json).expect("it was just written");
    assert_eq!(back, explanation);
}

#[test]
fn what_is_served_at_the_due_time_is_told_of_the_processor_of_the_timer() {
    let Stage { mut script, probe, .. } = stage();
    script.idle_exit(900, 1).irq_entry(950, 1, 7, "elsewhere");
    script.softirq_entry(980, 0, Softirq::NET_RX).softirq_exit(1040, 0, Softirq::NET_RX);
    script.timer_wakes(1042, 0, probe, true).switch(1050, 0, PREEMPTED, probe);
    script.irq_exit(1060, 1, 7);
    let told = script.witness(probe, &[(1000, 1052)]);
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].circumstance.serving, Some(Serving::Softirq(Softirq::NET_RX)));
    assert_eq!(told[0].circumstance.transfer, Some(false));
    let segments = told[0].segments.expect("its timer was found");
    assert_eq!(segments.get(Segment::DueToIrq), Nanos::from_micros(42));
    assert_eq!(segments.total(), told[0].sample.latency());
}

#[test]
fn an_explanation_tells_of_the_worst_what_was_served_and_transferred_and_counts_all() {
    let Stage { mut script, probe, hog } = stage();
    script.softirq_entry(980, 0, Softirq::NET_RX).softirq_exit(1140, 0, Softirq::NET_RX);
    script.timer_wakes(1142, 0, probe, true).switch(1150, 0, PREEMPTED, probe);
    script.arm(1220, 0, TIMER, 2000, 0).switch(1230, 0, SLEEPING, hog);
    script.timer_wakes(2002, 0, probe, true).switch(2010, 0, PREEMPTED, probe);
    script.block_request(2005, 2500, 1);
    let told = script.explain(probe, SleepMethod::Nanosleep, &[(1000, 1152), (2000, 2012)]);
    let serving = ServingCount { serving: Serving::Softirq(Softirq::NET_RX), count: 1 };
    let expected = Circumstances { samples: 2, transfers: Some(1), serving: vec![serving] };
    assert_eq!(told.circumstances, expected);
    let of = |place: usize| told.worst[place].circumstance;
    assert_eq!(of(0), Circumstance { transfer: Some(false), serving: Some(serving.serving) });
    assert_eq!(of(1), Circumstance { transfer: Some(true), serving: None });
}

#[test]
fn the_interrupt_of_the_timer_itself_is_not_served_at_the_due_time() {
    let Stage { mut script, probe, .. } = stage();
    script.timer_wakes(1002, 0, probe, true).switch(1010, 0, PREEMPTED, probe);
    let told = script.witness(probe, &[(1000, 1012)]);
    assert_eq!(told[0].circumstance.serving, None);
}

#[test]
fn each_sample_knows_whether_a_transfer_was_in_flight_while_it_was_open() {
    let Stage { mut script, probe, hog } = stage();
    script.timer_wakes(1002, 0, probe, true).switch(1010, 0, PREEMPTED, probe);
    script.block_request(1011, 1500, 1);
    script.arm(1020, 0, TIMER, 2000, 0).switch(1030, 0, SLEEPING, hog);
    script.timer_wakes(2002, 0, probe, true).switch(2010, 0, PREEMPTED, probe);
    let told = script.witness(probe, &[(1000, 1012), (2000, 2012)]);
    let transfers: Vec<_> = told.iter().map(|told| told.circumstance.transfer).collect();
    assert_eq!(transfers, [Some(true), Some(false)]);
}
