//! What else went on when a sample came due.

use super::*;

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
