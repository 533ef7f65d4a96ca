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
use std::fs::File;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;
use tactus_explain::jobs::Period;
use tactus_explain::sections::{Call, SectionFinder, Step};
use tactus_lint::Code;
use tactus_model::format;
use tactus_model::recording::ThreadId;
use tactus_model::result::Shortfall;
use tactus_model::time::Nanos;
use tactus_model::violation::{CodePlace, LintReport, ViolationTally};
use tactus_record::live::RecordError;
use tactus_record::thread::{Did, ThreadRecorder, ThreadRecording};
use tactus_sys::perf::OpenFileLimit;
use tactus_sys::section::STACK_MAX;

use crate::target::Status;
use crate::{Error, ErrorKind, Result};
use calls::Calls;
use command::Command;
use threads::{Found, Roots, Threads};

/// The time between two looks at what the threads did, and whether there are new ones.
const PACE: Duration = Duration::from_millis(5);

/// The same while new threads come: a program starts most of them one after the other.
const PACE_BEGINNING: Duration = Duration::from_millis(1);

/// How long after the newest thread no further ones are expected.
const QUIET: Duration = Duration::from_millis(200);

/// The most looks for new threads before what the watched ones did is read.
const FINDS_MAX: usize = 16;

/// The number of open files that finding threads and reading symbols need.
const SPARE_FILES: usize = 8;

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
    /// Where threads slept longest that never waited in [`Question::wait`].
    pub elsewhere: Vec<Watched>,
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
    let mut watch = Watch { spare: spare_files(), ..Watch::default() };
    // Threads of a process that ran before are watched from now on, as asked for.
    let (mut are_new, mut newest) = (command.is_some(), Instant::now());
    loop {
        let has_ended = command.as_mut().is_some_and(|command| command.reap(&mut on_news));
        // While threads are attached, others start.
        for _ in 0..FINDS_MAX {
            let new = threads.find();
            watch.forget(|thread| threads.has(thread));
            if new.is_empty() {
                break;
            }
            for found in new {
                let first = command.as_ref().filter(|command| command.is(found.thread));
                let sleeps = are_new.then(|| first.map_or(0, |command| command.sleeps));
                watch.attach(found, sleeps, &mut recording, &calls, &mut on_news)?;
            }
            (are_new, newest) = (true, Instant::now());
        }
        watch.look();
        watch.drain();
        let is_over = until.is_some_and(|until| Instant::now() >= until)
            || stop.load(Ordering::Relaxed)
            || has_ended
            || (command.is_none() && threads.is_over());
        if is_over {
            break;
        }
        let is_quiet = newest.elapsed() >= QUIET;
        std::thread::sleep(if is_quiet { PACE } else { PACE_BEGINNING });
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
    elsewhere: Vec<Watched>,
    /// The processes whose code was not read since a thread was found.
    unread: HashSet<u32>,
    /// The threads beyond a limit.
    refused: HashSet<ThreadId>,
    /// The limit of this process that was reached; no more threads are watched.
    limit: Option<Limit>,
    /// Files that are closed when no more can be opened.
    spare: Vec<File>,
    faults_in_kernel: bool,
}

/// Why no more threads are watched.
struct Limit {
    reason: String,
    fix: Option<String>,
}

/// Opens files that keep their places for later.
fn spare_files() -> Vec<File> {
    (0..SPARE_FILES).filter_map(|_| File::open("/dev/null").ok()).collect()
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
    /// Starts to watch a thread, unless it is watched already or a limit is reached. One that has
    /// slept more than `sleeps` times is watched late.
    fn attach(
        &mut self,
        found: Found,
        sleeps: Option<u64>,
        recording: &mut ThreadRecording,
        calls: &Calls,
        on_news: &mut impl FnMut(News),
    ) -> Result<()> {
        if self.rename(&found) {
            return Ok(());
        }
        if self.lives.len() >= THREADS_MAX || self.limit.is_some() {
            self.refused.insert(found.thread);
            return Ok(());
        }
        match recording.start(found.thread) {
            Ok(Some(recorder)) => {
                // A thread that has slept can have had sections.
                let is_late = sleeps.is_some_and(|sleeps| {
                    Status::of(found.thread.0).is_none_or(|status| status.sleeps > sleeps)
                });
                self.report.late_threads += u64::from(is_late);
                on_news(News::Watching { name: found.name.clone(), thread: found.thread });
                self.add(found, recorder, recording, calls);
            }
            Ok(None) => self.report.missed_threads += 1,
            // What the others do is worth knowing.
            Err(RecordError::Refused { diagnosis, .. }) if self.has_watched() => {
                self.refused.insert(found.thread);
                self.limit = Some(Limit { reason: diagnosis.reason, fix: diagnosis.fix });
                self.spare.clear();
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    fn has_watched(&self) -> bool {
        !(self.lives.is_empty() && self.threads.is_empty()) || self.without_sections > 0
    }

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
        self.unread.insert(found.process);
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
        self.unread.insert(new.process);
        true
    }

    /// Reads the code of processes with new threads: while a process lives, it shows which files
    /// it has mapped. It takes longer than to start watching.
    fn look(&mut self) {
        for process in self.unread.drain() {
            self.codes.entry(process).or_insert_with(|| Code::of_process(process)).look();
        }
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
        self.look();
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
            self.elsewhere.extend(finder.longest_sleep().map(|(call, at)| Watched {
                thread: found.thread,
                name: found.name,
                sections: 0,
                wait: Some(call.to_owned()),
                at: Some(at.clone()),
                period: None,
            }));
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
        let was_watched = self.has_watched();
        let lives = std::mem::take(&mut self.lives);
        let limit = self.limit.take().unwrap_or_else(too_many);
        lives.into_iter().for_each(|life| self.end(life));
        let mut report = self.report;
        report.violations = self.tally.violations();
        report.unplaced = self.tally.beyond();
        report.unseen = recording.unseen().cloned().collect();
        if was_watched && !self.faults_in_kernel && recording.has_calls() {
            report.unseen.push(faults_in_user_mode());
        }
        let watched = self.threads.len() + self.without_sections;
        let refused = (!self.refused.is_empty()).then(|| Shortfall {
            asked: format::counted(self.refused.len() as u64, "more thread"),
            granted: format::counted(watched as u64, "thread"),
            reason: limit.reason,
            fix: limit.fix,
        });
        report.unseen.extend(refused);
        Answer {
            report,
            threads: self.threads,
            without_sections: self.without_sections,
            elsewhere: self.elsewhere,
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

fn too_many() -> Limit {
    Limit {
        reason: format!("at most {THREADS_MAX} are watched: each needs a buffer of 4 MiB"),
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
