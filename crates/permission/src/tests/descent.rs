//! The alternatives to a refused policy.

use super::*;

/// Checks the sequence of alternatives if the kernel refuses each of them.
#[track_caller]
fn check_descent(asked: &str, facts: &MachineFacts, expected: &[&str]) {
    let mut tried = asked.parse().unwrap();
    for step in expected {
        tried = best_permitted(tried, facts);
        assert_eq!(tried.to_string(), *step, "after {asked}");
    }
    assert_eq!(
        best_permitted(tried, facts),
        tried,
        "the last alternative to {asked} is never refused"
    );
}

#[test]
fn the_best_that_is_permitted() {
    let nothing = machine(|_| ());
    let limited = machine(|facts| {
        facts.permission.rtprio_limit = Some(50);
        facts.permission.nice_limit = Some(-11);
    });
    let niced = machine(|facts| facts.permission.nice = Some(10));
    check_descent("fifo:90", &nothing, &["other"]);
    check_descent("fifo:90", &limited, &["fifo:50", "other:-11", "other"]);
    check_descent("rr:90", &limited, &["rr:50", "other:-11", "other"]);
    check_descent("fifo:40", &limited, &["other:-11", "other"]);
    check_descent("fifo:90", &root(|_| ()), &["other:-20", "other"]);
    check_descent(DEADLINE, &root(|_| ()), &["fifo:99", "other:-20", "other"]);
    check_descent(DEADLINE, &limited, &["fifo:50", "other:-11", "other"]);
    check_descent(DEADLINE, &nothing, &["other"]);
    check_descent("other:-20", &limited, &["other:-11", "other"]);
    check_descent("batch:-20", &limited, &["batch:-11", "batch", "other"]);
    check_descent("other", &niced, &["other:10"]);
    check_descent("idle", &niced, &["other:10"]);
    check_descent("other", &MachineFacts::unknown(Instant::from_nanos(0)), &[]);
}

#[test]
fn every_descent_ends_and_every_refusal_has_a_reason() {
    let machines = [
        MachineFacts::unknown(Instant::from_nanos(0)),
        machine(|_| ()),
        root(|_| ()),
        root(without_budget),
        contained("docker", |_| ()),
    ];
    let asked: Vec<Asked> = ["other:-3", "batch:7", "idle", "fifo:1", "rr:99", DEADLINE]
        .into_iter()
        .map(scheduling)
        .chain([
            Asked::Cpus(cpus("0-9")),
            Asked::LockedMemory { bytes: None },
            Asked::IdleExitLatency,
            Asked::TimerSlack(Nanos::ZERO),
            Asked::IoUring,
            Asked::Bpf,
        ])
        .collect();
    for facts in &machines {
        for asked in &asked {
            for refusal in (1..134).map(Refusal::from_raw_os_error) {
                assert!(!diagnose(asked, refusal, facts).reason.is_empty());
            }
            if let Asked::Scheduling { scheduling, .. } = asked {
                let mut tried = *scheduling;
                for _ in 0..4 {
                    tried = best_permitted(tried, facts);
                }
                assert_eq!(best_permitted(tried, facts), tried);
            }
        }
    }
}
