//! How long threads waited for a CPU, and why.

#[path = "support/nonsense.rs"]
mod nonsense;
#[expect(dead_code, reason = "another test uses the rest")]
mod support;

use proptest::prelude::*;
use support::{IDLE, PREEMPTED, SLEEPING, Script, TIMER, Thread, check_sums};
use tactus_explain::thread_time::ThreadTime;
use tactus_explain::{MatchOutcome, Options, WaitExplanation, Waits, waits};
use tactus_model::recording::{Dictionary, EventSource, Recording};
use tactus_model::time::Nanos;
use tactus_record::file::RecordingFile;
use tactus_record::simulate::{Plan, simulate};

const THRESHOLD: Nanos = Nanos::from_micros(100);

const OPTIONS: Options = Options { threshold: THRESHOLD, slowest: 20, timelines: 20 };

fn find(recording: &Recording) -> Waits {
    waits(&mut recording.reader(), OPTIONS, |_, _| true).expect("a recording in memory cannot fail")
}

/// The waits under the name `victim`.
fn of_victim(recording: &Recording) -> WaitExplanation {
    let found = find(recording);
    found.names.into_iter().find(|name| name.name == "victim").expect("it waited")
}

/// CPU 0 runs `hog`; `victim` has slept since 5.
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
    let explanation = of_victim(&script.into_recording());
    let [worst] = &explanation.explanation.worst[..] else { panic!("one wait: {explanation:?}") };
    assert_eq!(worst.outcome, outcome);
    assert_eq!(support::shown(worst), [cause]);
    assert!(worst.timeline.is_some());
    check_sums(&explanation.explanation, 1);
}

#[test]
fn a_woken_thread_waits_for_the_running_thread() {
    let (mut script, victim, _) = stage();
    script.wake(1000, 0, victim, 0).switch(3000, 0, PREEMPTED, victim);
    check(script, MatchOutcome::WokenByThread, "2000 thread hog (200, other)");
}

#[test]
fn a_preempted_thread_waits_from_then_on() {
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
    let victim = of_victim(&script.into_recording());
    let [worst] = &victim.explanation.worst[..] else { panic!("one wait: {victim:?}") };
    let late = worst.sample;
    assert_eq!((late.due, late.came), (Nanos::from_micros(1000), Nanos::from_micros(1410)));
}

#[test]
fn an_ordinary_thread_waits_through_its_timer_slack() {
    let (mut script, victim, _) = stage();
    script.wake(8, 0, victim, 0).switch(9, 0, PREEMPTED, victim);
    script.arm(10, 0, TIMER, 1000, 200).switch(20, 0, SLEEPING, IDLE);
    script.idle_entry(21, 0, 1);
    script.timer_wakes(1190, 0, victim, true).switch(1200, 0, PREEMPTED, victim);
    let victim = of_victim(&script.into_recording());
    let [worst] = &victim.explanation.worst[..] else { panic!("one wait: {victim:?}") };
    assert_eq!(worst.sample.due, Nanos::from_micros(1000));
    assert_eq!(support::shown(worst)[0], "190 timer slack");
}

#[test]
fn sleep_is_not_a_wait() {
    let (mut script, victim, _) = stage();
    script.wake(9000, 0, victim, 0).switch(9004, 0, PREEMPTED, victim);
    let victim = of_victim(&script.into_recording());
    assert_eq!((victim.lengths.count, victim.explanation.samples), (1, 0));
    assert_eq!(victim.lengths.max, Nanos::from_micros(4));
}

#[test]
fn a_wait_across_a_loss_is_not_counted() {
    let (mut script, victim, _) = stage();
    script.wake(1000, 0, victim, 0).lose(0, 1500, 1600).switch(3000, 0, PREEMPTED, victim);
    let found = find(&script.into_recording());
    assert!(found.names.iter().all(|name| name.explanation.samples == 0), "{found:?}");
}

/// Checks the invariants of divided time.
fn check_time(time: &ThreadTime) {
    let sum = time.on_cpu + time.runqueue_wait + time.blocked + time.asleep + time.unknown;
    assert_eq!(sum, time.recorded, "the parts add up: {time:?}");
    let sleeps: Nanos = time.sleeps.iter().map(|row| row.time).sum();
    assert_eq!(sleeps, time.blocked + time.asleep, "the sleeps add up: {time:?}");
    for row in &time.sleeps {
        let ended: Nanos = row.enders.iter().map(|ender| ender.time).sum();
        assert_eq!(ended, row.time, "the enders add up: {row:?}");
        for stretch in &row.longest {
            if let Some(link) = stretch.chain.first() {
                let parts = link.ran + link.interrupted + link.waited + link.slept + link.unknown;
                assert_eq!(parts, stretch.followed, "the chain covers the stretch: {stretch:?}");
            }
        }
    }
}

