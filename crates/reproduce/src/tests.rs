//! The shipped papers, and every kind of claim: held, not held, not testable.

use std::collections::BTreeMap;

use tactus_model::cell::Cell;
use tactus_model::experiment::{Experiment, Overrides};
use tactus_model::facts::MachineFacts;
use tactus_model::guest::Guest;
use tactus_model::run::RunId;
use tactus_model::time::Nanos;
use tactus_stats::LatencyHistogram;

use super::*;
use crate::claim::{Claim, Holds};
use crate::paper::{FigureOf, Paper};

#[test]
fn every_shipped_paper_is_valid_and_has_its_file_name() {
    for (name, _) in PAPERS {
        let paper = find(name).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(paper.name, name);
        assert!(!paper.parts.is_empty(), "{name} has no part");
    }
}

#[test]
fn every_file_in_the_folder_is_shipped() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../papers");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert!(find(name).is_ok(), "{name} is not shipped");
    }
}

#[test]
fn every_claim_holds_for_the_papers_own_figures() {
    for (name, _) in PAPERS {
        let paper = find(name).unwrap();
        for part in &paper.parts {
            for claim in &part.claims {
                let figures = claim.holds.figures();
                let own: Option<Vec<f64>> =
                    figures.iter().map(|figure| part.published(figure).unwrap()).collect();
                // A paper that only draws its figures has no numbers.
                let Some(own) = own else { continue };
                let holds = claim.holds.of(&own, &own);
                let elsewhere = matches!(claim.holds, Holds::Elsewhere { .. });
                assert!(holds || elsewhere, "{name}: {} {own:?}", claim.text);
            }
        }
    }
}

#[test]
fn a_misspelt_name_gets_a_suggestion() {
    let error = find("latency-methods").unwrap_err().to_string();
    assert!(error.contains("did you mean `latency-method`?"), "{error}");
}

#[test]
fn a_cell_with_random_dirt_has_samples_of_every_kind_of_dirt() {
    let part = &find("address-spaces").unwrap().parts[0];
    let text =
        "[settings]\nduration = \"1s\"\ninterrupted = \"process\"\ndirt = [\"random\", \"l2\"]";
    let plan = Experiment::parse(text).unwrap().plan(&Overrides::default()).unwrap();
    let [random, fixed] = &plan.cells[..] else { panic!("two cells") };
    let found = |name: &str, cell: &Cell| part.cell_of(name, None, std::slice::from_ref(cell));
    assert_eq!(found("other process, dirty L2", random), Some(0));
    assert_eq!(found("other process, + L3", random), Some(0));
    assert_eq!(found("other process, dirty L2", fixed), Some(0));
    assert_eq!(found("other process, + L3", fixed), None);
    assert_eq!(found("sibling thread, dirty L2", random), None);
}

#[test]
fn differences_have_the_unit_of_their_figures() {
    let check = |kind: Kind, expected| {
        assert_eq!(crate::words::differences(&[0.05, -0.5], kind), expected);
    };
    check(Kind::Share, "+5.0, −50.0\u{202f}%");
    check(Kind::Ratio, "+0.05, −0.50");
}

/// A part whose table has two cells; 100 samples are needed.
fn paper(requires: &str, holds: &str) -> Paper {
    let text = format!(
        r#"
        name = "made-up"
        authors = "Nobody"
        title = "A paper"
        published = "never"
        machine = "none"
        [[part]]
        name = "part"
        experiment = "quick"
        about = ""
        samples = 100
        quick = {{ rounds = 1, settings = {{}} }}
        cells = {{ idle = {{ load = "idle" }}, busy = {{ load = "compute:2" }} }}
        [[part.table]]
        name = "Table"
        place = "section 1"
        title = ""
        columns = ["median", "max", "within 5us"]
        unit = "us"
        {requires}
        [[part.table.group]]
        measure = "wakeup-latency"
        rows = [
            {{ cell = "idle", figures = [10, 20, 0.5] }},
            {{ cell = "busy", figures = [20, 400, "-"] }},
        ]
        [[part.claim]]
        text = "A claim."
        place = "section 1"
        [part.claim.holds]
        {holds}
        "#
    );
    Paper::parse(&text).unwrap_or_else(|error| panic!("{error}"))
}

