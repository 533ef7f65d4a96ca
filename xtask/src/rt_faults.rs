//! Faults beside a real-time loop, long enough to compare the deadlines.

use std::path::Path;

use anyhow::{Context, bail, ensure};
use tactus_guests::machine::{Accelerator, Machine};
use tactus_model::guest::Guest;
use tactus_model::message::Message;
use tactus_wire::parse;

use crate::cargo::{self, cargo};
use crate::chore_guest::{self, ChoreGuest};

/// Prints how soon hung threads are demoted, and the table of faults, for this many seconds each.
pub(crate) fn run(repository: &Path, seconds: &str) -> anyhow::Result<()> {
    let seconds = number(seconds)?;
    let cargo = |arguments: &[&str], failure| {
        let mut command = cargo(repository);
        command.args(arguments).env("TACTUS_RT_FAULTS", seconds.to_string());
        cargo::run(&mut command, failure)
    };
    let hang = ["bench", "--locked", "-p", "tactus-rt", "--bench", "hang", "--", "100"];
    cargo(&hang, "hung threads were not demoted")?;
    let test = "needs_root_both_sides";
    let table =
        ["test", "--locked", "-p", "tactus-cli", "--test", "rt_faults", test, "--", "--nocapture"];
    cargo(&table, "a fault had an effect that stays; see the table")
}

fn number(seconds: &str) -> anyhow::Result<f64> {
    let seconds: f64 = seconds.parse().context("--seconds is a number")?;
    ensure!(seconds.is_finite() && seconds >= 0.1, "--seconds is at least 0.1");
    Ok(seconds)
}

/// How time passes in the guests, and their CPUs: in deterministic time there can be only one,
/// and faults of CPUs need three.
const GUESTS: [(&str, u32); 2] = [("exact:500", 1), ("wall", 3)];

/// The size of the guest's disk, a swap space: more than its processes may write.
const DISK: usize = 128 << 20;

/// Prints the table of the faults of a whole machine, in guests with this kernel.
pub(crate) fn in_guests(root: &Path, kernel: &str, seconds: &str) -> anyhow::Result<()> {
    let archive = chore_guest::archive(root, "rt_faults")?;
    let disk = swap_space();
    for (time, cpus) in GUESTS {
        let parameter = format!("TACTUS_RT_FAULTS={}", number(seconds)?);
        let joint = if kernel.contains(':') { ',' } else { ':' };
        let kernel = format!("{kernel}{joint}{parameter}").parse()?;
        let guest = Guest { kernel, time: time.parse()? };
        let found = chore_guest::kernel(&guest.kernel.source)?;
        let release = found.release.as_deref().unwrap_or("release unknown");
        println!("{release}, {time}, CPUs: {cpus}, {seconds} s of each");
        let machine = Machine {
            guest: &guest,
            architecture: found.architecture,
            accelerator: Accelerator::Tcg,
            cpus,
            seed: 1,
        };
        let chore = ChoreGuest { disk: Some(&disk), ..ChoreGuest::new(&found, &archive) };
        let mut failed = None;
        chore.boot(&machine, |line| match parse::<String>(line.as_bytes()) {
            Ok(line) => println!("{line}"),
            // The first line has the facts of the machine.
            Err(_) => {
                if let Ok(Message::Failed { reason, .. }) = parse(line.as_bytes()) {
                    failed = Some(reason);
                }
            }
        })?;
        if let Some(reason) = failed {
            bail!("the guest: {reason}");
        }
    }
    Ok(())
}

/// An empty swap space as mkswap(8) makes it, with pages of 4 KiB.
fn swap_space() -> Vec<u8> {
    const PAGE: usize = 4096;
    const SIGNATURE: &[u8] = b"SWAPSPACE2";
    let mut disk = vec![0; DISK];
    let last_page = (DISK / PAGE - 1) as u32;
    disk[1024..1028].copy_from_slice(&1_u32.to_le_bytes());
    disk[1028..1032].copy_from_slice(&last_page.to_le_bytes());
    disk[PAGE - SIGNATURE.len()..PAGE].copy_from_slice(SIGNATURE);
    disk
}
