//! The results of a run of a paper's experiment, by the paper's names.

use std::collections::BTreeMap;

use serde::Serialize;
use tactus_explain::account::{Account, Accounts, TickClock, TickRate};
use tactus_explain::{Segment, Serving, WitnessedSample};
use tactus_model::cell::Cell;
use tactus_model::facts::MachineFacts;
use tactus_model::frames::{FramesProbe, Tick, TickShift};
use tactus_model::interrupted::Dirt;
use tactus_model::kernel::GuestKernel;
use tactus_model::midi::MidiProbe;
use tactus_model::probe::ProbeKind;
use tactus_model::result::{Histogram, Measurement, TaskResult};
use tactus_model::run::Run;
use tactus_model::time::Nanos;
use tactus_stats::costs::CostSummary;
use tactus_stats::frames::{PlayerSummary, expected};
use tactus_stats::interrupt_cost::interrupt_costs;
use tactus_stats::sorts::SortSummary;
use tactus_stats::{CellSummary, LatencyHistogram};

use crate::interval::Interval;
use crate::paper::{Part, Program};
use crate::quantity::{Measure, Statistic, Transfers};

/// The results of every measure in every cell, by the paper's names of cells.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    lengths: BTreeMap<(Measure, Transfers, String), LatencyHistogram>,
    /// Figures that are not of durations.
    numbers: BTreeMap<(Measure, String), Vec<(Statistic, f64)>>,
    /// Intervals that the source of a figure states.
    intervals: BTreeMap<(Measure, String), Vec<(Statistic, Interval)>>,
    served: BTreeMap<String, Vec<Served>>,
    accounts: BTreeMap<String, Account>,
    pub(crate) withheld: BTreeMap<String, String>,
    /// The CPU time over time in the first measurement of each cell.
    used: BTreeMap<String, UseOverTime>,
    /// The same results round by round; empty within a round.
    of_rounds: Vec<Measured>,
}

/// The CPU time that a task used in each interval of its probe.
#[derive(Clone, Debug, PartialEq)]
pub struct UseOverTime {
    /// The interval.
    pub interval: Nanos,
    /// The CPU time in each.
    pub used: Vec<Nanos>,
}

/// The analysis of one cell's recordings.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    /// The samples that were taken while events were recorded.
    pub samples: Vec<WitnessedSample>,
    /// How long the clock's interrupt handler ran, each time, on the cell's CPUs.
    pub handler: LatencyHistogram,
    /// The accounts of CPU time; `None` if not recorded or not requested.
    pub accounts: Option<Accounts>,
}

/// The samples that were due while a CPU served the same interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Served {
    /// The interrupt or softirq; `None` if none was being served.
    pub serving: Option<Serving>,
    /// The number of samples.
    pub samples: u64,
    /// The median of their interrupt acknowledge.
    pub median: Nanos,
    /// The maximum of their interrupt acknowledge.
    pub max: Nanos,
}

/// The settings that distinguish a paper's cells and that a machine may not grant: without
/// them, the measured cell is not the paper's.
const CONDITIONS: [&str; 3] = ["block-requests", "quantum", "extra-interrupts"];

/// The name in data files for no program.
const IDLE: &str = "idle";

