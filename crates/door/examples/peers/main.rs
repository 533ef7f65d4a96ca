//! The error of scheduled delivery against due times: this server beside liblo, SuperCollider's
//! language and PortTime, in turns. Usage: `peers [ROUNDS [COUNT [INTERVAL_MS]]]`.
//!
//! Each turn schedules COUNT events, INTERVAL_MS apart. A peer runs unmodified, with its own policy.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use tactus_model::policy::Scheduling;
use tactus_model::time::Nanos;
use tactus_stream::{BranchId, Client, Draft, IfLate, Wanted, status};
use tactus_streamd::{LocalServer, Measure, Offered, Pace, Settings};
use tactus_sys::owned_directory::OwnedDirectory;

/// The figures of a turn, in nanoseconds.
type Errors = Vec<f64>;

struct Bench {
    folder: OwnedDirectory,
    count: u64,
    interval: u64,
}

type Turn = fn(&Bench) -> Result<Errors, Box<dyn Error>>;

const TURNS: [(&str, Turn); 5] = [
    ("tactus streamd, fifo:80", |bench| ours(bench, "fifo:80")),
    ("tactus streamd, other", |bench| ours(bench, "other")),
    ("liblo", |bench| in_c(bench, "liblo", "-llo")),
    ("PortTime", |bench| in_c(bench, "porttime", "-lportmidi")),
    ("SuperCollider (sclang)", sclang),
];

fn main() -> Result<(), Box<dyn Error>> {
    let mut numbers = std::env::args().skip(1).map(|text| text.parse::<u64>());
    let mut next = |usual| numbers.next().unwrap_or(Ok(usual));
    let (rounds, count, interval) = (next(5)?, next(200)?, next(20)?);
    let folder = OwnedDirectory::create(&std::env::temp_dir(), "tactus-peers-")?;
    let bench = Bench { folder, count, interval };
    let mut found: BTreeMap<usize, Errors> = BTreeMap::new();
    for round in 0..rounds {
        for (place, (name, turn)) in TURNS.iter().enumerate() {
            match turn(&bench) {
                Ok(errors) => found.entry(place).or_default().extend(errors),
                Err(error) if round == 0 => eprintln!("{name}: left out: {error}"),
                Err(error) => eprintln!("{name}: {error}"),
            }
        }
    }

    println!(
        "{:26} {:>7} {:>11} {:>11} {:>11} {:>11}",
        "µs", "events", "p50", "p99", "p99.9", "max"
    );
    for (place, mut errors) in found {
        errors.sort_by(f64::total_cmp);
        let at = |share: f64| errors[((errors.len() - 1) as f64 * share) as usize] / 1000.0;
        println!(
            "{:26} {:>7} {:>11.1} {:>11.1} {:>11.1} {:>11.1}",
            TURNS[place].0,
            errors.len(),
            at(0.5),
            at(0.99),
            at(0.999),
            at(1.0)
        );
    }
    Ok(())
}

/// A server in this process, and a client that submits everything 200 ms ahead.
fn ours(bench: &Bench, policy: &str) -> Result<Errors, Box<dyn Error>> {
    let policy: Scheduling = policy.parse()?;
    let settings =
        Settings { pace: Pace { policy, spin: Nanos::ZERO }, horizon: Nanos::from_secs(60) };
    let sink = Box::new(Measure);
    let device = Offered { name: "null".to_owned(), spec: "measure".to_owned(), sink };
    let mut server = LocalServer::start(vec![device], Vec::new(), settings)?;
    for shortfall in status(server.socket())?.shortfalls {
        eprintln!("{shortfall}");
    }
    let mut client = Client::connect(server.socket(), &Wanted::named("peers"))?;
    let stream = client.open("null")?;
    let start = Client::now() + Nanos::from_millis(200);
    let (branch, if_late, payload) = (BranchId(0), IfLate::Deliver, b"tick".as_slice());
    for step in 0..bench.count {
        let due = start + Nanos::from_millis(step * bench.interval);
        client.submit(&Draft { stream, branch, due, if_late, payload })?;
    }
    let mut errors = Errors::new();
    while (errors.len() as u64) < bench.count {
        let receipt = client.receipt(Some(Duration::from_secs(60)))?.ok_or("no receipt came")?;
        let began = receipt.began.ok_or("an item was not delivered")?;
        errors.push(began.as_nanos() as f64 - receipt.due.as_nanos() as f64);
    }
    drop(client);
    server.end()?;
    Ok(errors)
}

fn in_c(bench: &Bench, name: &str, library: &str) -> Result<Errors, Box<dyn Error>> {
    let program = bench.folder.path().join(name);
    if !program.exists() {
        let source = source(&format!("{name}.c"));
        let cc = Command::new("cc")
            .arg("-O2")
            .arg("-o")
            .arg(&program)
            .arg(source)
            .arg(library)
            .output()?;
        if !cc.status.success() {
            return Err(String::from_utf8_lossy(&cc.stderr).into_owned().into());
        }
    }
    let arguments = [bench.count.to_string(), bench.interval.to_string()];
    let output = Command::new(program).args(arguments).stderr(Stdio::inherit()).output()?;
    numbers(&String::from_utf8(output.stdout)?, "")
}

fn sclang(bench: &Bench) -> Result<Errors, Box<dyn Error>> {
    let mut sclang = Command::new("timeout");
    sclang.args(["120", "sclang", "-D"]).arg(source("sclang.scd")).stdin(Stdio::null());
    // It looks for its settings and a display; its browser does not start as root in a sandbox.
    sclang.env("QT_QPA_PLATFORM", "offscreen").env("QTWEBENGINE_DISABLE_SANDBOX", "1");
    sclang.env("HOME", bench.folder.path());
    sclang.env("COUNT", bench.count.to_string()).env("INTERVAL", bench.interval.to_string());
    numbers(&String::from_utf8_lossy(&sclang.output()?.stdout), "error ")
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/peers").join(name)
}

/// The numbers of lines with a prefix.
fn numbers(text: &str, prefix: &str) -> Result<Errors, Box<dyn Error>> {
    let lines = text.lines().filter_map(|line| line.strip_prefix(prefix));
    let found: Errors = lines.map(str::parse).collect::<Result<_, _>>()?;
    if found.is_empty() { Err("it printed no figures; is it installed?".into()) } else { Ok(found) }
}
