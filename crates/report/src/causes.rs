//! What delayed the late wakeups of a run, in one line for the worst policy and one for the best.

use tactus_explain::Explanation;
use tactus_model::run::Run;

use crate::explanation::{CellExplanation, main_causes};
use crate::outcome::ranked;
use crate::summary::{cell_results, kind_of};

/// Writes the main causes of the late samples of the worst policy and of the best, in this order; a
/// run of one policy has one line.
///
/// The explanations of a policy's cells are combined. Policies are ranked as in
/// `outcome`.
pub fn causes(run: &Run, explanations: &[CellExplanation]) -> Vec<String> {
    let results = cell_results(run);
    let groups = ranked(&results);
    let noun = kind_of(&results).noun();
    let (best, worst) = (groups.first(), groups.get(1..).and_then(<[_]>::last));
    let line = |(scheduling, labels): &(String, Vec<&str>)| {
        let explained = explanations.iter().filter(|cell| labels.contains(&cell.label.as_str()));
        let explained = explained.map(|cell| cell.explanation.clone()).collect();
        let pooled = Explanation::pool(explained, 0)?;
        Some(format!("Late {noun}s with {scheduling}: {}", main_causes(&pooled)))
    };
    worst.into_iter().chain(best).filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{explanation_fixture, fixture, format};

    /// The line of one recorded cell of which `samples` were traced and none was late.
    fn without_late(samples: u64) -> String {
        let mut cell = explanation_fixture::cells().remove(0);
        cell.label = "idle · fifo:90".to_owned();
        cell.explanation.samples = samples;
        cell.explanation.pareto = tactus_explain::Pareto::default();
        causes(&fixture::quick(), &[cell]).concat()
    }

    #[test]
    fn counts_agree_with_their_words() {
        let plain = |samples| without_late(samples).replace(format::THIN_SPACE, " ");
        assert_eq!(plain(0), "Late wakeups with fifo:90: none was traced.");
        let one = "Late wakeups with fifo:90: the only traced one was not over 100 µs late.";
        assert_eq!(plain(1), one);
        assert_eq!(plain(9), "Late wakeups with fifo:90: none of 9 traced was over 100 µs late.");
    }

    #[test]
    fn the_worst_policy_and_the_best_have_a_line_each() {
        let run = fixture::quick();
        let cells = explanation_fixture::cells();
        let mut late = cells[0].clone();
        late.label = "file:cpus · other".to_owned();
        let mut best = cells[0].clone();
        best.label = "idle · fifo:90".to_owned();
        let lines = causes(&run, &[best, late]);
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[0].starts_with("Late wakeups with other: "), "{lines:?}");
        assert!(lines[1].starts_with("Late wakeups with fifo:90: "), "{lines:?}");
        assert!(lines[0].contains(&format!("{}%", format::THIN_SPACE)), "{lines:?}");
        assert_eq!(causes(&run, &[]), [""; 0], "nothing was recorded");
    }
}