impl Measured {
    /// Extracts the cells of `part` from a run, as measured in guests of `kernel` or on the
    /// host. `recorded` has the analysis of the recordings, by the cell's number.
    pub fn of(
        part: &Part,
        run: &Run,
        kernel: Option<&GuestKernel>,
        recorded: &BTreeMap<usize, Recorded>,
    ) -> Self {
        let mut measured = Self::default();
        for (name, settings) in part.cells_in(kernel.is_some()) {
            let Some(number) = part.cell_of(name, kernel, &run.header.plan.cells) else { continue };
            let measurements: Vec<_> = run.of_cell(number).collect();
            let has_policy = settings.keys().any(|setting| setting.ends_with("policy"));
            if let Some(reason) = not_granted(&measurements, has_policy) {
                measured.withheld.insert(name.clone(), reason);
                continue;
            }
            let guest = measurements.iter().find_map(|measurement| measurement.guest.as_ref());
            let facts = guest.map_or(&run.header.facts_before, |guest| &guest.facts);
            let cell = &run.header.plan.cells[number];
            let dirt = dirt_of(settings, cell);
            if let Some(first) = measurements.first() {
                measured.pooled(name, cell, dirt, &measurements, facts);
                measured.use_over_time(name, cell, first);
                for measurement in &measurements {
                    let round = measurement.turn.round as usize;
                    measured.round(round).pooled(name, cell, dirt, &[measurement], facts);
                }
            }
            let Some(recorded) = recorded.get(&number) else { continue };
            measured.witnessed(name, dirt, &recorded.samples, kernel.is_none());
            let handler = recorded.handler.clone();
            measured.put(Measure::HandlerTime, Transfers::Included, name, handler);
            if let Some(accounts) = &recorded.accounts {
                let programs = part.programs.iter().filter(|(_, program)| program.cell == *name);
                programs
                    .for_each(|(name, program)| measured.account(name, program, accounts, facts));
            }
        }
        measured.interrupts(part, run, kernel);
        measured
    }

    /// Takes durations directly.
    pub fn of_lengths(
        all: impl IntoIterator<Item = (Measure, Transfers, String, LatencyHistogram)>,
    ) -> Self {
        let mut measured = Self::default();
        for (measure, transfers, cell, lengths) in all {
            measured.put(measure, transfers, &cell, lengths);
        }
        measured
    }

    /// Adds the results of each round.
    #[cfg(test)]
    pub(crate) fn with_rounds(mut self, of_rounds: Vec<Self>) -> Self {
        self.of_rounds = of_rounds;
        self
    }

    pub(crate) fn put(
        &mut self,
        measure: Measure,
        transfers: Transfers,
        cell: &str,
        lengths: LatencyHistogram,
    ) {
        if !lengths.is_empty() {
            self.lengths.insert((measure, transfers, cell.to_owned()), lengths);
        }
    }

    pub(crate) fn number(
        &mut self,
        measure: Measure,
        cell: &str,
        statistic: Statistic,
        number: f64,
    ) {
        let numbers = self.numbers.entry((measure, cell.to_owned())).or_default();
        numbers.push((statistic, number));
    }

    /// Adds a figure with its interval.
    pub(crate) fn estimate(
        &mut self,
        measure: Measure,
        cell: &str,
        (statistic, number): (Statistic, f64),
        interval: Interval,
    ) {
        self.number(measure, cell, statistic, number);
        let intervals = self.intervals.entry((measure, cell.to_owned())).or_default();
        intervals.push((statistic, interval));
    }

    /// Adds the results of some measurements of a cell.
    fn pooled(
        &mut self,
        name: &str,
        cell: &Cell,
        dirt: Option<Dirt>,
        measurements: &[&Measurement],
        facts: &MachineFacts,
    ) {
        if let Some(dirt) = dirt {
            return self.of_dirt(name, dirt, measurements);
        }
        self.summary(name, cell, CellSummary::pool(measurements), facts);
        self.sorts(name, cell, measurements, facts);
        self.operation(name, cell, measurements);
        self.sender(name, cell, measurements);
        self.messages(name, cell, measurements);
        self.playback(name, cell, measurements);
    }

    /// Adds the wakeups of a cell that found caches of this dirt.
    fn of_dirt(&mut self, name: &str, dirt: Dirt, measurements: &[&Measurement]) {
        let tasks = measurements.iter().flat_map(|measurement| &measurement.tasks);
        let kinds = tasks.filter_map(|task| task.by_dirt.as_ref()).flat_map(|found| &found.kinds);
        let mut pooled = [(); 3].map(|()| LatencyHistogram::new());
        for found in kinds.filter(|found| found.dirt == dirt) {
            let records = [&found.latencies, &found.first_pass, &found.second_pass];
            pooled.iter_mut().zip(records).for_each(|(pooled, record)| pooled.merge_record(record));
        }
        let measures = [Measure::WakeupLatency, Measure::FirstPass, Measure::SecondPass];
        for (measure, lengths) in measures.into_iter().zip(pooled) {
            self.put(measure, Transfers::Included, name, lengths);
        }
    }

