//! What an output plays, as a capture of the sink's monitor hears it, on a sound server without
//! hardware.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::{Duration, Instant};

use tactus_model::time::{Instant as Moment, Monotonic, Nanos};
use tactus_sound::server::SINK;
use tactus_sound::{Block, Capture, ClientSpec, Output, Peer, PrivateServer};
use tactus_sys::clock;
use tactus_testing::{Need, require, skip};

const QUANTUM: u32 = 1024;
const CLICKS: u64 = 60;

/// Runs a test below in a process that uses a server of its own: the library reads the environment
/// when a process starts.
fn with_own_server(test: &str) {
    let Some(server) = require(Need::Sound, PrivateServer::start(QUANTUM)) else { return };
    let mut run = Command::new(std::env::current_exe().unwrap());
    run.args(["--exact", "--ignored", "--nocapture", test]).envs(server.variables());
    let output = run.output().unwrap();
    let out = String::from_utf8_lossy(&output.stdout);
    println!("{out}");
    if let Some((_, reason)) = out.split_once(MISSING) {
        return skip(Need::Sound, reason.lines().next().unwrap_or_default());
    }
    assert!(output.status.success(), "{out}{}", String::from_utf8_lossy(&output.stderr));
}

const MISSING: &str = "missing: ";

/// The server makes its nodes after its socket; without a library, the rest is skipped.
fn open<T>(open: impl Fn() -> Result<T, tactus_sound::SoundError>) -> Option<T> {
    let began = Instant::now();
    loop {
        match open() {
            Ok(opened) => return Some(opened),
            Err(tactus_sound::SoundError::Peer { .. })
                if began.elapsed() < Duration::from_secs(20) =>
            {
                std::thread::sleep(Duration::from_millis(50));
            }
            Err(error) => {
                println!("{MISSING}{error}");
                return None;
            }
        }
    }
}

#[test]
fn clicks_are_captured_where_they_were_put() {
    with_own_server("clicks");
}

#[test]
#[ignore = "another test starts it as a program, beside a sound server"]
fn clicks() {
    let peer = Peer::Client(SINK.to_owned());
    let capture = ClientSpec { name: "judge".to_owned(), channels: 1, peer };
    let Some(mut capture) = open(|| Capture::open(&capture)) else { return };
    // The device that the server prefers is the only one.
    let output = ClientSpec { name: "clicks".to_owned(), channels: 2, peer: Peer::Device };
    let Some(mut output) = open(|| Output::open(&output)) else { return };
    let (mut put, mut heard, mut blind) = (BTreeMap::new(), BTreeMap::new(), Nanos::ZERO);
    let (mut samples, mut moved) = (Vec::new(), 0);
    let began = Instant::now();
    let mut position = None;
    while began.elapsed() < Duration::from_secs(6) {
        moved += u64::from(output.turn().moved);
        let soon: Moment<Monotonic> = clock::now::<Monotonic>() + Nanos::from_millis(200);
        if let Some(from) = output.position_heard_from(soon)
            && put.len() < CLICKS as usize
        {
            // A click that is not at a multiple of anything, every 50 ms.
            let at = position.map_or(from, |last: u64| last + 2403);
            if at <= from + 4800 {
                let click = (put.len() + 1) as f32 / 1024.0;
                assert_eq!(output.put(at, &[click, -click]), 1);
                put.insert(put.len() as u64 + 1, output.heard_at(at).unwrap());
                position = Some(at);
            }
        }
        while let Some(block) = capture.read(&mut samples) {
            let Block { at, frames, blind: before, .. } = block;
            assert_eq!(samples.len(), frames as usize);
            blind = blind + before;
            for (frame, sample) in samples.iter().enumerate().filter(|(_, it)| **it != 0.0) {
                let after = Nanos::from_nanos(frame as u64 * 1_000_000_000 / 48_000);
                heard.insert((sample * 1024.0).round() as u64, at + after);
            }
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let counts = output.counts();
    println!("{} put, {} heard, blind {blind}, {moved} moves, {counts:?}", put.len(), heard.len());
    println!("latencies {} and {}", output.latency(), capture.latency());
    let apart = |number: &u64| {
        let (due, at) = (put.get(number)?.as_nanos(), heard.get(number)?.as_nanos());
        Some(at.cast_signed() - due.cast_signed())
    };
    let mut apart: Vec<i64> = put.keys().filter_map(apart).collect();
    apart.sort_unstable();
    println!("{apart:?}");
    assert_eq!(put.len() as u64, CLICKS);
    // The server may lose cycles on a busy machine, and the capture may be blind meanwhile.
    assert!(apart.len() >= 20, "{} of {CLICKS} heard", apart.len());
    // A clock that is still settling may be off by more than a sample.
    let near = apart.iter().filter(|it| it.abs() <= 1_000_000_000 / 48_000 + 2_000).count();
    assert!(near >= apart.len() / 2, "{near} of {} within a sample", apart.len());
}
