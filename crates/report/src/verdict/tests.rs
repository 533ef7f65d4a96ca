//! Verdicts of made-up runs.

use tactus_model::experiment::Turn;
use tactus_model::policy::Scheduling;
use tactus_model::result::{Failure, Shortfall};
use tactus_model::run::{Run, RunStatus};
use tactus_model::time::Nanos;

use super::*;
use crate::fixture;

fn small(settings: &str, rounds: u32) -> Run {
    let text = format!("name = \"small\"\nrounds = {rounds}\n[settings]\n{settings}\n");
    let duration = if text.contains("duration") { "" } else { "duration = \"3s\"\n" };
    fixture::run(&(text + duration), 5)
}

fn plain(text: &str) -> String {
    text.replace(crate::format::THIN_SPACE, " ")
}

fn check_sentence(run: &Run, expected: &str) {
    assert_eq!(plain(&verdict(run).sentence), expected);
}

/// Checks that the verdict holds this against the run.
fn check_reserved(run: &Run, expected: &str) -> Reservation {
    let reservations = verdict(run).reservations;
    let found = reservations.iter().find(|reservation| plain(&reservation.text).contains(expected));
    found.unwrap_or_else(|| panic!("{reservations:#?}\n  do not say: {expected}")).clone()
}

#[test]
fn two_policies_under_several_loads() {
    check_sentence(
        &fixture::quick(),
        "Under every load, fifo:90 woke within 240 µs 99.9 % of the time, other within 15.9 ms; \
         the worst wakeup, 25.9 ms, came under file:cpus with other.",
    );
}

#[test]
fn a_single_cell() {
    let run = small("policy = \"fifo:90\"", 2);
    let [cell] = &crate::summary::cell_results(&run)[..] else { panic!("one cell is planned") };
    let max = plain(&crate::format::latency_or_nothing(cell.max()));
    let within = plain(&crate::format::latency_or_nothing(cell.by_schedule(0.999)));
    check_sentence(
        &run,
        &format!(
            "On the idle machine, fifo:90 woke within {within} 99.9 % of the time; \
             the latest of 12 000 wakeups came {max} late."
        ),
    );
    assert_eq!(verdict(&run).reservations, [], "there is nothing to hold against it");
}

#[test]
fn several_settings_that_vary() {
    let run =
        small("interval = [\"1ms\", \"2ms\"]\nload = [\"idle\", \"file\"]\npolicy = \"rr:1\"", 2);
    let sentence = verdict(&run).sentence;
    assert!(sentence.starts_with("In every cell, rr:1 woke within"), "{sentence}");
}

#[test]
fn too_few_samples_name_no_share() {
    let run = small("duration = \"60ms\"\npolicy = \"fifo:90\"", 2);
    let sentence = plain(&verdict(&run).sentence);
    assert!(sentence.starts_with("The latest of 240 wakeups came "), "{sentence}");
    assert!(!sentence.contains('%'), "{sentence}");
    check_reserved(
        &run,
        "Few samples: 240 under idle · fifo:90, so what did not happen in it may still happen to one wakeup in 80.",
    );
}

#[test]
fn nothing_measured() {
    let mut run = fixture::quick();
    run.measurements.clear();
    run.header.status = RunStatus::Interrupted;
    check_sentence(&run, "Nothing was measured: none of 20 turns gave a result.");
    let reservation = check_reserved(&run, "The run is interrupted: 0 of 20 turns were taken.");
    assert_eq!(
        reservation.mend.as_deref(),
        Some("tactus measure --continue quick-20261121-113355")
    );
}

#[test]
fn nothing_observed() {
    let mut run = small("policy = \"fifo:90\"", 1);
    run.measurements[0].tasks.clear();
    check_sentence(&run, "Nothing was observed: no wakeup came within any window.");
}

#[test]
fn a_policy_that_was_refused_gets_no_credit() {
    let mut run = small("policy = \"fifo:90\"", 1);
    let refused = Shortfall {
        asked: "policy fifo:90".to_owned(),
        granted: "policy other".to_owned(),
        reason: "this user may not use real-time priorities".to_owned(),
        mend: Some("sudo prlimit --rtprio=99 --pid $$".to_owned()),
    };
    for measurement in &mut run.measurements {
        measurement.shortfalls.extend([refused.clone(), refused.clone()]);
        for task in &mut measurement.tasks {
            task.granted.scheduling = Scheduling::ORDINARY;
        }
    }
    let verdict = verdict(&run);
    assert!(verdict.sentence.contains("other (asked for fifo:90) woke within"), "{verdict}");
    let said =
        verdict.reservations.iter().filter(|found| found.text.starts_with("Asked for")).count();
    assert_eq!(said, 1, "a shortfall of many turns is said once: {verdict}");
    assert_eq!(
        check_reserved(&run, "Asked for policy fifo:90, got policy other").mend,
        refused.mend
    );
    insta::assert_snapshot!("refused", verdict);
}

#[test]
fn what_limits_a_run_is_said() {
    let mut run = fixture::quick();
    run.failures.push(Failure {
        turn: Turn { round: 1, cell: 4 },
        reason: "the measuring process gave no answer for 30 s".to_owned(),
        hint: None,
    });
    let first = &mut run.measurements[0];
    first.rates.steal = Some(Nanos::from_millis(40));
    first.tasks[0].accounting.dropped += 7;
    first.tasks[0].accounting.early += 2;
    let loaded = run.measurements.iter_mut().find(|found| found.load.copies > 0).unwrap();
    loaded.load.ended = 1;
    let after = run.header.facts_after.as_mut().unwrap();
    after.processor.clock_source = Some("hpet".to_owned());
    run.header.facts_before.processor.virtualization = Some("kvm".to_owned());
    after.processor.virtualization = Some("kvm".to_owned());

    check_reserved(
        &run,
        "1 turn gave no result: memory:cpus · other, round 2: the measuring process",
    );
    check_reserved(&run, "Due times were missed, at most 1.2 % (116 under process:cpus · other)");
    check_reserved(&run, "7 wakeups took place and were not kept");
    check_reserved(&run, "The accounting does not balance in");
    check_reserved(&run, "The load was not there all the time in");
    check_reserved(&run, "The hypervisor gave 40.0 ms of processor time to others");
    check_reserved(
        &run,
        "The machine changed during the run: clock source (tsc before, hpet after).",
    );
    check_reserved(&run, "2 wakeups came before their time");
    check_reserved(&run, "The machine is virtual (kvm)");
}

#[test]
fn one_round_cannot_tell_drift() {
    check_reserved(&small("policy = \"fifo:90\"", 1), "One round only");
}

#[test]
fn rounds_that_disagree_are_named() {
    let mut run = small("policy = \"fifo:90\"", 2);
    let slow = small("policy = \"other\"\nload = \"process\"", 2).measurements[1].tasks.clone();
    let second = run.measurements.iter_mut().find(|found| found.turn.round == 1).unwrap();
    for (task, slow) in second.tasks.iter_mut().zip(slow) {
        task.blocks = slow.blocks;
    }
    check_reserved(&run, "The rounds disagree, most under idle · fifo:90: p99 from");
}

#[test]
fn a_complete_and_quiet_run_has_few_reservations() {
    let found = verdict(&fixture::quick()).reservations;
    assert_eq!(found.len(), 1, "{found:#?}");
}
