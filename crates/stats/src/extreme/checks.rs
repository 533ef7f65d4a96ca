//! The diagnostics: whether late events satisfy the assumptions of the method.

use statrs::function::erf::erfc;
use statrs::function::gamma::gamma_ur;

use super::cluster::LateEvent;
use super::{Candidate, SIGNIFICANCE, TailWindow};

/// The minimum expected number of events per part, so that their number is approximately
/// normally distributed.
const EXPECTED_IN_PART: usize = 5;
/// The maximum number of parts; more parts would each contain less information.
const MOST_PARTS: usize = 20;

/// The shape above a higher threshold, if the shape at a lower threshold differs from it
/// significantly.
///
/// The lower threshold's events include those of the higher threshold, so the variance of the
/// difference is the difference of the variances (J. A. Hausman, *Specification tests in
/// econometrics*, Econometrica 46, 1978).
pub(super) fn changes_of_shape(higher: &[Candidate], lower: &Candidate) -> Option<f64> {
    // The significance level is divided among the comparisons.
    let allowed = SIGNIFICANCE / higher.len() as f64;
    higher.iter().map(|higher| (higher.tail, higher.events.len())).find_map(|(tail, events)| {
        let variance = |count| lower.tail.shape_error(count).powi(2);
        let error = (variance(events) - variance(lower.events.len())).max(0.0).sqrt();
        let normal = (tail.shape - lower.tail.shape).abs() / error.max(1e-9);
        (erfc(normal / std::f64::consts::SQRT_2) < allowed).then_some(tail.shape)
    })
}

/// The p-value for dependence of successive spacings between events.
pub(super) fn spacings(events: &[LateEvent]) -> f64 {
    let same_window = |pair: &&[LateEvent]| pair[0].window == pair[1].window;
    let gaps: Vec<(usize, f64)> = events
        .windows(2)
        .filter(same_window)
        .map(|pair| (pair[0].window, (pair[1].due - pair[0].due).as_nanos() as f64))
        .collect();
    chance_of_order(&gaps)
}

/// The p-value for dependence of the latencies of successive events.
pub(super) fn sizes(events: &[LateEvent]) -> f64 {
    let sizes: Vec<(usize, f64)> =
        events.iter().map(|event| (event.window, event.latency.as_nanos() as f64)).collect();
    chance_of_order(&sizes)
}

/// The p-value for correlation of values with their predecessors in the same window, by ranks
/// (C. Spearman, *The proof and measurement of association between two things*, 1904).
///
/// One-sided, for positive correlation: values that alternate more than by chance make no
/// return level too low.
fn chance_of_order(values: &[(usize, f64)]) -> f64 {
    let pairs: Vec<(f64, f64)> = values
        .windows(2)
        .filter(|pair| pair[0].0 == pair[1].0)
        .map(|pair| (pair[0].1, pair[1].1))
        .collect();
    if pairs.len() < 2 * EXPECTED_IN_PART {
        return 1.0;
    }
    let first = ranks(&pairs.iter().map(|pair| pair.0).collect::<Vec<_>>());
    let second = ranks(&pairs.iter().map(|pair| pair.1).collect::<Vec<_>>());
    let normal = correlation(&first, &second) * (pairs.len() as f64 - 1.0).sqrt();
    erfc(normal / std::f64::consts::SQRT_2) / 2.0
}

/// Ranks in ascending order, counted from 1; equal values share their mean rank.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut before = 0.0;
    for equal in order.chunk_by(|a, b| values[*a].total_cmp(&values[*b]).is_eq()) {
        let count = equal.len() as f64;
        equal.iter().for_each(|place| ranks[*place] = before + f64::midpoint(count, 1.0));
        before += count;
    }
    ranks
}

fn correlation(first: &[f64], second: &[f64]) -> f64 {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (mean_first, mean_second) = (mean(first), mean(second));
    let (mut both, mut one, mut other) = (0.0, 0.0, 0.0);
    for (a, b) in first.iter().zip(second) {
        both += (a - mean_first) * (b - mean_second);
        one += (a - mean_first).powi(2);
        other += (b - mean_second).powi(2);
    }
    both / (one * other).sqrt().max(f64::MIN_POSITIVE)
}

/// The measurement cut into parts: groups of windows, or pieces of windows if there are few.
pub(super) struct Parts {
    /// The duration of each part and the latencies of its events.
    parts: Vec<(f64, Vec<f64>)>,
}

impl Parts {
    /// Cuts the time of all windows, one after the other, into parts with enough expected events
    /// each; the cuts are between windows if there are many.
    pub(super) fn of(windows: &[TailWindow], events: &[LateEvent]) -> Self {
        let lengths: Vec<f64> = windows.iter().map(|window| window.length.as_secs_f64()).collect();
        let whole: f64 = lengths.iter().sum();
        let opened: Vec<f64> = lengths
            .iter()
            .scan(0.0, |sum, length| {
                *sum += length;
                Some(*sum - length)
            })
            .collect();
        let wanted = (events.len() / EXPECTED_IN_PART).clamp(1, MOST_PARTS);
        let equal = || (1..wanted).map(|nth| whole * nth as f64 / wanted as f64).collect();
        let mut cuts: Vec<f64> = if windows.len() >= wanted {
            let by_windows = windows.len() as f64 / wanted as f64;
            (1..wanted).map(|nth| opened[(nth as f64 * by_windows) as usize]).collect()
        } else if windows.len() >= 4 {
            opened[1..].to_vec()
        } else {
            equal()
        };
        cuts.push(f64::INFINITY);
        let mut parts: Vec<(f64, Vec<f64>)> = Vec::with_capacity(cuts.len());
        let mut began = 0.0;
        for cut in &cuts {
            let end = cut.min(whole);
            parts.push((end - began, Vec::new()));
            began = end;
        }
        for event in events {
            let at = opened[event.window] + event.due.as_secs_f64().min(lengths[event.window]);
            // An event at the end of a window belongs to that window.
            let at = at.min(opened[event.window] + lengths[event.window] * (1.0 - 1e-12));
            let part = cuts.partition_point(|cut| *cut <= at).min(parts.len() - 1);
            parts[part].1.push(event.latency.as_nanos() as f64);
        }
        Self { parts }
    }

