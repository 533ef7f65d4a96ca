//! Why the kernel refused to change a setting of the machine, or to contain processes.

use tactus_model::facts::MachineFacts;

use crate::fix::{Missing, as_root, bounding_set, container_run, run_as_root};
use crate::{Diagnosis, ON_THE_HOST, Refusal, beyond_root, container, is_root};

pub(crate) fn setting(refusal: Refusal, facts: &MachineFacts) -> Option<Diagnosis> {
    let contained = container(facts).is_some();
    Some(match refusal {
        Refusal::NOENT => Diagnosis::new("this kernel has no such setting", None),
        Refusal::INVAL => Diagnosis::new("the kernel does not accept the value", None),
        Refusal::AGAIN => {
            Diagnosis::new("another measurement holds it", "wait until it ends".to_owned())
        }
        Refusal::ROFS if contained => {
            Diagnosis::new("it is read-only in this container", ON_THE_HOST.to_owned())
        }
        Refusal::ROFS => Diagnosis::new("its file system is mounted read-only", None),
        Refusal::PERM | Refusal::ACCESS if is_root(facts) => beyond_root(facts),
        Refusal::PERM | Refusal::ACCESS => Diagnosis::new(
            "only root may change it",
            if contained { ON_THE_HOST.to_owned() } else { run_as_root(facts) },
        ),
        _ => return None,
    })
}

pub(crate) fn namespace(
    maps_users: bool,
    switch: Option<&str>,
    refusal: Refusal,
    facts: &MachineFacts,
) -> Option<Diagnosis> {
    match refusal {
        Refusal::NOSPC => Some(Diagnosis::new(
            "this machine allows no more namespaces (user.max_user_namespaces)",
            as_root("sysctl user.max_user_namespaces=15000", facts),
        )),
        Refusal::PERM | Refusal::ACCESS => forbidden_namespace(maps_users, switch, facts),
        _ => None,
    }
}

fn forbidden_namespace(
    maps_users: bool,
    switch: Option<&str>,
    facts: &MachineFacts,
) -> Option<Diagnosis> {
    const NEEDED: &str = "CAP_SYS_ADMIN is not held";
    let permission = &facts.permission;
    if permission.holds("CAP_SYS_ADMIN") == Some(true) {
        return (permission.seccomp != Some(true)).then(|| beyond_root(facts));
    }
    if let Some(command) = container_run(Missing::Namespaces, facts) {
        return Some(Diagnosis::new(NEEDED, command));
    }
    if is_root(facts) {
        return Some(Diagnosis::new(NEEDED, bounding_set(&["cap_sys_admin"], permission)));
    }
    Some(match switch {
        _ if maps_users => Diagnosis::new(
            "the program has file capabilities, with which an ordinary user cannot make a user \
             namespace",
            run_as_root(facts),
        ),
        Some(switch) => Diagnosis::new(
            "this machine does not let an ordinary user make a user namespace",
            format!("{}, or: sudo sysctl {switch}", run_as_root(facts)),
        ),
        None => Diagnosis::new(NEEDED, run_as_root(facts)),
    })
}

pub(crate) fn tracing(refusal: Refusal, facts: &MachineFacts) -> Option<Diagnosis> {
    let refused = matches!(refusal, Refusal::PERM | Refusal::ACCESS);
    let filtered = facts.permission.seccomp == Some(true);
    (refused && !is_root(facts) && !filtered).then(|| {
        Diagnosis::new(
            "a process may not trace its children (kernel.yama.ptrace_scope)",
            as_root("sysctl kernel.yama.ptrace_scope=1", facts),
        )
    })
}
