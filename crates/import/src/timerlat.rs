//! The output of `rtla timerlat hist` (Linux, `tools/tracing/rtla/src/timerlat_hist.c`).
//!
//! Each CPU has up to three columns: the latency of the timer's interrupt (IRQ), of the
//! tracer's thread (Thr), and of user space (Usr). They are different quantities and become
//! three cells.

use std::collections::BTreeMap;

use tactus_model::cell::Cell;
use tactus_model::facts::MachineFacts;
use tactus_model::format::quoted;
use tactus_model::time::{Instant, Nanos};

use crate::counts::Counts;
use crate::error::ImportError;
use crate::result::{ForeignCell, ForeignResult, ForeignTask, check_task_count};
use crate::tally::Tally;

/// The quantity of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Interrupt,
    Thread,
    User,
}

impl Stage {
    const fn measured(self) -> &'static str {
        match self {
            Self::Interrupt => "timerlat-irq",
            Self::Thread => "timerlat-thread",
            Self::User => "timerlat-user",
        }
    }
}

/// A column of the histogram.
#[derive(Clone, Copy, Debug)]
struct Column {
    stage: Stage,
    cpu: u32,
}

/// The lines of the histogram; missing figures are `None`.
#[derive(Default)]
struct Table {
    columns: Vec<Column>,
    /// The line and the latency of each row.
    rows: Vec<(usize, u64)>,
    /// The counts of each row.
    row_counts: Counts,
    over: Option<Vec<u64>>,
    counts: Option<(usize, Vec<Option<u64>>)>,
    averages: Option<Vec<Option<u64>>>,
    greatest: Option<Vec<Option<u64>>>,
}

pub(crate) fn read(content: &[u8]) -> Result<ForeignResult, ImportError> {
    let text = String::from_utf8_lossy(content);
    let mut unit = None;
    let mut window = Nanos::ZERO;
    let mut table = Table::default();
    for (line, text) in (1..).zip(text.lines()) {
        let text = text.trim();
        if let Some(comment) = text.strip_prefix('#') {
            let comment = comment.trim();
            if let Some(named) = comment.strip_prefix("Time unit is ") {
                unit = Some(time_unit(line, named)?);
            } else if let Some(duration) = comment.strip_prefix("Duration:") {
                window = span(duration).ok_or_else(|| {
                    ImportError::line(
                        line,
                        format!(
                            "`{}` is not a duration such as `0 00:01:00`",
                            quoted(duration.trim())
                        ),
                    )
                })?;
            }
        } else if text.starts_with("ALL") {
            // The lines that follow sum up the CPUs above.
            break;
        } else {
            table.line(line, text)?;
        }
    }
    let unit = unit.ok_or_else(|| {
        ImportError::Whole(
            "there is no line `# Time unit is …`; rtla writes it unless run with --no-header"
                .to_owned(),
        )
    })?;
    if table.columns.is_empty() {
        return Err(ImportError::Whole(
            "there is no header line that begins with `Index`; rtla writes it unless run with --no-header or --no-index".to_owned(),
        ));
    }
    let width = table.width();
    let mut notes = vec![
        format!("Latencies are rounded down to multiples of {}.", unit.saturating_mul(width)),
        "timerlat does not count the periods it skipped; their number is unknown (coordinated omission).".to_owned(),
        "The settings, the load and the machine are unknown.".to_owned(),
    ];
    if width > 1 {
        notes.push(format!("The bucket width of {width} is inferred from the rows."));
    }
    Ok(ForeignResult {
        tool: "rtla-timerlat",
        version: None,
        command_line: None,
        started: None,
        facts: MachineFacts::unknown(Instant::from_nanos(0)),
        cells: table.cells(unit, width, window)?,
        notes,
    })
}

fn time_unit(line: usize, named: &str) -> Result<Nanos, ImportError> {
    match named.split_whitespace().next() {
        Some("nanoseconds") => Ok(Nanos::from_nanos(1)),
        Some("microseconds") => Ok(Nanos::from_micros(1)),
        _ => Err(ImportError::line(
            line,
            format!("`{}` is neither nanoseconds nor microseconds", quoted(named)),
        )),
    }
}

/// Parses days and a time of day: `0 00:10:00`.
fn span(text: &str) -> Option<Nanos> {
    let (days, time) = text.trim().split_once(' ')?;
    let mut seconds = days.parse::<u64>().ok()?;
    for (part, units) in time.trim().split(':').zip([24, 60, 60]) {
        seconds = seconds.checked_mul(units)?.checked_add(part.parse().ok()?)?;
    }
    Some(Nanos::from_secs(seconds))
}

fn column(line: usize, name: &str) -> Result<Column, ImportError> {
    let read = || {
        let (stage, cpu) = name.split_once('-')?;
        let stage = match stage {
            "IRQ" => Stage::Interrupt,
            "Thr" => Stage::Thread,
            "Usr" => Stage::User,
            _ => return None,
        };
        Some(Column { stage, cpu: cpu.parse().ok()? })
    };
    read().ok_or_else(|| {
        ImportError::line(line, format!("`{}` is not a column; columns are IRQ-000, Thr-000 and Usr-000, with the number of the CPU", quoted(name)))
    })
}

