//! What became of the machine's facts during a run.

use tactus_model::facts::FactRow;
use tactus_model::run::{Run, RunHeader};

use crate::finding::{Check, Finding};

pub(crate) const CHANGED: Check = Check {
    name: "machine changed",
    why: "The cells of a run are compared with each other, which takes one machine that stays as it is.",
};

/// A fact that was another after the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFact {
    /// What it is about, as *Kernel*.
    pub group: &'static str,
    /// Its name.
    pub name: &'static str,
    /// Its value before the first turn.
    pub before: String,
    /// Its value after the last.
    pub after: String,
}

/// Facts that make it another machine, or another clock, when they change.
const GRAVE: [(&str, &str); 6] = [
    ("Kernel", "release"),
    ("Kernel", "version"),
    ("Kernel", "command line"),
    ("CPU", "model"),
    ("CPU", "online"),
    ("CPU", "clock source"),
];

/// The facts that differ before and after, without those that always do.
pub fn changed_facts(header: &RunHeader) -> Vec<ChangedFact> {
    let Some(after) = &header.facts_after else { return Vec::new() };
    let after = after.rows();
    let rows = header.facts_before.rows().into_iter().filter(is_steady);
    rows.filter_map(|FactRow { group, name, value: before }| {
        let now = after.iter().find(|row| (row.group, row.name) == (group, name))?;
        // A run that an older version began lacks facts that a newer one knows.
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

/// Whether a fact can be expected to stay: counters grow, and the group of a session
/// and the place of our own program say nothing of the machine.
fn is_steady(row: &FactRow) -> bool {
    row.group != "Load" && row.name != "program" && !row.name.ends_with("directory")
}

pub(super) fn findings(run: &Run) -> Vec<Finding> {
    let (grave, other): (Vec<ChangedFact>, Vec<ChangedFact>) = changed_facts(&run.header)
        .into_iter()
        .partition(|fact| GRAVE.contains(&(fact.group, fact.name)));
    let told = |facts: Vec<ChangedFact>| {
        let each = facts
            .iter()
            .map(|fact| format!("{} ({} before, {} after)", fact.name, fact.before, fact.after));
        Some(each.collect::<Vec<_>>().join("; ")).filter(|text| !text.is_empty())
    };
    let again = "measure again, and leave the machine alone meanwhile".to_owned();
    let grave = told(grave).map(|fact| {
        CHANGED.invalidates(
            fact,
            "Some cells were measured before the change and some after it, so that they do not \
             speak of the same machine.",
        )
    });
    let other = told(other).map(|fact| {
        CHANGED
            .warning(fact, "A difference between cells or rounds may come from this instead.")
    });
    [grave, other].into_iter().flatten().map(|found| found.fixed_by(again.clone())).collect()
}
