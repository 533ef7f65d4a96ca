//! The commands that would grant a refused request.

use tactus_model::facts::{MachineFacts, PermissionFacts};

use crate::container;

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
        }
    }
}

/// The capability that lets a program read every file.
const READ_ANY_FILE: &str = "cap_dac_read_search";

/// The command that permits `activity` to every user who runs the program of `permission`. If
/// the program is unknown, the command is for `tactus`, which the shell finds.
///
/// setcap(8) replaces the capabilities of a file, so the command must not take away what
/// another one granted. For `tactus` it therefore always includes what recording by perf needs.
/// CAP_DAC_READ_SEARCH lets everyone who runs the program read any file: the command includes
/// it only for [`Activity::Tracefs`] or if the process holds it already, and then says so.
pub fn setcap(activity: Activity, permission: &PermissionFacts) -> String {
    let program = permission.program.as_deref();
    let is_tactus = program.is_none_or(|path| path.rsplit('/').next() == Some("tactus"));
    let activity = if is_tactus { activity.max(Activity::Perf) } else { activity };
    let mut capabilities = activity.capabilities().to_vec();
    if permission.holds("CAP_DAC_READ_SEARCH") == Some(true) && activity != Activity::Tracefs {
        capabilities.insert(0, READ_ANY_FILE);
    }
    let warning = if capabilities.contains(&READ_ANY_FILE) {
        "  # cap_dac_read_search lets everyone who runs it read any file; safer: run it with sudo"
    } else {
        ""
    };
    let program = program.map_or_else(|| "\"$(command -v tactus)\"".to_owned(), quoted);
    format!("sudo setcap {}+ep {program}{warning}", capabilities.join(","))
}

/// The command that permits `activity` to this program: a new start of the container, or
/// [`setcap`] outside containers.
pub fn grant(activity: Activity, facts: &MachineFacts) -> String {
    container_run(activity, facts).unwrap_or_else(|| setcap(activity, &facts.permission))
}

/// The command or change that starts this process's container with what `activity` needs; `None`
/// outside containers.
///
/// A new container has only what its command names, so following this command must not undo
/// another: it names everything for the activity, and what the container was granted before.
pub fn container_run(activity: Activity, facts: &MachineFacts) -> Option<String> {
    let name = container(facts)?;
    let capabilities = container_capabilities(activity, facts);
    let list = capabilities.join(", ");
    Some(match name {
        "docker" | "podman" => {
            format!("{name} run {} …", container_options(activity, facts))
        }
        "kubernetes" => {
            format!("in the pod's container: securityContext: {{capabilities: {{add: [{list}]}}}}")
        }
        "systemd-nspawn" => {
            format!("systemd-nspawn --capability=CAP_{} …", capabilities.join(",CAP_"))
        }
        _ => format!("start the container with CAP_{}", capabilities.join(", CAP_")),
    })
}

/// The options of `docker run` and `podman run` for `activity`.
pub(crate) fn container_options(activity: Activity, facts: &MachineFacts) -> String {
    let capabilities = container_capabilities(activity, facts).into_iter();
    let mut options: Vec<String> = capabilities.map(|name| format!("--cap-add={name}")).collect();
    // A user other than root has no capabilities in a container, but limits.
    if facts.permission.user_id != Some(0) {
        options.extend(["memlock=-1", "nice=40", "rtprio=99"].map(|it| format!("--ulimit {it}")));
    }
    if activity == Activity::Tracefs || facts.permission.tracefs_readable == Some(true) {
        options.push("-v /sys/kernel/tracing:/sys/kernel/tracing".to_owned());
    }
    options.join(" ")
}

/// The capabilities for `activity`, and those of other activities that are held, in the names of
/// containers. Root of a container owns tracefs there, so none is needed to read it.
fn container_capabilities(activity: Activity, facts: &MachineFacts) -> Vec<String> {
    let needed = activity.capabilities();
    let names = Activity::Perf.capabilities().iter().filter_map(|name| {
        let upper = name.to_uppercase();
        let is_named = needed.contains(name) || facts.permission.holds(&upper) == Some(true);
        is_named.then(|| upper.trim_start_matches("CAP_").to_owned())
    });
    names.collect()
}

/// A path, quoted for a shell if necessary.
fn quoted(path: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,@%:=".contains(c);
    if !path.is_empty() && path.chars().all(is_plain) {
        path.to_owned()
    } else {
        format!("'{}'", path.replace('\'', r"'\''"))
    }
}

/// A capability and the resource limit that can replace it.
pub(crate) struct Privilege {
    /// The capability's name as containers write it, e.g. `SYS_NICE`.
    pub capability: &'static str,
    /// The limit's name in limits.conf(5), e.g. `rtprio`.
    pub limit: &'static str,
    /// The limit's value there.
    pub value: String,
    /// The limit as systemd writes it, e.g. `LimitRTPRIO=99`.
    pub systemd: String,
}

impl Privilege {
    pub(crate) fn realtime() -> Self {
        Self {
            capability: "SYS_NICE",
            limit: "rtprio",
            value: "99".to_owned(),
            systemd: "LimitRTPRIO=99".to_owned(),
        }
    }

    pub(crate) fn nice(nice: i8) -> Self {
        Self {
            capability: "SYS_NICE",
            limit: "nice",
            value: nice.to_string(),
            systemd: format!("LimitNICE={nice}"),
        }
    }

    pub(crate) fn locked_memory() -> Self {
        Self {
            capability: "IPC_LOCK",
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
        if facts.permission.user_id == Some(0) {
            return Some(format!(
                "add CAP_{} to CapabilityBoundingSet= of the systemd unit, or start it from a root shell",
                self.capability
            ));
        }
        Some(setcap(Activity::RealTime, &facts.permission))
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
            _ => container_run(Activity::RealTime, facts),
        }
    }
}

/// The command that raises a soft limit of this shell, up to the hard limit.
pub(crate) fn ulimit(option: char, value: impl std::fmt::Display) -> String {
    format!("ulimit -S -{option} {value}")
}

/// The change that removes a filter of system calls.
pub(crate) fn unfiltered(facts: &MachineFacts) -> Option<String> {
    match container(facts) {
        Some(name @ ("docker" | "podman")) => {
            Some(format!("{name} run --security-opt seccomp=unconfined …"))
        }
        Some("kubernetes") => Some(
            "in the pod's container: securityContext: {seccompProfile: {type: Unconfined}}"
                .to_owned(),
        ),
        Some(_) => Some("start the container without its seccomp filter".to_owned()),
        None => Some("remove SystemCallFilter= from the systemd unit that starts it".to_owned()),
    }
}
