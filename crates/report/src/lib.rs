//! Text from data: tables for the terminal, drawings, pages, the outcome of a run and its verdict.
//!
//! Everything here is a pure function of stored runs. It reads histograms, never samples, so a page
//! of ten million wakeups takes no longer than a page of ten thousand.
#![forbid(unsafe_code)]

mod accounts;
mod admission;
mod causes;
mod columns;
mod comparison;
mod costs;
mod doctor;
pub mod experiment;
mod explanation;
mod guests;
mod kernels;
pub mod layout;
mod machines;
mod need;
mod outcome;
mod page;
mod pipeline;
mod purpose;
mod reproduction;
mod reserve;
pub mod site;
mod summary;
pub mod svg;
mod synchrony;
mod table;
mod tail;
mod until;
mod verdict;
mod violations;
mod wrap;

#[cfg(test)]
#[path = "../fixtures/runs.rs"]
mod fixture;

#[cfg(test)]
#[path = "../fixtures/explanations.rs"]
mod explanation_fixture;

/// Quantities as people read them.
pub use tactus_model::format;

pub use accounts::{AccountsBy, NamedAccounts, accounts_text};
pub use admission::{admission_page, admission_text};
pub use causes::causes;
pub use comparison::comparison_text;
pub use costs::{costs_page, costs_text};
pub use doctor::findings_text;
pub use explanation::{
    CellExplanation, JOBS_DETAILED, JobsRest, JobsRows, LateRecording, TracingCost,
    explanation_text, jobs_page, jobs_rows, jobs_text, late_job_line, saved_wakeup_text,
    waits_text,
};
pub use guests::{exact_digest, guests_notes, guests_text};
pub use kernels::kernel_gate_text;
pub use machines::{machines_page, machines_text};
pub use need::{NeedPage, need_page, need_text, trial_text};
pub use outcome::{outcome, outcome_text};
pub use page::comparison::comparison_page;
pub use page::{Conclusions, ReportError, accounts_page, page, page_of, page_with};
pub use pipeline::{Modelled, pipeline_page, pipeline_text};
pub use purpose::purposes_text;
pub use reproduction::{Measured, papers_table, reproduction_page, reproduction_text};
pub use reserve::{reserve_page, reserve_text};
pub use synchrony::{room_page, room_text, synchrony_page, synchrony_text};
pub use table::{
    TableForm, TableOptions, cells_file, cells_table, comparison_file, lines, paragraph,
    plan_table, run_details, runs_table,
};
pub use tail::{CauseTail, CellTail, tail_text};
pub use until::{narrowing_line, rounds_taken_text, rounds_text, until_text};
pub use verdict::verdict_text;
pub use violations::violations_text;