fn facts() -> MachineFacts {
    serde_json::from_str(r#"{"taken": 0, "kernel": {"preemption": "none", "tick_rate_hz": 250}}"#)
        .unwrap()
}

/// Durations with this median and maximum, in microseconds.
fn lengths(count: u64, median: u64, max: u64) -> LatencyHistogram {
    let rest = std::iter::repeat_n(Nanos::from_micros(median), count as usize - 1);
    rest.chain([Nanos::from_micros(max)]).collect()
}

fn measured(cells: &[(&str, LatencyHistogram)]) -> Measured {
    Measured::of_lengths(cells.iter().map(|(cell, lengths)| {
        (Measure::WakeupLatency, Transfers::Included, (*cell).to_owned(), lengths.clone())
    }))
}

/// Judges the claim with median 5 and maximum 10 for the idle cell, and median 6 and maximum
/// `busy_max` for the busy cell.
#[track_caller]
fn check(requires: &str, holds: &str, busy_max: u64, expected: &str) {
    check_of(requires, holds, [lengths(200, 5, 10), lengths(200, 6, busy_max)], expected);
}

#[track_caller]
fn check_of(requires: &str, holds: &str, cells: [LatencyHistogram; 2], expected: &str) {
    let paper = paper(requires, holds);
    let (facts, run) = (facts(), RunId::new("run"));
    let [idle, busy] = cells;
    let measured = measured(&[("idle", idle), ("busy", busy)]);
    let runs = [vec![StudyRun { run: &run, guest: None, facts: &facts, measured }]];
    let reproduction = reproduce(&paper, &runs);
    let found = match &reproduction.parts[0].claims[0].outcome {
        Outcome::Held => "held",
        Outcome::NotHeld => "not held",
        Outcome::Undecided => "undecided",
        Outcome::NotTestable { reason } => reason,
    };
    let as_expected = match expected {
        "held" | "not held" | "undecided" => found == expected,
        part => found.contains(part),
    };
    assert!(as_expected, "{found} instead of {expected}");
}

fn figure(cell: &str, statistic: &str) -> String {
    format!(
        r#"{{ table = "Table", measure = "wakeup-latency", cell = "{cell}", statistic = "{statistic}" }}"#
    )
}

fn ratio() -> String {
    let (figure, to) = (figure("busy", "max"), figure("idle", "median"));
    format!("kind = \"ratio\"\nfigure = {figure}\nto = {to}\nabove = 10.0\nbelow = 100.0")
}

#[test]
fn a_ratio_lies_between_its_limits_or_not() {
    check("", &ratio(), 100, "held");
    check("", &ratio(), 40, "not held");
    check("", &ratio(), 600, "not held");
}

#[test]
fn figures_rise_or_do_not() {
    let figures = format!("figures = [{}, {}]", figure("idle", "max"), figure("busy", "max"));
    check("", &format!("kind = \"rises\"\n{figures}"), 11, "held");
    check("", &format!("kind = \"rises\"\n{figures}"), 9, "not held");
    check("", &format!("kind = \"rises\"\nslack = 0.2\n{figures}"), 9, "held");
}

#[test]
fn figures_keep_to_a_limit_or_do_not() {
    let figures = format!("figures = [{}]", figure("busy", "max"));
    check("", &format!("kind = \"at-most\"\nlimit = 50000.0\n{figures}"), 49, "held");
    check("", &format!("kind = \"at-most\"\nlimit = 50000.0\n{figures}"), 51, "not held");
    check("", &format!("kind = \"at-least\"\nlimit = 50000.0\n{figures}"), 51, "held");
    check("", &format!("kind = \"at-least\"\nlimit = 50000.0\n{figures}"), 49, "not held");
}

#[test]
fn figures_differ_by_more_than_a_limit_or_do_not() {
    let figures = format!("figure = {}\nfrom = {}", figure("busy", "max"), figure("idle", "max"));
    let above = format!("kind = \"difference\"\nabove = 5000.0\n{figures}");
    check("", &above, 16, "held");
    check("", &above, 14, "not held");
    let below = format!("kind = \"difference\"\nbelow = 5000.0\n{figures}");
    check("", &below, 14, "held");
    check("", &below, 16, "not held");
}

#[test]
fn a_difference_holds_only_if_it_does_in_every_round() {
    let figures = format!("figure = {}\nfrom = {}", figure("busy", "max"), figure("idle", "max"));
    let paper = paper("", &format!("kind = \"difference\"\nabove = 5000.0\n{figures}"));
    let (facts, run) = (facts(), RunId::new("run"));
    for (second, expected) in [(60, Outcome::Held), (12, Outcome::NotHeld)] {
        let round =
            |busy| measured(&[("idle", lengths(200, 5, 10)), ("busy", lengths(200, 6, busy))]);
        let measured = round(50).with_rounds(vec![round(50), round(second)]);
        let runs = [vec![StudyRun { run: &run, guest: None, facts: &facts, measured }]];
        let judged = &reproduce(&paper, &runs).parts[0].claims[0];
        assert_eq!(judged.outcome, expected);
        assert_eq!(judged.differences.len(), 2);
    }
}

/// The outcome of a claim about the medians of rounds, in microseconds, of the busy and the idle cell.
fn outcome_of_rounds(holds: &str, rounds: &[(u64, u64)]) -> (String, String) {
    let paper = paper("", holds);
    let (facts, run) = (facts(), RunId::new("run"));
    let round = |(busy, idle): &(u64, u64)| {
        measured(&[("idle", lengths(200, *idle, *idle)), ("busy", lengths(200, *busy, *busy))])
    };
    let measured = round(&rounds[rounds.len() / 2]).with_rounds(rounds.iter().map(round).collect());
    let runs = [vec![StudyRun { run: &run, guest: None, facts: &facts, measured }]];
    let judged = &reproduce(&paper, &runs).parts[0].claims[0];
    (judged.outcome.word().to_owned(), judged.grounds().replace('\u{202f}', " "))
}

#[test]
fn an_interval_over_rounds_that_reaches_across_a_limit_decides_nothing() {
    let limit = |kind: &str| {
        let figure = figure("busy", "median");
        format!("kind = \"{kind}\"\nlimit = 20000.0\nfigures = [{figure}]")
    };
    let of = |holds: &str, busy: [u64; 4]| outcome_of_rounds(holds, &busy.map(|busy| (busy, 10))).0;
    for (busy, at_most, at_least) in [
        ([10, 11, 10, 11], "held", "not held"),
        ([30, 31, 30, 31], "not held", "held"),
        ([15, 25, 18, 23], "undecided", "undecided"),
    ] {
        assert_eq!(of(&limit("at-most"), busy), at_most, "{busy:?}");
        assert_eq!(of(&limit("at-least"), busy), at_least, "{busy:?}");
    }
    // Two rounds have no interval.
    assert_eq!(outcome_of_rounds(&limit("at-most"), &[(15, 10), (19, 10)]).0, "held");
    let (_, grounds) = outcome_of_rounds(&limit("at-most"), &[(30, 10), (30, 10), (30, 10)]);
    assert!(grounds.contains("95 % interval"), "{grounds}");
}

#[test]
fn a_ratio_is_taken_within_each_round() {
    let (figure, to) = (figure("busy", "median"), figure("idle", "median"));
    let holds = format!("kind = \"ratio\"\nfigure = {figure}\nto = {to}\nabove = 1.5");
    // The machine was slower in some rounds, for both.
    let (outcome, grounds) = outcome_of_rounds(&holds, &[(20, 10), (80, 40), (41, 20), (161, 80)]);
    assert_eq!(outcome, "held", "{grounds}");
    assert!(grounds.contains("95 % interval"), "{grounds}");
    let apart = [(20, 10), (40, 40), (41, 20), (80, 80)];
    assert_eq!(outcome_of_rounds(&holds, &apart).0, "undecided");
    assert_eq!(outcome_of_rounds(&holds, &[(10, 10), (40, 40), (21, 20)]).0, "not held");
}

#[test]
fn a_percentile_that_the_samples_do_not_support_is_missing() {
    let p99 = Statistic::Percentile(99.0);
    assert_eq!(p99.of(&lengths(99, 5, 10)), None);
    assert!(p99.of(&lengths(100, 5, 10)).is_some());
    assert!(Statistic::Median.of(&lengths(2, 5, 10)).is_some());
}

#[test]
fn a_claim_about_a_load_needs_the_same_without_it() {
    let at_least =
        format!("kind = \"at-least\"\nlimit = 50000.0\nfigures = [{}]", figure("busy", "max"));
    let mut paper = paper("", &at_least);
    let Holds::AtLeast { figures, .. } = &paper.parts[0].claims[0].holds else { panic!() };
    paper.parts[0].claims[0].without =
        Some(FigureOf { cell: "idle".to_owned(), ..figures[0].clone() });
    let (facts, run) = (facts(), RunId::new("run"));
    let judged = |rounds: [(u64, u64); 3]| {
        let round = |(idle, busy)| {
            measured(&[("idle", lengths(200, 5, idle)), ("busy", lengths(200, 6, busy))])
        };
        let pooled = |of: fn(&(u64, u64)) -> u64| rounds.iter().map(of).max().unwrap();
        let measured = round((pooled(|round| round.0), pooled(|round| round.1)));
        let measured = measured.with_rounds(rounds.map(round).into());
        let runs = [vec![StudyRun { run: &run, guest: None, facts: &facts, measured }]];
        let judged = &reproduce(&paper, &runs).parts[0].claims[0];
        (judged.outcome.word(), judged.grounds().replace('\u{202f}', " "))
    };
    assert_eq!(judged([(10, 60), (11, 70), (12, 80)]).0, "held");
    assert_eq!(judged([(10, 20), (11, 30), (12, 40)]).0, "not held");
    // The idle cell is beyond the limit too, or worse in a round.
    for rounds in [[(54, 56), (51, 55), (50, 51)], [(10, 60), (40, 30), (12, 80)]] {
        let (outcome, grounds) = judged(rounds);
        assert_eq!(outcome, "not testable");
        assert!(grounds.starts_with("Cannot be judged: "), "{grounds}");
    }
    let (_, grounds) = judged([(54, 56), (51, 55), (50, 51)]);
    assert_eq!(
        grounds,
        "Cannot be judged: 54.0 µs already without the load (idle), 56.0 µs with it (busy)."
    );
}

#[test]
fn a_claim_about_a_drawing_needs_no_number_of_the_paper() {
    let figures = format!("figures = [{}]", figure("busy", "within 5us"));
    let at_least = format!("kind = \"at-least\"\nlimit = 0.0\n{figures}");
    check("", &at_least, 10, "held");
    let paper = paper("", &at_least);
    let part = &paper.parts[0];
    assert_eq!(part.published(part.claims[0].holds.figures()[0]), Ok(None));
}

#[test]
fn shares_are_near_the_papers_or_are_not() {
    let figures = format!("figures = [{}]", figure("idle", "within 5us"));
    // The table's unit applies to all columns: 0.5 µs is 500 in the base unit.
    check("", &format!("kind = \"as-published\"\napart = 600.0\n{figures}"), 10, "held");
    check("", &format!("kind = \"as-published\"\napart = 10.0\n{figures}"), 10, "not held");
}

#[test]
fn a_claim_that_no_experiment_tests_is_not_testable() {
    check("", "kind = \"elsewhere\"\nneeds = \"It takes a second disk.\"", 100, "a second disk");
}

#[test]
fn a_machine_of_another_kind_cannot_test_a_claim() {
    let on = "requires = { preemption = \"on\" }";
    check(on, &ratio(), 100, "preemptible kernel");
    check("requires = { preemption = \"off\" }", &ratio(), 100, "held");
    check("requires = { tick-rate = 100 }", &ratio(), 100, "this kernel has 250");
    check("requires = { tick-rate = 250 }", &ratio(), 40, "not held");
}

#[test]
fn too_few_samples_decide_nothing() {
    let cells = [lengths(200, 5, 10), lengths(99, 6, 100)];
    check_of("", &ratio(), cells, "100 are needed");
    check_of("", &ratio(), [LatencyHistogram::new(), lengths(200, 6, 100)], "has 0 samples");
}

#[test]
fn without_measurements_tables_have_the_papers_figures_only() {
    let paper = paper("", &ratio());
    let reproduction = reproduce(&paper, &[]);
    let part = &reproduction.parts[0];
    let row = |row: usize| part.tables[0].rows[row].figures.iter().map(|figure| figure.beside);
    let papers: Vec<_> = row(0).map(|beside| beside.paper).collect();
    assert_eq!(papers, [Some(10e3), Some(20e3), Some(500.0)]);
    assert!(row(1).all(|beside| beside.here.is_none()));
    assert!(matches!(&part.claims[0].outcome, Outcome::NotTestable { .. }));
}

#[test]
fn a_claim_about_a_missing_figure_is_rejected() {
    let wrong = [("idle", "p99", "has no p99"), ("lazy", "max", "`lazy`")];
    for (cell, statistic, part) in wrong {
        let paper = paper("", &ratio());
        let mut claims: Vec<Claim> = paper.parts[0].claims.clone();
        let Holds::Ratio { figure, .. } = &mut claims[0].holds else { panic!("it is a ratio") };
        cell.clone_into(&mut figure.cell);
        figure.statistic = statistic.parse().unwrap();
        let error = paper.parts[0].published(figure).unwrap_err();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn unknown_words_in_a_data_file_are_rejected() {
    let good = include_str!("../../../papers/latency-method.toml");
    for (word, other) in [("below = ", "bellow = "), ("\"median\", \"max\"", "\"mode\", \"max\"")] {
        assert!(Paper::parse(&good.replacen(word, other, 1)).is_err(), "{other}");
    }
    let settings: BTreeMap<&str, &str> = [("load = \"idle\"", "lod = \"idle\"")].into();
    for (word, other) in settings {
        let error = Paper::parse(&good.replacen(word, other, 1)).unwrap_err().to_string();
        assert!(error.contains("did you mean `load`?"), "{error}");
    }
}

/// Checks a paper in guests: the preemption model and the busy cell's maximum in microseconds.
#[track_caller]
fn across_guests(
    paper: &Paper,
    time: &str,
    kernels: &[(&str, u64)],
    check: impl Fn(&Reproduction<'_>),
) {
    let run = RunId::new("run");
    let guest = |model: &str| Guest {
        kernel: format!("debian:preempt={model}").parse().unwrap(),
        time: time.parse().unwrap(),
    };
    let guests: Vec<(Guest, MachineFacts)> = kernels
        .iter()
        .map(|(model, _)| {
            let mut facts = facts();
            facts.kernel.preemption = Some((*model).to_owned());
            (guest(model), facts)
        })
        .collect();
    let machines = guests.iter().zip(kernels).map(|((guest, facts), &(model, max))| StudyRun {
        run: &run,
        guest: Some(InGuest { guest, name: model.to_owned() }),
        facts,
        measured: measured(&[("idle", lengths(200, 5, 10)), ("busy", lengths(200, 6, max))]),
    });
    let runs = [machines.collect()];
    check(&reproduce(paper, &runs));
}

/// A paper with two tables, one for a preemptible and one for a non-preemptible kernel.
fn paper_of_two_kernels(holds: &str) -> Paper {
    let single = paper("requires = { preemption = \"off\" }", holds);
    let mut part = single.parts[0].clone();
    let mut other = part.tables[0].clone();
    "Other".clone_into(&mut other.name);
    other.requires = toml::from_str("preemption = \"on\"").unwrap();
    part.tables.push(other);
    Paper { parts: vec![part], ..single }
}

#[test]
fn a_claim_about_two_kernels_is_judged_on_every_pair_of_them() {
    let mut paper = paper_of_two_kernels(&ratio());
    let Holds::Ratio { figure, to, .. } = &mut paper.parts[0].claims[0].holds else { panic!() };
    figure.cell.clone_into(&mut to.cell);
    figure.statistic.clone_into(&mut to.statistic);
    "Other".clone_into(&mut to.table);
    let kernels = [("none", 500), ("voluntary", 100), ("full", 20), ("lazy", 200)];
    across_guests(&paper, "exact", &kernels, |found| {
        assert_eq!(found.parts.len(), 4, "a part for each kernel");
        let alone = &found.parts[0].claims[0].outcome;
        assert!(matches!(alone, Outcome::NotTestable { .. }), "a single kernel: {alone:?}");
        let outcomes: Vec<(Vec<&str>, bool)> = found.across[0]
            .claims
            .iter()
            .map(|found| (found.kernels.clone(), found.judged.outcome == Outcome::Held))
            .collect();
        let expected = [
            (vec!["none", "full"], true),
            (vec!["none", "lazy"], false),
            (vec!["voluntary", "full"], false),
            (vec!["voluntary", "lazy"], false),
        ];
        assert_eq!(outcomes, expected);
    });
}

#[test]
fn without_a_kernel_of_each_kind_the_reason_names_the_missing_kind() {
    let mut paper = paper_of_two_kernels(&ratio());
    let Holds::Ratio { to, .. } = &mut paper.parts[0].claims[0].holds else { panic!() };
    "Other".clone_into(&mut to.table);
    across_guests(&paper, "exact", &[("none", 500), ("voluntary", 100)], |found| {
        for judged in &found.across[0].claims {
            let Outcome::NotTestable { reason } = &judged.judged.outcome else { panic!() };
            assert!(reason.contains("preemptible kernel"), "{reason}");
        }
    });
}

#[test]
fn a_claim_is_not_judged_in_a_guest_that_lacks_what_it_needs() {
    for (need, time, reason) in [
        ("block-devices", "exact", "transfers of block devices"),
        ("block-devices", "wall", "transfers of block devices"),
        ("caches", "exact", "does not model"),
    ] {
        let mut paper = paper("", &ratio());
        let needs: BTreeMap<String, Vec<condition::Need>> =
            toml::from_str(&format!("needs = [\"{need}\"]")).unwrap();
        paper.parts[0].claims[0].needs = needs["needs"].clone();
        paper.parts[0].tables[0].needs = needs["needs"].clone();
        across_guests(&paper, time, &[("none", 100), ("full", 100)], |found| {
            let part = &found.parts[0];
            assert!(part.tables[0].not_here.as_ref().unwrap().contains(reason));
            let Outcome::NotTestable { reason: text } = &part.claims[0].outcome else { panic!() };
            assert!(text.contains(reason), "{text}");
        });
        if need == "caches" {
            across_guests(&paper, "wall", &[("none", 100), ("full", 100)], |found| {
                assert_eq!(found.parts[0].claims[0].outcome, Outcome::Held);
            });
        }
    }
}

#[test]
fn needs_for_timers_are_checked() {
    for (need, high_resolution, lacks) in [
        ("precise-timers", Some(false), Some("up to a tick earlier")),
        ("precise-timers", Some(true), None),
        ("timers-on-ticks", Some(true), Some("expire only at ticks")),
        ("timers-on-ticks", Some(false), None),
    ] {
        let needs: BTreeMap<String, Vec<condition::Need>> =
            toml::from_str(&format!("needs = [\"{need}\"]")).unwrap();
        let mut facts = facts();
        facts.kernel.high_resolution_timers = high_resolution;
        let found = condition::lacking(&needs["needs"], None, &facts);
        match lacks {
            Some(part) => assert!(found.as_ref().is_some_and(|text| text.contains(part))),
            None => assert_eq!(found, None, "{need}"),
        }
    }
}

#[test]
fn cells_of_the_guest_form_must_be_cells_of_the_part() {
    let good = include_str!("../../../papers/latency-method.toml");
    let wrong = good.replacen("[part.guests.cells]", "[part.guests.cells]\n\"load 99\" = {}", 1);
    assert_ne!(good, wrong);
    let error = Paper::parse(&wrong).unwrap_err().to_string();
    assert!(error.contains("no cell is called `load 99`"), "{error}");
}

#[test]
fn the_tick_rate_of_timers_applies_only_to_timers_that_expire_at_ticks() {
    for (high_resolution, required, lacks) in [
        (Some(false), 250, None),
        (Some(false), 100, Some("this kernel has 250")),
        (Some(true), 100, None),
    ] {
        let condition: condition::Condition =
            toml::from_str(&format!("timer-ticks = {required}")).unwrap();
        let mut facts = facts();
        facts.kernel.high_resolution_timers = high_resolution;
        let found = condition::unmet(&condition, &facts);
        assert_eq!(found.is_some(), lacks.is_some(), "{found:?}");
        assert!(lacks.is_none_or(|part| found.unwrap().contains(part)), "{required}");
        let whatever = condition.without(&[condition::Aspect::TickRate]);
        assert_eq!(condition::unmet(&whatever, &facts), None);
    }
}

#[test]
fn a_kernel_that_meets_both_conditions_is_judged_alone() {
    let mut paper = paper_of_two_kernels(&ratio());
    for (table, ticks) in paper.parts[0].tables.iter_mut().zip([100, 250]) {
        table.requires = toml::from_str(&format!("timer-ticks = {ticks}")).unwrap();
    }
    let Holds::Ratio { to, .. } = &mut paper.parts[0].claims[0].holds else { panic!() };
    "Other".clone_into(&mut to.table);
    let run = RunId::new("run");
    let kernels = [("coarse-100", 100, false), ("coarse-250", 250, false), ("precise", 250, true)];
    let guests: Vec<(Guest, MachineFacts)> = kernels
        .iter()
        .map(|&(name, rate, precise)| {
            let mut facts = facts();
            facts.kernel.tick_rate_hz = Some(rate);
            facts.kernel.high_resolution_timers = Some(precise);
            let kernel = format!("/k/{name}").parse().unwrap();
            (Guest { kernel, time: "exact".parse().unwrap() }, facts)
        })
        .collect();
    let machines = guests.iter().zip(kernels).map(|((guest, facts), (name, ..))| StudyRun {
        run: &run,
        guest: Some(InGuest { guest, name: name.to_owned() }),
        facts,
        measured: measured(&[("idle", lengths(200, 5, 10)), ("busy", lengths(200, 6, 100))]),
    });
    let runs = [machines.collect()];
    let found = reproduce(&paper, &runs);
    let judged: Vec<(Vec<&str>, bool)> = found.across[0]
        .claims
        .iter()
        .map(|found| (found.kernels.clone(), found.judged.outcome == Outcome::Held))
        .collect();
    assert_eq!(judged, [(vec!["precise"], true), (vec!["coarse-100", "coarse-250"], true)]);
}

#[test]
fn a_graph_is_omitted_for_a_kernel_that_lacks_what_it_needs() {
    let with_graph = |needs: &str| {
        let mut paper = paper("", &ratio());
        let graph = format!(
            r#"
            title = "Graph"
            place = "section 1"
            draw = {{ kind = "billing" }}
            measures = ["wakeup-latency"]
            cells = ["idle"]
            needs = ["{needs}"]
            "#
        );
        paper.parts[0].graphs = vec![toml::from_str(&graph).unwrap()];
        paper
    };
    for (needs, shown) in [("timers-on-ticks", 0), ("precise-timers", 1)] {
        across_guests(&with_graph(needs), "exact", &[("none", 100), ("full", 100)], |found| {
            assert_eq!(found.parts[0].views.len(), shown, "{needs}");
            assert_eq!(found.across[0].views.len(), shown, "{needs}");
        });
    }
}
