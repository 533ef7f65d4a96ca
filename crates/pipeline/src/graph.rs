//! A pipeline with everything that its measurement and its simulation need.

use serde::{Deserialize, Serialize};
use tactus_model::bytes::Bytes;
use tactus_model::cell::Cell;
use tactus_model::cost::CostProbe;
use tactus_model::time::Nanos;

/// A pipeline whose stages name the cells that measure their parts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Graph {
    /// Its name.
    pub name: String,
    /// Its purpose, in a sentence.
    pub about: String,
    /// The time from the due time of a frame to that of the next.
    pub period: Nanos,
    /// How long after its due time a frame may end.
    pub budget: Nanos,
    /// The processes.
    pub processes: Vec<Process>,
    /// The stages; each comes after those that it follows.
    pub stages: Vec<Stage>,
    /// What is measured, each cell once.
    pub cells: Vec<Cell>,
    /// The index of the cell that measures how late a sleeping process wakes.
    pub wake: usize,
}

/// A process that does one or more stages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Its name.
    pub name: String,
    /// Which of the usable CPUs it runs on, counted from 0.
    pub cpu: usize,
}

/// A stage of a frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stage {
    /// Its name.
    pub name: String,
    /// The index of its process.
    pub process: usize,
    /// The stages that it follows; without any, it begins at the due time of the frame.
    pub after: Vec<Link>,
    /// The indices of the cells that measure its operations, in order.
    pub steps: Vec<usize>,
}

/// A stage that another one follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// The index of the earlier stage.
    pub from: usize,
    /// The index of the cell that measures the hand-over; `None` within a process.
    pub by: Option<usize>,
    /// That of the cell that measures it to a CPU that worked shortly before; `None` if no earlier
    /// stage of a frame has that CPU.
    pub after_work: Option<usize>,
}

/// A part of a frame's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// From the due time until the process of this stage runs.
    Wake(usize),
    /// From the end of a stage until the process of a following one runs.
    HandOver {
        /// The earlier stage.
        from: usize,
        /// The stage that follows.
        to: usize,
    },
    /// The operations of this stage.
    Work(usize),
}

/// The indices of a stage's parts in [`Graph::parts`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PartsOfStage {
    pub(crate) wake: Option<usize>,
    /// For each of the stages that it follows.
    pub(crate) hand_overs: Vec<Option<usize>>,
    pub(crate) work: usize,
}

impl Graph {
    /// The parts of a frame's time, in the order of the stages.
    pub fn parts(&self) -> Vec<Part> {
        let mut parts = Vec::new();
        for (number, stage) in self.stages.iter().enumerate() {
            if stage.after.is_empty() {
                parts.push(Part::Wake(number));
            }
            let handed = stage.after.iter().filter(|link| link.by.is_some());
            parts.extend(handed.map(|link| Part::HandOver { from: link.from, to: number }));
            parts.push(Part::Work(number));
        }
        parts
    }

    /// The same indices by stage.
    pub(crate) fn layout(&self) -> Vec<PartsOfStage> {
        let mut next = 0..;
        let mut take = || next.next().unwrap_or_default();
        let of_stage = |stage: &Stage| PartsOfStage {
            wake: stage.after.is_empty().then(&mut take),
            hand_overs: stage.after.iter().map(|link| link.by.map(|_| take())).collect(),
            work: take(),
        };
        self.stages.iter().map(of_stage).collect()
    }

    /// The cells whose durations add up to a part.
    pub fn cells_of(&self, part: Part) -> Vec<usize> {
        match part {
            Part::Wake(_) => vec![self.wake],
            Part::HandOver { from, to } => {
                self.link(from, to).and_then(|link| link.by).into_iter().collect()
            }
            Part::Work(stage) => self.stages[stage].steps.clone(),
        }
    }

    /// The cell that measures a part on a CPU that worked shortly before, if it is measured.
    pub(crate) fn cell_after_work(&self, part: Part) -> Option<usize> {
        match part {
            Part::HandOver { from, to } => self.link(from, to)?.after_work,
            Part::Wake(_) | Part::Work(_) => None,
        }
    }

    fn link(&self, from: usize, to: usize) -> Option<&Link> {
        self.stages[to].after.iter().find(|link| link.from == from)
    }

    /// The name of a part: `wake-up of sensor`, `sensor to control`, `control`.
    pub fn name_of(&self, part: Part) -> String {
        let name = |stage: usize| &self.stages[stage].name;
        match part {
            Part::Wake(stage) => format!("wake-up of {}", name(stage)),
            Part::HandOver { from, to } => format!("{} to {}", name(from), name(to)),
            Part::Work(stage) => name(stage).clone(),
        }
    }

    /// The number of CPUs that it needs.
    pub fn cpus(&self) -> usize {
        self.processes.iter().map(|process| process.cpu + 1).max().unwrap_or(1)
    }

    /// The memory that the operations of a stage take.
    pub fn memory_of(&self, stage: &Stage) -> Bytes {
        let operations = stage.steps.iter().filter_map(|cell| self.operation(*cell));
        let bytes = operations.map(|cost| cost.memory().get());
        Bytes::new(bytes.fold(0, u64::saturating_add))
    }

    /// The operation that a cell measures; `None` for the cell of the wake-up.
    pub fn operation(&self, cell: usize) -> Option<&CostProbe> {
        self.cells.get(cell)?.probe.cost()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn the_parts_of_a_stage_are_found_by_their_index() {
        let graph = fixture::fork();
        let parts = graph.parts();
        for (number, of_stage) in graph.layout().into_iter().enumerate() {
            assert_eq!(parts[of_stage.work], Part::Work(number));
            assert!(of_stage.wake.is_none_or(|wake| parts[wake] == Part::Wake(number)));
            let stage = &graph.stages[number];
            for (link, part) in stage.after.iter().zip(of_stage.hand_overs) {
                let from = link.from;
                let there = part.map(|part| parts[part]);
                assert_eq!(there, link.by.map(|_| Part::HandOver { from, to: number }));
            }
        }
    }
}
