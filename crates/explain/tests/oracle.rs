//! Compares the accounts of a live stretch with those of `perf sched`, recorded at the
//! same time.
//!
//! The compared threads start and end within both recordings, so no edge cuts their
//! quanta. Needs root and perf(1); without them a test prints why it is skipped. Either
//! recorder may lose events on a busy machine, and the host may take a tick away, so
//! the test tries a few sessions.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tactus_explain::account::{Account, AccountOptions, Accounts, TickClock, TickRate, account};
use tactus_model::cpus::CpuList;
use tactus_model::policy::Scheduling;
use tactus_model::recording::{EventKind, EventSource, Item, Recording, ThreadId};
use tactus_model::time::Nanos;
use tactus_record::live::{Keep, Options, RecordError, Recorder};
use tactus_testing::{Need, skip};

const SESSIONS: usize = 8;

/// The threads to compare; perf identifies no others as reliably.
const NAMES: [&str; 4] = ["acct-busy", "acct-nap", "acct-ping", "acct-pong"];

/// The maximum average difference between the two recorders' stamps of one switch.
const STAMPS_APART: u64 = 5_000;

/// The quanta at a thread's beginning and end that perf's summary may omit: it counts
/// quanta between two switches with one name.
const EDGES: u64 = 2;

/// What a recorder reports about a thread.
#[derive(Clone, Copy, Debug)]
struct Figures {
    quanta: u64,
    used: Nanos,
}

/// A thread that sleeps before and after its work, so that its first and its last
/// quantum are short; perf's summary omits one of them.
fn thread(name: &str, work: impl FnOnce() + Send + 'static) -> std::thread::JoinHandle<()> {
    const APART: Duration = Duration::from_millis(2);
    let work = move || {
        std::thread::sleep(APART);
        work();
        std::thread::sleep(APART);
    };
    std::thread::Builder::new().name(name.to_owned()).spawn(work).expect("a thread can be made")
}

fn spin(length: Duration) {
    let end = Instant::now() + length;
    while Instant::now() < end {
        std::hint::spin_loop();
    }
}

/// The environment variable that makes the test run the workload instead.
const WORKLOAD: &str = "TACTUS_ORACLE_WORKLOAD";

const TEST: &str =
    "needs_root_and_perf_accounts_agree_with_perf_sched_and_simulated_ticks_with_recorded_ones";

/// Runs in a process of its own while both record: a thread that computes, one that
/// naps, and two that pass a byte to and fro. No CPU goes idle meanwhile: on some
/// kernels perf cannot record in the idle thread.
fn workload() {
    let over = Arc::new(AtomicBool::new(false));
    let cpus = tactus_sys::affinity::get().expect("every thread has an affinity");
    let fill = |cpu| {
        let over = over.clone();
        thread("acct-fill", move || {
            tactus_sys::affinity::set(&CpuList::from_iter([cpu])).expect("the CPU exists");
            tactus_sys::sched::set(Scheduling::Idle).expect("everyone may be idle");
            let end = Instant::now() + Duration::from_secs(20);
            while !over.load(Ordering::Relaxed) && Instant::now() < end {
                std::hint::spin_loop();
            }
        })
    };
    let fillers: Vec<_> = cpus.iter().map(fill).collect();
    let (mut near, mut far) = UnixStream::pair().expect("a pair of sockets can be made");
    let mut byte = [0];
    let work = [
        thread("acct-busy", || spin(Duration::from_millis(600))),
        thread("acct-nap", || {
            for _ in 0..200 {
                std::thread::sleep(Duration::from_millis(1));
                spin(Duration::from_micros(300));
            }
        }),
        thread("acct-ping", move || {
            for _ in 0..500 {
                near.write_all(&[1]).expect("the other end is open");
                near.read_exact(&mut byte).expect("the other end is open");
            }
        }),
        thread("acct-pong", move || {
            for _ in 0..500 {
                far.read_exact(&mut byte).expect("the other end is open");
                far.write_all(&byte).expect("the other end is open");
            }
        }),
    ];
    for thread in work {
        thread.join().expect("it does not fail");
    }
    over.store(true, Ordering::Relaxed);
    for filler in fillers {
        filler.join().expect("it does not fail");
    }
}

