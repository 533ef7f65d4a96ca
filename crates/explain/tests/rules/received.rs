//! Samples that one thread hands over and another receives.

use super::*;

/// Two CPUs. The output thread (fifo:80) sleeps until 1000 and, after the first message, until
/// 11 000; each message goes by `worker`, an ordinary thread, to the receiver (fifo:98), which sleeps.
/// An ordinary thread, `hog`, runs on CPU 0 whenever it can, and after the first message it keeps the
/// worker from running there until `worked`.
struct Line {
    script: Script,
    output: Thread,
    receiver: Thread,
}

fn line(worked: u64) -> Line {
    let mut script = Script::new(2);
    let output = script.thread("output", 100, 19);
    let receiver = script.thread("receiver", 101, 1);
    let worker = script.thread("kworker/u8:1", 102, 120);
    let hog = script.thread("hog", 200, 120);
    script.switch(1, 1, PREEMPTED, worker).switch(2, 1, SLEEPING, receiver);
    script.switch(3, 1, SLEEPING, IDLE).idle_entry(4, 1, 1);
    script.switch(5, 0, PREEMPTED, output).arm(10, 0, TIMER, 1000, 0);
    script.switch(20, 0, SLEEPING, hog);
    for (due, worked) in [(1000, worked), (11_000, 11_050)] {
        script.timer_wakes(due + 2, 0, output, true).switch(due + 10, 0, PREEMPTED, output);
        script.wake(due + 25, 0, worker, 0).arm(due + 35, 0, TIMER, due + 10_000, 0);
        script.switch(due + 40, 0, SLEEPING, hog).switch(worked, 0, PREEMPTED, worker);
        script.wake(worked + 10, 0, receiver, 1).switch(worked + 20, 0, SLEEPING, hog);
        script.idle_exit(worked + 12, 1).switch(worked + 15, 1, PREEMPTED, receiver);
        script.switch(worked + 30, 1, SLEEPING, IDLE).idle_entry(worked + 31, 1, 1);
    }
    Line { script, output, receiver }
}

#[test]
fn the_wait_of_a_worker_on_the_way_is_not_the_output_threads() {
    let Line { script, output, receiver } = line(5000);
    let samples = [(1000, 1020, 5020), (11_000, 11_020, 11_070)];
    let explanation = script.explain_handed_over(output, receiver, &samples);
    assert_eq!(explanation.count(MatchOutcome::Timer), 2, "{:?}", explanation.outcomes);
    let [late, ..] = &explanation.worst[..] else { panic!("a sample is late") };
    assert_eq!(shown(late)[0], "3960 thread hog (200, other)");
    let segments = late.segments.unwrap();
    assert_eq!(segments.get(Segment::HandedOver), Nanos::from_micros(4000));
    assert_eq!(segments.get(Segment::SwitchToUser), Nanos::from_micros(10));
    assert!(late.parts.iter().all(|part| part.cause.explains()), "{:?}", late.parts);
}

#[test]
fn of_samples_that_are_only_received_the_whole_chain_is_followed() {
    let Line { script, receiver, .. } = line(5000);
    let explanation = script.explain_received(receiver, &[(1000, 5020), (11_000, 11_070)]);
    assert_eq!(explanation.count(MatchOutcome::Received), 2, "{:?}", explanation.outcomes);
    assert_eq!(shown(&explanation.worst[0])[0], "3960 thread hog (200, other)");
    assert!(explanation.worst[0].parts.iter().all(|part| part.cause.explains()));
}

#[test]
fn a_late_output_thread_is_not_the_lines() {
    let Line { mut script, output, receiver } = line(5000);
    script.lose(0, 30_000, 30_001);
    // The hog runs through the due time 21 000 on: the timer comes late.
    script.timer_wakes(24_000, 0, output, true).switch(24_010, 0, PREEMPTED, output);
    let samples = [(1000, 1020, 5020), (11_000, 11_020, 11_070), (21_000, 24_015, 24_020)];
    let explanation = script.explain_handed_over(output, receiver, &samples);
    let late = explanation.worst.iter().find(|late| late.index == 2).unwrap();
    let segments = late.segments.unwrap();
    assert_eq!(segments.get(Segment::DueToIrq), Nanos::from_micros(3000));
    assert_eq!(segments.get(Segment::HandedOver), Nanos::from_micros(5));
}

#[test]
fn events_lost_on_the_way_leave_a_sample_undivided() {
    let Line { mut script, output, receiver } = line(5000);
    script.lose(1, 2000, 2001);
    let samples = [(1000, 1020, 5020), (11_000, 11_020, 11_070)];
    let explanation = script.explain_handed_over(output, receiver, &samples);
    assert_eq!((explanation.pareto.samples, explanation.pareto.undivided), (0, 1));
}
