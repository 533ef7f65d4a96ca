//! A seeded virtual kernel: events without a machine, with known causes.
//!
//! Each CPU has a tick, background threads that share it, a device that interrupts, and
//! a real-time probe that sleeps to the points of a grid. Some wakeups of the probe are
//! disturbed; the result contains the planted causes as well as the events. The same
//! seed gives the same events.
//!
//! ```
//! use tactus_record::simulate::{Plan, simulate};
//!
//! let simulation = simulate(&Plan { seed: 7, ..Plan::default() });
//! assert!(simulation.recording.events.is_sorted_by_key(|event| event.at));
//! for sample in &simulation.samples {
//!     assert!(sample.came > sample.due);
//! }
//! ```

mod cpu;
mod random;

use tactus_model::recording::{About, Dictionary, Recording, ThreadId};
use tactus_model::time::{Instant, Monotonic, Nanos};

use crate::decode::Tracepoint;
use cpu::Cpu;

/// What to simulate.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The seed of the random numbers.
    pub seed: u64,
    /// The number of CPUs.
    pub cpus: u32,
    /// The duration to simulate.
    pub length: Nanos,
    /// The time between two due times of a probe.
    pub interval: Nanos,
    /// The time between two ticks.
    pub tick: Nanos,
    /// Background threads on each CPU; without them the CPU idles.
    pub background: u32,
    /// One in this many wakeups is disturbed.
    pub disturbed_one_in: u64,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            seed: 1,
            cpus: 2,
            length: Nanos::from_secs(1),
            interval: Nanos::from_millis(1),
            tick: Nanos::from_millis(4),
            background: 2,
            disturbed_one_in: 10,
        }
    }
}

/// Why a wakeup was late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Planted {
    /// Nothing but the wakeup path itself.
    Nothing,
    /// A device's handler ran when the wakeup was due.
    DeviceInterrupt,
    /// A softirq ran before the CPU could switch.
    Softirq,
    /// The current thread was in a preemption-off section.
    KernelSection,
    /// A thread of higher priority ran first.
    UrgentThread,
}

/// A wakeup of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimulatedSample {
    /// The probe.
    pub thread: ThreadId,
    /// The CPU.
    pub cpu: u32,
    /// When it was due.
    pub due: Instant<Monotonic>,
    /// When it returned to user mode.
    pub came: Instant<Monotonic>,
    /// What was planted.
    pub planted: Planted,
    /// How long the planted cause delayed it.
    pub length: Nanos,
}

/// Events and their known causes.
#[derive(Clone, Debug)]
pub struct Simulation {
    /// The events: a source of them is [`Recording::reader`].
    pub recording: Recording,
    /// Every wakeup of every probe, in the order of due times.
    pub samples: Vec<SimulatedSample>,
}

/// Simulates `plan`.
pub fn simulate(plan: &Plan) -> Simulation {
    let mut dictionary = Dictionary::new();
    let (mut events, mut samples) = (Vec::new(), Vec::new());
    for cpu in 0..plan.cpus {
        let cpu = Cpu::new(plan, cpu, &mut dictionary);
        let (mut its_events, mut its_samples) = cpu.run();
        events.append(&mut its_events);
        samples.append(&mut its_samples);
    }
    events.sort_by_key(|event| (event.at, event.cpu));
    samples.sort_by_key(|sample| (sample.due, sample.cpu));
    let about = About {
        events: Tracepoint::all().into_iter().map(Tracepoint::name).collect(),
        kernel: Some("simulated".to_owned()),
        ..About::new(Instant::from_nanos(0), (0..plan.cpus).collect())
    };
    let recording = Recording { about, dictionary, events, losses: Vec::new() };
    Simulation { recording, samples }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, HashMap};

    use proptest::prelude::*;
    use tactus_model::recording::EventKind;

    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_events() {
        let plan = Plan { length: Nanos::from_millis(50), ..Plan::default() };
        let (one, other) = (simulate(&plan), simulate(&plan));
        assert_eq!(one.recording.events, other.recording.events);
        assert_eq!(one.samples, other.samples);
        let different = simulate(&Plan { seed: 2, ..plan });
        assert_ne!(one.samples, different.samples);
    }

    #[test]
    fn every_disturbance_is_planted_sooner_or_later() {
        let simulation = simulate(&Plan::default());
        let planted: BTreeSet<Planted> =
            simulation.samples.iter().map(|sample| sample.planted).collect();
        assert_eq!(planted.len(), 5);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn events_are_consistent(seed in any::<u64>(), background in 0_u32..4, cpus in 1_u32..4) {
            let length = Nanos::from_millis(60);
            let plan = Plan { seed, background, cpus, length, ..Plan::default() };
            let simulation = simulate(&plan);
            let mut running = HashMap::new();
            let mut spans: HashMap<u32, i32> = HashMap::new();
            for event in &simulation.recording.events {
                match event.kind {
                    EventKind::Switch { prev, next, .. } => {
                        prop_assert_eq!(event.thread, prev);
                        prop_assert_eq!(*running.get(&event.cpu).unwrap_or(&prev), prev);
                        running.insert(event.cpu, next);
                    }
                    EventKind::VectorEntry(_) | EventKind::SoftirqEntry(_) | EventKind::IrqEntry { .. } => {
                        *spans.entry(event.cpu).or_default() += 1;
                    }
                    EventKind::VectorExit(_) | EventKind::SoftirqExit(_) | EventKind::IrqExit { .. } => {
                        *spans.entry(event.cpu).or_default() -= 1;
                    }
                    _ => {
                        let thread = *running.get(&event.cpu).unwrap_or(&event.thread);
                        prop_assert_eq!(thread, event.thread);
                    }
                }
                prop_assert!((0..=2).contains(spans.get(&event.cpu).unwrap_or(&0)));
            }
            for sample in &simulation.samples {
                prop_assert!(sample.came - sample.due >= sample.length);
            }
        }
    }
}
