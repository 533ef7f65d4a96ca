//! Faults of the ordinary side, of the machine and of the loop itself, beside a real-time loop of
//! 1 kHz.
//!
//! `cargo xtask rt-faults` runs this for as long as it takes to compare the deadlines, and prints
//! the table. In the ordinary tests, each fault takes a fraction of a second: the sides must find
//! each other again, and every item must be accounted for.

mod comparison;
mod faults;
mod helper;
mod hostile;
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

use comparison::{HEADING, SEED, compare};
use faults::FAULTS;
use scene::{STEP, Scene};
use support::Tactus;

/// The environment variable with the seconds of each fault.
const SECONDS: &str = "TACTUS_RT_FAULTS";

/// The environment variable with a part of the names of the only faults to try.
const ONLY: &str = "TACTUS_RT_FAULT";

/// The blocks of each kind without and with [`SECONDS`].
const ROUNDS_SHORT: u32 = 1;
const ROUNDS: u32 = 5;

/// The time of each kind without [`SECONDS`].
const TIME_SHORT: Duration = Duration::from_millis(200);

#[test]
fn needs_root_both_sides_recover_from_every_fault_and_every_item_is_accounted_for() {
    if tactus_sys::process::effective_user() != 0 {
        return skip(Need::Root, "a peer of another user, control groups, and real-time priority");
    }
    let seconds = std::env::var(SECONDS).ok();
    let blocks = seconds.map_or((TIME_SHORT, ROUNDS_SHORT), |seconds| {
        (Duration::from_secs_f64(seconds.parse().expect("TACTUS_RT_FAULTS is a number")), ROUNDS)
    });
    let mut scene = match Scene::start(Path::new(env!("CARGO_BIN_EXE_tactus"))) {
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
        println!("{}", row.line(fault.name));
        row.check(fault).unwrap();
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
