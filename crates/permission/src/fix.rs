//! The commands that would grant what was refused.

use tactus_model::facts::MachineFacts;

use crate::container;

/// What lets an ordinary user do all that Tactus can do, once and for all: the
/// command that gives `program` every capability it can use.
///
/// setcap(8) replaces what the file had before, so only a command that grants all
/// of it can follow another. Where the program is not known the shell finds it.
pub fn grant_all(program: Option<&str>) -> String {
    let program = program.map_or_else(|| "\"$(command -v tactus)\"".to_owned(), quoted);
    format!("sudo setcap cap_perfmon,cap_dac_read_search,cap_ipc_lock,cap_sys_nice+ep {program}")
}

/// A path as a shell reads it back.
fn quoted(path: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,@%:=".contains(c);
    if !path.is_empty() && path.chars().all(is_plain) {
        path.to_owned()
    } else {
        format!("'{}'", path.replace('\'', r"'\''"))
    }
}

/// A capability and the resource limit that serves in its stead.
pub(crate) struct Privilege {
    /// The capability's name as containers write it, as `SYS_NICE`.
    pub capability: &'static str,
    /// The limit's name in limits.conf(5), as `rtprio`.
    pub limit: &'static str,
    /// The limit's value there.
    pub value: String,
    /// The same as systemd writes it, as `LimitRTPRIO=99`.
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

    /// What gives this privilege to somebody who has nothing of it.
    pub(crate) fn grant(&self, facts: &MachineFacts) -> Option<String> {
        if let Some(container) = container(facts) {
            return self.grant_to_container(container, facts);
        }
        if facts.permission.own_user_namespace == Some(true) {
            return Some(self.raise_limit());
        }
        if facts.permission.no_new_privileges == Some(true) {
            // Neither setcap nor sudo has an effect below such a process.
            return Some(self.systemd_unit());
        }
        if facts.permission.user_id == Some(0) {
            return Some(format!(
                "add CAP_{} to CapabilityBoundingSet= of the systemd unit, or start it from a root shell",
                self.capability
            ));
        }
        Some(grant_all(facts.permission.program.as_deref()))
    }

    /// The line that raises a limit for the members of a group.
    pub(crate) fn raise_limit(&self) -> String {
        format!(
            "echo '@realtime - {} {}' | sudo tee -a /etc/security/limits.d/realtime.conf && \
             sudo groupadd -f realtime && sudo usermod -aG realtime $USER, then log in again",
            self.limit, self.value
        )
    }

    fn systemd_unit(&self) -> String {
        format!(
            "start it outside of what set no_new_privs, or with {} in its systemd unit",
            self.systemd
        )
    }

    fn grant_to_container(&self, container: &str, facts: &MachineFacts) -> Option<String> {
        let Self { capability, limit, value, .. } = self;
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
            "docker" | "podman" => {
                Some(format!("{container} run --cap-add={capability} --ulimit {limit}={value} …"))
            }
            "kubernetes" => Some(format!(
                "in the pod's container: securityContext: {{capabilities: {{add: [{capability}]}}}}"
            )),
            "lxc" => Some(format!(
                "in the container's configuration: lxc.prlimit.{limit} = {}",
                if value == "-1" { "unlimited" } else { &value }
            )),
            "systemd-nspawn" => Some(format!("systemd-nspawn --capability=CAP_{capability} …")),
            _ => Some(format!("give the container CAP_{capability} where it is started")),
        }
    }
}

/// The command that raises a soft limit to what the hard limit allows, for this shell.
pub(crate) fn ulimit(option: char, value: impl std::fmt::Display) -> String {
    format!("ulimit -S -{option} {value}")
}

/// What takes a filter of system calls away.
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
        None => Some("without SystemCallFilter= in the systemd unit that starts it".to_owned()),
    }
}
