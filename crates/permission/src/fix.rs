//! The commands that would grant a refused request.

use std::collections::BTreeSet;

use tactus_model::cpus::CpuList;
use tactus_model::facts::{MachineFacts, PermissionFacts};
use tactus_model::format::shell_word;

use crate::{container, is_root};

/// An activity that a program's file capabilities can permit to every user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Activity {
    /// Real-time and deadline scheduling, favourable nice values, and locked memory.
    RealTime,
    /// The above, and recording kernel events by perf. The format files of the tracepoints
    /// must be readable for the user.
    Perf,
    /// The above on a machine where only root may read tracefs, which is the kernel's default
    /// (mode 0700).
    Tracefs,
    /// Recording page faults and switches of the user's own threads by perf, and nothing else.
    ThreadEvents,
    /// The above with their system calls, on a machine where only root may read tracefs.
    ThreadCalls,
}

impl Activity {
    /// The capabilities that the activity needs, as capabilities(7) describes them.
    ///
    /// Tried on Linux 6.18 as an ordinary user (`docs/decisions/0012-file-capabilities.md`):
    /// CAP_PERFMON opens the events, CAP_IPC_LOCK lifts the limit on the size of the rings, and
    /// CAP_SYSLOG shows the addresses in `/proc/kallsyms`, without which call chains have no
    /// function names. On a default mount only CAP_DAC_READ_SEARCH opens the format files; it
    /// does not permit an instance of tracefs, which only root may create.
    const fn capabilities(self) -> &'static [&'static str] {
        match self {
            Self::RealTime => &["cap_ipc_lock", "cap_sys_nice"],
            Self::Perf => &["cap_ipc_lock", "cap_perfmon", "cap_sys_nice", "cap_syslog"],
            Self::Tracefs => {
                &[READ_ANY_FILE, "cap_ipc_lock", "cap_perfmon", "cap_sys_nice", "cap_syslog"]
            }
            // A ring becomes smaller by itself, and addresses of the kernel are not needed.
            Self::ThreadEvents => &["cap_perfmon"],
            Self::ThreadCalls => &[READ_ANY_FILE, "cap_perfmon"],
        }
    }
}

/// The capability that lets a program read every file.
const READ_ANY_FILE: &str = "cap_dac_read_search";

fn is_tactus(permission: &PermissionFacts) -> bool {
    let program = permission.program.as_deref();
    program.is_none_or(|path| path.rsplit('/').next() == Some("tactus"))
}

/// The command that permits `activity` to every user who runs the program of `permission`. If
/// the program is unknown, the command is for `tactus`, which the shell finds.
///
/// setcap(8) replaces the capabilities of a file, so the command also names those that the file
/// has. CAP_DAC_READ_SEARCH lets everyone who runs the program read any file, unless the program
/// uses it only for the kernel's files, as `tactus` does; the command says so.
fn setcap(activity: Activity, permission: &PermissionFacts) -> String {
    let needed = activity.capabilities().iter().map(|name| (*name).to_owned());
    let held = permission.program_capabilities.iter().flatten().map(|name| name.to_lowercase());
    let capabilities: BTreeSet<String> = needed.chain(held).collect();
    let remark = match (capabilities.contains(READ_ANY_FILE), is_tactus(permission)) {
        (false, _) => "",
        (true, true) => "  # tactus uses cap_dac_read_search only to read tracefs",
        (true, false) => {
            "  # cap_dac_read_search lets everyone who runs it read any file; safer: run it with sudo"
        }
    };
    let program = permission.program.as_deref();
    let program = program.map_or_else(|| "\"$(command -v tactus)\"".to_owned(), shell_word);
    let capabilities: Vec<String> = capabilities.into_iter().collect();
    format!("{SETCAP}{}{TO}{program}{remark}", capabilities.join(","))
}

/// The parts of a setcap command around the capabilities.
const SETCAP: &str = "sudo setcap ";
const TO: &str = "+ep ";

/// Of several fix lines that are shown together, the one that includes what `fix` grants: `fix`
/// itself, or a setcap command that gives the same program these capabilities and others.
///
/// setcap(8) replaces the capabilities of a file, so a second command would undo the first.
pub fn widest<'f>(fix: &'f str, all: impl IntoIterator<Item = &'f str>) -> &'f str {
    let Some((needed, program)) = given(fix) else { return fix };
    let wider = all.into_iter().filter(|other| {
        given(other).is_some_and(|(given, to)| to == program && given.is_superset(&needed))
    });
    wider.max_by_key(|other| given(other).map(|(given, _)| given.len())).unwrap_or(fix)
}

/// The capabilities that a setcap command gives, and the program that gets them.
fn given(command: &str) -> Option<(BTreeSet<&str>, &str)> {
    let (capabilities, rest) = command.strip_prefix(SETCAP)?.split_once(TO)?;
    let program = rest.split_once("  # ").map_or(rest, |(program, _)| program);
    Some((capabilities.split(',').collect(), program))
}

