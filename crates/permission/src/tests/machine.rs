//! Settings of the machine, namespaces and tracing of loads.

use super::*;

#[test]
fn a_setting_that_is_not_changed() {
    let user = machine(|_| ());
    let sudo = Some("run it with sudo");
    check(&Asked::Setting, Refusal::ACCESS, &user, "only root may change it", sudo);
    let sandboxed = machine(|facts| facts.permission.no_new_privileges = Some(true));
    let root = Some("run it as root");
    check(&Asked::Setting, Refusal::ACCESS, &sandboxed, "only root may change it", root);
    check(&Asked::Setting, Refusal::NOENT, &user, "this kernel has no such setting", None);
    check(
        &Asked::Setting,
        Refusal::ROFS,
        &contained("docker", |_| ()),
        "it is read-only in this container",
        Some("run it on the host, outside the container"),
    );
    check(
        &Asked::Setting,
        Refusal::AGAIN,
        &user,
        "another measurement holds it",
        Some("wait until it ends"),
    );
}

#[test]
fn a_namespace_that_is_refused() {
    let asked = |maps_users, switch| Asked::Namespace { maps_users, switch };
    let user = machine(|_| ());
    check(
        &asked(false, Some("kernel.unprivileged_userns_clone=1")),
        Refusal::PERM,
        &user,
        "this machine does not let an ordinary user make a user namespace",
        Some("run it with sudo, or: sudo sysctl kernel.unprivileged_userns_clone=1"),
    );
    check(
        &asked(true, None),
        Refusal::PERM,
        &user,
        "the program has file capabilities, with which an ordinary user cannot make a user \
         namespace",
        Some("run it with sudo"),
    );
    check(
        &asked(false, None),
        Refusal::NOSPC,
        &root(|_| ()),
        "this machine allows no more namespaces (user.max_user_namespaces)",
        Some("sysctl user.max_user_namespaces=15000"),
    );
    check(
        &asked(false, None),
        Refusal::PERM,
        &contained("docker", |_| ()),
        "CAP_SYS_ADMIN is not held",
        Some(
            "docker run --cap-add=IPC_LOCK --cap-add=PERFMON --cap-add=SYS_ADMIN \
             --cap-add=SYS_NICE --cap-add=SYSLOG -v /sys/kernel/tracing:/sys/kernel/tracing \
             --security-opt seccomp=unconfined …",
        ),
    );
    check(
        &asked(false, None),
        Refusal::NOSYS,
        &contained("docker", |_| ()),
        "a seccomp filter makes clone3 fail with ENOSYS",
        Some(&with("docker", "--security-opt seccomp=unconfined")),
    );
}

#[test]
fn tracing_of_children_that_is_refused() {
    check(
        &Asked::Tracing,
        Refusal::PERM,
        &machine(|_| ()),
        "a process may not trace its children (kernel.yama.ptrace_scope)",
        Some("sudo sysctl kernel.yama.ptrace_scope=1"),
    );
}
