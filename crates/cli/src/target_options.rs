//! The options that choose running programs.

use std::path::PathBuf;

use clap::Args;
use tactus_app::target::Target;

/// Which running programs to watch.
#[derive(Args)]
pub(crate) struct TargetOptions {
    /// Watch this process and its children; may be repeated
    #[arg(long, value_name = "PID", value_parser = process_id)]
    pid: Vec<u32>,
    /// Watch the programs and threads with this name, and their children; may be repeated
    #[arg(long, value_name = "NAME", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    name: Vec<String>,
    /// Watch the threads of this control group; may be repeated
    #[arg(long, value_name = "PATH")]
    cgroup: Vec<PathBuf>,
}

impl TargetOptions {
    /// Whether none was given.
    pub(crate) const fn is_empty(&self) -> bool {
        self.pid.is_empty() && self.name.is_empty() && self.cgroup.is_empty()
    }

    /// The target, with a `command` or without.
    pub(crate) fn target(&self, command: bool) -> Target {
        Target {
            command,
            processes: self.pid.clone(),
            names: self.name.clone(),
            cgroups: self.cgroup.clone(),
            threads: Vec::new(),
        }
    }
}

/// Parses the ID of a process.
fn process_id(text: &str) -> Result<u32, String> {
    let unknown = |_| format!("`{text}` is not the number of a process; --name takes a name");
    text.trim().parse().map_err(unknown)
}
