//! Records a 1 kHz sleeper on CPU 1 and explains its samples.
//!
//! `sleeper [other|fifo] [SECONDS]`; needs permission to record, preferably root.

#[path = "../tests/support/live.rs"]
#[expect(dead_code, reason = "the tests use the rest")]
mod live;

use live::{PROBE_PRIORITY, SleeperPlan, fifo, print, record_sleeper};
use tactus_explain::Options;
use tactus_model::policy::Scheduling;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let scheduling = match arguments.next().as_deref() {
        Some("other") => Scheduling::ORDINARY,
        _ => fifo(PROBE_PRIORITY),
    };
    let seconds: u64 = arguments.next().map_or(Ok(3), |text| text.parse())?;
    let plan = SleeperPlan::new(1, scheduling, seconds * 1000);
    let session = record_sleeper(plan, |_| Vec::new())?;
    println!(
        "{} events, {} lost, absent: {:?}",
        session.recording.events.len(),
        session.summary.lost(),
        session.summary.absent.iter().map(|absent| &absent.event).collect::<Vec<_>>()
    );
    for shortfall in &session.summary.shortfalls {
        println!("{} → {}: {}", shortfall.asked, shortfall.granted, shortfall.reason);
    }
    let start = live::now();
    let explanation = session.explain(Options::default());
    let took = (live::now() - start).as_secs_f64();
    println!("{:.1} million events/s", session.recording.events.len() as f64 / took / 1e6);
    print(&explanation, 6);
    Ok(())
}
