//! The text and the page of a reproduction, from made-up samples.

use std::collections::BTreeMap;

use serde_json::json;
use tactus_explain::MatchOutcome;
use tactus_explain::account::Accounts;
use tactus_explain::circumstance::{Circumstance, Serving, WitnessedSample};
use tactus_explain::segments::{Segments, Stages};
use tactus_model::facts::MachineFacts;
use tactus_model::guest::Guest;
use tactus_model::label::kernel_names;
use tactus_model::random::SplitMix64;
use tactus_model::recording::Softirq;
use tactus_model::run::Run;
use tactus_model::sample::Sample;
use tactus_model::time::{Instant, Monotonic, Nanos};
use tactus_reproduce::{
    Form, InGuest, Measured as Figures, Recorded, Reproduction, StudyRun, find, reproduce,
};

use super::{Measured, papers_table, reproduction_page, reproduction_text};
use crate::explanation::TracingCost;
use crate::fixture;
use crate::format::THIN_SPACE;
use crate::table::TableOptions;

/// 128 samples of a cell: the maximum grows with the load; one in 32 saw a transfer and was late
/// because of it.
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
    let recorded: BTreeMap<usize, Recorded> = (0..11)
        .map(|cell| (cell, Recorded { samples: samples(cell), ..Recorded::default() }))
        .collect();
    let measured = Figures::of(&paper.parts[0], &run, None, &recorded);
    let facts = &run.header.facts_before;
    let evidence = [vec![StudyRun { run: &run.header.id, guest: None, facts, measured }]];
    let cost = TracingCost { difference_ns: 2100, low_ns: 900, high_ns: 3300, pairs: 7 };
    let measured = Measured { run: &run, form: Form::Quick, tracing_cost: Some(cost) };
    use_it(&reproduce(&paper, &evidence), &[Some(measured)])
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
fn the_page_has_what_the_text_has_and_loads_nothing() {
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

/// The same in two guests. The kernel without preemption is later, the more so the greater the
/// load.
fn with_guests<T>(use_it: impl FnOnce(&Reproduction<'_>, &[Option<Measured<'_>>]) -> T) -> T {
    let paper = find("latency-method").expect("it is shipped");
    let text = include_str!("../../../../experiments/papers/latency-method-guests.toml");
    let kernels = ["debian:preempt=none", "debian:preempt=full"];
    let text = text
        .replace("2527ms", "1s")
        .replace("rounds = 4", "rounds = 1\nguest-time = \"exact:125\"")
        .replace("[\"debian\", \"debian-rt\"]", &format!("{kernels:?}"));
    let mut run: Run = fixture::run(&text, 1);
    let mut facts = [run.header.facts_before.clone(), run.header.facts_before.clone()];
    facts[0].kernel.preemption = Some("none".to_owned());
    facts[1].kernel.preemption = Some("full".to_owned());
    for found in &mut run.measurements {
        let is_full = run.header.plan.cells[found.turn.cell]
            .target
            .guest()
            .is_some_and(|guest| guest.kernel.to_string() == kernels[1]);
        let kernel = usize::from(is_full);
        let account = fixture::guest(&format!("k{kernel}"), 7, facts[kernel].clone());
        found.guest = Some(Box::new(account));
    }
    let of_cell = |number: usize| {
        let kernel = run.header.plan.cells[number].target.guest().unwrap().kernel.to_string();
        let late = if kernel == kernels[0] { number } else { 0 };
        (number, Recorded { samples: samples(late), ..Recorded::default() })
    };
    let recorded: BTreeMap<usize, Recorded> =
        (0..run.header.plan.cells.len()).map(of_cell).collect();
    let guests: Vec<Guest> = kernels
        .iter()
        .map(|kernel| Guest { kernel: kernel.parse().unwrap(), time: "exact:125".parse().unwrap() })
        .collect();
    let named: Vec<_> = guests.iter().zip(&facts).collect();
    let machines = named.iter().zip(kernel_names(&named)).map(|(&(guest, facts), name)| StudyRun {
        run: &run.header.id,
        guest: Some(InGuest { guest, name }),
        facts,
        measured: Figures::of(&paper.parts[0], &run, Some(&guest.kernel), &recorded),
    });
    let evidence = [machines.collect()];
    let measured = Some(Measured { run: &run, form: Form::Quick, tracing_cost: None });
    use_it(&reproduce(&paper, &evidence), &[measured, measured])
}

#[test]
fn kernels_beside_each_other_as_text() {
    let options = TableOptions::of_width(100);
    let text = with_guests(|found, measured| reproduction_text(found, measured, &options));
    insta::assert_snapshot!(text);
}

#[test]
fn a_page_of_kernels_has_a_pair_for_each_load_with_a_curve_for_each_kernel() {
    let page = with_guests(|found, measured| reproduction_page(found, measured).unwrap());
    let (beside, alone) = page.split_once("Each kernel compared with the paper").unwrap();
    assert_eq!(beside.matches("<svg").count(), 7 * 2, "seven loads, two measures");
    assert_eq!(alone.matches("<svg").count(), 2 * 2 * 2, "two graphs in each of two kernels");
    for part in ["preempt=none against preempt=full", "caches, TLBs", "kernel sha256 k1"] {
        assert!(beside.contains(part), "{part} is missing");
    }
}

