//! Groups of one thread: a real-time budget, or a weight among ordinary threads.

use std::fs;
use std::path::{Path, PathBuf};

use tactus_model::policy::Scheduling;
use tactus_model::recording::ThreadId;
use tactus_model::reserve::Capacity;
use tactus_model::time::Nanos;
use tactus_prepare::ThreadRef;
use tactus_sys::cgroup::{Group, Hierarchy, join};

use crate::priority::{ENFORCER, rate_monotonic};
use crate::refused::NotKept;

/// How many busy ordinary threads on its CPU the weight of a thread withstands.
const RIVALS: f64 = 10.0;

/// A group with one member, which returns to its own group when this is dropped.
#[derive(Debug)]
pub(crate) struct Membership {
    group: Group,
    thread: ThreadId,
    before: Option<PathBuf>,
}

impl Membership {
    fn new(hierarchy: &Hierarchy, thread: ThreadId) -> Result<Self, NotKept> {
        let group = Group::create(hierarchy).map_err(|error| {
            let what = format!("creating a control group in {}", hierarchy.mount().display());
            NotKept::of_file(&what, &error)
        })?;
        Ok(Self { group, thread, before: hierarchy.group_of(thread) })
    }

    fn set(&self, file: &str, value: impl ToString) -> Result<(), NotKept> {
        self.group.set(file, &value.to_string()).map_err(|error| {
            let path = self.group.path().join(file);
            NotKept::of_file(&format!("writing {}", path.display()), &error)
        })
    }

    fn join(&self) -> Result<(), NotKept> {
        self.group.add(self.thread).map_err(|error| {
            NotKept::of_file(&format!("joining {}", self.group.path().display()), &error)
        })
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        // Without this group, the thread returns to the highest group when its own is removed. It
        // may have ended.
        if let Some(before) = &self.before {
            let _ = join(before, self.thread);
        }
    }
}

fn hierarchy() -> Result<Hierarchy, NotKept> {
    Hierarchy::find(Path::new("/"), "cpu").ok_or_else(|| {
        NotKept::needs("no control groups with the controller `cpu` are mounted", None)
    })
}

/// Moves a thread to a group with a real-time budget, and gives it a priority by its period.
pub(crate) fn with_budget(thread: &ThreadRef, capacity: Capacity) -> Result<Membership, NotKept> {
    let hierarchy = hierarchy()?;
    if hierarchy.version() != 1 {
        let reason = "control groups of version 2 have no real-time budgets";
        return Err(NotKept::needs(reason, None));
    }
    if !hierarchy.mount().join("cpu.rt_runtime_us").exists() {
        return Err(NotKept::needs("the kernel has no RT_GROUP_SCHED", None));
    }
    let member = Membership::new(&hierarchy, thread.id()?)?;
    set_budget(&member, capacity, hierarchy.mount())?;
    member.join()?;
    let class = Scheduling::Fifo(rate_monotonic(capacity.period(), ENFORCER));
    match thread.schedule_alone(class)? {
        None => Ok(member),
        Some(refused) => Err(NotKept::Class(refused)),
    }
}

/// Sets the budget of a group; after a refusal, it keeps what it has.
pub(crate) fn change_budget(member: &Membership, capacity: Capacity) -> Result<(), NotKept> {
    let above = member.group.path().parent().unwrap_or(Path::new("/"));
    set_budget(member, capacity, above)
}

