//! A CPU of its own for the deadline class, with an exact test of deadlines.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tactus_admission::fit::{holds, largest_cost};
use tactus_admission::{Placement, Plan, Policy, Steps, Task};
use tactus_model::cpus::CpuList;
use tactus_model::recording::ThreadId;
use tactus_model::reserve::{Capacity, RefusedRung, Rung};
use tactus_model::time::Nanos;
use tactus_prepare::ThreadRef;
use tactus_sys::SysError;
use tactus_sys::cgroup::{Group, Hierarchy, join};

use crate::refused::NotKept;
use crate::reserve::deadline;

/// The share of a CPU that the kernel admits at most, in per cent, where the settings cannot be
/// read.
const USUAL_CAPACITY: u8 = 95;

/// A CPU that only the reserves granted on it use by the deadline class: an exclusive cpuset.
///
/// The deadlines of its reserves are kept: before a grant, an exact test checks all of them. When
/// it is dropped, it waits until the kernel has released their bandwidth, a period at most, and
/// removes the cpuset. (Linux 6.18 subtracts a bandwidth twice if cpusets change before that.)
#[derive(Debug)]
pub struct Partition {
    cpu: u32,
    hierarchy: Hierarchy,
    group: Group,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    tasks: Vec<Task>,
    /// No name is used twice.
    granted: u64,
    /// When the kernel has released the bandwidth of all that ended.
    released: Option<Instant>,
}

impl Partition {
    /// Sets a CPU aside.
    ///
    /// # Errors
    /// This requires root, and a hierarchy of cpusets whose highest group does not spread threads
    /// over all CPUs (version 1), or has the controller enabled below it (version 2). Another
    /// cpuset may have the CPU.
    pub fn create(cpu: u32) -> Result<Arc<Self>, RefusedRung> {
        let made = Self::make(cpu).map(Arc::new);
        made.map_err(|refused| match refused.explain(Rung::Partitioned) {
            Ok((refused, _)) => refused,
            Err(error) => {
                RefusedRung { rung: Rung::Partitioned, reason: error.to_string(), fix: None }
            }
        })
    }

    fn make(cpu: u32) -> Result<Self, NotKept> {
        let hierarchy = Hierarchy::find(Path::new("/"), "cpuset").ok_or_else(|| {
            NotKept::needs("no control groups with the controller `cpuset` are mounted", None)
        })?;
        check(&hierarchy, cpu)?;
        let group = Group::create(&hierarchy)
            .map_err(|error| NotKept::of_file("creating a cpuset", &error))?;
        for (file, value) in values(&hierarchy, cpu) {
            group.set(file, &value).map_err(|error| {
                NotKept::of_file(&format!("writing {file} of a cpuset"), &error)
            })?;
        }
        if hierarchy.version() == 2 {
            let state = text(&group.path().join("cpuset.cpus.partition"));
            if state != "root" {
                return Err(NotKept::needs(
                    format!("the cpuset is not a partition: {state}"),
                    None,
                ));
            }
        }
        Ok(Self { cpu, hierarchy, group, state: Mutex::default() })
    }

    /// The CPU.
    pub const fn cpu(&self) -> u32 {
        self.cpu
    }

    /// Moves a thread to the CPU and grants it a capacity, if all deadlines are kept.
    pub(crate) fn keep(
        self: &Arc<Self>,
        thread: &ThreadRef,
        capacity: Capacity,
    ) -> Result<Place, NotKept> {
        let id = thread.id()?;
        let before = self.hierarchy.group_of(id);
        let name = self.admit(capacity, None)?;
        // From here on, an early return drops this, which undoes everything.
        let place = Place {
            partition: Arc::clone(self),
            thread: id,
            before,
            name,
            release: capacity.period(),
        };
        self.group.add(id).map_err(|error| NotKept::of_file("joining the cpuset", &error))?;
        match thread.schedule_alone(deadline(capacity))? {
            None => Ok(place),
            Some(refused) => Err(NotKept::Class(refused)),
        }
    }