/// Why the test cannot run here; `None` if it can.
fn obstacle() -> Option<String> {
    let version = Command::new("perf").arg("--version").stdout(Stdio::null()).status();
    match version {
        Ok(status) if status.success() => None,
        Ok(status) => Some(format!("perf ended with {status}")),
        Err(error) => Some(format!("perf cannot be run: {error}")),
    }
}

/// Records the workload with both recorders and returns our events; perf writes `file`.
fn record_both(file: &Path) -> Result<Recording, RecordError> {
    let recorder =
        Recorder::start(Options { keep: Keep::Memory { limit: 1 << 30 }, ..Options::default() })?;
    let status = Command::new("perf")
        .args(["sched", "record", "-k", "CLOCK_MONOTONIC", "-m", "16M", "-o"])
        .arg(file)
        .arg("--")
        .arg(std::env::current_exe().expect("the test has a file"))
        .args([TEST, "--exact"])
        .env(WORKLOAD, "")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("perf was there a moment ago");
    let mut recorded = recorder.stop()?;
    assert!(status.success(), "perf sched record ended with {status}");
    let lost = recorded.summary.lost();
    if lost > 0 {
        eprintln!("{lost} events were lost here");
    }
    Ok(Recording::collect(&mut recorded.recording).expect("it lies in memory"))
}

/// What perf reports about the threads of the workload, by thread id.
fn by_perf(file: &Path) -> BTreeMap<i32, Figures> {
    let output = Command::new("perf")
        .args(["sched", "timehist", "--summary", "-i"])
        .arg(file)
        .output()
        .expect("perf was there a moment ago");
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().filter_map(row).collect()
}

/// A row of the summary: `comm[tid/tgid]  parent  sched-in  run-time  …`.
fn row(line: &str) -> Option<(i32, Figures)> {
    let name = line.trim_start();
    if !NAMES.iter().any(|wanted| name.starts_with(wanted)) {
        return None;
    }
    let (numbers, figures) = name.split_once('[')?.1.split_once(']')?;
    let tid = numbers.split('/').next()?.parse().ok()?;
    let mut figures = figures.split_whitespace().skip(1);
    let quanta = figures.next()?.parse().ok()?;
    let millis: f64 = figures.next()?.parse().ok()?;
    Some((tid, Figures { quanta, used: Nanos::from_nanos((millis * 1e6) as u64) }))
}

fn by_us(accounts: &Accounts) -> BTreeMap<i32, (&Account, Figures)> {
    let threads = accounts.threads.iter().filter(|account| NAMES.contains(&&*account.name));
    threads
        .filter_map(|account| {
            // The first quanta of a thread count under the name of its creator.
            let ThreadId(tid) = account.thread?;
            let all = accounts.of_thread(ThreadId(tid));
            let figures = all.fold(Figures { quanta: 0, used: Nanos::ZERO }, |sum, part| Figures {
                quanta: sum.quanta + part.turns(),
                used: sum.used + part.used,
            });
            Some((tid, (account, figures)))
        })
        .collect()
}

/// The duration of each thread's first quantum, in which it takes its name and touches
/// its stack; perf's summary may omit it.
fn first_quanta(recording: &Recording) -> BTreeMap<i32, Nanos> {
    let mut begun = BTreeMap::new();
    let mut lengths = BTreeMap::new();
    let mut reader = recording.reader();
    while let Some(item) = reader.next_item().expect("it lies in memory") {
        let Item::Event(event) = item else { continue };
        let EventKind::Switch { prev, next, .. } = event.kind else { continue };
        if let Some(begin) = begun.get(&prev) {
            lengths.entry(prev.0).or_insert(event.at - *begin);
        }
        begun.entry(next).or_insert(event.at);
    }
    lengths
}