    /// The results of one round.
    fn round(&mut self, round: usize) -> &mut Self {
        if self.of_rounds.len() <= round {
            self.of_rounds.resize_with(round + 1, Self::default);
        }
        &mut self.of_rounds[round]
    }

    /// Adds the CPU time of a sender.
    fn sender(&mut self, name: &str, cell: &Cell, measurements: &[&Measurement]) {
        if cell.probe.net().is_none() {
            return;
        }
        let tasks = measurements.iter().flat_map(|measurement| &measurement.tasks);
        let used: Nanos = tasks.map(|task| task.usage.cpu_time).sum();
        let window: Nanos = measurements.iter().map(|measurement| measurement.window).sum();
        if window > Nanos::ZERO {
            let share = used.as_secs_f64() / window.as_secs_f64();
            self.number(Measure::BurstDelivery, name, Statistic::Use, share);
        }
    }

    /// Adds the times between messages.
    fn messages(&mut self, name: &str, cell: &Cell, measurements: &[&Measurement]) {
        let Some(interval) = cell.probe.midi().map(MidiProbe::interval) else { return };
        let tasks = measurements.iter().flat_map(|measurement| &measurement.tasks);
        let [mut intervals, mut output, mut receiver, mut extra] =
            [(); 4].map(|()| LatencyHistogram::new());
        for found in tasks.filter_map(|task| task.messages.as_ref()) {
            intervals.merge_record(&found.intervals);
            output.merge_record(&found.output);
            receiver.merge_record(&found.receiver);
            extra.merge(&beyond(&found.intervals, interval));
        }
        for (measure, lengths) in [
            (Measure::MessageInterval, intervals),
            (Measure::ExtraDelay, extra),
            (Measure::OutputDelay, output),
            (Measure::ReceiverError, receiver),
        ] {
            self.put(measure, Transfers::Included, name, lengths);
        }
    }

    fn use_over_time(&mut self, name: &str, cell: &Cell, measurement: &Measurement) {
        let interval = cell.probe.timer().interval.mean();
        let used = measurement.tasks.first().map(|task| task.use_over_time.clone());
        if let Some(used) = used.filter(|used| !used.is_empty()) {
            self.used.insert(name.to_owned(), UseOverTime { interval, used });
        }
    }

    /// Adds the results of the window without recording.
    fn summary(&mut self, name: &str, cell: &Cell, summary: CellSummary, facts: &MachineFacts) {
        if let Some(players) = PlayerSummary::of(cell, summary.accounting) {
            let intended = summary.accounting.intended as f64;
            for (statistic, number) in [
                (Statistic::Samples, intended),
                (Statistic::Desired, players.desired),
                (Statistic::Rate, players.achieved),
                (Statistic::Expected, on_ticks(cell, facts).unwrap_or(players.expected)),
            ] {
                self.number(Measure::FramesShown, name, statistic, number);
            }
        }
        let measure = match cell.probe.kind() {
            ProbeKind::Frames if cell.probe.is_whole_player() => Measure::FrameLateness,
            ProbeKind::Timer | ProbeKind::Frames => Measure::WakeupLatency,
            ProbeKind::Sort => Measure::SortTime,
            // An operation has its own estimators.
            ProbeKind::Cost => return,
            // Bursts that were lost or not sent count too.
            ProbeKind::Net => {
                let all = summary.by_schedule;
                return self.put(Measure::BurstDelivery, Transfers::Included, name, all);
            }
            // So do messages that were lost or not sent.
            ProbeKind::Midi => {
                let all = summary.by_schedule;
                return self.put(Measure::MessageDelivery, Transfers::Included, name, all);
            }
        };
        self.put(measure, Transfers::Included, name, summary.per_wakeup);
    }

