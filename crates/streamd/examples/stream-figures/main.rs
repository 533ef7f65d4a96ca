//! The figures of docs/streams.md: `cargo xtask streams`, or
//! `cargo run --release -p tactus-streamd --example stream-figures [SECONDS]`.
//!
//! `figures devices SECONDS` judges devices where their bytes arrive.
//!
//! Blocks of a bare loop of clock_nanosleep(2) and blocks of the server alternate, idle and beside
//! programs that compute on every CPU.

mod devices;

use std::error::Error;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tactus_model::policy::Scheduling;
use tactus_model::time::Nanos;
use tactus_prepare::Preparation;
use tactus_stats::LatencyHistogram;
use tactus_stream::{BranchId, Client, Draft, IfLate, Moment, Outcome, StreamId, Wanted};
use tactus_streamd::{Options, Pace, Settings};
use tactus_sys::sleep::{Nanosleep, Sleeper};
use tactus_sys::{affinity, clock};

type Outcomes<T> = Result<T, Box<dyn Error>>;

const POLICY: &str = "fifo:80";
const PERIOD: Nanos = Nanos::from_millis(1);

/// So far ahead, an ordinary client on a busy machine is not late.
const AHEAD: Nanos = Nanos::from_millis(500);

const PATIENCE: Option<Duration> = Some(Duration::from_secs(10));

/// Blocks of each kind.
const BLOCKS: u64 = 10;

fn main() -> Outcomes<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["serve", socket, spin, device] => serve(socket.as_ref(), spin.parse()?, device),
        ["devices", seconds] => devices::measure(seconds.parse()?),
        ["compute"] => compute(),
        [] => measure(60),
        [seconds] => measure(seconds.parse()?),
        _ => Err("usage: figures [SECONDS]".into()),
    }
}

fn serve(socket: &Path, spin: Nanos, device: &str) -> Outcomes<()> {
    let settings =
        Settings { pace: Pace { policy: POLICY.parse()?, spin }, horizon: Nanos::from_secs(10) };
    let devices = vec![format!("device={device}").parse()?];
    let (server, _) =
        tactus_streamd::start(Options { socket: socket.to_owned(), devices, settings })?;
    println!("ready");
    Ok(server.run()?)
}

/// Computes on every CPU until it is killed.
fn compute() -> Outcomes<()> {
    println!("ready");
    for _ in affinity::get()?.iter().skip(1) {
        std::thread::spawn(|| spin());
    }
    spin()
}

fn spin() -> ! {
    loop {
        std::hint::spin_loop();
    }
}

/// This program in another role; it is killed at the end.
struct Role(Child);

impl Role {
    fn start(words: &[&str]) -> Outcomes<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        tactus_sys::process::die_with_parent(&mut command);
        let mut child = command.args(words).stdout(Stdio::piped()).spawn()?;
        let output = child.stdout.take().ok_or("no output")?;
        BufReader::new(output).lines().next().ok_or("it has ended")??;
        Ok(Self(child))
    }

    /// A field of `/proc/PID/status`, in KiB.
    fn kibibytes(&self, field: &str) -> Outcomes<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0.id()))?;
        let line = status.lines().find(|line| line.starts_with(field)).ok_or("no such field")?;
        Ok(line.split_whitespace().nth(1).ok_or("no value")?.parse()?)
    }

    /// The CPU time of all its threads so far.
    fn cpu_time(&self) -> Outcomes<Nanos> {
        let mut sum = Nanos::ZERO;
        for thread in std::fs::read_dir(format!("/proc/{}/task", self.0.id()))? {
            let text = std::fs::read_to_string(thread?.path().join("schedstat"))?;
            let time = text.split_whitespace().next().ok_or("no value")?;
            sum = sum + Nanos::from_nanos(time.parse()?);
        }
        Ok(sum)
    }
}

impl Drop for Role {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn measure(seconds: u64) -> Outcomes<()> {
    let folder = tempfile::tempdir()?;
    let block = Duration::from_secs(seconds).as_nanos() as u64 / BLOCKS / 4;
    let items = (block / PERIOD.as_nanos()).max(100);
    println!(
        "error against due times, {POLICY}, every {PERIOD}, {BLOCKS} blocks of {items} each\n"
    );
    println!("{:<10} {:<14} {:>9} {:>9} {:>9} {:>9}", "load", "what", "p50", "p99", "p99.9", "max");
    for (load, computes) in [("idle", false), ("compute", true)] {
        for (name, spin) in [("server", "0s"), ("server, spin", "100us")] {
            let socket = folder.path().join(format!("{load}-{spin}"));
            let _server = Role::start(&["serve", &socket.display().to_string(), spin, "measure"])?;
            let _load = computes.then(|| Role::start(&["compute"])).transpose()?;
            let mut player = Player::connect(&socket, "player")?;
            let (mut bare, mut served) = (LatencyHistogram::new(), LatencyHistogram::new());
            for _ in 0..BLOCKS {
                bare.merge(
                    &std::thread::spawn(move || nanosleep(items))
                        .join()
                        .map_err(|_| "it panicked")??,
                );
                player.play(items, PERIOD, &mut served)?;
            }
            print(load, "clock_nanosleep", &bare);
            print(load, name, &served);
            let ratio = |quantile| {
                let of = |all: &LatencyHistogram| {
                    all.quantile(quantile).unwrap_or_default().as_micros_f64()
                };
                of(&served) / of(&bare)
            };
            println!(
                "{load:<10} {:<14} {:>8.2}x {:>8.2}x {:>8.2}x",
                "ratio",
                ratio(0.5),
                ratio(0.99),
                ratio(0.999)
            );
        }
    }
    capacity(&folder.path().join("capacity"))
}

fn print(load: &str, name: &str, errors: &LatencyHistogram) {
    let of = |quantile| errors.quantile(quantile).unwrap_or_default().as_micros_f64();
    let max = errors.max().unwrap_or_default().as_micros_f64();
    println!(
        "{load:<10} {name:<14} {:>7.1}µs {:>7.1}µs {:>7.1}µs {max:>7.1}µs",
        of(0.5),
        of(0.99),
        of(0.999)
    );
}

/// A bare loop on a thread of its own.
fn nanosleep(items: u64) -> Result<LatencyHistogram, String> {
    let failed = |error: tactus_sys::SysError| error.to_string();
    let policy: Scheduling = POLICY.parse().map_err(|error| format!("{error}"))?;
    let mut preparation = Preparation::new();
    preparation.place(&affinity::get().map_err(failed)?, policy).map_err(failed)?;
    let (mut errors, mut sleeper) = (LatencyHistogram::new(), Nanosleep);
    let start = Client::now() + AHEAD;
    for number in 0..items {
        let due: Moment = start + PERIOD.saturating_mul(number);
        sleeper.sleep_until(due).map_err(failed)?;
        errors.record(clock::now() - due);
    }
    Ok(errors)
}

struct Player {
    client: Client,
    stream: StreamId,
    payload: &'static [u8],
}

impl Player {
    fn connect(socket: &Path, name: &str) -> Outcomes<Self> {
        let mut client = Client::connect(socket, &Wanted::named(name))?;
        let stream = client.open("device")?;
        Ok(Self { client, stream, payload: b"0123456789abcdef" })
    }

