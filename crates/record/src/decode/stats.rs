//! The statistics of a ring buffer: `per_cpu/cpuN/stats` of tracefs.

/// The kernel's counts for the buffer of one CPU.
///
/// ```
/// use tactus_record::decode::BufferStats;
///
/// let stats: BufferStats = "entries: 3\noverrun: 0\ncommit overrun: 1\nbytes: 99\n\
///     oldest event ts:    12.000001\nnow ts:    13.000000\ndropped events: 4\nread events: 7\n"
///     .parse()
///     .unwrap();
/// assert_eq!((stats.counted(), stats.lost), (15, 5));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BufferStats {
    /// Records that are waiting to be read.
    pub waiting: u64,
    /// Records that were read.
    pub read: u64,
    /// Records that did not fit, or were overwritten before they were read.
    pub lost: u64,
}

/// The statistics lack a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the kernel's buffer statistics have no line `{0}:` with a number")]
pub struct BadStats(pub &'static str);

impl BufferStats {
    /// The number of all records; saturates.
    pub fn counted(&self) -> u64 {
        self.waiting.saturating_add(self.read).saturating_add(self.lost)
    }
}

impl std::str::FromStr for BufferStats {
    type Err = BadStats;

    fn from_str(text: &str) -> Result<Self, BadStats> {
        let number = |name: &'static str| {
            text.lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(':')?.trim().parse().ok())
                .ok_or(BadStats(name))
        };
        let lost: [u64; 3] =
            [number("overrun")?, number("commit overrun")?, number("dropped events")?];
        Ok(Self {
            waiting: number("entries")?,
            read: number("read events")?,
            lost: lost.iter().fold(0, |sum: u64, lost| sum.saturating_add(*lost)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_without_a_line_are_refused() {
        let refused = "entries: 3\noverrun: none\n".parse::<BufferStats>();
        assert_eq!(refused, Err(BadStats("overrun")));
    }

    #[test]
    fn counts_that_no_sum_holds_saturate() {
        let text = ["entries", "overrun", "commit overrun", "dropped events", "read events"]
            .map(|name| format!("{name}: {}\n", u64::MAX));
        let stats: BufferStats = text.concat().parse().unwrap();
        assert_eq!(stats.counted(), u64::MAX);
    }
}
