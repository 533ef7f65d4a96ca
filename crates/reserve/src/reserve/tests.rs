//! Reserves of threads of the test itself. Threads that could run away are pinned and end after a
//! stated time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tactus_testing::{Need, skip};

use super::*;

/// Runs `test` in a thread of its own, whose policy nobody inherits; skips what is refused.
fn in_a_thread(test: impl FnOnce() -> Result<(), Refused> + Send + 'static) {
    if let Err(refused) = std::thread::spawn(test).join().unwrap() {
        skip(Need::Root, refused.to_string());
    }
}

fn capacity(text: &str) -> Capacity {
    text.parse().unwrap()
}

fn class() -> String {
    ThreadRef::Calling.scheduling().unwrap().to_string()
}

/// Computes for a time by the clock on the wall.
fn compute(time: Duration) {
    let until = Instant::now() + time;
    while Instant::now() < until {
        std::hint::spin_loop();
    }
}

#[test]
fn needs_root_a_thread_has_its_capacity_until_the_reserve_is_dropped() {
    in_a_thread(|| {
        let rungs = &[Rung::Deadline];
        let mut reserve = Reserve::grant(ThreadRef::Calling, capacity("1ms/10ms"), rungs)?;
        assert_eq!(class(), "deadline:1ms/10ms/10ms");
        reserve.change(capacity("2ms/10ms:8ms"))?;
        assert_eq!(class(), "deadline:2ms/8ms/10ms");
        drop(reserve);
        assert_eq!(class(), "other");
        Ok(())
    });
}

#[test]
fn needs_root_a_refused_change_names_the_largest_cost_and_changes_nothing() {
    in_a_thread(|| {
        let rungs = &[Rung::Deadline];
        let mut reserve = Reserve::grant(ThreadRef::Calling, capacity("1ms/10ms"), rungs)?;
        let before = class();
        for wrong in ["1ms/5s", "20us/50us", "1000ns/1ms"] {
            let refused = reserve.change(capacity(wrong)).unwrap_err();
            let Refused::Rungs { rungs, .. } = refused else { panic!("{wrong}") };
            assert!(
                rungs[0].fix.as_deref().is_some_and(|fix| fix.starts_with("ask for a")),
                "{rungs:?}"
            );
            assert_eq!(class(), before, "{wrong}");
            assert_eq!(reserve.capacity(), capacity("1ms/10ms"));
        }
        Ok(())
    });
}

#[test]
fn needs_root_a_reserved_thread_starts_ordinary_threads() {
    in_a_thread(|| {
        for rung in [Rung::Deadline, Rung::Priority] {
            let reserve = Reserve::grant(ThreadRef::Calling, capacity("1ms/10ms"), &[rung])?;
            assert_eq!(std::thread::spawn(class).join().unwrap(), "other", "{rung}");
            drop(reserve);
            assert_eq!(class(), "other");
        }
        Ok(())
    });
}

#[test]
fn needs_root_a_priority_is_taken_away_when_the_cost_is_used_up() {
    in_a_thread(|| {
        let first = ThreadRef::Calling.cpus()?.iter().take(1).collect();
        ThreadRef::Calling.pin(&first)?;
        let rungs = &[Rung::Priority];
        let reserve = Reserve::grant(ThreadRef::Calling, capacity("5ms/40ms"), rungs)?;
        compute(Duration::from_millis(400));
        let usage = reserve.usage()?;
        assert!(usage.demotions.unwrap() >= 1, "{usage:?}");
        assert!(usage.used > Nanos::ZERO);
        drop(reserve);
        assert_eq!(class(), "other");
        Ok(())
    });
}

