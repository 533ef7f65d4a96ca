//! Refused priorities.

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

/// An ordinary user's process of `program`, whose file has `capabilities`.
fn process(program: &str, capabilities: &[&str], tracefs: Option<bool>) -> MachineFacts {
    machine(|facts| {
        facts.permission.program = Some(program.to_owned());
        let capabilities = capabilities.iter().map(|name| (*name).to_owned()).collect();
        facts.permission.program_capabilities = Some(capabilities);
        facts.permission.tracefs_readable = tracefs;
    })
}

#[track_caller]
fn check_setcap(activity: Activity, facts: &MachineFacts, expected: &str) {
    let command = grant(activity, facts);
    let set = command.strip_prefix("sudo setcap ").expect("a setcap command");
    let (set, rest) = set.split_once("+ep ").expect("a set of capabilities");
    assert_eq!(set, expected);
    assert_eq!(rest.contains("# "), expected.contains("cap_dac_read_search"), "{command}");
}

#[test]
fn a_program_gets_what_its_activity_needs_and_keeps_what_it_has() {
    let own = "/opt/robot/controller";
    let bare = process(own, &[], Some(false));
    check_setcap(Activity::RealTime, &bare, "cap_ipc_lock,cap_sys_nice");
    check_setcap(Activity::Perf, &bare, "cap_ipc_lock,cap_perfmon,cap_sys_nice,cap_syslog");
    let command = grant(Activity::Tracefs, &bare);
    assert!(command.ends_with("lets everyone who runs it read any file; safer: run it with sudo"));
    let sending = process(own, &["CAP_NET_RAW", "CAP_SYS_NICE"], None);
    check_setcap(Activity::RealTime, &sending, "cap_ipc_lock,cap_net_raw,cap_sys_nice");
}

#[test]
fn tactus_gets_only_what_was_refused_and_one_command_grants_all_of_it() {
    let facts = process("/usr/local/bin/tactus", &[], Some(false));
    let recording = "cap_dac_read_search,cap_ipc_lock,cap_perfmon,cap_sys_nice,cap_syslog";
    check_setcap(Activity::RealTime, &facts, "cap_ipc_lock,cap_sys_nice");
    check_setcap(Activity::Tracefs, &facts, recording);
    let fixes = [Activity::RealTime, Activity::Tracefs].map(|activity| grant(activity, &facts));
    let all = || fixes.iter().map(String::as_str);
    for fix in all() {
        assert_eq!(widest(fix, all()), fixes[1]);
    }
    let other = grant(Activity::Tracefs, &process("/opt/tactus", &[], None));
    assert_eq!(widest(&fixes[0], [&*other, "reboot"]), fixes[0]);
    assert_eq!(widest("reboot", all()), "reboot");
}

#[test]
fn setcap_names_the_program_that_runs() {
    let end = |program| {
        let command = grant(Activity::RealTime, &process(program, &[], None));
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
        ("docker", DOCKER),
        ("podman", &DOCKER.replace("docker", "podman")),
        (
            "kubernetes",
            "in the pod's container: securityContext: {capabilities: {add: [IPC_LOCK, PERFMON, SYS_NICE, SYSLOG]}}",
        ),
        ("lxc", "in the container's configuration: lxc.prlimit.rtprio = 99"),
        (
            "systemd-nspawn",
            "systemd-nspawn --capability=CAP_IPC_LOCK,CAP_PERFMON,CAP_SYS_NICE,CAP_SYSLOG …",
        ),
        ("unnamed", "start the container with CAP_IPC_LOCK, CAP_PERFMON, CAP_SYS_NICE, CAP_SYSLOG"),
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
            "add CAP_IPC_LOCK CAP_SYS_NICE to CapabilityBoundingSet= of the systemd unit, or start it from a root shell",
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
        (
            "docker",
            &*with("docker", "--security-opt seccomp=unconfined")
                .replace("=PERFMON", "=PERFMON --cap-add=SYS_ADMIN"),
        ),
        (
            "kubernetes",
            "in the pod's container: securityContext: {capabilities: {add: [IPC_LOCK, PERFMON, \
             SYS_ADMIN, SYS_NICE, SYSLOG]}, seccompProfile: {type: Unconfined}}",
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
        Some(&with("docker", "--security-opt seccomp=unconfined")),
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
