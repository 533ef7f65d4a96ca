//! The kernel's account of the deadline class stays right, whichever way a reserve ends.
//!
//! The account is the whole machine's, so this is one test, apart from those that are granted
//! reserves side by side.

use std::process::{Child, Command};
use std::time::Duration;

use tactus_model::recording::ThreadId;
use tactus_model::reserve::Capacity;
use tactus_prepare::ThreadRef;
use tactus_reserve::{Refused, Reserve, Rung};
use tactus_testing::{Need, skip};

const TENTH: &str = "2ms/20ms";
const HALF: &str = "10ms/20ms";
/// It leaves a part of some CPU.
const MOST: &str = "19ms/20ms";

/// Ample for the 0-lag time of each of them.
const FORGOTTEN: Duration = Duration::from_millis(60);

#[test]
fn needs_root_the_account_of_the_deadline_class_stays_right() {
    let result = a_full_class_names_the_largest_cost_that_fits()
        .and_then(|()| threads_that_sleep_return_their_bandwidth())
        .and_then(|()| threads_that_have_ended_are_counted_out_once());
    if let Err(refused) = result {
        skip(Need::Root, refused.to_string());
    }
}

/// A process that sleeps until this value is dropped.
struct Sleeper(Child);

impl Sleeper {
    fn start() -> Self {
        Self(Command::new("sleep").arg("60").spawn().unwrap())
    }

    fn grant(&self, text: &str) -> Result<Reserve, Refused> {
        let thread = ThreadRef::Id(ThreadId(self.0.id().cast_signed()));
        Reserve::grant(thread, capacity(text), &[Rung::Deadline])
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn capacity(text: &str) -> Capacity {
    text.parse().unwrap()
}

/// Gives threads a capacity until it is refused. Returns how many had it, and the refusal.
fn fill(text: &str) -> (usize, Refused) {
    let mut held = Vec::new();
    loop {
        let sleeper = Sleeper::start();
        match sleeper.grant(text) {
            Ok(reserve) => held.push((reserve, sleeper)),
            Err(refused) => {
                let count = held.len();
                drop(held);
                std::thread::sleep(FORGOTTEN);
                return (count, refused);
            }
        }
    }
}

fn a_full_class_names_the_largest_cost_that_fits() -> Result<(), Refused> {
    match fill(MOST) {
        (1.., Refused::Rungs { rungs, largest_cost: Some(largest) }) => {
            assert!(largest < capacity(MOST).cost(), "{largest}");
            assert!(rungs[0].fix.as_deref().unwrap().contains(&largest.to_string()));
            Ok(())
        }
        (_, other) => Err(other),
    }
}

fn threads_that_sleep_return_their_bandwidth() -> Result<(), Refused> {
    let (before, _) = fill(TENTH);
    for _ in 0..3 {
        let sleeper = Sleeper::start();
        let reserve = sleeper.grant(HALF)?;
        std::thread::sleep(FORGOTTEN);
        drop(reserve);
        let (now, _) = fill(TENTH);
        assert_eq!(now, before);
    }
    Ok(())
}

/// The kernel counts the threads of the class in each cpuset, and forgets their bandwidth when it
/// adds it up anew and the count is zero.
fn threads_that_have_ended_are_counted_out_once() -> Result<(), Refused> {
    let mut sleeper = Sleeper::start();
    let reserve = sleeper.grant(HALF)?;
    // It ends, and nobody waits for it yet.
    sleeper.0.kill().unwrap();
    let stat = format!("/proc/{}/stat", sleeper.0.id());
    while !std::fs::read_to_string(&stat).unwrap().contains(") Z ") {
        std::thread::sleep(Duration::from_millis(1));
    }
    drop(reserve);
    assert!(sleeper.grant(HALF).is_err(), "a zombie has no reserve");

    let other = Sleeper::start();
    let _reserve = other.grant(HALF)?;
    let (before, _) = fill(TENTH);
    // Linux 6.17 and 6.18 add up anew at this read.
    let _ = std::fs::read_to_string("/proc/sys/kernel/sched_rt_runtime_us").unwrap();
    let (now, _) = fill(TENTH);
    assert_eq!(now, before);
    Ok(())
}
