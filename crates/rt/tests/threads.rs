//! Threads of the library on this machine: their jobs, their ends, and what is reported.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{channel, sync_channel};
use std::sync::{Arc, Mutex};

use tactus_model::policy::Scheduling;
use tactus_model::time::{Instant, Monotonic, Nanos};
use tactus_prepare::ThreadRef;
use tactus_rt::{
    Action, Ended, Finished, Flow, Incident, Overrun, Policy, Process, Refused, Restart, Thread,
};
use tactus_sys::{clock, usage};
use tactus_testing::{Need, skip};

const MS: Nanos = Nanos::from_millis(1);

fn process() -> Process {
    Process::builder().start().unwrap()
}

/// Computes until `end`.
fn busy_until(end: Instant<Monotonic>) {
    while clock::now::<Monotonic>() < end {
        std::hint::spin_loop();
    }
}

#[test]
fn a_periodic_thread_runs_once_for_each_due_time_until_its_body_stops() {
    let ticks = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&ticks);
    let thread = process()
        .periodic("ticks", MS)
        .spawn(move |tick| {
            kept.lock().unwrap().push(*tick);
            if tick.index >= 20 { Flow::Stop } else { Flow::Continue }
        })
        .unwrap();
    let Finished { ended, stats, .. } = thread.join();
    assert_eq!(ended, Ended::Stopped);
    let ticks = ticks.lock().unwrap();
    assert_eq!(stats.run, ticks.len() as u64);
    assert_eq!(stats.intended(), ticks.last().unwrap().index + 1, "run + missed");
    assert_eq!((stats.lateness.count(), stats.durations.count()), (stats.run, stats.run));
    let first = ticks[0].due;
    for tick in ticks.iter() {
        assert_eq!(tick.due, first + MS.saturating_mul(tick.index), "due times have a fixed grid");
        assert!(tick.woke >= tick.due);
    }
}

#[test]
fn threads_with_the_same_first_due_time_run_in_step() {
    let first = clock::now::<Monotonic>();
    let due = [MS, Nanos::from_millis(2)].map(|period| {
        let (seen, due) = sync_channel(1);
        let thread = process()
            .periodic("step", period)
            .first_at(first)
            .spawn(move |tick| {
                seen.send(tick.due).unwrap();
                Flow::Stop
            })
            .unwrap();
        assert_eq!(thread.join().ended, Ended::Stopped);
        (due.recv().unwrap() - first, period)
    });
    for (since, period) in due {
        assert_eq!(since.as_nanos() % period.as_nanos(), 0);
    }
}

#[test]
fn a_job_that_takes_too_long_is_counted_by_the_policy() {
    let run = |overrun| {
        let thread = process()
            .periodic("overrun", MS)
            .overrun(overrun)
            .spawn(|tick| {
                if tick.index == 0 {
                    busy_until(tick.due + Nanos::from_micros(3500));
                }
                if tick.index >= 5 { Flow::Stop } else { Flow::Continue }
            })
            .unwrap();
        let finished = thread.join();
        (finished.stats, finished.ended)
    };
    let (stats, ended) = run(Overrun::Skip);
    assert_eq!(ended, Ended::Stopped);
    assert!(stats.missed >= 3 && stats.shifted == Nanos::ZERO, "{stats:?}");
    let (stats, _) = run(Overrun::CatchUp(u32::MAX));
    assert_eq!((stats.run, stats.missed), (6, 0));
    let (stats, _) = run(Overrun::Shift);
    assert_eq!((stats.run, stats.missed), (6, 0));
    assert!(stats.shifted >= Nanos::from_micros(2500), "{stats:?}");
    let (stats, ended) = run(Overrun::Stop);
    assert_eq!(ended, Ended::Overrun { missed: stats.missed });
    assert!(stats.missed >= 3 && stats.run == 1, "{stats:?}");
}

#[test]
fn a_thread_with_a_long_period_stops_when_it_is_asked() {
    let hour = Nanos::from_secs(3600);
    let thread = process().periodic("hourly", hour).spawn(|_| Flow::Continue).unwrap();
    assert_eq!(thread.stop().ended, Ended::Requested);
}

#[test]
fn several_threads_wait_for_one() {
    let thread = process().periodic("shared", MS).spawn(|_| Flow::Continue).unwrap();
    std::thread::scope(|scope| {
        let waits: Vec<_> = (0..3).map(|_| scope.spawn(|| thread.wait().ended)).collect();
        thread.request_end();
        for wait in waits {
            assert_eq!(wait.join().unwrap(), Ended::Requested);
        }
    });
    assert!(thread.has_ended() && !thread.is_current());
    assert_eq!(thread.join().ended, Ended::Requested);
}

