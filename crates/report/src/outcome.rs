//! The headline: how late the best policy was, under which load, and which cell had the worst
//! wakeup.

use std::collections::BTreeSet;

use tactus_model::cell::Cell;
use tactus_model::label::differing_settings;
use tactus_model::origin::Origin;
use tactus_model::run::Run;
use tactus_model::sample_kind::SampleKind;
use tactus_model::time::Nanos;
use tactus_stats::costs::{CostRow, RunCosts};
use tactus_stats::frames::PlayerSummary;

use crate::costs;
use crate::format;
use crate::summary::{CellResult, cell_results, kind_of};
use crate::table::TableOptions;
use crate::wrap::wrapped;

/// The shares that the headline may name, the rarest first.
const SHARES: [f64; 2] = [0.999, 0.99];

/// The headline names a share only if every cell has at least this many samples beyond it.
const BEYOND: f64 = 10.0;

/// The cells of one scheduling policy, or of one kernel.
struct Group<'a, 'r> {
    name: String,
    cells: Vec<&'a CellResult<'r>>,
}

impl Group<'_, '_> {
    /// The latency that a share of the due times did not exceed in any cell.
    fn within(&self, share: f64) -> Nanos {
        self.cells.iter().filter_map(|cell| cell.by_schedule(share)).max().unwrap_or_default()
    }

    fn max(&self) -> Nanos {
        self.cells.iter().filter_map(|cell| cell.max()).max().unwrap_or_default()
    }
}

/// Summarizes a run in a sentence, computed from the run alone.
///
/// Latencies are by the *intended schedule*: a missed due time counts as late. The sentence names a
/// share only if every cell has enough samples for it. `tactus_judge::verdict` decides whether the
/// figures are valid.
pub fn outcome(run: &Run) -> String {
    of_results(run, &cell_results(run))
}

/// The same, broken into lines.
pub fn outcome_text(run: &Run, options: &TableOptions) -> String {
    wrapped(&outcome(run), "", options.width)
}

