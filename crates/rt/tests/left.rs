//! Nothing is left of a thread: alone in its process, to count threads and descriptors.

use tactus_model::time::Nanos;
use tactus_rt::{Action, ClockService, Ended, Flow, Process, Restart};

fn count(folder: &str) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}

/// Waits for the kernel to remove threads that were joined.
fn settled(before: usize) -> bool {
    (0..1000).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(1));
        count("/proc/self/task") == before
    })
}

#[test]
fn nothing_is_left_of_threads_that_ended_panicked_or_were_stopped() {
    let (threads, descriptors) = (count("/proc/self/task"), count("/proc/self/fd"));
    for _ in 0..3 {
        let process =
            Process::builder().supervise(Nanos::from_millis(50), Action::Demote).start().unwrap();
        let period = Nanos::from_millis(1);
        let (alarms, port) = ClockService::new().alarms(3).unwrap();
        let panics = process.periodic("panics", period).restart(Restart::Times(1));
        let panics = panics.spawn(|_| panic!("planted")).unwrap();
        let stopped = process.periodic("stopped", period).spawn(|_| Flow::Continue).unwrap();
        let waits = process.event("waits", port).spawn(|_| Flow::Continue).unwrap();
        let dropped = process.periodic("dropped", period).spawn(|_| Flow::Continue).unwrap();
        alarms.set(ClockService::new().read() + Nanos::from_secs(60), 1).unwrap();
        drop(dropped);
        assert!(matches!(panics.join().ended, Ended::Panicked(_)));
        assert_eq!(
            (stopped.stop().ended, waits.stop().ended),
            (Ended::Requested, Ended::Requested)
        );
    }
    assert!(settled(threads), "threads are left");
    assert_eq!(count("/proc/self/fd"), descriptors);
}
