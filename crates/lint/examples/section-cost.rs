//! Measures what the guard costs: the latency of a 1 kHz loop's wakeups with and without it, in
//! blocks that alternate in random order, and the time of a system call that is caught.
//!
//! `cargo run --release -p tactus-lint --example section-cost [ROUNDS]`; with `clean` as the argument it
//! runs a clean loop of a million sections at 10 kHz instead and reports what was found, which
//! must be nothing.
#![forbid(unsafe_code)]

use std::fs::File;
use std::hint::black_box;
use std::io::Write as _;
use std::time::{Duration, Instant};

use tactus_lint::{Guard, Lint, Options};
use tactus_model::policy::{RealtimePriority, Scheduling};
use tactus_model::time::{Monotonic, Nanos};
use tactus_sys::memory::Lock;
use tactus_sys::sleep::{Nanosleep, Sleeper as _};
use tactus_sys::{SysError, affinity, clock, memory, sched};

/// The wakeups of a block.
const BLOCK: usize = 500;

/// After this time the program ends, whatever it does.
const LIMIT: Duration = Duration::from_secs(150);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let lint = Lint::start(Options::default())?;
    let began = Instant::now();
    prepare();
    match std::env::args().nth(1).as_deref() {
        Some("clean") => clean(&lint, began),
        rounds => cost(&lint, rounds.map_or(Ok(20), str::parse)?, began),
    }
}

/// Prepares the thread as far as that is permitted.
fn prepare() {
    let fifo = RealtimePriority::new(50).map(Scheduling::Fifo);
    let cpu = "1".parse().ok();
    let prepared = [
        ("lock the memory", memory::lock(Lock::PresentAndFuture).err()),
        ("use CPU 1 alone", cpu.and_then(|cpu| affinity::set(&cpu).err())),
        ("use SCHED_FIFO", fifo.and_then(|policy| sched::set(policy).err())),
    ];
    for (what, error) in prepared {
        if let Some(error) = error {
            eprintln!("cannot {what}: {error}");
        }
    }
}

/// A section's work: it touches some memory.
fn work(memory: &mut [u64]) {
    memory.iter_mut().for_each(|word| *word = black_box(word.wrapping_add(1)));
}

/// The time from due to the end of the work of each wakeup of a block, in nanoseconds, sorted.
fn block(mut guard: Option<Guard>, memory: &mut [u64]) -> Result<Vec<u64>, SysError> {
    let period = Nanos::from_millis(1);
    let mut due = clock::now::<Monotonic>() + period;
    let mut times = Vec::with_capacity(BLOCK);
    for _ in 0..BLOCK {
        Nanosleep.sleep_until(due)?;
        match &mut guard {
            Some(guard) => guard.run(|| work(memory)),
            None => work(memory),
        }
        times.push((clock::now::<Monotonic>() - due).as_nanos());
        due = due + period;
    }
    times.sort_unstable();
    Ok(times)
}

fn cost(lint: &Lint, rounds: usize, began: Instant) -> Result<(), Box<dyn std::error::Error>> {
    let mut memory = vec![0_u64; 512];
    let (mut with, mut without, mut differences) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..rounds {
        if began.elapsed() > LIMIT {
            break;
        }
        let mut pair = [Vec::new(), Vec::new()];
        // The low bits of the clock are as good as a coin.
        let first = usize::from(clock::now::<Monotonic>().as_nanos() & 64 != 0);
        for is_guarded in [first, 1 - first] {
            let guard = if is_guarded == 1 { Some(lint.guard()?) } else { None };
            pair[is_guarded] = block(guard, &mut memory)?;
        }
        let [plain, guarded] = pair;
        let p50 = [&guarded, &plain].map(|times| times[BLOCK / 2] as i64);
        differences.push(p50[0] - p50[1]);
        with.extend(guarded);
        without.extend(plain);
        println!("pair {:2}: p50 {} ns with, {} ns without", round + 1, p50[0], p50[1]);
    }
    differences.sort_unstable();
    let of = |sorted: &[i64], share: usize| sorted[(sorted.len() - 1) * share / 100];
    println!(
        "difference of the medians: {} ns (quartiles {} and {}) in {} pairs",
        of(&differences, 50),
        of(&differences, 25),
        of(&differences, 75),
        differences.len()
    );
    for (name, times) in [("with", &mut with), ("without", &mut without)] {
        times.sort_unstable();
        let of = |share: usize| times[(times.len() - 1) * share / 1000];
        println!("{name}: p50 {} p99 {} p99.9 {} ns", of(500), of(990), of(999));
    }
    catches(lint)
}

/// The time of a system call inside and outside of a section, and of entering one.
fn catches(lint: &Lint) -> Result<(), Box<dyn std::error::Error>> {
    const CALLS: u32 = 10_000;
    let mut guard = lint.guard()?;
    let mut null = File::create("/dev/null")?;
    let mut time = |guard: Option<&mut Guard>| {
        let began = Instant::now();
        let section = guard.map(Guard::enter);
        (0..CALLS).for_each(|_| drop(null.write(&[7])));
        drop(section);
        began.elapsed() / CALLS
    };
    println!("a write to /dev/null: {:?} outside", time(None));
    println!("a write to /dev/null: {:?} inside, mostly to a full ring", time(Some(&mut guard)));
    let began = Instant::now();
    (0..100 * CALLS).for_each(|_| drop(black_box(guard.enter())));
    println!("entering and leaving a section: {:?}", began.elapsed() / (100 * CALLS));
    Ok(())
}

/// Runs a million sections that do nothing wrong.
fn clean(lint: &Lint, began: Instant) -> Result<(), Box<dyn std::error::Error>> {
    let mut memory = vec![0_u64; 512];
    let mut guard = lint.guard()?;
    let mut due = clock::now::<Monotonic>();
    for _ in 0..1_000_000 {
        if began.elapsed() > LIMIT {
            break;
        }
        due = due + Nanos::from_micros(100);
        Nanosleep.sleep_until(due)?;
        guard.run(|| work(&mut memory));
    }
    let report = lint.report();
    println!("{} sections, {} violations", report.sections, report.violations.len());
    report.violations.iter().for_each(|violation| println!("{violation}"));
    Ok(())
}
