//! Whether the kernel charges a thread for interrupts that took its time.

use tactus_model::time::Nanos;

/// Determines from the charges themselves whether they exclude interrupts
/// (`CONFIG_IRQ_TIME_ACCOUNTING`, which a recording does not contain).
///
/// A charge over a stretch with much time in interrupts decides: it excludes either
/// about that time or about nothing. Until there are enough such charges, interrupts
/// count as excluded, so an interrupt is never reported as steal time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Charging {
    /// The number of charges that excluded interrupts minus the number that included
    /// them.
    votes: i32,
}

impl Charging {
    /// The minimum time in interrupts for a decision: well above the microseconds
    /// between the reading of the clock and the event of a charge.
    const DECISIVE: Nanos = Nanos::from_micros(20);

    /// By how many the charges that include interrupts must outnumber the others.
    const MAJORITY: i32 = 16;

    /// Takes a charge that excluded `left_out` from a stretch with `interrupted` time
    /// in interrupts.
    pub(super) fn learn(&mut self, left_out: Nanos, interrupted: Nanos) {
        if interrupted < Self::DECISIVE {
            return;
        }
        let vote = if left_out.saturating_mul(2) >= interrupted { 1 } else { -1 };
        self.votes = (self.votes + vote).clamp(-4 * Self::MAJORITY, 4 * Self::MAJORITY);
    }

    /// Whether charges exclude interrupts.
    pub(super) const fn leaves_out_interrupts(self) -> bool {
        self.votes > -Self::MAJORITY
    }
}
