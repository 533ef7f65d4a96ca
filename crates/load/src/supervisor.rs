//! The process that starts the copies and reports when they work and which end.

use std::collections::{HashMap, HashSet};
use std::io::{self, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::{Duration, Instant};

use tactus_sys::process;
use tactus_wire::{MESSAGE_LIMIT, MessageReader, Start, WireError, responses};

use crate::containment::Containment;
use crate::counters::{Counters, State};
use crate::error::{During, LoadError};
use crate::gate::ClosedGate;
use crate::not_granted::NotGranted;
use crate::processes;
use crate::request::{
    News, REASON_SENT, Response, Role, SupervisorRequest, WorkerRequest, WorkerResponse,
};

/// How long the copies may take to finish their first operations.
pub(crate) const START_LIMIT: Duration = Duration::from_secs(60);

/// The most ends and stops of copies that are reported with their reasons; the counters show all.
pub(crate) const ENDS_REPORTED_MAX: usize = 16;

/// The most events in the queue; the threads that send them wait when it is full.
const EVENTS_MAX: usize = 64;

/// What the supervisor waits for.
enum Event {
    /// A copy sent a response.
    Response(WorkerResponse),
    /// A copy wrote an invalid message; no further message of any copy is read.
    Garbled(WireError),
    /// A process has ended, or was stopped by a signal.
    Changed { process: u32, status: ExitStatus },
}

/// Starts and watches the copies until the host ends or closes its pipe; then the process ends.
pub(crate) fn supervise(request: &SupervisorRequest) -> Result<(), LoadError> {
    // A failure leaves only a wrong name.
    let _ = tactus_sys::thread::set_name("load/supervisor");
    let counters = Counters::inherit(request.task.counters, request.task.total())
        .during("find the counters of the load")?;
    if request.containment == Containment::Watched {
        process::adopt_orphans().during("become the parent of orphans")?;
    }
    let containment = request.containment;
    let is_over = Arc::new(AtomicBool::new(false));
    let over = Arc::clone(&is_over);
    thread::spawn(move || end_with_host(containment, &over));

    let (responses, responses_end) = io::pipe().during("create a pipe")?;
    let gate = ClosedGate::create(&request.directory)?;
    let copies = start_copies(request, responses_end)?;
    drop(gate);
    let (events, inbox) = mpsc::sync_channel(EVENTS_MAX);
    let sender = events.clone();
    MessageReader::new(BufReader::new(responses), MESSAGE_LIMIT)
        .listen("read-copies", move |response| match response {
            Ok(response) => sender.send(Event::Response(response)).is_ok(),
            // Every copy has ended.
            Err(WireError::Closed) => false,
            Err(error) => sender.send(Event::Garbled(error)).is_ok(),
        })
        .during("read from the copies")?;
    thread::spawn(move || reap(&events));

    let mut roll = Roll::new(request, &counters, copies, &is_over);
    let deadline = Instant::now() + START_LIMIT;
    while !roll.waited_for.is_empty() {
        match inbox.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(event) => roll.take(event)?,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                return Err(roll.late());
            }
        }
    }
    roll.send_ready()?;
    loop {
        roll.send_ends();
        match inbox.recv() {
            Ok(event) => roll.take(event)?,
            // Every copy has ended. The measuring process sees that in the counters, and the
            // end of standard input ends this process.
            Err(mpsc::RecvError) => loop {
                thread::park();
            },
        }
    }
}

/// Waits for the end of standard input, which is a pipe from the host, and ends everything:
/// this process and all that it started.
fn end_with_host(containment: Containment, is_over: &AtomicBool) {
    // Nothing more is sent, so this read returns at the end.
    let _ = io::stdin().read(&mut [0]);
    is_over.store(true, Ordering::SeqCst);
    if containment == Containment::Watched {
        processes::kill_descendants();
    }
    // In a namespace, this is the first process, so the kernel kills the others.
    std::process::exit(0)
}

/// Starts every copy; returns the copy of each process.
fn start_copies(
    request: &SupervisorRequest,
    responses: io::PipeWriter,
) -> Result<HashMap<u32, u32>, LoadError> {
    (0..request.task.total())
        .map(|copy| {
            let responses = responses.try_clone().during("share a pipe")?;
            // From this thread, the main thread, because the death signal follows the thread.
            let mut worker = Start::new(Role::Worker.of_this_binary())
                .start_into(responses)
                .during(&format!("start copy {copy}"))
                .map_err(|error| {
                    error.hint("use fewer copies, or raise the limit on processes (`ulimit -u`)")
                })?;
            let worker_request = WorkerRequest {
                task: request.task.clone(),
                copy,
                directory: request.directory.clone(),
                containment: request.containment,
                supervisor: std::process::id(),
                companion: None,
            };
            // Sending fails if the copy has ended already; the reaper reports that.
            let _ = worker.send(&worker_request);
            Ok((worker.id(), copy))
        })
        .collect()
}

