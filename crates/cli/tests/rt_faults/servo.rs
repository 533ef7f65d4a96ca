//! The real-time side: a loop of 1 kHz that sends the number of each state, and counts the echoes.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde::{Deserialize, Serialize};
use tactus_fifo::{Broker, Receiver, Sender};
use tactus_model::policy::RealtimePriority;
use tactus_model::time::{Instant, Monotonic, Nanos};
use tactus_rt::{Action, Flow, Policy, Process, Restart, Tick};
use tactus_sys::clock;

use crate::helper;
use crate::peer::NOBODY;

pub const PERIOD: Nanos = Nanos::from_millis(1);

/// The limit of the supervisor.
const LIMIT: Nanos = Nanos::from_millis(20);

/// The items for which each FIFO has room.
pub const CAPACITY: usize = 256;

/// The most echoes that a job takes.
const POPS_MAX: usize = 64;

/// What the loop has done since its start.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Snapshot {
    pub intended: u64,
    /// The jobs that ended at or before the next due time.
    pub kept: u64,
    pub offered: u64,
    pub pushed: u64,
    pub refused: u64,
    pub echoed: u64,
    /// States that came back neither before nor after a later one.
    pub lost: u64,
    /// From the last mark to the echo of a state after it, in nanoseconds; 0 before that echo.
    pub recovered_ns: u64,
}

/// What the main thread of the process orders, and what the loop shows it.
#[derive(Default)]
struct Shared {
    /// When the mark was set; 0 if the loop has seen it.
    mark: AtomicU64,
    panics: AtomicBool,
    hangs: AtomicBool,
    intended: AtomicU64,
    kept: AtomicU64,
    offered: AtomicU64,
    pushed: AtomicU64,
    refused: AtomicU64,
    echoed: AtomicU64,
    lost: AtomicU64,
    recovered: AtomicU64,
}

/// The loop, which owns its ends of the channels.
struct Servo {
    states: Sender<u64>,
    echoes: Receiver<u64>,
    shared: Arc<Shared>,
    /// The number of the next state.
    next: u64,
    /// The echo that comes next if nothing is lost.
    expected: u64,
    /// The last mark, and the number of the first state after it.
    mark: Option<(Instant<Monotonic>, u64)>,
}

impl Servo {
    fn job(&mut self, tick: &Tick) -> Flow {
        let shared = Arc::clone(&self.shared);
        shared.intended.fetch_add(1 + tick.missed, Ordering::Relaxed);
        if shared.panics.swap(false, Ordering::Relaxed) {
            panic!("planted");
        }
        if shared.hangs.swap(false, Ordering::Relaxed) {
            let end = tick.woke + LIMIT + LIMIT;
            while clock::now::<Monotonic>() < end {}
        }
        match shared.mark.swap(0, Ordering::Acquire) {
            0 => {}
            at => self.mark = Some((Instant::from_nanos(at), self.next)),
        }
        for _ in 0..POPS_MAX {
            let Some(number) = self.echoes.try_pop() else { break };
            self.echo(number);
        }
        shared.offered.fetch_add(1, Ordering::Relaxed);
        if self.states.try_push(&self.next).is_ok() {
            self.next += 1;
        }
        let sent = self.states.counts();
        shared.pushed.store(sent.pushed, Ordering::Relaxed);
        shared.refused.store(sent.refused, Ordering::Relaxed);
        let is_kept = clock::now::<Monotonic>() <= tick.due + PERIOD;
        shared.kept.fetch_add(is_kept.into(), Ordering::Relaxed);
        Flow::Continue
    }

    fn echo(&mut self, number: u64) {
        // A liar shows items that nobody wrote, which are what its memory contains: zeros.
        if !(self.expected..self.next).contains(&number) {
            return;
        }
        let shared = &self.shared;
        shared.echoed.fetch_add(1, Ordering::Relaxed);
        shared.lost.fetch_add(number - self.expected, Ordering::Relaxed);
        self.expected = number + 1;
        if let Some((at, _)) = self.mark.take_if(|(_, first)| number >= *first) {
            let recovered = clock::now::<Monotonic>() - at;
            shared.recovered.store(recovered.as_nanos().max(1), Ordering::Relaxed);
        }
    }
}

