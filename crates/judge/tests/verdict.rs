//! Verdicts on fictional runs: a planted problem is found, and nothing else.

#[path = "../../report/fixtures/runs.rs"]
mod fixture;

use tactus_judge::doctor::{Finding, State};
use tactus_judge::verdict::{Validity, Verdict, changed_facts, verdict};
use tactus_model::cell::Target;
use tactus_model::experiment::Turn;
use tactus_model::facts::MachineFacts;
use tactus_model::format::THIN_SPACE;
use tactus_model::guest::Guest;
use tactus_model::origin::Origin;
use tactus_model::result::{ByDirt, Failure, Measurement, Shortfall};
use tactus_model::run::{Run, RunStatus};
use tactus_model::time::Nanos;
use tactus_model::traced::{RecordingAccount, TracedStretch};

/// A valid run of two rounds.
fn sound() -> Run {
    small("policy = \"fifo:90\"", 2)
}

fn small(settings: &str, rounds: u32) -> Run {
    let text = format!("name = \"small\"\nrounds = {rounds}\n[settings]\n{settings}\n");
    let duration = if text.contains("duration") { "" } else { "duration = \"3s\"\n" };
    fixture::run(&(text + duration), 5)
}

fn on_both(run: &mut Run, change: impl Fn(&mut MachineFacts)) {
    change(&mut run.header.facts_before);
    run.header.facts_after.iter_mut().for_each(change);
}

fn in_every(run: &mut Run, change: impl Fn(&mut Measurement)) {
    run.measurements.iter_mut().for_each(change);
}

/// The state and check of every problem and warning.
fn against(verdict: &Verdict) -> Vec<(State, &str)> {
    let held = |finding: &&Finding| finding.state < State::Unknown;
    verdict.findings.iter().filter(held).map(|found| (found.state, found.check)).collect()
}

/// Checks that the verdict has exactly one problem or warning, and its fact.
#[track_caller]
fn check(run: &Run, state: State, check: &str, fact: &str) -> Finding {
    let verdict = verdict(run);
    assert_eq!(against(&verdict), [(state, check)], "{verdict:#?}");
    let found = verdict.of_state(state).next().expect("the finding").clone();
    let text = found.fact.replace(THIN_SPACE, " ");
    assert!(text.contains(fact), "{text}\n  does not say: {fact}");
    assert!(found.effect.as_deref().is_some_and(|effect| effect.ends_with('.')), "{found:?}");
    let expected = match state {
        State::Invalidates => Validity::Invalid,
        _ => Validity::WithWarnings,
    };
    assert_eq!(verdict.validity, expected);
    found
}

#[test]
fn a_sound_run_is_valid() {
    let verdict = verdict(&sound());
    assert_eq!(verdict.validity, Validity::Valid, "{verdict:#?}");
    assert_eq!(verdict.mark(), "valid");
    // Some facts of the fictional machine are unknown, and the verdict says so.
    let unknown: Vec<&str> = verdict.of_state(State::Unknown).map(|found| found.check).collect();
    assert!(unknown.contains(&"irqbalance"), "{unknown:?}");
    assert_eq!(verdict.findings.len(), unknown.len());
}

#[test]
fn a_clock_of_ticks_invalidates() {
    let mut run = sound();
    on_both(&mut run, |facts| facts.cpu.clock_source = Some("jiffies".to_owned()));
    check(&run, State::Invalidates, "clock source", "jiffies");
}

#[test]
fn a_clock_that_changed_invalidates() {
    let mut run = sound();
    let after = run.header.facts_after.as_mut().unwrap();
    after.cpu.clock_source = Some("hpet".to_owned());
    let verdict = verdict(&run);
    assert_eq!(
        against(&verdict),
        [(State::Invalidates, "machine changed"), (State::Warning, "clock source")]
    );
    assert_eq!(verdict.why_invalid(), "machine changed: clock source (tsc before, hpet after)");
    assert!(verdict.findings.iter().any(|found| found.fact == "hpet, after the run"));
}

