//! Tracepoints, instances of tracefs, kernel events, rings.

use super::*;

const LOOK: Option<&str> =
    Some("cat /sys/kernel/security/lockdown /sys/kernel/security/lsm  # shows what is active");

/// Root with every capability that recording needs.
fn recording_root(change: impl FnOnce(&mut MachineFacts)) -> MachineFacts {
    root(|facts| {
        facts.permission.capabilities.get_or_insert_default().push("CAP_PERFMON".to_owned());
        change(facts);
    })
}

#[test]
fn an_ordinary_user_gets_the_command_for_what_is_missing() {
    let user = machine(|facts| {
        facts.permission.tracefs_readable = Some(false);
        facts.permission.perf_event_paranoid = Some(2);
    });
    let setcap = Some(
        "sudo setcap cap_dac_read_search,cap_ipc_lock,cap_perfmon,cap_sys_nice,cap_syslog+ep \
         \"$(command -v tactus)\"  # tactus uses cap_dac_read_search only to read tracefs",
    );
    check(
        &Asked::Tracepoints,
        Refusal::ACCESS,
        &user,
        "tracefs needs root or CAP_DAC_READ_SEARCH",
        setcap,
    );
    check(
        &Asked::KernelEvents,
        Refusal::ACCESS,
        &user,
        "CAP_PERFMON is not held, and perf_event_paranoid is 2",
        setcap,
    );
    check(
        &Asked::ThreadCalls,
        Refusal::ACCESS,
        &user,
        "tracefs needs root or CAP_DAC_READ_SEARCH",
        Some(
            "sudo setcap cap_dac_read_search,cap_perfmon+ep \"$(command -v tactus)\"  \
             # tactus uses cap_dac_read_search only to read tracefs",
        ),
    );
    let perfmon = "sudo setcap cap_perfmon+ep \"$(command -v tactus)\"";
    let reason = "CAP_PERFMON is not held, and perf_event_paranoid is 2";
    check(&Asked::ThreadEvents, Refusal::ACCESS, &user, reason, Some(perfmon));
    check(
        &Asked::EventRings,
        Refusal::PERM,
        &user,
        "they exceed the limit on locked memory (RLIMIT_MEMLOCK)",
        SETCAP,
    );
    check(
        &Asked::TracefsInstance,
        Refusal::ACCESS,
        &user,
        "only root may create one",
        Some("run it with sudo"),
    );
    check(
        &Asked::Tracepoints,
        Refusal::NOENT,
        &user,
        "tracefs is not mounted, or this kernel has no tracepoints",
        Some("sudo mount -t tracefs tracefs /sys/kernel/tracing"),
    );
}

#[test]
fn root_is_not_sent_to_sudo() {
    let asked = [Asked::Tracepoints, Asked::TracefsInstance, Asked::KernelEvents, Asked::Setting];
    let namespace = Asked::Namespace { maps_users: false, switch: None };
    for asked in asked.iter().chain([&namespace, &Asked::IdleExitLatency]) {
        let reason = "the kernel refuses it even to root, for example by kernel lockdown, SELinux or AppArmor";
        check(asked, Refusal::PERM, &recording_root(|_| ()), reason, LOOK);
        let contained = recording_root(|facts| {
            facts.permission.container = Some("docker".to_owned());
        });
        let fix = diagnose(asked, Refusal::PERM, &contained).fix.expect("a fix");
        assert!(!fix.contains("sudo"), "{asked:?}: {fix}");
    }
}

#[test]
fn lockdown_is_named_if_it_is_known() {
    let locked = |level: &str| {
        let level = level.to_owned();
        recording_root(|facts| facts.kernel.lockdown = Some(level))
    };
    let found = diagnose(&Asked::Tracepoints, Refusal::PERM, &locked("confidentiality"));
    assert_eq!(found.reason, "kernel lockdown (confidentiality) refuses it even to root");
    assert!(found.fix.unwrap().contains("Secure Boot"));
    let found = diagnose(&Asked::Setting, Refusal::PERM, &locked("none"));
    assert!(found.reason.contains("for example by kernel lockdown"));
}

#[test]
fn a_filter_is_named_only_for_system_calls() {
    let filtered = recording_root(|facts| {
        facts.permission.seccomp = Some(true);
        facts.permission.container = Some("docker".to_owned());
    });
    let reason = |asked: Asked| diagnose(&asked, Refusal::PERM, &filtered).reason;
    assert!(reason(Asked::KernelEvents).contains("a seccomp filter blocks perf_event_open"));
    let namespace = Asked::Namespace { maps_users: false, switch: None };
    assert!(reason(namespace).contains("a seccomp filter blocks clone3"));
    for file in [Asked::Setting, Asked::Tracepoints, Asked::TracefsInstance] {
        assert_eq!(reason(file), "the container does not permit it, not even to its root user");
    }
}

#[test]
fn root_without_the_capability() {
    check(
        &Asked::KernelEvents,
        Refusal::ACCESS,
        &root(|facts| facts.permission.capabilities = Some(vec!["CAP_SYS_NICE".to_owned()])),
        "CAP_PERFMON is not held",
        Some(
            "add CAP_IPC_LOCK CAP_PERFMON CAP_SYSLOG to CapabilityBoundingSet= of the systemd unit, \
             or start it from a root shell",
        ),
    );
    check(
        &Asked::Tracepoints,
        Refusal::NOENT,
        &root(|_| ()),
        "tracefs is not mounted, or this kernel has no tracepoints",
        Some("mount -t tracefs tracefs /sys/kernel/tracing"),
    );
}

#[test]
fn recording_in_a_container() {
    let facts = contained("docker", |_| ());
    let reason = "the container does not have tracefs";
    check(&Asked::Tracepoints, Refusal::NOENT, &facts, reason, Some(DOCKER));
    let reason = "tracefs is mounted read-only";
    check(&Asked::TracefsInstance, Refusal::ROFS, &facts, reason, Some(DOCKER));
    check(&Asked::KernelEvents, Refusal::PERM, &facts, "CAP_PERFMON is not held", Some(DOCKER));
}
