//! Rows that belong together, and what stands over them.

use crate::{Across, Figure, Measure, Row, Statistic, TableFound, View};

impl<'a> Row<'a> {
    /// What stands over a group of such rows: the measure, and the choice of samples where
    /// there is one.
    pub fn head(&self) -> String {
        match self.measure {
            Measure::WakeupLatency
            | Measure::FramesShown
            | Measure::EffectiveQuantum
            | Measure::Billing
            | Measure::SortTime => self.measure.to_string(),
            Measure::InterruptAcknowledge | Measure::ContextSwitch => {
                format!("{}, {}", self.measure, self.transfers)
            }
        }
    }

    /// What the row is called among its like: its kernel where kernels stand beside each
    /// other, else its cell.
    pub fn name(&self) -> &'a str {
        self.kernel.unwrap_or(self.cell)
    }

    /// The few figures that stand for the row: how many quanta there are and what they use,
    /// median and greatest of other lengths, else all but how many samples there are.
    pub fn representative(&self) -> Vec<&Figure> {
        let of = |wanted: &[Statistic]| -> Vec<&Figure> {
            self.figures.iter().filter(|figure| wanted.contains(&figure.statistic)).collect()
        };
        if self.measure == Measure::EffectiveQuantum {
            return of(&[Statistic::Quanta, Statistic::Use, Statistic::Median]);
        }
        match of(&[Statistic::Median, Statistic::Max]) {
            found if found.len() == 2 => found,
            _ => self
                .figures
                .iter()
                .filter(|figure| figure.statistic != Statistic::Samples)
                .collect(),
        }
    }
}

impl<'a> View<'a> {
    /// The rows in groups of one measure and one choice of samples.
    pub fn groups(&self) -> Vec<Vec<&Row<'a>>> {
        let all: Vec<&Row<'_>> = self.rows.iter().collect();
        let same =
            |a: &&Row<'_>, b: &&Row<'_>| (a.measure, a.transfers) == (b.measure, b.transfers);
        all.chunk_by(same).map(<[_]>::to_vec).collect()
    }
}

impl TableFound<'_> {
    /// The measures of the table, each once, in its order.
    pub fn measures(&self) -> Vec<Measure> {
        let mut measures: Vec<Measure> = self.rows.iter().map(|row| row.measure).collect();
        measures.dedup();
        measures
    }
}

/// What kernels are set beside each other in: some figures of a measure.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// The measure.
    pub measure: Measure,
    /// The figures.
    pub statistics: Vec<Statistic>,
}

impl Compared {
    fn of(row: &Row<'_>) -> Self {
        let statistics = row.representative().iter().map(|figure| figure.statistic).collect();
        Self { measure: row.measure, statistics }
    }
}

impl<'a> Across<'a> {
    /// What the kernels can be set beside each other in, each once.
    pub fn compared(&self) -> Vec<Compared> {
        let mut all: Vec<Compared> = Vec::new();
        for compared in self.views.iter().flat_map(|view| &view.rows).map(Compared::of) {
            if !all.contains(&compared) {
                all.push(compared);
            }
        }
        all
    }

    /// The rows that can be set beside each other in this: a group for each cell, in it a row
    /// for each kernel. No group is empty.
    pub fn rows_of(&self, compared: &Compared) -> Vec<Vec<&Row<'a>>> {
        let groups = self.views.iter().map(|view| -> Vec<&Row<'a>> {
            view.rows.iter().filter(|row| Compared::of(row) == *compared).collect()
        });
        groups.filter(|rows| !rows.is_empty()).collect()
    }
}
