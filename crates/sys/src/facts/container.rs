//! The container around this process.

use super::Tree;

/// The inode numbers of the machine's initial namespaces, fixed since Linux 3.8
/// (`include/linux/proc_ns.h`).
const INITIAL_NAMESPACES: [(&str, u64); 4] =
    [("pid", 0xEFFF_FFFC), ("uts", 0xEFFF_FFFE), ("ipc", 0xEFFF_FFFF), ("cgroup", 0xEFFF_FFFB)];
const INITIAL_USER_NAMESPACE: u64 = 0xEFFF_FFFD;

/// The container's name: `unnamed` if processes have a PID namespace of their own for
/// no visible reason; `none` if all namespaces are the machine's own.
pub(super) fn read(tree: &Tree<'_>) -> Option<String> {
    let initial: Vec<Option<bool>> = INITIAL_NAMESPACES
        .iter()
        .map(|(name, number)| namespace(tree, name).map(|found| found == *number))
        .collect();
    // Machines are sometimes built from container images and keep their marks, so
    // namespaces take precedence over marks.
    if initial.iter().all(|own| *own == Some(true)) {
        return Some("none".to_owned());
    }
    match (marked(tree), initial[0]) {
        (Some(name), _) => Some(name),
        (None, Some(false)) => Some("unnamed".to_owned()),
        // Services have UTS namespaces and the like of their own without being in a
        // container.
        (None, Some(true)) => Some("none".to_owned()),
        (None, None) => None,
    }
}

/// Whether this process is in a user namespace of its own.
pub(super) fn own_user_namespace(tree: &Tree<'_>) -> Option<bool> {
    namespace(tree, "user").map(|number| number != INITIAL_USER_NAMESPACE)
}

/// The number of a namespace, from a link like `pid:[4026531836]`.
fn namespace(tree: &Tree<'_>, name: &str) -> Option<u64> {
    let link = tree.link(&format!("proc/self/ns/{name}"))?;
    link.strip_prefix(name)?.strip_prefix(":[")?.strip_suffix(']')?.parse().ok()
}

/// The container runtime that left a mark in the file system or in the names of
/// cgroups.
fn marked(tree: &Tree<'_>) -> Option<String> {
    let cgroups = tree.text("proc/self/cgroup").unwrap_or_default();
    let name = if cgroups.contains("kubepods") || tree.has("run/secrets/kubernetes.io") {
        "kubernetes"
    } else if tree.has("run/.containerenv") || cgroups.contains("libpod") {
        "podman"
    } else if tree.has(".dockerenv") || cgroups.contains("docker") {
        "docker"
    } else if cgroups.contains("/lxc") {
        "lxc"
    } else {
        // Written by every container manager that follows systemd's container
        // interface.
        return tree.words("run/systemd/container");
    };
    Some(name.to_owned())
}
