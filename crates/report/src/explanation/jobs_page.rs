//! Why jobs of periodic threads were late, on a page.

use askama::Template;
use tactus_explain::ExplainedSample;
use tactus_explain::jobs::{JobExplanation, Jobs};

use super::section::{self, CellView};
use super::words::{self, Subject};
use super::{jobs, thread_time};
use crate::format;
use crate::page::ReportError;
use crate::page::frame::{Frame, written};
use crate::page::view::Table;
use crate::svg::timeline;

/// The most threads without a period that are listed.
const APERIODIC: usize = 20;

/// What a page about jobs says of their recording.
#[derive(Clone, Debug, Default)]
pub struct LateRecording {
    /// Its name.
    pub title: String,
    /// What limits the figures, each a sentence.
    pub notes: Vec<String>,
}

/// Writes a page on the jobs of periodic threads and why some were late.
///
/// # Errors
/// The page could not be put together.
pub fn jobs_page(recording: &LateRecording, jobs: &Jobs) -> Result<String, ReportError> {
    let rows = jobs::jobs_rows(jobs);
    let threads: Vec<CellView> = (0..).zip(rows.detailed).map(view).collect();
    let others = (!rows.others.is_empty()).then(|| {
        let others = format::counted(rows.others.len() as u64, "thread");
        format!("{others} with less late time have only a row in the table.")
    });
    let drawn = threads.iter().flat_map(|thread| &thread.open).any(|job| job.drawing.is_some());
    let page = JobsPage {
        title: recording.title.clone(),
        notes: recording.notes.clone(),
        less: rows.rest.iter().map(jobs::rest_sentence).chain(others).collect(),
        summary: Table::of(jobs::columns(&jobs.threads)),
        key: drawn.then(|| timeline::key().inline()),
        threads,
        aperiodic: jobs.aperiodic.iter().take(APERIODIC).map(jobs::no_period).collect(),
        frame: Frame::new("", &[]),
    };
    Ok(written(&page)?)
}

fn view((number, thread): (usize, &JobExplanation)) -> CellView {
    let explanation = &thread.explanation;
    let segments = thread.segments.iter();
    let (open, folded) = section::folded(explanation, Subject::Jobs, place);
    CellView {
        label: jobs::name(thread),
        noun: Subject::Jobs.noun(),
        slowest: Subject::Jobs.slowest(),
        headline: words::headline(explanation, Subject::Jobs, Some(&thread.process)),
        sentences: jobs::sentences(thread),
        causes: section::causes(explanation),
        lengths: section::lengths(segments.map(|part| (part.segment.to_string(), &part.histogram))),
        stacked: None,
        open,
        folded,
        is_open: number == 0,
    }
}

/// The place of a job, and what it was blocked on.
fn place(explained: &ExplainedSample) -> String {
    let blocked = explained.job.as_ref().and_then(|job| job.blocked.as_ref());
    let blocked = blocked.map(|blocked| thread_time::blocked(&blocked.sleep, "", &blocked.stretch));
    let place = jobs::place(explained) + ".";
    [Some(place), blocked].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

#[derive(Template)]
#[template(path = "jobs_page.html")]
struct JobsPage {
    title: String,
    notes: Vec<String>,
    /// What is not shown of threads with little late time.
    less: Vec<String>,
    summary: Table,
    /// The key to the timelines; `None` without timelines.
    key: Option<String>,
    threads: Vec<CellView>,
    aperiodic: Vec<String>,
    frame: Frame,
}
