//! The tables of accounts.

use tactus_explain::account::{Account, Accounts, Billing, End, TickClock};
use tactus_model::result::Histogram;
use tactus_model::time::Nanos;
use tactus_stats::LatencyHistogram;

use super::AccountsBy;
use crate::format;
use crate::table::column::{Column, Entry};

/// A column for a reason why quanta end: its head, its meaning, and the ends it counts.
type EndColumn = (&'static str, &'static str, fn(End) -> bool);

/// The columns of the reasons why quanta end.
const ENDS: [EndColumn; 10] = [
    ("slept", "it went to sleep until an event woke it", |end| matches!(end, End::Slept { .. })),
    ("blocked", "it waited in the kernel or for a device (uninterruptible sleep)", |end| {
        end == End::Blocked
    }),
    ("tick", "the tick preempted it because other threads had waited long enough", |end| {
        end == End::TickExpiry
    }),
    ("wakeup", "a woken thread preempted it", |end| end == End::PreemptedByWoken),
    ("priority", "a real-time or deadline thread of higher priority preempted it", |end| {
        end == End::PreemptedByPriority
    }),
    ("other", "another thread preempted it; the reason was not recorded", |end| {
        end == End::Preempted
    }),
    ("yielded", "it gave up the CPU while still runnable", |end| end == End::Yielded),
    ("migrated", "the scheduler moved it to another CPU while it ran", |end| end == End::Migrated),
    ("stopped", "a signal or a tracer stopped it", |end| end == End::Stopped),
    ("exited", "it exited", |end| end == End::Exited),
];

/// A row of the usage table: one account, or time outside the accounts shown.
enum Row<'a> {
    Account(&'a Account),
    Others { count: usize, used: Nanos },
    Idle(&'a Account),
    Unknown(Nanos),
}

impl Row<'_> {
    fn time(&self) -> Nanos {
        match self {
            Self::Account(account) | Self::Idle(account) => account.used,
            Self::Others { used, .. } => *used,
            Self::Unknown(time) => *time,
        }
    }

    fn account(&self) -> Option<&Account> {
        match self {
            Self::Account(account) => Some(account),
            _ => None,
        }
    }
}

/// Use of the CPUs; the rows add up to the recorded time.
pub(super) fn usage(accounts: &Accounts, by: AccountsBy, most: usize) -> Vec<Column> {
    let all = by.rows(accounts);
    let (shown, others) = all.split_at(all.len().min(most));
    let mut rows: Vec<Row<'_>> = shown.iter().map(Row::Account).collect();
    if !others.is_empty() {
        let used = others.iter().map(|account| account.used).sum();
        rows.push(Row::Others { count: others.len(), used });
    }
    rows.push(Row::Idle(&accounts.idle));
    if accounts.unknown() > Nanos::ZERO {
        rows.push(Row::Unknown(accounts.unknown()));
    }
    let whole = accounts.time().as_nanos();
    let of = |entry: fn(&Account) -> Entry| {
        move |row: &Row<'_>| row.account().map_or_else(Entry::empty, entry)
    };
    let of_histogram = |histogram: fn(&Account) -> &Histogram, quantile: f64| {
        move |row: &Row<'_>| {
            let histogram = row.account().map(histogram);
            histogram.map_or_else(Entry::empty, |histogram| length(histogram, quantile))
        }
    };
    let rate = |row: &Row<'_>| {
        let rate = row.account().and_then(|account| account.quanta_per_second(accounts.length()));
        rate.map_or_else(Entry::empty, per_second)
    };
    vec![
        Column::names(by.head(), &rows, |row| Entry::text(name(row, by))),
        Column::of("threads", &rows, of(|account| Entry::count(account.threads)))
            .meaning("number of threads")
            .dispensable(if by == AccountsBy::Program { 4 } else { 8 }),
        Column::of("used", &rows, |row| Entry::latency(Some(row.time()))).meaning("CPU time"),
        Column::of("share", &rows, |row| {
            Entry::number(format::share(row.time().as_nanos(), whole), row.time().as_nanos())
        })
        .meaning("share of the time of all CPUs"),
        Column::of("quanta", &rows, of(|account| Entry::count(account.turns())))
            .meaning("number of times it ran on a CPU, from switch-in to switch-out"),
        Column::of("quanta/s", &rows, rate)
            .meaning("quanta per second of the recording")
            .dispensable(2),
        Column::of("median", &rows, of_histogram(|account| &account.quanta, 0.5))
            .meaning("median duration of its effective quanta"),
        Column::of("p99", &rows, of_histogram(|account| &account.quanta, 0.99))
            .meaning("99 % of its quanta were at most this long")
            .dispensable(3),
        Column::of("longest", &rows, of_histogram(|account| &account.quanta, 1.0))
            .meaning("its longest quantum"),
        Column::of("wakeup p50", &rows, of_histogram(|account| &account.wakeup_latency, 0.5))
            .meaning("median time from a wakeup to the switch to the woken thread")
            .dispensable(6),
        Column::of("wakeup p99", &rows, of_histogram(|account| &account.wakeup_latency, 0.99))
            .meaning("99 % of these times were at most this long")
            .dispensable(1),
        Column::of("in interrupts", &rows, |row| match row {
            Row::Account(account) | Row::Idle(account) => part(account.interrupted, account.used),
            _ => Entry::empty(),
        })
        .meaning("share of its time spent in interrupts, softirqs and timers")
        .dispensable(5),
        Column::of("steal time", &rows, of(|account| part(account.stolen, account.used)))
            .meaning("share of its time that the hypervisor took")
            .dispensable(7),
    ]
}