/// The command that permits `activity` to this program.
pub fn grant(activity: Activity, facts: &MachineFacts) -> String {
    let permission = &facts.permission;
    if let Some(command) = container_run(Missing::Capabilities(activity), facts) {
        command
    } else if permission.own_user_namespace == Some(true) {
        "start it outside the user namespace".to_owned()
    } else if permission.no_new_privileges == Some(true) {
        // setcap and sudo have no effect in such a process and its children.
        "start it outside the sandbox that sets no_new_privs".to_owned()
    } else if is_root(facts) {
        bounding_set(activity.capabilities(), permission)
    } else {
        setcap(activity, permission)
    }
}

/// The advice to an ordinary user for what only root may do.
pub(crate) fn run_as_root(facts: &MachineFacts) -> String {
    let sudo = container(facts).is_none() && facts.permission.no_new_privileges != Some(true);
    if sudo { "run it with sudo" } else { "run it as root" }.to_owned()
}

/// A command that needs root; inside a container it is for the host.
pub(crate) fn as_root(command: &str, facts: &MachineFacts) -> String {
    match container(facts) {
        Some(_) => format!("on the host: sudo {command}"),
        None if is_root(facts) => command.to_owned(),
        None => format!("sudo {command}"),
    }
}

/// The change that gives root capabilities which it does not have.
pub(crate) fn bounding_set(needed: &[&str], permission: &PermissionFacts) -> String {
    let upper = needed.iter().map(|name| name.to_uppercase());
    // Root owns tracefs, so it needs no capability to read it.
    let missing =
        upper.filter(|name| name != "CAP_DAC_READ_SEARCH" && permission.holds(name) != Some(true));
    format!(
        "add {} to CapabilityBoundingSet= of the systemd unit, or start it from a root shell",
        missing.collect::<Vec<_>>().join(" ")
    )
}

/// What this process's container lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing<'a> {
    /// What the activity needs.
    Capabilities(Activity),
    /// The right to make namespaces.
    Namespaces,
    /// System calls that its filter refuses.
    SystemCalls,
    /// The device `/dev/cpu_dma_latency`.
    IdleExitDevice,
    /// These CPUs, in place of the present ones.
    Cpus(&'a CpuList),
}

/// The command or change that starts this process's container with what is missing; `None`
/// outside containers.
///
/// A new container has only what its command names, so following this command must not undo
/// another: it also names what `tactus` needs and what the container was granted before.
pub(crate) fn container_run(missing: Missing<'_>, facts: &MachineFacts) -> Option<String> {
    let name = container(facts)?;
    let capabilities = container_capabilities(missing, facts);
    Some(match (name, missing) {
        ("docker" | "podman", _) => {
            format!("{name} run {} …", container_options(missing, facts))
        }
        ("kubernetes", Missing::Cpus(_)) => {
            "give the pod whole CPUs (static CPU manager policy, guaranteed class)".to_owned()
        }
        (_, Missing::Cpus(cpus)) => format!("start the container with CPUs {cpus}"),
        (_, Missing::IdleExitDevice) => {
            "start the container with the device /dev/cpu_dma_latency".to_owned()
        }
        ("kubernetes", _) => {
            let unfiltered = if unfiltered(missing, facts) {
                ", seccompProfile: {type: Unconfined}"
            } else {
                ""
            };
            format!(
                "in the pod's container: securityContext: {{capabilities: {{add: [{}]}}{unfiltered}}}",
                capabilities.join(", ")
            )
        }
        (_, Missing::SystemCalls) => "start the container without its seccomp filter".to_owned(),
        ("systemd-nspawn", _) => {
            format!("systemd-nspawn --capability=CAP_{} …", capabilities.join(",CAP_"))
        }
        _ => format!("start the container with CAP_{}", capabilities.join(", CAP_")),
    })
}

/// The options of `docker run` and `podman run`.
pub(crate) fn container_options(missing: Missing<'_>, facts: &MachineFacts) -> String {
    let permission = &facts.permission;
    let mut options: Vec<String> = container_capabilities(missing, facts)
        .into_iter()
        .map(|name| format!("--cap-add={name}"))
        .collect();
    // A user other than root has no capabilities in a container, but limits.
    if !is_root(facts) {
        options.extend(["memlock=-1", "nice=40", "rtprio=99"].map(|it| format!("--ulimit {it}")));
    }
    let reads = [Activity::Tracefs, Activity::ThreadCalls].map(Missing::Capabilities);
    if reads.contains(&missing)
        || is_tactus(permission)
        || permission.tracefs_readable == Some(true)
    {
        options.push("-v /sys/kernel/tracing:/sys/kernel/tracing".to_owned());
    }
    if unfiltered(missing, facts) {
        options.push("--security-opt seccomp=unconfined".to_owned());
    }
    // Only a container that was given the device can read its limit.
    if missing == Missing::IdleExitDevice || facts.cpu.idle_exit_latency_limit_us.is_some() {
        options.push("--device=/dev/cpu_dma_latency".to_owned());
    }
    let confined =
        facts.cgroup.cpuset.as_ref().filter(|cpus| Some(*cpus) != facts.cpu.online.as_ref());
    let cpus = if let Missing::Cpus(cpus) = missing { Some(cpus) } else { confined };
    options.extend(cpus.map(|cpus| format!("--cpuset-cpus={cpus}")));
    options.join(" ")
}

