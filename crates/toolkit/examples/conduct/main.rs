//! The first application of the testbed of 1993: a score follows the tempo that its player taps.
//!
//! `cargo run -p tactus-toolkit --example conduct`, and tap any key once a beat; `q` ends. Each tap sounds as a
//! wood block; what lies between the tap and the beginning of its delivery is printed at the end.

#[path = "../common/mod.rs"]
mod common;
mod piece;

use std::fs::File;
use std::net::UdpSocket;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Parser as _;
use piece::{REACTION, Taps};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use tactus_toolkit::{Nanos, ReactionId, Row, Time};

#[derive(clap::Parser)]
#[command(about = "Conducts a piece by taps")]
struct Arguments {
    #[command(flatten)]
    options: common::Options,
    /// Take taps from notes of this raw MIDI device or serial line, such as /dev/snd/midiC0D0.
    #[arg(long)]
    midi: Option<PathBuf>,
    /// Take taps from OSC messages to `/tap` that come to this UDP address, such as 127.0.0.1:9000.
    #[arg(long, conflicts_with = "midi")]
    osc: Option<String>,
}

/// A terminal that passes on each key at once, until this is dropped.
struct Keys(Option<Termios>);

impl Keys {
    fn new() -> Self {
        // Without a terminal, each reading of the input is a tap.
        let Ok(before) = tcgetattr(std::io::stdin()) else { return Self(None) };
        let mut now = before.clone();
        now.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG);
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &now);
        Self(Some(before))
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, before);
        }
    }
}

fn main() -> anyhow::Result<()> {
    let Arguments { options, midi, osc } = Arguments::parse();
    let (taps, source) = match (midi, osc) {
        (Some(path), _) => {
            let file = File::open(&path).with_context(|| path.display().to_string())?;
            (Taps::Midi, file.into())
        }
        (None, Some(address)) => (Taps::Osc, UdpSocket::bind(&address).context(address)?.into()),
        (None, None) => (Taps::Keys, std::io::stdin().as_fd().try_clone_to_owned()?),
    };
    let keys = (taps == Taps::Keys).then(Keys::new);
    let piece = piece::compose(taps)?;
    let inputs: Vec<(ReactionId, OwnedFd)> = vec![(piece.reaction, source)];
    let common::Performed { rows, ended } =
        common::perform(&options, "conduct", piece.score, inputs)?;
    drop(keys);
    let conducted = piece.conducted.borrow();
    summarise(&rows, &conducted.taps, &conducted.periods);
    ended
}

fn summarise(rows: &[Row], taps: &[Time], periods: &[Nanos]) {
    let latency = |row: &Row| -> Option<Nanos> {
        let tap = taps.get(row.label.as_deref()?.strip_prefix("tap ")?.parse::<usize>().ok()?)?;
        let origin = row.due_ns - row.logical_ns;
        let tapped = origin + tap.since_start().as_nanos();
        Some(Nanos::from_nanos(row.began_ns?.saturating_sub(tapped)))
    };
    let sounded: Vec<Nanos> = rows.iter().filter_map(latency).collect();
    println!("{} taps, {} sounded", taps.len(), sounded.len());
    println!("tap to note: {} (reaction time {REACTION})", common::figures(sounded));
    let bpm = |period: &Nanos| 60.0 / period.as_secs_f64();
    if let (Some(slow), Some(fast)) = (periods.iter().max(), periods.iter().min()) {
        println!("tempo: {:.1} to {:.1} beats per minute", bpm(slow), bpm(fast));
    }
}
