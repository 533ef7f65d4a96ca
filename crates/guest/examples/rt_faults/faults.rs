//! Faults of a whole machine, which may happen in a guest only.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, Timespec, clock_gettime, clock_settime};
use tactus_model::cpus::CpuList;
use tactus_model::recording::ThreadId;
use tactus_sys::{affinity, swap};

use crate::comparison::Fault;
use crate::scene::{Part, STEP, Scene};

/// Why the machine cannot have a fault.
type Missing = fn() -> Option<String>;

pub const FAULTS: [(Fault, Missing); 4] = [
    (fault("set the clock by an hour", None, set_clock), || None),
    (fault("swap", Some(Part::Memory), swap_out), lacks_swap),
    (fault("unplug another CPU", None, unplug_another), lacks_cpus),
    (fault("unplug the loop's CPU", None, unplug_own), lacks_cpus),
];

/// The disk of the guest.
const SWAP: &str = "/dev/nvme0n1";

/// The ordinary side has less than this once it has returned what it took.
const RETURNED_BYTES: u64 = 32 << 20;

/// How often that is looked for.
const PATIENCE: u32 = 10_000;

/// How far the clock is set, there and back.
const HOUR: i64 = 3600;

/// A fault by which nothing may be lost.
const fn fault(name: &'static str, needs: Option<Part>, act: fn(&mut Scene, Duration)) -> Fault {
    Fault { name, needs, loses: false, act }
}

fn lacks_swap() -> Option<String> {
    (!Path::new(SWAP).exists()).then(|| format!("no {SWAP}"))
}

/// The first CPU cannot be unplugged, and the last is the loop's.
fn lacks_cpus() -> Option<String> {
    (affinity::get().unwrap().iter().count() < 3).then(|| "needs three CPUs".to_owned())
}

/// Sets the system clock forwards and back.
fn set_clock(scene: &mut Scene, time: Duration) {
    let end = Instant::now() + time;
    while Instant::now() < end {
        for offset in [HOUR, -HOUR] {
            let now = clock_gettime(ClockId::Realtime);
            let then = Timespec { tv_sec: now.tv_sec + offset, ..now };
            clock_settime(ClockId::Realtime, then).unwrap();
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    scene.mark();
}

/// Lets the ordinary side write to more memory than it may have in turn, so that all of it is
/// swapped out and in again.
fn swap_out(scene: &mut Scene, time: Duration) {
    swap::on(Path::new(SWAP)).unwrap();
    scene.peer().order("swap");
    std::thread::sleep(time);
    scene.mark();
    scene.peer().order("return");
    // Until then, what would be swapped in does not fit into the memory of the ordinary side.
    let is_returned = (0..PATIENCE).any(|_| {
        std::thread::sleep(STEP);
        taken_bytes() < RETURNED_BYTES
    });
    assert!(is_returned, "the ordinary side keeps {} bytes", taken_bytes());
    swap::off(Path::new(SWAP)).unwrap();
}

/// The memory of the control groups of the scene.
fn taken_bytes() -> u64 {
    let groups = fs::read_dir("/sys/fs/cgroup").unwrap().flatten();
    let taken = groups.filter_map(|group| {
        fs::read_to_string(group.path().join("memory.current")).ok()?.trim().parse::<u64>().ok()
    });
    taken.sum()
}

fn unplug_another(scene: &mut Scene, time: Duration) {
    let end = Instant::now() + time;
    while Instant::now() < end {
        plug(1, false);
        plug(1, true);
    }
    scene.mark();
}

/// The kernel moves the loop to another CPU, and does not return it.
fn unplug_own(scene: &mut Scene, time: Duration) {
    let last = affinity::get().unwrap().iter().last().unwrap();
    let own: CpuList = [last].into_iter().collect();
    let threads: Vec<ThreadId> = threads()
        .into_iter()
        .filter(|thread| affinity::get_of(*thread).is_ok_and(|cpus| cpus == own))
        .collect();
    plug(last, false);
    std::thread::sleep(time);
    plug(last, true);
    for thread in threads {
        // Those of the kernel refuse, and return by themselves.
        let _ = affinity::set_of(thread, &own);
    }
    scene.mark();
}

fn plug(cpu: u32, is_online: bool) {
    let file = format!("/sys/devices/system/cpu/cpu{cpu}/online");
    fs::write(file, u8::from(is_online).to_string()).unwrap();
}

/// All threads of the machine.
fn threads() -> Vec<ThreadId> {
    let entries = |directory: &Path| fs::read_dir(directory).into_iter().flatten().flatten();
    let processes = entries(Path::new("/proc"));
    let tasks = processes.flat_map(|process| entries(&process.path().join("task")));
    tasks.filter_map(|task| task.file_name().to_str()?.parse().ok().map(ThreadId)).collect()
}
