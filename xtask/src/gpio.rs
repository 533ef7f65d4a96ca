//! Edges of a simulated GPIO line that wake an event thread, in a guest.
//!
//! The guest runs the example `gpio` of `tactus-guest`, on a kernel that has the simulated chip.
//! In deterministic time, lateness is the path of the kernel from the interrupt to the job.

use std::path::Path;

use anyhow::{Context, bail, ensure};
use serde::Deserialize;
use tactus_model::guest::Guest;
use tactus_model::message::Message;

/// A kernel with the simulated chip, which `tactus lab kernels` builds.
const KERNEL: &str = "built+CONFIGFS_FS=y+GPIOLIB=y+GPIO_CDEV=y+GPIO_SIM=y";

/// The edges of the guest: those that were served one by one, and a burst during one job.
const EDGES: u64 = 1000 + 200;

/// The edges that the kernel keeps until they are read, and the one whose job lasts.
const SERVED_LEAST: u64 = 1000 + 64 + 1;

/// What became of the edges.
#[derive(Deserialize)]
struct Served {
    run: u64,
    missed: u64,
    rising: u64,
    lateness_p50: u64,
    lateness_max: u64,
}

/// Boots the guest, checks that every edge was served or counted, and prints the figures.
pub(crate) fn check(root: &Path, kernel: Option<&str>) -> anyhow::Result<()> {
    let name = kernel.unwrap_or(KERNEL);
    let guest = Guest { kernel: name.parse()?, time: "exact".parse()? };
    let booted = crate::chore_guest::twice(root, "gpio", &guest, "");
    let (found, lines) = booted.with_context(|| format!("fix: tactus lab kernels {name}"))?;
    let last = lines.last().context("the guest sent nothing")?;
    if let Ok(Message::Failed { reason, .. }) = serde_json::from_str(last) {
        bail!("the guest: {reason}");
    }
    let served: Served = serde_json::from_str(last)?;
    let Served { run, missed, rising, lateness_p50, lateness_max } = served;
    println!("{} (sha256 {:.12}), exact", found.release.as_deref().unwrap_or(name), found.sha256);
    println!("{run} edges were served and {missed} counted as lost; {rising} of 1000 were rising");
    println!("from the interrupt to the job: median {lateness_p50} ns, worst {lateness_max} ns");
    ensure!(run + missed == EDGES, "{} edges are missing", EDGES - run - missed);
    ensure!(rising == 500 && run >= SERVED_LEAST, "edges were lost that the kernel keeps");
    Ok(())
}