#[test]
fn a_recording_that_began_during_the_run_is_a_warning() {
    let mut run = sound();
    run.header.facts_before.scheduling.recordings = Some(0);
    let after = run.header.facts_after.as_mut().unwrap();
    after.scheduling.recordings = Some(1);
    check(&run, State::Warning, "other recordings", "1 by other Tactus processes, after the run");
}

#[test]
fn another_setting_that_changed_is_a_warning() {
    let mut run = sound();
    let after = run.header.facts_after.as_mut().unwrap();
    after.scheduling.rt_runtime_us = Some(-1);
    // Facts that always differ, and facts that were unknown before, are not changes.
    after.steal = Some(Nanos::from_secs(9));
    after.cgroup.cpu_directory = Some("/sys/fs/cgroup/other".to_owned());
    after.scheduling.recordings = Some(0);
    // The first turn removes it.
    after.scheduling.left_behind = Some(Vec::new());
    run.header.facts_before.scheduling.left_behind = Some(vec!["/proc/sys/x".to_owned()]);
    let changed = changed_facts(&run.header).iter().map(|fact| fact.name).collect::<Vec<_>>();
    assert_eq!(changed, ["real-time runtime"]);
    check(
        &run,
        State::Warning,
        "machine changed",
        "real-time runtime (950 ms before, unlimited after)",
    );
}

#[test]
fn a_missing_load_invalidates_and_one_that_ended_does_not() {
    let mut run = small("load = \"file\"\npolicy = \"fifo:90\"", 2);
    assert_eq!(verdict(&run).validity, Validity::Valid);
    run.measurements[1].load.ended = 1;
    check(&run, State::Warning, "load", "ended before the window closed");
    run.measurements[1].load.ended = 0;
    run.measurements[1].load.copies = 0;
    check(
        &run,
        State::Invalidates,
        "load",
        "no copy of the load was running when a window opened in file",
    );
}

#[test]
fn steal_time_is_weighed_by_its_share() {
    let mut run = sound();
    // Two CPUs for 3 s in each of two rounds.
    in_every(&mut run, |found| found.rates.steal = Some(Nanos::from_millis(6)));
    let found = check(&run, State::Warning, "steal time", "12.0 ms of CPU time (0.10 %)");
    let effect = found.effect.unwrap().replace(THIN_SPACE, " ");
    assert!(effect.contains("Quantiles beyond 99.90 % show the host"), "{effect}");
    in_every(&mut run, |found| found.rates.steal = Some(Nanos::from_millis(700)));
    check(&run, State::Invalidates, "steal time", "(11.7 %)");
}

#[test]
fn a_quota_invalidates_when_it_acted() {
    let mut run = sound();
    on_both(&mut run, |facts| {
        facts.cgroup.quota_us = Some(50_000);
        facts.cgroup.quota_period_us = Some(100_000);
    });
    assert_eq!(verdict(&run).validity, Validity::Valid, "the quota exists but did not act");
    run.measurements[0].rates.throttled = Some(Nanos::from_millis(40));
    let verdict_of_it = verdict(&run);
    assert!(
        verdict_of_it.why_invalid().replace(THIN_SPACE, " ").contains("cgroup for 40.0 ms"),
        "{verdict_of_it:#?}"
    );
    // An older version did not count it.
    in_every(&mut run, |found| found.rates.throttled = None);
    check(&run, State::Invalidates, "cgroup quota", "0.50 CPUs");
}

#[test]
fn a_refusal_is_reported_once_with_its_fix() {
    let mut run = sound();
    let refused = Shortfall {
        asked: "policy fifo:90".to_owned(),
        granted: "policy other".to_owned(),
        reason: "this user may not use real-time priorities".to_owned(),
        fix: Some("sudo prlimit --rtprio=99 --pid $$".to_owned()),
    };
    in_every(&mut run, |found| found.shortfalls.extend([refused.clone(), refused.clone()]));
    let found = check(&run, State::Warning, "policy", "requested policy fifo:90, got");
    assert_eq!(found.effect.as_deref(), Some("Figures are for policy other."));
    assert_eq!(found.fix, refused.fix);
}

