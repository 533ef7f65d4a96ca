//! Why the periodic threads of a program are late, while it runs.
//!
//! A flight recorder keeps the last seconds. Beside it, a thread follows the recording, finds the
//! periodic threads among those of the chosen processes and explains each late job as soon as its
//! causes are known. A program that plays in this process reports its jobs itself ([`reported`]).

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};

use tactus_explain::jobs::{JobExplainer, Jobs, LateJob, ReportedJob};
use tactus_model::recording::{Dictionary, EventSource, Item, ThreadId};
use tactus_model::time::Nanos;
use tactus_record::RecordingSummary;
use tactus_record::live::{Control, LiveSource, RecordError, RecordEvent, Recorder, Stopper};
use tactus_report::LateRecording;
use tactus_sys::whole_file::Readers;

use crate::error::OrError;
use crate::flight::{Attempts, follow, save_at_end};
use crate::jobs::{Question, near, was_seen};
use crate::record::Wanted;
use crate::target::{Target, Watched};
use crate::{Error, Result, files};

/// How far back the flight recorder reaches.
const LAST: Nanos = Nanos::from_secs(20);

/// The number of late jobs that wait to be reported. Beyond it, late jobs are explained and
/// counted but not reported one by one.
const WAITING: usize = 256;

/// A later job replaces the saved recording if it took at least this many times as long as the
/// job that caused the last save.
const WORSE: u64 = 2;

