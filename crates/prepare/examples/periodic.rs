//! A real-time loop of one millisecond that keeps the latency of each wakeup.

use tactus_model::time::{Instant, Monotonic, Nanos};
use tactus_prepare::{Preparation, TouchedVec, rehearse, touch_stack};
use tactus_sys::sleep::{Nanosleep, Sleeper};
use tactus_sys::{SysError, clock, memory::Lock};

const PERIOD: Nanos = Nanos::from_millis(1);

fn work(due: Instant<Monotonic>, latencies: &mut TouchedVec<Nanos>) -> Result<(), SysError> {
    let woke = Nanosleep.sleep_until(due)?;
    // The work of each period goes here. A full list ignores further samples.
    let _ = latencies.try_push(woke - due);
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut latencies = TouchedVec::take(1000)?;
    let mut preparation = Preparation::new();
    let _held_until_the_end = preparation.limit_idle_states(20);
    preparation.place(&"0".parse()?, "fifo:80".parse()?)?;
    touch_stack(64 << 10);
    rehearse(3, || work(clock::now(), &mut latencies))?;
    latencies.clear();
    preparation.lock_memory(Lock::Present);
    for missing in preparation.finish()?.shortfalls {
        eprintln!("{}: {}", missing.asked, missing.reason);
        eprintln!("fix: {}", missing.fix.as_deref().unwrap_or("none known"));
    }
    let mut due = clock::now();
    for _ in 0..1000 {
        due = due + PERIOD;
        work(due, &mut latencies)?;
    }
    println!("worst latency: {}", latencies.iter().max().copied().unwrap_or_default());
    Ok(())
}
