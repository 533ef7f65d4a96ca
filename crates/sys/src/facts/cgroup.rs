//! The control group of this process.
//!
//! See [cgroups(7)](https://man7.org/linux/man-pages/man7/cgroups.7.html) and the
//! kernel's `Documentation/admin-guide/{cgroup-v1,cgroup-v2}`.

use std::path::Path;
use std::str::FromStr;

use tactus_model::cpus::CpuList;
use tactus_model::facts::{CgroupFacts, ExclusiveCpuset};
use tactus_model::recording::{QuotaGroup, ThreadId};
use tactus_model::time::Nanos;

use super::Tree;

pub(super) fn read(tree: &Tree<'_>) -> CgroupFacts {
    let cpu = Group::of("cpu", "self", tree);
    let cpuset = Group::of("cpuset", "self", tree);
    let quota = cpu.as_ref().map(|group| Quota::tightest(group, tree));
    CgroupFacts {
        version: cpu.as_ref().map(|group| group.version),
        rt_runtime_us: cpu.as_ref().and_then(|group| group.value(tree, "cpu.rt_runtime_us")),
        quota_us: quota.map(|quota| quota.map_or(-1, |quota| quota.runtime_us)),
        quota_period_us: quota.flatten().map(|quota| quota.period_us),
        cpuset: cpuset.as_ref().and_then(|group| confined(group, tree)),
        exclusive_cpusets: cpuset.as_ref().map(|group| exclusive_cpusets(group, tree)),
        cpu_directory: cpu.map(|group| group.directory),
        cpuset_version: cpuset.as_ref().map(|group| group.version),
        cpuset_mount: cpuset.as_ref().map(|group| group.mount.clone()),
        cpuset_directory: cpuset.map(|group| group.directory),
    }
}

/// The most cpusets that are read, and the most that are listed.
const CPUSETS_MAX: usize = 1024;
const EXCLUSIVE_MAX: usize = 32;

/// The cpusets below the mount of a group that ask for CPUs of their own, by directory.
fn exclusive_cpusets(group: &Group, tree: &Tree<'_>) -> Vec<ExclusiveCpuset> {
    let mut open = vec![group.mount.clone()];
    let (mut found, mut seen) = (Vec::new(), 0);
    while let Some(above) = open.pop() {
        for below in tree.directories_in(&above) {
            seen += 1;
            if seen > CPUSETS_MAX || above.split('/').count() > DEPTH_MAX {
                break;
            }
            let directory = format!("{above}/{below}");
            found.extend(exclusive(tree, group.version, &above, &directory));
            open.push(directory);
        }
    }
    found.sort_by(|one, other| one.directory.cmp(&other.directory));
    found.truncate(EXCLUSIVE_MAX);
    found
}

/// The cpuset in `directory`, below `above`, if it asks for CPUs of its own.
fn exclusive(
    tree: &Tree<'_>,
    version: u8,
    above: &str,
    directory: &str,
) -> Option<ExclusiveCpuset> {
    let state = match version {
        1 => {
            let is_exclusive = tree.flag(&format!("{directory}/cpuset.cpu_exclusive"))?;
            let balances = tree.flag(&format!("{above}/cpuset.sched_load_balance"));
            match (is_exclusive, balances) {
                (false, _) => return None,
                (true, Some(true)) => "balanced".to_owned(),
                (true, _) => "exclusive".to_owned(),
            }
        }
        _ => tree.words(&format!("{directory}/cpuset.cpus.partition"))?,
    };
    let cpus: CpuList = tree.value(&format!("{directory}/cpuset.cpus")).unwrap_or_default();
    (state != "member" && !cpus.is_empty()).then(|| ExclusiveCpuset {
        directory: directory.to_owned(),
        cpus,
        state,
    })
}

/// How long quotas throttled this process's group and its ancestors, in total; `None`
/// if no group has a quota.
pub(crate) fn throttled(tree: &Tree<'_>) -> Option<Nanos> {
    let group = Group::of("cpu", "self", tree)?;
    let times = group.upwards();
    Some(times.filter_map(|directory| throttled_time(tree, group.version, directory)).sum())
}

/// The bytes that this process's group may use: the lowest limit of the group and its ancestors.
/// `None` without a limit; version 1 shows a huge one then.
pub(crate) fn memory_limit(tree: &Tree<'_>) -> Option<u64> {
    let group = Group::of("memory", "self", tree)?;
    let file = if group.version == 1 { "memory.limit_in_bytes" } else { "memory.max" };
    group.upwards().filter_map(|directory| tree.value(&format!("{directory}/{file}"))).min()
}

