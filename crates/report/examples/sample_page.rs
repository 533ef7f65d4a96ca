//! Writes the page and the tables of made-up runs, for viewing: `sample_page FOLDER`.

#[path = "../fixtures/runs.rs"]
mod runs;

#[path = "../fixtures/explanations.rs"]
mod explanations;

use std::path::PathBuf;
use std::time::Instant;

use tactus_judge::purpose::PurposeVerdict;
use tactus_model::time::Nanos;
use tactus_report::{CellExplanation, CellTail, TableOptions, TracingCost};
use tactus_stats::UnseenBound;
use tactus_stats::extreme::{LateWakeup, TailEstimation, TailWindow};
use tactus_stats::simulate::{Draw, Process};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = PathBuf::from(std::env::args_os().nth(1).ok_or("name a folder to write to")?);
    let (quick, standard) = (runs::quick(), runs::standard());
    println!("{}", tactus_report::cells_table(&quick, &tactus_report::TableOptions::default()));
    println!("{}\n", tactus_report::outcome(&quick));
    println!("{}", tactus_report::verdict_text(&tactus_judge::verdict::verdict(&quick), 100));
    println!(
        "{}",
        tactus_report::run_details(&standard, &[], &tactus_report::TableOptions::default())
    );
    let explained: Vec<CellExplanation> = explanations::cells();
    println!("{}", tactus_report::explanation_text(&explained, &TableOptions::default()));
    let concluded = tactus_report::Conclusions {
        explanations: explained,
        tails: tails(),
        purposes: PurposeVerdict::of_run(&quick, "control:1kHz:500us".parse()?),
        ..tactus_report::Conclusions::default()
    };
    let page = tactus_report::page_of(std::slice::from_ref(&quick), &[concluded])?;
    std::fs::write(folder.join("explained.html"), page)?;
    let pages = [
        ("quick", vec![quick.clone()]),
        ("standard", vec![standard.clone()]),
        ("both", vec![quick, standard]),
    ];
    for (name, runs) in pages {
        let began = Instant::now();
        let page = tactus_report::page(&runs)?;
        let path = folder.join(format!("{name}.html"));
        println!("{}: {} KiB in {:?}", path.display(), page.len() >> 10, began.elapsed());
        std::fs::write(path, page)?;
    }
    Ok(())
}

/// Tail estimations of made-up cells, with enough samples and with too few.
fn tails() -> Vec<CellTail> {
    let cell = |cell: usize, label: &str, process: Process, wakeups: usize| {
        let latencies = process.draw(wakeups, &mut Draw::new(8));
        let late = (0..).zip(&latencies).map(|(nth, latency)| LateWakeup {
            due: Nanos::from_millis(nth),
            latency: Nanos::from_nanos((latency * 1000.0) as u64),
        });
        let length = Nanos::from_millis(wakeups as u64);
        let window = TailWindow::of_samples(length, wakeups as u64, late, Nanos::ZERO);
        CellTail {
            cell,
            label: label.to_owned(),
            all_causes: TailEstimation::of(&[window]),
            by_cause: Vec::new(),
            not_by_cause: None,
            unseen: UnseenBound::after(wakeups as u64),
        }
    };
    vec![
        cell(0, "idle · other", Process::Pareto(0.1), 1_000_000),
        cell(1, "compute:2 · fifo:90", Process::InARow(0.5, 0.3), 60_000),
        cell(2, "file · other", Process::Pareto(0.2), 2_000),
    ]
}
