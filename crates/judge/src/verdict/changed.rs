//! Facts of the machine that changed during a run.

use tactus_model::facts::FactRow;
use tactus_model::run::{Run, RunHeader};

use crate::finding::{Check, Finding};

pub(crate) const CHANGED: Check = Check {
    name: "machine changed",
    why: "Comparing the cells of a run requires a machine that does not change.",
};

/// A fact that differs after the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFact {
    /// Its group, e.g. *Kernel*.
    pub group: &'static str,
    /// Its name.
    pub name: &'static str,
    /// Its value before the first turn.
    pub before: String,
    /// Its value after the last.
    pub after: String,
}

/// Facts whose change means another machine or another clock.
const GRAVE: [(&str, &str); 6] = [
    ("Kernel", "release"),
    ("Kernel", "version"),
    ("Kernel", "command line"),
    ("CPU", "model"),
    ("CPU", "online"),
    ("CPU", "clock source"),
];

/// The facts that differ before and after the run, except those that always change.
pub fn changed_facts(header: &RunHeader) -> Vec<ChangedFact> {
    let Some(after) = &header.facts_after else { return Vec::new() };
    let after = after.rows();
    let rows = header.facts_before.rows().into_iter().filter(is_steady);
    rows.filter_map(|FactRow { group, name, value: before }| {
        let now = after.iter().find(|row| (row.group, row.name) == (group, name))?;
        // A run that an older version started lacks facts that a newer version reads.
        let known = before != FactRow::UNKNOWN && now.value != FactRow::UNKNOWN;
        (known && now.value != before).then(|| ChangedFact {
            group,
            name,
            before,
            after: now.value.clone(),
        })
    })
    .collect()
}

/// Whether a fact should stay the same. Counters grow; the cgroup of a session and the
/// path of our program do not describe the machine; the first turn removes what killed runs have
/// left.
fn is_steady(row: &FactRow) -> bool {
    row.group != "Load"
        && !["program", "left by killed runs"].contains(&row.name)
        && !row.name.ends_with("directory")
}

pub(super) fn findings(run: &Run) -> Vec<Finding> {
    let (grave, other): (Vec<ChangedFact>, Vec<ChangedFact>) = changed_facts(&run.header)
        .into_iter()
        .partition(|fact| GRAVE.contains(&(fact.group, fact.name)));
    let list = |facts: Vec<ChangedFact>| {
        let each = facts
            .iter()
            .map(|fact| format!("{} ({} before, {} after)", fact.name, fact.before, fact.after));
        Some(each.collect::<Vec<_>>().join("; ")).filter(|text| !text.is_empty())
    };
    let again = "measure again without changing the machine".to_owned();
    let grave = list(grave).map(|fact| {
        CHANGED.invalidates(
            fact,
            "Some cells were measured before the change and some after it, so they do not \
             describe the same machine.",
        )
    });
    let other = list(other).map(|fact| {
        CHANGED.warning(fact, "This change may cause differences between cells or rounds.")
    });
    [grave, other].into_iter().flatten().map(|found| found.fixed_by(again.clone())).collect()
}
