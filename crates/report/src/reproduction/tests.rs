//! What a person reads of a reproduction, from made-up samples.

use std::collections::BTreeMap;

use tactus_explain::MatchOutcome;
use tactus_explain::circumstance::{Circumstance, Serving, WitnessedSample};
use tactus_explain::segments::{Segments, Stages};
use tactus_judge::reproduce::{
    Evidence, Measured as Figures, Recorded, Reproduction, find, reproduce,
};
use tactus_model::experiment::SplitMix64;
use tactus_model::recording::Softirq;
use tactus_model::run::Run;
use tactus_model::sample::Sample;
use tactus_model::time::{Instant, Nanos};

use super::{Form, Measured, papers_table, reproduction_page, reproduction_text};
use crate::explanation::TracingCost;
use crate::fixture;
use crate::table::TableOptions;

/// 128 samples of a cell: the more of the load, the worse the worst; one in 32 saw
/// a transfer and was late for it.
fn samples(cell: usize) -> Vec<WitnessedSample> {
    let mut random = SplitMix64::new(cell as u64);
    let at = |nanos: u64| Instant::from_nanos(nanos);
    let sample = |index: u64| {
        let due = 99_000_000 * (index + 1);
        let saw = index % 32 == 7;
        let slow = if index % 50 == 49 { 40_000 * cell as u64 } else { 0 };
        let acknowledge = 2_000 + random.below(2_000) + if saw { 90_000 } else { 0 };
        let irq = due + acknowledge;
        let came = irq + 9_000 + random.below(4_000) + slow;
        let stages = Stages { irq: Some(at(irq)), ..Stages::default() };
        WitnessedSample {
            task: 0,
            index,
            sample: Sample { due: Nanos::from_nanos(due), came: Nanos::from_nanos(came) },
            outcome: MatchOutcome::Timer,
            segments: Segments::between(at(due), at(came), &stages),
            circumstance: Circumstance {
                transfer: Some(saw),
                serving: (index % 20 == 3).then_some(Serving::Softirq(Softirq::NET_RX)),
            },
        }
    };
    (0..128).map(sample).collect()
}

fn with_made_up<T>(use_it: impl FnOnce(&Reproduction<'_>, &[Option<Measured<'_>>]) -> T) -> T {
    let paper = find("latency-method").expect("it is shipped");
    let text = include_str!("../../../../experiments/papers/latency-method.toml");
    let text = text.replace("990ms", "99ms").replace("253440ms", "2s").replace("9900ms", "1s");
    let mut run: Run = fixture::run(&text.replace("rounds = 4", "rounds = 1"), 1);
    run.header.facts_before.kernel.preemption = Some("none".to_owned());
    let recorded: BTreeMap<usize, Recorded> =
        (0..11).map(|cell| (cell, Recorded { samples: samples(cell), accounts: None })).collect();
    let measured = Figures::of(&paper.parts[0], &run, &recorded);
    let facts = &run.header.facts_before;
    let evidence = [Some(Evidence { run: &run.header.id, facts, measured })];
    let cost = TracingCost { difference_ns: 2100, low_ns: 900, high_ns: 3300, pairs: 7 };
    let told = Measured { run: &run, form: Form::Quick, tracing_cost: Some(cost) };
    use_it(&reproduce(&paper, &evidence), &[Some(told)])
}

#[test]
fn a_reproduction_as_text() {
    for width in [100, 60] {
        let options = TableOptions::of_width(width);
        let text = with_made_up(|found, measured| reproduction_text(found, measured, &options));
        insta::assert_snapshot!(format!("reproduction_at_{width}"), text);
    }
}

#[test]
fn the_page_says_what_the_text_says_and_loads_nothing() {
    let page = with_made_up(|found, measured| reproduction_page(found, measured).unwrap());
    for part in ["Table 7", "not testable", "preempt=none", "<svg"] {
        assert!(page.contains(part), "{part} is missing");
    }
    assert!(!page.contains("http://") && !page.contains("https://"));
    assert_eq!(
        page.matches("<svg").count(),
        10,
        "four panels of CPU load for each size of blocks and two of I/O load"
    );
}

#[test]
fn papers_are_listed_with_their_parts() {
    let papers = [find("latency-method").unwrap()];
    insta::assert_snapshot!(papers_table(&papers, &TableOptions::of_width(80)));
}
