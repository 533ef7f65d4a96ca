//! What the machine did beside a measurement.

use std::fs;

use anyhow::Context;

/// The machine since the beginning of a measurement.
pub(crate) struct Conditions {
    steal: u64,
}

impl Conditions {
    /// Begins to count.
    pub(crate) fn begin() -> anyhow::Result<Self> {
        Ok(Self { steal: steal_ticks()? })
    }

    /// The load average now, and the steal time since the beginning.
    pub(crate) fn text(&self) -> anyhow::Result<String> {
        let load = fs::read_to_string("/proc/loadavg")?;
        let load = load.split(' ').next().unwrap_or_default();
        Ok(format!("load average {load}, steal time {} ticks", steal_ticks()? - self.steal))
    }

    /// Prints [`Self::text`].
    pub(crate) fn print(&self) -> anyhow::Result<()> {
        println!("{}", self.text()?);
        Ok(())
    }
}

/// Steal time of all CPUs since boot, in ticks of 10 ms.
fn steal_ticks() -> anyhow::Result<u64> {
    let stat = fs::read_to_string("/proc/stat")?;
    let steal = stat.split_whitespace().nth(8).context("/proc/stat has no steal")?;
    Ok(steal.parse()?)
}
