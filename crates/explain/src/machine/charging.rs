//! Whether the kernel charges a thread for interrupts that took its time.

use tactus_model::time::Nanos;

/// Finds out from the charges themselves whether interrupts are left out of
/// them (`CONFIG_IRQ_TIME_ACCOUNTING`, which a recording does not tell).
///
/// A charge over a stretch with much time in interrupts decides: what it leaves
/// out is either about that time or about nothing. Until enough have been
/// seen, interrupts are taken to be left out, so that no interrupt is ever
/// called steal.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Charging {
    /// Charges that left interrupts out, less those that did not.
    votes: i32,
}

impl Charging {
    /// The least time in interrupts that decides: well above the microseconds by
    /// which a charge's event comes after the clock was read.
    const DECISIVE: Nanos = Nanos::from_micros(20);

    /// How many more charges must include interrupts than leave them out.
    const MAJORITY: i32 = 16;

    /// Takes a charge that left out `left_out` of a stretch in which interrupts
    /// took `interrupted`.
    pub(super) fn learn(&mut self, left_out: Nanos, interrupted: Nanos) {
        if interrupted < Self::DECISIVE {
            return;
        }
        let vote = if left_out.saturating_mul(2) >= interrupted { 1 } else { -1 };
        self.votes = (self.votes + vote).clamp(-4 * Self::MAJORITY, 4 * Self::MAJORITY);
    }

    /// Whether charges leave interrupts out.
    pub(super) const fn leaves_out_interrupts(self) -> bool {
        self.votes > -Self::MAJORITY
    }
}