#[test]
fn a_thread_that_waits_for_itself_fails_and_one_that_drops_itself_ends() {
    let waits = |thread: Thread| drop(thread.join());
    for (body, stops) in [(waits as fn(Thread), true), (drop, false)] {
        let (give, given) = sync_channel::<Thread>(1);
        let (said, heard) = sync_channel(1);
        let thread = process().periodic("itself", MS).spawn(move |_| {
            let thread = given.recv().unwrap();
            assert!(thread.is_current());
            let result = catch_unwind(AssertUnwindSafe(|| body(thread)));
            said.send(result.is_err()).unwrap();
            Flow::Continue
        });
        give.send(thread.unwrap()).unwrap();
        assert_eq!(heard.recv().unwrap(), stops);
        // The handle was dropped, so the thread ends without another job.
        assert!(heard.recv().is_err());
    }
}

#[test]
fn a_deep_stack_is_touched() {
    const DEEP: usize = 64 << 20;
    let thread = process().periodic("deep", MS).stack(DEEP).spawn(|_| Flow::Stop).unwrap();
    assert_eq!(thread.join().ended, Ended::Stopped);
}

#[test]
fn a_loop_causes_no_page_fault_after_its_start() {
    let process = Process::builder().lock_memory().start().unwrap();
    let (report, faults) = sync_channel(1);
    let mut before = 0;
    let thread = process
        .periodic("faults", Nanos::from_micros(200))
        .spawn(move |tick| {
            let faults = || usage::of_this_thread().unwrap().minor_faults;
            if tick.index < 50 {
                before = faults();
                return Flow::Continue;
            }
            if tick.index < 1000 {
                return Flow::Continue;
            }
            report.send(faults() - before).unwrap();
            Flow::Stop
        })
        .unwrap();
    if !thread.granted().memory_locked {
        let reason = thread.shortfalls().iter().map(|missing| missing.reason.clone());
        skip(Need::Root, reason.collect::<String>());
    }
    assert_eq!(thread.join().ended, Ended::Stopped);
    // Another test may start a thread meanwhile, which splits a mapping.
    assert!(faults.recv().unwrap() < 5);
}

#[test]
fn a_panic_is_caught_reported_and_ends_the_thread() {
    let process = process();
    let thread = process.periodic("panics", MS).spawn(|_| panic!("planted {}", 7)).unwrap();
    let id = thread.id();
    assert_eq!(thread.join().ended, Ended::Panicked("planted 7".to_owned()));
    let taken = process.take_reports();
    let [report] = &taken.reports[..] else { panic!("{taken:?}") };
    assert_eq!((&*report.name, report.thread), ("panics", id));
    assert_eq!(report.incident, Incident::Panicked { message: "planted 7".to_owned() });
}

#[test]
fn a_thread_restarts_as_often_as_its_policy_says() {
    let process = process();
    let thread = process
        .periodic("restarts", MS)
        .restart(Restart::Times(2))
        .spawn(|tick| panic!("start {}", tick.restarts))
        .unwrap();
    let Finished { ended, stats, .. } = thread.join();
    assert_eq!((stats.run, stats.restarts), (3, 2), "a job that panicked ran");
    assert_eq!(ended, Ended::Panicked("start 2".to_owned()));
    let incidents: Vec<_> =
        process.take_reports().reports.into_iter().map(|report| report.incident).collect();
    let panicked = |start: u32| Incident::Panicked { message: format!("start {start}") };
    let restarted = |remaining| Incident::Restarted { remaining };
    assert_eq!(incidents, [panicked(0), restarted(1), panicked(1), restarted(0), panicked(2)]);
}

/// Computes until the calling thread is an ordinary one, for two seconds at most.
fn hang() {
    let end = clock::now::<Monotonic>() + Nanos::from_secs(2);
    while clock::now::<Monotonic>() < end
        && ThreadRef::Calling.scheduling() != Ok(Scheduling::ORDINARY)
    {}
}

#[test]
fn needs_root_a_hung_thread_is_demoted_once_reported_and_restarted_with_its_policy() {
    // Longer than a pause of a busy machine, which must not look like a hang.
    let process = Process::builder().supervise(Nanos::from_millis(200), Action::Demote).start();
    let process = process.unwrap();
    let fifo: Scheduling = "fifo:20".parse().unwrap();
    let (report, seen) = channel();
    let thread = process
        .periodic("hangs", MS)
        .policy(Policy::Fifo(20))
        .cpu(ThreadRef::Calling.cpus().unwrap().iter().next().unwrap())
        .restart(Restart::Times(1))
        .spawn(move |tick| {
            report.send((ThreadRef::Calling.scheduling().unwrap(), tick.restarts)).unwrap();
            if tick.index > 0 {
                hang();
            }
            Flow::Continue
        })
        .unwrap();
    if thread.granted().scheduling != fifo {
        return skip(Need::Root, "SCHED_FIFO is not permitted");
    }
    let Finished { ended, stats, .. } = thread.join();
    assert_eq!(ended, Ended::Hung);
    assert_eq!((stats.hung, stats.restarts), (2, 1));
    let seen: Vec<_> = seen.iter().collect();
    assert_eq!(seen, [(fifo, 0), (fifo, 0), (fifo, 1)], "the policy before each job");
    let incidents: Vec<_> =
        process.take_reports().reports.into_iter().map(|report| report.incident).collect();
    let [first, restarted, second] = &incidents[..] else { panic!("{incidents:?}") };
    assert_eq!(*restarted, Incident::Restarted { remaining: 0 });
    for hung in [first, second] {
        let Incident::Hung { after, limit, is_demoted: true } = hung else { panic!("{hung:?}") };
        assert!(after >= limit);
    }
}

