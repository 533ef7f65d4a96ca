//! Control groups that belong to one process: cgroups(7).
//!
//! They lie at the root of their hierarchy, where the next start finds those that a killed process
//! has left.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tactus_model::recording::ThreadId;

use crate::facts::{Tree, group_of, hierarchy};
use crate::owned_directory::{OwnedDirectory, Removal, remove_stale_with, remove_those_of, stale};

/// The prefix of the names of our groups; the process ID and a number follow.
const PREFIX: &str = "tactus-";

/// The controllers of which we make groups.
const CONTROLLERS: [&str; 4] = ["cpu", "cpuset", "memory", "pids"];

/// How often the members of a group are moved: a member may start another at the same time.
const MOVES: u32 = 10;

/// The hierarchy of groups of one controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hierarchy {
    controller: &'static str,
    version: u8,
    mount: PathBuf,
}

impl Hierarchy {
    /// Finds the hierarchy of `controller` below `root`, normally `/`; `None` if none is mounted.
    pub fn find(root: &Path, controller: &'static str) -> Option<Self> {
        let (version, mount) = hierarchy(&Tree::new(root), controller)?;
        Some(Self { controller, version, mount: root.join(mount.trim_start_matches('/')) })
    }

    /// The version of cgroups: 1 or 2.
    pub const fn version(&self) -> u8 {
        self.version
    }

    /// The group of a thread; `None` if the thread does not exist, or its group is not visible.
    pub fn group_of(&self, thread: ThreadId) -> Option<PathBuf> {
        group_of(&Tree::new(Path::new("/")), self.controller, thread.0).map(PathBuf::from)
    }

    /// The directory of its highest group.
    pub fn mount(&self) -> &Path {
        &self.mount
    }
}

/// A group that exists until this is dropped; its members then return to the highest group.
#[derive(Debug)]
pub struct Group {
    directory: OwnedDirectory,
}

impl Group {
    /// Creates a group below the highest group of a hierarchy.
    ///
    /// # Errors
    /// - `EACCES` or `EPERM`: only root may create groups.
    /// - `EROFS`: a container sees the hierarchy but may not change it.
    pub fn create(hierarchy: &Hierarchy) -> io::Result<Self> {
        let directory = OwnedDirectory::create_with(Removal::Group, &hierarchy.mount, PREFIX)?;
        Ok(Self { directory })
    }

    /// Its directory.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Writes a value to a file of the group, e.g. `cpu.shares`.
    ///
    /// # Errors
    /// - `ENOENT`: the kernel does not have the file, or the controller is not enabled.
    /// - `EINVAL`, `EBUSY`: the kernel refuses the value.
    pub fn set(&self, file: &str, value: &str) -> io::Result<()> {
        write(&self.path().join(file), value)
    }

    /// Makes a thread a member; with version 2, its whole process.
    ///
    /// # Errors
    /// - `ESRCH`: the thread does not exist.
    /// - `EINVAL`: it has a real-time class, and the group has no real-time budget.
    /// - `EBUSY`: the bandwidth of its deadline class does not fit the group.
    pub fn add(&self, thread: ThreadId) -> io::Result<()> {
        join(self.path(), thread)
    }
}

/// Makes a thread a member of the group with this directory; with version 2, its whole process.
///
/// # Errors
/// Those of [`Group::add`].
pub fn join(group: &Path, thread: ThreadId) -> io::Result<()> {
    write(&group.join(members(group)), &thread.0.to_string())
}

/// The file that lists the members of a group: threads in version 1, processes in version 2.
fn members(group: &Path) -> &'static str {
    if group.join("tasks").exists() { "tasks" } else { "cgroup.procs" }
}

fn write(file: &Path, value: &str) -> io::Result<()> {
    // Without O_CREAT: a file that the kernel does not have is an error.
    OpenOptions::new().write(true).open(file)?.write_all(value.as_bytes())
}

