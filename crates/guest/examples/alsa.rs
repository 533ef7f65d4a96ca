//! The guest of `cargo xtask alsa`, in which clicks are played and captured.
//!
//! The other end of the kernel's loopback captures them.
#![forbid(unsafe_code)]

use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use tactus_guest::chore::{Heard, Loopback, Module, Request};
use tactus_guest::first;
use tactus_guest::run;
use tactus_model::message::Message;
use tactus_model::policy::{RealtimePriority, Scheduling};
use tactus_model::time::{Moment, Monotonic, Nanos};
use tactus_sound::output::Turn;
use tactus_sound::{Counts, Hardware, Output, SoundError};
use tactus_sys::{clock, sched};

/// The end of the loopback that plays.
const PLAYS: &str = "hw:Loopback,0";

/// A device that is missing, and one that nobody could name.
const MISSING: &str = "hw:7,0";

/// The frames between one click and the next: adjacent ones, those of a period and of a buffer (960
/// and 3840), and others.
const DISTANCES: [u64; 12] = [1, 1, 7, 480, 959, 960, 961, 3840, 3841, 12_345, 1, 997];

/// Clicks after an xrun, each so many frames after the one before.
const AFTER: [u64; 3] = [2, 4801, 63];

/// How long nobody writes: longer than the buffer, which lasts 80 ms.
const STOP: Nanos = Nanos::from_millis(300);

/// The longest wait for the device to settle.
const PATIENCE: Nanos = Nanos::from_secs(10);
const TURN: Duration = Duration::from_millis(5);

const CHANNELS: u16 = 2;

fn main() -> ExitCode {
    run(|| {
        let console = first::begin()?;
        let loaded = first::request(console)
            .and_then(|Request { modules, .. }| modules.iter().try_for_each(Module::load));
        match loaded.and_then(|()| heard()) {
            Ok(heard) => console.send(&heard)?,
            Err(reason) => console.send(&Message::Failed { reason, hint: None })?,
        }
        first::end(console)
    })
}

/// A click, by whose level it is recognised.
fn level(number: usize) -> f32 {
    (number + 1) as f32 / 64.0
}

fn heard() -> Result<Heard, String> {
    let hardware: Hardware = PLAYS.parse().map_err(text)?;
    let missing = refused(&MISSING.parse().map_err(text)?)?;
    let mut output = Output::open_alsa(&hardware, CHANNELS).map_err(text)?;
    let busy = Output::open_alsa(&hardware, CHANNELS).err();
    let busy = busy.map_or_else(|| "nothing".to_owned(), text);
    let rate = output.rate();
    let mut loopback = Loopback::open(rate)?;
    let mut attend = |output: &mut Output, until: Moment| {
        while now() < until {
            let Turn { moved, .. } = output.turn();
            if moved || output.is_shut_down() {
                return Err("the device's clock jumped, or it is gone".to_owned());
            }
            loopback.turn()?;
            thread::sleep(TURN);
        }
        Ok(())
    };
    let begun = now();
    while !output.is_settled() {
        if now() > begun + PATIENCE {
            return Err(format!("the clock does not settle: {:?}", output.counts()));
        }
        attend(&mut output, now() + Nanos::from_millis(10))?;
    }
    // The loop of the clock has a second to lock.
    attend(&mut output, now() + Nanos::from_secs(2))?;

    let first = position_in(&output, Nanos::from_millis(300))?;
    let heard_first = output.heard_at(first).ok_or("no time of the first click")?;
    let mut positions = vec![first];
    positions.extend(DISTANCES.iter().scan(first, |at, distance| {
        *at += distance;
        Some(*at)
    }));
    put(&mut output, &positions, 0)?;
    attend(&mut output, heard_first + Nanos::from_secs(1))?;
    let before = output.counts();

    // While this thread has the only CPU, the thread that writes cannot run.
    let during = position_in(&output, Nanos::from_millis(250))?;
    put(&mut output, &[during], positions.len())?;
    starve()?;
    let last = position_in(&output, Nanos::from_millis(300))?;
    let later: Vec<u64> = std::iter::once(last)
        .chain(AFTER.iter().scan(last, |at, distance| {
            *at += distance;
            Some(*at)
        }))
        .collect();
    put(&mut output, &later, positions.len())?;
    attend(&mut output, now() + Nanos::from_secs(1))?;
    let after = output.counts();

    let wanted = positions.iter().chain(&later).map(|position| position - first).collect();
    let clicks = loopback.clicks();
    let begins = clicks[0].first().ok_or("no click was captured")?.0;
    let is_altered = |(number, (_, sample)): (usize, &(u64, i32))| {
        *sample != (f64::from(level(number)) * f64::from(i32::MAX)).round() as i32
    };
    let altered = clicks[0].iter().enumerate().filter(|click| is_altered(*click)).count();
    let captured =
        clicks.each_ref().map(|clicks| clicks.iter().map(|(at, _)| at.abs_diff(begins)).collect());
    Ok(Heard {
        device: output.name(),
        rate,
        period: output.cycle(),
        latency: output.latency(),
        wanted,
        captured,
        altered: altered as u64,
        cut: 1,
        before: figures(before),
        after: figures(after),
        offset: loopback.captured_at(begins, rate)? - heard_first.as_nanos() as i64,
        missing,
        busy,
    })
}

/// Xruns, frames skipped, moves, frames played, frames cut.
fn figures(counts: Counts) -> [u64; 5] {
    let Counts { xruns, skipped, moves, played, late, .. } = counts;
    [xruns, skipped, moves, played, late]
}

/// Why a device is refused.
fn refused(hardware: &Hardware) -> Result<String, String> {
    match Output::open_alsa(hardware, CHANNELS) {
        Ok(_) => Err(format!("{hardware} is there")),
        Err(error @ SoundError::NoHardware { .. }) => Ok(error.to_string()),
        Err(error) => Err(error.to_string()),
    }
}

/// The position that is heard after this time.
fn position_in(output: &Output, after: Nanos) -> Result<u64, String> {
    output.position_heard_from(now() + after).ok_or_else(|| "the clock is not settled".to_owned())
}

/// Puts a click of one frame at each position: at the first channel its level, at the second its
/// opposite.
fn put(output: &mut Output, positions: &[u64], number: usize) -> Result<(), String> {
    for (index, position) in positions.iter().enumerate() {
        let level = level(number + index);
        if output.put(*position, &[level, -level]) != 1 {
            return Err("there is no room for a click".to_owned());
        }
    }
    Ok(())
}

/// Keeps the CPU from all ordinary threads.
fn starve() -> Result<(), String> {
    let priority = RealtimePriority::new(50).ok_or("no such priority")?;
    sched::set(Scheduling::Fifo(priority)).map_err(text)?;
    let until = now() + STOP;
    while now() < until {
        std::hint::spin_loop();
    }
    sched::set(Scheduling::Other { nice: 0 }).map_err(text)
}

fn now() -> Moment {
    Moment::from_nanos(clock::now::<Monotonic>().as_nanos())
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
