//! Interrupts: CPU vectors by name, softirqs by number.

use std::fmt;

use serde::{Deserialize, Serialize};

crate::text::keywords! {
    /// A CPU interrupt vector, named as in the kernel's `irq_vectors` events (x86).
    pub enum InterruptVector: "interrupt vector" {
        /// The local timer: expired timers and the tick.
        LocalTimer = "local_timer",
        /// Another CPU requests a reschedule.
        Reschedule = "reschedule",
        /// Another CPU requests a function call.
        CallFunction = "call_function",
        /// The same, requested of this CPU only.
        CallFunctionSingle = "call_function_single",
        /// Work deferred until interrupts were enabled again.
        IrqWork = "irq_work",
        /// A vector reserved for the platform.
        PlatformIpi = "x86_platform_ipi",
        /// A spurious interrupt.
        Spurious = "spurious_apic",
        /// The interrupt controller reports an error.
        Error = "error_apic",
        /// The CPU is too hot, or has cooled down again.
        Thermal = "thermal_apic",
        /// The count of corrected errors exceeded its threshold.
        Threshold = "threshold_apic",
        /// A deferred machine error.
        DeferredError = "deferred_error_apic",
    }
}

/// A softirq, identified by its number (`include/linux/interrupt.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Softirq(pub u8);

impl Softirq {
    /// Jiffies timers.
    pub const TIMER: Self = Self(1);
    /// Network transmission.
    pub const NET_TX: Self = Self(2);
    /// Network reception.
    pub const NET_RX: Self = Self(3);
    /// Completion of block requests.
    pub const BLOCK: Self = Self(4);
    /// Load balancing between CPUs.
    pub const SCHED: Self = Self(7);
    /// High-resolution timers that expire in softirq context.
    pub const HRTIMER: Self = Self(8);
    /// RCU callbacks.
    pub const RCU: Self = Self(9);

    /// The kernel's name, `unknown` for an undefined number.
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
