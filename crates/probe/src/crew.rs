//! The tasks of a cell, which are threads or processes: starting them, and the messages to and
//! from them.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread;
use std::time::{Duration, Instant};

use tactus_model::probe::TaskKind;
use tactus_model::time::Nanos;
use tactus_wire::{Peer, Start, WireError};

use crate::error::ProbeError;
use crate::live::SampleRings;
use crate::task::{Command, Line, TaskMessage, TaskRequest, serve};

/// How to start a process that is one task.
#[derive(Clone, Debug)]
pub struct TaskProcess {
    /// The program.
    pub executable: PathBuf,
    /// The arguments with which it runs [`task_main`](crate::task_main).
    pub arguments: Vec<String>,
}

/// A message of a task; `None` means that the task has ended.
type Received = (u32, Option<TaskMessage>);

/// The most messages in the queue: blocks of samples are large.
const MESSAGES_WAITING: usize = 2;
/// The most commands in the queue of a task: start, evaluate.
const COMMANDS_WAITING: usize = 2;

/// All tasks of a cell.
pub(crate) struct Crew {
    /// By task number.
    members: Vec<Member>,
    messages: Receiver<Received>,
}

impl Crew {
    /// Starts a task for each request; their samples go to `rings`, if given.
    pub(crate) fn start(
        requests: &[TaskRequest],
        kind: TaskKind,
        process: &TaskProcess,
        rings: Option<&Arc<SampleRings>>,
    ) -> Result<Self, ProbeError> {
        let (sender, messages) = mpsc::sync_channel(MESSAGES_WAITING);
        let mut members = Vec::new();
        for request in requests {
            let started = match kind {
                TaskKind::Threads => start_thread(request.clone(), rings.cloned(), sender.clone()),
                TaskKind::Processes => start_process(request, process, rings, sender.clone()),
            };
            let running =
                started.map_err(|error| ProbeError::Start { task: request.task, error })?;
            members.push(Member { running, finished: false });
        }
        Ok(Self { members, messages })
    }

    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    /// Sends a command to a task.
    pub(crate) fn send(&mut self, task: u32, command: Command) -> Result<(), ProbeError> {
        let member = self.members.get_mut(task as usize).ok_or(ProbeError::Vanished(task))?;
        member.running.send(command).map_err(|_| ProbeError::Vanished(task))
    }

    /// Waits until `deadline` for the next message of any task; `None` if none came.
    ///
    /// The waiting thread sleeps: nothing runs while the tasks measure.
    pub(crate) fn receive(
        &mut self,
        deadline: Instant,
    ) -> Result<Option<(u32, TaskMessage)>, ProbeError> {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok((task, received)) = self.messages.recv_timeout(left) else { return Ok(None) };
            let member = self.members.get_mut(task as usize);
            match received {
                Some(TaskMessage::Failed { reason, hint }) => {
                    return Err(ProbeError::Failed { task, reason, hint });
                }
                Some(message) => {
                    if let (TaskMessage::Finished { .. }, Some(member)) = (&message, member) {
                        member.finished = true;
                    }
                    return Ok(Some((task, message)));
                }
                // A task may end after its last message.
                None if member.is_some_and(|member| member.finished) => {}
                None => return Err(ProbeError::Vanished(task)),
            }
        }
    }

    /// Waits until every task has sent a message, and passes each message to `take`.
    pub(crate) fn receive_all(
        &mut self,
        within: Nanos,
        mut take: impl FnMut(u32, TaskMessage) -> Result<(), ProbeError>,
    ) -> Result<(), ProbeError> {
        let deadline = Instant::now() + Duration::from(within);
        for received in 0..self.len() {
            let Some((task, message)) = self.receive(deadline)? else {
                let silent = self.len() - received;
                return Err(ProbeError::Hung { silent, tasks: self.len(), waited: within });
            };
            take(task, message)?;
        }
        Ok(())
    }
}

struct Member {
    running: Running,
    /// Whether it has sent its last message.
    finished: bool,
}

enum Running {
    /// A thread that hangs is left behind; it ends with the process, which measures only one
    /// cell.
    Thread(SyncSender<Command>),
    Process(Peer),
}

impl Running {
    fn send(&mut self, command: Command) -> io::Result<()> {
        match self {
            Self::Thread(commands) => commands.send(command).map_err(io::Error::other),
            Self::Process(peer) => Ok(peer.send(&command)?),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Self::Process(peer) = self {
            // After its last message, a process has ended; before that, it is not needed.
            let _ = peer.wait_or_kill(Duration::ZERO);
        }
    }
}

fn start_thread(
    request: TaskRequest,
    rings: Option<Arc<SampleRings>>,
    messages: SyncSender<Received>,
) -> io::Result<Running> {
    let (sender, commands) = mpsc::sync_channel(COMMANDS_WAITING);
    thread::Builder::new().name(format!("probe-{}", request.task)).spawn(move || {
        let task = request.task;
        let mut line = Channels { task, commands, messages: messages.clone() };
        // A panic is a defect; its message is on standard error, and the cell is notified that
        // the task has ended.
        let _ = catch_unwind(AssertUnwindSafe(|| serve(&request, rings.as_ref(), &mut line)));
        // Nobody receives this if the task has sent its last message.
        let _ = messages.send((task, None));
    })?;
    Ok(Running::Thread(sender))
}

struct Channels {
    task: u32,
    commands: Receiver<Command>,
    messages: SyncSender<Received>,
}

impl Line for Channels {
    fn receive(&mut self) -> Option<Command> {
        self.commands.recv().ok()
    }

    fn send(&mut self, message: TaskMessage) {
        // Nobody receives this if another task has failed.
        let _ = self.messages.send((self.task, Some(message)));
    }
}

fn start_process(
    request: &TaskRequest,
    process: &TaskProcess,
    rings: Option<&Arc<SampleRings>>,
    messages: SyncSender<Received>,
) -> io::Result<Running> {
    let mut command = std::process::Command::new(&process.executable);
    command.args(&process.arguments);
    let start = Start::new(command).dies_with_this_thread();
    let inheritable = |whether| rings.map_or(Ok(()), |rings| rings.set_inheritable(whether));
    inheritable(true).map_err(io::Error::other)?;
    let started = start.start();
    inheritable(false).map_err(io::Error::other)?;
    let (mut peer, reader) = started?;
    let task = request.task;
    // The thread sleeps in a read while the task measures. It ends when nobody receives its
    // messages any more.
    reader.listen(&format!("read-{task}"), move |read| {
        messages.send((task, message_of(read))).is_ok()
    })?;
    let sent = peer.send(request);
    let running = Running::Process(peer);
    sent?;
    Ok(running)
}

/// The message that was read; `None` if the process has ended.
fn message_of(read: Result<TaskMessage, WireError>) -> Option<TaskMessage> {
    match read {
        Ok(message) => Some(message),
        Err(error) if error.is_end() => None,
        Err(error) => Some(TaskMessage::Failed {
            reason: format!("its message cannot be read: {error}"),
            hint: None,
        }),
    }
}
