//! A seeded machine with one CPU whose delays are known.
//!
//! A probe sleeps to the points of a grid. Every wakeup is delayed by the cost of the
//! wakeup path and, at random, by one planted disturbance. The simulator records the
//! length and kind of the disturbance.

use tactus_model::recording::{InterruptVector, Softirq};

use crate::support::{PREEMPTED, SLEEPING, Script, TIMER, Thread};

/// What was planted on a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planted {
    Nothing,
    Softirq,
    Device,
    OtherThread,
    KernelSection,
    InterruptsOff,
}

/// A simulated sample: due time and arrival in microseconds, and what was planted.
#[derive(Clone, Copy, Debug)]
pub struct Simulated {
    pub due: u64,
    pub came: u64,
    pub planted: Planted,
    pub length: u64,
}

/// Simulates `count` samples from `seed`.
pub fn simulate(seed: u64, count: u64) -> (Script, Thread, Vec<Simulated>) {
    let mut script = Script::new(1);
    let probe = script.thread("probe", 100, 9);
    let ordinary = script.thread("ordinary", 200, 120);
    let urgent = script.thread("urgent", 300, 4);
    let mut random = Random(seed | 1);
    let mut samples = Vec::new();
    script.switch(1, 0, PREEMPTED, probe);
    for index in 0..count {
        let due = (index + 1) * 10_000;
        let length = 200 + random.below(4000);
        let planted = [
            Planted::Nothing,
            Planted::Softirq,
            Planted::Device,
            Planted::OtherThread,
            Planted::KernelSection,
            Planted::InterruptsOff,
        ][random.below(6) as usize];
        let armed = due - 5000 + random.below(1000);
        let planted_by_urgent = planted == Planted::OtherThread;
        script.arm(armed, 0, TIMER, due, 0);
        script.switch(armed + 2, 0, SLEEPING, if planted_by_urgent { urgent } else { ordinary });
        let mut at = due + 1 + random.below(3);
        match planted {
            Planted::Device => {
                script.irq(due - 10, due + length, 0, 25, "eth0");
                at = due + length + 1;
            }
            Planted::InterruptsOff => {
                at = due + length;
                script.in_chain(&[
                    "asm_sysvec_apic_timer_interrupt",
                    "_raw_spin_unlock_irqrestore",
                    "long_section",
                ]);
            }
            Planted::KernelSection => {
                script.in_chain(&["asm_sysvec_apic_timer_interrupt", "long_section"]);
            }
            _ => {}
        }
        script.timer_wakes(at, 0, probe, !planted_by_urgent);
        at += 6;
        match planted {
            Planted::Softirq => {
                script.softirq_entry(at, 0, Softirq::NET_RX);
                script.vector_entry(at + 50, 0, InterruptVector::Reschedule);
                script.vector_exit(at + 52, 0, InterruptVector::Reschedule);
                at += length;
                script.softirq_exit(at, 0, Softirq::NET_RX);
            }
            Planted::OtherThread | Planted::KernelSection => at += length,
            _ => {}
        }
        let leaves = if planted_by_urgent { SLEEPING } else { PREEMPTED };
        at += 2 + random.below(5);
        script.switch(at, 0, leaves, probe);
        let came = at + 1 + random.below(3);
        samples.push(Simulated { due, came, planted, length });
    }
    (script, probe, samples)
}

/// Numbers from a seed (Marsaglia 2003, *Xorshift RNGs*).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}