/// How long quotas throttled the group in `directory` since it was made.
fn throttled_time(tree: &Tree<'_>, version: u8, directory: &str) -> Option<Nanos> {
    let stat = tree.text(&format!("{directory}/cpu.stat"))?;
    let value = |name| -> Option<u64> {
        stat.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
    };
    match version {
        1 => value("throttled_time ").map(Nanos::from_nanos),
        _ => value("throttled_usec ").map(Nanos::from_micros),
    }
}

/// The most groups whose quota is read, and the deepest one.
const GROUPS_MAX: usize = 4096;
const DEPTH_MAX: usize = 64;

/// The most groups with a quota that are returned, and the most threads of each.
const QUOTAS_MAX: usize = 64;
const THREADS_MAX: usize = 1 << 13;

/// The control groups with a quota of CPU time, with their present threads, and how long each was
/// throttled since it was made; `None` if no hierarchy with the cpu controller is visible.
pub fn quota_groups() -> Option<Vec<QuotaGroup>> {
    let tree = Tree::new(Path::new("/"));
    let (version, mount) = hierarchy(&tree, "cpu")?;
    let mut found: Vec<QuotaGroup> = Vec::new();
    let mut open = vec![(mount.clone(), Vec::new())];
    let mut seen = 0;
    while let Some((directory, mut above)) = open.pop() {
        if let Some(quota) = Quota::of(&tree, version, &directory)
            && found.len() < QUOTAS_MAX
        {
            above.push(found.len());
            found.push(QuotaGroup {
                path: format!("/{}", directory[mount.len()..].trim_start_matches('/')),
                quota: Nanos::from_micros(quota.runtime_us.unsigned_abs()),
                period: Nanos::from_micros(quota.period_us),
                throttled: throttled_time(&tree, version, &directory).unwrap_or_default(),
                threads: Vec::new(),
            });
        }
        if !above.is_empty() {
            let file = if version == 1 { "tasks" } else { "cgroup.threads" };
            let members = tree.text(&format!("{directory}/{file}")).unwrap_or_default();
            let members = members.lines().filter_map(|line| line.parse().ok()).map(ThreadId);
            let members: Vec<ThreadId> = members.collect();
            for group in &above {
                let threads = &mut found[*group].threads;
                threads.extend(members.iter().take(THREADS_MAX.saturating_sub(threads.len())));
            }
        }
        for below in tree.directories_in(&directory) {
            seen += 1;
            if seen > GROUPS_MAX || directory.split('/').count() > DEPTH_MAX {
                break;
            }
            open.push((format!("{directory}/{below}"), above.clone()));
        }
    }
    for group in &mut found {
        group.threads.sort_unstable();
        group.threads.dedup();
    }
    Some(found)
}

/// The version and the mount point, below the root, of the hierarchy with `controller`.
pub(crate) fn hierarchy(tree: &Tree<'_>, controller: &str) -> Option<(u8, String)> {
    let mounts = tree.text("proc/self/mountinfo")?;
    if let Some(mount) = Mount::of_version_1(&mounts, controller) {
        return Some((1, mount.point.to_owned()));
    }
    let point = Mount::of_version_2(&mounts)?.point;
    let controllers = tree.text(&format!("{point}/cgroup.controllers"))?;
    let has_it = controllers.split_whitespace().any(|name| name == controller);
    has_it.then(|| (2, point.to_owned()))
}

/// The directory of the group of a thread in the hierarchy of `controller`.
pub(crate) fn group_of(tree: &Tree<'_>, controller: &str, thread: i32) -> Option<String> {
    Some(Group::of(controller, &thread.to_string(), tree)?.directory)
}

/// A group of a process in the hierarchy of one controller.
struct Group {
    version: u8,
    /// The mount point of the hierarchy.
    mount: String,
    /// The group's directory, at or below the mount point.
    directory: String,
}

impl Group {
    /// Finds the group of a thread, given as in `/proc`, in the version 1 hierarchy with
    /// `controller`, otherwise in version 2.
    fn of(controller: &str, thread: &str, tree: &Tree<'_>) -> Option<Self> {
        let memberships = tree.text(&format!("proc/{thread}/cgroup"))?;
        let mounts = tree.text("proc/self/mountinfo")?;
        let lines = || memberships.lines().filter_map(membership);
        let first = lines().find(|(controllers, _)| has_word(controllers, controller));
        let (version, path, mount) = match first {
            Some((_, path)) => (1, path, Mount::of_version_1(&mounts, controller)?),
            None => {
                let (_, path) = lines().find(|(controllers, _)| controllers.is_empty())?;
                (2, path, Mount::of_version_2(&mounts)?)
            }
        };
        let directory = mount.directory_of(path)?;
        tree.has(&directory).then(|| Self { version, mount: mount.point.to_owned(), directory })
    }

