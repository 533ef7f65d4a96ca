//! The cost of recording, measured in interleaved blocks next to other tracers.
//!
//! Every block starts and stops each tracer once. While it traces, two real-time
//! threads that are pinned to one CPU pass a byte to and fro (six scheduler events per
//! round), then one thread sleeps a thousand times per second, and then one touches new pages.
//! All results are differences to the run without a tracer in the same block.
//!
//! Usage: `cargo run --release -p tactus-record --example tracing_cost -- TABLE [BLOCKS] [ROUNDS]
//! [SLEEPS] [COMMAND…]`. TABLE is `mechanisms`, or `sleeps` for the events that explain sleeps.
//! Needs root and two CPUs; uses perf, trace-cmd and bpftrace if they are
//! installed. Each COMMAND is an additional tracer to compare; an interrupt must end it.
//! `cargo xtask tracing-cost` compares `tactus why` and `tactus record` too.

mod tracer;
mod workload;

use std::time::Duration;

use tactus_model::time::Monotonic;
use tactus_sys::clock::now;
use tracer::{Tracer, events_between};
use workload::{EVENTS_A_ROUND, faults, ping_pong, sleeper};

/// What one tracer cost in one block.
#[derive(Clone, Copy, Default)]
struct Cost {
    round: f64,
    events_a_round: f64,
    median: f64,
    /// Nanoseconds for a new page.
    fault: f64,
    start: Option<Duration>,
    stop: Option<Duration>,
    lost: u64,
}

/// Returns `None` if the tracer did not run.
fn block(tracer: &Tracer, rounds: u32, sleeps: u32) -> Option<Cost> {
    let (mut running, start) = tracer.start();
    let from = now::<Monotonic>();
    let round = ping_pong(rounds);
    let to = now::<Monotonic>();
    let median = sleeper(sleeps);
    let fault = faults(rounds);
    if !running.is_there() {
        return None;
    }
    let (stop, recorded) = running.stop();
    let mut cost = Cost { round, median, fault, start, stop, ..Cost::default() };
    cost.events_a_round = EVENTS_A_ROUND;
    if let Some(mut recorded) = recorded {
        cost.lost = recorded.summary.lost();
        let events = events_between(&mut recorded, from, to);
        cost.events_a_round = events as f64 / f64::from(rounds);
    }
    Some(cost)
}

/// The quartiles of some values.
fn quartiles(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    [0.25, 0.5, 0.75].map(|share| values[((values.len() - 1) as f64 * share).round() as usize])
}

fn print(name: &str, costs: &[Cost], without: &[Cost]) {
    if costs.len() < without.len() {
        println!("{name:<29} did not run");
        return;
    }
    let each = |cost: &dyn Fn(&Cost, &Cost) -> f64| -> [f64; 3] {
        quartiles(costs.iter().zip(without).map(|(with, off)| cost(with, off)).collect())
    };
    let round = each(&|with, off| with.round - off.round);
    let event = each(&|with, off| (with.round - off.round) / with.events_a_round);
    let median = each(&|with, off| (with.median - off.median) / 1e3);
    let fault = each(&|with, off| with.fault - off.fault);
    let events = quartiles(costs.iter().map(|cost| cost.events_a_round).collect());
    let time = |of: &dyn Fn(&Cost) -> Option<Duration>| -> String {
        let times: Vec<f64> =
            costs.iter().filter_map(of).map(|took| took.as_secs_f64() * 1e3).collect();
        if times.is_empty() { "-".to_owned() } else { format!("{:.0}", quartiles(times)[1]) }
    };
    let lost: u64 = costs.iter().map(|cost| cost.lost).sum();
    println!(
        "{name:<29} {:>6.0} {:>5.0} ({:>5.0}..{:>5.0}) {:>6.1} {:>8.1} ({:>5.1}..{:>5.1}) \
         {:>6.0} ({:>5.0}..{:>5.0}) {:>8} {:>8} {lost:>6}",
        round[1],
        event[1],
        event[0],
        event[2],
        events[1],
        median[1],
        median[0],
        median[2],
        fault[1],
        fault[0],
        fault[2],
        time(&|cost| cost.start),
        time(&|cost| cost.stop),
    );
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let table = arguments.next();
    let mut argument = |default: u32| {
        let word = arguments.next();
        word.map_or(default, |word| word.parse().expect("a number"))
    };
    let (blocks, rounds, sleeps) = (argument(8), argument(20_000), argument(300));
    let tracers = tracer::of_table(table.as_deref(), arguments);
    let mut costs = vec![Vec::new(); tracers.len()];
    for number in 0..blocks as usize {
        for place in 0..tracers.len() {
            // Each block starts with a different tracer.
            let index = (place + number * 5) % tracers.len();
            costs[index].extend(block(&tracers[index].1, rounds, sleeps));
        }
        eprintln!("block {} of {blocks}", number + 1);
    }
    tracer::clean();
    let off = |which: fn(&Cost) -> f64| quartiles(costs[0].iter().map(which).collect())[1];
    println!("{blocks} blocks of {rounds} rounds and {sleeps} sleeps; medians (quartiles)");
    println!(
        "without a tracer: {:.0} ns a round, sleeper late by {:.1} us, {:.0} ns for a new page",
        off(|cost| cost.round),
        off(|cost| cost.median) / 1e3,
        off(|cost| cost.fault)
    );
    println!(
        "{:<29} {:>6} {:>20} {:>6} {:>23} {:>21} {:>8} {:>8} {:>6}",
        "",
        "round",
        "ns an event",
        "events",
        "sleeper, us later",
        "ns a new page",
        "start ms",
        "stop ms",
        "lost"
    );
    for ((name, _), cost) in tracers.iter().zip(&costs) {
        print(name, cost, &costs[0]);
    }
}
