//! Clicks at given positions of a sound device, played and captured in a guest.
//!
//! The guest runs the example `alsa` of `tactus-guest`, on a kernel with a card that captures what it
//! plays.

use std::path::Path;

use anyhow::{Context, bail, ensure};
use tactus_guest::chore::{Heard, Request};
use tactus_model::guest::Guest;
use tactus_model::message::Message;

use crate::chore_guest::{self, Files, modules};

/// Debian's kernel, with the loopback as a module. Its device plays for one program.
const KERNEL: &str = "debian";
const MODULE: (&str, &str) = ("snd-aloop", "pcm_substreams=1");

/// Boots the guest, checks that each click was captured where it should be and that the xrun was
/// counted, and prints the figures. Another kernel has the loopback without a module.
pub(crate) fn check(root: &Path, kernel: Option<&str>) -> anyhow::Result<()> {
    let name = kernel.unwrap_or(KERNEL);
    let guest = Guest { kernel: name.parse()?, time: "exact".parse()? };
    let found = chore_guest::kernel(&guest.kernel.source)?;
    let mut files = Files::default();
    let modules = match kernel {
        Some(_) => Vec::new(),
        None => modules::add_to(&mut files, &found, MODULE)?,
    };
    let archive = chore_guest::archive_with(root, "alsa", &files)?;
    let request = serde_json::to_string(&Request { modules, steps: Vec::new() })?;
    let lines = chore_guest::boot_twice(&found, &guest, &archive, &request)?;
    let last = lines.last().context("the guest sent nothing")?;
    if let Ok(Message::Failed { reason, .. }) = serde_json::from_str(last) {
        bail!("the guest: {reason}");
    }
    let heard: Heard = serde_json::from_str(last)?;
    println!("{} (sha256 {:.12}), exact", found.release.as_deref().unwrap_or(name), found.sha256);
    let Heard { device, rate, period, latency, .. } = &heard;
    println!("{device}: {rate} Hz, period {period} frames, latency {latency} frames");
    println!("refused: {}; {}", heard.missing, heard.busy);
    let [xruns, skipped, moves, played, late] = heard.after;
    println!(
        "{} clicks were captured, the first {} µs after its time; {xruns} xruns of {skipped} frames, \
         {moves} jumps, {played} frames played, {late} cut",
        heard.captured[0].len(),
        heard.offset / 1000
    );
    ensure!(heard.before[..3] == [0; 3], "an xrun before the planted one: {:?}", heard.before);
    ensure!(heard.before[3..] == [heard.wanted.len() as u64 - 4, 0], "{:?}", heard.before);
    for captured in &heard.captured {
        ensure!(*captured == heard.wanted, "captured {captured:?}, not {:?}", heard.wanted);
    }
    let period_ns = 1_000_000_000 * u64::from(heard.period) / u64::from(heard.rate);
    ensure!(heard.offset.unsigned_abs() < period_ns, "the clocks of both devices differ");
    ensure!(heard.altered == 0, "{} clicks have another level", heard.altered);
    ensure!(xruns == 1 && skipped > 0 && moves == 0, "the planted xrun was counted {xruns} times");
    let put = heard.wanted.len() as u64 + heard.cut;
    ensure!(late == heard.cut && played + late == put, "{played} played and {late} cut, of {put}");
    Ok(())
}
