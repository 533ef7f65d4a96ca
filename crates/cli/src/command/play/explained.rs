//! Why frames were late, while they are shown: their receipts are jobs, which `tactus why` explains.

use std::io;
use std::sync::mpsc::{Sender, channel};
use std::thread::{Builder, JoinHandle};

use indicatif::ProgressBar;
use tactus_app::jobs::{self, Question};
use tactus_app::record::Wanted;
use tactus_app::why::{self, Answer, News};
use tactus_app::{Error, ErrorKind};
use tactus_explain::jobs::ReportedJob;
use tactus_model::recording::{CallChains, ThreadId};
use tactus_model::time::Nanos;
use tactus_player::{Event, FrameReceipt, Spec};
use tactus_record::live::{Control, RecordEvent, Source, Stopper};

use super::HowArguments;
use super::show::Line;
use crate::command::why::{Printer, print_files};
use crate::error::CommandResult;
use crate::json_lines::write_line;
use crate::quietness::Quietness;
use crate::recorded_command::print_summary;
use crate::terminal::{say, stdout, table_options};

/// How many of the worst frames of a clip are shown in detail.
const WORST: usize = 3;

/// Explains late frames, in a thread of its own.
pub(super) struct Explaining {
    jobs: Sender<ReportedJob>,
    /// Of each clip, the thread that shows its frames, once it runs, and the time between frames.
    clips: Vec<(Option<ThreadId>, Nanos)>,
    stopper: Stopper,
    thread: JoinHandle<tactus_app::Result<(Answer, io::Result<()>)>>,
    json: bool,
    quietness: Quietness,
}

impl Explaining {
    /// Starts to record, and returns once every event is recorded.
    pub(super) fn start(spec: &Spec, how: &HowArguments, bar: ProgressBar) -> CommandResult<Self> {
        let clips: Vec<_> = spec.tracks.iter().map(|track| (None, period(track, spec))).collect();
        let least = clips.iter().map(|(_, period)| *period).min().unwrap_or_default();
        let deadline = how.over.unwrap_or(Nanos::from_nanos(least.as_nanos() / 2));
        let question = Question { deadline: Some(deadline), worst: WORST, ..Question::default() };
        let wanted = Wanted {
            output: how.output.clone(),
            source: Source::Auto,
            call_chains: CallChains::AtSleeps,
            is_the_recorded: true,
            ..Wanted::default()
        };
        let ((jobs, reports), (started, starts)) = (channel(), channel());
        let control = Control::new();
        let (stopper, json) = (control.stopper(), how.json);
        let explain =
            move || {
                let (mut printer, mut written) = (Printer::new(false), Ok(()));
                let on_event = |event| {
                    if let RecordEvent::Started(_) = event {
                        // It waits for this.
                        let _ = started.send(());
                    }
                };
                let answer =
                    why::reported(&wanted, reports, &question, &control, on_event, |news| {
                        match &news {
                            News::Late(job) if json && written.is_ok() => {
                                written = write_line(&Line::Late(job));
                            }
                            News::Late(_) if json => {}
                            _ => bar.suspend(|| printer.take(&news)),
                        }
                    })?;
                bar.suspend(|| printer.end());
                Ok((answer, written))
            };
        let thread = Builder::new().name("tactus-explain".to_owned()).spawn(explain)?;
        let explaining = Self { jobs, clips, stopper, thread, json, quietness: how.quietness };
        match starts.recv() {
            Ok(()) => Ok(explaining),
            // It has ended, with an error.
            Err(_) => Err(explaining.end().err().unwrap_or_else(panicked).into()),
        }
    }

    /// Takes the receipts of frames among the events of the player.
    pub(super) fn take(&mut self, event: &Event) {
        match event {
            Event::Prepared(prepared) => {
                if let Some((thread, _)) = self.clips.get_mut(prepared.clip) {
                    *thread = Some(prepared.thread);
                }
            }
            Event::Frame(receipt) => {
                // What cannot be explained any more is reported at the end.
                let _ = self.job(receipt).map(|job| self.jobs.send(job));
            }
            _ => {}
        }
    }

    fn job(&self, receipt: &FrameReceipt) -> Option<ReportedJob> {
        let FrameReceipt { clip, due, shown, dropped, .. } = *receipt;
        let (thread, period) = *self.clips.get(clip)?;
        Some(ReportedJob { thread: thread?, due, done: shown.or(dropped)?, period })
    }

    fn end(self) -> tactus_app::Result<(Answer, io::Result<()>)> {
        self.stopper.stop();
        drop(self.jobs);
        self.thread.join().unwrap_or_else(|_| Err(panicked()))
    }

    /// Ends the recording, and prints why frames were late.
    pub(super) fn finish(self) -> CommandResult {
        let (json, quietness) = (self.json, self.quietness);
        let (answer, written) = self.end()?;
        print_summary(&answer.summary, quietness);
        let printed = written.map_err(Into::into).and_then(|()| Self::print(&answer, json));
        answer.not_written.map_or(printed, |error| Err(error.into()))
    }

    fn print(answer: &Answer, json: bool) -> CommandResult {
        if json {
            answer
                .jobs
                .threads
                .iter()
                .try_for_each(|thread| write_line(&Line::Explained(thread)))?;
            let (recording, page) = (answer.recording.as_deref(), answer.page.as_deref());
            let lost = answer.summary.lost();
            write_line(&Line::Explanation { recording, page, lost })?;
        } else {
            print(answer)?;
        }
        Ok(())
    }
}

fn print(answer: &Answer) -> CommandResult {
    let late = jobs::late(&answer.jobs);
    if late.is_empty() {
        say!("no frame was late");
    }
    let text = tactus_report::jobs_text(&answer.jobs, &late, false, &table_options());
    io::Write::write_all(&mut stdout(), text.as_bytes())?;
    print_files(answer)
}

/// The time between two frames, as they are played.
fn period(track: &tactus_player::Track, spec: &Spec) -> Nanos {
    let period = track.clip.picture.as_ref().map(|picture| picture.period).unwrap_or_default();
    Nanos::from_nanos((period.as_nanos() as f64 / spec.speed.factor()) as u64)
}

fn panicked() -> Error {
    Error::new(ErrorKind::Internal, "the explaining thread panicked")
}