    /// Adds the figures that follow from the durations of sorts.
    fn sorts(
        &mut self,
        name: &str,
        cell: &Cell,
        measurements: &[&Measurement],
        facts: &MachineFacts,
    ) {
        let measure = Measure::SortTime;
        let tasks = measurements.first().map_or(0, |measurement| measurement.tasks.len());
        // A task's sorts follow one another, so the sum of their durations is its busy time.
        let sum_of = |task: &TaskResult| task.blocks.iter().map(|block| block.sum).sum::<Nanos>();
        let last = |measurement: &&Measurement| measurement.tasks.iter().map(sum_of).max();
        let busy: Nanos = measurements.iter().filter_map(last).sum();
        let lengths = self.lengths(measure, Transfers::Included, name);
        let summary = cell.probe.sort().zip(lengths);
        let summary =
            summary.and_then(|(sort, lengths)| SortSummary::of(lengths, sort.numbers, busy));
        let Some(summary) = summary else { return };
        self.number(measure, name, Statistic::Sorted, summary.sorted_per_second);
        // With tasks that take turns, the excess includes the work of the others.
        if tasks > 1 {
            return;
        }
        self.number(measure, name, Statistic::Overhead, summary.overhead);
        if let Some(rate) = facts.kernel.tick_rate_hz {
            self.number(measure, name, Statistic::TickCost, summary.tick_ns(rate));
        }
    }

    /// Adds the cost of an operation.
    fn operation(&mut self, name: &str, cell: &Cell, measurements: &[&Measurement]) {
        let Some(probe) = cell.probe.cost() else { return };
        let Some(cost) = CostSummary::of(probe, measurements, None) else { return };
        let moved = probe.moved();
        let rate = moved.and_then(|moved| cost.bytes_per_second(moved));
        // All that was not idle, if that was counted; if counting was disturbed, there is no figure.
        let used = cost.credible_used_ns();
        let cpu = if cost.used_ns.is_some() { used } else { cost.cpu_ns };
        let per_megabyte = cpu.zip(moved).map(|(cpu, moved)| cpu / moved.get() as f64 * 1e6);
        let share = match cost.used_ns {
            Some(_) => used.map(|used| used / cost.mean_ns),
            None => cost.cpu_ns.map(|cpu| cpu / cost.typical_ns),
        };
        let hop = probe.operation.has_partner().then_some(cost.typical_ns / 2.0);
        for (statistic, number) in [
            (Statistic::Samples, Some(cost.samples as f64)),
            (Statistic::Min, Some(cost.min_ns)),
            (Statistic::Percentile(10.0), Some(cost.p10_ns)),
            (Statistic::Median, Some(cost.median_ns)),
            (Statistic::Percentile(99.0), cost.p99_ns),
            (Statistic::Max, Some(cost.max_ns)),
            (Statistic::Hop, hop),
            (Statistic::Bandwidth, rate),
            (Statistic::CpuPerMegabyte, per_megabyte),
            (Statistic::Use, share),
        ] {
            if let Some(number) = number.filter(|number| number.is_finite()) {
                self.number(Measure::OperationCost, name, statistic, number);
            }
        }
    }

    /// Adds what clock interrupts cost, from sorts at several rates of them.
    fn interrupts(&mut self, part: &Part, run: &Run, kernel: Option<&GuestKernel>) {
        let cells = &run.header.plan.cells;
        let names: Vec<(&String, usize)> = part
            .cells_in(kernel.is_some())
            .keys()
            .filter(|name| self.withheld(name).is_none())
            .filter_map(|name| Some((name, part.cell_of(name, kernel, cells)?)))
            .collect();
        self.slowed(&names, cells, &run.measurements.iter().collect::<Vec<_>>());
        for round in 0..self.of_rounds.len() {
            let is_of_round = |found: &&Measurement| found.turn.round as usize == round;
            let measurements: Vec<_> = run.measurements.iter().filter(is_of_round).collect();
            self.of_rounds[round].slowed(&names, cells, &measurements);
        }
    }