pub(crate) fn of_results(run: &Run, results: &[CellResult<'_>]) -> String {
    let Some(worst) = results.iter().max_by_key(|result| result.max()) else {
        // The verdict says why.
        return "Nothing was measured.".to_owned();
    };
    if let Some(origin) = &run.header.origin {
        return imported(origin, worst, results);
    }
    // A gate has cells that sort beside those that wake up; one figure cannot be of both.
    let is_wakeup = |result: &CellResult<'_>| SampleKind::of(result.cell) == SampleKind::Wakeup;
    let is_guest = |result: &CellResult<'_>| result.cell.target.guest().is_some();
    let wakeups = results.iter().filter(|result| is_wakeup(result)).count();
    if results.iter().any(is_guest) && (1..results.len()).contains(&wakeups) {
        let wakeups: Vec<_> = cell_results(run).into_iter().filter(is_wakeup).collect();
        return of_results(run, &wakeups);
    }
    if let Some(sentence) = of_players(results).or_else(|| of_operations(run, results)) {
        return sentence;
    }
    let groups = subjects(results);
    let where_measured = where_measured(results);
    let sentence = match named_share(results) {
        Some(share) => with_share(&groups, worst, share, &where_measured, results),
        None => without_share(worst, results),
    };
    refused(results).map_or_else(|| sentence.clone(), |refused| format!("{refused} {sentence}"))
}

/// Which policies were refused, and which the figures are for; `None` if all were granted.
fn refused(results: &[CellResult<'_>]) -> Option<String> {
    let pairs: BTreeSet<(String, String)> = results
        .iter()
        .filter_map(|result| {
            let asked = result.cell.policy.scheduling;
            let granted = result.granted().filter(|granted| *granted != asked)?;
            Some((granted.to_string(), asked.to_string()))
        })
        .collect();
    let pairs: Vec<(String, String)> = pairs.into_iter().collect();
    let sentences = pairs.chunk_by(|a, b| a.0 == b.0).map(|pairs| {
        let asked: Vec<&str> = pairs.iter().map(|(_, asked)| asked.as_str()).collect();
        let (verb, whose) = if asked.len() == 1 { ("was", "its") } else { ("were", "their") };
        let granted = &pairs[0].0;
        let all = results.iter().all(|result| {
            result.granted().is_some_and(|scheduling| scheduling.to_string() == *granted)
        });
        let effect = match results.len() {
            2 if all => format!("both cells ran as {granted}"),
            cells if all && cells > 2 => format!("all {cells} cells ran as {granted}"),
            _ => format!("{whose} figures are for {granted}"),
        };
        format!("{} {verb} refused: {effect}.", asked.join(" and "))
    });
    let sentences: Vec<String> = sentences.collect();
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

/// The headline of a run that another program measured. Its policy and load are not known well
/// enough to attribute the figures to them.
fn imported(origin: &Origin, worst: &CellResult<'_>, results: &[CellResult<'_>]) -> String {
    let observed: u64 = results.iter().map(|result| result.accounting().observed).sum();
    let kind = kind_of(results);
    let share = named_share(results).map_or(String::new(), |share| {
        let slowest = results.iter().max_by_key(|result| result.per_wakeup(share));
        slowest.map_or(String::new(), |slowest| {
            let most = format!("at most {}", slowest.latency_text(slowest.per_wakeup(share)));
            let share = format::percentile(share);
            let which = if results.len() > 1 { "in every cell, " } else { "" };
            format!("{which}{share} of the {}s {}; ", kind.noun(), kind.were(&most))
        })
    });
    let place = if results.len() > 1 { format!(", in {}", worst.label) } else { String::new() };
    format!(
        "Measured by {}: {share}the worst of {} {}{place}.",
        origin.program(),
        format::counted(observed, kind.noun()),
        kind.was(&worst.latency_text(worst.max())),
    )
}

/// The headline of a run whose cells are all players; `None` for other runs.
fn of_players(results: &[CellResult<'_>]) -> Option<String> {
    let players: Vec<(&CellResult<'_>, PlayerSummary)> =
        results.iter().map(|result| Some((result, result.players()?))).collect::<Option<_>>()?;
    let loss = |players: &PlayerSummary| 1.0 - players.achieved / players.desired;
    let (worst, lost) = players.iter().max_by(|a, b| loss(&a.1).total_cmp(&loss(&b.1)))?;
    let kept = players.iter().filter(|(_, players)| loss(players) < RATE_KEPT).count();
    let off = |players: &PlayerSummary| (players.achieved - players.expected).abs();
    let (_, apart) = players.iter().max_by(|a, b| off(&a.1).total_cmp(&off(&b.1)))?;
    let several = match players.len() {
        1 => String::new(),
        _ => format!(
            "{kept} of {} achieved the desired frame rate to within 1{}%; in the worst cell, {}, ",
            format::counted(players.len() as u64, "cell"),
            format::THIN_SPACE,
            worst.label
        ),
    };
    Some(format!(
        "{several}{:.2} of {:.2} frames per second were shown. The rates shown differ from those expected \
         from the ticks alone by at most {:.2} frames per second.",
        lost.achieved,
        lost.desired,
        off(apart)
    ))
}

/// The headline of a run whose cells are all operations; `None` for other runs.
fn of_operations(run: &Run, results: &[CellResult<'_>]) -> Option<String> {
    if !results.iter().all(CellResult::is_operation) {
        return None;
    }
    let mut rows = RunCosts::of(run).rows;
    rows.sort_by(|a, b| a.cost.typical_ns.total_cmp(&b.cost.typical_ns));
    let (least, most) = (rows.first()?, rows.last()?);
    let refused = refused(results).map_or_else(String::new, |refused| format!("{refused} "));
    if rows.len() == 1 {
        let operation = least.operation()?;
        let typical = format::fine_latency(least.cost.typical_ns);
        let p99 = least.cost.p99_ns.map_or_else(String::new, |p99| {
            format!(
                "; 99{}% of the samples took at most {} each",
                format::THIN_SPACE,
                format::fine_latency(p99)
            )
        });
        return Some(format!(
            "{refused}{} {} of {operation} costs {typical}{p99}.",
            article(least.unit),
            least.unit
        ));
    }
    let named = |row: &CostRow| {
        format!(
            "{} ({}, {} {})",
            format::fine_latency(row.cost.typical_ns),
            costs::name(run, row),
            article(row.unit).to_lowercase(),
            row.unit
        )
    };
    Some(format!("{refused}Operations cost from {} to {}.", named(least), named(most)))
}

/// The article at the beginning of a sentence for a noun: images and others begin with a vowel.
fn article(noun: &str) -> &'static str {
    if noun.starts_with(['a', 'e', 'i', 'o', 'u']) { "An" } else { "A" }
}

/// A player that loses no more than this share of its frames counts as keeping its rate.
const RATE_KEPT: f64 = 0.01;

fn with_share(
    groups: &[Group<'_, '_>],
    worst: &CellResult<'_>,
    share: f64,
    where_measured: &str,
    results: &[CellResult<'_>],
) -> String {
    let kind = kind_of(results);
    let mut ordered: Vec<&Group<'_, '_>> = groups.iter().collect();
    ordered.sort_by_key(|group| (group.within(share), group.max()));
    let (Some(best), rest) = (ordered.first(), ordered.get(1..).unwrap_or_default()) else {
        return String::new();
    };
    let (within, percentile) = (format::latency(best.within(share)), format::percentile(share));
    let best_served = match kind.is_due() {
        true => format!("{} served {percentile} of the due times within {within}", best.name),
        false => format!(
            "{percentile} of the {}s with {} {}",
            kind.noun(),
            best.name,
            kind.were(&format!("at most {within}"))
        ),
    };
    let other_served = match rest {
        [other] => {
            let within = format::latency(other.within(share));
            match kind.is_due() {
                true => format!(", {} within {within}", other.name),
                false => format!(", with {} at most {within}", other.name),
            }
        }
        _ => String::new(),
    };
    let max = format::latency_or_nothing(worst.max());
    let tail = match results {
        [_] => {
            let all = format::counted(worst.accounting().observed, kind.noun());
            format!("the worst of {all} {}", kind.was(&max))
        }
        _ => {
            let place = place(worst, several_policies(results), kernel_of(worst, results));
            format!("the worst {}, {max}, was {place}", kind.noun())
        }
    };
    format!("{where_measured}, {best_served}{other_served}; {tail}.")
}

/// The headline of a run too short to name a share: only its maximum latency.
fn without_share(worst: &CellResult<'_>, results: &[CellResult<'_>]) -> String {
    let observed: u64 = results.iter().map(|result| result.accounting().observed).sum();
    if observed == 0 {
        let noun = kind_of(results).noun();
        return format!("Nothing was observed: no {noun} fell into any window.");
    }
    format!(
        "The worst of {} {}, {}.",
        format::counted(observed, kind_of(results).noun()),
        SampleKind::of(worst.cell).was(&format::latency_or_nothing(worst.max())),
        place(worst, true, kernel_of(worst, results))
    )
}

/// The rarest share for which every cell has enough samples.
pub(crate) fn named_share(results: &[CellResult<'_>]) -> Option<f64> {
    let fewest = results.iter().map(|result| result.summary.by_schedule.count()).min()?;
    // 1 − 0.999 is not exact in binary; rounding error must not decide.
    SHARES.into_iter().find(|share| (1.0 - share) * fewest as f64 >= BEYOND - 1e-6)
}

/// What the headline compares: policies, or the kernels of guests if these differ.
fn subjects<'a, 'r>(results: &'a [CellResult<'r>]) -> Vec<Group<'a, 'r>> {
    let several_policies = several_policies(results);
    groups(results, |result| match kernel_of(result, results) {
        Some(kernel) if several_policies => {
            format!("{kernel} with {}", result.scheduling_in_words())
        }
        Some(kernel) => kernel,
        None => result.scheduling_in_words(),
    })
}

fn policies<'a, 'r>(results: &'a [CellResult<'r>]) -> Vec<Group<'a, 'r>> {
    groups(results, CellResult::scheduling_in_words)
}

fn several_policies(results: &[CellResult<'_>]) -> bool {
    policies(results).len() > 1
}

/// The kernel of the guest of a cell, if the cells differ by it.
fn kernel_of(result: &CellResult<'_>, results: &[CellResult<'_>]) -> Option<String> {
    let kernel = |result: &CellResult<'_>| Some(&result.cell.target.guest()?.kernel).cloned();
    let differ = results.iter().any(|other| kernel(other) != kernel(result));
    kernel(result).filter(|_| differ).map(|kernel| kernel.to_string())
}

fn groups<'a, 'r>(
    results: &'a [CellResult<'r>],
    name_of: impl Fn(&CellResult<'r>) -> String,
) -> Vec<Group<'a, 'r>> {
    let mut groups: Vec<Group<'a, 'r>> = Vec::new();
    for result in results {
        let name = name_of(result);
        match groups.iter_mut().find(|group| group.name == name) {
            Some(group) => group.cells.push(result),
            None => groups.push(Group { name, cells: vec![result] }),
        }
    }
    groups
}

/// The names of the cells with the greatest latency of each policy.
pub(crate) fn worst_of_policies<'a>(results: &'a [CellResult<'_>]) -> Vec<&'a str> {
    let worst = |group: Group<'a, '_>| group.cells.into_iter().max_by_key(|cell| cell.max());
    policies(results).into_iter().filter_map(worst).map(|cell| cell.label.as_str()).collect()
}

/// The policies from the best to the worst, each with the names of its cells.
pub(crate) fn ranked<'a>(results: &'a [CellResult<'_>]) -> Vec<(String, Vec<&'a str>)> {
    let share = named_share(results);
    let mut groups = policies(results);
    groups.sort_by_key(|group| (share.map(|share| group.within(share)), group.max()));
    let named = groups.into_iter().map(|Group { name, cells }| {
        (name, cells.into_iter().map(|cell| cell.label.as_str()).collect())
    });
    named.collect()
}

/// The settings that the headline compares.
const SUBJECTS: [&str; 2] = ["policy", "kernel"];

/// What the cells have in common, as the beginning of a sentence.
fn where_measured(results: &[CellResult<'_>]) -> String {
    let cells: Vec<Cell> = results.iter().map(|result| result.cell.clone()).collect();
    let varied: BTreeSet<&str> =
        differing_settings(&cells).into_iter().filter(|name| !SUBJECTS.contains(name)).collect();
    let names: Vec<&str> = varied.into_iter().collect();
    let is_idle = |cell: &Cell| cell.load.load.is_idle();
    match (names.as_slice(), cells.first()) {
        // Other programs may keep the machine busy, so it is not called idle.
        ([], Some(cell)) if is_idle(cell) => "Without load".to_owned(),
        ([], Some(cell)) => format!("Under {}", cell.load.load),
        (["load"], _) if cells.iter().any(is_idle) => "With and without load".to_owned(),
        (["load"], _) => "Under every load".to_owned(),
        _ => "In every cell".to_owned(),
    }
}

/// The load, policy and kernel of a cell: `under file with other`.
fn place(result: &CellResult<'_>, name_scheduling: bool, kernel: Option<String>) -> String {
    let scheduling = result.scheduling_in_words();
    let place = match (result.cell.load.load.is_idle(), name_scheduling) {
        (true, true) => format!("with {scheduling} and no load"),
        (true, false) => "without load".to_owned(),
        (false, true) => format!("under {} with {scheduling}", result.cell.load.load),
        (false, false) => format!("under {}", result.cell.load.load),
    };
    kernel.map_or_else(|| place.clone(), |kernel| format!("{place} in {kernel}"))
}

#[cfg(test)]
mod tests {
    use tactus_model::policy::Scheduling;
    use tactus_model::result::Batch;

    use super::*;
    use crate::fixture;

    fn small(settings: &str, rounds: u32) -> Run {
        let text = format!("name = \"small\"\nrounds = {rounds}\n[settings]\n{settings}\n");
        let duration = if text.contains("duration") { "" } else { "duration = \"3s\"\n" };
        fixture::run(&(text + duration), 5)
    }

    fn plain(text: &str) -> String {
        text.replace(format::THIN_SPACE, " ")
    }

    fn check(run: &Run, expected: &str) {
        assert_eq!(plain(&outcome(run)), expected);
    }

    #[test]
    fn two_policies_under_several_loads() {
        check(
            &fixture::quick(),
            "With and without load, fifo:90 served 99.9 % of the due times within 240 µs, other within \
             15.9 ms; the worst wakeup, 25.9 ms, was under file:cpus with other.",
        );
    }

    #[test]
    fn a_single_cell() {
        let run = small("policy = \"fifo:90\"", 2);
        let [cell] = &cell_results(&run)[..] else { panic!("one cell is planned") };
        let max = plain(&format::latency_or_nothing(cell.max()));
        let within = plain(&format::latency_or_nothing(cell.by_schedule(0.999)));
        check(
            &run,
            &format!(
                "Without load, fifo:90 served 99.9 % of the due times within {within}; \
                 the worst of 12 000 wakeups was {max} late."
            ),
        );
    }

    #[test]
    fn several_settings_that_vary() {
        let settings =
            "interval = [\"1ms\", \"2ms\"]\nload = [\"idle\", \"file\"]\npolicy = \"rr:1\"";
        let sentence = outcome(&small(settings, 2));
        assert!(sentence.starts_with("In every cell, rr:1 served"), "{sentence}");
    }

    #[test]
    fn guests_are_compared_by_their_kernels() {
        let kernels = "kernel = [\"debian-rt\", \"debian:preempt=none\"]\nload = \"process:2\"";
        let sentence = plain(&outcome(&small(&format!("{kernels}\npolicy = \"fifo:80\""), 2)));
        assert!(sentence.starts_with("Under process:2, debian"), "{sentence}");
        assert!(sentence.contains(" within ") && sentence.contains(", debian"), "{sentence}");
        assert!(sentence.contains(" was under process:2 in debian"), "{sentence}");
        let mixed = format!("{kernels}\npolicy = \"fifo:80\"\nprobe = [\"timer\", \"sort\"]");
        let sentence = plain(&outcome(&small(&mixed, 2)));
        assert!(sentence.contains(" of the due times "), "sorts are left out: {sentence}");
        let both = format!("{kernels}\npolicy = [\"other\", \"fifo:80\"]");
        let sentence = plain(&outcome(&small(&both, 2)));
        assert!(sentence.starts_with("Under process:2, debian"), "{sentence}");
        assert!(
            sentence.contains(" with fifo:80 served ") || sentence.contains(" with other served ")
        );
    }

    #[test]
    fn too_few_samples_name_no_share() {
        let sentence = plain(&outcome(&small("duration = \"60ms\"\npolicy = \"fifo:90\"", 2)));
        assert!(sentence.starts_with("The worst of 240 wakeups was "), "{sentence}");
        assert!(!sentence.contains('%'), "{sentence}");
    }

    #[test]
    fn loads_without_an_idle_cell_and_a_worst_cell_without_load() {
        let sentence = outcome(&small("load = [\"compute\", \"file\"]\npolicy = \"rr:1\"", 2));
        assert!(sentence.starts_with("Under every load, rr:1 served"), "{sentence}");
        let sentence = plain(&outcome(&small("duration = \"60ms\"", 2)));
        assert!(sentence.ends_with(" late, with other and no load."), "{sentence}");
    }

    #[test]
    fn a_sort_is_called_a_sort() {
        let sentence = plain(&outcome(&small("probe = \"sort\"\nnumbers = [64, 128]", 2)));
        assert!(
            sentence.starts_with("In every cell, 99.9 % of the sorts with other took at most ")
                && sentence.contains("; the worst sort, "),
            "{sentence}"
        );
        let sentence = plain(&outcome(&small("probe = \"sort\"\nduration = \"60ms\"", 1)));
        assert!(sentence.contains(" sorts took "), "{sentence}");
    }

    #[test]
    fn operations_have_a_cost_instead_of_a_lateness() {
        let of = |operations: &str| {
            let mut run = small(&format!("probe = \"cost\"\noperation = {operations}"), 3);
            for measurement in &mut run.measurements {
                let median = Nanos::from_nanos(12_800 * (measurement.turn.cell as u64 + 1));
                let batch = Batch { count: 100, median, ..Batch::default() };
                measurement.cost.clock_read_ns = 0.0;
                measurement.tasks.iter_mut().for_each(|task| task.batches = vec![batch; 20]);
            }
            plain(&outcome(&run))
        };
        let one = of("\"getppid\"");
        assert_eq!((article("image"), article("round trip")), ("An", "A"));
        assert!(one.starts_with("A call of getppid costs 100 ns; 99 % of the samples "), "{one}");
        assert_eq!(
            of("[\"getppid\", \"read-byte\"]"),
            "Operations cost from 100 ns (getppid, a call) to 200 ns (read-byte, a call)."
        );
    }

    #[test]
    fn nothing_measured() {
        let mut run = fixture::quick();
        run.measurements.clear();
        check(&run, "Nothing was measured.");
    }

    #[test]
    fn nothing_observed() {
        let mut run = small("policy = \"fifo:90\"", 1);
        run.measurements[0].tasks.clear();
        check(&run, "Nothing was observed: no wakeup fell into any window.");
    }

    #[test]
    fn a_policy_that_was_refused_gets_no_credit() {
        let mut run = small("policy = \"fifo:90\"", 1);
        for task in run.measurements.iter_mut().flat_map(|measurement| &mut measurement.tasks) {
            task.granted.scheduling = Scheduling::ORDINARY;
        }
        let sentence = outcome(&run);
        let expected =
            "fifo:90 was refused: its figures are for other. Without load, other served ";
        assert!(sentence.starts_with(expected), "{sentence}");
    }
}