    fn value<T: FromStr>(&self, tree: &Tree<'_>, file: &str) -> Option<T> {
        tree.value(&format!("{}/{file}", self.directory))
    }

    /// The directories of the group and its ancestors, up to the mount point.
    fn upwards(&self) -> impl Iterator<Item = &str> {
        let below_mount = |directory: &&str| directory.len() >= self.mount.len();
        std::iter::successors(Some(self.directory.as_str()), |directory| {
            directory.rsplit_once('/').map(|(above, _)| above)
        })
        .take_while(below_mount)
    }
}

/// The controllers and the path in a line of `/proc/self/cgroup`: `4:cpu,cpuacct:/user`.
fn membership(line: &str) -> Option<(&str, &str)> {
    let (_, rest) = line.split_once(':')?;
    rest.split_once(':')
}

fn has_word(list: &str, word: &str) -> bool {
    list.split(',').any(|entry| entry == word)
}

/// A line of `/proc/self/mountinfo`.
struct Mount<'t> {
    /// The mounted part of the hierarchy, for example `/` or a container's own group.
    root: &'t str,
    /// The mount point.
    point: &'t str,
    kind: &'t str,
    options: &'t str,
}

impl<'t> Mount<'t> {
    fn parse(line: &'t str) -> Option<Self> {
        let (left, right) = line.split_once(" - ")?;
        let mut left = left.split(' ').skip(3);
        let mut right = right.split(' ');
        let (kind, options) = (right.next()?, right.nth(1)?);
        Some(Self { root: left.next()?, point: left.next()?, kind, options })
    }

    fn of_version_1(mounts: &'t str, controller: &str) -> Option<Self> {
        mounts
            .lines()
            .filter_map(Self::parse)
            .find(|mount| mount.kind == "cgroup" && has_word(mount.options, controller))
    }

    fn of_version_2(mounts: &'t str) -> Option<Self> {
        mounts.lines().filter_map(Self::parse).find(|mount| mount.kind == "cgroup2")
    }

    /// The directory of the group at `path`; `None` if the group is not below this mount.
    fn directory_of(&self, path: &str) -> Option<String> {
        let below = path.strip_prefix(self.root.trim_end_matches('/'))?;
        let below = below.trim_end_matches('/');
        let outside = below.split('/').any(|part| part == "..");
        let inside = below.is_empty() || below.starts_with('/');
        (inside && !outside).then(|| format!("{}{below}", self.point))
    }
}

/// A limit on the CPU time of a group's ordinary tasks.
#[derive(Clone, Copy)]
struct Quota {
    runtime_us: i64,
    period_us: u64,
}

impl Quota {
    /// The tightest quota of the group and its ancestors; `None` without a quota.
    fn tightest(group: &Group, tree: &Tree<'_>) -> Option<Self> {
        group
            .upwards()
            .filter_map(|directory| Self::of(tree, group.version, directory))
            .min_by(|one, other| one.share().total_cmp(&other.share()))
    }

    fn of(tree: &Tree<'_>, version: u8, directory: &str) -> Option<Self> {
        match version {
            1 => Self::of_version_1(tree, directory),
            _ => Self::of_version_2(&tree.text(&format!("{directory}/cpu.max"))?),
        }
    }

    fn share(self) -> f64 {
        self.runtime_us as f64 / self.period_us as f64
    }

    fn of_version_1(tree: &Tree<'_>, directory: &str) -> Option<Self> {
        let runtime_us: i64 = tree.value(&format!("{directory}/cpu.cfs_quota_us"))?;
        let period_us: u64 = tree.value(&format!("{directory}/cpu.cfs_period_us"))?;
        (runtime_us >= 0 && period_us > 0).then_some(Self { runtime_us, period_us })
    }

    /// Reads `cpu.max`: `50000 100000`, or `max 100000` for no limit.
    fn of_version_2(text: &str) -> Option<Self> {
        let (runtime, period) = text.split_once(' ')?;
        let (runtime_us, period_us) = (runtime.parse().ok()?, period.trim().parse().ok()?);
        (runtime_us >= 0 && period_us > 0).then_some(Self { runtime_us, period_us })
    }
}

/// The CPUs that a group is confined to.
fn confined(group: &Group, tree: &Tree<'_>) -> Option<CpuList> {
    let file = match group.version {
        1 => "cpuset.effective_cpus",
        _ => "cpuset.cpus.effective",
    };
    // Under version 2, a group without the controller is confined like its parent.
    let effective =
        group.upwards().find_map(|directory| tree.value(&format!("{directory}/{file}")));
    effective.or_else(|| group.value(tree, "cpuset.cpus"))
}
