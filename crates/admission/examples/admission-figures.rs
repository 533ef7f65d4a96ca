//! Decisions per second, and the share of random sets that only the exact test admits.
//!
//! `cargo run --release -p tactus-admission --example admission-figures`

use std::time::Instant;

use tactus_admission::fixed_priority::{ranks, responses};
use tactus_admission::{Steps, Task, bounds, demand};

#[path = "../fixtures/random.rs"]
mod random;

use random::Random;

/// Periods from 1 ms to 1 s, in nanoseconds.
const PERIODS: (u64, u64) = (1_000_000, 1_000_000_000);

fn main() {
    println!("decisions per second, sets of random tasks at 85 %");
    for count in [10, 100] {
        let sets: Vec<Vec<Task>> =
            (0..500).map(|seed| Random::new(seed).tasks(count, 0.85, PERIODS)).collect();
        rate(&format!("{count} tasks, Liu-Layland"), &sets, bounds::liu_layland);
        rate(&format!("{count} tasks, hyperbolic"), &sets, |tasks| {
            bounds::hyperbolic(tasks).is_at_most(2)
        });
        rate(&format!("{count} tasks, response times"), &sets, all_meet);
        rate(
            &format!("{count} tasks, demand (deadlines at 50 to 100 % of the period)"),
            &constrained(&sets),
            fits,
        );
    }
    println!("\nshare of 1000 random sets admitted, in per cent");
    println!(
        "used  tasks  Liu-Layland  hyperbolic  response times  exact only  exact beside hyperbolic"
    );
    for count in [3, 10] {
        for percent in (60..=100).step_by(5) {
            let total = f64::from(percent) / 100.0;
            let (mut simple, mut hyperbolic, mut exact) = (0, 0, 0);
            for seed in 0..1000 {
                let tasks = Random::new(seed).tasks(count, total, PERIODS);
                simple += u32::from(bounds::liu_layland(&tasks));
                hyperbolic += u32::from(bounds::hyperbolic(&tasks).is_at_most(2));
                exact += u32::from(all_meet(&tasks));
            }
            let share = |sets: u32| f64::from(sets) / 10.0;
            println!(
                "{percent:>3} %  {count:>5}  {:>11}  {:>10}  {:>14}  {:>10.1}  {:>23.1}",
                share(simple),
                share(hyperbolic),
                share(exact),
                share(exact) - share(simple),
                share(exact) - share(hyperbolic)
            );
        }
    }
}

fn all_meet(tasks: &[Task]) -> bool {
    let responses = responses(tasks, &ranks(tasks), &mut Steps::default());
    let mut pairs = responses.iter().zip(tasks);
    pairs.all(|(response, task)| response.meets(task.deadline()) == Some(true))
}

fn fits(tasks: &[Task]) -> bool {
    demand::demand(tasks, &mut Steps::default()).fits() == Some(true)
}

/// The same tasks with deadlines before the end of their period.
fn constrained(sets: &[Vec<Task>]) -> Vec<Vec<Task>> {
    let mut random = Random::new(1);
    let mut sets = sets.to_vec();
    for task in sets.iter_mut().flatten() {
        let (cost, period) = (task.cost().as_nanos(), task.period().as_nanos());
        let deadline = random.between(cost.max(period / 2), period);
        *task = task
            .clone()
            .with_deadline(tactus_model::time::Nanos::from_nanos(deadline))
            .expect("a possible deadline");
    }
    sets
}

fn rate(what: &str, sets: &[Vec<Task>], test: impl Fn(&[Task]) -> bool) {
    let begin = Instant::now();
    let (mut decisions, mut admitted) = (0_u64, 0_u64);
    while begin.elapsed().as_secs_f64() < 1.0 {
        for tasks in sets {
            admitted += u64::from(test(tasks));
            decisions += 1;
        }
    }
    let per_second = decisions as f64 / begin.elapsed().as_secs_f64();
    let share = admitted as f64 / decisions as f64 * 100.0;
    println!("{what}: {per_second:.0}/s, {share:.0} % admitted");
}