impl Table {
    fn line(&mut self, line: usize, text: &str) -> Result<(), ImportError> {
        let mut words = text.split_whitespace();
        let Some(head) = words.next() else { return Ok(()) };
        match head {
            "Index" => {
                self.columns = words.map(|name| column(line, name)).collect::<Result<_, _>>()?;
                check_task_count(self.columns.len() / 3)?;
            }
            "over:" => self.over = Some(self.whole(line, words)?),
            "count:" => self.counts = Some((line, self.figures(line, words)?)),
            "min:" => drop(self.figures(line, words)?),
            "avg:" => self.averages = Some(self.figures(line, words)?),
            "max:" => self.greatest = Some(self.figures(line, words)?),
            _ => {
                // The lines before and after the table contain other data.
                if let Ok(index) = head.parse()
                    && !self.columns.is_empty()
                {
                    let counts = self.whole(line, words)?;
                    self.rows.push((line, index));
                    self.row_counts.add_row(line, counts.into_iter().map(Ok))?;
                }
            }
        }
        Ok(())
    }

    fn whole<'t>(
        &self,
        line: usize,
        words: impl Iterator<Item = &'t str>,
    ) -> Result<Vec<u64>, ImportError> {
        let figures = self.figures(line, words)?;
        Ok(figures.into_iter().map(Option::unwrap_or_default).collect())
    }

    /// A figure for each column; `-` is a missing figure.
    fn figures<'t>(
        &self,
        line: usize,
        words: impl Iterator<Item = &'t str>,
    ) -> Result<Vec<Option<u64>>, ImportError> {
        let figures = words
            .map(|word| match word.parse() {
                Ok(figure) => Ok(Some(figure)),
                Err(_) if word == "-" => Ok(None),
                Err(_) if word.starts_with('-') => Err(ImportError::line(
                    line,
                    format!("`{}` is negative: a counter of rtla has overflowed; repeat the measurement with a shorter duration", quoted(word)),
                )),
                Err(_) => {
                    Err(ImportError::line(line, format!("`{}` is not an integer", quoted(word))))
                }
            })
            .collect::<Result<Vec<Option<u64>>, _>>()?;
        if figures.len() == self.columns.len() {
            Ok(figures)
        } else {
            let (found, wanted) = (figures.len(), self.columns.len());
            Err(ImportError::line(line, format!("{found} figures for {wanted} columns")))
        }
    }

    /// The width of the buckets in units. It is not in the file; rows are at its multiples.
    fn width(&self) -> u64 {
        let greatest_common = |mut a: u64, mut b: u64| {
            while b > 0 {
                (a, b) = (b, a % b);
            }
            a
        };
        let indices = self.rows.iter().map(|(_, index)| *index);
        // A few rows can be multiples of a larger number by chance.
        match indices.clone().fold(0, greatest_common) {
            width if width > 1 && indices.filter(|index| *index > 0).count() >= 5 => width,
            _ => 1,
        }
    }

    fn cells(
        &self,
        unit: Nanos,
        width: u64,
        window: Nanos,
    ) -> Result<Vec<ForeignCell>, ImportError> {
        let mut stages: BTreeMap<Stage, Vec<ForeignTask>> = BTreeMap::new();
        for (place, column) in self.columns.iter().enumerate() {
            stages.entry(column.stage).or_default().push(self.task(place, *column, unit, width)?);
        }
        Ok(stages
            .into_iter()
            .map(|(stage, tasks)| {
                let mut cell = Cell::imported(stage.measured());
                // These values are always valid.
                let _ = cell.know("clock", "monotonic");
                let _ = cell.know("traced", "0s");
                let unit = unit.saturating_mul(width);
                ForeignCell { cell, window, block_length: Nanos::ZERO, unit, tasks }
            })
            .collect())
    }

    fn task(
        &self,
        place: usize,
        column: Column,
        unit: Nanos,
        width: u64,
    ) -> Result<ForeignTask, ImportError> {
        let mut tally = Tally::new(unit);
        for (&(line, index), count) in self.rows.iter().zip(self.row_counts.column(place)) {
            tally.count(index, count).map_err(|reason| ImportError::line(line, reason))?;
        }
        // Rows without counts are omitted, so the end of the histogram is unknown.
        let beyond = self.rows.last().map_or(0, |(_, index)| index.saturating_add(width));
        let whole = |reason| ImportError::key(format!("CPU {}", column.cpu), reason);
        if let Some(over) = &self.over {
            tally.overflow(beyond, over[place]).map_err(whole)?;
        }
        if let Some((line, counts)) = &self.counts
            && let Some(reported) = counts[place]
            && reported != tally.total()
        {
            let reason = format!(
                "column {} has {reported} wakeups in total, but its rows and `over:` add up to {}",
                place + 1,
                tally.total()
            );
            return Err(ImportError::line(*line, reason));
        }
        let figure =
            |figures: &Option<Vec<Option<u64>>>| figures.as_ref().and_then(|all| all[place]);
        // With wide buckets, the maximum latency may be below the end of its row.
        if let Some(max) = figure(&self.greatest) {
            tally.greatest(max);
        }
        Ok(ForeignTask::whole(Some(column.cpu), tally.finish().map_err(whole)?))
    }
}
