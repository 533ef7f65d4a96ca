//! What the real-time threads of a program do that they must not, while it runs.
//!
//! The threads of the program are found in `/proc`, and each that is asked for is recorded alone:
//! its system calls, page faults and switches, with copies of its stack. [`SectionFinder`] finds
//! its sections, [`Code`] the lines.

mod calls;
mod command;
mod threads;

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;
use tactus_explain::jobs::Period;
use tactus_explain::sections::{Call, SectionFinder, Step};
use tactus_lint::Code;
use tactus_model::recording::ThreadId;
use tactus_model::result::Shortfall;
use tactus_model::time::Nanos;
use tactus_model::violation::{CodePlace, LintReport, ViolationTally};
use tactus_record::thread::{Did, ThreadRecorder, ThreadRecording};
use tactus_sys::perf::OpenFileLimit;
use tactus_sys::section::STACK_MAX;

use crate::{Error, ErrorKind, Result};
use calls::Calls;
use command::Command;
use threads::{Found, Roots, Threads};

/// The time between two looks at what the threads did, and whether there are new ones.
const PACE: Duration = Duration::from_millis(5);

/// The most threads that are watched at the same time: each has a buffer of 4 MiB.
pub const THREADS_MAX: usize = 64;

/// What to watch.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// The command to run and to watch with all processes that it starts, also after its own end;
    /// if empty, `processes` are watched.
    pub command: Vec<OsString>,
    /// Processes that run, watched with their children.
    pub processes: Vec<u32>,
    /// Names and numbers of threads; if empty, all threads.
    pub threads: Vec<String>,
    /// The names of system calls that sections may make.
    pub allowed: Vec<String>,
    /// The system call in which the threads wait, as `CALL` or `CALL@FILE:LINE`; if `None`, each
    /// thread's own is found.
    pub wait: Option<String>,
    /// How long to watch; if `None`, until the program ends.
    pub duration: Option<Nanos>,
}

/// What becomes known while the program runs.
#[derive(Clone, Debug)]
pub enum News {
    /// The command has started as this process.
    Started(u32),
    /// A thread is watched from now on.
    Watching {
        /// Its name.
        name: String,
        /// The thread.
        thread: ThreadId,
    },
    /// The command has ended.
    Ended {
        /// How.
        status: ExitStatus,
        /// Whether processes that it started continue; they are watched until they end.
        has_left: bool,
    },
}

/// What the threads did.
#[derive(Debug, Serialize)]
pub struct Answer {
    /// The violations.
    #[serde(flatten)]
    pub report: LintReport,
    /// The threads that were watched and have sections.
    pub threads: Vec<Watched>,
    /// The number of watched threads without sections.
    pub without_sections: usize,
    /// The names of [`Question::threads`] that no thread had.
    pub unseen_names: Vec<String>,
    /// The names of threads that were seen and not asked for.
    #[serde(skip)]
    pub others: Vec<String>,
    /// How the command ended; `None` without a command, or if it still runs. The process that
    /// called [`lint`] then is its parent.
    #[serde(skip)]
    pub ended: Option<ExitStatus>,
}

/// A thread with sections.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Watched {
    /// The thread.
    pub thread: ThreadId,
    /// Its name.
    pub name: String,
    /// The number of its sections.
    pub sections: u64,
    /// The system call in which it waits; `None` if system calls were not recorded.
    pub wait: Option<String>,
    /// Where it waits.
    pub at: Option<CodePlace>,
    /// The period of the wait; `None` if it is irregular.
    pub period: Option<Period>,
}

