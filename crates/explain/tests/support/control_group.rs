//! Control groups with a quota of CPU time (cgroups(7)).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tactus_model::time::Nanos;

/// The weight of the group: that of a thread with nice value -20 (`sched_prio_to_weight` in
/// `kernel/sched/core.c`; nice value 0 has 1024).
const WEIGHT: u64 = 88_761;

/// A control group for threads of this process. The last clone removes it; its threads must be
/// over then.
#[derive(Clone)]
pub struct ControlGroup(Arc<Folder>);

struct Folder {
    path: PathBuf,
    /// Whether it is of version 2 of the interface.
    is_unified: bool,
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Only an empty group can be removed, and a test that failed may have left threads.
        let _ = fs::remove_dir(&self.path);
    }
}

impl ControlGroup {
    /// Makes a group whose threads may use `quota` of CPU time in each `period`.
    pub fn with_quota(quota: Nanos, period: Nanos) -> io::Result<Self> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let (parent, is_unified) = own_group()?;
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let path = parent.join(format!("tactus-test-{}-{number}", std::process::id()));
        fs::create_dir(&path)?;
        let folder = Folder { path, is_unified };
        let micros = |time: Nanos| (time.as_nanos() / 1000).to_string();
        let (quota, period) = (micros(quota), micros(period));
        if is_unified {
            folder.write("cgroup.type", "threaded")?;
            fs::write(parent.join("cgroup.subtree_control"), "+cpu")?;
            folder.write("cpu.max", &format!("{quota} {period}"))?;
            folder.write("cpu.weight", &(WEIGHT * 100 / 1024).to_string())?;
        } else {
            folder.write("cpu.cfs_period_us", &period)?;
            folder.write("cpu.cfs_quota_us", &quota)?;
            folder.write("cpu.shares", &WEIGHT.to_string())?;
        }
        Ok(Self(Arc::new(folder)))
    }

    /// Moves the calling thread into the group.
    pub fn join(&self) {
        let file = if self.0.is_unified { "cgroup.threads" } else { "tasks" };
        self.0.write(file, "0").expect("a thread may join a group that we made");
    }

    /// How long the group was throttled, added up over CPUs.
    pub fn throttled(&self) -> Nanos {
        let text = fs::read_to_string(self.0.path.join("cpu.stat")).expect("every group has it");
        let value = |name: &str| {
            let mut words = text.lines().filter_map(|line| line.split_once(' '));
            words.find(|(word, _)| *word == name).and_then(|(_, value)| value.parse().ok())
        };
        let micros = value("throttled_usec").map(Nanos::from_micros);
        micros.or(value("throttled_time").map(Nanos::from_nanos)).expect("it has a quota")
    }
}

impl Folder {
    fn write(&self, file: &str, text: &str) -> io::Result<()> {
        fs::write(self.path.join(file), text)
    }
}

/// The folder of the group of this process that has the cpu controller, and whether it is of
/// version 2.
fn own_group() -> io::Result<(PathBuf, bool)> {
    let memberships = fs::read_to_string("/proc/self/cgroup")?;
    let mounts = fs::read_to_string("/proc/self/mounts")?;
    let has = |list: &str, word: &str| list.split(',').any(|one| one == word);
    for line in mounts.lines() {
        let mut words = line.split(' ').skip(1);
        let (Some(mount), Some(kind), Some(options)) = (words.next(), words.next(), words.next())
        else {
            continue;
        };
        let is_unified = kind == "cgroup2";
        if !(is_unified || kind == "cgroup" && has(options, "cpu")) {
            continue;
        }
        let own = memberships.lines().find_map(|line| {
            let mut fields = line.splitn(3, ':').skip(1);
            let (controllers, path) = (fields.next()?, fields.next()?);
            let is_it = if is_unified { controllers.is_empty() } else { has(controllers, "cpu") };
            is_it.then_some(path)
        });
        let path = Path::new(mount).join(own.unwrap_or_default().trim_start_matches('/'));
        let controllers = fs::read_to_string(path.join("cgroup.controllers"));
        if !is_unified
            || controllers.is_ok_and(|all| all.split_whitespace().any(|one| one == "cpu"))
        {
            return Ok((path, is_unified));
        }
    }
    Err(io::Error::new(io::ErrorKind::NotFound, "no control groups with a CPU quota are mounted"))
}