    /// The p-value for a difference in the event rates of the parts: the index of dispersion
    /// (R. A. Fisher, *The significance of deviations from expectation in a Poisson series*,
    /// Biometrics 6, 1950).
    pub(super) fn rates(&self) -> f64 {
        let whole: f64 = self.parts.iter().map(|(length, _)| length).sum();
        let events: usize = self.parts.iter().map(|(_, latencies)| latencies.len()).sum();
        let dispersion: f64 = self
            .parts
            .iter()
            .map(|(length, latencies)| {
                let expected = events as f64 * length / whole;
                (latencies.len() as f64 - expected).powi(2) / expected.max(f64::MIN_POSITIVE)
            })
            .sum();
        chance_beyond(dispersion, self.parts.len() - 1)
    }

    /// The p-value for a difference in the latency distributions of the parts, by ranks (W. H.
    /// Kruskal and W. A. Wallis, *Use of ranks in one-criterion variance analysis*, 1952).
    pub(super) fn levels(&self) -> f64 {
        let all: Vec<f64> =
            self.parts.iter().flat_map(|(_, latencies)| latencies).copied().collect();
        let count = all.len() as f64;
        let ranks = ranks(&all);
        let (mut start, mut groups, mut statistic) = (0, 0_usize, 0.0);
        for (_, latencies) in self.parts.iter().filter(|(_, latencies)| !latencies.is_empty()) {
            let sum: f64 = ranks[start..start + latencies.len()].iter().sum();
            statistic += sum * sum / latencies.len() as f64;
            start += latencies.len();
            groups += 1;
        }
        let statistic = 12.0 / (count * (count + 1.0)) * statistic - 3.0 * (count + 1.0);
        chance_beyond(statistic, groups.saturating_sub(1))
    }
}

/// The probability that a χ² variable with this many degrees of freedom exceeds `statistic`.
fn chance_beyond(statistic: f64, freedom: usize) -> f64 {
    if freedom == 0 || statistic <= 0.0 {
        return 1.0;
    }
    gamma_ur(freedom as f64 / 2.0, statistic / 2.0)
}

#[cfg(test)]
mod tests {
    use tactus_model::time::Nanos;

    use super::*;
    use crate::simulate::Draw;

    fn event(due: f64, latency: f64) -> LateEvent {
        let nanos = |seconds: f64| Nanos::from_nanos((seconds * 1e9) as u64);
        LateEvent { window: 0, due: nanos(due), latency: nanos(latency) }
    }

    fn events(rate: impl Fn(f64) -> f64, size: impl Fn(f64) -> f64) -> Vec<LateEvent> {
        let mut draw = Draw::new(3);
        let mut at = 0.0;
        std::iter::from_fn(|| {
            at -= draw.uniform().ln() / rate(at);
            Some(event(at, size(at) * -draw.uniform().ln()))
        })
        .take_while(|event| event.due < Nanos::from_secs(100))
        .collect()
    }

    fn parts(events: &[LateEvent]) -> Parts {
        let window = TailWindow::of_samples(Nanos::from_secs(100), 100_000, [], Nanos::ZERO);
        Parts::of(&[window], events)
    }

    #[test]
    fn independent_events_pass() {
        let events = events(|_| 3.0, |_| 1e-4);
        let chances =
            [spacings(&events), sizes(&events), parts(&events).rates(), parts(&events).levels()];
        assert!(chances.iter().all(|chance| *chance > SIGNIFICANCE), "{chances:?}");
    }

    #[test]
    fn each_planted_fault_fails_its_check() {
        let busier = events(|at| if at < 50.0 { 2.0 } else { 5.0 }, |_| 1e-4);
        assert!(parts(&busier).rates() < SIGNIFICANCE);
        let later = events(|_| 3.0, |at| if at < 50.0 { 1e-4 } else { 3e-4 });
        assert!(parts(&later).levels() < SIGNIFICANCE);
        let waves = events(|at| 3.0 + 2.9 * at.sin(), |_| 1e-4);
        assert!(spacings(&waves) < SIGNIFICANCE);
        let drifting = events(|_| 3.0, |at| 1e-4 * (1.0 + 0.9 * at.sin()));
        assert!(sizes(&drifting) < SIGNIFICANCE);
    }

    #[test]
    fn equal_values_share_their_rank() {
        assert_eq!(ranks(&[5.0, 1.0, 5.0, 9.0]), [2.5, 1.0, 2.5, 4.0]);
    }
}
