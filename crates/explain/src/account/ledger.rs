//! The running sums of one thread under one name.

use tactus_model::recording::{NameId, ThreadId};
use tactus_model::time::Nanos;

use super::accounts::{Account, AccountOptions, Cut, EndCount};
use super::billing::{RecordedBill, Sweep};
use super::end::End;
use super::tick::{KernelTick, TickUnknown};
use crate::lengths::Lengths;
use crate::machine::Quantum;

/// The running sums of one thread under one name.
///
/// A thread that changes its name, for example by execve(2), gets a new ledger.
#[derive(Clone, Debug)]
pub(super) struct Ledger {
    pub(super) thread: ThreadId,
    pub(super) name: NameId,
    pub(super) used: Nanos,
    interrupted: Nanos,
    stolen: Nanos,
    quanta: Lengths,
    cut: Cut,
    ends: Vec<EndCount>,
    wakeup_latency: Lengths,
    pub(super) recorded: RecordedBill,
    /// One sweep for each rate of the options.
    pub(super) sweeps: Vec<Sweep>,
}

/// What went on during a quantum.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct During {
    /// Time in interrupts, softirqs and timers.
    pub(super) interrupted: Nanos,
    /// Steal time.
    pub(super) stolen: Nanos,
    pub(super) timer_ticks: u64,
    pub(super) vector_ticks: u64,
}

impl Ledger {
    pub(super) fn new(thread: ThreadId, name: NameId, rates: usize) -> Self {
        Self {
            thread,
            name,
            used: Nanos::ZERO,
            interrupted: Nanos::ZERO,
            stolen: Nanos::ZERO,
            quanta: Lengths::default(),
            cut: Cut::default(),
            ends: Vec::new(),
            wakeup_latency: Lengths::default(),
            recorded: RecordedBill::default(),
            sweeps: vec![Sweep::default(); rates],
        }
    }

    pub(super) fn quantum(&mut self, quantum: &Quantum, is_whole: bool, during: &During) {
        let length = quantum.length();
        self.used = self.used + length;
        self.interrupted = self.interrupted + during.interrupted;
        self.stolen = self.stolen + during.stolen;
        if is_whole {
            self.quanta.record(length);
        } else if length > Nanos::ZERO {
            self.cut.count += 1;
            self.cut.time = self.cut.time + length;
        }
    }

    pub(super) fn ended(&mut self, end: End, length: Nanos) {
        let more = EndCount { end, count: 1, time: length };
        add_end(&mut self.ends, &more);
    }

    pub(super) fn woken(&mut self, latency: Nanos) {
        self.wakeup_latency.record(latency);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.used = self.used + other.used;
        self.interrupted = self.interrupted + other.interrupted;
        self.stolen = self.stolen + other.stolen;
        self.quanta.merge(&other.quanta);
        self.cut.count += other.cut.count;
        self.cut.time = self.cut.time + other.cut.time;
        other.ends.iter().for_each(|end| add_end(&mut self.ends, end));
        self.wakeup_latency.merge(&other.wakeup_latency);
        self.recorded.merge(&other.recorded);
        for (own, other) in self.sweeps.iter_mut().zip(&other.sweeps) {
            own.merge(other);
        }
    }

    /// Whether the ledger has no quanta and no time.
    pub(super) fn is_empty(&self) -> bool {
        self.used == Nanos::ZERO && self.quanta.count() == 0 && self.ends.is_empty()
    }

    /// Writes the sums into `account`, which already has the thread's names.
    pub(super) fn fill(
        &self,
        account: Account,
        options: &AccountOptions,
        tick: &Result<KernelTick, TickUnknown>,
    ) -> Account {
        let mut ends = self.ends.clone();
        sort_ends(&mut ends);
        let quanta = self.quanta.count();
        let recorded = tick.iter().map(|tick| self.recorded.finish(tick.period, self.used, quanta));
        let simulated = options.rates.iter().zip(&self.sweeps);
        let simulated = simulated.map(|(rate, sweep)| sweep.finish(*rate, self.used, quanta));
        Account {
            used: self.used,
            interrupted: self.interrupted,
            stolen: self.stolen,
            quanta: self.quanta.to_record(),
            cut: self.cut,
            ends,
            wakeup_latency: self.wakeup_latency.to_record(),
            billing: recorded.chain(simulated).collect(),
            ..account
        }
    }
}

pub(super) fn add_end(ends: &mut Vec<EndCount>, more: &EndCount) {
    match ends.iter_mut().find(|counted| counted.end == more.end) {
        Some(counted) => {
            counted.count += more.count;
            counted.time = counted.time + more.time;
        }
        None => ends.push(*more),
    }
}

/// Sorts reasons by frequency, the most frequent first.
pub(super) fn sort_ends(ends: &mut [EndCount]) {
    ends.sort_unstable_by_key(|end| (std::cmp::Reverse(end.count), end.end));
}
