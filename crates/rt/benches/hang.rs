//! How soon a thread that hangs is demoted: `cargo bench -p tactus-rt --bench hang -- [TIMES]`
//! (root). The charge has `fifo:20` and a limit of 5 ms, and computes until it is an ordinary
//! thread.

use anyhow::{Context, ensure};
use tactus_model::policy::Scheduling;
use tactus_model::time::{Monotonic, Nanos};
use tactus_prepare::ThreadRef;
use tactus_rt::{Action, Flow, Incident, Policy, Process, Restart};
use tactus_stats::LatencyHistogram;
use tactus_sys::clock;

const LIMIT: Nanos = Nanos::from_millis(5);
const TOLERATED: Nanos = Nanos::from_millis(1);

fn main() -> anyhow::Result<()> {
    let times: u32 = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(100);
    ensure!(times > 0, "nothing to do: write how often the thread hangs, e.g. 100");
    let rt = Process::builder().lock_memory().supervise(LIMIT, Action::Demote).start()?;
    let cpu = ThreadRef::Calling.cpus()?.iter().last().context("no CPU")?;
    let charge = rt.periodic("hangs", Nanos::from_millis(7)).policy(Policy::Fifo(20)).cpu(cpu);
    let thread = charge.restart(Restart::Times(times - 1)).spawn(|_| {
        let end = clock::now::<Monotonic>() + Nanos::from_secs(1);
        while clock::now::<Monotonic>() < end
            && ThreadRef::Calling.scheduling() != Ok(Scheduling::ORDINARY)
        {}
        Flow::Continue
    })?;
    ensure!(thread.shortfalls().is_empty(), "{:?}", thread.shortfalls());
    let mut found = LatencyHistogram::new();
    loop {
        let ended = thread.has_ended();
        for report in rt.take_reports().reports {
            if let Incident::Hung { after, limit, is_demoted: true } = report.incident {
                found.record(after - limit);
            }
        }
        if ended {
            break;
        }
        std::thread::sleep(LIMIT.into());
    }
    let [p50, p99, max] =
        [0.5, 0.99, 1.0].map(|share| found.quantile(share).unwrap_or_default().as_micros_f64());
    let within = (found.share_within(TOLERATED).unwrap_or_default() * found.count() as f64).round();
    println!(
        "{} of {times} hangs demoted, {within} within {LIMIT} + {TOLERATED}; after the limit, \
         µs: p50 {p50:.1}, p99 {p99:.1}, max {max:.1}",
        found.count()
    );
    Ok(())
}
