//! A step sequencer whose lights are in step with its sounds.
//!
//! `cargo run -p tactus-toolkit --example sequencer -- --rehearse --table csv`, or with a server:
//! `tactus streamd --device drums=midi-pty --device lights=sacn:1`, and `--socket`.

#[path = "../common/mod.rs"]
mod common;
mod piece;

use clap::Parser as _;
use tactus_toolkit::{Nanos, Row};

#[derive(clap::Parser)]
#[command(about = "Plays percussion with lights")]
struct Arguments {
    #[command(flatten)]
    options: common::Options,
    /// How many bars to play, two seconds each.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(2..=100_000))]
    bars: u32,
}

fn main() -> anyhow::Result<()> {
    let Arguments { options, bars } = Arguments::parse();
    let common::Performed { rows, ended } =
        common::perform(&options, "sequencer", piece::compose(bars)?, Vec::new())?;
    for device in ["drums", "lights"] {
        let of_device = rows.iter().filter(|row| row.device == device);
        let late = |row: &Row| Some(Nanos::from_nanos(u64::try_from(row.error_ns?).unwrap_or(0)));
        let late = of_device.filter_map(late).collect();
        eprintln!("{device}: late by {}", common::figures(late));
    }
    // A step's sound and its light were due together.
    let steps = rows.chunk_by(|row, next| row.label == next.label && row.due_ns == next.due_ns);
    let apart = |step: &[Row]| {
        let [sound, light] = step else { return None };
        sound.label.as_ref()?;
        Some(Nanos::from_nanos(sound.began_ns?.abs_diff(light.began_ns?)))
    };
    eprintln!("sound and light apart: {}", common::figures(steps.filter_map(apart).collect()));
    ended
}