    /// Adds a task, in place of the one with the name `instead`, if all deadlines are kept; returns
    /// its name.
    fn admit(&self, capacity: Capacity, instead: Option<&str>) -> Result<String, NotKept> {
        let mut state = self.state();
        let name = format!("{}", state.granted + 1);
        let task = Task::new(name.clone(), capacity.cost(), capacity.period())
            .and_then(|task| task.with_deadline(capacity.deadline()))
            .map_err(|error| NotKept::needs(error.to_string(), None))?;
        let others = state.tasks.iter().filter(|task| Some(task.name()) != instead);
        let plan = plan(others.cloned().collect());
        let mut steps = Steps::limited(Steps::USUAL);
        if holds(&plan.with(task.clone()), &mut steps) != Some(true) {
            let fit = largest_cost(&plan, &task, &mut Steps::limited(Steps::USUAL));
            let largest_cost = fit.map(|fit| fit.value);
            let reason = format!(
                "with {capacity}, the reserves on CPU {} could miss their deadlines",
                self.cpu
            );
            let fix = largest_cost.map(|cost| format!("ask for a cost of at most {cost}"));
            return Err(NotKept::Needs { reason, fix, largest_cost });
        }
        state.granted += 1;
        state.tasks.push(task);
        Ok(name)
    }

    /// Removes a task, whose bandwidth the kernel keeps for a time.
    fn remove(&self, name: &str, kept: Nanos) {
        let mut state = self.state();
        state.tasks.retain(|task| task.name() != name);
        let released = Instant::now() + Duration::from(kept);
        state.released = Some(state.released.map_or(released, |other| other.max(released)));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No operation leaves the state half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Partition {
    fn drop(&mut self) {
        if let Some(released) = self.state().released {
            std::thread::sleep(released.saturating_duration_since(Instant::now()));
        }
    }
}

/// The place of one thread in a partition; it returns to its own cpuset when this is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    partition: Arc<Partition>,
    thread: ThreadId,
    before: Option<PathBuf>,
    name: String,
    /// How long the kernel remembers the thread once it has left the class.
    release: Nanos,
}

impl Place {
    /// Notes how long the kernel remembers the thread, before it leaves the class.
    pub(crate) const fn leave(&mut self, release: Nanos) {
        self.release = release;
    }

