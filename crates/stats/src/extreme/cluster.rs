//! Clustering of late wakeups.
//!
//! One disturbance makes several wakeups late, of successive tasks and of several tasks at
//! once. They form one event, represented by its worst wakeup. The data determine where an
//! event ends: the *extremal index* θ, the reciprocal of the mean number of late wakeups per
//! event, is estimated from the times between late wakeups, and the longest fraction θ of those
//! times separates events (C. A. T. Ferro and J. Segers, *Inference for clusters of extreme
//! values*, Journal of the Royal Statistical Society B 65, 2003).

use tactus_model::time::Nanos;

use super::{LateWakeup, TailWindow};

/// A late event: a cluster of wakeups above the threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LateEvent {
    /// The index of its window.
    pub(super) window: usize,
    /// When its worst wakeup was due.
    pub(super) due: Nanos,
    /// The latency of that wakeup.
    pub(super) latency: Nanos,
}

/// The late events above a threshold.
#[derive(Clone, Debug)]
pub(super) struct LateEvents {
    /// In order of windows and times.
    pub(super) events: Vec<LateEvent>,
    /// The number of wakeups above the threshold.
    pub(super) wakeups: usize,
    /// The extremal index, greater than 0 and at most 1.
    pub(super) extremal_index: f64,
}

/// Finds the late events above `threshold`.
pub(super) fn late_events(windows: &[TailWindow], threshold: Nanos) -> LateEvents {
    let late: Vec<Vec<LateWakeup>> = windows
        .iter()
        .map(|window| window.late.iter().copied().filter(|late| late.latency > threshold).collect())
        .collect();
    let gaps: Vec<f64> = windows
        .iter()
        .zip(&late)
        .flat_map(|(window, late)| late.windows(2).map(|pair| gap(window, pair[0], pair[1])))
        .collect();
    let extremal_index = extremal_index(&gaps);
    let within = longest_within(&gaps, extremal_index);
    let mut events: Vec<LateEvent> = Vec::new();
    for (number, (window, late)) in windows.iter().zip(&late).enumerate() {
        let mut before: Option<LateWakeup> = None;
        for &LateWakeup { due, latency } in late {
            let this = LateWakeup { due, latency };
            let same = before.is_some_and(|before| gap(window, before, this) <= within);
            match events.last_mut().filter(|_| same) {
                Some(event) if event.latency < latency => {
                    (event.due, event.latency) = (due, latency)
                }
                Some(_) => {}
                None => events.push(LateEvent { window: number, due, latency }),
            }
            before = Some(this);
        }
    }
    let wakeups = late.iter().map(Vec::len).sum();
    LateEvents { events, wakeups, extremal_index }
}

/// The distance of two late wakeups in wakeups of all tasks; at least one.
fn gap(window: &TailWindow, first: LateWakeup, second: LateWakeup) -> f64 {
    let apart = (second.due - first.due).as_secs_f64() / window.length.as_secs_f64().max(1e-9);
    (apart * window.wakeups as f64).round().max(1.0)
}

/// The intervals estimator of Ferro and Segers (their equation 5); 1 if there are no gaps.
fn extremal_index(gaps: &[f64]) -> f64 {
    let long = gaps.iter().any(|gap| *gap > 2.0);
    let (mut sum, mut squares) = (0.0, 0.0);
    for gap in gaps {
        let (first, second) = if long { (gap - 1.0, gap - 2.0) } else { (*gap, *gap) };
        sum += first;
        squares += first * second;
    }
    let index = 2.0 * sum * sum / (gaps.len() as f64 * squares);
    if index.is_finite() { index.clamp(1e-6, 1.0) } else { 1.0 }
}

/// The longest time between two late wakeups of the same event.
///
/// If equal times lie on both sides of the limit, all of them are within events, as in Ferro
/// and Segers.
fn longest_within(gaps: &[f64], extremal_index: f64) -> f64 {
    let mut longest = gaps.to_vec();
    longest.sort_unstable_by(|a, b| b.total_cmp(a));
    let between = (extremal_index * gaps.len() as f64).floor() as usize;
    longest.get(between).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::{Draw, Process};

    fn window(latencies: &[f64]) -> TailWindow {
        TailWindow::of_samples(
            Nanos::from_millis(latencies.len() as u64),
            latencies.len() as u64,
            (0..).zip(latencies).map(|(nth, latency)| LateWakeup {
                due: Nanos::from_millis(nth),
                latency: Nanos::from_nanos((latency * 1000.0) as u64),
            }),
            Nanos::ZERO,
        )
    }

    fn index_of(process: Process) -> f64 {
        let latencies = process.draw(200_000, &mut Draw::new(4));
        let mut ordered = latencies.clone();
        ordered.sort_unstable_by(f64::total_cmp);
        let threshold = Nanos::from_nanos((ordered[198_000] * 1000.0) as u64);
        late_events(&[window(&latencies)], threshold).extremal_index
    }

    #[test]
    fn the_extremal_index_is_found() {
        let alone = index_of(Process::Pareto(0.1));
        assert!(alone > 0.9, "{alone}");
        let in_a_row = index_of(Process::InARow(0.3, 0.2));
        assert!((0.25..0.36).contains(&in_a_row), "{in_a_row}");
    }

    #[test]
    fn a_burst_is_one_event_represented_by_its_latest_wakeup() {
        let mut latencies = vec![1.0; 10_000];
        for burst in 0..20 {
            for nth in 0..5 {
                latencies[burst * 500 + 37 * (burst % 3) + nth] = 50.0 + (nth % 3) as f64;
            }
        }
        let found = late_events(&[window(&latencies)], Nanos::from_micros(10));
        assert_eq!((found.wakeups, found.events.len()), (100, 20));
        assert!(found.events.iter().all(|event| event.latency == Nanos::from_micros(52)));
    }

    #[test]
    fn an_event_does_not_span_windows() {
        let mut latencies = vec![1.0; 1_000];
        latencies[999] = 90.0;
        latencies[500] = 90.0;
        latencies[0] = 90.0;
        let windows = [window(&latencies), window(&latencies)];
        assert_eq!(late_events(&windows, Nanos::from_micros(10)).events.len(), 6);
    }
}