/// What becomes known while the program runs.
#[derive(Debug)]
pub enum News<'a> {
    /// A job was late.
    Late(&'a LateJob),
    /// The seconds before a late job were saved to the file of the recording.
    Saved(&'a LateJob),
    /// The recording could not be saved, e.g. because the disk is full.
    NotSaved(&'a Error),
}

/// Why threads were late.
#[derive(Debug)]
pub struct Answer {
    /// The jobs of the periodic threads.
    pub jobs: Jobs,
    /// The late job that caused the recording to be saved; `None` if none was late, and the last
    /// seconds were saved at the end.
    pub trigger: Option<LateJob>,
    /// The file of the recording, unless it could not be written.
    pub recording: Option<PathBuf>,
    /// The file of the page, unless it could not be written.
    pub page: Option<PathBuf>,
    /// Why a file could not be written, e.g. because the disk is full.
    pub not_written: Option<Error>,
    /// The summary of the recording.
    pub summary: RecordingSummary,
    /// The threads of [`Question::threads`] that were never seen to sleep, with a hint.
    pub unseen: Vec<(String, String)>,
    /// The names of [`Target::names`] that no program and no thread had.
    pub unseen_names: Vec<String>,
    /// Whether a signal ended the explaining before all events were read.
    pub cut_short: bool,
    /// Whether the chosen processes have ended.
    pub over: bool,
    /// The processes that the command left running, with their names.
    pub left: Vec<(i32, String)>,
}

/// Explains late jobs until the command ends, the duration is over, or `control` stops the
/// recording. At the end, writes the page and the recording.
///
/// # Errors
/// Recording or the command cannot be started, a target does not exist, or the path of a file
/// cannot be written.
pub fn why(
    wanted: &Wanted,
    target: &Target,
    question: &Question,
    control: &Control,
    on_event: impl FnMut(RecordEvent),
    on_news: impl FnMut(News<'_>),
) -> Result<Answer> {
    answer(wanted, (target, None), question, control, on_event, on_news)
}

/// Like [`why`], for jobs that this process reports ([`ReportedJob`]), until `control` stops the
/// recording. The threads of `question` do not matter.
///
/// # Errors
/// Those of [`why`].
pub fn reported(
    wanted: &Wanted,
    jobs: Receiver<ReportedJob>,
    question: &Question,
    control: &Control,
    on_event: impl FnMut(RecordEvent),
    on_news: impl FnMut(News<'_>),
) -> Result<Answer> {
    let nobody = Target::default();
    answer(wanted, (&nobody, Some(jobs)), question, control, on_event, on_news)
}

fn answer(
    wanted: &Wanted,
    (target, reports): (&Target, Option<Receiver<ReportedJob>>),
    question: &Question,
    control: &Control,
    mut on_event: impl FnMut(RecordEvent),
    on_news: impl FnMut(News<'_>),
) -> Result<Answer> {
    files::check_recording(&wanted.path())?;
    let page = wanted.path().with_extension("html");
    if page == wanted.path() {
        let message = format!("{} is the file of the page", page.display());
        return Err(Error::usage(message).with_hint(format!(
            "name the recording, e.g. -o {}",
            page.with_extension("tactusrec").display()
        )));
    }
    files::check_recording(&page)?;
    let command = Arc::new(OnceLock::new());
    let watched = target.watched(&question.threads, command.clone())?;
    let (late, lates) = sync_channel(WAITING);
    let (question_asked, stopper) = (question.clone(), control.stopper());
    let watch = Watch { watched, reports, question: question_asked, late, stopper };
    let mut saving = Saving {
        path: wanted.path(),
        lates,
        trigger: None,
        attempts: Attempts::default(),
        on_news,
    };
    let on_event = |event| {
        if let RecordEvent::CommandStarted { process } = &event {
            // Set only once: there is one command.
            let _ = command.set(ThreadId(*process as i32));
        }
        on_event(event);
    };
    let run = move |source| watch.run(source);
    let followed = follow(wanted, LAST, control, on_event, run, |recorder| saving.take(recorder));
    let Saving { path: recording, trigger, .. } = saving;
    let (recorded, (jobs, watched)) = followed?;
    let summary = recorded.summary.clone();
    let saved = match trigger {
        Some(_) => Ok(summary.clone()),
        None => save_at_end(recorded, &recording),
    };
    let unseen = question.threads.iter().filter(|word| !was_seen(&jobs, word));
    let unseen = unseen.map(|word| (word.clone(), near(&jobs, word))).collect();
    let (recording, not_written) = match saved {
        Ok(_) => (Some(recording), None),
        Err(error) => (None, Some(error)),
    };
    let mut answer = Answer {
        jobs,
        trigger,
        recording,
        page: None,
        not_written,
        summary,
        unseen,
        cut_short: control.stopper().is_cut_short(),
        unseen_names: watched.unseen().map(str::to_owned).collect(),
        over: watched.is_over(),
        left: watched.left_by_the_command(),
    };
    // It names threads and functions of the kernel, as the recording does.
    let text = answer.written()?;
    match files::write_with(&page, Readers::Owner, |out| Ok(out.write_all(text.as_bytes())?)) {
        Ok(()) => answer.page = Some(page),
        Err(error) => answer.not_written = Some(error),
    }
    Ok(answer)
}

impl Answer {
    fn written(&self) -> Result<String> {
        let trigger = self.trigger.as_ref().map(|job| {
            format!("The recording was saved for this job. {}", tactus_report::late_job_line(job))
        });
        let saved = self.recording.as_ref().map(|path| format!("Recording: {}", path.display()));
        let lost = (self.summary.lost() > 0).then(|| {
            let lost = tactus_report::format::counted(self.summary.lost(), "event");
            format!("{lost} were lost; jobs meanwhile are not counted.")
        });
        let cut = self.cut_short.then(|| {
            "A signal ended the explaining: the last events were not read, and the last late jobs \
             have no causes."
                .to_owned()
        });
        let notes = trigger.into_iter().chain(saved).chain(lost).chain(cut).collect();
        let title = "Why threads were late".to_owned();
        Ok(tactus_report::jobs_page(&LateRecording { title, notes }, &self.jobs)?)
    }
}

/// Follows a recording and explains late jobs.
struct Watch {
    watched: Watched,
    /// The jobs that this process reports, if it does.
    reports: Option<Receiver<ReportedJob>>,
    question: Question,
    late: SyncSender<LateJob>,
    stopper: Stopper,
}

impl Watch {
    fn run(mut self, mut source: LiveSource) -> Result<(Jobs, Watched)> {
        // Explaining is not urgent: the drainer, not this thread, keeps events from being lost.
        source.in_background();
        let (about, options) = (source.about(), self.question.options());
        let mut explainer = match self.reports {
            Some(_) => JobExplainer::reported(about, options),
            None => JobExplainer::learning(about, options),
        };
        self.watched.began();
        let mut over = false;
        while let Some(item) = source.next_item().or_internal()? {
            if self.stopper.is_cut_short() {
                explainer.leave_open();
                break;
            }
            self.take_reports(&mut explainer, source.dictionary());
            match item {
                Item::Lost(lost) => explainer.lost(&lost),
                Item::Event(event) => {
                    self.watched.follow(&event, source.dictionary());
                    let wanted = |thread, name: &str, priority| {
                        self.reports.is_none() && self.watched.includes(thread, name, priority)
                    };
                    explainer.event(&event, source.dictionary(), wanted);
                }
            }
            if !over && self.watched.is_over() {
                over = true;
                self.stopper.stop();
            }
            for job in explainer.take_late() {
                if self.late.try_send(job).is_ok() {
                    self.stopper.mark();
                }
            }
        }
        self.take_reports(&mut explainer, source.dictionary());
        Ok((explainer.finish(source.dictionary()), self.watched))
    }

    fn take_reports(&self, explainer: &mut JobExplainer, names: &Dictionary) {
        for job in self.reports.iter().flat_map(Receiver::try_iter) {
            explainer.report(job, names);
        }
    }
}

/// Reports late jobs, and saves the recording for the first and for much worse ones.
struct Saving<F> {
    path: PathBuf,
    lates: Receiver<LateJob>,
    trigger: Option<LateJob>,
    attempts: Attempts,
    on_news: F,
}

impl<F: FnMut(News<'_>)> Saving<F> {
    /// Takes the late jobs that wait; returns whether to continue.
    fn take(&mut self, recorder: &Recorder) -> Result<ControlFlow<()>, RecordError> {
        while let Ok(job) = self.lates.try_recv() {
            (self.on_news)(News::Late(&job));
            if self.is_worth_a_save(&job) {
                self.save(recorder, job)?;
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn is_worth_a_save(&self, job: &LateJob) -> bool {
        let worse =
            |saved: &LateJob| match (job.priority.is_ordinary(), saved.priority.is_ordinary()) {
                (false, true) => true,
                (true, false) => false,
                _ => (job.done - job.due) >= (saved.done - saved.due).saturating_mul(WORSE),
            };
        !self.attempts.are_paused() && self.trigger.as_ref().is_none_or(worse)
    }

    fn save(&mut self, recorder: &Recorder, job: LateJob) -> Result<(), RecordError> {
        match recorder.save(&self.path) {
            Ok(()) => {
                (self.on_news)(News::Saved(&job));
                self.trigger = Some(job);
            }
            Err(error @ RecordError::Write { .. }) => {
                let error = Error::from(error);
                (self.on_news)(News::NotSaved(&error));
                self.attempts.fail(error);
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }
}