#[test]
#[ignore = "another test starts it as a program"]
fn a_servo() {
    helper::socket().iter().for_each(|socket| serve(socket));
}

/// What the machine did not grant, one line; then a snapshot for each line `count` of standard
/// input.
pub fn serve(socket: &Path) {
    let cpus: Vec<u32> = tactus_sys::affinity::get().unwrap().iter().collect();
    let (first, last) = (cpus[0], cpus[cpus.len() - 1]);
    let mut offers = Broker::builder(socket)
        .allow_user(NOBODY)
        .priority(RealtimePriority::new(79).unwrap())
        .cpus([first].into_iter().collect())
        .relay([last].into_iter().collect());
    let states = offers.fifo_out("state", CAPACITY).unwrap();
    let echoes = offers.fifo_in("echo", CAPACITY).unwrap();
    let _broker = offers.start().unwrap();
    let shared = Arc::<Shared>::default();
    let mut servo =
        Servo { states, echoes, shared: Arc::clone(&shared), next: 0, expected: 0, mark: None };
    let rt = Process::builder().lock_memory().supervise(LIMIT, Action::Demote).start().unwrap();
    let thread = rt
        .periodic("servo", PERIOD)
        .policy(Policy::Fifo(80))
        .cpu(last)
        .restart(Restart::Times(u32::MAX))
        .spawn(move |tick| servo.job(tick))
        .unwrap();
    let lacks: Vec<String> =
        thread.shortfalls().iter().map(|lack| format!("{}: {}", lack.asked, lack.reason)).collect();
    answer(&lacks);
    for line in std::io::stdin().lines().map_while(Result::ok) {
        match line.split_once(' ').unwrap_or((&line, "")) {
            ("mark", at) => {
                shared.recovered.store(0, Ordering::Relaxed);
                shared.mark.store(at.parse().unwrap(), Ordering::Release);
            }
            ("panic", _) => shared.panics.store(true, Ordering::Relaxed),
            ("hang", _) => shared.hangs.store(true, Ordering::Relaxed),
            _ => answer(&snapshot(&shared)),
        }
        let _ = rt.take_reports();
    }
}

fn snapshot(shared: &Shared) -> Snapshot {
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    Snapshot {
        intended: count(&shared.intended),
        kept: count(&shared.kept),
        offered: count(&shared.offered),
        pushed: count(&shared.pushed),
        refused: count(&shared.refused),
        echoed: count(&shared.echoed),
        lost: count(&shared.lost),
        recovered_ns: count(&shared.recovered),
    }
}

/// Prints an answer on a line of its own, apart from those of the test harness.
fn answer(value: &impl Serialize) {
    println!("\n{ANSWER}{}", serde_json::to_string(value).unwrap());
    std::io::stdout().flush().unwrap();
}

/// The beginning of the lines that are answers.
const ANSWER: &str = "answer ";

/// The process of the real-time side.
pub struct Running {
    child: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Running {
    /// Starts it.
    ///
    /// # Errors
    /// What the machine does not grant.
    pub fn start(socket: &Path) -> Result<Self, String> {
        let mut command = helper::command("servo::a_servo", socket);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let orders = child.stdin.take();
        let answers = BufReader::new(child.stdout.take().unwrap());
        let mut running = Self { child, orders, answers };
        let lacks: Vec<String> = running.answer();
        if lacks.is_empty() { Ok(running) } else { Err(lacks.join("; ")) }
    }

    /// Marks a time: the next recovery counts from there.
    pub fn mark(&mut self, at: Instant<Monotonic>) {
        self.order(&format!("mark {}", at.as_nanos()));
    }

    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub fn order(&mut self, order: &str) {
        writeln!(self.orders.as_mut().unwrap(), "{order}").unwrap();
    }

    pub fn snapshot(&mut self) -> Snapshot {
        self.order("count");
        self.answer()
    }

    fn answer<T: serde::de::DeserializeOwned>(&mut self) -> T {
        let mut line = String::new();
        loop {
            line.clear();
            assert!(self.answers.read_line(&mut line).unwrap() > 0, "the real-time side has ended");
            if let Some(answer) = line.strip_prefix(ANSWER) {
                return serde_json::from_str(answer).unwrap();
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.orders = None;
        let _ = self.child.wait();
    }
}