#[test]
fn dropped_samples_are_weighed_by_their_share() {
    let mut run = sound();
    let accounting = &mut run.measurements[0].tasks[0].accounting;
    accounting.observed -= 7;
    accounting.dropped += 7;
    check(&run, State::Warning, "samples kept", "7 wakeups were dropped");
    let accounting = &mut run.measurements[0].tasks[0].accounting;
    accounting.observed -= 500;
    accounting.dropped += 500;
    check(&run, State::Invalidates, "samples kept", "507 wakeups");
}

#[test]
fn an_account_that_does_not_balance_is_a_bug() {
    let mut run = sound();
    run.measurements[0].tasks[0].accounting.intended += 1;
    check(&run, State::Invalidates, "accounting", "intended is not observed + missed + dropped");
}

#[test]
fn missed_early_unprepared_and_lost_are_warnings() {
    let missed = small("policy = \"other\"\nload = \"process\"", 2);
    let found = verdict(&missed);
    assert!(against(&found).contains(&(State::Warning, "missed due times")), "{found:#?}");

    let mut early = sound();
    early.measurements[0].tasks[0].accounting.early = 2;
    check(&early, State::Warning, "early wakeups", "2 wakeups before the due time");

    let mut unprepared = sound();
    let due = vec![Nanos::from_millis(3); 2];
    let by_dirt = ByDirt { unprepared: due, ..ByDirt::default() };
    unprepared.measurements[0].tasks[0].by_dirt = Some(Box::new(by_dirt));
    check(&unprepared, State::Warning, "prepared caches", "not ready for 2 of");

    let mut lost = sound();
    lost.measurements[0].traced = Some(TracedStretch {
        opened: tactus_model::time::Instant::from_nanos(0),
        window: Nanos::from_millis(500),
        came_first: false,
        tasks: Vec::new(),
        recording: RecordingAccount { events: 990, lost: 10, bytes: 20_000 },
    });
    check(&lost, State::Warning, "recorded events", "10 of 1 000 events were lost");
}

#[test]
fn missing_turns() {
    let mut run = sound();
    let lost = run.measurements.pop().unwrap();
    run.failures.push(Failure {
        turn: Turn { round: lost.turn.round, cell: 0 },
        reason: "the measuring process did not respond for 30 s".to_owned(),
        hint: Some("look into the kernel's log".to_owned()),
        by_host: false,
    });
    let verdict_of_it = verdict(&run);
    let turns: Vec<&Finding> =
        verdict_of_it.findings.iter().filter(|found| found.check == "turns").collect();
    let [found] = turns[..] else { panic!("{verdict_of_it:#?}") };
    assert!(found.fact.contains("idle · fifo:90, round 2: the measuring process did not respond"));
    assert_eq!(found.fix.as_deref(), Some("look into the kernel's log"));

    let again = Some("tactus measure --continue small-20261121-113355");
    let fix_without_hint = |run: &Run| {
        let found = verdict(run).findings.into_iter().find(|found| found.check == "turns");
        found.unwrap().fix
    };
    run.failures[0].hint = None;
    run.header.status = RunStatus::Partial;
    assert_eq!(fix_without_hint(&run), None, "only the machine where it began continues a run");
    run.header.facts_before.machine_id = Some("a digest".to_owned());
    assert_eq!(fix_without_hint(&run).as_deref(), again);

    run.failures.clear();
    run.measurements.clear();
    run.header.status = RunStatus::Interrupted;
    let nothing = verdict(&run);
    assert_eq!(nothing.validity, Validity::Invalid);
    assert!(nothing.findings.iter().any(|found| found.fix.as_deref() == again));
}

