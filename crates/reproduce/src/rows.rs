//! Groups of rows, and their headings.

use crate::{Across, Figure, Measure, Row, Statistic, TableFound, View};

impl<'a> Row<'a> {
    /// The heading of a group of such rows: the measure, and the choice of samples if there is
    /// one.
    pub fn head(&self) -> String {
        match self.measure {
            Measure::KernelPath
            | Measure::WakeupLatency
            | Measure::FirstPass
            | Measure::SecondPass
            | Measure::FramesShown
            | Measure::FrameLateness
            | Measure::Drawing
            | Measure::EffectiveQuantum
            | Measure::Billing
            | Measure::SortTime
            | Measure::HandlerTime
            | Measure::OperationCost
            | Measure::FrameTime
            | Measure::BurstDelivery
            | Measure::MessageDelivery
            | Measure::MessageInterval
            | Measure::ExtraDelay
            | Measure::OutputDelay
            | Measure::ReceiverError => self.measure.to_string(),
            Measure::InterruptAcknowledge | Measure::ContextSwitch => {
                format!("{}, {}", self.measure, self.transfers)
            }
        }
    }

    /// The name of the row: its kernel in a comparison of kernels, otherwise its cell.
    pub fn name(&self) -> &'a str {
        self.kernel.unwrap_or(self.cell)
    }

    /// The main figures of the row: for quanta their rate, CPU use and median; for other
    /// durations the median and the maximum; otherwise all but the number of samples.
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
    /// The rows grouped by measure and choice of samples.
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

/// The figures in which kernels are compared.
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
    /// The figures in which the kernels can be compared, without duplicates.
    pub fn compared(&self) -> Vec<Compared> {
        let mut all: Vec<Compared> = Vec::new();
        for compared in self.views.iter().flat_map(|view| &view.rows).map(Compared::of) {
            if !all.contains(&compared) {
                all.push(compared);
            }
        }
        all
    }

    /// The rows that have these figures: a group for each cell, with a row for each kernel. No
    /// group is empty.
    pub fn rows_of(&self, compared: &Compared) -> Vec<Vec<&Row<'a>>> {
        let groups = self.views.iter().map(|view| -> Vec<&Row<'a>> {
            view.rows.iter().filter(|row| Compared::of(row) == *compared).collect()
        });
        groups.filter(|rows| !rows.is_empty()).collect()
    }
}
