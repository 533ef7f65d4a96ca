//! Faults of the ordinary side, of the machine and of the loop itself, beside a real-time loop of
//! 1 kHz.
//!
//! `cargo xtask rt-faults` runs this for as long as it takes to compare the deadlines, and prints
//! the table. In the ordinary tests, each fault takes a fraction of a second: the sides must find
//! each other again, and every item must be accounted for.

mod faults;
mod helper;
mod peer;
mod scene;
mod servo;
#[path = "../cli/support.rs"]
#[expect(dead_code, reason = "the tests of the subcommands use the rest")]
mod support;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tactus_model::random::SplitMix64;
use tactus_testing::{Need, skip};

use faults::{FAULTS, Fault};
use scene::{Block, Scene};
use support::Tactus;

/// The user of the ordinary side.
const NOBODY: u32 = 65534;

/// The environment variable with the seconds of each fault.
const SECONDS: &str = "TACTUS_RT_FAULTS";

/// The environment variable with a part of the names of the only faults to try.
const ONLY: &str = "TACTUS_RT_FAULT";

/// The blocks of each kind without and with [`SECONDS`].
const ROUNDS_SHORT: u32 = 1;
const ROUNDS: u32 = 5;

/// The time of each kind without [`SECONDS`].
const TIME_SHORT: Duration = Duration::from_millis(200);

const SEED: u64 = 20_261_123;

/// How often something is looked for.
const STEP: Duration = Duration::from_millis(5);

/// The blocks of one kind.
#[derive(Default)]
struct Kind(Vec<Block>);

impl Kind {
    fn sum(&self, figure: impl Fn(&Block) -> u64) -> u64 {
        self.0.iter().map(figure).sum()
    }

    /// The deadlines that were kept, in per cent.
    fn kept(&self) -> f64 {
        100.0 * self.sum(|block| block.kept) as f64 / self.sum(|block| block.intended) as f64
    }

    /// The deadlines that were not kept.
    fn missed(&self) -> u64 {
        self.sum(|block| block.intended.saturating_sub(block.kept))
    }

    /// The median and the longest recovery, in milliseconds.
    fn recovered(&self) -> (f64, f64) {
        let mut times: Vec<f64> =
            self.0.iter().map(|block| block.recovered.as_secs_f64() * 1e3).collect();
        times.sort_by(f64::total_cmp);
        (times[times.len() / 2], times[times.len() - 1])
    }
}

/// Blocks of a fault, and two kinds of undisturbed blocks that should not differ.
#[derive(Default)]
struct Row {
    quiet: [Kind; 2],
    fault: Kind,
}

impl Row {
    fn print(&self, name: &str) {
        let [a, b] = &self.quiet;
        let (median, most) = self.fault.recovered();
        let steal = |kind: &Kind| kind.sum(|block| block.steal);
        println!(
            "{name:24} {:10.3} {:10.3} {:8.3} {:7} {:8} {:6} {median:19.1} {most:6.1} {:15} {:3} {:3}",
            a.kept(),
            b.kept(),
            self.fault.kept(),
            self.fault.missed(),
            self.fault.sum(|block| block.refused),
            self.fault.sum(|block| block.lost),
            steal(a),
            steal(b),
            steal(&self.fault),
        );
    }
}

const HEADING: &str = "fault                     quiet A %  quiet B %  fault %  missed  refused   lost  recovered, ms: p50, max  steal ticks: A, B, fault";

/// Runs the blocks of a fault, in random order.
fn compare(
    scene: &mut Scene,
    fault: &Fault,
    (time, rounds): (Duration, u32),
    random: &mut SplitMix64,
) -> Row {
    let mut row = Row::default();
    for _ in 0..rounds {
        let mut kinds = [0, 1, 2];
        random.shuffle(&mut kinds);
        for kind in kinds {
            let block = scene.run(time / rounds, (kind == 2).then_some(fault));
            let Row { quiet: [a, b], fault } = &mut row;
            [a, b, fault][kind].0.push(block);
        }
    }
    row
}

#[test]
fn needs_root_both_sides_recover_from_every_fault_and_every_item_is_accounted_for() {
    if tactus_sys::process::effective_user() != 0 {
        return skip(Need::Root, "a peer of another user, control groups, and real-time priority");
    }
    let seconds = std::env::var(SECONDS).ok();
    let blocks = seconds.map_or((TIME_SHORT, ROUNDS_SHORT), |seconds| {
        (Duration::from_secs_f64(seconds.parse().expect("TACTUS_RT_FAULTS is a number")), ROUNDS)
    });
    let mut scene = match Scene::start() {
        Ok(scene) => scene,
        Err(reason) => return skip(Need::Root, reason),
    };
    let mut random = SplitMix64::new(SEED);
    println!("\nseed {SEED}\n{HEADING}");
    let only = std::env::var(ONLY).unwrap_or_default();
    for fault in FAULTS.iter().filter(|fault| fault.name.contains(&only)) {
        if let Some(reason) = fault.needs.and_then(|part| scene.lacks(part)) {
            skip(Need::Machine, format!("{}: {reason}", fault.name));
            continue;
        }
        let row = compare(&mut scene, fault, blocks, &mut random);
        row.print(fault.name);
        let lost = row.fault.sum(|block| block.lost);
        assert!(fault.loses || lost == 0, "{}: {lost} items are lost", fault.name);
        let quiet = row.quiet.iter().map(|kind| kind.sum(|block| block.lost)).sum::<u64>();
        assert_eq!(quiet, 0, "undisturbed blocks lose items");
    }
    let load = fs::read_to_string("/proc/loadavg").unwrap();
    println!("load {}", load.trim());
}

#[test]
fn needs_root_nothing_is_left_when_the_program_that_makes_faults_is_killed() {
    if tactus_sys::process::effective_user() != 0 {
        return skip(Need::Root, "the other test");
    }
    let mut random = SplitMix64::new(SEED);
    for _ in 0..2 {
        let tactus = Tactus::new();
        let temporary = tactus.folder().join("tmp");
        fs::create_dir(&temporary).unwrap();
        // The ordinary side must reach the socket.
        let everybody: fs::Permissions = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(tactus.folder(), everybody.clone()).unwrap();
        fs::set_permissions(&temporary, everybody).unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.arg("needs_root_both_sides").env("TMPDIR", &temporary).env(SECONDS, "2");
        command.env("TACTUS_STORE", tactus.store());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        std::thread::sleep(Duration::from_millis(1000 + random.below(6000)));
        child.kill().unwrap();
        child.wait().unwrap();
        tactus.require_nothing_left();
        let left = || [groups(child.id()), loops(&temporary)].concat();
        let deadline = Instant::now() + Duration::from_secs(20);
        while !left().is_empty() {
            assert!(Instant::now() < deadline, "left behind: {:?}", left());
            std::thread::sleep(STEP);
        }
    }
}

/// The control groups of a process that was killed.
fn groups(process: u32) -> Vec<String> {
    let groups = tactus_sys::cgroup::stale_groups(Path::new("/")).into_iter();
    let names = groups.map(|group| group.display().to_string());
    names.filter(|name| name.contains(&format!("tactus-{process}-"))).collect()
}

/// The block devices whose file is in a folder.
fn loops(folder: &Path) -> Vec<String> {
    let devices = fs::read_dir("/sys/block").unwrap().flatten();
    let files = devices.map(|device| device.path().join("loop/backing_file"));
    let backed = files.filter_map(|file| fs::read_to_string(file).ok());
    backed.filter(|file| file.starts_with(&folder.display().to_string())).collect()
}
