//! Refused priorities.

use tactus_model::facts::PermissionFacts;

use super::*;

#[test]
fn a_priority_without_capability_and_limit() {
    check(
        &scheduling("fifo:90"),
        Refusal::PERM,
        &machine(|_| ()),
        "CAP_SYS_NICE is not held, and RLIMIT_RTPRIO is 0",
        SETCAP,
    );
}

/// A process of `program` that holds `capabilities`.
fn process(program: &str, capabilities: &[&str]) -> PermissionFacts {
    PermissionFacts {
        program: Some(program.to_owned()),
        capabilities: Some(capabilities.iter().map(|name| (*name).to_owned()).collect()),
        ..PermissionFacts::default()
    }
}

#[track_caller]
fn check_setcap(activity: Activity, permission: &PermissionFacts, expected: &str) {
    let command = setcap(activity, permission);
    let set = command.strip_prefix("sudo setcap ").expect("a setcap command");
    assert_eq!(set.split_once("+ep ").expect("a set of capabilities").0, expected);
    let warns =
        command.ends_with("lets everyone who runs it read any file; safer: run it with sudo");
    assert_eq!(warns, expected.contains("cap_dac_read_search"), "{command}");
}

#[test]
fn a_program_gets_what_its_activity_needs_and_no_more() {
    let own = process("/opt/robot/controller", &[]);
    check_setcap(Activity::RealTime, &own, "cap_ipc_lock,cap_sys_nice");
    check_setcap(Activity::Perf, &own, "cap_ipc_lock,cap_perfmon,cap_sys_nice,cap_syslog");
    let reading = process("/opt/robot/controller", &["CAP_DAC_READ_SEARCH"]);
    check_setcap(Activity::RealTime, &reading, "cap_dac_read_search,cap_ipc_lock,cap_sys_nice");
}

#[test]
fn a_later_setcap_takes_nothing_away_from_tactus() {
    let everything = "cap_dac_read_search,cap_ipc_lock,cap_perfmon,cap_sys_nice,cap_syslog";
    let without_tracefs = "cap_ipc_lock,cap_perfmon,cap_sys_nice,cap_syslog";
    let bare = process("/usr/local/bin/tactus", &[]);
    for unknown in [&bare, &PermissionFacts::default()] {
        check_setcap(Activity::RealTime, unknown, without_tracefs);
        check_setcap(Activity::Perf, unknown, without_tracefs);
        check_setcap(Activity::Tracefs, unknown, everything);
    }
    let reading = process("/usr/local/bin/tactus", &["CAP_DAC_READ_SEARCH", "CAP_PERFMON"]);
    check_setcap(Activity::RealTime, &reading, everything);
}

#[test]
fn setcap_names_the_program_that_runs() {
    let end = |program| {
        let command = setcap(Activity::RealTime, &process(program, &[]));
        command.split_once("+ep ").expect("a setcap command").1.to_owned()
    };
    assert_eq!(end("/usr/local/bin/tactus"), "/usr/local/bin/tactus");
    assert_eq!(end("/home/a b/tactus"), "'/home/a b/tactus'");
    assert_eq!(end("/it's/tactus"), r"'/it'\''s/tactus'");
}

#[test]
fn a_priority_above_the_limit() {
    check(
        &scheduling("rr:90"),
        Refusal::PERM,
        &machine(|facts| {
            facts.permission.rtprio_limit = Some(50);
            facts.permission.rtprio_limit_hard = Some(50);
        }),
        "CAP_SYS_NICE is not held, and RLIMIT_RTPRIO allows priorities up to 50 only",
        Some(
            "echo '@realtime - rtprio 99' | sudo tee -a /etc/security/limits.d/realtime.conf && \
             sudo groupadd -f realtime && sudo usermod -aG realtime $USER, then log in again",
        ),
    );
}

#[test]
fn a_priority_that_the_hard_limit_allows() {
    check(
        &scheduling("fifo:90"),
        Refusal::PERM,
        &machine(|facts| facts.permission.rtprio_limit_hard = Some(99)),
        "CAP_SYS_NICE is not held, and RLIMIT_RTPRIO is 0",
        Some("ulimit -S -r 90"),
    );
}

