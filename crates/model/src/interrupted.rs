//! What a timer event interrupts, and the caches that its handler finds.
//!
//! The experiment of Mehnert, Hohmuth and Härtig, *Cost and Benefit of Separate Address Spaces in
//! Real-Time Operating Systems* (RTSS 2002): before each event a program dirties the caches and the
//! TLB, and the event then interrupts it.

use crate::random::SplitMix64;
use crate::text::keywords;
use crate::time::Nanos;

keywords! {
    /// The program that prepares the CPU for each event of a task, and what of it an event
    /// interrupts.
    pub enum Interrupted: "interrupted program" {
        /// No such program: events interrupt what else runs, such as the load.
        None = "none",
        /// An idle CPU: the program sleeps once it has prepared the caches.
        Idle = "idle",
        /// A thread of the task's own process, which computes without memory accesses once it has
        /// prepared the caches.
        Thread = "thread",
        /// The same in a process of its own, so the switch to the task changes the address space.
        Process = "process",
    }
}

impl Default for Interrupted {
    /// The value for plans stored before this setting existed.
    fn default() -> Self {
        Self::None
    }
}

keywords! {
    /// What the program of [`Interrupted`] does to the caches before an event.
    pub enum Dirt: "dirt" {
        /// Nothing. The caches hold what ran before: they are not warm.
        Clean = "clean",
        /// Every line of the second-level cache becomes dirty.
        L2 = "l2",
        /// The same, and the TLB holds no entry of the task.
        Tlb = "tlb",
        /// The same, and every line of the last-level cache becomes dirty.
        L3 = "l3",
        /// One of the four above for each event, at random.
        Random = "random",
    }
}

impl Default for Dirt {
    /// The value for plans stored before this setting existed.
    fn default() -> Self {
        Self::Clean
    }
}

impl Dirt {
    /// The kinds of dirt of an event, the least first.
    pub const OF_EVENTS: [Self; 4] = [Self::Clean, Self::L2, Self::Tlb, Self::L3];

    /// The dirt of the event that is due at `due` after the opening of the window; never
    /// [`Dirt::Random`].
    ///
    /// A random choice depends only on the due time, so it can be repeated from samples. Due times
    /// at random intervals come from the seed of the plan.
    pub const fn of_event(self, due: Nanos) -> Self {
        match self {
            Self::Random => {
                let drawn = SplitMix64::new(due.as_nanos()).below(Self::OF_EVENTS.len() as u64);
                Self::OF_EVENTS[drawn as usize]
            }
            fixed => fixed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_dirt_is_drawn_equally_often() {
        let mut counts = [0; 4];
        for event in 0..40_000 {
            let dirt = Dirt::Random.of_event(Nanos::from_nanos(8_000_123 * event));
            counts[Dirt::OF_EVENTS.iter().position(|known| *known == dirt).unwrap()] += 1;
        }
        assert!(counts.iter().all(|count| (9_500..10_500).contains(count)), "{counts:?}");
    }

    #[test]
    fn fixed_dirt_is_that_of_every_event() {
        assert_eq!(Dirt::Tlb.of_event(Nanos::from_millis(3)), Dirt::Tlb);
    }
}
