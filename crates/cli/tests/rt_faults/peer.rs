//! The ordinary side: sends every state back, and takes too much of something when it is ordered
//! to.

use std::fs::File;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tactus_fifo::{Ended, FifoReader, FifoWriter, NotWritten};

use crate::helper;

/// The user of the ordinary side.
pub const NOBODY: u32 = 65534;

/// How long a peer waits before it tries again.
const STEP: Duration = Duration::from_millis(1);

/// What is taken in a step, in bytes.
const BITE: usize = 4 << 20;

/// How many of these are written in turn, if there is swap space: more than the scene's memory.
const SWAPPED_BITES: usize = 40;

/// The last order.
static ORDER: Mutex<String> = Mutex::new(String::new());

#[test]
#[ignore = "another test starts it as a program"]
fn a_peer() {
    helper::socket().iter().for_each(|socket| serve(socket));
}

/// Waits for the first line of standard input, then echoes until it is killed.
pub fn serve(socket: &Path) {
    std::io::stdin().lines().next();
    std::thread::spawn(|| {
        let lines = std::io::stdin().lines().map_while(Result::ok);
        lines.for_each(|line| *ORDER.lock().unwrap() = line);
    });
    let folder = socket.parent().unwrap();
    let mut greed = Greed::default();
    loop {
        let states = FifoReader::<u64>::open(socket, "state");
        let echoes = FifoWriter::<u64>::open(socket, "echo");
        if let (Ok(states), Ok(echoes)) = (states, echoes) {
            let Ended = echo(states, echoes, || greed.step(folder)).unwrap_err();
        }
        std::thread::sleep(STEP);
    }
}

/// Sends states back until the real-time side ends.
fn echo(
    mut states: FifoReader<u64>,
    mut echoes: FifoWriter<u64>,
    mut step: impl FnMut(),
) -> Result<std::convert::Infallible, Ended> {
    loop {
        while let Some(number) = states.try_read()? {
            while let Err(refused) = echoes.write(&number) {
                if let NotWritten::Ended(ended) = refused {
                    return Err(ended);
                }
                std::thread::sleep(STEP);
            }
        }
        step();
        states.wait(Some(STEP)).map_err(|_| Ended)?;
    }
}

/// What a peer has taken and not returned.
#[derive(Default)]
struct Greed {
    memory: Vec<Vec<u8>>,
    /// The number of the piece of `memory` that is written next.
    next: usize,
    files: Vec<File>,
    processes: Vec<Child>,
    log: Option<File>,
}

impl Greed {
    /// Takes more of what the order names, or returns everything.
    fn step(&mut self, folder: &Path) {
        match ORDER.lock().unwrap().as_str() {
            "memory" => self.memory.push(vec![1; BITE]),
            "swap" => self.swap(),
            "descriptors" => self.files.extend((0..64).map_while(|_| File::open("/dev/null").ok())),
            "processes" => {
                let mut command = Command::new("sleep");
                command.arg("60");
                tactus_sys::process::die_with_parent(&mut command);
                self.processes.extend(command.spawn());
            }
            place @ ("disk" | "tmpfs") => {
                let log = folder.join(place).join("log");
                let file = self.log.get_or_insert_with(|| File::create(log).unwrap());
                // The end of the space is an error.
                let _ = file.write_all(&vec![1; BITE]).and_then(|()| file.sync_data());
            }
            _ => self.give_back(),
        }
    }

    /// Takes more memory than there may be, and then writes to all of it in turn.
    fn swap(&mut self) {
        if self.memory.len() < SWAPPED_BITES {
            self.memory.push(vec![1; BITE]);
        }
        self.next = (self.next + 1) % self.memory.len();
        self.memory[self.next].fill(1);
    }

    fn give_back(&mut self) {
        for mut process in self.processes.drain(..) {
            let _ = (process.kill(), process.wait());
        }
        if let Some(log) = self.log.take() {
            log.set_len(0).unwrap();
        }
        (self.memory, self.files) = (Vec::new(), Vec::new());
    }
}

/// The process of an ordinary side, which is killed when this is dropped.
pub struct Running {
    child: Child,
    orders: ChildStdin,
}

impl Running {
    /// Starts the helper `name` as another user; `join` puts it into control groups first.
    pub fn start(name: &str, socket: &Path, join: impl Fn(u32)) -> Self {
        let mut command = helper::command(name, socket);
        command.uid(NOBODY).current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let orders = child.stdin.take().unwrap();
        join(child.id());
        let mut running = Self { child, orders };
        running.order("begin");
        running
    }

    pub fn order(&mut self, order: &str) {
        // It may have been killed.
        let _ = writeln!(self.orders, "{order}");
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = (self.child.kill(), self.child.wait());
    }
}
