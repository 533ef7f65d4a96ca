//! What a task's events interrupt: a program that first dirties the caches, and then computes or
//! sleeps until the task is due.
//!
//! It runs on the task's CPU under the ordinary policy with the most favourable nice value, as a
//! thread of the task's process or as a process of its own. Task and program agree by words of
//! shared memory: before it sleeps, the task writes when it is due and with which dirt, and the
//! program writes the due time back when the caches are ready. After its wakeup the task reads a
//! working set twice: the first pass shows the effect of the dirt, the second what reloading cost.

mod memory;
mod working_set;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tactus_model::interrupted::{Dirt, Interrupted};
use tactus_model::policy::Scheduling;
use tactus_model::time::{Clock, Instant, Monotonic, Nanos};
use tactus_prepare::TouchedVec;
use tactus_sys::shared_memory::SharedWords;
use tactus_sys::sleep::{Nanosleep, Sleeper};
use tactus_sys::{SysError, affinity, clock, sched};
use tactus_wire::{Peer, Start, this_binary};

use crate::timer::Activity;
use memory::DirtyingMemory;
use working_set::WorkingSet;

/// The word with the due time that the caches are prepared for, on the monotonic clock.
const DUE: usize = 0;
/// The word with the dirt of that event: its place in [`Dirt::OF_EVENTS`].
const DIRT: usize = 1;
/// The word with the due time for which the caches are ready.
const READY: usize = 2;
const WORDS: usize = 3;

/// The due time before the first event.
const NOT_YET: u64 = 0;
/// The due time after the last event.
const OVER: u64 = u64::MAX;

/// The program's policy: it gets the CPU before other ordinary programs, so that the caches are
/// ready in time on a busy machine too.
const FAVOURED: Scheduling = Scheduling::Other { nice: -20 };

/// How often the program checks whether the first event was announced.
const UNTIL_FIRST: Duration = Duration::from_millis(1);

/// How long after the due time a program that leaves the CPU idle wakes: the task has woken long
/// before, and announces its next event soon.
const AFTER_DUE: Nanos = Nanos::from_micros(500);

/// What the program has to do.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Request {
    /// The number of the shared memory's file in a process of its own.
    file: i32,
    /// The task's CPU.
    cpu: u32,
    /// Whether it sleeps until the task is due.
    sleeps: bool,
    /// The most dirt that it has to make.
    dirt: Dirt,
}

/// A running program; it ends with this value.
#[derive(Debug)]
pub(crate) struct Program {
    words: Arc<SharedWords>,
    running: Option<Running>,
}

#[derive(Debug)]
enum Running {
    Thread(JoinHandle<io::Result<()>>),
    Process(Peer),
}

impl Program {
    /// Starts the program on `cpu`; `None` if nothing is to be prepared. It dies with the calling
    /// thread.
    ///
    /// # Errors
    /// There is no memory, or no thread or process can be started.
    pub(crate) fn start(kind: Interrupted, dirt: Dirt, cpu: u32) -> io::Result<Option<Self>> {
        if kind == Interrupted::None {
            return Ok(None);
        }
        let words = Arc::new(SharedWords::create(WORDS).map_err(io::Error::other)?);
        let sleeps = kind == Interrupted::Idle;
        let request = Request { file: words.file(), cpu, sleeps, dirt };
        let running = match kind {
            Interrupted::Process => Running::Process(start_process(&request, &words)?),
            _ => Running::Thread(start_thread(request, Arc::clone(&words))?),
        };
        Ok(Some(Self { words, running: Some(running) }))
    }

    /// The task's side, with memory for `events` events.
    ///
    /// # Errors
    /// There is not enough memory.
    pub(crate) fn preparing(&self, dirt: Dirt, events: usize) -> Result<Preparing, SysError> {
        let no_memory = |_| SysError::new("mmap", tactus_sys::Errno::NOMEM);
        Ok(Preparing {
            words: Arc::clone(&self.words),
            dirt,
            opened: Instant::from_nanos(0),
            announced: None,
            working_set: WorkingSet::new()?,
            passes: TouchedVec::take(events).map_err(no_memory)?,
        })
    }
}

fn start_thread(
    request: Request,
    words: Arc<SharedWords>,
) -> io::Result<JoinHandle<io::Result<()>>> {
    thread::Builder::new()
        .name("interrupted".to_owned())
        .spawn(move || prepare_until_over(&request, words.words()))
}

fn start_process(request: &Request, words: &SharedWords) -> io::Result<Peer> {
    let start = Start::new(this_binary(&["internal", "interrupted"])).dies_with_this_thread();
    words.set_inheritable(true).map_err(io::Error::other)?;
    let started = start.start();
    words.set_inheritable(false).map_err(io::Error::other)?;
    let (mut peer, _) = started?;
    peer.send(request)?;
    Ok(peer)
}

