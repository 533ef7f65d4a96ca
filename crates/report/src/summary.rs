//! What a run found, cell by cell, as tables, the verdict and the page need it.

use tactus_model::cell::Cell;
use tactus_model::policy::Scheduling;
use tactus_model::result::{Accounting, MachineRates, Measurement, Outlier};
use tactus_model::run::Run;
use tactus_model::time::{Instant, Nanos, Realtime};

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
    wakeups: Vec<(Nanos, u64)>,
    schedule: Vec<(Nanos, u64)>,
}

/// The slowest sample of a cell, with its place.
pub(crate) struct Worst {
    pub(crate) outlier: Outlier,
    pub(crate) round: u32,
    pub(crate) cpu: Option<u32>,
    pub(crate) opened: Instant<Realtime>,
}

/// The cells of a run that yielded a result, in the order of the plan.
pub(crate) fn cell_results(run: &Run) -> Vec<CellResult<'_>> {
    let cells = &run.header.plan.cells;
    cells
        .iter()
        .zip(run.header.plan.labels())
        .enumerate()
        .filter_map(|(index, (cell, label))| {
            let measurements: Vec<&Measurement> = run.of_cell(index).collect();
            if measurements.is_empty() {
                return None;
            }
            let mut wakeups: Vec<(Nanos, u64)> = measurements
                .iter()
                .flat_map(|m| &m.tasks)
                .flat_map(|t| &t.blocks)
                .flat_map(|b| b.buckets.iter().copied())
                .collect();
            wakeups.sort();
            let mut schedule = wakeups.clone();
            schedule.extend(
                measurements
                    .iter()
                    .flat_map(|m| &m.tasks)
                    .flat_map(|t| t.missed_latencies.buckets.iter().copied()),
            );
            schedule.sort();
            Some(CellResult { index, label, cell, measurements, wakeups, schedule })
        })
        .collect()
}

fn quantile(counts: &[(Nanos, u64)], share: f64) -> Nanos {
    let total: u64 = counts.iter().map(|(_, count)| count).sum();
    let wanted = (total as f64 * share).ceil() as u64;
    let mut seen = 0;
    for (latency, count) in counts {
        seen += count;
        if seen >= wanted {
            return *latency;
        }
    }
    Nanos::ZERO
}

impl CellResult<'_> {
    /// What became of the wakeups of all rounds.
    pub(crate) fn accounting(&self) -> Accounting {
        let mut total = Accounting::default();
        for measurement in &self.measurements {
            total += measurement.accounting();
        }
        total
    }

    /// The least latency of any wakeup.
    pub(crate) fn min(&self) -> Nanos {
        self.blocks()
            .filter(|block| block.count > 0)
            .map(|block| block.min)
            .min()
            .unwrap_or_default()
    }

    /// The greatest latency of any wakeup; the same by both rules of accounting.
    pub(crate) fn max(&self) -> Nanos {
        self.blocks().map(|block| block.max).max().unwrap_or_default()
    }

    fn blocks(&self) -> impl Iterator<Item = &tactus_model::result::Histogram> {
        self.measurements.iter().flat_map(|m| &m.tasks).flat_map(|t| &t.blocks)
    }

    /// The latency that a share of the wakeups did not exceed (*per wakeup*).
    pub(crate) fn wakeup_quantile(&self, share: f64) -> Nanos {
        quantile(&self.wakeups, share)
    }

    /// The latency that a share of the due times did not exceed (*intended schedule*).
    pub(crate) fn schedule_quantile(&self, share: f64) -> Nanos {
        quantile(&self.schedule, share)
    }

    /// How many wakeups had which latency, ascending.
    pub(crate) fn wakeup_counts(&self) -> Vec<(Nanos, u64)> {
        self.wakeups.clone()
    }

    /// Whether the two rules of accounting give another p99 as it is written.
    pub(crate) fn schedule_differs(&self) -> bool {
        format::latency(self.wakeup_quantile(0.99)) != format::latency(self.schedule_quantile(0.99))
    }

    /// The interval of the p99 at 95 % confidence, where the blocks suffice for one.
    pub(crate) fn p99_interval(&self) -> Option<(Nanos, Nanos)> {
        None
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

    /// The slowest sample that is kept.
    pub(crate) fn worst(&self) -> Option<Worst> {
        let outliers = self.measurements.iter().flat_map(|measurement| {
            measurement.tasks.iter().flat_map(move |task| {
                task.worst.iter().map(move |outlier| Worst {
                    outlier: *outlier,
                    round: measurement.turn.round,
                    cpu: task.cpu,
                    opened: measurement.started,
                })
            })
        });
        outliers.max_by_key(|worst| worst.outlier.sample.latency())
    }

    /// The time in which the cell was measured, all rounds together.
    pub(crate) fn window(&self) -> Nanos {
        self.measurements.iter().map(|measurement| measurement.window).sum()
    }

    /// What the load achieved, `4.83 k writes/s, 1.20 MB/s`; `None` where nothing can be counted.
    pub(crate) fn load_achieved(&self) -> Option<String> {
        let loads = || self.measurements.iter().map(|measurement| &measurement.load);
        let window = self.window();
        let unit = loads().map(|load| load.unit.as_str()).find(|unit| !unit.is_empty());
        let operations = total(loads().map(|load| load.operations)).filter(|count| *count > 0);
        let bytes = total(loads().map(|load| load.bytes)).filter(|bytes| *bytes > 0);
        let operations =
            operations.zip(unit).map(|(count, unit)| format::operation_rate(count, unit, window));
        let parts: Vec<String> = operations
            .into_iter()
            .chain(bytes.map(|bytes| format::byte_rate(bytes, window)))
            .collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

/// The sum of values that are all known, `None` where one is not.
pub(crate) fn total<T: std::iter::Sum>(values: impl Iterator<Item = Option<T>>) -> Option<T> {
    values.sum()
}

/// A quantile of each round, by the intended schedule.
pub(crate) fn round_quantiles(result: &CellResult<'_>, share: f64) -> Vec<Nanos> {
    let _ = share;
    result
        .measurements
        .iter()
        .map(|m| m.tasks.iter().flat_map(|t| &t.blocks).map(|b| b.max).max().unwrap_or_default())
        .collect()
}

/// The rates of the machine that are shown, in the order of [`CellResult::rates`].
pub(crate) const RATES: [&str; 9] = [
    "busy",
    "switches",
    "interrupts",
    "softirqs",
    "page faults",
    "forks",
    "cpu wait",
    "io wait",
    "steal",
];

impl CellResult<'_> {
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
        // Busy time is of all processors together: 200 % is two of them.
        let busy = total(rates().map(|rates| rates.busy)).map(|busy| {
            let processors = busy.as_nanos() as f64 / over.as_nanos().max(1) as f64;
            format!("{:.0}{}%", processors * 100.0, format::THIN_SPACE)
        });
        [
            busy,
            count(|rates| rates.context_switches),
            count(|rates| rates.interrupts),
            count(|rates| rates.softirqs),
            count(|rates| rates.page_faults),
            count(|rates| rates.forks),
            share(|rates| rates.cpu_pressure),
            share(|rates| rates.io_pressure),
            total(rates().map(|rates| rates.steal)).map(format::latency),
        ]
    }
}

/// What measuring cost, in a sentence; `None` when nothing was measured.
pub(crate) fn cost_in_words(results: &[CellResult<'_>]) -> Option<String> {
    let costs: Vec<_> = results
        .iter()
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
