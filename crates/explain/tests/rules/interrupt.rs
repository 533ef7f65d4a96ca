//! Interrupts, softirqs and timers that took the CPU.

use super::*;

#[test]
fn an_interrupt_that_is_open_at_the_due_time_is_named() {
    let Stage { mut script, probe, .. } = stage();
    script.irq(900, 1400, 0, 25, "eth0");
    script.timer_wakes(1402, 0, probe, true).switch(1410, 0, PREEMPTED, probe);
    let explained = script.explain_one(probe, 1000, 1412);
    assert_eq!(shown(&explained)[0], "400 interrupt eth0 on CPU 0");
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
            "700 softirq NET_RX on CPU 0",
            "7 switch to the late thread and return to user mode",
            "4 timer interrupt on CPU 0",
            "3 timer hrtimer_wakeup on CPU 0",
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
        ["500 softirq NET_RX on CPU 0", "200 interrupt eth0 on CPU 0"]
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
    assert_eq!(shown(&explained)[0], "400 timer posix_timer_fn on CPU 0");
}

#[test]
fn a_timer_served_by_the_interrupt_of_an_earlier_one_has_no_late_interrupt() {
    let Stage { mut script, probe, .. } = stage();
    script.vector_entry(990, 0, InterruptVector::LocalTimer);
    script.expire(991, 1009, 0, 0x77, "tick_nohz_handler");
    let explained = {
        // The same interrupt continues with the probe's timer.
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
fn a_vector_whose_exit_is_not_recorded_takes_no_time() {
    let Stage { script, probe, .. } = stage();
    let mut recording = script.into_recording();
    recording.about.events.retain(|event| event != "irq_vectors/irq_work_exit");
    let mut script = Script::new(2);
    // The same stage again on a machine without exit events for irq_work.
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
    let open = machine.cpus()[0].open_slice(0, support::micros(100)).expect("it was seen");
    assert_eq!(open.thread.0, 100);
    assert_eq!(open.activity, tactus_explain::machine::Activity::Thread);
    assert_eq!(count.0, 0);
}