/// Returns the members of a group to the group above.
pub(crate) fn empty(group: &Path) {
    let file = members(group);
    let above = group.parent().unwrap_or(group).join(file);
    for _ in 0..MOVES {
        let listed = fs::read_to_string(group.join(file)).unwrap_or_default();
        if listed.is_empty() {
            return;
        }
        for member in listed.split_whitespace() {
            // A member may end meanwhile.
            let _ = write(&above, member);
        }
    }
}

/// The highest groups of the hierarchies below `root`.
fn places(root: &Path) -> Vec<PathBuf> {
    let found = CONTROLLERS.iter().filter_map(|controller| Hierarchy::find(root, controller));
    let mut places: Vec<PathBuf> = found.map(|hierarchy| hierarchy.mount).collect();
    places.dedup();
    places
}

/// The stale groups below `root`: those of processes that were killed.
pub fn stale_groups(root: &Path) -> Vec<PathBuf> {
    let places = places(root);
    places.iter().flat_map(|place| stale(place, PREFIX)).map(|(path, _lock)| path).collect()
}

/// Removes the stale groups below `root`; their members return to the highest group.
pub fn remove_stale_groups(root: &Path) {
    places(root).iter().for_each(|place| remove_stale_with(Removal::Group, place, PREFIX));
}

/// Removes the groups below `root` of `process`, which is ending, as soon as the kernel has closed
/// them; waits `patience` at most.
pub fn remove_groups_of(root: &Path, process: u32, patience: Duration) {
    remove_those_of(process, Removal::Group, &places(root), PREFIX, patience);
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use tactus_testing::{Need, require};

    use super::*;

    fn created(controller: &'static str) -> Result<Group, String> {
        let hierarchy = Hierarchy::find(Path::new("/"), controller).ok_or("no hierarchy")?;
        Group::create(&hierarchy).map_err(|error| error.to_string())
    }

    #[test]
    fn needs_root_members_return_when_their_group_ends() {
        for controller in CONTROLLERS {
            let Some(group) = require(Need::Root, created(controller)) else { return };
            let path = group.path().to_owned();
            if controller == "cpu" {
                let mut child = Command::new("sleep").arg("60").spawn().unwrap();
                let process = ThreadId(child.id().cast_signed());
                group.add(process).unwrap();
                let listed = fs::read_to_string(path.join("cgroup.procs")).unwrap();
                assert_eq!(listed.trim(), process.0.to_string());
                drop(group);
                child.kill().unwrap();
                child.wait().unwrap();
            } else {
                assert!(group.set("no.such.file", "1").is_err());
                drop(group);
            }
            assert!(!path.exists(), "{}", path.display());
        }
    }

    #[test]
    fn a_hierarchy_is_found_by_its_controller() {
        let root = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let unified = "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        put("proc/self/mountinfo", unified);
        put("sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
        let found = |controller: &'static str| Hierarchy::find(root.path(), controller);
        assert_eq!(found("cpu").map(|found| found.version()), Some(2));
        assert_eq!(found("cpuset"), None);
        let legacy = "31 1 0:27 / /sys/fs/cgroup/set rw - cgroup cgroup rw,cpuset\n";
        put("proc/self/mountinfo", &format!("{unified}{legacy}"));
        let mount = root.path().join("sys/fs/cgroup/set");
        assert_eq!(
            found("cpuset"),
            Some(Hierarchy { controller: "cpuset", version: 1, mount: mount.clone() })
        );
        let group = Group::create(&found("cpuset").unwrap_or_else(|| panic!()));
        assert!(group.is_err(), "the directory does not exist");
        fs::create_dir_all(mount.join("tactus-1-0")).unwrap();
        assert_eq!(stale_groups(root.path()), [mount.join("tactus-1-0")]);
        remove_stale_groups(root.path());
        assert!(stale_groups(root.path()).is_empty());
    }
}
