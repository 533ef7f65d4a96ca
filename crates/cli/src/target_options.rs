//! The options that choose running programs.

use std::path::PathBuf;

use clap::Args;
use tactus_app::target::Target;

use crate::values::process_id;

/// Which running programs to watch.
#[derive(Args)]
pub(crate) struct TargetOptions {
    /// Watch this process and its children; may be repeated
    #[arg(long, value_name = "PID", value_parser = process_id("--name takes a name"))]
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
