//! The process that starts the copies, sees that they work, and sees who ends.

use std::collections::{HashMap, HashSet};
use std::io::{self, BufReader, Read};
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use tactus_sys::process;
use tactus_wire::{MESSAGE_LIMIT, MessageReader, Start, WireError, answers};

use crate::containment::Containment;
use crate::counters::{Counters, State};
use crate::error::{During, LoadError};
use crate::gate::ClosedGate;
use crate::not_granted::NotGranted;
use crate::order::{Answer, KeeperOrder, News, Role, TOLD_WHY, WorkerAnswer, WorkerOrder};
use crate::processes;

/// How long the copies may take to finish their first operations.
pub(crate) const START_LIMIT: Duration = Duration::from_secs(60);

/// How many copies' ends are told one by one; the counters know of all.
const ENDS_TOLD: usize = 16;

/// What the keeper waits for.
enum Event {
    /// A copy said something.
    Said(WorkerAnswer),
    /// A copy wrote an invalid message; no further message of any copy is read.
    Garbled(WireError),
    /// A process has ended.
    Ended { process: u32, status: ExitStatus },
}

/// Keeps the copies until the host goes or wants them ended, then never returns.
pub(crate) fn keep(order: &KeeperOrder) -> Result<(), LoadError> {
    // By a wrong name it keeps all the same.
    let _ = tactus_sys::thread::set_name("load/keeper");
    let counters = Counters::inherit(order.task.counters, order.task.total())
        .during("find the counters of the load")?;
    if order.containment == Containment::Watched {
        process::adopt_orphans().during("become the parent of orphans")?;
    }
    let containment = order.containment;
    let is_over = Arc::new(AtomicBool::new(false));
    let over = Arc::clone(&is_over);
    thread::spawn(move || end_with_host(containment, &over));

    let (answers, answers_end) = io::pipe().during("make a pipe")?;
    let gate = ClosedGate::create(&order.directory)?;
    let copies = start_copies(order, answers_end)?;
    drop(gate);
    let (events, inbox) = mpsc::channel();
    let said = events.clone();
    MessageReader::new(BufReader::new(answers), MESSAGE_LIMIT)
        .listen("hears-copies", move |answer| match answer {
            Ok(answer) => said.send(Event::Said(answer)).is_ok(),
            // Every copy has ended.
            Err(WireError::Closed) => false,
            Err(error) => said.send(Event::Garbled(error)).is_ok(),
        })
        .during("listen to the copies")?;
    thread::spawn(move || reap(&events));

    let mut roll = Roll::new(order, &counters, copies, &is_over);
    let deadline = Instant::now() + START_LIMIT;
    while !roll.waited_for.is_empty() {
        match inbox.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(event) => roll.take(event)?,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                return Err(roll.late());
            }
        }
    }
    roll.tell_ready()?;
    loop {
        roll.tell_ends();
        match inbox.recv() {
            Ok(event) => roll.take(event)?,
            // Every copy has ended. The measurement sees so in the counters, and
            // ends us when it likes.
            Err(mpsc::RecvError) => loop {
                thread::park();
            },
        }
    }
}

/// Waits for the end of our standard input, which is a pipe from the host, and ends
/// everything: this process, and what it started.
fn end_with_host(containment: Containment, is_over: &AtomicBool) {
    // Nothing more is sent, so whatever is read is the end.
    let _ = io::stdin().read(&mut [0]);
    is_over.store(true, Ordering::SeqCst);
    if containment == Containment::Watched {
        processes::kill_descendants();
    }
    // In a namespace we are its first process, so the kernel kills the others.
    std::process::exit(0)
}

/// Starts every copy; answers which process is which copy.
fn start_copies(
    order: &KeeperOrder,
    answers: io::PipeWriter,
) -> Result<HashMap<u32, u32>, LoadError> {
    (0..order.task.total())
        .map(|copy| {
            let answers = answers.try_clone().during("share a pipe")?;
            // From this thread, the main one, since the death signal follows the thread.
            let mut worker = Start::new(Role::Worker.of_this_binary())
                .start_into(answers)
                .during(&format!("start copy {copy}"))
                .map_err(|error| {
                    error
                        .hint("ask for fewer copies, or raise the limit on processes (`ulimit -u`)")
                })?;
            let worker_order = WorkerOrder {
                task: order.task.clone(),
                copy,
                directory: order.directory.clone(),
                containment: order.containment,
                keeper: std::process::id(),
                companion: None,
            };
            // A copy that has ended already cannot be told; its end will be seen.
            let _ = worker.send(&worker_order);
            Ok((worker.id(), copy))
        })
        .collect()
}

