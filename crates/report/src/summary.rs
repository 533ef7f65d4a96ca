//! The results of a run, cell by cell, for tables, verdict and page.

use tactus_model::cell::Cell;
use tactus_model::policy::Scheduling;
use tactus_model::result::{Accounting, MachineRates, Measurement};
use tactus_model::run::Run;
use tactus_model::sample_kind::SampleKind;
use tactus_model::time::Nanos;
use tactus_stats::frames::PlayerSummary;
use tactus_stats::histogram::nearest_rank;
use tactus_stats::{CellSummary, Interval, LatencyHistogram, LoadRate};

use crate::format;

/// A cell of a run with its rounds pooled.
pub(crate) struct CellResult<'r> {
    /// Its index in the plan.
    pub(crate) index: usize,
    /// Its name among the cells of the run.
    pub(crate) label: String,
    /// The settings requested.
    pub(crate) cell: &'r Cell,
    /// Its measurements, one per round; at least one.
    pub(crate) measurements: Vec<&'r Measurement>,
    /// The rounds pooled.
    pub(crate) summary: CellSummary,
}

/// The cells of a run that have a result, in the order of the plan.
///
/// Computing the intervals takes about ten milliseconds per cell, so the cells are distributed over
/// the CPUs. The result does not depend on the number of CPUs.
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

