//! The rows of a histogram that has a column for each thread.

use tactus_model::limits::{HISTOGRAM_COLUMNS, HISTOGRAM_ROWS};

use crate::error::ImportError;

/// Counts in rows of the same width, in one list: a count of two bytes in the file takes eight.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    width: usize,
    rows: usize,
    counts: Vec<u64>,
}

impl Counts {
    /// Adds the counts in a line; the first row determines the width.
    pub(crate) fn add_row(
        &mut self,
        line: usize,
        counts: impl Iterator<Item = Result<u64, ImportError>>,
    ) -> Result<(), ImportError> {
        let before = self.counts.len();
        for count in counts {
            self.counts.push(count?);
            if self.counts.len() - before > HISTOGRAM_COLUMNS {
                return Err(ImportError::beyond(line, HISTOGRAM_COLUMNS, "columns"));
            }
        }
        let found = self.counts.len() - before;
        if found == 0 {
            return Err(ImportError::line(line, "it has a latency but no counts"));
        }
        if self.rows == 0 {
            self.width = found;
        } else if found != self.width {
            let reason = format!("{found} counts, but the first row has {}", self.width);
            return Err(ImportError::line(line, reason));
        }
        self.rows += 1;
        if self.rows > HISTOGRAM_ROWS {
            return Err(ImportError::beyond(line, HISTOGRAM_ROWS, "rows"));
        }
        Ok(())
    }

    /// The number of columns.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// The counts of a column, row by row.
    pub(crate) fn column(&self, column: usize) -> impl Iterator<Item = u64> + '_ {
        self.counts.iter().skip(column).step_by(self.width.max(1)).copied()
    }
}
