//! The tasks of a cell, as threads or as processes: how they are started, told, and heard.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::thread;
use std::time::{Duration, Instant};

use tactus_model::probe::TaskKind;
use tactus_model::time::Nanos;
use tactus_wire::{Peer, Start, WireError};

use crate::error::ProbeError;
use crate::live::SampleRings;
use crate::task::{Answer, Command, Line, TaskOrder, serve};

/// How a process that is one task is started.
#[derive(Clone, Debug)]
pub struct TaskProcess {
    /// The program.
    pub executable: PathBuf,
    /// The arguments by which it runs [`task_main`](crate::task_main).
    pub arguments: Vec<String>,
}

/// What a task is heard to say; `None` means that it has ended.
type Heard = (u32, Option<Answer>);

/// Answers that may wait to be heard: blocks of samples are large.
const ANSWERS_WAITING: usize = 2;

/// All tasks of a cell.
pub(crate) struct Crew {
    /// By the tasks' numbers.
    members: Vec<Member>,
    answers: Receiver<Heard>,
}

impl Crew {
    /// Starts a task for each order; their samples go to `rings`, where there are any.
    pub(crate) fn start(
        orders: &[TaskOrder],
        kind: TaskKind,
        process: &TaskProcess,
        rings: Option<&Arc<SampleRings>>,
    ) -> Result<Self, ProbeError> {
        let (sender, answers) = mpsc::sync_channel(ANSWERS_WAITING);
        let mut members = Vec::new();
        for order in orders {
            let started = match kind {
                TaskKind::Threads => start_thread(order.clone(), rings.cloned(), sender.clone()),
                TaskKind::Processes => start_process(order, process, rings, sender.clone()),
            };
            let running = started.map_err(|error| ProbeError::Start { task: order.task, error })?;
            members.push(Member { running, finished: false });
        }
        Ok(Self { members, answers })
    }

    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    /// Gives a command to one task.
    pub(crate) fn tell(&mut self, task: u32, command: Command) -> Result<(), ProbeError> {
        let member = self.members.get_mut(task as usize).ok_or(ProbeError::Vanished(task))?;
        member.running.tell(command).map_err(|_| ProbeError::Vanished(task))
    }

    /// Waits for the next answer of any task until `deadline`; `None` when there is none.
    ///
    /// The waiting thread is asleep: nothing runs while the tasks measure.
    pub(crate) fn hear(&mut self, deadline: Instant) -> Result<Option<(u32, Answer)>, ProbeError> {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok((task, heard)) = self.answers.recv_timeout(left) else { return Ok(None) };
            let member = self.members.get_mut(task as usize);
            match heard {
                Some(Answer::Failed { reason, hint }) => {
                    return Err(ProbeError::Failed { task, reason, hint });
                }
                Some(answer) => {
                    if let (Answer::Finished { .. }, Some(member)) = (&answer, member) {
                        member.finished = true;
                    }
                    return Ok(Some((task, answer)));
                }
                // A task that has given its last answer may go.
                None if member.is_some_and(|member| member.finished) => {}
                None => return Err(ProbeError::Vanished(task)),
            }
        }
    }

    /// Waits until every task has answered once, and hands each answer to `take`.
    pub(crate) fn hear_all(
        &mut self,
        within: Nanos,
        mut take: impl FnMut(u32, Answer) -> Result<(), ProbeError>,
    ) -> Result<(), ProbeError> {
        let deadline = Instant::now() + Duration::from(within);
        for heard in 0..self.len() {
            let Some((task, answer)) = self.hear(deadline)? else {
                let silent = self.len() - heard;
                return Err(ProbeError::Hung { silent, tasks: self.len(), waited: within });
            };
            take(task, answer)?;
        }
        Ok(())
    }
}

struct Member {
    running: Running,
    /// Whether it has given its last answer.
    finished: bool,
}

enum Running {
    /// A thread is left behind when it hangs; it ends with the process, which is
    /// made for one cell.
    Thread(Sender<Command>),
    Process(Peer),
}

impl Running {
    fn tell(&mut self, command: Command) -> io::Result<()> {
        match self {
            Self::Thread(commands) => commands.send(command).map_err(io::Error::other),
            Self::Process(peer) => Ok(peer.send(&command)?),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Self::Process(peer) = self {
            // A process that has finished is ended already; one that has not is of no use.
            let _ = peer.wait_or_kill(Duration::ZERO);
        }
    }
}

fn start_thread(
    order: TaskOrder,
    rings: Option<Arc<SampleRings>>,
    answers: SyncSender<Heard>,
) -> io::Result<Running> {
    let (sender, commands) = mpsc::channel();
    thread::Builder::new().name(format!("probe-{}", order.task)).spawn(move || {
        let task = order.task;
        let mut line = Channels { task, commands, answers: answers.clone() };
        // A panic is a defect; the cell is told that its task has ended, and the
        // message of the panic is on standard error.
        let _ = catch_unwind(AssertUnwindSafe(|| serve(&order, rings.as_ref(), &mut line)));
        // Nobody listens any more when the task has given its last answer.
        let _ = answers.send((task, None));
    })?;
    Ok(Running::Thread(sender))
}

struct Channels {
    task: u32,
    commands: Receiver<Command>,
    answers: SyncSender<Heard>,
}

impl Line for Channels {
    fn hear(&mut self) -> Option<Command> {
        self.commands.recv().ok()
    }

    fn say(&mut self, answer: Answer) {
        // Nobody listens any more when another task has failed.
        let _ = self.answers.send((self.task, Some(answer)));
    }
}

fn start_process(
    order: &TaskOrder,
    process: &TaskProcess,
    rings: Option<&Arc<SampleRings>>,
    answers: SyncSender<Heard>,
) -> io::Result<Running> {
    let mut command = std::process::Command::new(&process.executable);
    command.args(&process.arguments);
    let start = Start::new(command).dies_with_this_thread();
    let inheritable = |whether| rings.map_or(Ok(()), |rings| rings.set_inheritable(whether));
    inheritable(true).map_err(io::Error::other)?;
    let started = start.start();
    inheritable(false).map_err(io::Error::other)?;
    let (mut peer, reader) = started?;
    let task = order.task;
    // It sleeps in a read while the task measures. Nobody listens any more when the task
    // has given its last answer.
    reader.listen(&format!("hears-{task}"), move |answer| {
        answers.send((task, heard(answer))).is_ok()
    })?;
    let told = peer.send(order);
    let running = Running::Process(peer);
    told?;
    Ok(running)
}

fn heard(answer: Result<Answer, WireError>) -> Option<Answer> {
    match answer {
        Ok(answer) => Some(answer),
        Err(error) if error.is_end() => None,
        Err(error) => Some(Answer::Failed {
            reason: format!("its answer cannot be read: {error}"),
            hint: None,
        }),
    }
}