#[test]
fn small_samples_and_rounds_that_disagree() {
    check(
        &small("policy = \"fifo:90\"\nduration = \"6s\"", 1),
        State::Warning,
        "rounds",
        "only one",
    );
    let few = check(
        &small("duration = \"60ms\"\npolicy = \"fifo:90\"", 2),
        State::Warning,
        "sample size",
        "only 240 due times in idle · fifo:90",
    );
    assert!(few.effect.unwrap().contains("1 in 80 wakeups"));

    let mut run = sound();
    let slow = small("policy = \"other\"\nload = \"process\"", 2).measurements[1].tasks.clone();
    let second = run.measurements.iter_mut().find(|found| found.turn.round == 1).unwrap();
    for (task, slow) in second.tasks.iter_mut().zip(slow) {
        task.blocks = slow.blocks;
    }
    check(&run, State::Warning, "rounds", "the p99 of idle · fifo:90 is between ");
}

#[test]
fn facts_of_the_machine_count_if_they_affect_the_plan() {
    let plant = |run: &mut Run| {
        on_both(run, |facts| {
            facts.cpu.idle_exit_latency_us_max = Some(890);
            facts.scheduling.realtime_tasks = Some(vec!["pipewire fifo:88".to_owned()]);
            facts.scheduling.autogroup = Some(true);
            facts.memory.transparent_huge_pages = Some("always".to_owned());
            facts.cpu.isolated = Some([1].into_iter().collect());
            // Properties of the machine that the run measures.
            facts.kernel.preemption = Some("none".to_owned());
            facts.kernel.tick_rate_hz = Some(100);
        });
    };
    let mut prepared = small(
        "policy = \"fifo:90\"\ncpu-dma-latency = \"0us\"\ncpus = \"0\"\nlock-memory = true",
        2,
    );
    plant(&mut prepared);
    in_every(&mut prepared, |found| found.tasks.retain(|task| task.cpu == Some(0)));
    let held = verdict(&prepared);
    let checks: Vec<&str> = against(&held).iter().map(|(_, check)| *check).collect();
    assert_eq!(checks, ["sample size"], "the tasks of one CPU are missing: {held:#?}");

    let mut ordinary = small("policy = [\"other:-5\", \"fifo:80\"]\nlock-memory = false", 2);
    plant(&mut ordinary);
    let held = verdict(&ordinary);
    for check in [
        "idle states",
        "other real-time tasks",
        "autogroup",
        "transparent huge pages",
        "isolated CPUs",
    ] {
        assert!(against(&held).contains(&(State::Warning, check)), "{check}: {held:#?}");
    }
    for check in ["preemption model", "tick rate"] {
        assert!(held.findings.iter().all(|found| found.check != check), "{check}");
    }
}

#[test]
fn a_virtual_machine_is_a_warning() {
    let mut run = sound();
    on_both(&mut run, |facts| facts.cpu.virtualization = Some("kvm".to_owned()));
    check(&run, State::Warning, "hypervisor", "kvm");
}

#[test]
fn a_run_without_facts_is_judged_by_its_results() {
    let mut run = sound();
    run.header.facts_before = MachineFacts::unknown(run.header.created);
    run.header.facts_after = None;
    let found = verdict(&run);
    assert_eq!(found.validity, Validity::Valid, "{found:#?}");
    assert!(found.of_state(State::Unknown).count() > 5, "{found:#?}");
}

#[test]
fn heat_and_firmware_count_if_they_acted_during_the_run() {
    let mut run = sound();
    on_both(&mut run, |facts| {
        facts.thermal.throttle_count = Some(12);
        facts.cpu.smi_count = Some(55);
    });
    assert_eq!(verdict(&run).validity, Validity::Valid, "all events were before the run");
    run.header.facts_after.as_mut().unwrap().cpu.smi_count = Some(56);
    check(&run, State::Warning, "firmware interrupts", "SMIs stopped all CPUs once");
    run.header.facts_after.as_mut().unwrap().cpu.smi_count = Some(55);
    run.header.facts_after.as_mut().unwrap().thermal.throttle_count = Some(14);
    check(&run, State::Warning, "heat", "CPUs were throttled 2 times");
}

