//! EDF on several CPUs between which jobs may migrate.

use crate::{Ratio, Task};

/// What the density bound compares: the left side may be at most the number of CPUs.
#[derive(Clone, Copy, Debug)]
pub struct DensityBound {
    /// The sum of densities.
    pub total: Ratio,
    /// The largest density.
    pub largest: Ratio,
    /// The sum, and the largest density once more for each further CPU.
    pub needed: Ratio,
}

impl DensityBound {
    /// Computes the bound of tasks on `cpus` CPUs: Σλ ≤ m − (m − 1)·λmax.
    ///
    /// J. Goossens, S. Funk and S. Baruah, *Priority-driven scheduling of periodic task systems on
    /// multiprocessors*, Real-Time Systems 25, 2003, Theorem 5; with densities M. Bertogna, M.
    /// Cirinei and G. Lipari, ECRTS 2005, Theorem 2. It is sufficient. It ignores blocking.
    pub fn of(tasks: &[Task], cpus: u64) -> Self {
        let densities = || tasks.iter().map(Task::density);
        let total = densities().fold(Ratio::ZERO, Ratio::plus);
        let largest =
            densities().max_by(|a, b| a.as_f64().total_cmp(&b.as_f64())).unwrap_or(Ratio::ZERO);
        let further = largest.times(Ratio::whole(cpus.saturating_sub(1)));
        Self { total, largest, needed: total.plus(further) }
    }

    /// Whether all deadlines are met on `cpus` CPUs.
    pub fn holds(&self, cpus: u64) -> bool {
        self.largest.is_at_most(1) && self.needed.is_at_most(cpus)
    }
}

#[cfg(test)]
mod tests {
    use tactus_model::time::Nanos;

    use super::*;

    fn check(shapes: &[(u64, u64)], cpus: u64, expected: bool) {
        let task = |&(cost, period): &(u64, u64)| {
            Task::new("task", Nanos::from_millis(cost), Nanos::from_millis(period)).unwrap()
        };
        let tasks: Vec<Task> = shapes.iter().map(task).collect();
        assert_eq!(DensityBound::of(&tasks, cpus).holds(cpus), expected, "{shapes:?}");
    }

    #[test]
    fn one_heavy_task_costs_a_cpu() {
        // Dhall's effect: a full task leaves no guarantee for others, however small.
        check(&[(10, 10), (1, 100), (1, 100)], 2, false);
        // Goossens, Funk and Baruah: m tasks of 1/2 and one more fit exactly.
        check(&[(1, 2), (1, 2), (1, 2)], 2, true);
        check(&[(1, 2), (1, 2), (1, 2), (1, 1000)], 2, false);
        check(&[(10, 10)], 1, true);
    }
}
