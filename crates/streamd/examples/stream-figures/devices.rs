//! Devices, judged where their bytes arrive: by the reader of a pseudo-terminal, and by the
//! kernel's time stamps at a socket.

use std::fs::File;
use std::io::Read as _;
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use tactus_model::policy::Scheduling;
use tactus_model::time::Nanos;
use tactus_prepare::Preparation;
use tactus_stats::LatencyHistogram;
use tactus_stream::Moment;
use tactus_sys::clock::ClockPair;
use tactus_sys::network::StampedSocket;
use tactus_sys::{affinity, clock};

use super::{BLOCKS, Outcomes, PERIOD, Player, Role, nanosleep, print};

/// The priority of the judge, which delays nobody.
const JUDGE: &str = "fifo:70";
const MESSAGE: &[u8] = &[0x90, 60, 1];

pub(super) fn measure(seconds: u64) -> Outcomes<()> {
    let block = Duration::from_secs(seconds).as_nanos() as u64 / BLOCKS / 4;
    let items = (block / PERIOD.as_nanos()).max(100);
    println!("error against due times at the receiver, {BLOCKS} blocks of {items} each\n");
    println!("{:<10} {:<14} {:>9} {:>9} {:>9} {:>9}", "load", "what", "p50", "p99", "p99.9", "max");
    let socket = StampedSocket::bind(SocketAddr::from(([127, 0, 0, 1], 9977)), 1 << 20)?;
    let (stamps, datagrams) = channel();
    std::thread::spawn(move || {
        let mut buffer = [0; 64];
        loop {
            match socket.take(&mut buffer) {
                Ok(Some((_, stamp))) => {
                    if stamps.send(ClockPair::read().monotonic(stamp)).is_err() {
                        return;
                    }
                }
                // The kernel's stamps wait for us.
                Ok(None) => std::thread::sleep(Duration::from_millis(1)),
                Err(_) => return,
            }
        }
    });
    for (load, computes) in [("idle", false), ("compute", true)] {
        device(load, computes, "udp:127.0.0.1:9977", "udp", items, |_| Ok(&datagrams))?;
        let (stamps, bytes) = channel();
        device(load, computes, "midi-pty:unpaced", "midi-pty", items, |path| {
            let mut reader = File::open(path)?;
            let policy: Scheduling = JUDGE.parse()?;
            let (stamps, cpus) = (stamps.clone(), affinity::get()?);
            std::thread::spawn(move || {
                let mut preparation = Preparation::new();
                let _ = preparation.place(&cpus, policy);
                let mut buffer = [0; MESSAGE.len()];
                while reader.read_exact(&mut buffer).is_ok() && stamps.send(clock::now()).is_ok() {}
            });
            Ok(&bytes)
        })?;
    }
    Ok(())
}

/// Measures a device; `judge` returns the arrivals, by the path of the device.
fn device<'a>(
    load: &str,
    computes: bool,
    spec: &str,
    name: &str,
    items: u64,
    judge: impl FnOnce(&str) -> Outcomes<&'a Receiver<Moment>>,
) -> Outcomes<()> {
    let folder = tempfile::tempdir()?;
    let socket = folder.path().join("socket");
    let _server = Role::start(&["serve", &socket.display().to_string(), "0s", spec])?;
    let _load = computes.then(|| Role::start(&["compute"])).transpose()?;
    let mut player = Player::connect(&socket, "player")?;
    player.payload = MESSAGE;
    let path = player.client.devices()[0].spec.rsplit(' ').next().unwrap_or_default().to_owned();
    let arrivals = judge(&path)?;
    let (mut bare, mut served) = (LatencyHistogram::new(), LatencyHistogram::new());
    let mut arrived = LatencyHistogram::new();
    for _ in 0..BLOCKS {
        bare.merge(&std::thread::spawn(move || nanosleep(items)).join().map_err(|_| "panic")??);
        let start = player.play(items, PERIOD, &mut served)?;
        for number in 0..items {
            let at = arrivals.recv_timeout(Duration::from_secs(5))?;
            let due = start + PERIOD.saturating_mul(number);
            if at < due {
                return Err(format!("item {number} came {} early", due - at).into());
            }
            arrived.record(Nanos::from_nanos((at - due).as_nanos()));
        }
    }
    print(load, "clock_nanosleep", &bare);
    print(load, &format!("{name} began"), &served);
    print(load, &format!("{name} arrived"), &arrived);
    Ok(())
}