#[test]
fn a_hung_job_is_reported_while_it_runs_and_dropping_its_thread_does_not_wait() {
    let process = Process::builder().supervise(Nanos::from_millis(2), Action::Report).start();
    let process = process.unwrap();
    let (release, released) = channel::<()>();
    let thread = process
        .periodic("blocked", MS)
        .spawn(move |_| {
            // Ends with its sender.
            let _ = released.recv();
            Flow::Continue
        })
        .unwrap();
    let reports = loop {
        let reports = process.take_reports().reports;
        if !reports.is_empty() {
            break reports;
        }
        std::thread::yield_now();
    };
    let limit = Nanos::from_millis(2);
    assert!(
        matches!(reports[..], [tactus_rt::Report { incident: Incident::Hung { limit: found, is_demoted: false, .. }, .. }] if found == limit),
        "{reports:?}"
    );
    assert_eq!(thread.stats().hung, 1);
    drop(thread);
    drop(release);
}

#[test]
fn a_thread_with_a_reserve_says_which_mechanism_keeps_it_or_what_it_lacks() {
    let capacity = "1ms/20ms".parse().unwrap();
    let thread = process()
        .periodic("reserved", Nanos::from_millis(20))
        .policy(Policy::Reserve(capacity))
        .supervise(Nanos::from_millis(15), Action::Demote)
        .spawn(|_| Flow::Stop)
        .unwrap();
    let rung = thread.rung();
    let missing = thread.shortfalls().iter().find(|missing| missing.asked == "reserve 1ms/20ms");
    assert_eq!(rung.is_some(), missing.is_none());
    if let Some(missing) = missing {
        skip(Need::Root, &missing.reason);
    }
    assert_eq!(thread.join().ended, Ended::Stopped);
}

#[test]
fn wrong_settings_are_refused_with_the_nearest() {
    let check = |refused: Result<tactus_rt::Thread, Refused>, expected: &str| {
        assert_eq!(refused.unwrap_err().to_string(), expected);
    };
    let go = |_: &tactus_rt::Tick| Flow::Stop;
    let rt = process();
    let zero = rt.periodic("servo", Nanos::ZERO).spawn(go);
    check(zero, "a period of 0ns is out of range; the nearest is 10us");
    check(
        rt.periodic("servo", Nanos::MAX).spawn(go),
        "a period of 18446744073709551.615us is out of range; the nearest is 24h",
    );
    check(
        rt.periodic("servo", MS).policy(Policy::Fifo(100)).spawn(go),
        "priority 100 is out of range 1 to 99; the nearest is 99",
    );
    check(
        rt.periodic("servo", MS)
            .policy(Policy::RoundRobin(99))
            .supervise(MS, Action::Demote)
            .spawn(go),
        "priority 99 is out of range 1 to 98, because the supervisor needs the priority above; the nearest is 98",
    );
    check(
        rt.periodic("servo", MS).supervise(Nanos::ZERO, Action::Report).spawn(go),
        "a supervisor's limit of 0ns is out of range; the nearest is 100us",
    );
    for name in ["", "a\0b", "sixteen-letters-"] {
        assert!(matches!(rt.periodic(name, MS).spawn(go), Err(Refused::Name(_))), "{name:?}");
    }
    let none = rt.periodic("servo", MS).cpus("".parse().unwrap_or_default()).spawn(go);
    check(none, "the list of CPUs is empty; name at least one, e.g. 1");
    let deep = rt.periodic("servo", MS).stack(usize::MAX).spawn(go);
    assert!(matches!(deep, Err(Refused::Stack { .. })));
    check(
        rt.periodic("servo", MS).stack(0).spawn(go),
        "a stack of 0 bytes is out of range; the nearest is 4096",
    );
    let never = rt.periodic("servo", MS).first_at(Instant::from_nanos(u64::MAX)).spawn(go);
    let said = never.unwrap_err().to_string();
    assert!(said.ends_with("is out of range; the latest is in 8784\u{202f}h"), "{said}");
    let limit = Process::builder().supervise(Nanos::ZERO, Action::Demote).start();
    assert!(matches!(limit, Err(Refused::Limit { .. })));
}