    fn draft(&self, due: Moment) -> Draft<'static> {
        let (branch, if_late) = (BranchId(0), IfLate::Deliver);
        Draft { stream: self.stream, branch, due, if_late, payload: self.payload }
    }

    /// Submits items ahead of their times, and reads their receipts. Returns when the first was
    /// due.
    fn play(
        &mut self,
        items: u64,
        period: Nanos,
        errors: &mut LatencyHistogram,
    ) -> Outcomes<Moment> {
        let start = Client::now() + AHEAD;
        let mut submitted = 0;
        while submitted < items || self.client.outstanding() > 0 {
            while submitted < items
                && start + period.saturating_mul(submitted) <= Client::now() + AHEAD
            {
                let due = start + period.saturating_mul(submitted);
                self.client.submit(&self.draft(due))?;
                submitted += 1;
            }
            if let Some(receipt) = self.client.receipt(Some(period.into()))? {
                if receipt.outcome != Outcome::Delivered {
                    return Err(format!("{receipt:?}").into());
                }
                errors.record(receipt.began.ok_or("it has no times")? - receipt.due);
            }
        }
        Ok(start)
    }

    /// Submits items that are due at once, as fast as it can.
    fn rush(&mut self, time: Duration) -> Outcomes<u64> {
        let (end, mut answered) = (Instant::now() + time, 0);
        while Instant::now() < end || self.client.outstanding() > 0 {
            let goes_on = Instant::now() < end;
            let is_full = !goes_on || self.client.submit(&self.draft(Client::now())).is_err();
            let timeout = if is_full { PATIENCE } else { Some(Duration::ZERO) };
            answered += u64::from(self.client.receipt(timeout)?.is_some());
        }
        Ok(answered)
    }
}

/// Receipts a second, CPU time, memory, and many clients.
fn capacity(socket: &Path) -> Outcomes<()> {
    let server = Role::start(&["serve", &socket.display().to_string(), "0s", "measure"])?;
    let memory = |what: &str| -> Outcomes<()> {
        let (resident, locked) = (server.kibibytes("VmRSS")?, server.kibibytes("VmLck")?);
        println!("memory, {what}: {resident} KiB resident, {locked} KiB locked");
        Ok(())
    };
    println!();
    memory("no client")?;
    let before = server.cpu_time()?;
    let answered = Player::connect(socket, "rush")?.rush(Duration::from_secs(3))?;
    let used = (server.cpu_time()? - before).as_micros_f64() / answered as f64;
    println!("one client in a hurry: {} receipts/s, {used:.2} µs of CPU time each", answered / 3);
    let before = server.cpu_time()?;
    let mut errors = LatencyHistogram::new();
    Player::connect(socket, "steady")?.play(3000, PERIOD, &mut errors)?;
    let used = (server.cpu_time()? - before).as_micros_f64() / 3000.0;
    println!("one item a millisecond: {used:.2} µs of CPU time each, from ring to receipt");
    let threads: Vec<_> = (0..100)
        .map(|number| {
            let socket = socket.to_owned();
            std::thread::spawn(move || {
                let mut errors = LatencyHistogram::new();
                let mut player = Player::connect(&socket, &format!("client-{number}"))
                    .map_err(|error| error.to_string())?;
                player
                    .play(500, Nanos::from_millis(10), &mut errors)
                    .map_err(|error| error.to_string())?;
                Ok::<_, String>((errors, player.client.slack()))
            })
        })
        .collect();
    std::thread::sleep(Duration::from_secs(2));
    memory("100 clients")?;
    let (mut errors, mut needed) = (LatencyHistogram::new(), Nanos::ZERO);
    for thread in threads {
        let (of_client, slack) = thread.join().map_err(|_| "it panicked")??;
        errors.merge(&of_client);
        needed = needed.max(slack.map(|slack| slack.needed).unwrap_or_default());
    }
    println!("100 clients, 100 items/s each: {} receipts, arrival within {needed}", errors.count());
    print("idle", "100 clients", &errors);
    Ok(())
}