/// The accounts of one program that `ticks` ticks of a kernel billed.
fn billed(rate: u64, ticks: u64) -> Accounts {
    let at = |nanos: u64| Instant::<Monotonic>::from_nanos(nanos);
    let range =
        |value: u64| json!({"value": value, "least": value, "mean": 1.0, "greatest": value});
    let period = 1_000_000_000 / rate;
    let account = |name: &str| {
        json!({
            "name": name, "thread": null, "process": null, "program": name, "threads": 1,
            "used": 500_000_000_u64, "interrupted": 0, "stolen": 0,
            "quanta": {"count": 40, "sum": 40_000, "min": 1000, "max": 1000, "buckets": [[1000, 40]]},
            "cut": {"count": 0, "time": 0}, "ends": [],
            "wakeup_latency": {"count": 0, "sum": 0, "min": 0, "max": 0, "buckets": []},
            "billing": [{
                "clock": {"clock": "kernel"}, "period": period, "used": 500_000_000_u64,
                "ticks": range(ticks), "quanta": 40, "missed": range(30), "scatter": [],
            }],
        })
    };
    let made = json!({
        "started": at(0), "ended": at(1_000_000_000), "cpus": [],
        "programs": [account("display")], "threads": [], "idle": account("idle"),
        "missing_switches": 0, "tick": {"Err": "not-recorded"},
    });
    serde_json::from_value(made).expect("it has the form of accounts")
}

#[test]
fn billing_by_ticks_is_compared_between_kernels() {
    let paper = find("clock-resolution").unwrap();
    let (place, part) =
        paper.parts.iter().enumerate().find(|(_, part)| part.name == "billing").unwrap();
    let text = include_str!("../../../../experiments/papers/quanta-guests.toml");
    let text = text.replace("rounds = 2", "rounds = 1\nguest-time = \"exact:125\"");
    let run: Run = fixture::run(&text.replace("20s", "1s"), 1);
    let guests: Vec<(Guest, MachineFacts)> = [100, 1000]
        .map(|rate: u32| {
            let kernel = format!("built+hz={rate}+timers=periodic").parse().unwrap();
            let mut facts = run.header.facts_before.clone();
            facts.kernel.tick_rate_hz = Some(rate);
            facts.kernel.preemption = Some("full".to_owned());
            facts.kernel.high_resolution_timers = Some(false);
            (Guest { kernel, time: "exact:125".parse().unwrap() }, facts)
        })
        .into();
    let mut run = run;
    for found in &mut run.measurements {
        let of = run.header.plan.cells[found.turn.cell].target.guest().unwrap();
        let (_, facts) = guests.iter().find(|(guest, _)| guest.kernel == of.kernel).unwrap();
        found.guest = Some(Box::new(fixture::guest("k", 7, facts.clone())));
    }
    let recorded: BTreeMap<usize, Recorded> = (0..run.header.plan.cells.len())
        .map(|number| {
            let slow = run.header.plan.cells[number].target.guest() == Some(&guests[0].0);
            let accounts = if slow { billed(100, 1) } else { billed(1000, 490) };
            (number, Recorded { accounts: Some(accounts), ..Recorded::default() })
        })
        .collect();
    let named: Vec<_> = guests.iter().map(|(guest, facts)| (guest, facts)).collect();
    let machines = named.iter().zip(kernel_names(&named)).map(|(&(guest, facts), name)| StudyRun {
        run: &run.header.id,
        guest: Some(InGuest { guest, name }),
        facts,
        measured: Figures::of(part, &run, Some(&guest.kernel), &recorded),
    });
    let mut evidence: Vec<Vec<StudyRun<'_>>> = paper.parts.iter().map(|_| Vec::new()).collect();
    evidence[place] = machines.collect();
    let found = reproduce(&paper, &evidence);
    let measured = Some(Measured { run: &run, form: Form::Quick, tracing_cost: None });
    let measured: Vec<_> =
        found.parts.iter().map(|one| measured.filter(|_| std::ptr::eq(one.part, part))).collect();
    let text = reproduction_text(&found, &measured, &TableOptions::of_width(100));
    for line in ["Billing: billed / missed", "0.02 / 75.0 %", "0.98 / 75.0 %"] {
        assert!(text.replace(THIN_SPACE, " ").contains(line), "{line} is missing in {text}");
    }
    assert!(!text.contains("billed at 100Hz"), "no ticks are laid over: {text}");
    let page = reproduction_page(&found, &measured).unwrap();
    let title = "X server (with Xine): kernel ticks billed by length of effective quantum";
    assert!(page.contains(title));
}

#[test]
fn papers_are_listed_with_their_parts() {
    let papers = [find("latency-method").unwrap()];
    insta::assert_snapshot!(papers_table(&papers, &TableOptions::of_width(80)));
}
