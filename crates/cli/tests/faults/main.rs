//! Kills each kind of process at seeded random moments, and checks that the machine is as before.
//!
//! `cargo xtask faults 500` kills as often as it says and prints the table; as a part of
//! `cargo test`, fifty kills take about a minute. A new kind of fault is a row in [`plans`], and
//! a new thing that must be as before is a check in [`machine`].

mod machine;
mod plans;
#[path = "../cli/support.rs"]
#[expect(dead_code, reason = "the tests of the subcommands use the rest")]
mod support;

use std::collections::BTreeMap;
use std::fs;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tactus_model::random::SplitMix64;
use tactus_testing::{Need, skip};

use machine::Before;
use plans::{Fault, PLANS, Plan, Victim};
use support::Tactus;

/// The environment variable with the number of kills.
const KILLS: &str = "TACTUS_FAULTS";

/// The number of kills without [`KILLS`].
const KILLS_DEFAULT: usize = 50;

const SEED: u64 = 20_261_122;

/// Ends a failed test; no figure.
const AMPLE: Duration = Duration::from_secs(60);

/// How often processes are looked for.
const STEP: Duration = Duration::from_millis(20);

/// The results of one kind of fault.
#[derive(Default)]
struct Row {
    kills: usize,
    /// The victim had ended before its moment came.
    missed: usize,
    left: Vec<String>,
}

#[test]
fn needs_root_nothing_is_left_whichever_process_is_killed() {
    if tactus_sys::process::effective_user() != 0 {
        return skip(Need::Root, "only root changes settings and makes tracing instances");
    }
    let kills = std::env::var(KILLS).map_or(KILLS_DEFAULT, |text| text.parse().unwrap());
    println!("seed {SEED}, {kills} kills");
    let cases: Vec<(usize, &Plan, Fault)> = PLANS
        .iter()
        .flat_map(|plan| plan.faults.iter().map(move |fault| (plan, *fault)))
        .enumerate()
        .map(|(row, (plan, fault))| (row, plan, fault))
        .collect();
    let mut random = SplitMix64::new(SEED);
    let before = Before::read();
    let mut rows: BTreeMap<usize, Row> = BTreeMap::new();
    for &(number, plan, fault) in cases.iter().cycle().take(kills) {
        let delay = Duration::from_millis(random.below(plan.length_ms));
        let row = rows.entry(number).or_default();
        row.kills += 1;
        match happen(plan, fault, delay, &mut random, &before) {
            Ok(is_hit) => row.missed += usize::from(!is_hit),
            Err(left) => row.left.push(format!("after {delay:?}: {left}")),
        }
    }
    println!("{:<16} {:<26} {:>6} {:>7} {:>6}", "plan", "fault", "kills", "missed", "left");
    for (number, Row { kills, missed, left }) in &rows {
        let (_, plan, fault) = &cases[*number];
        let (fault, count) = (fault.to_string(), left.len());
        println!("{:<16} {fault:<26} {kills:>6} {missed:>7} {count:>6}", plan.name);
        left.iter().for_each(|left| println!("    {left}"));
    }
    assert!(rows.values().all(|row| row.left.is_empty()), "something is left; see the table");
}

/// Lets a fault happen to a plan, `delay` after the victim has started. Returns whether the victim
/// still lived.
///
/// # Errors
/// What is not as before.
fn happen(
    plan: &Plan,
    fault: Fault,
    delay: Duration,
    random: &mut SplitMix64,
    before: &Before,
) -> Result<bool, String> {
    let tactus = Tactus::new();
    let temporary = tactus.folder().join("tmp");
    fs::create_dir(&temporary).unwrap();
    let command = |arguments: &[&str]| {
        let mut command = tactus.command(arguments);
        command.env("TMPDIR", &temporary).current_dir(tactus.folder());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let mut child = command(plan.arguments).spawn().unwrap();
    if fault.victim != Victim::Nobody && await_victim(&tactus, &mut child, fault.victim) {
        thread::sleep(delay);
    }
    // All that lives now may leave something.
    let processes = tactus.processes();
    let mut victims = victims(&processes, &child, fault.victim);
    if fault.victim != Victim::Everything && !victims.is_empty() {
        // Several processes may have the same role.
        victims = vec![victims[random.below(victims.len() as u64) as usize]];
    }
    // An earlier death may have ended a victim already.
    let hit = victims.iter().filter(|victim| send(**victim, fault.signal)).count();
    let ended = await_end(&mut child);
    if fault.needs_next_start {
        command(plans::NEXT_START).status().unwrap();
    }
    let owners: Vec<u32> = processes.iter().map(|(process, _)| *process).collect();
    let unchanged = before.check(&tactus, &owners, &temporary, AMPLE);
    ended.and(unchanged).map(|()| hit > 0 || fault.victim == Victim::Nobody)
}

/// Waits until the victim has started; false if the command ended first.
fn await_victim(tactus: &Tactus, child: &mut Child, victim: Victim) -> bool {
    let deadline = Instant::now() + AMPLE;
    while victims(&tactus.processes(), child, victim).is_empty() {
        if child.try_wait().unwrap().is_some() || Instant::now() >= deadline {
            return false;
        }
        thread::sleep(STEP);
    }
    true
}

fn victims(processes: &[(u32, String)], child: &Child, victim: Victim) -> Vec<u32> {
    let all = processes.iter();
    let chosen = all.filter(|(process, line)| match victim {
        Victim::Command => *process == child.id(),
        Victim::Role(role) => line.trim_end().ends_with(&format!(" internal {role}")),
        Victim::Everything => true,
        Victim::Nobody => false,
    });
    chosen.map(|(process, _)| *process).collect()
}

fn send(process: u32, signal: Signal) -> bool {
    let process = i32::try_from(process).ok().and_then(Pid::from_raw);
    process.is_some_and(|process| kill_process(process, signal).is_ok())
}

fn await_end(child: &mut Child) -> Result<(), String> {
    let deadline = Instant::now() + AMPLE;
    while child.try_wait().unwrap().is_none() {
        if Instant::now() >= deadline {
            child.kill().unwrap();
            child.wait().unwrap();
            return Err(format!("the command had not ended after {AMPLE:?}"));
        }
        thread::sleep(STEP);
    }
    Ok(())
}
