//! The accounts of several stretches combined.

use std::collections::BTreeMap;

use tactus_model::recording::ThreadId;
use tactus_model::result::Histogram;
use tactus_stats::LatencyHistogram;

use super::accounts::{Account, Accounts, CpuUse};
use super::billing::{Billing, Range, Scatter};
use super::ledger::{add_end, sort_ends};
use super::tick::KernelTick;

impl Accounts {
    /// Combines the accounts of several stretches as if they had followed each other;
    /// `None` if there are no stretches.
    ///
    /// The minimum and the maximum billed by a simulated clock are sums over the
    /// stretches, because each stretch may have had the clock at another phase.
    pub fn pool(stretches: impl IntoIterator<Item = Self>) -> Option<Self> {
        let mut stretches = stretches.into_iter();
        let mut pooled = stretches.next()?;
        for stretch in stretches {
            pooled.append(stretch);
        }
        pooled.programs.sort_by(|a, b| b.used.cmp(&a.used).then_with(|| a.name.cmp(&b.name)));
        pooled.threads.sort_by(|a, b| b.used.cmp(&a.used).then_with(|| a.thread.cmp(&b.thread)));
        Some(pooled)
    }

    fn append(&mut self, other: Self) {
        let (own, more) = (self.length(), other.length());
        append_cpus(&mut self.cpus, own, other.cpus, more);
        append_accounts(&mut self.programs, other.programs, |account| account.name.clone());
        let key = |account: &Account| -> (Option<ThreadId>, String) {
            (account.thread, account.name.clone())
        };
        append_accounts(&mut self.threads, other.threads, key);
        self.idle.merge(other.idle);
        self.ended = self.ended + more;
        self.missing_switches += other.missing_switches;
        self.tick = match (self.tick.clone(), other.tick) {
            (Ok(own), Ok(more)) => Ok(KernelTick { ticks: own.ticks + more.ticks, ..own }),
            (Err(_), Ok(tick)) => Ok(tick),
            (own, Err(_)) => own,
        };
    }
}

/// If a stretch does not have a CPU of the others, the CPU's time in that stretch is
/// unknown.
fn append_cpus(
    cpus: &mut Vec<CpuUse>,
    own: tactus_model::time::Nanos,
    others: Vec<CpuUse>,
    more: tactus_model::time::Nanos,
) {
    let absent = |cpu| CpuUse {
        cpu,
        used: Default::default(),
        idle: Default::default(),
        unknown: Default::default(),
    };
    let mut all: BTreeMap<u32, [Option<CpuUse>; 2]> = BTreeMap::new();
    for cpu in cpus.drain(..) {
        all.entry(cpu.cpu).or_default()[0] = Some(cpu);
    }
    for cpu in others {
        all.entry(cpu.cpu).or_default()[1] = Some(cpu);
    }
    cpus.extend(all.into_iter().map(|(cpu, [first, second])| {
        let first = first.unwrap_or(CpuUse { unknown: own, ..absent(cpu) });
        let second = second.unwrap_or(CpuUse { unknown: more, ..absent(cpu) });
        CpuUse {
            cpu,
            used: first.used + second.used,
            idle: first.idle + second.idle,
            unknown: first.unknown + second.unknown,
        }
    }));
}

fn append_accounts<K: Ord>(
    accounts: &mut Vec<Account>,
    others: Vec<Account>,
    key: impl Fn(&Account) -> K,
) {
    let mut places: BTreeMap<K, usize> =
        accounts.iter().enumerate().map(|(place, account)| (key(account), place)).collect();
    for other in others {
        match places.get(&key(&other)) {
            Some(&place) => accounts[place].merge(other),
            None => {
                places.insert(key(&other), accounts.len());
                accounts.push(other);
            }
        }
    }
}

impl Account {
    fn merge(&mut self, other: Self) {
        self.process = self.process.filter(|process| other.process == Some(*process));
        self.threads = match self.thread {
            Some(_) => 1,
            None => self.threads + other.threads,
        };
        self.used = self.used + other.used;
        self.interrupted = self.interrupted + other.interrupted;
        self.stolen = self.stolen + other.stolen;
        self.quanta = both(&self.quanta, &other.quanta);
        self.cut.count += other.cut.count;
        self.cut.time = self.cut.time + other.cut.time;
        other.ends.iter().for_each(|end| add_end(&mut self.ends, end));
        sort_ends(&mut self.ends);
        self.wakeup_latency = both(&self.wakeup_latency, &other.wakeup_latency);
        for billing in other.billing {
            match self.billing.iter_mut().find(|own| own.clock == billing.clock) {
                Some(own) => own.merge(billing),
                None => self.billing.push(billing),
            }
        }
    }
}

fn both(first: &Histogram, second: &Histogram) -> Histogram {
    let mut both = LatencyHistogram::from_record(first);
    both.merge_record(second);
    both.to_record()
}

impl Billing {
    fn merge(&mut self, other: Self) {
        self.used = self.used + other.used;
        self.quanta += other.quanta;
        self.ticks = self.ticks.plus(other.ticks);
        self.missed = self.missed.plus(other.missed);
        let mut scatter = Scatter::default();
        self.scatter.iter().chain(&other.scatter).for_each(|point| scatter.add_point(point));
        self.scatter = scatter.points();
    }
}

impl Range {
    fn plus(self, other: Self) -> Self {
        Self {
            value: self.value + other.value,
            least: self.least + other.least,
            mean: self.mean + other.mean,
            greatest: self.greatest + other.greatest,
        }
    }
}
