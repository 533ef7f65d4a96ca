//! Peers of the real-time loop: a decent one, and those that attack it.

use std::fs::File;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rustix::fs::{FallocateFlags, OFlags};
use rustix::process::{Resource, Rlimit, setrlimit};
use tactus_fifo::message::{Request, Role, VERSION};
use tactus_fifo::{
    Element, FifoReader, FifoWriter, Introduced, SharedReader, SharedWriter, introduce,
};
use tactus_model::random::SplitMix64;
use tactus_sys::peer_memory::{ReadableWords, WritableWords};
use tactus_sys::poller::{Interest, Poller};

use crate::victim::Item;

/// The environment variables of a peer.
pub const ATTACK: &str = "TACTUS_FIFO_ATTACK";
pub const SOCKET: &str = "TACTUS_FIFO_SOCKET";
pub const MILLIS: &str = "TACTUS_FIFO_MILLIS";

/// The most processes and threads of the user of the peers.
const PROCESSES: u64 = 60;

/// The name of the decent peer.
pub const DECENT: &str = "decent";

/// A kind of peer: acts until the time.
type Attack = fn(&Path, Instant);

/// All attacks.
pub const ATTACKS: [(&str, Attack); 15] = [
    ("punch", punch),
    ("remove", remove),
    ("collapse", collapse),
    ("truncate", truncate),
    ("never reads", never_reads),
    ("blocking", blocking),
    ("epolls", epolls),
    ("futexes", futexes),
    ("indices", indices),
    ("doorbells", doorbells),
    ("connects", connects),
    ("stop", stop),
    ("kill", kill),
    ("forks", forks),
    ("descriptors", descriptors),
];

#[test]
#[ignore = "another test starts it as a program"]
fn a_peer() {
    let Ok(name) = std::env::var(ATTACK) else { return };
    let socket = PathBuf::from(std::env::var(SOCKET).unwrap());
    let time = Duration::from_millis(std::env::var(MILLIS).unwrap().parse().unwrap());
    let end = Instant::now() + time;
    // Without it, `forks` would be an attack on the machine.
    let limit = Rlimit { current: Some(PROCESSES), maximum: Some(PROCESSES) };
    setrlimit(Resource::Nproc, limit).unwrap();
    let attack = ATTACKS.iter().find(|(known, _)| *known == name).map(|(_, attack)| *attack);
    attack.unwrap_or(decent)(&socket, end);
    // The parent ends it; its channels stay until then.
    std::thread::sleep(end.saturating_duration_since(Instant::now()));
}

/// Repeats `step` until the time.
fn until(end: Instant, mut step: impl FnMut()) {
    while Instant::now() < end {
        step();
    }
}

/// Reads and writes each channel once a millisecond.
fn decent(socket: &Path, end: Instant) {
    let mut state = FifoReader::<Item>::open(socket, "state").unwrap();
    let mut command = FifoWriter::<Item>::open(socket, "command").unwrap();
    let mut snapshot = SharedReader::<Item>::open(socket, "snapshot").unwrap();
    let mut target = SharedWriter::<Item>::open(socket, "target").unwrap();
    until(end, || {
        state.wait(Some(Duration::from_millis(100))).unwrap();
        while let Ok(Some(_)) = state.try_read() {}
        let _ = (command.write(&[1; 64]), snapshot.read(), target.write(&[2; 64]));
    });
}

/// A channel with its memory.
struct Raw {
    introduced: Introduced,
    /// Of the real-time side.
    peer: Option<ReadableWords>,
    /// What this process writes.
    own: Option<WritableWords>,
}

impl Raw {
    fn open(socket: &Path, name: &str, role: Role) -> Self {
        let (name, element) = (name.to_owned(), Item::LAYOUT.to_owned());
        let request = Request { version: VERSION, name, role, element, bytes: size_of::<Item>() };
        let introduced = introduce(socket, &request).unwrap();
        let files = &introduced.files;
        let peer = ReadableWords::map(&files[0], 8).ok();
        let own = files.last().and_then(|file| WritableWords::map(file, 8).ok());
        Self { introduced, peer, own }
    }

    fn all(socket: &Path) -> [Self; 4] {
        [
            Self::open(socket, "state", Role::ReadFifo),
            Self::open(socket, "command", Role::WriteFifo),
            Self::open(socket, "snapshot", Role::ReadBlock),
            Self::open(socket, "target", Role::WriteBlock),
        ]
    }

    fn stream(&self) -> &UnixStream {
        &self.introduced.stream
    }
}

/// The memory that the peers of all channels write.
fn words(channels: &[Raw]) -> impl Iterator<Item = &WritableWords> {
    channels.iter().filter_map(|channel| channel.own.as_ref())
}

fn punch(socket: &Path, end: Instant) {
    let channels = Raw::all(socket);
    until(end, || {
        for file in channels.iter().flat_map(|channel| &channel.introduced.files) {
            let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            let _ = rustix::fs::fallocate(file, hole, 0, 2 << 20);
            let _ = rustix::fs::fallocate(file, FallocateFlags::empty(), 0, 4 << 20);
        }
    });
}

fn remove(socket: &Path, end: Instant) {
    let channels = Raw::all(socket);
    until(end, || {
        for words in words(&channels) {
            let _ = words.attempt_removal();
        }
    });
}