#[test]
fn a_priority_in_containers() {
    let reason = "CAP_SYS_NICE is not held, and RLIMIT_RTPRIO is 0";
    for (name, fix) in [
        ("docker", "docker run --cap-add=IPC_LOCK --cap-add=SYS_NICE …"),
        ("podman", "podman run --cap-add=IPC_LOCK --cap-add=SYS_NICE …"),
        (
            "kubernetes",
            "in the pod's container: securityContext: {capabilities: {add: [IPC_LOCK, SYS_NICE]}}",
        ),
        ("lxc", "in the container's configuration: lxc.prlimit.rtprio = 99"),
        ("systemd-nspawn", "systemd-nspawn --capability=CAP_IPC_LOCK,CAP_SYS_NICE …"),
        ("unnamed", "start the container with CAP_IPC_LOCK, CAP_SYS_NICE"),
    ] {
        let facts = contained(name, |_| ());
        check(&scheduling("fifo:90"), Refusal::PERM, &facts, reason, Some(fix));
    }
}

#[test]
fn a_capability_that_has_no_effect_in_a_user_namespace() {
    check(
        &scheduling("fifo:90"),
        Refusal::PERM,
        &root(|facts| {
            facts.permission.container = Some("podman".to_owned());
            facts.permission.own_user_namespace = Some(true);
        }),
        "CAP_SYS_NICE is held in a user namespace only, where it has no effect, and RLIMIT_RTPRIO is 0",
        Some(
            "echo '@realtime - rtprio 99' | sudo tee -a /etc/security/limits.d/realtime.conf && \
             sudo groupadd -f realtime && sudo usermod -aG realtime $USER, then log in again, \
             then podman run --ulimit rtprio=99 …",
        ),
    );
}

#[test]
fn a_process_that_cannot_gain_privileges() {
    check(
        &scheduling("fifo:90"),
        Refusal::PERM,
        &machine(|facts| facts.permission.no_new_privileges = Some(true)),
        "CAP_SYS_NICE is not held, and RLIMIT_RTPRIO is 0",
        Some(
            "start it outside the sandbox that sets no_new_privs, or set LimitRTPRIO=99 in its systemd unit",
        ),
    );
}

#[test]
fn root_that_lost_the_capability() {
    check(
        &scheduling("fifo:90"),
        Refusal::PERM,
        &machine(|facts| facts.permission.user_id = Some(0)),
        "CAP_SYS_NICE is not held, and RLIMIT_RTPRIO is 0",
        Some(
            "add CAP_SYS_NICE to CapabilityBoundingSet= of the systemd unit, or start it from a root shell",
        ),
    );
}

#[test]
fn a_seccomp_filter_if_everything_else_is_granted() {
    let reason = "a seccomp filter blocks sched_setattr; no other known rule forbids it";
    let facts = |container: &str| {
        let container = container.to_owned();
        root(move |facts| {
            facts.permission.container = Some(container);
            facts.permission.seccomp = Some(true);
        })
    };
    for (container, fix) in [
        ("docker", "docker run --security-opt seccomp=unconfined …"),
        (
            "kubernetes",
            "in the pod's container: securityContext: {seccompProfile: {type: Unconfined}}",
        ),
        ("lxc", "start the container without its seccomp filter"),
        ("none", "remove SystemCallFilter= from the systemd unit that starts it"),
    ] {
        let asked = scheduling("fifo:90");
        check(&asked, Refusal::PERM, &facts(container), reason, Some(fix));
    }
}

#[test]
fn a_missing_system_call() {
    check(
        &scheduling("fifo:90"),
        Refusal::NOSYS,
        &contained("docker", |_| ()),
        "a seccomp filter makes sched_setattr fail with ENOSYS",
        Some("docker run --security-opt seccomp=unconfined …"),
    );
    check(
        &Asked::IoUring,
        Refusal::NOSYS,
        &root(|_| ()),
        "this kernel does not have io_uring_setup",
        None,
    );
}

#[test]
fn an_unexplained_refusal_says_so() {
    check(
        &scheduling("fifo:90"),
        Refusal::PERM,
        &root(|_| ()),
        "sched_setattr failed: Operation not permitted (os error 1); no known cause fits",
        None,
    );
    check(
        &Asked::TimerSlack(Nanos::from_nanos(1)),
        Refusal::INVAL,
        &machine(|_| ()),
        "prctl(PR_SET_TIMERSLACK) failed: Invalid argument (os error 22); no known cause fits",
        None,
    );
}
