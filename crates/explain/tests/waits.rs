//! How long any thread waited for a processor, and why.

#[path = "support/nonsense.rs"]
mod nonsense;
#[expect(dead_code, reason = "another test tells more with it")]
mod support;

use proptest::prelude::*;
use support::{IDLE, PREEMPTED, SLEEPING, Script, TIMER, Thread, check_sums};
use tactus_explain::{MatchOutcome, Options, WaitExplanation, Waits, explain_waits, waits};
use tactus_model::recording::{Dictionary, Recording, ThreadId};
use tactus_model::time::Nanos;

const THRESHOLD: Nanos = Nanos::from_micros(100);

const OPTIONS: Options = Options { threshold: THRESHOLD, slowest: 20, timelines: 20 };

fn find(recording: &Recording) -> Waits {
    waits(&mut recording.reader(), THRESHOLD).expect("a recording in memory cannot fail")
}

fn explained(recording: &Recording, found: &Waits) -> Vec<WaitExplanation> {
    explain_waits(&mut recording.reader(), &found.by_name(), OPTIONS)
        .expect("a recording in memory cannot fail")
}

/// Processor 0 runs `hog`; `victim` sleeps since 5.
fn stage() -> (Script, Thread, Thread) {
    let mut script = Script::new(1);
    let victim = script.thread("victim", 100, 120);
    let hog = script.thread("hog", 200, 120);
    script.switch(2, 0, PREEMPTED, victim).switch(5, 0, SLEEPING, hog);
    (script, victim, hog)
}

#[track_caller]
fn check(mut script: Script, outcome: MatchOutcome, cause: &str) {
    script.noise(20_000, 0);
    let recording = script.into_recording();
    let mut found = find(&recording);
    found.retain(|waits| waits.thread == ThreadId(100));
    let explanations = explained(&recording, &found);
    let [explanation] = &explanations[..] else { panic!("one name: {explanations:?}") };
    assert_eq!(explanation.name, "victim");
    let [worst] = &explanation.explanation.worst[..] else { panic!("one wait: {explanation:?}") };
    assert_eq!(worst.outcome, outcome);
    assert_eq!(support::shown(worst), [cause]);
    assert!(worst.timeline.is_some());
    check_sums(&explanation.explanation, 1);
}

#[test]
fn a_woken_thread_waits_for_the_one_that_runs() {
    let (mut script, victim, _) = stage();
    script.wake(1000, 0, victim, 0).switch(3000, 0, PREEMPTED, victim);
    check(script, MatchOutcome::WokenByThread, "2000 thread hog (200, other)");
}

#[test]
fn a_thread_that_had_to_leave_waits_from_then_on() {
    let (mut script, victim, hog) = stage();
    script.wake(10, 0, victim, 0).switch(20, 0, PREEMPTED, victim);
    script.switch(1000, 0, PREEMPTED, hog).switch(4000, 0, PREEMPTED, victim);
    check(script, MatchOutcome::HadToLeave, "3000 thread hog (200, other)");
}

#[test]
fn a_late_timer_counts_from_when_it_was_due() {
    let (mut script, victim, _) = stage();
    script.wake(8, 0, victim, 0).switch(9, 0, PREEMPTED, victim);
    script.arm(10, 0, TIMER, 1000, 0).switch(20, 0, SLEEPING, IDLE);
    script.idle_entry(21, 0, 1);
    script.idle_exit(1400, 0).timer_wakes(1402, 0, victim, true).switch(1410, 0, PREEMPTED, victim);
    let recording = script.into_recording();
    let found = find(&recording);
    let victim = found.threads.iter().find(|waits| waits.thread == ThreadId(100)).unwrap();
    let [late] = victim.late[..] else { panic!("one wait: {:?}", victim.late) };
    assert_eq!((late.due, late.came), (Nanos::from_micros(1000), Nanos::from_micros(1410)));
}

#[test]
fn sleep_is_no_wait() {
    let (mut script, victim, _) = stage();
    script.wake(9000, 0, victim, 0).switch(9004, 0, PREEMPTED, victim);
    let found = find(&script.into_recording());
    let victim = found.threads.iter().find(|waits| waits.thread == ThreadId(100)).unwrap();
    assert_eq!((victim.lengths.count(), victim.late.len()), (1, 0));
    assert_eq!(victim.lengths.max(), Some(Nanos::from_micros(4)));
}

#[test]
fn a_wait_across_a_loss_is_not_told() {
    let (mut script, victim, _) = stage();
    script.wake(1000, 0, victim, 0).lose(0, 1500, 1600).switch(3000, 0, PREEMPTED, victim);
    let found = find(&script.into_recording());
    assert!(found.threads.iter().all(|waits| waits.late.is_empty()), "{found:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_causes_of_waits_add_up_whatever_the_events(events in nonsense::events(100_000)) {
        let about = Script::new(3).into_recording().about;
        let recording =
            Recording { about, dictionary: Dictionary::new(), events, losses: Vec::new() };
        let found = find(&recording);
        let late: u64 = found.threads.iter().map(|waits| waits.late.len() as u64).sum();
        let counted: u64 = found.threads.iter().map(|waits| waits.lengths.count()).sum();
        prop_assert!(late <= counted);
        let mut divided = 0;
        for waits in explained(&recording, &found) {
            check_sums(&waits.explanation, waits.explanation.samples);
            divided += waits.explanation.samples;
        }
        prop_assert_eq!(divided, late);
    }
}
