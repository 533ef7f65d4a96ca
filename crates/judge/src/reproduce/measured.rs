//! What a run of a paper's experiment found, by the paper's names.

use std::collections::BTreeMap;

use tactus_explain::{Segment, WitnessedSample};
use tactus_model::run::Run;
use tactus_stats::{CellSummary, LatencyHistogram};

use super::paper::Part;
use super::quantity::{Measure, Statistic, Transfers};

/// Lengths of every measure in every cell, by the paper's names of cells.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    lengths: BTreeMap<(Measure, Transfers, String), LatencyHistogram>,
    set_aside: BTreeMap<String, f64>,
}

impl Measured {
    /// Draws from a run what `part` names; `witnessed` tells of the samples of a cell
    /// that were taken while events were recorded, by the cell's number.
    pub fn of(part: &Part, run: &Run, witnessed: &BTreeMap<usize, Vec<WitnessedSample>>) -> Self {
        let mut measured = Self::default();
        for name in part.cells.keys() {
            let Some(cell) = part.cell_of(name, &run.header.plan.cells) else { continue };
            let measurements: Vec<_> = run.of_cell(cell).collect();
            if !measurements.is_empty() {
                let lengths = CellSummary::pool(&measurements).per_wakeup;
                measured.put(Measure::WakeupLatency, Transfers::Included, name, lengths);
            }
            if let Some(samples) = witnessed.get(&cell) {
                measured.witnessed(name, samples);
            }
        }
        measured
    }

    /// Takes lengths as they are.
    pub fn of_lengths(
        all: impl IntoIterator<Item = (Measure, Transfers, String, LatencyHistogram)>,
    ) -> Self {
        let mut measured = Self::default();
        for (measure, transfers, cell, lengths) in all {
            measured.put(measure, transfers, &cell, lengths);
        }
        measured
    }

    fn put(
        &mut self,
        measure: Measure,
        transfers: Transfers,
        cell: &str,
        lengths: LatencyHistogram,
    ) {
        if !lengths.is_empty() {
            self.lengths.insert((measure, transfers, cell.to_owned()), lengths);
        }
    }

    /// Takes the samples whose interrupt was found: of the others it is not known
    /// when it came.
    fn witnessed(&mut self, cell: &str, samples: &[WitnessedSample]) {
        let timed: Vec<_> =
            samples.iter().filter_map(|sample| Some((sample, sample.segments?))).collect();
        let kept = |transfers: Transfers| {
            timed.iter().filter(move |(sample, _)| match transfers {
                Transfers::Included => true,
                Transfers::Excluded => sample.circumstance.transfer == Some(false),
            })
        };
        for transfers in [Transfers::Included, Transfers::Excluded] {
            let acknowledge =
                kept(transfers).map(|(_, segments)| segments.get(Segment::DueToIrq)).collect();
            self.put(Measure::InterruptAcknowledge, transfers, cell, acknowledge);
            let switch = kept(transfers).map(|(sample, _)| sample.sample.latency()).collect();
            self.put(Measure::ContextSwitch, transfers, cell, switch);
        }
        let told = timed.iter().filter(|(sample, _)| sample.circumstance.transfer.is_some());
        let (all, aside) = told.fold((0_u64, 0_u64), |(all, aside), (sample, _)| {
            (all + 1, aside + u64::from(sample.circumstance.transfer == Some(true)))
        });
        if all > 0 {
            self.set_aside.insert(cell.to_owned(), aside as f64 / all as f64);
        }
    }

    /// The lengths of a measure in a cell; none when there are none.
    pub fn lengths(
        &self,
        measure: Measure,
        transfers: Transfers,
        cell: &str,
    ) -> Option<&LatencyHistogram> {
        self.lengths.get(&(measure, transfers, cell.to_owned()))
    }

    /// The share of a cell's samples that saw a transfer, where that was recorded.
    pub fn set_aside(&self, cell: &str) -> Option<f64> {
        self.set_aside.get(cell).copied()
    }

    /// One figure, in the base unit.
    pub fn figure(
        &self,
        measure: Measure,
        transfers: Transfers,
        cell: &str,
        statistic: Statistic,
    ) -> Option<f64> {
        match statistic {
            Statistic::SetAside => self.set_aside(cell),
            _ => statistic.of(self.lengths(measure, transfers, cell)?),
        }
    }
}