#[test]
fn needs_root_the_enforcer_of_a_thread_that_ended_sleeps_or_ends() {
    in_a_thread(|| {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let thread = ThreadRef::Id(ThreadId(child.id().cast_signed()));
        let reserve = Reserve::grant(thread, capacity("5ms/40ms"), &[Rung::Priority]);
        child.kill().unwrap();
        child.wait().unwrap();
        let reserve = reserve?;
        let Keeper::Priority(enforcer) = &reserve.keeper else { panic!() };
        let until = Instant::now() + Duration::from_secs(10);
        while !enforcer.has_ended() {
            assert!(Instant::now() < until, "the enforcer continues");
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    });
}

#[test]
fn needs_root_a_group_with_a_budget_or_a_weight_ends_with_its_reserve() {
    for rung in [Rung::Group, Rung::Weight] {
        in_a_thread(move || {
            let before = std::fs::read_to_string("/proc/thread-self/cgroup").unwrap();
            let mut reserve = Reserve::grant(ThreadRef::Calling, capacity("1ms/10ms"), &[rung])?;
            let group = std::fs::read_to_string("/proc/thread-self/cgroup").unwrap();
            assert!(group.contains("/tactus-"), "{group}");
            reserve.change(capacity("2ms/20ms"))?;
            assert_eq!(reserve.rung(), rung);
            drop(reserve);
            assert_eq!(std::fs::read_to_string("/proc/thread-self/cgroup").unwrap(), before);
            assert_eq!(class(), "other");
            Ok(())
        });
    }
}

#[test]
fn needs_root_a_group_budget_beyond_the_others_names_what_is_left() {
    in_a_thread(|| {
        let whole = capacity("10ms/10ms");
        match Reserve::grant(ThreadRef::Calling, whole, &[Rung::Group]) {
            Err(Refused::Rungs { largest_cost: Some(largest), .. }) => {
                assert!(largest < whole.cost());
                assert_eq!(class(), "other");
                Ok(())
            }
            Err(other) => Err(other),
            Ok(_) => panic!("the kernel keeps a part for ordinary threads"),
        }
    });
}

#[test]
fn without_a_rung_that_holds_a_thread_is_measured() {
    let rungs = &[Rung::Partitioned, Rung::Measured];
    let reserve = Reserve::grant(ThreadRef::Calling, capacity("1ms/10ms"), rungs).unwrap();
    assert_eq!(reserve.rung(), Rung::Measured);
    assert_eq!(reserve.refused()[0].rung, Rung::Partitioned);
    let before = reserve.usage().unwrap().used;
    while reserve.usage().unwrap().used == before {
        std::hint::spin_loop();
    }
}

#[test]
fn a_thread_that_has_ended_is_an_error() {
    let id = std::thread::spawn(tactus_sys::thread::current_id).join().unwrap();
    let refused = Reserve::grant(ThreadRef::Id(id), capacity("1ms/10ms"), Rung::ALL);
    assert!(matches!(refused, Err(Refused::Thread(_))));
}

/// A thread that computes until it is ended.
struct Spinner {
    id: ThreadId,
    end: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Spinner {
    fn start() -> Self {
        let end = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&end);
        let (report, reports) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            report.send(tactus_sys::thread::current_id()).unwrap();
            // In case that the test fails.
            let until = Instant::now() + Duration::from_secs(60);
            while !ended.load(Ordering::Relaxed) && Instant::now() < until {
                std::hint::spin_loop();
            }
        });
        Self { id: reports.recv().unwrap(), end, thread: Some(thread) }
    }

    fn ran(&self) -> Nanos {
        scheduled_time(self.id).unwrap().ran
    }

    /// Whether it runs within a time.
    fn runs(&self, within: Duration) -> bool {
        let (before, until) = (self.ran(), Instant::now() + within);
        while self.ran() == before {
            if Instant::now() > until {
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        true
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        // In case that it is stuck.
        let _ = ThreadRef::Id(self.id).put_back(Scheduling::ORDINARY);
        self.end.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
    }
}

#[test]
fn needs_root_a_thread_that_the_kernel_left_throttled_runs_again() {
    const MS: Duration = Duration::from_millis(1);
    let grant = |spinner: &Spinner| {
        Reserve::grant(ThreadRef::Id(spinner.id), capacity("1ms/10ms"), &[Rung::Deadline])
    };
    let spinner = Spinner::start();
    for _ in 0..10 {
        // It enters the class again after its replenishment and before its 0-lag time.
        match grant(&spinner) {
            Ok(reserve) => {
                std::thread::sleep(8 * MS);
                drop(reserve);
            }
            Err(refused) => return skip(Need::Root, refused.to_string()),
        }
        std::thread::sleep(12 * MS);
        let Ok(reserve) = grant(&spinner) else { continue };
        if !spinner.runs(300 * MS) {
            reserve.renew().unwrap();
            assert!(spinner.runs(10_000 * MS));
            return;
        }
        let release = reserve.release();
        std::thread::sleep(release.into());
    }
    // A kernel without the defect, or a thread that was never in debt.
}

#[test]
fn needs_root_a_thread_that_waits_until_it_is_forgotten_runs() {
    let spinner = Spinner::start();
    for held in [3, 5, 8, 11, 14] {
        let thread = ThreadRef::Id(spinner.id);
        match Reserve::grant(thread, capacity("2ms/10ms"), &[Rung::Deadline]) {
            Ok(reserve) => {
                assert!(spinner.runs(Duration::from_secs(10)), "after {held} ms");
                std::thread::sleep(Duration::from_millis(held));
                std::thread::sleep(reserve.release().into());
            }
            Err(refused) => return skip(Need::Root, refused.to_string()),
        }
    }
}
