//! The output of `cyclictest -h` and `-H`, and the file of `--histfile`.

use std::collections::BTreeSet;

use tactus_model::facts::MachineFacts;
use tactus_model::format::quoted;
use tactus_model::time::{Instant, Nanos};

use super::{cell, notes};
use crate::command_line::{Given, Known};
use crate::counts::Counts;
use crate::error::ImportError;
use crate::result::{ForeignCell, ForeignResult, ForeignTask, check_task_count};
use crate::tally::Tally;

const NONE: Known =
    Known { with_value: "", with_optional_value: "", long: &[], long_with_value: &[] };

/// The summary lines over all threads, each with its line number.
#[derive(Default)]
struct Summary {
    totals: Option<(usize, Vec<u64>)>,
    least: Option<(usize, Vec<u64>)>,
    means: Option<(usize, Vec<u64>)>,
    greatest: Option<(usize, Vec<u64>)>,
    overflows: Option<(usize, Vec<u64>)>,
}

/// The rows of the histogram, each with a count per thread.
#[derive(Default)]
struct Rows {
    /// The line and the latency of each row.
    heads: Vec<(usize, u64)>,
    /// The counts of each row.
    counts: Counts,
}

pub(crate) fn read(content: &[u8], unit: Option<Nanos>) -> Result<ForeignResult, ImportError> {
    let text = String::from_utf8_lossy(content);
    let mut rows = Rows::default();
    let mut summary = Summary::default();
    let mut status = StatusLines::default();
    for (line, text) in (1..).zip(text.lines()) {
        let text = text.trim();
        if let Some(comment) = text.strip_prefix('#') {
            summary.comment(line, comment.trim())?;
        } else if text.starts_with(|letter: char| letter.is_ascii_digit()) {
            rows.read(line, text)?;
        } else {
            status.line(text);
        }
    }
    let Some(&(first_line, _)) = rows.heads.first() else {
        return Err(ImportError::Whole(
            "there is no histogram; run cyclictest with -h, e.g. cyclictest -q -h 1000".to_owned(),
        ));
    };
    let threads = summary.threads(first_line, rows.counts.width())?;
    if threads == 0 {
        return Err(ImportError::line(first_line, "there is no thread"));
    }
    check_task_count(threads)?;
    let assumed = unit.is_none();
    let unit = unit.unwrap_or(Nanos::from_micros(1));
    let tasks = (0..threads)
        .map(|thread| task(thread, threads, &rows, &summary, unit))
        .collect::<Result<Vec<_>, _>>()?;
    let mut notes = notes(unit);
    if assumed {
        notes.push(
            "The file does not contain its unit: 1us is assumed; if cyclictest ran with -N, import with --unit 1ns."
                .to_owned(),
        );
    }
    let cell = ForeignCell {
        cell: status.cell(),
        window: Nanos::ZERO,
        block_length: Nanos::ZERO,
        unit,
        tasks,
    };
    Ok(ForeignResult {
        tool: "cyclictest",
        version: None,
        command_line: None,
        started: None,
        facts: MachineFacts::unknown(Instant::from_nanos(0)),
        cells: vec![cell],
        notes,
    })
}

impl Rows {
    fn read(&mut self, line: usize, text: &str) -> Result<(), ImportError> {
        let mut numbers = numbers(line, text);
        let latency = numbers.next().transpose()?.unwrap_or_default();
        self.heads.push((line, latency));
        self.counts.add_row(line, numbers)
    }
}

fn numbers(line: usize, text: &str) -> impl Iterator<Item = Result<u64, ImportError>> {
    let wrong =
        move |word| ImportError::line(line, format!("`{}` is not an integer", quoted(word)));
    text.split_whitespace().map(move |word| word.parse().map_err(|_| wrong(word)))
}

impl Summary {
    fn comment(&mut self, line: usize, comment: &str) -> Result<(), ImportError> {
        let Some((head, figures)) = comment.split_once(':') else { return Ok(()) };
        let place = match head {
            "Total" => &mut self.totals,
            "Min Latencies" => &mut self.least,
            "Avg Latencies" => &mut self.means,
            "Max Latencies" => &mut self.greatest,
            "Histogram Overflows" => &mut self.overflows,
            _ => return Ok(()),
        };
        *place = Some((line, numbers(line, figures).collect::<Result<_, _>>()?));
        Ok(())
    }

