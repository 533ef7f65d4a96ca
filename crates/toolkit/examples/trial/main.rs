//! An experiment on perception, with the receipts that its laboratory publishes.
//!
//! `cargo run -p tactus-toolkit --example trial -- --trials 20 --csv trials.csv`

#[path = "../common/mod.rs"]
mod common;
mod piece;

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Parser as _;
use piece::Trial;
use tactus_toolkit::Nanos;

#[derive(clap::Parser)]
#[command(about = "Shows a flash, a tone and a marker at the same time, again and again")]
struct Arguments {
    #[command(flatten)]
    options: common::Options,
    /// How many trials.
    #[arg(long, default_value_t = 10)]
    trials: u32,
    /// What the random times before the stimuli are drawn from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write a row for each trial to this file.
    #[arg(long)]
    csv: Option<PathBuf>,
    /// Write the trials to this file, as JSON.
    #[arg(long)]
    json: Option<PathBuf>,
}

fn main() -> anyhow::Result<()> {
    let Arguments { options, trials, seed, csv, json } = Arguments::parse();
    let score = piece::compose(trials, seed)?;
    let common::Performed { rows, ended } = common::perform(&options, "trial", score, Vec::new())?;
    let trials = piece::trials(&rows);
    if let Some(path) = csv {
        write_csv(&path, &trials).with_context(|| path.display().to_string())?;
    }
    if let Some(path) = json {
        let file = File::create(&path).with_context(|| path.display().to_string())?;
        serde_json::to_writer_pretty(file, &trials)?;
    }
    let complete = trials.iter().filter(|trial| trial.is_complete).count();
    let spread = trials.iter().filter_map(|trial| trial.spread_ns.map(Nanos::from_nanos));
    eprintln!("{complete} of {} trials complete", trials.len());
    eprintln!("flash, tone and marker apart: {}", common::figures(spread.collect()));
    ended
}

fn write_csv(path: &std::path::Path, trials: &[Trial]) -> anyhow::Result<()> {
    let mut file = File::create(path)?;
    writeln!(
        file,
        "trial,due_ns,flash_error_ns,tone_error_ns,marker_error_ns,spread_ns,is_complete"
    )?;
    for trial in trials {
        let signed = |error: Option<i64>| error.map(|error| error.to_string()).unwrap_or_default();
        let spread = trial.spread_ns.map(|spread| spread.to_string()).unwrap_or_default();
        let Trial {
            trial,
            due_ns,
            flash_error_ns,
            tone_error_ns,
            marker_error_ns,
            is_complete,
            ..
        } = trial;
        let [flash, tone, marker] = [*flash_error_ns, *tone_error_ns, *marker_error_ns].map(signed);
        writeln!(file, "{trial},{due_ns},{flash},{tone},{marker},{spread},{is_complete}")?;
    }
    Ok(())
}
