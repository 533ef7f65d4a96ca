//! What recording costs an event, in interleaved blocks beside other tracers.
//!
//! Two real-time threads, pinned to one processor, pass a byte to and fro; each
//! round is about six scheduler events. Usage: `tracing_cost [BLOCKS] [ROUNDS]`.
//! Needs root; perf and bpftrace must be
//! installed. `tracefs` is what trace-cmd has the kernel do, without its reader.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tactus_model::cpus::CpuList;
use tactus_model::policy::{RealtimePriority, Scheduling};
use tactus_record::decode::Tracepoint;
use tactus_record::live::{Options, Recorder};

const EVENTS: [&str; 3] = ["sched_switch", "sched_waking", "sched_wakeup"];

const MODES: [&str; 7] = [
    "off",
    "tactus",
    "tactus, all events",
    "perf record",
    "tracefs",
    "bpftrace count",
    "off again",
];

/// Pins the calling thread first, then makes it real-time.
fn prepare() {
    let cpu: CpuList = [1].into_iter().collect();
    tactus_sys::affinity::set(&cpu).expect("processor 1 is there");
    let priority = RealtimePriority::new(10).expect("10 is a priority");
    tactus_sys::sched::set(Scheduling::Fifo(priority)).expect("needs root");
}

/// Nanoseconds a round.
fn ping_pong(rounds: u32) -> f64 {
    std::thread::spawn(move || {
        prepare();
        let (mut near, mut far) = UnixStream::pair().expect("sockets");
        let partner = std::thread::spawn(move || {
            let mut byte = [0];
            for _ in 0..rounds {
                far.read_exact(&mut byte).expect("near end is open");
                far.write_all(&byte).expect("near end is open");
            }
        });
        let begin = Instant::now();
        let mut byte = [0];
        for _ in 0..rounds {
            near.write_all(&byte).expect("far end is open");
            near.read_exact(&mut byte).expect("far end is open");
        }
        let took = begin.elapsed().as_nanos() as f64 / f64::from(rounds);
        partner.join().expect("partner ends");
        took
    })
    .join()
    .expect("ends by itself")
}

/// Starts a tracer and gives it time to attach; none when it is not installed.
fn start(command: &str) -> Option<Child> {
    let child = Command::new("timeout")
        .args(["60", "sh", "-c", &format!("exec {command}")])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    std::thread::sleep(Duration::from_millis(2500));
    Some(child)
}

/// Has a tracer end as if by Ctrl-C.
fn stop(child: Option<Child>) {
    let Some(mut child) = child else { return };
    let _ = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    let _ = child.wait();
}

/// The same events into buffers of the kernel's own, which nobody reads.
fn ping_pong_in_tracefs(rounds: u32) -> f64 {
    let instance = "/sys/kernel/tracing/instances/tactus-cost";
    let write = |file: &str, text: &str| {
        std::fs::write(format!("{instance}/{file}"), text).expect("needs root");
    };
    std::fs::create_dir(instance).expect("needs root");
    write("trace_clock", "mono");
    write("buffer_size_kb", "16384");
    for event in EVENTS {
        write(&format!("events/sched/{event}/enable"), "1");
    }
    let took = ping_pong(rounds);
    write("events/enable", "0");
    std::fs::remove_dir(instance).expect("nobody else uses it");
    took
}

fn block(mode: &str, rounds: u32) -> (f64, f64) {
    let of_sched = |separator: &str, prefix: &str| {
        EVENTS.map(|event| format!("{prefix}sched{separator}{event}")).join(" ")
    };
    let external = match mode {
        "perf record" => Some(format!(
            "perf record -q -a -c 1 -k CLOCK_MONOTONIC -m 1024 {} -o /tmp/cost.perf",
            of_sched(":", "-e ")
        )),
        "bpftrace count" => {
            let probes = EVENTS.map(|event| format!("tracepoint:sched:{event}")).join(",");
            Some(format!("bpftrace -q -e '{probes} {{ @ = count(); }}'"))
        }
        _ => None,
    };
    if let Some(command) = external {
        let child = start(&command);
        let took = ping_pong(rounds);
        stop(child);
        return (took, 0.0);
    }
    if mode == "tracefs" {
        return (ping_pong_in_tracefs(rounds), 0.0);
    }
    if mode.starts_with("off") {
        return (ping_pong(rounds), 0.0);
    }
    let mut options = Options::default();
    if mode == "tactus" {
        options.tracepoints = vec![Tracepoint::Switch, Tracepoint::Waking, Tracepoint::Wakeup];
    }
    options.drainer.cpus = Some([0].into_iter().collect());
    let recorder = Recorder::start(options).expect("needs root");
    let took = ping_pong(rounds);
    let summary = recorder.stop().expect("recording ends").summary;
    let drain = summary.cost.drain_time.as_nanos() as f64 / summary.cost.events.max(1) as f64;
    eprintln!(
        "{mode}: {} events, {:.1} ring bytes and {:.1} kept bytes each, {drain:.0} ns drain each, \
         {} lost, {} unwritten, longest drain {}",
        summary.cost.events,
        summary.cost.ring_bytes as f64 / summary.cost.events as f64,
        summary.cost.kept_bytes as f64 / summary.cost.events as f64,
        summary.lost(),
        summary.unwritten(),
        summary.cost.longest_drain,
    );
    (took, summary.cost.events as f64 / f64::from(rounds))
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|word| word.parse::<u32>());
    let blocks = arguments.next().and_then(Result::ok).unwrap_or(8);
    let rounds = arguments.next().and_then(Result::ok).unwrap_or(20_000);
    let mut times = vec![Vec::new(); MODES.len()];
    let mut events = vec![0.0; MODES.len()];
    for number in 0..blocks as usize {
        // Every mode comes at every place in turn.
        for place in 0..MODES.len() {
            let mode = (place * 3 + number) % MODES.len();
            let (took, each) = block(MODES[mode], rounds);
            times[mode].push(took);
            events[mode] = each;
        }
    }
    println!("{blocks} blocks of {rounds} rounds; differences to `off` of the same block");
    for (mode, name) in MODES.iter().enumerate() {
        // Six scheduler events a round, whoever counts them.
        let mut differences: Vec<f64> =
            times[mode].iter().zip(&times[0]).map(|(with, off)| with - off).collect();
        differences.sort_by(f64::total_cmp);
        let at = |share: f64| differences[((differences.len() - 1) as f64 * share) as usize];
        let each = if events[mode] > 0.0 { events[mode] } else { 6.0 };
        println!(
            "{name:<20} ns a round: {:>7.0} {:>7.0} {:>7.0} (quartiles); ns an event ({each:.1} a round): {:.0}",
            at(0.25),
            at(0.5),
            at(0.75),
            at(0.5) / each
        );
    }
    let _ = std::fs::remove_file("/tmp/cost.perf");
    let _ = std::fs::remove_file("/tmp/cost.dat");
}
