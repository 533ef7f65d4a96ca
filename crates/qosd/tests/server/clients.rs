//! What well-behaved clients see.

use std::time::Duration;

use tactus_model::time::Nanos;
use tactus_qos::{Constraint, Event, Need, NotAnswered, Overrun};

use crate::support::{MS, Running, Sleeper, need, reserve};

#[test]
fn needs_root_a_reserve_lives_as_long_as_its_connection() {
    let (server, sleeper) = (Running::start(), Sleeper::start());
    let mut client = server.connect();
    let Some(grant) = reserve(&mut client, &sleeper, need(3)) else { return };
    assert_eq!((grant.cost, grant.bound_by), (Nanos::from_micros(300), Constraint::Request));
    assert_eq!(sleeper.policy(), "deadline:300us/10ms/10ms");
    let status = server.connect().status().unwrap();
    assert_eq!((status.connections, status.reserves.len()), (2, 1));
    assert_eq!(status.reserves[0].grant.as_ref(), Some(&grant));
    assert_eq!(status.reserves[0].thread, sleeper.id().0);
    drop(client);
    server.until_reserves(0);
    assert_eq!(sleeper.policy(), "other");
}

#[test]
fn needs_root_a_reserve_is_changed_by_another_connection_of_its_user() {
    let (server, sleeper) = (Running::start(), Sleeper::start());
    let mut client = server.connect();
    let Some(grant) = reserve(&mut client, &sleeper, need(3)) else { return };
    let changed = server.connect().change(grant.reserve, need(2)).unwrap().unwrap();
    assert_eq!(changed.cost, Nanos::from_micros(200));
    assert_eq!(sleeper.policy(), "deadline:200us/10ms/10ms");
    let too_much = Need::new(MS.saturating_mul(10), MS.saturating_mul(9));
    match client.change(grant.reserve, too_much) {
        Err(NotAnswered::Refused(refusal)) => assert_eq!(refusal.bound_by, Constraint::Machine),
        other => panic!("{other:?}"),
    }
    client.release(grant.reserve).unwrap();
    assert_eq!(sleeper.policy(), "other");
    let gone = client.release(grant.reserve).unwrap_err().to_string();
    assert!(gone.contains("NoSuchReserve"), "{gone}");
}

#[test]
fn needs_root_a_follower_sees_changes_use_and_end() {
    let (server, sleeper) = (Running::start(), Sleeper::start());
    let mut client = server.connect();
    let mut events = server.connect().follow(None, Some(MS.saturating_mul(20))).unwrap();
    // The call to follow is served before that of a later connection is.
    assert!(server.is_serving());
    let Some(grant) = reserve(&mut client, &sleeper, need(3)) else { return };
    assert_eq!(events.next().unwrap().unwrap(), Event::Changed(grant.clone()));
    let Event::Used(usage) = events.next().unwrap().unwrap() else { panic!() };
    assert_eq!(usage.reserve, grant.reserve);
    assert!(usage.used <= usage.granted && usage.elapsed >= MS.saturating_mul(20), "{usage:?}");
    drop(client);
    let ended = events.find(|event| matches!(event, Ok(Event::Ended { .. })));
    assert_eq!(ended.unwrap().unwrap().reserve(), grant.reserve);
}

#[test]
fn needs_root_a_newcomer_waits_for_what_others_return() {
    let server = Running::start();
    let sleepers: Vec<Sleeper> = (0..3).map(|_| Sleeper::start()).collect();
    let mut clients: Vec<_> = sleepers.iter().map(|_| server.connect()).collect();
    for (client, sleeper) in clients.iter_mut().zip(&sleepers) {
        if reserve(client, sleeper, need(20)).is_none() {
            return;
        }
    }
    let status = server.connect().status().unwrap();
    assert!(status.granted + status.returning <= status.capacity, "{status:?}");
    let least = |grant: &tactus_qos::Grant| grant.cost >= Nanos::from_micros(100);
    assert!(status.reserves.iter().all(|state| state.grant.as_ref().is_some_and(least)));
}

#[test]
fn needs_root_a_reserve_grows_with_its_measured_use() {
    let server = Running::start();
    let worker = std::thread::spawn({
        let mut client = server.connect();
        move || {
            let need = Need { adapt: Some(true), ..need(10) };
            let grant = crate::support::granted(client.reserve_this_thread(need))?;
            // A spinner uses all that it has until it has the most.
            let spin = || {
                let began = std::time::Instant::now();
                while began.elapsed() < Duration::from_millis(5) {}
            };
            loop {
                spin();
                let state = client.status().unwrap();
                let own = state.reserves.iter().find(|state| state.reserve == grant.reserve)?;
                let now = own.grant.clone()?;
                if now.cost == Nanos::from_millis(1) {
                    return Some(now.bound_by);
                }
            }
        }
    });
    if let Some(bound_by) = worker.join().unwrap() {
        assert_eq!(bound_by, Constraint::Request);
    }
}

#[test]
fn needs_root_a_thread_that_overruns_can_lose_its_reserve() {
    let server = Running::start();
    let mut client = server.connect();
    let spinner = std::thread::spawn(move || {
        let need = Need { overrun: Some(Overrun::Release), ..need(1) };
        let grant = crate::support::granted(client.reserve_this_thread(need))?;
        loop {
            let began = std::time::Instant::now();
            while began.elapsed() < Duration::from_millis(5) {}
            let status = client.status().unwrap();
            if !status.reserves.iter().any(|state| state.reserve == grant.reserve) {
                return Some(tactus_sys::sched::get().unwrap().to_string());
            }
        }
    });
    if let Some(policy) = spinner.join().unwrap() {
        assert_eq!(policy, "other");
    }
}

#[test]
fn a_need_that_does_not_fit_is_answered_with_what_would() {
    let (server, sleeper) = (Running::start(), Sleeper::start());
    let mut client = server.connect();
    let thread = tactus_sys::pidfd::PidFd::of_thread(sleeper.id()).unwrap();
    let need = Need::new(MS.saturating_mul(10), MS.saturating_mul(4));
    let refused = client.reserve(std::os::fd::AsFd::as_fd(&thread), need);
    let Err(NotAnswered::Refused(refusal)) = refused else { panic!("{refused:?}") };
    let fit = client.fit(MS.saturating_mul(10), None).unwrap();
    assert_eq!(refusal.largest_cost, fit.largest_cost);
    assert!(fit.largest_cost.unwrap() <= Nanos::from_micros(2500));
}

#[test]
fn needs_root_many_clients_have_their_minimum() {
    let server = Running::start();
    let sleepers: Vec<Sleeper> = (0..80).map(|_| Sleeper::start()).collect();
    let mut clients = Vec::new();
    // A fifth of a CPU in all; less per client could not repay a tick's overrun at 100 Hz.
    let need = Need::new(MS.saturating_mul(10), Nanos::from_micros(25));
    for sleeper in &sleepers {
        let mut client = server.connect();
        if reserve(&mut client, sleeper, need).is_none() {
            return;
        }
        clients.push(client);
    }
    assert_eq!(server.reserves(), sleepers.len());
    drop(clients);
    server.until_reserves(0);
    assert!(sleepers.iter().all(|sleeper| sleeper.policy() == "other"));
}

#[test]
fn another_protocol_in_the_same_process_reaches_the_manager() {
    let server = Running::start();
    let count = server.handle().call(|manager| manager.reserves().len());
    assert_eq!(count, Some(0));
}
