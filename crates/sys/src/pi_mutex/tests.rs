use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::channel;
use std::thread::{sleep, spawn};
use std::time::Duration;

use tactus_model::cpus::CpuList;
use tactus_model::policy::Scheduling;
use tactus_testing::{Need, skip};

use super::*;
use crate::{affinity, clock, sched};

#[test]
fn one_thread_at_a_time_has_the_value() {
    const ROUNDS: u64 = 20_000;
    let count = Arc::new(PiMutex::new(0_u64));
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let count = Arc::clone(&count);
            spawn(move || (0..ROUNDS).for_each(|_| *count.lock().unwrap() += 1))
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(*count.lock().unwrap(), 4 * ROUNDS);
}

#[test]
fn a_thread_that_has_the_lock_is_refused_and_another_waits() {
    let mutex = Arc::new(PiMutex::new(()));
    let guard = mutex.lock().unwrap();
    assert_eq!(mutex.lock().err(), Some(PiLockError::AlreadyHeld));
    assert_eq!(mutex.try_lock().err(), Some(PiLockError::AlreadyHeld));
    let theirs = Arc::clone(&mutex);
    let other = spawn(move || {
        let busy = theirs.try_lock().unwrap().is_none();
        drop(theirs.lock().unwrap());
        busy
    });
    sleep(Duration::from_millis(5));
    drop(guard);
    assert!(other.join().unwrap(), "try_lock gets no lock that another thread has");
    assert!(mutex.try_lock().unwrap().is_some());
}

#[test]
fn a_panic_poisons_the_value_until_it_is_cleared() {
    let mutex = Arc::new(PiMutex::new(7));
    let theirs = Arc::clone(&mutex);
    let panicked = spawn(move || {
        let _guard = theirs.lock().unwrap();
        panic!("planted");
    });
    assert!(panicked.join().is_err());
    assert_eq!(mutex.lock().err(), Some(PiLockError::Poisoned));
    assert_eq!(mutex.try_lock().err(), Some(PiLockError::Poisoned), "the refusal released it");
    mutex.clear_poison();
    assert_eq!(*mutex.lock().unwrap(), 7);
}

#[test]
fn a_leaked_guard_of_an_ended_thread_is_an_error() {
    let mutex = Arc::new(PiMutex::new(()));
    let theirs = Arc::clone(&mutex);
    spawn(move || std::mem::forget(theirs.lock().unwrap())).join().unwrap();
    assert_eq!(mutex.lock().err(), Some(PiLockError::OwnerEnded));
}

#[test]
fn every_item_of_a_queue_arrives_once() {
    const ITEMS: u64 = 3000;
    type Queue = (PiMutex<Vec<u64>>, PiCondvar);
    let shared: Arc<Queue> = Arc::new((PiMutex::new(Vec::new()), PiCondvar::new()));
    let sum = Arc::new(AtomicU64::new(0));
    let takers: Vec<_> = (0..3)
        .map(|_| {
            let (shared, sum) = (Arc::clone(&shared), Arc::clone(&sum));
            spawn(move || {
                let (queue, ready) = &*shared;
                loop {
                    let mut guard = queue.lock().unwrap();
                    let item = loop {
                        match guard.pop() {
                            Some(item) => break item,
                            None => guard = ready.wait(guard).unwrap(),
                        }
                    };
                    drop(guard);
                    // Zero ends a taker.
                    if item == 0 {
                        return;
                    }
                    sum.fetch_add(item, Ordering::Relaxed);
                }
            })
        })
        .collect();
    let (queue, ready) = &*shared;
    for item in 1..=ITEMS {
        let mut guard = queue.lock().unwrap();
        guard.insert(0, item);
        ready.notify_one(&guard).unwrap();
    }
    let mut guard = queue.lock().unwrap();
    // Below the items: they are popped from the other end.
    guard.splice(0..0, [0; 3]);
    ready.notify_all(&guard).unwrap();
    drop(guard);
    takers.into_iter().for_each(|taker| taker.join().unwrap());
    assert_eq!(sum.load(Ordering::Relaxed), ITEMS * (ITEMS + 1) / 2);
}

