//! Attacks of a hostile peer on a real-time loop of 1 kHz, each compared with a decent peer.
//!
//! `cargo xtask attacks` runs this for as long as it takes to compare the tails, and prints the
//! table. In the ordinary tests, each attack takes a fraction of a second: the counts must be
//! right, and no operation may sleep.

mod peer;
mod victim;

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tactus_model::cpus::CpuList;
use tactus_model::random::SplitMix64;
use tactus_model::time::Nanos;
use tactus_testing::{Need, skip};

use peer::{ATTACKS, DECENT};
use victim::{Found, Victim};

/// The users of hostile peers and of decent ones: what one causes does not affect the other.
const HOSTILE_USER: u32 = 65534;
const DECENT_USER: u32 = 65533;

/// Blocks of each kind for an attack, if there is time to compare tails.
const ROUNDS: u32 = 10;

/// Starts a peer.
fn start(attack: &str, socket: &Path, time: Duration) -> Peer {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "peer::a_peer", "--ignored", "--nocapture"]);
    command.env(peer::ATTACK, attack).env(peer::SOCKET, socket);
    command.env(peer::MILLIS, time.as_millis().to_string());
    command.current_dir("/").stdout(Stdio::null()).stderr(Stdio::null());
    let user = if attack == DECENT { DECENT_USER } else { HOSTILE_USER };
    std::os::unix::process::CommandExt::uid(&mut command, user);
    tactus_sys::process::die_with_parent(&mut command);
    Peer(command.spawn().unwrap())
}

struct Peer(Child);

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Blocks of an attack, and of two decent peers that should not differ.
#[derive(Default)]
struct Row {
    quiet: [Found; 2],
    attack: Found,
}

impl Row {
    fn ratio(&self) -> f64 {
        let quiet = self.quiet.each_ref().map(tail);
        2.0 * tail(&self.attack) / (quiet[0] + quiet[1])
    }

    /// How much the two quiet kinds differ: at least 1.
    fn floor(&self) -> f64 {
        let [a, b] = self.quiet.each_ref().map(tail);
        (a / b).max(b / a)
    }
}

/// The 99.9th percentile of the lateness in µs.
fn tail(found: &Found) -> f64 {
    found.late.quantile(0.999).map_or(0.0, Nanos::as_micros_f64)
}

/// Runs the blocks of an attack, in random order.
fn compare(
    victim: &Victim,
    attack: &str,
    (time, rounds): (Duration, u32),
    random: &mut SplitMix64,
) -> Row {
    let mut row = Row::default();
    let block = time / rounds;
    for _ in 0..rounds {
        let mut kinds = [0, 1, 2];
        random.shuffle(&mut kinds);
        for kind in kinds {
            let name = if kind == 2 { attack } else { DECENT };
            let peer = start(name, &victim.socket(), block + Duration::from_secs(5));
            victim.wait_for_peers();
            let found = victim.run(block);
            drop(peer);
            victim.wait_for_no_peers();
            match kind {
                2 => row.attack.add(&found),
                quiet => row.quiet[quiet].add(&found),
            }
        }
    }
    row
}

const HEADING: &str = "attack        quiet A  quiet B   attack  ratio    A/A      push       pop   held  faults (quiet)  >1 ms preempted held (quiet)  invalid    refused  steal, ms: A, B, attack   load";

impl Row {
    fn print(&self, name: &str) {
        let Self { quiet: [a, b], attack } = self;
        let load = std::fs::read_to_string("/proc/loadavg").unwrap();
        let steal = [a, b, attack].map(|found| found.steal.as_micros_f64() / 1e3);
        println!(
            "{name:12} {:8.1} {:8.1} {:8.1} {:6.2} {:6.2} {:9.1} {:9.1} {:6} {:7} {:7} {:6} {:9} {:4} {:7} {:8} {:10} {:11.0} {:5.0} {:7.0}  {:>5}",
            tail(a),
            tail(b),
            tail(attack),
            self.ratio(),
            self.floor(),
            attack.push_max.as_micros_f64(),
            attack.pop_max.as_micros_f64(),
            attack.held,
            attack.faults,
            a.faults + b.faults,
            attack.long,
            attack.long_preempted,
            attack.long_held,
            a.long_held + b.long_held,
            attack.invalid,
            attack.refused,
            steal[0],
            steal[1],
            steal[2],
            load.split(' ').next().unwrap_or_default(),
        );
    }
}

/// Prints what the rows show together.
fn summarize(rows: &[(&str, Row)]) {
    let floor = rows.iter().map(|(_, row)| row.floor()).fold(1.0, f64::max);
    let mut quiet = Found::default();
    rows.iter().flat_map(|(_, row)| &row.quiet).for_each(|found| quiet.add(found));
    println!(
        "decent peers: longest push {} and pop {}, {} blocks over 1 ms, {} of them preempted, {} held",
        quiet.push_max, quiet.pop_max, quiet.long, quiet.long_preempted, quiet.long_held,
    );
    println!("largest A/A ratio {floor:.2}");
    for (name, row) in rows {
        if row.ratio() > floor {
            println!("{name}: p99.9 is above the A/A floor");
        }
        if row.attack.long_held > 0 {
            println!("{name}: {} blocks over 1 ms are not steal time", row.attack.long_held);
        }
    }
}

fn list(cpu: u32) -> CpuList {
    cpu.to_string().parse().unwrap()
}

#[test]
fn needs_root_no_attack_holds_the_real_time_side() {
    if tactus_sys::process::effective_user() != 0 {
        return skip(Need::Root, "a peer of another user, and real-time priority");
    }
    let cpus = tactus_sys::affinity::get().unwrap();
    let cpus: Vec<u32> = cpus.iter().collect();
    let [first, .., last] = cpus[..] else {
        return skip(Need::Machine, "two CPUs");
    };
    let seconds = std::env::var("TACTUS_ATTACKS").ok();
    let blocks = seconds.map_or((Duration::from_millis(150), 1), |seconds| {
        (Duration::from_secs_f64(seconds.parse().expect("TACTUS_ATTACKS is a number")), ROUNDS)
    });
    let only = std::env::var("TACTUS_ATTACK").ok();
    let victim = Victim::start(list(first), list(last));
    if let [missing, ..] = victim.shortfalls() {
        return skip(Need::Machine, missing);
    }
    let mut random = SplitMix64::new(7);
    let mut rows = Vec::new();
    println!("\nlateness p99.9 in µs; longest push and pop in µs\n{HEADING}");
    for (name, _) in ATTACKS {
        if only.as_ref().is_some_and(|only| only != name) {
            continue;
        }
        let row = compare(&victim, name, blocks, &mut random);
        row.print(name);
        rows.push((name, row));
    }
    summarize(&rows);
    for (name, row) in &rows {
        // The kernel may migrate a locked page, which is a fault too. An attack that has an effect
        // holds every second period.
        let (held, periods) = (row.attack.held, row.attack.late.count());
        assert!(held * 50 <= periods, "{name}: {held} of {periods} periods slept or faulted");
    }
}