/// Watches threads until the program and all that it started have ended, the duration is over, or
/// `stop` is set.
///
/// With a command, this process adopts the processes whose parents end, and all its children are
/// watched: it must have no others.
///
/// # Errors
/// The command cannot be started, there is no such process or system call, or the kernel permits
/// nothing to be recorded.
pub fn lint(
    question: &Question,
    stop: &AtomicBool,
    mut on_news: impl FnMut(News),
) -> Result<Answer> {
    let calls = Calls::of(question)?;
    let _limit = OpenFileLimit::raise();
    let mut recording = ThreadRecording::prepare();
    if question.wait.is_some()
        && let Some(unseen) = recording.unseen().next()
    {
        let error = format!("cannot find where the threads wait: {}", unseen.reason);
        let error = Error::new(ErrorKind::Unavailable, error);
        return Err(error.with_hint_if_any(unseen.fix.clone()));
    }
    let mut command = match question.command.split_first() {
        Some((program, arguments)) => Some(Command::start(program, arguments, &mut on_news)?),
        None => None,
    };
    let roots = match command {
        Some(_) => Roots::OwnChildren,
        None => Roots::Processes(question.processes.clone()),
    };
    let mut threads = Threads::new(roots, question.threads.clone());
    if let Some(process) = threads.missing() {
        return Err(Error::usage(format!("there is no process {process}")));
    }
    let until = question.duration.map(|length| Instant::now() + Duration::from(length));
    let mut watch = Watch::default();
    loop {
        let has_ended = command.as_mut().is_some_and(|command| command.reap(&mut on_news));
        let new = threads.find();
        watch.forget(|thread| threads.has(thread));
        for found in new {
            if watch.rename(&found) {
                continue;
            }
            if watch.lives.len() >= THREADS_MAX {
                watch.refused.insert(found.thread);
            } else if let Some(recorder) = recording.start(found.thread)? {
                on_news(News::Watching { name: found.name.clone(), thread: found.thread });
                watch.add(found, recorder, &recording, &calls);
            }
        }
        watch.drain();
        let is_over = until.is_some_and(|until| Instant::now() >= until)
            || stop.load(Ordering::Relaxed)
            || has_ended
            || (command.is_none() && threads.is_over());
        if is_over {
            break;
        }
        std::thread::sleep(PACE);
    }
    watch.drain();
    Ok(watch.answer(&recording, &threads, command.and_then(|command| command.ended)))
}

/// The threads that are watched.
#[derive(Default)]
struct Watch {
    lives: Vec<Life>,
    codes: HashMap<u32, Code>,
    tally: ViolationTally,
    report: LintReport,
    threads: Vec<Watched>,
    without_sections: usize,
    /// The threads beyond the limit.
    refused: HashSet<ThreadId>,
    faults_in_kernel: bool,
}

/// A thread that is watched.
struct Life {
    found: Found,
    recorder: ThreadRecorder,
    finder: SectionFinder,
    tally: ViolationTally,
    /// How often its stack was brought in.
    brought_in: u32,
}

/// The most times that a thread's stack is brought in.
const BROUGHT_IN_MAX: u32 = 16;

impl Watch {
    fn add(
        &mut self,
        found: Found,
        recorder: ThreadRecorder,
        recording: &ThreadRecording,
        calls: &Calls,
    ) {
        let finder = match recording.has_calls() {
            true => SectionFinder::new(calls.allowed.clone(), calls.wait.clone()),
            false => SectionFinder::without_calls(),
        };
        // While the process lives, it shows which files it has mapped.
        self.codes.entry(found.process).or_insert_with(|| Code::of_process(found.process)).look();
        self.faults_in_kernel |= recorder.has_faults_in_kernel();
        let tally = ViolationTally::default();
        self.lives.push(Life { found, recorder, finder, tally, brought_in: 0 });
    }

    /// Gives a thread that is watched its new name; false if it is not watched.
    fn rename(&mut self, new: &Found) -> bool {
        let life = self.lives.iter_mut().find(|life| life.found.thread == new.thread);
        let Some(life) = life else { return false };
        life.found.name.clone_from(&new.name);
        // A process that executes another program has its name.
        self.codes.get_mut(&new.process).into_iter().for_each(Code::look);
        true
    }

