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
use tactus_stats::LatencyHistogram;
use tactus_testing::{Need, skip};

use peer::{ATTACKS, DECENT};
use victim::{Block, Victim};

/// The user of the peers.
const NOBODY: u32 = 65534;

/// Blocks of each kind for an attack, if there is time to compare tails.
const ROUNDS: u32 = 3;

/// Starts a peer.
fn start(attack: &str, socket: &Path, time: Duration) -> Peer {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "peer::a_peer", "--ignored", "--nocapture"]);
    command.env(peer::ATTACK, attack).env(peer::SOCKET, socket);
    command.env(peer::MILLIS, time.as_millis().to_string());
    command.current_dir("/").stdout(Stdio::null()).stderr(Stdio::null());
    std::os::unix::process::CommandExt::uid(&mut command, NOBODY);
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

/// What the blocks of one kind found.
#[derive(Default)]
struct Found {
    late: LatencyHistogram,
    push_max: u64,
    pop_max: u64,
    /// Operations that slept or faulted.
    held: u64,
    refused: u64,
    invalid: u64,
}

impl Found {
    fn add(&mut self, block: &Block) {
        self.late.merge(&block.late);
        self.push_max = self.push_max.max(block.push_max);
        self.pop_max = self.pop_max.max(block.pop_max);
        self.held += block.held;
        self.refused += block.refused;
        self.invalid += block.invalid;
    }

    /// The 99.9th percentile of the lateness in µs.
    fn tail(&self) -> f64 {
        self.late.quantile(0.999).map_or(0.0, |late| late.as_micros_f64())
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
        let quiet = self.quiet.each_ref().map(Found::tail);
        2.0 * self.attack.tail() / (quiet[0] + quiet[1])
    }

    /// How much the two quiet kinds differ: at least 1.
    fn floor(&self) -> f64 {
        let [a, b] = self.quiet.each_ref().map(Found::tail);
        (a / b).max(b / a)
    }
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

fn print(rows: &[(&str, Row)]) {
    let floor = rows.iter().map(|(_, row)| row.floor()).fold(1.0, f64::max);
    println!("\nlateness p99.9 in µs; longest push and pop in µs; largest A/A ratio {floor:.2}\n");
    println!(
        "attack        quiet A  quiet B   attack  ratio    A/A      push       pop  slept  invalid    refused"
    );
    for (name, row) in rows {
        let [a, b] = row.quiet.each_ref().map(Found::tail);
        let found = &row.attack;
        println!(
            "{name:12} {a:8.1} {b:8.1} {:8.1} {:6.2} {:6.2} {:9.1} {:9.1} {:6} {:8} {:10}{}",
            found.tail(),
            row.ratio(),
            row.floor(),
            found.push_max as f64 / 1000.0,
            found.pop_max as f64 / 1000.0,
            found.held,
            found.invalid,
            found.refused,
            if row.ratio() > floor { "  above A/A" } else { "" },
        );
    }
    let quiet = rows.iter().flat_map(|(_, row)| &row.quiet);
    let (push, pop) =
        quiet.fold((0, 0), |(push, pop), found| (found.push_max.max(push), found.pop_max.max(pop)));
    println!(
        "decent peers: longest push {:.1} µs, pop {:.1} µs",
        push as f64 / 1e3,
        pop as f64 / 1e3
    );
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
    let is_short = seconds.is_none();
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
    for (name, _) in ATTACKS {
        if only.as_ref().is_some_and(|only| only != name) {
            continue;
        }
        let row = compare(&victim, name, blocks, &mut random);
        if !is_short {
            eprintln!("{name}: p99.9 ×{:.2}, A/A ×{:.2}", row.ratio(), row.floor());
        }
        rows.push((name, row));
    }
    print(&rows);
    for (name, row) in &rows {
        // The kernel may migrate a locked page, which is a fault too. An attack that has an effect
        // holds every second period.
        let (held, periods) = (row.attack.held, row.attack.late.count());
        assert!(held * 50 <= periods, "{name}: {held} of {periods} periods slept or faulted");
    }
}
