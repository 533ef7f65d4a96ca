//! The limits of the work that a test does.

use tactus_model::time::Nanos;

/// The longest window that a test examines: 13 days. With durations of at most
/// [`LONGEST`](crate::LONGEST), the demand of a task in such a window is below 2⁵² ns, so sums over
/// a thousand tasks are exact.
pub const WINDOW_LIMIT: Nanos = Nanos::from_nanos(1 << 50);

/// How much work a test may still do.
///
/// The exact tests take time in proportion to the durations, not to the number of tasks, and close
/// to full utilisation that time has no useful limit. A test that runs out of steps is undecided.
/// A step is the demand of one task at one instant, a few nanoseconds.
#[derive(Clone, Debug)]
pub struct Steps(u64);

/// There are no steps left, or the window is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OutOfSteps;

impl Steps {
    /// Enough for a plan of 256 tasks up to about 99 % of the CPU; a fraction of a second.
    pub const USUAL: u64 = 10_000_000;

    /// At most `count` steps.
    pub const fn limited(count: u64) -> Self {
        Self(count)
    }

    /// Takes `count` steps.
    pub(crate) fn take(&mut self, count: usize) -> Result<(), OutOfSteps> {
        self.0 = self.0.checked_sub(count as u64).ok_or(OutOfSteps)?;
        Ok(())
    }
}

impl Default for Steps {
    fn default() -> Self {
        Self(Self::USUAL)
    }
}
