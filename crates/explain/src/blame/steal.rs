//! Time that the host gave to others.

use tactus_model::time::{Instant, Monotonic};

use super::case::{Scene, Stretch};

/// Where the host took `cpu` away between two instants, in order.
///
/// A slice's wall time minus the time charged for it says how much was taken
/// between two charges (`sched_stat_runtime`), not when. A processor that is
/// taken away has no events, so the amount is laid at the end of the longest
/// silence between the two charges, and no more of it than that silence is long.
/// (Measured: 14.2 and 7.0 ms were found where /proc/stat counted one tick of
/// 10 ms each; single short slices come out negative, which is why only large
/// residuals are told.)
pub(super) fn stretches(
    scene: &Scene<'_>,
    cpu: u32,
    from: Instant<Monotonic>,
    to: Instant<Monotonic>,
) -> Vec<Stretch> {
    let mut stretches: Vec<Stretch> = Vec::new();
    let steals = scene.log.steals.iter();
    for steal in steals.filter(|steal| steal.cpu == cpu && steal.to > from && steal.from < to) {
        let silences = scene.log.silences.iter();
        let longest = silences
            .filter(|silence| silence.cpu == cpu)
            .map(|silence| (silence.from.max(steal.from), silence.to.min(steal.to)))
            .max_by_key(|(start, end)| *end - *start);
        let Some((start, end)) = longest.filter(|(start, end)| end > start) else { continue };
        let length = steal.amount.min(end - start);
        stretches.push((Instant::from_nanos(end.as_nanos() - length.as_nanos()), end));
    }
    stretches.sort_unstable();
    stretches
}