    /// Adds the slowdown of sorts by interrupts, from some measurements.
    fn slowed(
        &mut self,
        names: &[(&String, usize)],
        cells: &[Cell],
        measurements: &[&Measurement],
    ) {
        for found in interrupt_costs(cells, measurements) {
            let names_of = |cell| names.iter().filter(move |(_, known)| *known == cell);
            for rate in &found.rates {
                for (name, _) in names_of(rate.cell) {
                    self.number(Measure::SortTime, name, Statistic::Slowdown, rate.slowdown);
                }
            }
            let lowest = found.rates.first().map(|rate| rate.cell);
            for (name, _) in lowest.into_iter().flat_map(names_of) {
                self.number(Measure::SortTime, name, Statistic::InterruptCost, found.cost_ns);
                self.number(Measure::SortTime, name, Statistic::TwoRateCost, found.two_rate_ns);
            }
        }
    }

    /// Adds the samples whose interrupt was found; the time of other samples' interrupt is
    /// unknown. Without block devices there are no transfers, and both choices have the same
    /// samples.
    fn witnessed(
        &mut self,
        cell: &str,
        dirt: Option<Dirt>,
        samples: &[WitnessedSample],
        has_block_devices: bool,
    ) {
        let is_of = |sample: &&WitnessedSample| {
            dirt.is_none_or(|dirt| Dirt::Random.of_event(sample.sample.due) == dirt)
        };
        let of_dirt = samples.iter().filter(is_of);
        let timed: Vec<_> = of_dirt.filter_map(|sample| Some((sample, sample.segments?))).collect();
        if timed.is_empty() {
            return;
        }
        let kept = |transfers: Transfers| {
            timed.iter().filter(move |(sample, _)| match transfers {
                Transfers::Included => true,
                Transfers::Excluded => {
                    !has_block_devices || sample.circumstance.transfer == Some(false)
                }
            })
        };
        for transfers in [Transfers::Included, Transfers::Excluded] {
            let acknowledge =
                kept(transfers).map(|(_, segments)| segments.get(Segment::DueToIrq)).collect();
            self.put(Measure::InterruptAcknowledge, transfers, cell, acknowledge);
            let path = kept(transfers)
                .map(|(_, segments)| segments.total() - segments.get(Segment::SwitchToUser));
            self.put(Measure::KernelPath, transfers, cell, path.collect());
            let switch = kept(transfers).map(|(sample, _)| sample.sample.latency()).collect();
            self.put(Measure::ContextSwitch, transfers, cell, switch);
        }
        let mut served: BTreeMap<Option<Serving>, LatencyHistogram> = BTreeMap::new();
        for (sample, segments) in &timed {
            let lengths = served.entry(sample.circumstance.serving).or_default();
            lengths.record(segments.get(Segment::DueToIrq));
        }
        let of_transfers = timed.iter().filter(|_| has_block_devices);
        let transfers =
            || of_transfers.clone().filter_map(|(sample, _)| sample.circumstance.transfer);
        let busy = timed.iter().map(|(sample, _)| sample.circumstance.serving.is_some());
        let shares = [(Statistic::SetAside, share(transfers())), (Statistic::Serving, share(busy))];
        for measure in [Measure::InterruptAcknowledge, Measure::ContextSwitch] {
            for (statistic, share) in shares {
                if let Some(share) = share {
                    self.number(measure, cell, statistic, share);
                }
            }
        }
        let mut served: Vec<Served> =
            served.into_iter().map(|(serving, lengths)| Served::of(serving, &lengths)).collect();
        // Sorted by number of samples; the row without an interrupt comes first.
        served.sort_by_key(|served| (served.serving.is_some(), std::cmp::Reverse(served.samples)));
        self.served.insert(cell.to_owned(), served);
    }

    /// Adds the CPU time of a program.
    fn account(
        &mut self,
        name: &str,
        program: &Program,
        accounts: &Accounts,
        facts: &MachineFacts,
    ) {
        let account = match program.name.as_str() {
            IDLE => Some(&accounts.idle),
            known => accounts.program(known),
        };
        let Some(account) = account else { return };
        let length = accounts.length();
        let measure = Measure::EffectiveQuantum;
        if let Some(quanta) = account.quanta_per_second(length) {
            self.number(measure, name, Statistic::Quanta, quanta);
            let share = account.used.as_secs_f64() / length.as_secs_f64();
            self.number(measure, name, Statistic::Use, share);
        }
        let lengths = LatencyHistogram::from_record(&account.quanta);
        self.put(measure, Transfers::Included, name, lengths);
        self.number(Measure::Billing, name, Statistic::Samples, account.quanta.count as f64);
        for billing in &account.billing {
            for (billed, missed) in statistics_of(billing.clock, facts) {
                let figures = [(billed, billing.ratio()), (missed, billing.missed_share())];
                for (statistic, figure) in figures {
                    if let Some(figure) = figure {
                        self.number(Measure::Billing, name, statistic, figure);
                    }
                }
            }
        }
        self.accounts.insert(name.to_owned(), account.clone());
    }

