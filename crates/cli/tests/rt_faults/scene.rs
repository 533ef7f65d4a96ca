//! A real-time side, an ordinary side, and what the ordinary side can exhaust.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::mount::{UnmountFlags, unmount};
use tactus_model::time::{Monotonic, Nanos};
use tactus_settings::Guardian;
use tactus_sys::cgroup::{Group, Hierarchy};
use tactus_sys::{clock, mount};
use tempfile::TempDir;

use crate::comparison::Fault;
use crate::peer;
use crate::servo::{self, Snapshot};

/// What the ordinary side may have.
const MEMORY_BYTES: &str = "134217728";
const PROCESSES: &str = "40";
const SPACE: &str = "16M";

/// How often something is looked for.
pub const STEP: Duration = Duration::from_millis(5);

/// Ends a failed test; no figure.
const AMPLE: Duration = Duration::from_secs(60);

/// A part of a scene that a machine may not grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Memory,
    Processes,
    Disk,
    Tmpfs,
    Clock,
}

/// The parts that the machine does not grant, and why.
struct Missing(Vec<(Part, String)>);

impl Missing {
    fn note<T>(&mut self, part: Part, made: Result<T, String>) -> Option<T> {
        made.map_err(|reason| self.0.push((part, reason))).ok()
    }
}

/// A filesystem that is mounted until this is dropped.
struct Mounted(PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = unmount(&self.0, UnmountFlags::DETACH);
    }
}

/// What one block found.
#[derive(Clone, Copy, Debug, Default)]
pub struct Block {
    pub intended: u64,
    pub kept: u64,
    pub refused: u64,
    pub lost: u64,
    pub recovered: Duration,
    /// In ticks of a CPU.
    pub steal: u64,
}

/// The processes of a block, with the folder of their socket. The mounts below it exist for this
/// thread and its processes only.
pub struct Scene {
    pub servo: servo::Running,
    peer: Option<peer::Running>,
    groups: Vec<Group>,
    missing: Missing,
    /// What the loop had done at the beginning of the block, or of the present real-time side.
    before: Snapshot,
    /// How long there was no real-time side in the block.
    absent: Nanos,
    _mounts: Vec<Mounted>,
    folder: TempDir,
    _guardian: Guardian,
}

impl Scene {
    /// Starts both sides, and `program` as the guardian.
    ///
    /// # Errors
    /// What the machine does not grant.
    pub fn start(program: &Path) -> Result<Self, String> {
        mount::own_mounts().map_err(|error| error.to_string())?;
        // For control groups, if this process is killed.
        let guardian = Guardian::start(program, Vec::new()).map_err(|error| error.to_string())?;
        let folder = tempfile::tempdir().unwrap();
        open_to_all(folder.path(), 0o755);
        let mut missing = Missing(Vec::new());
        let memory = ["memory.limit_in_bytes", "memory.max"];
        let memory = group("memory", memory, MEMORY_BYTES);
        let processes = group("pids", ["pids.max", "pids.max"], PROCESSES);
        let groups = [missing.note(Part::Memory, memory), missing.note(Part::Processes, processes)];
        let (disk, tmpfs) = (disk(folder.path()), tmpfs(&folder.path().join("tmpfs")));
        let mounts = [missing.note(Part::Disk, disk), missing.note(Part::Tmpfs, tmpfs)];
        missing.note(Part::Clock, clock::step(0).map_err(|error| error.to_string()));
        let servo = servo::Running::start(&socket(folder.path()))?;
        let mut scene = Self {
            servo,
            peer: None,
            groups: groups.into_iter().flatten().collect(),
            missing,
            before: Snapshot::default(),
            absent: Nanos::ZERO,
            _mounts: mounts.into_iter().flatten().collect(),
            folder,
            _guardian: guardian,
        };
        scene.start_peer();
        scene.mark();
        scene.await_recovery();
        Ok(scene)
    }

    /// Why a part is not granted; `None` if it is.
    pub fn lacks(&self, part: Part) -> Option<&str> {
        let missing = self.missing.0.iter().find(|(missing, _)| *missing == part);
        missing.map(|(_, reason)| reason.as_str())
    }

    /// Marks the end of a fault.
    pub fn mark(&mut self) {
        self.servo.mark(clock::now());
    }

    /// Kills the real-time side, marks that, and starts another.
    pub fn restart_servo(&mut self) {
        let killed = clock::now::<Monotonic>();
        self.servo.kill();
        self.servo = servo::Running::start(&socket(self.folder.path())).unwrap();
        self.before = Snapshot::default();
        self.absent = clock::now::<Monotonic>() - killed;
        self.servo.mark(killed);
    }