/// The differences between the two; empty if they agree.
fn disagreements(
    accounts: &Accounts,
    first_quanta: &BTreeMap<i32, Nanos>,
    perf: &BTreeMap<i32, Figures>,
) -> Vec<String> {
    let ours = by_us(accounts);
    let mut found = Vec::new();
    if ours.len() != NAMES.len() || perf.len() != NAMES.len() {
        found.push(format!("{} threads here, {} by perf", ours.len(), perf.len()));
    }
    for (tid, (account, figures)) in &ours {
        let Some(perf) = perf.get(tid) else {
            found.push(format!("perf does not know {} ({tid})", account.name));
            continue;
        };
        let apart = figures.used.as_nanos().abs_diff(perf.used.as_nanos());
        println!(
            "{:<10} quanta {:>5} and {:>5} by perf, used {:>10} µs and {:>10} µs, {} µs apart",
            account.name,
            figures.quanta,
            perf.quanta,
            figures.used.as_nanos() / 1000,
            perf.used.as_nanos() / 1000,
            apart / 1000,
        );
        let edges = figures.quanta.abs_diff(perf.quanta);
        let first = first_quanta.get(tid).map_or(0, |length| length.as_nanos());
        if edges > EDGES || apart > first + STAMPS_APART * figures.quanta {
            found.push(format!("{}: {figures:?}, by perf {perf:?}", account.name));
        }
    }
    found
}

/// Threads that a simulated tick with the kernel's rate and phase bills differently
/// from the recorded ticks by more than one tick.
fn misbilled(recording: &Recording, accounts: &Accounts) -> Vec<String> {
    let tick = match &accounts.tick {
        Ok(tick) => tick,
        Err(reason) => return vec![format!("no tick: {reason}")],
    };
    let rate = u32::try_from(tick.hertz()).ok().and_then(TickRate::new);
    let Some(rate) = rate else { return vec![format!("no rate: {tick:?}")] };
    let options = AccountOptions { rates: vec![rate] };
    let simulated = account(&mut recording.reader(), &options).expect("it lies in memory");
    let mut found = Vec::new();
    for (tid, (account, _)) in by_us(&simulated) {
        let ticks = |clock| account.billing(clock).map_or(0, |billing| billing.ticks.value);
        let (real, made_up) = (ticks(TickClock::Kernel), ticks(TickClock::Simulated { rate }));
        println!("{:<10} {real} ticks of {rate} recorded, {made_up} simulated", account.name);
        if real.abs_diff(made_up) > 1 {
            found.push(format!("{} ({tid}): {real} recorded, {made_up} simulated", account.name));
        }
    }
    found
}

#[test]
fn needs_root_and_perf_accounts_agree_with_perf_sched_and_simulated_ticks_with_recorded_ones() {
    if std::env::var_os(WORKLOAD).is_some() {
        return workload();
    }
    if let Some(obstacle) = obstacle() {
        return skip(Need::Peers, obstacle);
    }
    let folder = std::env::temp_dir().join(format!("tactus-oracle-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("the folder of temporary files can be written");
    let file = folder.join("perf.data");
    let (mut agreed, mut billed) = (false, false);
    let mut sessions = Vec::new();
    for session in 0..SESSIONS {
        let recording = match record_both(&file) {
            Ok(recording) => recording,
            Err(error) if error.is_not_available() => {
                return skip(Need::Perf, error);
            }
            Err(error) => panic!("{error}"),
        };
        let options = AccountOptions::default();
        let accounts = account(&mut recording.reader(), &options).expect("it lies in memory");
        let disagreements = disagreements(&accounts, &first_quanta(&recording), &by_perf(&file));
        let misbilled = misbilled(&recording, &accounts);
        agreed |= disagreements.is_empty();
        billed |= misbilled.is_empty();
        sessions.push(format!("session {session}: {disagreements:?} {misbilled:?}"));
        if agreed && billed {
            break;
        }
    }
    let _ = std::fs::remove_dir_all(&folder);
    assert!(agreed && billed, "{}", sessions.join("\n"));
}
