//! What the periodic threads of a program need, measured while it runs.

mod trial;

use std::collections::HashMap;
use std::ffi::OsString;
use std::num::NonZero;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use tactus_admission::{Placement, Plan, Policy, Task};
use tactus_explain::jobs::{
    Aperiodic, DoneJob, FIT_MIN, JobExplainer, JobFinder, JobOptions, Jobs, NoPeriod,
};
use tactus_judge::need::{Asked, ThreadNeed};
use tactus_model::format;
use tactus_model::recording::{EventSource, Item, Observers, ThreadId};
use tactus_model::reserve::Capacity;
use tactus_model::time::Nanos;
use tactus_record::RecordingSummary;
use tactus_record::file::RecordingFile;
use tactus_record::live::{
    CallChains, Control, Keep, Options, RecordEvent, Recorder, Source, record_with,
};
use tactus_report::{NeedPage, need_page};

use crate::error::OrError;
use crate::jobs::{near, was_seen};
use crate::record::{Wanted, guardian};
use crate::target::{Target, Watched};
use crate::{Result, files};

pub use trial::{TrialAnswer, TrialNews, TrialPlan, WindowFacts, trial};

/// The memory limit of a recording that is not kept; events beyond it are lost, which is counted.
const MEMORY: u64 = 512 << 20;

/// The most jobs of all threads that are kept (about 250 MB); later ones are not counted.
const JOBS_MAX: usize = 1 << 22;

/// What to measure.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// Names and numbers of threads; if empty, all periodic threads.
    pub threads: Vec<String>,
    /// The period of these threads; if `None`, each thread's own is found.
    pub period: Option<Nanos>,
    /// What a reserve is to cover.
    pub asked: Asked,
}

/// What was measured.
#[derive(Debug)]
pub struct Answer {
    /// The periodic threads, the one that uses most of a CPU first.
    pub threads: Vec<ThreadNeed>,
    /// The other threads.
    pub aperiodic: Vec<Aperiodic>,
    /// The threads of [`Question::threads`] that were never seen to sleep, with a hint.
    pub unseen: Vec<(String, String)>,
    /// The summary of the recording.
    pub summary: RecordingSummary,
}

/// Measures until the command ends, the duration is over, or `control` stops it. The recording is
/// kept only if `wanted` names a file.
///
/// # Errors
/// Recording or the command cannot be started, a target does not exist, or a file cannot be
/// written.
pub fn measure(
    wanted: &Wanted,
    target: &Target,
    question: &Question,
    control: &Control,
    mut on_event: impl FnMut(RecordEvent),
) -> Result<Answer> {
    let command = Arc::new(OnceLock::new());
    let mut watched = target.watched(&question.threads, command.clone())?;
    let options = options(wanted)?;
    let _guardian = guardian();
    let on_event = |event| {
        if let RecordEvent::CommandStarted { process } = &event {
            // Set only once: there is one command.
            let _ = command.set(ThreadId(*process as i32));
        }
        on_event(event);
    };
    let recorder = Recorder::start(options)?;
    let (command, duration) = (&wanted.command, wanted.duration);
    let recorded = record_with(recorder, command, duration, control, on_event, |_| {
        Ok(std::ops::ControlFlow::Continue(()))
    })?;
    let mut recording = recorded.recording;
    let (jobs, done) = jobs(&mut recording, &mut watched, question.period)?;
    Ok(Answer::of(&jobs, &done, question, recorded.summary))
}

fn options(wanted: &Wanted) -> Result<Options> {
    let keep = match &wanted.output {
        None => Keep::Memory { limit: MEMORY },
        Some(path) => {
            files::check(path)?;
            Keep::File(path.clone())
        }
    };
    Ok(recorder_options(wanted.source, keep))
}

/// Records who runs where: less than for explanations, so it costs the program less.
fn recorder_options(source: Source, keep: Keep) -> Options {
    let observers = Observers::of_processes([std::process::id()]);
    let call_chains = CallChains::Never;
    Options { source, call_chains, keep, observers, ..Options::of_scheduling() }
}