/// Whether the container must be started without a filter of system calls: if its filter refuses
/// one, or if it has no filter now.
fn unfiltered(missing: Missing<'_>, facts: &MachineFacts) -> bool {
    matches!(missing, Missing::SystemCalls | Missing::Namespaces)
        || facts.permission.seccomp == Some(false)
}

/// The capabilities that the container must have, in the names of containers. Root of a container
/// owns tracefs there, so none is needed to read it.
fn container_capabilities(missing: Missing<'_>, facts: &MachineFacts) -> Vec<String> {
    let permission = &facts.permission;
    let activity = match missing {
        Missing::Capabilities(activity) => Some(activity),
        _ => None,
    };
    let activity = if is_tactus(permission) { Some(Activity::Perf) } else { activity };
    let needed = activity.map_or(&[][..], Activity::capabilities);
    let all = ["IPC_LOCK", "PERFMON", "SYS_ADMIN", "SYS_NICE", "SYSLOG"];
    let named = all.into_iter().filter(|name| {
        let name = format!("CAP_{name}");
        needed.contains(&name.to_lowercase().as_str())
            || permission.holds(&name) == Some(true)
            || (name == "CAP_SYS_ADMIN" && missing == Missing::Namespaces)
    });
    named.map(str::to_owned).collect()
}

/// A resource limit that can replace a capability.
pub(crate) struct Privilege {
    /// The limit's name in limits.conf(5), e.g. `rtprio`.
    pub limit: &'static str,
    /// The limit's value there.
    pub value: String,
    /// The limit as systemd writes it, e.g. `LimitRTPRIO=99`.
    pub systemd: String,
}

impl Privilege {
    pub(crate) fn realtime() -> Self {
        Self { limit: "rtprio", value: "99".to_owned(), systemd: "LimitRTPRIO=99".to_owned() }
    }

    pub(crate) fn nice(nice: i8) -> Self {
        Self { limit: "nice", value: nice.to_string(), systemd: format!("LimitNICE={nice}") }
    }

    pub(crate) fn locked_memory() -> Self {
        Self {
            limit: "memlock",
            value: "unlimited".to_owned(),
            systemd: "LimitMEMLOCK=infinity".to_owned(),
        }
    }

    /// The command that grants the privilege to a process that has neither.
    pub(crate) fn grant(&self, facts: &MachineFacts) -> Option<String> {
        if let Some(container) = container(facts) {
            return self.grant_to_container(container, facts);
        }
        if facts.permission.own_user_namespace == Some(true) {
            return Some(self.raise_limit());
        }
        if facts.permission.no_new_privileges == Some(true) {
            // setcap and sudo have no effect in such a process and its children.
            return Some(self.systemd_unit());
        }
        Some(grant(Activity::RealTime, facts))
    }

    /// The command that raises the limit for the members of a group.
    pub(crate) fn raise_limit(&self) -> String {
        format!(
            "echo '@realtime - {} {}' | sudo tee -a /etc/security/limits.d/realtime.conf && \
             sudo groupadd -f realtime && sudo usermod -aG realtime $USER, then log in again",
            self.limit, self.value
        )
    }

    fn systemd_unit(&self) -> String {
        format!(
            "start it outside the sandbox that sets no_new_privs, or set {} in its systemd unit",
            self.systemd
        )
    }

    fn grant_to_container(&self, container: &str, facts: &MachineFacts) -> Option<String> {
        let Self { limit, value, .. } = self;
        let rootless = facts.permission.own_user_namespace == Some(true);
        // Containers count limits as getrlimit(2) does: nice −20 is 40, unlimited is −1.
        let value = match (*limit, value.as_str()) {
            ("nice", nice) => (20 - nice.parse::<i32>().unwrap_or(0)).to_string(),
            (_, "unlimited") => "-1".to_owned(),
            (_, value) => value.to_owned(),
        };
        match container {
            "docker" | "podman" if rootless => Some(format!(
                "{}, then {container} run --ulimit {limit}={value} …",
                self.raise_limit()
            )),
            "lxc" => Some(format!(
                "in the container's configuration: lxc.prlimit.{limit} = {}",
                if value == "-1" { "unlimited" } else { &value }
            )),
            _ => container_run(Missing::Capabilities(Activity::RealTime), facts),
        }
    }
}

/// The command that raises a soft limit of this shell, up to the hard limit.
pub(crate) fn ulimit(option: char, value: impl std::fmt::Display) -> String {
    format!("ulimit -S -{option} {value}")
}

/// The change that removes a filter of system calls.
pub(crate) fn unfiltered_calls(facts: &MachineFacts) -> String {
    container_run(Missing::SystemCalls, facts).unwrap_or_else(|| {
        "remove SystemCallFilter= from the systemd unit that starts it".to_owned()
    })
}