fn name(row: &Row<'_>, by: AccountsBy) -> String {
    match row {
        Row::Account(account) => by.name(account),
        Row::Others { count, .. } => format!("{} more", format::count(*count as u64)),
        Row::Idle(_) => "idle".to_owned(),
        Row::Unknown(_) => "unknown".to_owned(),
    }
}

/// Why quanta ended: the share of each reason, by row.
pub(super) fn ends(accounts: &Accounts, by: AccountsBy, most: usize) -> Vec<Column> {
    let rows = shown(accounts, by, most);
    let all = |account: &Account| account.ends.iter().map(|end| end.count).sum::<u64>();
    let mut columns = vec![
        Column::names(by.head(), &rows, |account| Entry::text(by.name(account))),
        Column::of("ended", &rows, |account| Entry::count(all(account)))
            .meaning("number of quanta whose end was recorded"),
    ];
    for (rank, (head, meaning, is_it)) in (1..).zip(ENDS) {
        let column = Column::of(head, &rows, |account| {
            let counted = account.ends.iter().filter(|end| is_it(end.end));
            let count: u64 = counted.map(|end| end.count).sum();
            if count == 0 {
                return Entry::empty();
            }
            Entry::number(format::share(count, all(account)), count)
        });
        columns.push(column.meaning(meaning).dispensable(rank));
    }
    let calls = Column::names("slept most in", &rows, |account| {
        let call = account.ends.iter().find_map(|end| match end.end {
            End::Slept { call } => call,
            _ => None,
        });
        Entry::optional(call.map(|call| call.to_string()))
    });
    columns.push(
        calls.meaning("the system call in which it slept most often, if recorded").dispensable(11),
    );
    columns
}

/// The time billed by the ticks of `clock`; no columns if they are unknown.
pub(super) fn billing(
    accounts: &Accounts,
    by: AccountsBy,
    most: usize,
    clock: TickClock,
) -> Vec<Column> {
    let rows: Vec<(String, &Billing)> = shown(accounts, by, most)
        .into_iter()
        .filter_map(|account| Some((by.name(account), account.billing(clock)?)))
        .collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let mut columns = vec![
        Column::names(by.head(), &rows, |(name, _)| Entry::text(name.clone())),
        Column::of("used", &rows, |(_, billing)| Entry::latency(Some(billing.used)))
            .meaning("CPU time"),
        Column::of("billed", &rows, |(_, billing)| Entry::latency(Some(billing.billed())))
            .meaning("a whole tick for each tick that occurred while it ran")
            .dispensable(1),
        Column::of("billed/used", &rows, |(_, billing)| ratio(billing.ratio()))
            .meaning("the ratio of both, 1 if billed correctly"),
    ];
    let is_simulated = clock != TickClock::Kernel;
    if is_simulated {
        let range = |range: Option<(f64, f64)>| match range {
            Some((least, greatest)) => Entry::text(format!("{least:.2}–{greatest:.2}")),
            None => Entry::empty(),
        };
        columns.push(
            Column::of("billed/used (all phases)", &rows, |(_, billing)| {
                range(billing.ratio_range())
            })
            .meaning("the minimum and maximum of billed/used over all phases of the ticks")
            .dispensable(2),
        );
    }
    columns.push(
        Column::of("missed", &rows, |(_, billing)| {
            Entry::number(format::share(billing.missed.value, billing.quanta), billing.missed.value)
        })
        .meaning("share of the complete quanta during which no tick occurred"),
    );
    if is_simulated {
        let percent = |share: f64| format!("{:.1}", share * 100.0);
        let missed = Column::of("missed (all phases)", &rows, |(_, billing)| {
            Entry::optional(billing.missed_range().map(|(least, greatest)| {
                format!("{}–{}{}%", percent(least), percent(greatest), format::THIN_SPACE)
            }))
        });
        columns.push(missed.meaning("its range over all phases of the ticks").dispensable(3));
    }
    columns
}

fn shown(accounts: &Accounts, by: AccountsBy, most: usize) -> Vec<&Account> {
    by.rows(accounts).iter().take(most).collect()
}

fn length(histogram: &Histogram, quantile: f64) -> Entry {
    if histogram.count == 0 {
        return Entry::empty();
    }
    Entry::latency(LatencyHistogram::from_record(histogram).quantile(quantile))
}

fn per_second(rate: f64) -> Entry {
    let text = format::quantity(rate);
    Entry::number(text.trim_end_matches(format::THIN_SPACE).to_owned(), (rate * 1e3) as u64)
}

fn part(part: Nanos, whole: Nanos) -> Entry {
    if part == Nanos::ZERO {
        return Entry::empty();
    }
    Entry::number(format::share(part.as_nanos(), whole.as_nanos()), part.as_nanos())
}

fn ratio(ratio: Option<f64>) -> Entry {
    ratio.map_or_else(Entry::empty, |ratio| {
        Entry::number(format!("{ratio:.2}"), (ratio * 1e6) as u64)
    })
}