/// Reaps every process that ends, copies and orphans, so that none stays a zombie; reports stops.
fn reap(events: &SyncSender<Event>) {
    while let Ok((process, status)) = process::wait_for_any_child_or_stop() {
        if events.send(Event::Changed { process, status }).is_err() {
            return;
        }
    }
}

/// The state of the copies.
struct Roll<'r> {
    request: &'r SupervisorRequest,
    counters: &'r Counters,
    /// The copy of each process.
    copies: HashMap<u32, u32>,
    /// Copies that have not finished their first operation.
    waited_for: HashSet<u32>,
    missing: Vec<NotGranted>,
    /// Copies that have ended by themselves and are not reported yet.
    ends: Vec<(u32, String)>,
    /// Copies that a signal has stopped, not reported yet. Another signal may continue them.
    stops: Vec<(u32, String)>,
    /// How many ends and stops were reported.
    reported: usize,
    /// Whether everything is being ended: a copy that ends then does not end by itself.
    is_over: &'r AtomicBool,
}

impl<'r> Roll<'r> {
    fn new(
        request: &'r SupervisorRequest,
        counters: &'r Counters,
        copies: HashMap<u32, u32>,
        is_over: &'r AtomicBool,
    ) -> Self {
        Self {
            request,
            counters,
            waited_for: copies.values().copied().collect(),
            copies,
            missing: request.missing.clone(),
            ends: Vec::new(),
            stops: Vec::new(),
            reported: 0,
            is_over,
        }
    }

    /// Processes an event. A copy that ends before its first operation is done has failed, and
    /// the load with it.
    fn take(&mut self, event: Event) -> Result<(), LoadError> {
        match event {
            Event::Response(WorkerResponse { copy, news: News::Running { missing } }) => {
                self.waited_for.remove(&copy);
                for refused in missing {
                    // All copies request the same and get the same refusals.
                    if !self.missing.contains(&refused) {
                        self.missing.push(refused);
                    }
                }
                Ok(())
            }
            Event::Response(WorkerResponse { copy, news: News::Failed(error) }) => {
                self.end(copy, error)
            }
            Event::Garbled(error) if !self.waited_for.is_empty() => {
                Err(error).during("read a copy's message")
            }
            // The copies are at work; when all have ended, the counters show it.
            Event::Garbled(_) => Ok(()),
            // The reason is in the pipe and will be read.
            Event::Changed { status, .. } if status.code() == Some(REASON_SENT) => Ok(()),
            Event::Changed { process, status } => match self.copies.get(&process) {
                Some(&copy) if status.stopped_signal().is_some() => {
                    self.stops.push((copy, format!("a signal stopped it: {status}")));
                    Ok(())
                }
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
            "{} of {} copies of the load {} did not finish their first operation within {} s",
            self.waited_for.len(),
            self.request.task.total(),
            self.request.task.plan.load,
            START_LIMIT.as_secs()
        ))
        .hint("use fewer copies, or find out what delays the machine")
    }

    fn send_ready(&mut self) -> Result<(), LoadError> {
        let response = Response::Ready {
            containment: self.request.containment,
            missing: std::mem::take(&mut self.missing),
        };
        responses().write(&response).during("report that the load is ready")
    }

    fn send_ends(&mut self) {
        if self.is_over.load(Ordering::SeqCst) {
            return;
        }
        for (copy, reason) in std::mem::take(&mut self.ends) {
            self.report(Response::Ended { copy, reason });
            // Only now, so that a reader of the counters also finds the reason.
            self.counters.copy(copy).set_state(State::Ended);
        }
        for (copy, reason) in std::mem::take(&mut self.stops) {
            self.report(Response::Stopped { copy, reason });
        }
    }

    fn report(&mut self, response: Response) {
        if self.reported < ENDS_REPORTED_MAX {
            self.reported += 1;
            // Writing fails if the host has ended; the end of standard input ends us then.
            let _ = responses().write(&response);
        }
    }
}