    /// The number of threads: of minimum latencies, or of columns if the minimum latencies are
    /// missing. With -H, rows have an additional column, the sum of all threads.
    fn threads(&self, line: usize, columns: usize) -> Result<usize, ImportError> {
        let threads = self.least.as_ref().map_or(columns, |(_, least)| least.len());
        if threads != columns && threads + 1 != columns {
            let reason =
                format!("rows have {columns} columns, but the summary has {threads} threads");
            return Err(ImportError::line(line, reason));
        }
        Ok(threads)
    }
}

fn task(
    thread: usize,
    threads: usize,
    rows: &Rows,
    summary: &Summary,
    unit: Nanos,
) -> Result<ForeignTask, ImportError> {
    let mut tally = Tally::new(unit);
    for (&(line, latency), count) in rows.heads.iter().zip(rows.counts.column(thread)) {
        tally.count(latency, count).map_err(|reason| ImportError::line(line, reason))?;
    }
    let figure =
        |figures: &Option<(usize, Vec<u64>)>| -> Result<Option<(usize, u64)>, ImportError> {
            let Some((line, figures)) = figures else { return Ok(None) };
            let reason = || format!("{} figures for {threads} threads", figures.len());
            let found = figures.get(thread).ok_or_else(|| ImportError::line(*line, reason()))?;
            Ok(Some((*line, *found)))
        };
    if let Some((line, total)) = figure(&summary.totals)?
        && total != tally.total()
    {
        let reason = format!(
            "thread {thread} has {total} wakeups in total, but its rows add up to {}",
            tally.total()
        );
        return Err(ImportError::line(line, reason));
    }
    let last = rows.heads.last().map_or(0, |(_, latency)| latency.saturating_add(1));
    if let Some((line, overflow)) = figure(&summary.overflows)? {
        tally.overflow(last, overflow).map_err(|reason| ImportError::line(line, reason))?;
        // It has no decimals, but it includes the latencies beyond the rows.
        if let Some((_, mean)) = figure(&summary.means)?.filter(|_| overflow > 0) {
            tally.mean(mean as f64);
        }
    }
    let greatest = figure(&summary.greatest)?;
    greatest.into_iter().for_each(|(_, max)| tally.greatest(max));
    let line = greatest.map_or(rows.heads[0].0, |(line, _)| line);
    let tallied = tally.finish().map_err(|reason| ImportError::line(line, reason))?;
    Ok(ForeignTask::whole(None, tallied))
}

/// The content of the status lines, if cyclictest was not quiet.
#[derive(Default)]
struct StatusLines {
    class: Option<String>,
    priority: Option<String>,
    interval: Option<String>,
}

impl StatusLines {
    /// Parses `policy: fifo: loadavg: …` and `T: 0 ( 8192) P:80 I:1000 C: 500 Min: …`, which
    /// cyclictest overwrites in place on a terminal.
    fn line(&mut self, text: &str) {
        if let Some(rest) = text.split("policy: ").nth(1) {
            self.class = rest.split(':').next().map(|class| class.trim().to_owned());
        }
        if let Some(figures) = text.rsplit("T:").next().filter(|_| text.contains("T:")) {
            let figure = |key: &str| {
                let value = figures.split(key).nth(1)?.split_whitespace().next()?;
                value.parse::<u64>().ok().map(|value| value.to_string())
            };
            self.priority = figure("P:").or(self.priority.take());
            self.interval = figure("I:").or(self.interval.take());
        }
    }

    fn cell(self) -> tactus_model::cell::Cell {
        let mut known = tactus_model::cell::Cell::imported("timer");
        // An unrecognised value leaves its setting unknown.
        if let (Some(class), Some(priority)) = (&self.class, &self.priority) {
            let policy = match class.as_str() {
                "fifo" | "rr" => format!("{class}:{priority}"),
                other => other.to_owned(),
            };
            let _ = known.know("policy", &policy);
        }
        if let Some(interval) = &self.interval {
            let _ = known.know("interval", &format!("{interval}us"));
        }
        // Common to all command lines of cyclictest.
        let common = cell(&Given::of("cyclictest", &NONE), &BTreeSet::new());
        for name in ["work", "tasks", "traced"] {
            if let Some((_, value)) = common.settings().find(|(setting, _)| *setting == name) {
                let _ = known.know(name, &value);
            }
        }
        known
    }
}
