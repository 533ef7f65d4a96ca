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
            "500 IRQ-off section in flush_everything, thread hog (200, other)",
            "5 switch to the late thread and return to user mode",
            "3 timer hrtimer_wakeup on CPU 0",
            "2 timer interrupt on CPU 0",
        ],
    );
}

#[test]
fn a_late_interrupt_in_user_mode_is_a_vcpu_stall() {
    let Stage { mut script, probe, .. } = stage();
    script.in_chain(&["sysvec_apic_timer_interrupt", "asm_sysvec_apic_timer_interrupt"]);
    script.timer_wakes(1500, 0, probe, true).switch(1508, 0, PREEMPTED, probe);
    let explained = script.explain_one(probe, 1000, 1510);
    let below = "500 vCPU stall of CPU 0 (hypervisor or SMI)";
    assert_eq!(shown(&explained)[0], below);
}

#[test]
fn without_high_resolution_timers_a_sample_waits_for_a_tick_which_may_be_late() {
    for (tick, rest) in [(1000, None), (500, None), (300, Some(200))] {
        let Stage { mut script, probe, .. } = stage();
        script.timers_at_ticks(Nanos::from_micros(tick));
        script.in_chain(&["sysvec_apic_timer_interrupt", "asm_sysvec_apic_timer_interrupt"]);
        script.timer_wakes(1500, 0, probe, true).switch(1508, 0, PREEMPTED, probe);
        let explained = script.explain_one(probe, 1000, 1510);
        let awaited = 500 - rest.unwrap_or(0);
        let waiting = format!("{awaited} waiting for the next tick (no high-resolution timers)");
        assert_eq!(shown(&explained)[0], waiting);
        let expected = rest.map(|rest| format!("{rest} vCPU stall of CPU 0 (hypervisor or SMI)"));
        let stall = shown(&explained).into_iter().find(|part| part.contains("stall"));
        assert_eq!(stall, expected, "ticks of {tick} µs");
    }
}

#[test]
fn the_first_interrupt_after_a_silence_shows_where_the_cpu_was() {
    let Stage { mut script, probe, .. } = stage();
    // The interrupt that another CPU sends is taken before the timer's interrupt.
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
            "500 vCPU stall of CPU 0 (hypervisor or SMI)",
            "5 switch to the late thread and return to user mode",
            "4 timer interrupt on CPU 0",
            "3 interrupt reschedule on CPU 0",
            "3 timer hrtimer_wakeup on CPU 0",
        ],
    );
}

#[test]
fn a_late_interrupt_in_a_function_that_enables_none_is_a_vcpu_stall() {
    let Stage { mut script, probe, .. } = stage();
    script.in_chain(&["asm_sysvec_apic_timer_interrupt", "clear_page_erms", "exc_page_fault"]);
    script.timer_wakes(1500, 0, probe, true).switch(1508, 0, PREEMPTED, probe);
    let explained = script.explain_one(probe, 1000, 1510);
    let below = "500 vCPU stall of CPU 0 (hypervisor or SMI)";
    assert_eq!(shown(&explained)[0], below);
}

#[test]
fn a_late_interrupt_elsewhere_in_the_kernel_is_a_gap_with_its_function() {
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
fn a_thread_that_rescheduled_on_interrupt_exit_does_not_explain_a_late_interrupt() {
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
fn a_gap_names_the_thread_whose_interrupts_have_no_call_chain() {
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
