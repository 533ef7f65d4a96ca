//! What else happened when a sample came due.

use super::*;

#[test]
fn the_timers_cpu_shows_what_was_served_at_the_due_time() {
    let Stage { mut script, probe, .. } = stage();
    script.idle_exit(900, 1).irq_entry(950, 1, 7, "elsewhere");
    script.softirq_entry(980, 0, Softirq::NET_RX).softirq_exit(1040, 0, Softirq::NET_RX);
    script.timer_wakes(1042, 0, probe, true).switch(1050, 0, PREEMPTED, probe);
    script.irq_exit(1060, 1, 7);
    let samples = script.witness(probe, &[(1000, 1052)]);
    assert_eq!(samples.len(), 1);
    assert_eq!(samples[0].circumstance.serving, Some(Serving::Softirq(Softirq::NET_RX)));
    assert_eq!(samples[0].circumstance.transfer, Some(false));
    let segments = samples[0].segments.expect("its timer was found");
    assert_eq!(segments.get(Segment::DueToIrq), Nanos::from_micros(42));
    assert_eq!(segments.total(), samples[0].sample.latency());
}

#[test]
fn the_worst_samples_have_circumstances_and_all_samples_are_counted() {
    let Stage { mut script, probe, hog } = stage();
    script.softirq_entry(980, 0, Softirq::NET_RX).softirq_exit(1140, 0, Softirq::NET_RX);
    script.timer_wakes(1142, 0, probe, true).switch(1150, 0, PREEMPTED, probe);
    script.arm(1220, 0, TIMER, 2000, 0).switch(1230, 0, SLEEPING, hog);
    script.timer_wakes(2002, 0, probe, true).switch(2010, 0, PREEMPTED, probe);
    script.block_request(2005, 2500, 1);
    let explanation = script.explain(probe, SleepMethod::Nanosleep, &[(1000, 1152), (2000, 2012)]);
    let serving = ServingCount { serving: Serving::Softirq(Softirq::NET_RX), count: 1 };
    let expected = Circumstances { samples: 2, transfers: Some(1), serving: vec![serving] };
    assert_eq!(explanation.circumstances, expected);
    let of = |place: usize| explanation.worst[place].circumstance;
    assert_eq!(of(0), Circumstance { transfer: Some(false), serving: Some(serving.serving) });
    assert_eq!(of(1), Circumstance { transfer: Some(true), serving: None });
}

#[test]
fn the_interrupt_of_the_timer_itself_is_not_served_at_the_due_time() {
    let Stage { mut script, probe, .. } = stage();
    script.timer_wakes(1002, 0, probe, true).switch(1010, 0, PREEMPTED, probe);
    let samples = script.witness(probe, &[(1000, 1012)]);
    assert_eq!(samples[0].circumstance.serving, None);
}

#[test]
fn each_sample_knows_whether_a_transfer_was_in_flight_while_it_was_open() {
    let Stage { mut script, probe, hog } = stage();
    script.timer_wakes(1002, 0, probe, true).switch(1010, 0, PREEMPTED, probe);
    script.block_request(1011, 1500, 1);
    script.arm(1020, 0, TIMER, 2000, 0).switch(1030, 0, SLEEPING, hog);
    script.timer_wakes(2002, 0, probe, true).switch(2010, 0, PREEMPTED, probe);
    let samples = script.witness(probe, &[(1000, 1012), (2000, 2012)]);
    let transfers: Vec<_> = samples.iter().map(|sample| sample.circumstance.transfer).collect();
    assert_eq!(transfers, [Some(true), Some(false)]);
}
