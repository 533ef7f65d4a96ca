//! A priority that is refused.

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

#[test]
fn the_program_that_runs_is_the_one_to_be_granted() {
    let end = |program| {
        let command = grant_all(Some(program));
        command.split_once("+ep ").expect("a command of setcap").1.to_owned()
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
        ("docker", "docker run --cap-add=SYS_NICE --ulimit rtprio=99 …"),
        ("podman", "podman run --cap-add=SYS_NICE --ulimit rtprio=99 …"),
        (
            "kubernetes",
            "in the pod's container: securityContext: {capabilities: {add: [SYS_NICE]}}",
        ),
        ("lxc", "in the container's configuration: lxc.prlimit.rtprio = 99"),
        ("systemd-nspawn", "systemd-nspawn --capability=CAP_SYS_NICE …"),
        ("unnamed", "give the container CAP_SYS_NICE where it is started"),
    ] {
        let facts = contained(name, |_| ());
        check(&scheduling("fifo:90"), Refusal::PERM, &facts, reason, Some(fix));
    }
}

#[test]
fn a_capability_that_a_user_namespace_makes_void() {
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
fn a_process_that_can_gain_nothing() {
    check(
        &scheduling("fifo:90"),
        Refusal::PERM,
        &machine(|facts| facts.permission.no_new_privileges = Some(true)),
        "CAP_SYS_NICE is not held, and RLIMIT_RTPRIO is 0",
        Some(
            "start it outside of what set no_new_privs, or with LimitRTPRIO=99 in its systemd unit",
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
fn a_filter_when_everything_else_is_granted() {
    let reason = "a seccomp filter refuses sched_setattr; nothing else that is known forbids it";
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
        ("none", "without SystemCallFilter= in the systemd unit that starts it"),
    ] {
        let asked = scheduling("fifo:90");
        check(&asked, Refusal::PERM, &facts(container), reason, Some(fix));
    }
}

#[test]
fn a_call_that_is_not_there() {
    check(
        &scheduling("fifo:90"),
        Refusal::NOSYS,
        &contained("docker", |_| ()),
        "a seccomp filter answers sched_setattr as if the kernel did not have it",
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
fn the_unexplained_says_so() {
    check(
        &scheduling("fifo:90"),
        Refusal::PERM,
        &root(|_| ()),
        "sched_setattr was answered with \"Operation not permitted (os error 1)\", and no known cause fits",
        None,
    );
    check(
        &Asked::TimerSlack(Nanos::from_nanos(1)),
        Refusal::INVAL,
        &machine(|_| ()),
        "prctl(PR_SET_TIMERSLACK) was answered with \"Invalid argument (os error 22)\", and no known cause fits",
        None,
    );
}
