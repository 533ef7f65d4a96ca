//! How soon a thread that hangs is demoted: `cargo bench -p tactus-rt --bench hang -- [TIMES]`
//! (root). The charge has `fifo:20` and a limit of 5 ms, and computes until it is an ordinary
//! thread. It fails if a demotion comes later than the limit plus 1 ms for another reason than
//! that the CPU was taken from both threads, e.g. by the hypervisor.

use std::sync::mpsc::channel;

use anyhow::{Context, ensure};
use tactus_model::policy::Scheduling;
use tactus_model::time::{Instant, Monotonic, Nanos};
use tactus_prepare::ThreadRef;
use tactus_rt::{Action, Flow, Incident, Policy, Process, Restart};
use tactus_stats::LatencyHistogram;
use tactus_sys::clock;

const LIMIT: Nanos = Nanos::from_millis(5);
const TOLERATED: Nanos = Nanos::from_millis(1);

/// Between two readings of the clock by a thread that does nothing else, only others can take
/// this long.
const GAP: Nanos = Nanos::from_micros(50);

/// How one job of the charge hung.
#[derive(Clone, Copy)]
struct Hang {
    began: Instant<Monotonic>,
    /// How long after its limit others had the CPU.
    away: Nanos,
    /// The last reading of the clock before its demotion.
    last: Instant<Monotonic>,
}

impl Hang {
    fn begin() -> Self {
        let began = clock::now();
        Self { began, away: Nanos::ZERO, last: began }
    }

    /// Notes that the charge runs, and has not been demoted.
    fn run(&mut self, now: Instant<Monotonic>) {
        let over = self.began + LIMIT;
        let gap = now - self.last.max(over.min(now));
        if gap > GAP {
            self.away = self.away + gap;
        }
        self.last = now;
    }

    /// How late the demotion was, without the time in which the charge could not run either.
    fn late(&self, after: Nanos) -> Nanos {
        let (over, demoted) = (self.began + LIMIT, self.began + after);
        let away = self.away + (demoted - self.last.max(over.min(demoted)));
        (demoted - over.min(demoted)).saturating_sub(away)
    }
}

fn main() -> anyhow::Result<()> {
    let times: u32 = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(100);
    ensure!(times > 0, "nothing to do: write how often the thread hangs, e.g. 100");
    let rt = Process::builder().lock_memory().supervise(LIMIT, Action::Demote).start()?;
    let cpu = ThreadRef::Calling.cpus()?.iter().last().context("no CPU")?;
    let charge = rt.periodic("hangs", Nanos::from_millis(7)).policy(Policy::Fifo(20)).cpu(cpu);
    let (hung, hangs) = channel();
    let thread = charge.restart(Restart::Times(times - 1)).spawn(move |_| {
        let mut hang = Hang::begin();
        let end = hang.began + Nanos::from_secs(1);
        loop {
            let now = clock::now();
            if now >= end || ThreadRef::Calling.scheduling() == Ok(Scheduling::ORDINARY) {
                break;
            }
            hang.run(now);
        }
        let _ = hung.send(hang);
        Flow::Continue
    })?;
    ensure!(thread.shortfalls().is_empty(), "{:?}", thread.shortfalls());
    let mut found = LatencyHistogram::new();
    let (mut within, mut unstolen) = (0, 0);
    loop {
        let ended = thread.has_ended();
        for report in rt.take_reports().reports {
            if let Incident::Hung { after, limit, is_demoted: true } = report.incident {
                // Each report is of the next job that hung.
                let hang: Hang = hangs.recv()?;
                found.record(after - limit);
                within += u32::from(after <= limit + TOLERATED);
                unstolen += u32::from(hang.late(after) <= TOLERATED);
            }
        }
        if ended {
            break;
        }
        std::thread::sleep(LIMIT.into());
    }
    let [p50, p99, max] =
        [0.5, 0.99, 1.0].map(|share| found.quantile(share).unwrap_or_default().as_micros_f64());
    println!(
        "{} of {times} hangs demoted, {within} within {LIMIT} + {TOLERATED}, {unstolen} without the \
         time in which others had the CPU; after the limit, µs: p50 {p50:.1}, p99 {p99:.1}, max {max:.1}",
        found.count()
    );
    ensure!(
        found.count() == u64::from(times) && unstolen == times,
        "demotions were late or missing"
    );
    Ok(())
}