fn collapse(socket: &Path, end: Instant) {
    let channels = Raw::all(socket);
    until(end, || {
        for channel in &channels {
            // A mapping of whole huge pages, each time anew.
            let mapped = ReadableWords::map(&channel.introduced.files[0], 1 << 18);
            let _ = mapped.map(|words| words.attempt_collapse());
        }
    });
}

fn truncate(socket: &Path, end: Instant) {
    let channels = Raw::all(socket);
    until(end, || {
        for file in channels.iter().flat_map(|channel| &channel.introduced.files) {
            let _ = (rustix::fs::ftruncate(file, 0), rustix::fs::ftruncate(file, 64 << 20));
        }
    });
}

fn never_reads(socket: &Path, end: Instant) {
    let _channels = Raw::all(socket);
    std::thread::sleep(end.saturating_duration_since(Instant::now()));
}

/// Requests notices, reads none, and lets whatever can wait wait.
fn blocking(socket: &Path, end: Instant) {
    let channels = Raw::all(socket);
    until(end, || {
        for channel in &channels {
            let _ = rustix::fs::fcntl_setfl(channel.stream(), OFlags::empty());
        }
        consume(&channels[0]);
    });
}

/// Takes all items of the FIFO outwards, and requests a notice of each.
fn consume(state: &Raw) {
    if let (Some(peer), Some(own)) = (&state.peer, &state.own) {
        own.words()[1].store(1, Ordering::Relaxed);
        own.words()[0].store(peer.load(0), Ordering::Release);
    }
}

fn epolls(socket: &Path, end: Instant) {
    let channels = Raw::all(socket);
    let _ = tactus_sys::process::raise_open_files_limit();
    let mut pollers = Vec::new();
    while pollers.len() < 16_000 {
        let Ok(poller) = Poller::new() else { break };
        if poller.add(channels[0].stream(), 0, Interest::READ).is_err() {
            break;
        }
        pollers.push(poller);
    }
    let mut notices = [0; 4096];
    until(end, || {
        consume(&channels[0]);
        let _ = rustix::io::read(channels[0].stream(), &mut notices);
    });
}

fn futexes(socket: &Path, end: Instant) {
    let channels = Raw::all(socket);
    std::thread::scope(|scope| {
        for number in 0..40 {
            let channel = &channels[number % 3];
            let wait = move || {
                let Some(peer) = &channel.peer else { return };
                until(end, || {
                    // Elsewhere no futex is possible.
                    if peer.attempt_futex(Duration::from_secs(1)).is_err() {
                        std::thread::sleep(Duration::from_secs(1));
                    }
                });
            };
            std::thread::Builder::new().spawn_scoped(scope, wait).unwrap();
        }
    });
}

fn indices(socket: &Path, end: Instant) {
    let channels = Raw::all(socket);
    let mut random = SplitMix64::new(1);
    until(end, || {
        for words in words(&channels) {
            let peer = channels[0].peer.as_ref().map_or(0, |peer| peer.load(0));
            for word in &words.words()[..4] {
                // Some are nearly right.
                let near = peer.wrapping_add(random.below(512)).wrapping_sub(256);
                let value = if random.below(2) == 0 { near } else { random.next_u64() };
                word.store(value, Ordering::Relaxed);
            }
        }
    });
}

fn doorbells(socket: &Path, end: Instant) {
    let channels = Raw::all(socket);
    until(end, || {
        for channel in &channels {
            let _ = rustix::io::write(channel.stream(), &[1; 16]);
        }
    });
}

fn connects(socket: &Path, end: Instant) {
    until(end, || {
        let _ = SharedReader::<Item>::open(socket, "snapshot");
        let _ = FifoReader::<Item>::open(socket, "state");
        let _ = UnixStream::connect(socket);
    });
}

fn stop(socket: &Path, _end: Instant) {
    let _channels = Raw::all(socket);
    let _ = tactus_sys::process::stop_here(std::os::unix::process::parent_id());
}

/// Starts this program again as another kind of peer.
fn again(attack: &str, socket: &Path, end: Instant) -> std::io::Result<std::process::Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["--exact", "peer::a_peer", "--ignored"]).env(ATTACK, attack).env(SOCKET, socket);
    let left = end.saturating_duration_since(Instant::now());
    command.env(MILLIS, left.as_millis().to_string());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    tactus_sys::process::die_with_parent(&mut command);
    command.spawn()
}

fn kill(socket: &Path, end: Instant) {
    until(end, || {
        let Ok(mut child) = again(DECENT, socket, end) else { return };
        std::thread::sleep(Duration::from_millis(50));
        let _ = (child.kill(), child.wait());
    });
}

/// Starts as many processes as the limit permits, each of which does the same.
fn forks(socket: &Path, end: Instant) {
    until(end, || {
        let Ok(mut child) = again("forks", socket, end) else { return };
        std::thread::sleep(Duration::from_millis(1));
        let _ = child.try_wait();
    });
}

/// Opens files until no more can be, beside a decent peer.
fn descriptors(socket: &Path, end: Instant) {
    let _channels = Raw::all(socket);
    let _ = tactus_sys::process::raise_open_files_limit();
    let mut files = Vec::new();
    until(end, || match File::open("/dev/null") {
        Ok(file) if files.len() < 500_000 => files.push(file),
        _ => files.truncate(files.len() / 2),
    });
}
