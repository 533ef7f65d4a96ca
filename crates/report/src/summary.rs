//! What a run found, cell by cell, as tables, the verdict and the page need it.

use tactus_model::cell::Cell;
use tactus_model::policy::Scheduling;
use tactus_model::result::{Accounting, MachineRates, Measurement};
use tactus_model::run::Run;
use tactus_model::time::Nanos;
use tactus_stats::frames::PlayerSummary;
use tactus_stats::{CellSummary, Interval, LatencyHistogram, LoadRate};

use crate::format;

/// A cell of a run with its rounds pooled.
pub(crate) struct CellResult<'r> {
    /// Its index in the plan.
    pub(crate) index: usize,
    /// Its name among the cells of the run.
    pub(crate) label: String,
    /// What was asked for.
    pub(crate) cell: &'r Cell,
    /// Its measurements, a round each; at least one.
    pub(crate) measurements: Vec<&'r Measurement>,
    /// What they say together.
    pub(crate) summary: CellSummary,
}

/// The cells of a run that yielded a result, in the order of the plan.
///
/// Their intervals take some ten milliseconds of computing a cell, so the cells
/// are shared out among the CPUs; the result does not depend on how many there are.
pub(crate) fn cell_results(run: &Run) -> Vec<CellResult<'_>> {
    let labels = run.header.plan.labels();
    let cells: Vec<(usize, &Cell, String)> = run
        .header
        .plan
        .cells
        .iter()
        .zip(labels)
        .enumerate()
        .map(|(index, (cell, label))| (index, cell, label))
        .collect();
    let workers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let share = cells.len().div_ceil(workers).max(1);
    std::thread::scope(|scope| {
        let pooled: Vec<_> = cells
            .chunks(share)
            .map(|cells| {
                scope.spawn(move || {
                    cells.iter().filter_map(|cell| cell_result(run, cell)).collect::<Vec<_>>()
                })
            })
            .collect();
        pooled
            .into_iter()
            .flat_map(|worker| {
                worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
            .collect()
    })
}

fn cell_result<'r>(
    run: &'r Run,
    (index, cell, label): &(usize, &'r Cell, String),
) -> Option<CellResult<'r>> {
    let measurements: Vec<&Measurement> = run.of_cell(*index).collect();
    if measurements.is_empty() {
        return None;
    }
    let summary = CellSummary::pool(&measurements);
    Some(CellResult { index: *index, label: label.clone(), cell, measurements, summary })
}

