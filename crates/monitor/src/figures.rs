//! The figures of a cell while it is measured.

use serde::Serialize;
use tactus_model::live::Batch;
use tactus_model::result::Accounting;
use tactus_model::sample::Sample;
use tactus_model::time::Nanos;
use tactus_stats::LatencyHistogram;

/// Latencies in a few figures, each `None` without wakeups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LatencyFigures {
    /// The least.
    pub min: Option<Nanos>,
    /// The median.
    pub median: Option<Nanos>,
    /// The 99th percentile.
    pub p99: Option<Nanos>,
    /// The 99.9th percentile.
    #[serde(rename = "p99.9")]
    pub p999: Option<Nanos>,
    /// The greatest.
    pub max: Option<Nanos>,
}

impl LatencyFigures {
    /// Summarises a histogram.
    pub fn of(latencies: &LatencyHistogram) -> Self {
        Self {
            min: latencies.min(),
            median: latencies.quantile(0.5),
            p99: latencies.quantile(0.99),
            p999: latencies.quantile(0.999),
            max: latencies.max(),
        }
    }
}

/// The longest latency or interarrival time, and its task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Worst {
    /// Its duration.
    pub length: Nanos,
    /// The task's number.
    pub task: u32,
    /// When the wakeup came, since the window opened.
    pub came: Nanos,
}

/// The figures of a period, all tasks together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StretchFigures {
    /// The outcome of every due time.
    #[serde(flatten)]
    pub accounting: Accounting,
    /// Latencies of the observed wakeups.
    pub latency: LatencyFigures,
    /// The wakeup with the greatest latency.
    pub latest: Option<Worst>,
    /// The longest time from one arrival of a task to its next.
    pub longest_interarrival: Option<Worst>,
}

/// A period in progress.
#[derive(Clone, Debug, Default)]
struct Stretch {
    accounting: Accounting,
    latencies: LatencyHistogram,
    latest: Option<Worst>,
    longest_interarrival: Option<Worst>,
}

impl Stretch {
    fn count(&mut self, batch: &Batch) {
        self.accounting += Accounting {
            intended: batch.intended(),
            observed: batch.samples.len() as u64,
            missed: batch.missed.len() as u64 + batch.missed_unsampled,
            dropped: batch.dropped,
            early: 0,
        };
    }

    fn wakeup(&mut self, task: u32, sample: Sample, apart: Option<Nanos>) {
        let latency = sample.latency();
        self.accounting.early += u64::from(sample.came < sample.due);
        self.latencies.record(latency);
        let of = |length| Worst { length, task, came: sample.came };
        worse(&mut self.latest, of(latency));
        if let Some(apart) = apart {
            worse(&mut self.longest_interarrival, of(apart));
        }
    }

    fn figures(&self) -> StretchFigures {
        StretchFigures {
            accounting: self.accounting,
            latency: LatencyFigures::of(&self.latencies),
            latest: self.latest,
            longest_interarrival: self.longest_interarrival,
        }
    }
}

fn worse(kept: &mut Option<Worst>, other: Worst) {
    if kept.is_none_or(|kept| other.length > kept.length) {
        *kept = Some(other);
    }
}

/// The figures of a cell while it is measured: since the start, and of the second in
/// progress.
#[derive(Clone, Debug, Default)]
pub struct LiveFigures {
    whole: Stretch,
    second: Stretch,
    /// Latencies of missed due times, which the intended-schedule rule adds.
    missed: LatencyHistogram,
    /// The last arrival of each task, by task number.
    came: Vec<Option<Nanos>>,
}

impl LiveFigures {
    /// Starts without samples.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a task's samples. Calls `arrival` with each arrival and the time since the
    /// previous one.
    pub fn take(&mut self, batch: &Batch, mut arrival: impl FnMut(Sample, Nanos)) {
        let place = batch.task as usize;
        if self.came.len() <= place {
            self.came.resize(place + 1, None);
        }
        self.whole.count(batch);
        self.second.count(batch);
        batch.missed.iter().for_each(|missed| self.missed.record(missed.latency()));
        for &sample in &batch.samples {
            let last = self.came[place].replace(sample.came);
            let apart = last.map(|last| sample.came - last);
            self.whole.wakeup(batch.task, sample, apart);
            self.second.wakeup(batch.task, sample, apart);
            if let Some(apart) = apart {
                arrival(sample, apart);
            }
        }
    }

    /// Ends the second and returns its figures.
    pub fn end_second(&mut self) -> StretchFigures {
        let figures = self.second.figures();
        self.second.accounting = Accounting::default();
        self.second.latencies.clear();
        (self.second.latest, self.second.longest_interarrival) = (None, None);
        figures
    }

    /// The figures since the start.
    pub fn whole(&self) -> StretchFigures {
        self.whole.figures()
    }

    /// The latencies since the start, per wakeup.
    pub fn latencies(&self) -> &LatencyHistogram {
        &self.whole.latencies
    }

    /// The latencies since the start by the intended schedule, including missed due times.
    /// `None` without missed due times.
    pub fn intended_latencies(&self) -> Option<LatencyHistogram> {
        if self.missed.is_empty() {
            return None;
        }
        let mut all = self.whole.latencies.clone();
        all.merge(&self.missed);
        Some(all)
    }

    /// Resets all figures, but keeps the last arrival of each task.
    pub fn reset(&mut self) {
        let came = std::mem::take(&mut self.came);
        *self = Self { came, ..Self::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(due: u64, came: u64) -> Sample {
        Sample { due: Nanos::from_micros(due), came: Nanos::from_micros(came) }
    }

    fn batch(samples: &[Sample], missed: &[Sample]) -> Batch {
        Batch { samples: samples.to_vec(), missed: missed.to_vec(), ..Batch::default() }
    }

    #[test]
    fn ending_a_second_keeps_the_total() {
        let mut figures = LiveFigures::new();
        let mut apart = Vec::new();
        let first = batch(&[sample(0, 5), sample(1_000, 3_500)], &[sample(2_000, 3_500)]);
        figures.take(&first, |_, length| apart.push(length));
        let second = figures.end_second();
        assert_eq!(second.accounting.intended, 3);
        assert!(second.accounting.balances());
        assert_eq!(second.latest.unwrap().length, Nanos::from_micros(2_500));
        figures.take(&batch(&[sample(4_000, 4_010)], &[]), |_, length| apart.push(length));
        assert_eq!(figures.end_second().latency.max, Some(Nanos::from_micros(10)));
        assert_eq!(figures.whole().latency.max, Some(Nanos::from_micros(2_500)));
        assert_eq!(apart, [Nanos::from_micros(3_495), Nanos::from_micros(510)]);
        assert_eq!(figures.end_second(), StretchFigures::default());
        assert_eq!(figures.intended_latencies().unwrap().count(), 4);
    }

    #[test]
    fn a_reset_keeps_the_last_arrival() {
        let mut figures = LiveFigures::new();
        figures.take(&batch(&[sample(0, 7)], &[]), |_, _| {});
        figures.reset();
        assert_eq!(figures.whole(), StretchFigures::default());
        let mut apart = None;
        figures.take(&batch(&[sample(1_000, 1_001)], &[]), |_, length| apart = Some(length));
        assert_eq!(apart, Some(Nanos::from_micros(994)));
    }
}
