//! The figures in docs/lab.md and docs/kernel-ci.md: runs the documented commands, and prints what they print
//! and how long they took.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, ensure};

use crate::cargo;
use crate::conditions::Conditions;

/// The documented commands, without `tactus`, by the headings under which their figures are. `KERNEL` is the kernel of the
/// figures with one build; `--jobs` does not change a figure, only the time.
const COMMANDS: [(&str, &str); 7] = [
    (
        "lab.md, two kinds of time",
        "measure lab --kernel debian-rt --kernel debian-cloud:preempt=none --load process:2 \
         --policy fifo:80 --duration 1s --rounds 1 --seed 7 --exact --mips 125",
    ),
    (
        "lab.md, preemption models",
        "measure lab --exact --mips 125 --seed 1 --rounds 1 --duration 200ms --warmup 20ms --policy other \
         --policy fifo:80 --kernel KERNEL:preempt=none --kernel KERNEL:preempt=voluntary \
         --kernel KERNEL:preempt=full --load idle --load compute:1 --load syscall:1 --load pagefault:1 \
         --load process:2 --load serial:1",
    ),
    (
        "kernel-ci.md, a worse kernel",
        "lab gate --kernel KERNEL:preempt=none --against KERNEL:preempt=full --load process:1 \
         --policy fifo:80 --duration 300ms --seed 1",
    ),
    (
        "kernel-ci.md, a kernel against itself",
        "lab gate --kernel KERNEL:quiet.word=1 --against KERNEL --load process:1 --policy fifo:80 \
         --duration 300ms --seed 2",
    ),
    (
        "kernel-ci.md, a kernel against itself with 20 seeds",
        "lab gate --kernel KERNEL:quiet.word=1 --against KERNEL --load process:1 --policy fifo:80 \
         --duration 300ms --seeds 20 --seed 11",
    ),
    (
        "lab.md, machines side by side: one",
        "lab gate --kernel KERNEL:preempt=none --against KERNEL:preempt=full --load process:1 \
         --policy fifo:80 --duration 300ms --seed 1 --jobs 1",
    ),
    (
        "lab.md, machines side by side: two",
        "lab gate --kernel KERNEL:preempt=none --against KERNEL:preempt=full --load process:1 \
         --policy fifo:80 --duration 300ms --seed 1 --jobs 2",
    ),
];

/// Runs every command whose heading contains `wanted`.
pub(crate) fn measure(root: &Path, kernel: &str, wanted: &str) -> anyhow::Result<()> {
    let tactus = cargo::release(root)?;
    let folder = tempfile::tempdir()?;
    let chosen: Vec<_> = COMMANDS.iter().filter(|(place, _)| place.contains(wanted)).collect();
    ensure!(!chosen.is_empty(), "no figure is called {wanted}");
    for (place, command) in chosen {
        let words = command.split_whitespace().map(|word| word.replace("KERNEL", kernel));
        let (begun, conditions) = (Instant::now(), Conditions::begin()?);
        let output = Command::new(&tactus)
            .args(words)
            .arg("--quiet")
            .env("TACTUS_STORE", folder.path().join("runs.sqlite"))
            .output()
            .context("tactus")?;
        println!("{place}\n$ tactus {command}");
        println!(
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        println!(
            "{:.1} s, {}, {}\n",
            begun.elapsed().as_secs_f64(),
            output.status,
            conditions.text()?
        );
    }
    Ok(())
}