    /// Starts a process of the ordinary side.
    pub fn start_helper(&self, name: &str) -> peer::Running {
        let join = |process: u32| {
            self.groups.iter().for_each(|group| {
                group.set("cgroup.procs", &process.to_string()).unwrap();
            });
        };
        peer::Running::start(name, &socket(self.folder.path()), join)
    }

    pub fn start_peer(&mut self) {
        self.peer = Some(self.start_helper("peer::a_peer"));
    }

    pub fn end_peer(&mut self) {
        self.peer = None;
    }

    pub fn peer(&mut self) -> &mut peer::Running {
        self.peer.as_mut().unwrap()
    }

    pub fn await_end_of_peer(&mut self) {
        let deadline = Instant::now() + AMPLE;
        while !self.peer().has_ended() {
            assert!(Instant::now() < deadline, "the ordinary side has not ended");
            std::thread::sleep(STEP);
        }
    }

    /// Waits for the echo of a state after the last mark. Returns what the loop had done then.
    fn await_recovery(&mut self) -> Snapshot {
        let deadline = Instant::now() + AMPLE;
        loop {
            let snapshot = self.servo.snapshot();
            if snapshot.recovered_ns > 0 {
                return snapshot;
            }
            assert!(Instant::now() < deadline, "nothing came back: {snapshot:?}");
            std::thread::sleep(STEP);
        }
    }

    /// Lets the loop run for about `time`, with a fault in the second and third quarter.
    pub fn run(&mut self, time: Duration, fault: Option<&Fault>) -> Block {
        let steal = steal();
        (self.before, self.absent) = (self.servo.snapshot(), Nanos::ZERO);
        std::thread::sleep(time / 4);
        match fault {
            Some(fault) => (fault.act)(self, time / 2),
            None => {
                std::thread::sleep(time / 2);
                self.mark();
            }
        }
        let recovered_ns = self.await_recovery().recovered_ns;
        std::thread::sleep(time / 4);
        let after = self.servo.snapshot();
        check(&after);
        let before = &self.before;
        Block {
            intended: after.intended - before.intended
                + self.absent.as_nanos() / servo::PERIOD.as_nanos(),
            kept: after.kept - before.kept,
            refused: after.refused - before.refused,
            lost: after.lost - before.lost,
            recovered: Duration::from_nanos(recovered_ns),
            steal: self::steal() - steal,
        }
    }
}

/// Requires that every state is accounted for.
fn check(found: &Snapshot) {
    // The loop may be between two of its counters.
    assert!(found.offered.abs_diff(found.pushed + found.refused) <= 1, "{found:?}");
    let on_the_way = found.pushed.checked_sub(found.echoed + found.lost);
    let room = 2 * servo::CAPACITY as u64 + 1;
    assert!(on_the_way.is_some_and(|count| count <= room), "{found:?}");
}

fn socket(folder: &Path) -> PathBuf {
    folder.join("servo.sock")
}

fn open_to_all(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// A group with a limit, whose file is named by the version of the hierarchy.
fn group(controller: &'static str, files: [&str; 2], limit: &str) -> Result<Group, String> {
    let hierarchy = Hierarchy::find(Path::new("/"), controller);
    let hierarchy = hierarchy.ok_or(format!("the controller {controller} is not mounted"))?;
    let file = files[usize::from(hierarchy.version() == 2)];
    let group = Group::create(&hierarchy).map_err(|error| error.to_string())?;
    group.set(file, limit).map_err(|error| format!("{file}: {error}"))?;
    Ok(group)
}

/// Mounts a small filesystem of a file.
fn disk(folder: &Path) -> Result<Mounted, String> {
    let (image, place) = (folder.join("image"), folder.join("disk"));
    fs::create_dir(&place).unwrap();
    run(Command::new("mkfs.ext4").arg("-q").arg(&image).arg(SPACE))?;
    run(Command::new("mount").args(["-o", "loop"]).args([&image, &place]))?;
    open_to_all(&place, 0o777);
    Ok(Mounted(place))
}

fn tmpfs(place: &Path) -> Result<Mounted, String> {
    fs::create_dir(place).unwrap();
    let size = format!("size={SPACE},mode=777");
    run(Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(place))?;
    Ok(Mounted(place.to_owned()))
}

fn run(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().display().to_string();
    let output =
        command.stdin(Stdio::null()).output().map_err(|error| format!("{name}: {error}"))?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    output.status.success().then_some(()).ok_or(format!("{name}: {}", complaint.trim()))
}

/// Steal time of all CPUs, in ticks.
fn steal() -> u64 {
    let stat = fs::read_to_string("/proc/stat").unwrap();
    stat.split_whitespace().nth(8).and_then(|ticks| ticks.parse().ok()).unwrap_or(0)
}