/// The jobs of a recording, by thread.
type DoneJobs = HashMap<ThreadId, Vec<DoneJob>>;

/// Finds the jobs of the watched threads: first their periods, then the jobs.
fn jobs(
    recording: &mut RecordingFile,
    watched: &mut Watched,
    period: Option<Nanos>,
) -> Result<(Jobs, DoneJobs)> {
    let mut finder = JobFinder::new(recording.about());
    while let Some(item) = recording.next_item().or_internal()? {
        match item {
            Item::Lost(lost) => finder.lost(&lost),
            Item::Event(event) => {
                watched.follow(&event, recording.dictionary());
                finder.event(&event, recording.dictionary());
            }
        }
    }
    recording.rewind();
    // No job is late, because dividing late jobs among causes takes long.
    let deadline = Some(Nanos::MAX);
    let options = JobOptions { period, deadline, slowest: 0, timelines: 0 };
    let explainer = JobExplainer::new(recording.about(), options, finder.finish(period));
    let (mut explainer, mut done, mut count) = (explainer.keeping_done(), DoneJobs::new(), 0);
    while let Some(item) = recording.next_item().or_internal()? {
        match item {
            Item::Lost(lost) => explainer.lost(&lost),
            Item::Event(event) => {
                let wanted =
                    |thread, name: &str, priority| watched.includes(thread, name, priority);
                explainer.event(&event, recording.dictionary(), wanted);
            }
        }
        for job in explainer.take_done() {
            if count < JOBS_MAX {
                done.entry(job.thread).or_default().push(job);
                count += 1;
            }
        }
    }
    Ok((explainer.finish(recording.dictionary()), done))
}

/// The command that runs a program with its reserves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReserveCommand {
    /// The command; `None` if no thread has a reserve.
    pub line: Option<String>,
    /// What it does not contain, with the fix.
    pub notes: Vec<String>,
}

/// Whether `--threads` of `tactus reserve` can name threads so.
fn can_be_named(name: &str) -> bool {
    let is_plain = |letter: char| format::is_plain(letter) && !matches!(letter, ',' | '=');
    !matches!(name, "" | "main" | "all") && name.chars().all(is_plain)
}

/// A program as it is typed.
fn subject(program: &[OsString]) -> String {
    let words = program.iter().map(|word| format::shell_word(&word.to_string_lossy()));
    let words: Vec<String> = words.collect();
    if words.is_empty() { "COMMAND".to_owned() } else { words.join(" ") }
}

impl Answer {
    fn of(jobs: &Jobs, done: &DoneJobs, question: &Question, summary: RecordingSummary) -> Self {
        // A given period fits some threads by chance and others not at all.
        let all = question.period.is_none() || !question.threads.is_empty();
        let (fitting, others): (Vec<_>, Vec<_>) =
            jobs.threads.iter().partition(|thread| all || thread.period.fit >= FIT_MIN);
        let none = Vec::new();
        let mut threads: Vec<ThreadNeed> = fitting
            .into_iter()
            .map(|thread| {
                let done = done.get(&thread.thread).unwrap_or(&none);
                ThreadNeed::of(thread, done, &question.asked)
            })
            .collect();
        threads.sort_by(|a, b| b.demand.share().total_cmp(&a.demand.share()));
        let unfit = others.into_iter().map(|thread| Aperiodic {
            thread: thread.thread,
            name: thread.name.clone(),
            reason: NoPeriod::Unlike(thread.period),
        });
        let unseen = question.threads.iter().filter(|word| !was_seen(jobs, word));
        Self {
            threads,
            aperiodic: jobs.aperiodic.iter().cloned().chain(unfit).collect(),
            unseen: unseen.map(|word| (word.clone(), near(jobs, word))).collect(),
            summary,
        }
    }