impl Drop for Program {
    fn drop(&mut self) {
        self.words.words()[DUE].store(OVER, Ordering::Release);
        // It has nothing to restore, and a failure of its own shows in the unprepared events.
        match self.running.take() {
            Some(Running::Thread(thread)) => drop(thread.join()),
            Some(Running::Process(mut peer)) => drop(peer.wait_or_kill(Duration::ZERO)),
            None => {}
        }
    }
}

/// The main function of a program in a process of its own: its request is on standard input.
///
/// # Errors
/// The request is invalid, or there is no memory.
pub fn interrupted_main() -> io::Result<()> {
    let request: Request = tactus_wire::requests().read()?;
    let words = SharedWords::inherit(request.file, WORDS).map_err(io::Error::other)?;
    prepare_until_over(&request, words.words())
}

/// Prepares the caches for each announced event, until there are no more.
fn prepare_until_over(request: &Request, words: &[AtomicU64]) -> io::Result<()> {
    affinity::set(&std::iter::once(request.cpu).collect()).map_err(io::Error::other)?;
    // Without permission, other programs take the CPU from it, and more events are unprepared.
    let _ = sched::set(FAVOURED);
    let mut memory = DirtyingMemory::take(request.dirt).map_err(io::Error::other)?;
    let mut prepared = NOT_YET;
    loop {
        match words[DUE].load(Ordering::Acquire) {
            OVER => return Ok(()),
            NOT_YET => thread::sleep(UNTIL_FIRST),
            due if due == prepared => std::hint::spin_loop(),
            due => {
                let dirt = Dirt::OF_EVENTS.get(words[DIRT].load(Ordering::Relaxed) as usize);
                memory.dirty(dirt.copied().unwrap_or_default());
                words[READY].store(due, Ordering::Release);
                prepared = due;
                if request.sleeps {
                    let until = Instant::<Monotonic>::from_nanos(due) + AFTER_DUE;
                    Nanosleep.sleep_until(until).map_err(io::Error::other)?;
                }
            }
        }
    }
}

/// What a task did after one wakeup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    /// The due time that it announced, since the window opened.
    pub due: Nanos,
    /// Whether the caches were ready for it.
    pub was_ready: bool,
    /// How long it took to read the working set.
    pub first: Nanos,
    /// How long it took to read it again.
    pub second: Nanos,
}

/// The activity of a task that has the caches prepared for its next event.
#[derive(Debug)]
pub(crate) struct Preparing {
    words: Arc<SharedWords>,
    dirt: Dirt,
    opened: Instant<Monotonic>,
    /// The due time that was announced, since the window opened.
    announced: Option<Nanos>,
    working_set: WorkingSet,
    passes: TouchedVec<Pass>,
}

impl Preparing {
    /// Begins a window that opens at `opened`.
    pub(crate) fn begin(&mut self, opened: u64) {
        self.opened = Instant::from_nanos(opened);
        self.announced = None;
        self.passes.clear();
    }

    /// What was done in the window so far.
    pub(crate) fn passes(&self) -> Vec<Pass> {
        self.passes.to_vec()
    }

    fn announce(&mut self, due: Nanos) {
        let words = self.words.words();
        let dirt = self.dirt.of_event(due);
        let place = Dirt::OF_EVENTS.iter().position(|known| *known == dirt).unwrap_or_default();
        words[DIRT].store(place as u64, Ordering::Relaxed);
        words[DUE].store((self.opened + due).as_nanos(), Ordering::Release);
        self.announced = Some(due);
    }
}

impl<C: Clock> Activity<C> for Preparing {
    #[inline]
    fn act(&mut self, _came: Instant<C>, next: Instant<C>) -> Instant<C> {
        let began = clock::now::<C>();
        self.working_set.read();
        let reloaded = clock::now::<C>();
        self.working_set.read();
        let again = clock::now::<C>();
        if let Some(due) = self.announced {
            let ready = self.words.words()[READY].load(Ordering::Acquire);
            let was_ready = ready == (self.opened + due).as_nanos();
            let (first, second) = (reloaded - began, again - reloaded);
            // A window has no more wakeups than there is room for.
            let _ = self.passes.try_push(Pass { due, was_ready, first, second });
        }
        // `Cell::check` has made sure that `C` is the monotonic clock.
        self.announce(Nanos::from_nanos(next.as_nanos().saturating_sub(self.opened.as_nanos())));
        clock::now()
    }
}
