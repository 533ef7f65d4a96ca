//! Time that the host took.

use tactus_explain::timeline::Occupant;

use super::*;

#[test]
fn two_cpus_that_resume_late_together_were_paused_by_the_host() {
    let Stage { mut script, probe, .. } = stage();
    script.noise(400, 1).arm_function(401, 1, 0x99, "tick_nohz_handler", 2000, 0);
    // Both are silent until 27000, where both serve their overdue timers.
    script.timer_wakes(27_000, 0, probe, true).switch(27_010, 0, PREEMPTED, probe);
    script.vector_entry(27_004, 1, InterruptVector::LocalTimer);
    script.expire(27_006, 27_008, 1, 0x99, "tick_nohz_handler");
    script.vector_exit(27_009, 1, InterruptVector::LocalTimer);
    let explained = script.explain_one(probe, 1000, 27_012);
    assert_eq!(shown(&explained)[0], "26000 the host paused the whole machine");
    // The drawing has the same time of it on each CPU.
    let timeline = explained.timeline.expect("a timeline of the worst sample");
    for lane in &timeline.lanes {
        let paused = lane.bars.iter().filter(|bar| bar.occupant == Occupant::HostPause);
        let time: Nanos = paused.map(|bar| bar.to - bar.from).sum();
        assert_eq!(time, Nanos::from_micros(26_000), "{lane:?}");
    }
}

#[test]
fn silence_of_a_cpu_without_a_due_timer_proves_no_pause() {
    let Stage { mut script, probe, .. } = stage();
    script.noise(400, 1);
    script.timer_wakes(27_000, 0, probe, true).switch(27_010, 0, PREEMPTED, probe);
    script.noise(27_004, 1);
    let explained = script.explain_one(probe, 1000, 27_012);
    assert_eq!(shown(&explained)[0], "26000 unexplained gap");
}

#[test]
fn time_that_was_not_charged_is_steal_time() {
    let Stage { mut script, probe, .. } = stage();
    script.noise(600, 1).noise(3000, 1);
    script.noise(900, 0);
    script.timer_wakes(8000, 0, probe, true);
    // From 20 to 8003, where it is asked to reschedule: 7983, of which 5 in the interrupt;
    // 978 were charged.
    script.charge(8006, 0, 978).switch(8010, 0, PREEMPTED, probe);
    let explained = script.explain_one(probe, 1000, 8012);
    assert_eq!(shown(&explained)[0], "7000 steal time on CPU 0");
}

#[test]
fn steal_within_an_interrupt_counts_once_charges_are_known_to_include_interrupts() {
    let Stage { mut script, probe, .. } = stage();
    // Twenty charges over interrupts of 30 each, all of which include them.
    script.charge(21, 0, 1);
    for tick in 1..21 {
        let at = tick * 40;
        script.irq(at, at + 30, 0, 25, "eth0").charge(at + 31, 0, 40);
    }
    script.vector_entry(1001, 0, InterruptVector::LocalTimer);
    script.expire(8000, 8004, 0, TIMER, "hrtimer_wakeup").wake(8001, 0, probe, 0);
    script.need_resched(0).vector_exit(8005, 0, InterruptVector::LocalTimer);
    script.charge(8006, 0, 199).switch(8010, 0, PREEMPTED, probe);
    let explained = script.explain_one(probe, 1000, 8012);
    assert_eq!(shown(&explained)[0], "6975 steal time on CPU 0");
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
fn a_thread_charged_until_it_was_asked_to_reschedule_has_no_steal_time() {
    let Stage { mut script, probe, .. } = stage();
    script.timer_wakes(1000, 0, probe, true);
    // A kernel without preemption charges at the switch by the clock as it was read at
    // the wakeup.
    script.charge(8006, 0, 980).switch(8010, 0, PREEMPTED, probe);
    let explained = script.explain_one(probe, 1000, 8012);
    assert!(shown(&explained)[0].contains("preemption-off section"), "{explained:?}");
    assert!(!shown(&explained).iter().any(|cause| cause.contains("steal")), "{explained:?}");
}