/// What the samples of these cells are.
pub(crate) fn kind_of(results: &[CellResult<'_>]) -> SampleKind {
    SampleKind::of_all(results.iter().map(|result| result.cell))
}

impl CellResult<'_> {
    /// A latency in the precision it was measured with; a dash if there is none.
    pub(crate) fn latency_text(&self, length: Option<Nanos>) -> String {
        match (length, self.summary.precision) {
            (Some(length), Some(precision)) => format::latency_to(length, precision.unit),
            (length, _) => format::latency_or_nothing(length),
        }
    }

    /// Whether the number of missed due times is known; always true for cells that Tactus measured.
    pub(crate) fn missed_known(&self) -> bool {
        self.summary.precision.is_none_or(|precision| precision.missed_known)
    }

    /// The accounting of all rounds.
    pub(crate) fn accounting(&self) -> Accounting {
        self.summary.accounting
    }

    /// The result of its players; `None` for other probes.
    pub(crate) fn players(&self) -> Option<PlayerSummary> {
        PlayerSummary::of(self.cell, self.accounting())
    }

    /// Whether its samples are operations.
    pub(crate) fn is_operation(&self) -> bool {
        self.cell.probe.cost().is_some()
    }

    /// How many operations a sample has, and what is counted as one; `None` for other probes.
    pub(crate) fn sample_of(&self) -> Option<(u32, &'static str)> {
        self.cell.probe.cost().map(|cost| (cost.per_sample(), cost.operation.traits().unit))
    }

    /// The greatest latency; `None` when nothing was observed.
    pub(crate) fn max(&self) -> Option<Nanos> {
        self.summary.max
    }

    /// The latency that a share of the wakeups did not exceed (*per wakeup*), if there are enough
    /// samples.
    pub(crate) fn per_wakeup(&self, share: f64) -> Option<Nanos> {
        self.summary.quantile(share)?.per_wakeup
    }

    /// The latency that a share of the due times did not exceed (*intended schedule*), if there are
    /// enough samples.
    pub(crate) fn by_schedule(&self, share: f64) -> Option<Nanos> {
        self.summary.quantile(share)?.by_schedule
    }

    /// The 95 % confidence interval of a share's latency per wakeup, if there are enough samples.
    pub(crate) fn interval(&self, share: f64) -> Option<Interval> {
        self.summary.quantile(share)?.interval
    }

    /// Whether the p99 or the p99.9 by schedule differs from that per wakeup, as printed.
    pub(crate) fn schedule_differs(&self) -> bool {
        let differs = |share| {
            self.latency_text(self.per_wakeup(share)) != self.latency_text(self.by_schedule(share))
        };
        self.missed_known() && (differs(0.99) || differs(0.999))
    }

    /// The scheduling that the kernel granted, if it was the same for every task of every round.
    pub(crate) fn granted(&self) -> Option<Scheduling> {
        let mut all = self
            .measurements
            .iter()
            .flat_map(|measurement| &measurement.tasks)
            .map(|task| task.granted.scheduling);
        let first = all.next()?;
        all.all(|scheduling| scheduling == first).then_some(first)
    }

    /// The scheduling of the cell in words: the granted policy. The headline names the policies
    /// that were refused.
    pub(crate) fn scheduling_in_words(&self) -> String {
        let asked = self.cell.policy.scheduling;
        match self.granted() {
            Some(granted) => granted.to_string(),
            None => format!("{asked} (granted to some tasks only)"),
        }
    }

    /// The cell's name, with the granted policy if it differs from the requested one:
    /// `idle · fifo:90→other`.
    pub(crate) fn label_as_granted(&self) -> String {
        if self.cell.imported.is_some() {
            return self.label.clone();
        }
        let asked = self.cell.policy.scheduling;
        match self.granted() {
            Some(granted) if granted == asked => self.label.clone(),
            Some(granted) => {
                let ran = format!("{asked}→{granted}");
                let asked = asked.to_string();
                let parts: Vec<&str> = self.label.split(" · ").collect();
                match parts.contains(&asked.as_str()) {
                    true => {
                        let parts = parts.into_iter();
                        let parts = parts.map(|part| if part == asked { &ran } else { part });
                        parts.collect::<Vec<_>>().join(" · ")
                    }
                    false => format!("{} · {ran}", self.label),
                }
            }
            None => format!("{} (ran under several policies)", self.label),
        }
    }

    /// What the load achieved, `4.83 k writes/s, 1.20 MB/s`; `None` if the load counts nothing.
    pub(crate) fn load_achieved(&self) -> Option<String> {
        achieved(&self.summary.load)
    }

    /// What the machine did during the cell's windows, each as text in the order of [`RATES`];
    /// `None` if it could not be read.
    pub(crate) fn rates(&self) -> [Option<String>; RATES.len()] {
        let rates = || self.measurements.iter().map(|measurement| &measurement.rates);
        let over: Nanos = rates().map(|rates| rates.over).sum();
        let count = |of: fn(&MachineRates) -> Option<u64>| {
            let sum =
                rates().map(of).try_fold(0_u64, |sum, count| Some(sum.saturating_add(count?)));
            sum.map(|count| format::rate(count, over))
        };
        let share = |of: fn(&MachineRates) -> Option<Nanos>| {
            total(rates().map(of)).map(|time| format::share(time.as_nanos(), over.as_nanos()))
        };
        let cpus =
            |time: Nanos| format::cpus(time.as_nanos() as f64 / over.as_nanos().max(1) as f64);
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

/// What a load achieved; for several loads side by side, each after its name.
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
    /// Its meaning; empty if the name is enough.
    pub(crate) meaning: &'static str,
}

/// The rates that are shown, in the order of [`CellResult::rates`].
pub(crate) const RATES: [Rate; 11] = [
    rate("load CPU", "CPU time of all copies of the load; 100 % is one CPU"),
    rate("busy", "CPU time not idle, all CPUs together; 100 % is one CPU"),
    rate("switches", "context switches"),
    rate("interrupts", ""),
    rate("softirqs", ""),
    rate("page faults", ""),
    rate("forks", "processes and threads created"),
    rate("CPU wait", "share of the time in which at least one task waited for a CPU (PSI)"),
    rate("I/O wait", "share of the time in which at least one task waited for I/O (PSI)"),
    rate("memory wait", "share of the time in which at least one task waited for memory (PSI)"),
    rate(
        "steal",
        "CPU time in which the hypervisor paused this VM (steal time), all CPUs together",
    ),
];

const fn rate(name: &'static str, meaning: &'static str) -> Rate {
    Rate { name, meaning }
}

/// The sum of the values; `None` if any is unknown.
pub(crate) fn total<T: std::iter::Sum>(values: impl Iterator<Item = Option<T>>) -> Option<T> {
    values.sum()
}

/// The latencies that ascending shares of a histogram did not exceed, found in one pass.
///
/// The same as [`LatencyHistogram::quantile`] of each share.
pub(crate) fn quantiles(histogram: &LatencyHistogram, shares: &[f64]) -> Vec<Nanos> {
    let (Some(min), Some(max)) = (histogram.min(), histogram.max()) else { return Vec::new() };
    let mut buckets = histogram.buckets();
    let (mut seen, mut high) = (0, min);
    let mut found = Vec::with_capacity(shares.len());
    for share in shares {
        let rank = nearest_rank(*share, histogram.count());
        while seen < rank {
            let Some(bucket) = buckets.next() else { break };
            seen += bucket.count;
            high = bucket.high;
        }
        found.push(high.clamp(min, max));
    }
    found
}

/// The cost of measuring, in a sentence; `None` if nothing was measured.
pub(crate) fn cost_in_words(results: &[CellResult<'_>]) -> Option<String> {
    let costs: Vec<_> = results
        .iter()
        // The cost is unknown for other programs.
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
        "Reading the clock took {clock:.1} ns and one pass of the measured loop {turn:.1} ns, not counting \
         its sleep (medians over {}).",
        format::counted(costs.len() as u64, "turn")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_in_one_pass_equal_single_quantiles() {
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