fn set_budget(member: &Membership, capacity: Capacity, above: &Path) -> Result<(), NotKept> {
    let old = Budget::of(member.group.path());
    let wanted = Budget {
        runtime: capacity.cost().as_nanos().div_ceil(1000),
        period: capacity.period().as_nanos() / 1000,
    };
    let free = Budget::of(above)
        .map(|all| all.share() - children(above).iter().map(Budget::share).sum::<f64>())
        .map(|free| (free + old.map_or(0.0, |old| old.share())).max(0.0));
    // In between, the budget is the least that the kernel accepts for a group with real-time
    // threads, so it refuses no combination of old and new.
    let set = || {
        member.set("cpu.rt_runtime_us", 1)?;
        member.set("cpu.rt_period_us", wanted.period)?;
        member.set("cpu.rt_runtime_us", wanted.runtime)
    };
    set().map_err(|refused| {
        if let Some(old) = old {
            let _ = member.set("cpu.rt_period_us", old.period);
            let _ = member.set("cpu.rt_runtime_us", old.runtime);
        }
        match free.filter(|free| *free < wanted.share()) {
            Some(free) => NotKept::Needs {
                reason: format!(
                    "the groups with a real-time budget leave {:.1} % of each CPU, and {:.1} % is needed",
                    100.0 * free,
                    100.0 * wanted.share()
                ),
                fix: Some("ask for a shorter cost, or lower the budget of another group".to_owned()),
                largest_cost: Some(Nanos::from_micros((wanted.period as f64 * free) as u64)),
            },
            None => refused,
        }
    })
}

/// A real-time budget, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Budget {
    runtime: u64,
    period: u64,
}

impl Budget {
    fn of(group: &Path) -> Option<Self> {
        let read = |file| fs::read_to_string(group.join(file)).ok()?.trim().parse().ok();
        Some(Self { runtime: read("cpu.rt_runtime_us")?, period: read("cpu.rt_period_us")? })
    }

    fn share(&self) -> f64 {
        self.runtime as f64 / self.period.max(1) as f64
    }
}

/// The budgets of the groups directly below a group.
fn children(group: &Path) -> Vec<Budget> {
    let entries = fs::read_dir(group).into_iter().flatten().flatten();
    entries.filter_map(|entry| Budget::of(&entry.path())).collect()
}

/// Moves a thread to a group whose weight gives it its share against busy threads.
pub(crate) fn with_weight(thread: ThreadId, capacity: Capacity) -> Result<Membership, NotKept> {
    let member = Membership::new(&hierarchy()?, thread)?;
    set_weight(&member, capacity)?;
    member.join()?;
    Ok(member)
}

/// Sets the weight of a group.
pub(crate) fn set_weight(member: &Membership, capacity: Capacity) -> Result<(), NotKept> {
    let factor = weight(capacity.utilisation());
    match member.group.path().join("cpu.shares").exists() {
        true => member.set("cpu.shares", (1024.0 * factor) as u64),
        false => member.set("cpu.weight", (100.0 * factor) as u64),
    }
}

/// The weight, as a multiple of that of an ordinary thread, that gives a share of a CPU against
/// [`RIVALS`]; 1 to 100.
fn weight(share: f64) -> f64 {
    (RIVALS * share / (1.0 - share).max(0.01)).clamp(1.0, 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weight_withstands_its_rivals() {
        for percent in [10, 30, 50, 80] {
            let share = f64::from(percent) / 100.0;
            let weight = weight(share);
            assert!(weight / (weight + RIVALS) >= share - 1e-9, "{percent} %: {weight}");
        }
        assert_eq!([weight(0.001), weight(1.0)], [1.0, 100.0]);
    }

    #[test]
    fn the_budgets_below_a_group_are_read() {
        let root = tempfile::tempdir().unwrap();
        let put = |group: &str, runtime: &str| {
            let path = root.path().join(group);
            fs::create_dir_all(&path).unwrap();
            fs::write(path.join("cpu.rt_runtime_us"), runtime).unwrap();
            fs::write(path.join("cpu.rt_period_us"), "1000000\n").unwrap();
        };
        put("", "950000\n");
        put("audio", "200000\n");
        put("unlimited", "-1\n");
        fs::create_dir(root.path().join("none")).unwrap();
        assert_eq!(Budget::of(root.path()).map(|all| all.share()), Some(0.95));
        assert_eq!(children(root.path()), [Budget { runtime: 200_000, period: 1_000_000 }]);
    }
}