    /// The threads with a reserve as a plan for this machine, which `tactus admit` reads; `None`
    /// without such a thread.
    pub fn plan(&self) -> Option<Plan> {
        let mut tasks: Vec<Task> = Vec::new();
        for thread in &self.threads {
            let Ok(reserve) = thread.demand.reserve else { continue };
            let named = tasks.iter().any(|task| task.name() == thread.name);
            let name = match named {
                true => format!("{} ({})", thread.name, thread.thread),
                false => thread.name.clone(),
            };
            let task = Task::new(name, reserve.cost(), reserve.period());
            // A capacity is a possible task.
            tasks.extend(task.and_then(|task| task.with_deadline(reserve.deadline())));
        }
        tasks.truncate(tactus_model::limits::ADMISSION_TASKS);
        let cpus = std::thread::available_parallelism().map_or(1, NonZero::get);
        (!tasks.is_empty()).then(|| Plan {
            policy: Policy::Deadline,
            cpus: u16::try_from(cpus).unwrap_or(Plan::CPUS_MOST).min(Plan::CPUS_MOST),
            placement: Placement::Partitioned,
            capacity: Plan::CAPACITY,
            tasks,
        })
    }

    /// Writes a page about the program that is called `subject`, which was started by `program`, with
    /// the trial of its reserves if there was one.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write_page(
        &self,
        path: &Path,
        program: &[OsString],
        trial: Option<&TrialAnswer>,
    ) -> Result<()> {
        let ReserveCommand { line, notes } = self.reserve_command(program);
        let conditions = trial.map(TrialAnswer::conditions);
        let page = need_page(NeedPage {
            subject: subject(program),
            threads: &self.threads,
            aperiodic: &self.aperiodic,
            trials: trial.map_or(&[], |trial| &trial.trials),
            command: line,
            notes: notes.into_iter().chain(conditions).collect(),
        })?;
        files::write(path, page)
    }

    /// The command that runs `program` with the reserves of all threads.
    pub fn reserve_command(&self, program: &[OsString]) -> ReserveCommand {
        let mut notes = Vec::new();
        let mut reserves: Vec<(&str, Capacity)> = Vec::new();
        for thread in &self.threads {
            let (name, Ok(reserve)) = (thread.name.as_str(), thread.demand.reserve) else {
                continue;
            };
            let of_name = reserves.iter_mut().find(|(known, _)| *known == name);
            match of_name {
                _ if !can_be_named(name) => notes.push(format!(
                    "thread `{}` cannot be named by --threads. fix: give it another name \
                     (pthread_setname_np)",
                    format::quoted(name)
                )),
                None => reserves.push((name, reserve)),
                Some((_, known)) if known.period() == reserve.period() => {
                    let larger = [*known, reserve].into_iter().max_by_key(|one| one.cost());
                    *known = larger.unwrap_or(*known);
                }
                Some((_, known)) => notes.push(format!(
                    "threads named `{}` have the periods {} and {}, and the command reserves {known} \
                     for each. fix: give them names of their own (pthread_setname_np)",
                    format::quoted(name),
                    known.period(),
                    reserve.period()
                )),
            }
        }
        let threads = match &reserves[..] {
            [] => return ReserveCommand { line: None, notes },
            [(name, reserve)] => format!("{reserve} --threads {}", format::shell_word(name)),
            all => {
                let each: Vec<String> =
                    all.iter().map(|(name, reserve)| format!("{name}={reserve}")).collect();
                format!("--threads {}", format::shell_word(&each.join(",")))
            }
        };
        let line = Some(format!("tactus reserve {threads} -- {}", subject(program)));
        ReserveCommand { line, notes }
    }

    /// Writes the plan to a file; returns whether there is one.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write_plan(&self, path: &Path) -> Result<bool> {
        let Some(plan) = self.plan() else { return Ok(false) };
        files::write(path, plan.to_toml())?;
        Ok(true)
    }
}
