//! The facts of the machine that determine its timing, from `/proc` and `/sys`.
//!
//! Sources: [proc(5)](https://man7.org/linux/man-pages/man5/proc.5.html),
//! [sysfs(5)](https://man7.org/linux/man-pages/man5/sysfs.5.html) and the kernel's
//! `Documentation/ABI`. A fact that cannot be read is unknown; nothing is guessed.

mod calls;
mod cgroup;
mod container;
mod cpu;
mod deadline;
mod hypervisor;
mod identity;
mod interrupt;
mod kernel;
mod left;
pub(crate) mod memory;
mod permission;
mod preemption;
mod process;
mod scheduling;
mod thermal;
mod tree;

use std::path::Path;

use tactus_model::facts::{MachineFacts, SchedulingFacts};

pub use calls::CallFacts;
pub use cgroup::quota_groups;
pub(crate) use cgroup::{group_of, hierarchy, memory_limit, throttled};
pub use process::{DRAINER, LEVEL_WATCHER};
pub(crate) use tree::Tree;

use crate::{clock, counters};

/// Reads the facts of the machine whose `/proc`, `/sys`, `/boot`, `/etc` and `/run` are below
/// `root`.
///
/// System calls are made only if `root` is `/`, since they describe the running machine.
pub fn read(root: &Path) -> MachineFacts {
    let calls = if root == Path::new("/") { CallFacts::ask() } else { CallFacts::default() };
    read_with(root, &calls)
}

/// Reads the facts below `root`; facts that are in no file come from `calls`.
pub fn read_with(root: &Path, calls: &CallFacts) -> MachineFacts {
    let tree = Tree::new(root);
    let mut kernel = kernel::read(&tree, calls);
    let cgroup = cgroup::read(&tree);
    if cgroup.version == Some(1) {
        // Version 1 shows the budgets as files, which says more than the kernel's
        // configuration.
        kernel.rt_group_scheduling = Some(cgroup.rt_runtime_us.is_some());
    }
    let permission = permission::read(&tree);
    let programs = process::read(&tree, permission.container.as_deref());
    let left_behind = left::read(&tree, permission.user_id);
    MachineFacts {
        taken: clock::now(),
        machine_id: identity::read(&tree),
        node: None,
        cpu: cpu::read(&tree),
        scheduling: SchedulingFacts { left_behind, ..scheduling::read(&tree, programs) },
        permission,
        memory: memory::read(&tree),
        thermal: thermal::read(&tree),
        load_average: tree.text("proc/loadavg").and_then(|text| counters::load_averages(&text)),
        steal: tree.text("proc/stat").and_then(|text| counters::CpuTimes::parse(&text).steal),
        kernel,
        cgroup,
    }
}
