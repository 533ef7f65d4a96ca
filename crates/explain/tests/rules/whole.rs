//! An explanation as a whole.

use super::*;

#[test]
fn the_pareto_combines_threads_with_one_name() {
    let mut script = Script::new(1);
    let probe = script.thread("probe", 100, 9);
    let first = script.thread("cc1", 200, 4);
    let second = script.thread("cc1", 201, 4);
    script.switch(5, 0, PREEMPTED, probe);
    for (hog, base) in [(first, 0), (second, 10_000)] {
        script.arm(base + 10, 0, TIMER, base + 1000, 0).switch(base + 20, 0, SLEEPING, hog);
        script.timer_wakes(base + 1002, 0, probe, false);
        script.switch(base + 3000, 0, SLEEPING, probe);
    }
    let explanation =
        script.explain(probe, SleepMethod::Nanosleep, &[(1000, 3002), (11_000, 13_002)]);
    let row = &explanation.pareto.rows[0];
    assert_eq!(row.cause.to_string(), "thread cc1 (rt:95)");
    assert_eq!((row.samples, row.first), (2, 2));
    assert_eq!(explanation.pareto.explained(), 1.0);
}

#[test]
fn an_explanation_comes_back_from_json() {
    let Stage { mut script, probe, .. } = stage();
    script.timer_wakes(1500, 0, probe, true).switch(1508, 0, PREEMPTED, probe);
    let explanation = script.explain(probe, SleepMethod::Nanosleep, &[(1000, 1510)]);
    let json = serde_json::to_string(&explanation).expect("it has no maps");
    let back: Explanation = serde_json::from_str(&json).expect("it was just written");
    assert_eq!(back, explanation);
}

#[test]
fn renamed_tags_of_stored_explanations_are_still_read() {
    let outcome: MatchOutcome = serde_json::from_str("\"timer-switch-untold\"").expect("an alias");
    assert_eq!(outcome, MatchOutcome::TimerSwitchMissing);
    let cause = r#"{"cause":"untold-switch","cpu":1}"#;
    let cause: Cause = serde_json::from_str(cause).expect("an alias");
    assert_eq!(cause, Cause::MissingSwitch { cpu: 1 });
}