#[test]
fn all_of_a_threads_time_is_divided() {
    let (mut script, victim, hog) = stage();
    let holder = script.thread("holder", 300, 120);
    // It sleeps until its timer, runs, waits for a lock that `holder` has, and runs again.
    script.wake(10, 0, victim, 0).switch(20, 0, SLEEPING, victim);
    script.arm(100, 0, TIMER, 1000, 0);
    script.in_chain(&["__schedule", "schedule", "do_nanosleep"]).switch(110, 0, SLEEPING, IDLE);
    script.timer_wakes(1000, 0, victim, true).switch(1010, 0, PREEMPTED, victim);
    script.in_chain(&["__schedule", "schedule", "futex_do_wait", "__x64_sys_futex"]);
    script.switch(1500, 0, SLEEPING, holder).switch(2000, 0, PREEMPTED, hog);
    script.switch(5000, 0, SLEEPING, holder).wake(5100, 0, victim, 0);
    script.switch(5200, 0, SLEEPING, victim).noise(6000, 0);
    let victim = of_victim(&script.into_recording());
    let time = &victim.time;
    check_time(time);
    let micros = |time: Nanos| time.as_nanos() / 1000;
    let rows: Vec<(String, u64)> =
        time.sleeps.iter().map(|row| (row.sleep.to_string(), micros(row.time))).collect();
    let expected = [("futex", 3600), ("its own timer", 890), ("unknown", 5)];
    assert_eq!(rows, expected.map(|(reason, time)| (reason.to_owned(), time)));
    assert_eq!(micros(time.blocked), 3605);
    let [longest] = &time.sleeps[0].longest[..] else { panic!("one futex: {time:?}") };
    assert_eq!(longest.ender.to_string(), "holder (300)");
    let [link] = &longest.chain[..] else { panic!("only the holder: {longest:?}") };
    assert_eq!(link.thread.name, "holder");
    assert_eq!((micros(link.ran), micros(link.waited)), (600, 3000));
    assert_eq!(link.behind[0].cause.to_string(), "thread hog (200, other)");
    assert_eq!(longest.inversion, None, "both are ordinary threads");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_causes_of_waits_add_up_whatever_the_events(events in nonsense::events(100_000)) {
        let about = Script::new(3).into_recording().about;
        let recording =
            Recording { about, dictionary: Dictionary::new(), events, losses: Vec::new() };
        for name in find(&recording).names {
            let late = name.explanation.samples;
            prop_assert!(late <= name.lengths.count);
            prop_assert_eq!(name.explanation.pareto.samples, late);
            check_sums(&name.explanation, late);
            check_time(&name.time);
        }
    }
}

/// Compares the result for each name alone with the result for all names.
fn check_alone_and_together<S: EventSource>(open: impl Fn() -> S) -> usize {
    let whole = |source: &mut S, wanted: &dyn Fn(&str) -> bool| {
        waits(source, OPTIONS, |_, name| wanted(name)).expect("the recording is whole")
    };
    let together = whole(&mut open(), &|_| true);
    for name in &together.names {
        let alone = whole(&mut open(), &|other| other == name.name);
        assert_eq!(alone.names, std::slice::from_ref(name));
    }
    together.names.iter().filter(|name| name.explanation.samples > 0).count()
}

#[test]
fn the_result_for_one_name_does_not_depend_on_the_others() {
    for seed in 0..4 {
        let simulation = simulate(&Plan { seed, ..Plan::default() });
        check_alone_and_together(|| simulation.recording.reader());
    }
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/blame");
    let mut late = 0;
    for entry in std::fs::read_dir(folder).expect("golden recordings belong to the checkout") {
        let path = entry.expect("the folder can be read").path();
        if path.extension().is_some_and(|extension| extension == "tactusrec") {
            late += check_alone_and_together(|| RecordingFile::open(&path).expect("it opens"));
        }
    }
    assert!(late >= 10, "only {late} names came late");
}

#[test]
fn a_thread_that_is_named_later_ends_sleeps_by_its_name() {
    let mut script = Script::new(2);
    let (sleeper, waker) = (script.thread("sleeper", 100, 50), script.thread("waker", 200, 120));
    // The waker runs since before the recording; its name comes with the switch from it.
    script.appears(0, waker).noise(1, 0).wake(1000, 0, sleeper, 1);
    script.switch(5, 1, PREEMPTED, sleeper).switch(20, 1, SLEEPING, IDLE);
    script.switch(1010, 1, PREEMPTED, sleeper).switch(1100, 1, SLEEPING, IDLE);
    script.switch(2000, 0, SLEEPING, IDLE);
    let recording = script.into_recording();
    let options = Options { threshold: Nanos::from_micros(1), slowest: 1, timelines: 0 };
    let found = waits(&mut recording.reader(), options, |_, name| name == "sleeper");
    let found = found.expect("a recording in memory cannot fail");
    let enders: Vec<String> = found.names[0]
        .time
        .sleeps
        .iter()
        .flat_map(|row| &row.enders)
        .map(|row| row.ender.to_string())
        .collect();
    assert!(enders.contains(&"waker".to_owned()), "{enders:?}");
}
