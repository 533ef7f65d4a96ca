//! What the samples of a cell are, in words.

use crate::cell::Cell;
use crate::probe::ProbeKind;

/// What a sample is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleKind {
    /// A task that wakes at a due time; its latency is its lateness.
    Wakeup,
    /// An interrupt that is due at a time; its latency is its lateness.
    Interrupt,
    /// A frame that a player shows; its latency is its lateness.
    Frame,
    /// A sort, which waits for nothing; its latency is its duration.
    Sort,
    /// An operation, or several of a cheap one; its latency is its duration.
    Operation,
    /// A burst of packets; its latency is the lateness of its last packet at the receiver.
    Burst,
    /// A message that a receiver gets; its latency is its lateness there.
    Message,
    /// A pause of a loop that only reads the clock; its latency is its duration.
    Gap,
    /// A value of a log that does not say what was measured, or of cells that differ in it.
    Value,
}

impl SampleKind {
    /// The kind of a cell's samples.
    pub fn of(cell: &Cell) -> Self {
        match (&cell.imported, cell.probe.kind()) {
            (None, ProbeKind::Timer) => Self::Wakeup,
            (None, ProbeKind::Frames) => Self::Frame,
            (None, ProbeKind::Sort) => Self::Sort,
            (None, ProbeKind::Net) => Self::Burst,
            (None, ProbeKind::Cost) => Self::Operation,
            (None, ProbeKind::Midi) => Self::Message,
            (Some(imported), _) => match imported.measured.as_str() {
                "timer" | "timerlat-thread" | "timerlat-user" => Self::Wakeup,
                "timerlat-irq" => Self::Interrupt,
                "oslat-gap" => Self::Gap,
                _ => Self::Value,
            },
        }
    }

    /// The kind of the samples of all these cells; [`Self::Value`] if they differ.
    pub fn of_all<'c>(cells: impl IntoIterator<Item = &'c Cell>) -> Self {
        let same = |a: Self, b: Self| if a == b { a } else { Self::Value };
        cells.into_iter().map(Self::of).reduce(same).unwrap_or(Self::Wakeup)
    }

    /// One sample: `wakeup`.
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Wakeup => "wakeup",
            Self::Interrupt => "interrupt",
            Self::Frame => "frame",
            Self::Sort => "sort",
            Self::Operation => "sample",
            Self::Burst => "burst",
            Self::Message => "message",
            Self::Gap => "gap",
            Self::Value => "value",
        }
    }

    /// What the latency of a sample is: `wakeup latency`.
    pub const fn quantity(self) -> &'static str {
        match self {
            Self::Wakeup => "wakeup latency",
            Self::Interrupt => "interrupt latency",
            Self::Frame => "frame latency",
            Self::Sort => "sort time",
            Self::Operation => "duration of a sample",
            Self::Burst => "delivery",
            Self::Message => "message latency",
            Self::Gap => "gap length",
            Self::Value => "latency",
        }
    }

    /// Whether a sample has a due time that it can miss.
    pub const fn is_due(self) -> bool {
        matches!(self, Self::Wakeup | Self::Interrupt | Self::Frame | Self::Burst | Self::Message)
    }

    /// The latency of one sample as the end of a sentence: `was 3 ms late`, `took 3 ms`.
    pub fn was(self, latency: &str) -> String {
        match self {
            Self::Wakeup | Self::Interrupt | Self::Frame | Self::Message => {
                format!("was {latency} late")
            }
            Self::Burst | Self::Sort | Self::Operation => format!("took {latency}"),
            Self::Gap => format!("lasted {latency}"),
            Self::Value => format!("was {latency}"),
        }
    }

    /// The same for several samples: `were at most 3 ms late`, `took at most 3 ms`.
    pub fn were(self, latency: &str) -> String {
        let one = self.was(latency);
        one.strip_prefix("was").map_or(one.clone(), |rest| format!("were{rest}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_latency_is_named_by_what_was_measured() {
        let check = |measured: &str, one: &str, several: &str| {
            let kind = SampleKind::of(&Cell::imported(measured));
            assert_eq!(format!("{} {}", kind.noun(), kind.was("1 ms")), one);
            assert_eq!(format!("{}s {}", kind.noun(), kind.were("at most 1 ms")), several);
        };
        check("timer", "wakeup was 1 ms late", "wakeups were at most 1 ms late");
        check("oslat-gap", "gap lasted 1 ms", "gaps lasted at most 1 ms");
        check("values of read", "value was 1 ms", "values were at most 1 ms");
        let operation = SampleKind::Operation;
        assert_eq!(format!("{} {}", operation.noun(), operation.was("1 ms")), "sample took 1 ms");
        let [thread, irq] = ["timerlat-thread", "timerlat-irq"].map(Cell::imported);
        assert_eq!(SampleKind::of_all([&irq]), SampleKind::Interrupt);
        assert_eq!(SampleKind::of_all([&irq, &thread]), SampleKind::Value);
    }
}