impl CellResult<'_> {
    /// A latency as exactly as it is known; a dash where there is none.
    pub(crate) fn told(&self, length: Option<Nanos>) -> String {
        match (length, self.summary.precision) {
            (Some(length), Some(precision)) => format::latency_to(length, precision.unit),
            (length, _) => format::latency_or_nothing(length),
        }
    }

    /// Whether it is known how many due times were slept through; it is in all cells of our own.
    pub(crate) fn missed_known(&self) -> bool {
        self.summary.precision.is_none_or(|precision| precision.missed_known)
    }

    /// What became of the wakeups of all rounds.
    pub(crate) fn accounting(&self) -> Accounting {
        self.summary.accounting
    }

    /// What its players came to; `None` of another probe.
    pub(crate) fn players(&self) -> Option<PlayerSummary> {
        PlayerSummary::of(self.cell, self.accounting())
    }

    /// The greatest latency; `None` when nothing was observed.
    pub(crate) fn max(&self) -> Option<Nanos> {
        self.summary.max
    }

    /// The latency that a share of the wakeups did not exceed (*per wakeup*), where there are samples enough.
    pub(crate) fn per_wakeup(&self, share: f64) -> Option<Nanos> {
        self.summary.quantile(share)?.per_wakeup
    }

    /// The latency that a share of the due times did not exceed (*intended schedule*), where there are samples enough.
    pub(crate) fn by_schedule(&self, share: f64) -> Option<Nanos> {
        self.summary.quantile(share)?.by_schedule
    }

    /// The interval of a share's latency per wakeup at 95 % confidence, where there are samples enough.
    pub(crate) fn interval(&self, share: f64) -> Option<Interval> {
        self.summary.quantile(share)?.interval
    }

    /// Whether the two rules of accounting give another p99 as it is written.
    pub(crate) fn schedule_differs(&self) -> bool {
        if !self.missed_known() {
            return false;
        }
        format::latency_or_nothing(self.per_wakeup(0.99))
            != format::latency_or_nothing(self.by_schedule(0.99))
    }

    /// The scheduling that every task of every round had in fact, when it was the same.
    pub(crate) fn granted(&self) -> Option<Scheduling> {
        let mut all = self
            .measurements
            .iter()
            .flat_map(|measurement| &measurement.tasks)
            .map(|task| task.granted.scheduling);
        let first = all.next()?;
        all.all(|scheduling| scheduling == first).then_some(first)
    }

    /// How the cell was scheduled, in words: what was asked for, and what came of it where that differs.
    pub(crate) fn scheduling_in_words(&self) -> String {
        let asked = self.cell.policy.scheduling;
        match self.granted() {
            Some(granted) if granted == asked => asked.to_string(),
            Some(granted) => format!("{granted} (asked for {asked})"),
            None => format!("{asked} (not granted to every task)"),
        }
    }

    /// The cell's name, with how it ran in fact where that was not as asked for.
    pub(crate) fn label_as_granted(&self) -> String {
        if self.cell.imported.is_some() {
            return self.label.clone();
        }
        let asked = self.cell.policy.scheduling;
        match self.granted() {
            Some(granted) if granted == asked => self.label.clone(),
            Some(granted) => format!("{} (ran as {granted})", self.label),
            None => format!("{} (ran in several ways)", self.label),
        }
    }

    /// What the load achieved, `4.83 k write/s, 1.20 MB/s`; `None` where nothing can be counted.
    pub(crate) fn load_achieved(&self) -> Option<String> {
        achieved(&self.summary.load)
    }

    /// What the machine did during the cell's windows, each as text in the order of [`RATES`];
    /// `None` where it could not be read.
    pub(crate) fn rates(&self) -> [Option<String>; RATES.len()] {
        let rates = || self.measurements.iter().map(|measurement| &measurement.rates);
        let over: Nanos = rates().map(|rates| rates.over).sum();
        let count = |of: fn(&MachineRates) -> Option<u64>| {
            total(rates().map(of)).map(|count| format::rate(count, over))
        };
        let share = |of: fn(&MachineRates) -> Option<Nanos>| {
            total(rates().map(of)).map(|time| format::share(time.as_nanos(), over.as_nanos()))
        };
        let cpus = |time: Nanos| {
            format::cpus(time.as_nanos() as f64 / over.as_nanos().max(1) as f64)
        };
        [
            self.summary.load.cpus.map(format::cpus),
            total(rates().map(|rates| rates.busy)).map(cpus),
            count(|rates| rates.context_switches),
            count(|rates| rates.interrupts),
            count(|rates| rates.softirqs),
            count(|rates| rates.page_faults),
            count(|rates| rates.forks),
            share(|rates| rates.cpu_pressure),
            share(|rates| rates.io_pressure),
            share(|rates| rates.memory_pressure),
            total(rates().map(|rates| rates.steal)).map(format::latency),
        ]
    }
}

