//! A servo loop of 1 kHz that holds a simulated motor at its target. Another process is its live
//! scope and moves the target; whatever that process does, the loop keeps its due times.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tactus_rt::fifo::{FifoReader, FifoWriter};
use tactus_rt::time::{Nanos, latency};
use tactus_rt::{Action, Flow, Overrun, Policy, Process, Watch};

const SOCKET: &str = "/tmp/tactus-servo.sock";
/// The user of the scope, if this program may choose it: `nobody`.
const OTHER: u32 = 65534;

fn main() -> anyhow::Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("scope") => scope(),
        _ => servo(),
    }
}

/// The real-time side.
fn servo() -> anyhow::Result<()> {
    let limit = Nanos::from_millis(50);
    let rt = Process::builder().lock_memory().supervise(limit, Action::Demote).start()?;
    let mut offers = rt.broker(SOCKET).allow_user(OTHER);
    let mut places = offers.fifo_out::<f64>("place", 256)?;
    let targets = offers.fifo_in::<f64>("target", 16)?;
    let broker = offers.start()?;
    broker.shortfalls().iter().for_each(|missing| eprintln!("warning: {missing}"));
    let mut scope = start_scope()?;

    let target = Arc::new(AtomicU64::new(0));
    let aim = Arc::clone(&target);
    let _targets = rt.event("targets", targets).policy(Policy::Fifo(70)).spawn(move |arrived| {
        aim.store(arrived.event.to_bits(), Ordering::Relaxed);
        Flow::Continue
    })?;
    let (mut place, mut speed, mut sum) = (0.5, 0.0, 0.0);
    let servo = rt.periodic("servo", Nanos::from_millis(1)).policy(Policy::Fifo(80));
    // A notice to the scope is the only system call of the loop.
    let watch = (Watch::SYSTEM_CALLS | Watch::PAGE_FAULTS).allow(["futex"]);
    let thread = servo.overrun(Overrun::Skip).watch(watch).mark().spawn(move |tick| {
        // The motor moves on while due times are missed.
        let step = 1e-3 * (1 + tick.missed) as f64;
        let error = f64::from_bits(target.load(Ordering::Relaxed)) - place;
        sum += error * step;
        // The controller drives the motor, which has friction.
        let drive = 120.0 * error + 40.0 * sum - 14.0 * speed;
        speed += (drive - 2.0 * speed) * step;
        place += speed * step;
        // A full FIFO is counted, and the loop goes on.
        let _ = places.try_push(&place);
        if tick.index < 4000 { Flow::Continue } else { Flow::Stop }
    })?;
    let missing = rt.shortfalls().iter().chain(thread.shortfalls());
    missing.for_each(|missing| eprintln!("warning: {missing}"));
    let finished = thread.join();
    let stats = finished.stats;
    let late = |share| latency(stats.lateness.quantile(share).unwrap_or_default());
    println!(
        "late p50 {} p99 {} worst {}, missed {}",
        late(0.5),
        late(0.99),
        late(1.0),
        stats.missed
    );
    finished.violations.into_iter().for_each(|violation| println!("{violation}"));
    rt.take_reports().reports.iter().for_each(|report| println!("{report}"));
    drop(broker);
    scope.wait()?;
    Ok(())
}

/// Starts this program as its scope: before the loop, because a fork makes pages fault.
fn start_scope() -> anyhow::Result<std::process::Child> {
    use std::os::unix::process::CommandExt as _;
    let program = std::env::current_exe()?;
    let start = |command: &mut Command| command.arg("scope").spawn();
    Ok(start(Command::new(&program).uid(OTHER).gid(OTHER))
        .or_else(|_| start(&mut Command::new(&program)))?)
}

/// The ordinary side.
fn scope() -> anyhow::Result<()> {
    const WIDTH: f64 = 47.0;
    let mut places = FifoReader::<f64>::open(SOCKET, "place")?;
    let mut targets = FifoWriter::<f64>::open(SOCKET, "target")?;
    println!("{}", places.separation());
    let mut target = 0.2;
    for number in 0_u32.. {
        if number.is_multiple_of(1000) {
            target = 1.0 - target;
            targets.write(&target)?;
        }
        // The end of the real-time side.
        let Ok(place) = places.read() else { break };
        if number.is_multiple_of(100) {
            let mut line = [b' '; WIDTH as usize + 1];
            line[(target * WIDTH) as usize] = b'|';
            line[(place.clamp(0.0, 1.0) * WIDTH) as usize] = b'*';
            println!("{}", String::from_utf8_lossy(&line));
        }
    }
    Ok(())
}