#[test]
fn a_wait_ends_at_its_time_with_the_lock() {
    let (mutex, condition) = (PiMutex::new(()), PiCondvar::new());
    let end = clock::now::<Monotonic>() + Nanos::from_millis(3);
    let mut guard = mutex.lock().unwrap();
    loop {
        let (again, how) = condition.wait_until(guard, end).unwrap();
        guard = again;
        if how == PiWait::TimedOut {
            break;
        }
    }
    assert!(clock::now::<Monotonic>() >= end);
    assert_eq!(mutex.try_lock().err(), Some(PiLockError::AlreadyHeld), "the wait took it again");
    drop(guard);
}

#[test]
fn a_notifier_with_another_lock_is_refused() {
    let shared = Arc::new((PiMutex::new(false), PiCondvar::new()));
    let theirs = Arc::clone(&shared);
    let waiter = spawn(move || {
        let (mutex, condition) = &*theirs;
        let mut guard = mutex.lock().unwrap();
        while !*guard {
            guard = condition.wait(guard).unwrap();
        }
    });
    let other = PiMutex::new(());
    // Once the waiter sleeps; a notification before that finds no waiter, and is no error.
    let refused = (0..1000).any(|_| {
        sleep(Duration::from_millis(1));
        let guard = other.lock().unwrap();
        shared.1.notify_one(&guard) == Err(PiLockError::OtherMutex)
    });
    let mut guard = shared.0.lock().unwrap();
    *guard = true;
    shared.1.notify_all(&guard).unwrap();
    drop(guard);
    waiter.join().unwrap();
    assert!(refused);
}

/// Runs `work` in a thread of `policy` on `cpu`; `None` if the policy is refused.
fn at<T: Send + 'static>(
    policy: &'static str,
    cpu: &CpuList,
    work: impl FnOnce() -> T + Send + 'static,
) -> std::thread::JoinHandle<Option<T>> {
    let cpu = cpu.clone();
    let policy: Scheduling = policy.parse().unwrap();
    spawn(move || {
        affinity::set(&cpu).ok()?;
        sched::set(policy).ok()?;
        Some(work())
    })
}

/// Computes for that much CPU time.
fn compute(length: Nanos) {
    let before = clock::thread_cpu_time();
    while clock::thread_cpu_time() - before < length {}
}

/// A thread of low priority has the lock, one of high priority wants it, and one of the middle
/// computes on the same CPU. Without inheritance, the middle one would end first.
#[test]
fn needs_root_a_waiter_is_not_delayed_by_threads_of_a_priority_between() {
    let cpu: CpuList = affinity::get().unwrap().iter().take(1).collect();
    let mutex = Arc::new(PiMutex::new(()));
    let (taken, is_taken) = channel();
    let theirs = Arc::clone(&mutex);
    let low = at("fifo:10", &cpu, move || {
        let guard = theirs.lock().unwrap();
        taken.send(()).unwrap();
        // Long enough for the others to start: this thread has the CPU only without them.
        sleep(Duration::from_millis(50));
        compute(Nanos::from_millis(2));
        drop(guard);
    });
    let Ok(()) = is_taken.recv() else {
        return skip(Need::Root, "SCHED_FIFO is not permitted");
    };
    let high = at("fifo:30", &cpu, move || {
        let guard = mutex.lock().unwrap();
        drop(guard);
        clock::now::<Monotonic>()
    });
    sleep(Duration::from_millis(10));
    let middle = at("fifo:20", &cpu, || {
        sleep(Duration::from_millis(30));
        compute(Nanos::from_millis(100));
        clock::now::<Monotonic>()
    });
    let [high, middle] = [high, middle].map(|thread| thread.join().unwrap().unwrap());
    assert!(high < middle, "the thread of high priority waited for that of the middle");
    low.join().unwrap();
}
