//! Interrupts that came late, and what held them off.

use super::*;

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
fn where_timers_expire_at_ticks_alone_a_tick_is_awaited_and_may_be_late_itself() {
    for (tick, rest) in [(1000, None), (500, None), (300, Some(200))] {
        let Stage { mut script, probe, .. } = stage();
        script.timers_at_ticks(Nanos::from_micros(tick));
        script.in_chain(&["sysvec_apic_timer_interrupt", "asm_sysvec_apic_timer_interrupt"]);
        script.timer_wakes(1500, 0, probe, true).switch(1508, 0, PREEMPTED, probe);
        let explained = script.explain_one(probe, 1000, 1510);
        let awaited = 500 - rest.unwrap_or(0);
        let waiting =
            format!("{awaited} waiting for a tick, at which alone this kernel serves timers");
        assert_eq!(shown(&explained)[0], waiting);
        let below = rest.map(|rest| {
            format!("{rest} processor 0 held below the kernel, by hypervisor or firmware")
        });
        let told = shown(&explained).into_iter().find(|part| part.contains("below"));
        assert_eq!(told, below, "ticks of {tick} µs");
    }
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