    /// Changes the capacity, if all deadlines are kept.
    pub(crate) fn change(&mut self, thread: &ThreadRef, capacity: Capacity) -> Result<(), NotKept> {
        let name = self.partition.admit(capacity, Some(&self.name))?;
        let set: Result<_, SysError> = thread.schedule_alone(deadline(capacity));
        match set? {
            None => {
                self.partition.remove(&self.name, Nanos::ZERO);
                self.name = name;
                Ok(())
            }
            Some(refused) => {
                self.partition.remove(&name, Nanos::ZERO);
                Err(NotKept::Class(refused))
            }
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // The kernel subtracts the bandwidth from the CPUs on which the thread is at its 0-lag time:
        // a thread that moves before that would take it from others. It may have ended.
        if let Some(before) =
            self.before.as_ref().filter(|_| ThreadRef::Id(self.thread).cpus().is_ok())
        {
            std::thread::sleep(Duration::from(self.release));
            let _ = join(before, self.thread);
        }
        self.partition.remove(&self.name, self.release);
    }
}

fn plan(tasks: Vec<Task>) -> Plan {
    let facts = tactus_sys::facts::read(Path::new("/"));
    let percent = match (facts.scheduling.rt_runtime_us, facts.scheduling.rt_period_us) {
        (Some(runtime @ 0..), Some(period @ 1..)) => (100 * runtime / period).min(100) as u8,
        _ => USUAL_CAPACITY,
    };
    let server = facts.scheduling.fair_server_runtime.zip(facts.scheduling.fair_server_period);
    let share = server.map_or(0, |(runtime, period)| {
        (100 * runtime.as_nanos()).div_ceil(period.as_nanos().max(1)).min(100) as u8
    });
    let capacity = percent.saturating_sub(share);
    Plan { policy: Policy::Deadline, cpus: 1, placement: Placement::Partitioned, capacity, tasks }
}

/// The values that make a new group an exclusive cpuset of `cpu`, in their order.
fn values(hierarchy: &Hierarchy, cpu: u32) -> Vec<(&'static str, String)> {
    match hierarchy.version() {
        1 => vec![
            ("cpuset.mems", text(&hierarchy.mount().join("cpuset.mems"))),
            ("cpuset.cpus", cpu.to_string()),
            ("cpuset.cpu_exclusive", "1".to_owned()),
        ],
        _ => vec![("cpuset.cpus", cpu.to_string()), ("cpuset.cpus.partition", "root".to_owned())],
    }
}

/// Checks what a partition needs and this program does not change: settings of the highest group
/// affect all threads of the machine.
fn check(hierarchy: &Hierarchy, cpu: u32) -> Result<(), NotKept> {
    let mount = hierarchy.mount();
    if let Some(owner) = owner(mount, cpu) {
        let reason = format!("CPU {cpu} belongs to the cpuset {}", owner.display());
        return Err(NotKept::needs(reason, Some("choose another CPU, or remove that cpuset")));
    }
    if hierarchy.version() == 1 {
        let file = mount.join("cpuset.sched_load_balance");
        if text(&file) == "1" {
            let fix = format!(
                "echo 0 | sudo tee {} (afterwards the kernel moves threads between CPUs only within cpusets)",
                file.display()
            );
            let reason =
                "the highest cpuset spreads threads over all CPUs, so none can be set aside";
            return Err(NotKept::needs(reason, Some(&fix)));
        }
    } else {
        let file = mount.join("cgroup.subtree_control");
        if !text(&file).split_whitespace().any(|name| name == "cpuset") {
            let fix = format!("echo +cpuset | sudo tee {}", file.display());
            let reason = "the controller `cpuset` is not enabled below the highest group";
            return Err(NotKept::needs(reason, Some(&fix)));
        }
    }
    Ok(())
}

/// The group directly below the highest that has `cpu` for itself: any with version 1, where a
/// group without CPUs of its own has none, and a partition with version 2.
fn owner(mount: &Path, cpu: u32) -> Option<PathBuf> {
    let groups = fs::read_dir(mount).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut owners = groups.filter(|group| {
        let file = |name| text(&group.join(name));
        let has_cpu = file("cpuset.cpus")
            .parse::<CpuList>()
            .is_ok_and(|cpus| cpus.iter().any(|own| own == cpu));
        has_cpu && (group.join("tasks").exists() || file("cpuset.cpus.partition") == "root")
    });
    owners.next()
}

fn text(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree of cpusets.
    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    fn reason(files: &[(&str, &str)], cpu: u32) -> Option<String> {
        let root = tree(files);
        let hierarchy = Hierarchy::find(root.path(), "cpuset").unwrap();
        let refused = check(&hierarchy, cpu).err()?;
        let (refused, _) = refused.explain(Rung::Partitioned).unwrap();
        Some(refused.reason.replace(&root.path().display().to_string(), ""))
    }

    const FIRST: (&str, &str) =
        ("proc/self/mountinfo", "31 1 0:27 / /set rw - cgroup cgroup rw,cpuset\n");
    const SECOND: (&str, &str) = ("proc/self/mountinfo", "31 1 0:27 / /set rw - cgroup2 c rw\n");

    #[test]
    fn a_highest_cpuset_that_spreads_threads_refuses_and_names_the_file() {
        let refused = reason(&[FIRST, ("set/cpuset.sched_load_balance", "1\n")], 1);
        assert!(refused.unwrap().contains("spreads threads"));
        assert_eq!(reason(&[FIRST, ("set/cpuset.sched_load_balance", "0\n")], 1), None);
    }

    #[test]
    fn a_cpuset_of_another_tool_keeps_its_cpus() {
        let shielded = [
            FIRST,
            ("set/cpuset.sched_load_balance", "0\n"),
            ("set/user/cpuset.cpus", "1-2\n"),
            ("set/user/tasks", ""),
        ];
        assert_eq!(reason(&shielded, 1).unwrap(), "CPU 1 belongs to the cpuset /set/user");
        assert_eq!(reason(&shielded, 3), None);
        let unified = [
            SECOND,
            ("set/cgroup.controllers", "cpu cpuset\n"),
            ("set/cgroup.subtree_control", "cpuset\n"),
            ("set/a/cpuset.cpus", "1\n"),
            ("set/a/cpuset.cpus.partition", "root\n"),
            ("set/b/cpuset.cpus", "2\n"),
            ("set/b/cpuset.cpus.partition", "member\n"),
        ];
        assert_eq!(reason(&unified, 1).unwrap(), "CPU 1 belongs to the cpuset /set/a");
        assert_eq!(reason(&unified, 2), None);
    }

    #[test]
    fn the_second_version_needs_its_controller() {
        let files = [
            SECOND,
            ("set/cgroup.controllers", "cpuset\n"),
            ("set/cgroup.subtree_control", "cpu\n"),
        ];
        assert!(reason(&files, 0).unwrap().contains("not enabled"));
    }
}
