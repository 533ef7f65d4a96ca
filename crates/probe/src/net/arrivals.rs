//! When the bursts of a window arrived.

use tactus_model::time::{Instant, Nanos, Realtime};

/// The packets that arrived, by burst.
#[derive(Debug)]
pub(super) struct Arrivals {
    packets: u32,
    /// For each burst, its packets so far and the stamp of the last.
    bursts: Vec<(u32, u64)>,
    complete: u64,
}

impl Arrivals {
    /// Expects this many bursts of `packets` packets.
    pub(super) fn new(bursts: u64, packets: u32) -> Self {
        Self { packets, bursts: vec![(0, 0); bursts as usize], complete: 0 }
    }

    /// Adds a packet, which begins with the number of its burst. Others are ignored.
    pub(super) fn add(&mut self, packet: &[u8], stamp: Instant<Realtime>) {
        let Some(number) = packet.first_chunk().copied().map(u64::from_le_bytes) else { return };
        let burst = usize::try_from(number).ok().and_then(|number| self.bursts.get_mut(number));
        let Some((count, last)) = burst else { return };
        *count += 1;
        *last = stamp.as_nanos().max(*last);
        self.complete += u64::from(*count == self.packets);
    }

    /// How many bursts have all their packets.
    pub(super) const fn complete(&self) -> u64 {
        self.complete
    }

    /// The arrival of each burst since `start`; `None` if a packet of it is missing.
    pub(super) fn since(&self, start: u64) -> Vec<Option<Nanos>> {
        let arrival = |(count, last): &(u32, u64)| {
            (*count >= self.packets).then(|| Nanos::from_nanos(last.saturating_sub(start)))
        };
        self.bursts.iter().map(arrival).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_arrives_with_its_last_packet() {
        let mut arrivals = Arrivals::new(2, 2);
        for (burst, stamp) in [(0_u64, 1_030), (1, 1_020), (0, 1_010), (7, 1_000)] {
            arrivals.add(&burst.to_le_bytes(), Instant::from_nanos(stamp));
        }
        arrivals.add(b"short", Instant::from_nanos(0));
        assert_eq!(arrivals.complete(), 1);
        assert_eq!(arrivals.since(1_000), [Some(Nanos::from_nanos(30)), None]);
    }
}
