//! A servo loop of 1 kHz that holds a simulated motor at its target, with a live scope.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tactus_rt::time::Nanos;
use tactus_rt::{Action, Flow, Overrun, Policy, Process};

const WIDTH: usize = 48;

/// The target jumps between two places every second.
fn target(index: u64) -> f64 {
    if (index / 1000).is_multiple_of(2) { 0.2 } else { 0.8 }
}

fn main() -> anyhow::Result<()> {
    let limit = Nanos::from_millis(50);
    let rt = Process::builder().lock_memory().supervise(limit, Action::Demote).start()?;
    let shown = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
    let scope = Arc::clone(&shown);
    let (mut place, mut speed, mut sum) = (0.5, 0.0, 0.0);
    let servo = rt.periodic("servo", Nanos::from_millis(1)).policy(Policy::Fifo(80));
    let thread = servo.overrun(Overrun::Skip).spawn(move |tick| {
        // The motor moves on while due times are missed.
        let step = 1e-3 * (1 + tick.missed) as f64;
        let error = target(tick.index) - place;
        sum += error * step;
        // The controller drives the motor, which has friction.
        let drive = 120.0 * error + 40.0 * sum - 14.0 * speed;
        speed += (drive - 2.0 * speed) * step;
        place += speed * step;
        shown[0].store(f64::to_bits(place), Ordering::Relaxed);
        shown[1].store(tick.index, Ordering::Relaxed);
        if tick.index < 4000 { Flow::Continue } else { Flow::Stop }
    })?;
    for missing in thread.shortfalls() {
        let fix = missing.fix.as_deref().unwrap_or("none known");
        eprintln!("{}: {}. fix: {fix}", missing.asked, missing.reason);
    }
    while !thread.has_ended() {
        std::thread::sleep(Duration::from_millis(100));
        let column = |place: f64| (place.clamp(0.0, 1.0) * (WIDTH - 1) as f64) as usize;
        let mut line = [b' '; WIDTH];
        line[column(target(scope[1].load(Ordering::Relaxed)))] = b'|';
        line[column(f64::from_bits(scope[0].load(Ordering::Relaxed)))] = b'*';
        let (stats, line) = (thread.stats(), String::from_utf8_lossy(&line));
        let late = |share| stats.lateness.quantile(share).unwrap_or_default().as_micros_f64();
        let (p50, p99, worst, missed) = (late(0.5), late(0.99), late(1.0), stats.missed);
        println!("{line} late p50 {p50:6.1} p99 {p99:6.1} worst {worst:7.1} µs, missed {missed}");
    }
    rt.take_reports().reports.iter().for_each(|report| println!("{report}"));
    Ok(())
}
