//! Steal time.

use tactus_model::time::{Instant, Monotonic};

use super::case::{Scene, Stretch};

/// The stretches between two instants in which the host took `cpu` away, in order.
///
/// The wall time of a slice minus the time charged for it gives the steal time between
/// two charges (`sched_stat_runtime`), but not its position. A CPU that the host took
/// away has no events, so the steal time is placed at the end of the longest silence
/// between the two charges, up to the length of that silence. (Measured: 14.2 and 7.0
/// ms were found where /proc/stat counted one tick of 10 ms each. Single short slices
/// give negative values, so only large residuals count.)
pub(super) fn stretches(
    scene: &Scene<'_>,
    cpu: u32,
    from: Instant<Monotonic>,
    to: Instant<Monotonic>,
) -> Vec<Stretch> {
    let mut stretches: Vec<Stretch> = Vec::new();
    let steals = scene.log.since(from).steals(cpu).iter();
    for steal in steals.take_while(|steal| steal.from < to) {
        let silences = scene.log.since(steal.from).silences(cpu).iter();
        let longest = silences
            .take_while(|silence| silence.from < steal.to)
            .map(|silence| (silence.from.max(steal.from), silence.to.min(steal.to)))
            .max_by_key(|(start, end)| *end - *start);
        let Some((start, end)) = longest.filter(|(start, end)| end > start) else { continue };
        let length = steal.amount.min(end - start);
        stretches.push((end - length, end));
    }
    stretches.sort_unstable();
    stretches
}