    /// The CPU time of a program, if recorded.
    pub fn account_of(&self, program: &str) -> Option<&Account> {
        self.accounts.get(program)
    }

    /// The durations of a measure in a cell; `None` without samples.
    pub fn lengths(
        &self,
        measure: Measure,
        transfers: Transfers,
        cell: &str,
    ) -> Option<&LatencyHistogram> {
        self.lengths.get(&(measure, transfers, cell.to_owned()))
    }

    /// The interrupts being served when the samples of a cell were due; first the row without any.
    pub fn served(&self, cell: &str) -> &[Served] {
        self.served.get(cell).map_or(&[], Vec::as_slice)
    }

    /// Why the measured cell is not the paper's; `None` if it is.
    pub fn withheld(&self, cell: &str) -> Option<&str> {
        self.withheld.get(cell).map(String::as_str)
    }

    /// The CPU time over time in a cell, if the probe measured it.
    pub fn used(&self, cell: &str) -> Option<&UseOverTime> {
        self.used.get(cell)
    }

    /// The number of rounds.
    pub(crate) const fn rounds(&self) -> usize {
        self.of_rounds.len()
    }

    /// A figure of one round, in the base unit.
    pub(crate) fn figure_in(
        &self,
        round: usize,
        measure: Measure,
        transfers: Transfers,
        cell: &str,
        statistic: Statistic,
    ) -> Option<f64> {
        self.of_rounds.get(round)?.figure(measure, transfers, cell, statistic)
    }

    /// The interval of a figure: as its source states it, or over three or more rounds.
    pub fn interval(
        &self,
        measure: Measure,
        transfers: Transfers,
        cell: &str,
        statistic: Statistic,
    ) -> Option<Interval> {
        let stated = self.intervals.get(&(measure, cell.to_owned())).into_iter().flatten();
        let stated = stated.clone().find(|(known, _)| *known == statistic);
        if let Some((_, interval)) = stated {
            return Some(*interval);
        }
        let rounds = 0..if statistic.is_of_the_middle() { self.rounds() } else { 0 };
        let values: Vec<f64> = rounds
            .filter_map(|round| self.figure_in(round, measure, transfers, cell, statistic))
            .collect();
        Interval::of_rounds(&values)
    }

    /// A figure, in the base unit.
    pub fn figure(
        &self,
        measure: Measure,
        transfers: Transfers,
        cell: &str,
        statistic: Statistic,
    ) -> Option<f64> {
        let numbers = self.numbers.get(&(measure, cell.to_owned())).into_iter().flatten();
        let number = numbers.clone().find(|(known, _)| *known == statistic);
        match number {
            Some((_, number)) => Some(*number),
            None => statistic.of(self.lengths(measure, transfers, cell)?),
        }
    }
}

impl Served {
    fn of(serving: Option<Serving>, lengths: &LatencyHistogram) -> Self {
        Self {
            serving,
            samples: lengths.count(),
            median: lengths.quantile(0.5).unwrap_or_default(),
            max: lengths.max().unwrap_or_default(),
        }
    }
}

/// By how much durations are longer than `length`; zero for those that are not. The greatest is
/// exact.
fn beyond(durations: &Histogram, length: Nanos) -> LatencyHistogram {
    let mut excess = LatencyHistogram::new();
    for (low, count) in &durations.buckets {
        let is_last = durations.buckets.last().is_some_and(|(last, _)| last == low);
        let longest = u64::from(is_last && *count > 0);
        excess.record_n(low.saturating_sub(length), count - longest);
        excess.record_n(durations.max.saturating_sub(length), longest);
    }
    excess
}