/// What a load achieved; each of several side by side after its name.
fn achieved(load: &LoadRate) -> Option<String> {
    let operations = load
        .operations_per_second
        .filter(|_| !load.unit.is_empty())
        .map(|operations| format::operation_rate(operations, &load.unit));
    let bytes = load.bytes_per_second.filter(|bytes| *bytes > 0.0).map(format::byte_rate);
    let others =
        load.others.iter().map(|other| format::operation_rate(other.per_second, &other.what));
    let own: Vec<String> = operations.into_iter().chain(bytes).chain(others).collect();
    let parts = load
        .parts
        .iter()
        .filter_map(|part| Some(format!("{}: {}", part.load, achieved(&part.rate)?)));
    let all: Vec<String> =
        (!own.is_empty()).then(|| own.join(", ")).into_iter().chain(parts).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// A rate that is shown.
pub(crate) struct Rate {
    pub(crate) name: &'static str,
    /// What it means, in a sentence; empty where the word says it.
    pub(crate) meaning: &'static str,
}

/// The rates that are shown, in the order of [`CellResult::rates`].
pub(crate) const RATES: [Rate; 11] = [
    rate("load cpu", "CPU time of the load's copies; 100 % is one CPU"),
    rate("busy", "CPU time not spent idle; 100 % is one CPU"),
    rate("switches", "context switches"),
    rate("interrupts", ""),
    rate("softirqs", ""),
    rate("page faults", ""),
    rate("forks", "processes and threads made"),
    rate("cpu wait", "share of the time in which some task waited for a CPU"),
    rate("io wait", "share of the time in which some task waited for I/O"),
    rate("memory wait", "share of the time in which some task waited for memory"),
    rate("steal", "CPU time that the hypervisor gave to others, all CPUs together"),
];

const fn rate(name: &'static str, meaning: &'static str) -> Rate {
    Rate { name, meaning }
}

/// The sum of values that are all known, `None` where one is not.
pub(crate) fn total<T: std::iter::Sum>(values: impl Iterator<Item = Option<T>>) -> Option<T> {
    values.sum()
}

/// The latencies that ascending shares of a histogram did not exceed, found in one pass.
///
/// The same as asking [`LatencyHistogram::quantile`] for each of them.
pub(crate) fn quantiles(histogram: &LatencyHistogram, shares: &[f64]) -> Vec<Nanos> {
    let (Some(min), Some(max)) = (histogram.min(), histogram.max()) else { return Vec::new() };
    let mut buckets = histogram.buckets();
    let (mut seen, mut high) = (0, min);
    let mut found = Vec::with_capacity(shares.len());
    for share in shares {
        let rank = ((share * histogram.count() as f64).ceil() as u64).max(1);
        while seen < rank {
            let Some(bucket) = buckets.next() else { break };
            seen += bucket.count;
            high = bucket.high;
        }
        found.push(high.clamp(min, max));
    }
    found
}

/// What measuring cost, in a sentence; `None` when nothing was measured.
pub(crate) fn cost_in_words(results: &[CellResult<'_>]) -> Option<String> {
    let costs: Vec<_> = results
        .iter()
        // What measuring cost another program is not known.
        .filter(|result| result.cell.imported.is_none())
        .flat_map(|result| &result.measurements)
        .map(|measurement| measurement.cost)
        .collect();
    let middle = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied()
    };
    let clock = middle(costs.iter().map(|cost| cost.clock_read_ns).collect())?;
    let turn = middle(costs.iter().map(|cost| cost.loop_ns).collect())?;
    Some(format!(
        "Reading the clock took {clock:.1} ns and a turn of the measured loop {turn:.1} ns besides \
         its sleep: the median of {}.",
        format::counted(costs.len() as u64, "turn")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_in_one_pass_are_those_asked_for_singly() {
        let mut random = tactus_model::random::SplitMix64::new(3);
        let histogram: LatencyHistogram = (0..5000)
            .map(|_| {
                Nanos::from_nanos(1 << random.below(30)) + Nanos::from_nanos(random.below(999))
            })
            .collect();
        let shares: Vec<f64> = (0..=1000).map(|step| f64::from(step) / 1000.0).collect();
        let singly: Vec<Nanos> =
            shares.iter().filter_map(|share| histogram.quantile(*share)).collect();
        assert_eq!(quantiles(&histogram, &shares), singly);
    }
}
