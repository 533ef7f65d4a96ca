//! Interrupts: processor vectors by name, softirqs by number.

use std::fmt;

use serde::{Deserialize, Serialize};

crate::text::keywords! {
    /// An interrupt of the processor itself, as the kernel's `irq_vectors` events name them (x86).
    pub enum InterruptVector: "interrupt vector" {
        /// The local timer: expiring timers and the tick.
        LocalTimer = "local_timer",
        /// Another processor asks this one to schedule.
        Reschedule = "reschedule",
        /// Another processor has a function run here.
        CallFunction = "call_function",
        /// The same, asked of this processor alone.
        CallFunctionSingle = "call_function_single",
        /// Work that was put off until interrupts were allowed again.
        IrqWork = "irq_work",
        /// A vector the platform keeps for itself.
        PlatformIpi = "x86_platform_ipi",
        /// An interrupt that nobody claims.
        Spurious = "spurious_apic",
        /// The interrupt controller reports an error.
        Error = "error_apic",
        /// The processor is too hot, or no longer.
        Thermal = "thermal_apic",
        /// A count of corrected errors went over its threshold.
        Threshold = "threshold_apic",
        /// A deferred machine error.
        DeferredError = "deferred_error_apic",
    }
}

/// A softirq by its number (`include/linux/interrupt.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Softirq(pub u8);

impl Softirq {
    /// Timers of jiffies.
    pub const TIMER: Self = Self(1);
    /// Network packets sent.
    pub const NET_TX: Self = Self(2);
    /// Network packets received.
    pub const NET_RX: Self = Self(3);
    /// Completed block requests.
    pub const BLOCK: Self = Self(4);
    /// Balancing of load between processors.
    pub const SCHED: Self = Self(7);
    /// High-resolution timers that may expire in softirq context.
    pub const HRTIMER: Self = Self(8);
    /// Read-copy-update callbacks.
    pub const RCU: Self = Self(9);

    /// The kernel's name, `unknown` for a number it does not have.
    pub const fn name(self) -> &'static str {
        const NAMES: [&str; 10] = [
            "HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER",
            "RCU",
        ];
        if (self.0 as usize) < NAMES.len() { NAMES[self.0 as usize] } else { "unknown" }
    }
}

impl fmt::Display for Softirq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
