//! The observer's own threads before the late thread.

use tactus_explain::CauseKind;
use tactus_model::recording::{Observers, ThreadId};

use super::*;

/// A probe that the thread `hog` delays by 2.995 ms, if `observers` observe.
fn delayed(observers: Observers) -> Explanation {
    let Stage { mut script, probe, hog } = stage_of(9, 4);
    script.process(hog, 150).observed_by(observers);
    script.timer_wakes(1002, 0, probe, false).switch(4002, 0, SLEEPING, probe);
    script.explain(probe, SleepMethod::Nanosleep, &[(1000, 4004)])
}

#[test]
fn a_thread_of_the_observer_is_no_other_thread() {
    let by_thread = Observers { threads: vec![ThreadId(200)], ..Observers::default() };
    for observers in [by_thread, Observers::of_processes([150])] {
        let first = delayed(observers).pareto.rows.remove(0);
        assert_eq!(first.cause.kind(), CauseKind::Observer);
        assert_eq!(first.cause.to_string(), "observer: thread hog (rt:95)");
        assert_eq!(first.time, Nanos::from_micros(2995));
        assert!(first.cause.explains());
    }
}

#[test]
fn without_an_observer_every_thread_is_a_cause() {
    // The second is the late thread's own number as a process.
    for observers in [Observers::default(), Observers::of_processes([100, 200])] {
        let pareto = delayed(observers).pareto;
        assert_eq!(pareto.rows[0].cause.to_string(), "thread hog (rt:95)");
        assert!(pareto.rows.iter().all(|row| row.cause.kind() != CauseKind::Observer));
    }
}

#[test]
fn a_section_of_the_observer_that_cannot_be_preempted_is_of_the_observer() {
    let planted = |observers| {
        let Stage { mut script, probe, .. } = stage();
        script.observed_by(observers);
        script.timer_wakes(1002, 0, probe, true).switch(1700, 0, PREEMPTED, probe);
        shown(&script.explain_one(probe, 1000, 1702)).remove(0)
    };
    let hog = Observers { threads: vec![ThreadId(200)], ..Observers::default() };
    assert!(planted(hog).contains("observer: thread hog"));
    assert!(planted(Observers::default()).contains("preemption-off section"));
}

/// What delays a probe: a thread of the process 150, whose first thread is called `first`.
fn delayed_by_a_thread_of(first: &str, observers: Observers) -> String {
    let Stage { mut script, probe, hog } = stage_of(9, 4);
    let first = script.thread(first, 150, 120);
    script.process(hog, 150).process(first, 150).observed_by(observers);
    script.switch(6, 1, SLEEPING, first).switch(7, 1, SLEEPING, IDLE);
    script.timer_wakes(1002, 0, probe, false).switch(4002, 0, SLEEPING, probe);
    script.explain_one(probe, 1000, 4004).parts[0].cause.to_string()
}

#[test]
fn another_tactus_is_not_called_like_the_observer() {
    let named = |first| delayed_by_a_thread_of(first, Observers::of_processes([77]));
    assert_eq!(named("tactus"), "thread hog of another tactus (process 150) (200, rt:95)");
    assert_eq!(named("cargo"), "thread hog of cargo (200, rt:95)");
    let own = Observers { threads: vec![ThreadId(150)], ..Observers::default() };
    assert_eq!(delayed_by_a_thread_of("tactus", own), "thread hog of tactus (200, rt:95)");
    // A recording of an old version does not say who observes.
    let unknown = delayed_by_a_thread_of("tactus", Observers::default());
    assert_eq!(unknown, "thread hog of tactus (200, rt:95)");
}
