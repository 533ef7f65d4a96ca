//! The page about what the threads of a program need.

use askama::Template;
use tactus_explain::jobs::Aperiodic;
use tactus_judge::need::{ThreadNeed, Trial};

use super::{TITLE, columns, name, sentences, trial_columns, trial_sentences, trial_title};
use super::{no_period, without_a_period};
use crate::page::ReportError;
use crate::page::frame::{Frame, written};
use crate::svg::usage::demand_panel;
use crate::table::column::{Column, name_in_group};

/// The most threads that have a section of their own: those that use most of a CPU.
const SHOWN: usize = 16;

/// What was measured of a program.
#[derive(Debug)]
pub struct NeedPage<'n> {
    /// The program.
    pub subject: String,
    /// Its periodic threads, the one that uses most of a CPU first.
    pub threads: &'n [ThreadNeed],
    /// Its other threads.
    pub aperiodic: &'n [Aperiodic],
    /// The trials of their reserves.
    pub trials: &'n [Trial],
    /// The command that runs the program with its reserves.
    pub command: Option<String>,
    /// What holds for all of it.
    pub notes: Vec<String>,
}

/// Writes the page: a row for each thread, its CPU time over time, and the trial of its reserve.
///
/// # Errors
/// The page could not be put together.
pub fn need_page(found: NeedPage<'_>) -> Result<String, ReportError> {
    let NeedPage { subject, threads, aperiodic, trials, command, mut notes } = found;
    match threads.is_empty() {
        true => notes.extend(without_a_period(aperiodic)),
        false => notes.extend(aperiodic.iter().take(SHOWN).map(no_period)),
    }
    let table = Rows::of(columns(threads));
    let shown = threads.iter().take(SHOWN).map(|need| Section {
        name: name(need),
        sentences: sentences(need),
        drawing: demand_panel(need).inline(),
        trial: trials.iter().find(|trial| trial.thread == need.thread).map(|trial| TrialPart {
            title: trial_title(need),
            sentences: trial_sentences(need, trial),
            table: Rows::of(trial_columns(&trial.loads)),
        }),
    });
    let page = Page {
        title: format!("CPU time that {subject} needs"),
        subject,
        command,
        notes,
        table,
        threads: shown.collect(),
        frame: Frame::new("", &[]),
    };
    Ok(written(&page)?)
}

/// A table as texts.
struct Rows {
    heads: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Rows {
    fn of(columns: Vec<Column>) -> Self {
        let shown: Vec<Column> = columns.into_iter().filter(Column::is_shown).collect();
        let count = shown.first().map_or(0, |column| column.entries.len());
        let row = |row: usize| shown.iter().map(|one| one.entries[row].text.clone()).collect();
        Self {
            heads: shown.iter().map(|column| name_in_group(&column.head, column.group)).collect(),
            rows: (0..count).map(row).collect(),
        }
    }
}

struct TrialPart {
    title: String,
    sentences: Vec<String>,
    table: Rows,
}

struct Section {
    name: String,
    sentences: Vec<String>,
    drawing: String,
    trial: Option<TrialPart>,
}

#[derive(Template)]
#[template(path = "need.html")]
struct Page {
    title: String,
    subject: String,
    command: Option<String>,
    notes: Vec<String>,
    table: Rows,
    threads: Vec<Section>,
    frame: Frame,
}

impl Page {
    const TITLE: &str = TITLE;
}