#[test]
fn in_deterministic_time_rounds_are_seeds_and_nothing_drifts() {
    let exact = |mut run: Run| {
        for cell in &mut run.header.plan.cells {
            let (kernel, time) = ("debian".parse().unwrap(), "exact".parse().unwrap());
            cell.target = Target::Guest(Guest { kernel, time });
        }
        run
    };
    let of_seeds = |run: &Run| -> Finding {
        let verdict = verdict(run);
        assert!(!verdict.findings.iter().any(|found| found.check == "rounds"), "{verdict:#?}");
        verdict.findings.into_iter().find(|found| found.check == "seeds").expect("of seeds")
    };
    let one = of_seeds(&exact(small("policy = \"fifo:90\"\nduration = \"6s\"", 1)));
    assert_eq!(one.fact, "only one seed");
    assert!(one.fix.unwrap().contains("--rounds 20"));
    let mut run = exact(sound());
    for measurement in run.measurements.iter_mut().filter(|found| found.turn.round == 1) {
        for block in measurement.tasks.iter_mut().flat_map(|task| &mut task.blocks) {
            block.buckets.iter_mut().for_each(|(length, _)| *length = length.saturating_mul(9));
        }
    }
    let disagree = of_seeds(&run);
    assert!(disagree.fact.contains("depending on the seed"), "{disagree:?}");
    assert!(disagree.effect.unwrap().contains("This is not drift"));
}

#[test]
fn an_emulator_that_misses_many_due_times_invalidates() {
    let emulated = |missed: u64| {
        let mut run = sound();
        for cell in &mut run.header.plan.cells {
            let (kernel, time) = ("debian".parse().unwrap(), "wall".parse().unwrap());
            cell.target = Target::Guest(Guest { kernel, time });
        }
        let facts = run.header.facts_before.clone();
        in_every(&mut run, |measurement| {
            measurement.guest = Some(Box::new(fixture::guest("a", 1, facts.clone())));
            for task in &mut measurement.tasks {
                task.accounting.missed += missed;
                task.accounting.intended += missed;
            }
        });
        run
    };
    let few = verdict(&emulated(10));
    assert_eq!(few.validity, Validity::WithWarnings, "{few:#?}");
    let many = verdict(&emulated(100_000));
    let found = many.of_state(State::Invalidates).next().expect("an invalidating finding");
    assert_eq!(found.check, "missed due times");
    assert!(found.fact.contains("emulated in software"), "{found:?}");
    assert!(found.fix.as_deref().is_some_and(|fix| fix.contains("--exact")), "{found:?}");
    assert_eq!(many.validity, Validity::Invalid);
}

#[test]
fn a_run_whose_turns_all_failed_has_one_finding_about_it() {
    let mut run = small("policy = \"fifo:90\"", 1);
    run.measurements.clear();
    let turn = Turn { round: 0, cell: 0 };
    run.failures =
        vec![Failure { turn, reason: "no such program".to_owned(), hint: None, by_host: false }];
    check(&run, State::Invalidates, "turns", "1 turn failed: ");
}

#[test]
fn an_imported_run_is_not_sent_to_a_drawing_that_it_lacks() {
    let mut run = small("policy = \"fifo:90\"", 2);
    let late = |measurement: &mut Measurement| {
        for bucket in measurement.tasks.iter_mut().flat_map(|task| &mut task.blocks) {
            bucket.buckets.iter_mut().for_each(|(low, _)| *low = low.saturating_mul(50));
            bucket.max = bucket.max.saturating_mul(50);
        }
    };
    late(&mut run.measurements[0]);
    let effect = |run: &Run| {
        let found = verdict(run).findings.into_iter().find(|found| found.check == "rounds");
        found.and_then(|found| found.effect).expect("the rounds disagree")
    };
    assert!(effect(&run).contains("Second by second"));
    run.header.origin = Some(Origin {
        tool: "cyclictest".to_owned(),
        version: None,
        command_line: None,
        format: "cyclictest-json".to_owned(),
        files: vec!["a.json".to_owned(), "b.json".to_owned()],
        notes: Vec::new(),
    });
    assert_eq!(effect(&run), "The machine drifted between the rounds.");
}