/// The statistics of the time billed and of the quanta missed by the ticks of a clock.
///
/// If timers expire only at the kernel's ticks, programs run in step with those ticks, so only
/// the kernel's own ticks count for its rate.
fn statistics_of(clock: TickClock, facts: &MachineFacts) -> Vec<(Statistic, Statistic)> {
    let of_rate = |rate| (Statistic::Billed(rate), Statistic::Missed(rate));
    let of_kernel = (Statistic::BilledByKernel, Statistic::MissedByKernel);
    let is_coarse = facts.kernel.high_resolution_timers == Some(false);
    match clock {
        TickClock::Simulated { .. } if is_coarse => Vec::new(),
        TickClock::Simulated { rate } => vec![of_rate(rate)],
        TickClock::Kernel => {
            let rate = facts.kernel.tick_rate_hz.filter(|_| is_coarse).and_then(TickRate::new);
            [of_kernel].into_iter().chain(rate.map(of_rate)).collect()
        }
    }
}

/// The frame rate that the kernel's own ticks leave to a player without simulated ticks, if
/// timers expire only at ticks.
fn on_ticks(cell: &Cell, facts: &MachineFacts) -> Option<f64> {
    let probe = cell.probe.frames().filter(|probe| probe.tick == Tick::None)?;
    let coarse = facts.kernel.high_resolution_timers == Some(false);
    let rate = facts.kernel.tick_rate_hz.filter(|_| coarse)?;
    let tick = Tick::Every(rate.to_string().parse().ok()?);
    let left = expected(&FramesProbe { tick, tick_shift: TickShift::Sweep, ..probe.clone() });
    Some(*left.numer() as f64 / *left.denom() as f64)
}

/// The share of `true`; `None` without values.
fn share(all: impl Iterator<Item = bool>) -> Option<f64> {
    let (count, so) = all.fold((0_u64, 0_u64), |(count, so), is| (count + 1, so + u64::from(is)));
    (count > 0).then(|| so as f64 / count as f64)
}

/// The dirt that the samples of the paper's cell with these settings found, if they are some of the
/// samples of a cell with random dirt.
fn dirt_of(settings: &BTreeMap<String, String>, cell: &Cell) -> Option<Dirt> {
    let dirt = settings.get("dirt")?.parse().ok()?;
    (cell.probe.timer().dirt == Dirt::Random && dirt != Dirt::Random).then_some(dirt)
}

/// Why the machine did not grant the settings that distinguish the cell. A policy is one of them
/// if the paper's cell `has_policy`.
fn not_granted(measurements: &[&Measurement], has_policy: bool) -> Option<String> {
    let mut shortfalls = measurements.iter().flat_map(|measurement| &measurement.shortfalls);
    let refused = shortfalls.find(|shortfall| {
        let asked = shortfall.asked.split(' ').next().unwrap_or_default();
        CONDITIONS.contains(&asked) || (has_policy && asked == "policy")
    })?;
    Some(format!("{} was not granted: {}", refused.asked, refused.reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(precise: bool, clock: TickClock, expected: &[&str]) {
        let facts = format!(
            r#"{{"taken": 0, "kernel": {{"tick_rate_hz": 1000, "high_resolution_timers": {precise}}}}}"#
        );
        let statistics = statistics_of(clock, &serde_json::from_str(&facts).unwrap());
        let statistics: Vec<String> = statistics
            .into_iter()
            .flat_map(|(billed, missed)| [billed, missed])
            .map(|it| it.to_string())
            .collect();
        assert_eq!(statistics, expected);
    }

    #[test]
    fn with_timers_that_expire_at_ticks_only_the_kernels_rate_counts() {
        let simulated = TickClock::Simulated { rate: TickRate::new(100).unwrap() };
        let own = ["billed", "missed"];
        check(true, TickClock::Kernel, &own);
        check(true, simulated, &["billed at 100Hz", "missed at 100Hz"]);
        check(
            false,
            TickClock::Kernel,
            &[&own[..], &["billed at 1000Hz", "missed at 1000Hz"]].concat(),
        );
        check(false, simulated, &[]);
    }
}