    /// Reads what the threads did since the last call.
    fn drain(&mut self) {
        for Life { found, recorder, finder, tally, brought_in } in &mut self.lives {
            let Some(code) = self.codes.get_mut(&found.process) else { continue };
            recorder.drain(|now, did| {
                if let Did::Lost { count } = did {
                    self.report.lost_records += count;
                }
                if let Did::Enter { point, .. } | Did::Fault { point, .. } = did
                    && (*brought_in == 0 || point.stack.len() < STACK_MAX)
                    && *brought_in < BROUGHT_IN_MAX
                {
                    *brought_in += 1;
                    code.bring_stack_in(point.registers.sp);
                }
                finder.take(now, step(did, code));
            });
            finder.take_found().into_iter().for_each(|violation| tally.add(&found.name, violation));
        }
    }

    /// Ends the watching of threads that have ended.
    fn forget(&mut self, lives: impl Fn(ThreadId) -> bool) {
        if self.lives.iter().all(|life| lives(life.found.thread)) {
            return;
        }
        self.drain();
        let (living, ended) =
            std::mem::take(&mut self.lives).into_iter().partition(|life| lives(life.found.thread));
        self.lives = living;
        let ended: Vec<Life> = ended;
        ended.into_iter().for_each(|life| self.end(life));
    }

    fn end(&mut self, life: Life) {
        let Life { found, mut finder, mut tally, .. } = life;
        finder.end();
        finder.take_found().into_iter().for_each(|violation| tally.add(&found.name, violation));
        // The thread can have had other names before.
        self.tally.add_all(&found.name, tally);
        self.report.sections += finder.sections();
        self.report.interrupted += finder.interrupted();
        self.report.lost += finder.lost();
        if finder.sections() == 0 {
            self.without_sections += 1;
            return;
        }
        self.threads.push(Watched {
            thread: found.thread,
            name: found.name,
            sections: finder.sections(),
            wait: finder.wait().map(|wait| wait.call.clone()),
            at: finder.wait().map(|wait| wait.at.clone()),
            period: finder.wait().and_then(|wait| wait.period),
        });
    }

    fn answer(
        mut self,
        recording: &ThreadRecording,
        threads: &Threads,
        ended: Option<ExitStatus>,
    ) -> Answer {
        let lives = std::mem::take(&mut self.lives);
        let was_watched = !(lives.is_empty() && self.threads.is_empty());
        lives.into_iter().for_each(|life| self.end(life));
        let mut report = self.report;
        report.violations = self.tally.violations();
        report.unplaced = self.tally.beyond();
        report.unseen = recording.unseen().cloned().collect();
        if was_watched && !self.faults_in_kernel && recording.has_calls() {
            report.unseen.push(faults_in_user_mode());
        }
        report.unseen.extend((!self.refused.is_empty()).then(|| too_many(self.refused.len())));
        Answer {
            report,
            threads: self.threads,
            without_sections: self.without_sections,
            unseen_names: threads.unseen_names(),
            others: threads.others(),
            ended,
        }
    }
}

fn faults_in_user_mode() -> Shortfall {
    Shortfall {
        asked: "page faults within system calls".to_owned(),
        granted: "page faults in user mode".to_owned(),
        reason: "they need CAP_PERFMON".to_owned(),
        fix: None,
    }
}

fn too_many(refused: usize) -> Shortfall {
    Shortfall {
        asked: tactus_model::format::counted(refused as u64, "more thread"),
        granted: format!("{THREADS_MAX} threads"),
        reason: "each needs a buffer of 4 MiB".to_owned(),
        fix: Some("name the threads with --thread".to_owned()),
    }
}

/// What a thread did, with the lines of its code.
fn step(did: Did<'_>, code: &mut Code) -> Step {
    match did {
        Did::Enter { number, argument, point } => {
            let (kind, what) = tactus_lint::system_call(number, argument);
            Step::Enter(Call { number, kind, what, at: code.place(point.registers, point.stack) })
        }
        Did::Exit => Step::Exit,
        Did::Fault { address, point } => Step::Fault {
            memory: code.memory(address),
            at: code.place(point.registers, point.stack),
        },
        Did::Out { preempted } => Step::Out { preempted },
        Did::In => Step::In,
        Did::Lost { .. } => Step::Lost,
    }
}