/// Takes every process that ends, copies as well as orphans, so that none stays a zombie.
fn reap(events: &Sender<Event>) {
    while let Ok((process, status)) = process::wait_for_any_child() {
        if events.send(Event::Ended { process, status }).is_err() {
            return;
        }
    }
}

/// Which copies are at work.
struct Roll<'o> {
    order: &'o KeeperOrder,
    counters: &'o Counters,
    /// Which process is which copy.
    copies: HashMap<u32, u32>,
    /// Copies that have not finished their first operation.
    waited_for: HashSet<u32>,
    missing: Vec<NotGranted>,
    /// Copies that have ended by themselves, as yet untold.
    ends: Vec<(u32, String)>,
    ends_told: usize,
    /// Whether everything is being ended: what ends then does not end by itself.
    is_over: &'o AtomicBool,
}

impl<'o> Roll<'o> {
    fn new(
        order: &'o KeeperOrder,
        counters: &'o Counters,
        copies: HashMap<u32, u32>,
        is_over: &'o AtomicBool,
    ) -> Self {
        Self {
            order,
            counters,
            waited_for: copies.values().copied().collect(),
            copies,
            missing: order.missing.clone(),
            ends: Vec::new(),
            ends_told: 0,
            is_over,
        }
    }

    /// Notes what has happened. A copy that ends before its first operation is done has
    /// failed, and the load with it.
    fn take(&mut self, event: Event) -> Result<(), LoadError> {
        match event {
            Event::Said(WorkerAnswer { copy, news: News::Running { missing } }) => {
                self.waited_for.remove(&copy);
                for one in missing {
                    // All copies want the same and are refused the same.
                    if !self.missing.contains(&one) {
                        self.missing.push(one);
                    }
                }
                Ok(())
            }
            Event::Said(WorkerAnswer { copy, news: News::Failed(error) }) => self.end(copy, error),
            Event::Garbled(error) if !self.waited_for.is_empty() => {
                Err(error).during("understand what a copy says")
            }
            // The copies are at work; when all have ended, the counters say so.
            Event::Garbled(_) => Ok(()),
            // Why it ended is in the pipe, and will be read.
            Event::Ended { status, .. } if status.code() == Some(TOLD_WHY) => Ok(()),
            Event::Ended { process, status } => match self.copies.get(&process) {
                Some(&copy) => self.end(copy, LoadError::new(format!("it ended: {status}"))),
                // An orphan of some copy.
                None => Ok(()),
            },
        }
    }

    fn end(&mut self, copy: u32, error: LoadError) -> Result<(), LoadError> {
        if self.waited_for.contains(&copy) {
            return Err(error);
        }
        self.ends.push((copy, error.reason));
        Ok(())
    }

    fn late(&self) -> LoadError {
        LoadError::new(format!(
            "{} of {} copies of the load {} had not finished their first operation after {} s",
            self.waited_for.len(),
            self.order.task.total(),
            self.order.task.plan.load,
            START_LIMIT.as_secs()
        ))
        .hint("ask for fewer copies, or look at what holds the machine up")
    }

    fn tell_ready(&mut self) -> Result<(), LoadError> {
        let answer = Answer::Ready {
            containment: self.order.containment,
            missing: std::mem::take(&mut self.missing),
        };
        answers().write(&answer).during("say that the load is ready")
    }

    fn tell_ends(&mut self) {
        if self.is_over.load(Ordering::SeqCst) {
            return;
        }
        for (copy, reason) in self.ends.drain(..) {
            if self.ends_told < ENDS_TOLD {
                self.ends_told += 1;
                // If nobody listens any more, the end of our input will tell us.
                let _ = answers().write(&Answer::Ended { copy, reason });
            }
            // Only now, so that whoever sees a copy ended can also learn why.
            self.counters.copy(copy).set_state(State::Ended);
        }
    }
}
