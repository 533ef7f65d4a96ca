//! Facts of the machine that changed during a run.

use tactus_model::facts::{FactRow, MachineFacts};
use tactus_model::run::{Run, RunHeader};

use crate::finding::{Check, Finding};

pub(crate) const CHANGED: Check = Check {
    name: "machine changed",
    why: "Comparing the cells of a run requires a machine that does not change.",
};

/// A fact that differs later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFact {
    /// Its group, e.g. *Kernel*.
    pub group: &'static str,
    /// Its name.
    pub name: &'static str,
    /// Its value at first.
    pub before: String,
    /// Its later value.
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
    header.facts_after.as_ref().map_or_else(Vec::new, |after| changed(&header.facts_before, after))
}

/// The facts of two moments that show two machines, or one machine before and after a change
/// such as a boot with another kernel.
pub fn other_machine(before: &MachineFacts, after: &MachineFacts) -> Vec<ChangedFact> {
    changed(before, after).into_iter().filter(is_grave).collect()
}

fn is_grave(fact: &ChangedFact) -> bool {
    GRAVE.contains(&(fact.group, fact.name))
}

/// The facts that differ, except those that always change.
fn changed(before: &MachineFacts, after: &MachineFacts) -> Vec<ChangedFact> {
    let after = after.rows();
    let rows = before.rows().into_iter().filter(is_steady);
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
/// file of our program do not describe the machine; the first turn removes what killed runs have
/// left; other recordings have a check of their own.
fn is_steady(row: &FactRow) -> bool {
    row.group != "Load"
        && !["left by killed runs", "other recordings"].contains(&row.name)
        && !row.name.starts_with("program")
        && !row.name.ends_with("directory")
}

pub(super) fn findings(run: &Run) -> Vec<Finding> {
    let (grave, other): (Vec<ChangedFact>, Vec<ChangedFact>) =
        changed_facts(&run.header).into_iter().partition(is_grave);
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

#[cfg(test)]
mod tests {
    use tactus_model::time::Instant;

    use super::*;

    #[test]
    fn only_grave_facts_show_another_machine() {
        let mut before = MachineFacts::unknown(Instant::from_nanos(1));
        before.kernel.release = Some("6.1".to_owned());
        before.cpu.model = Some("a CPU".to_owned());
        before.cpu.governors = Some(vec!["performance".to_owned()]);
        let mut after = before.clone();
        after.taken = Instant::from_nanos(2);
        after.cpu.governors = Some(vec!["powersave".to_owned()]);
        after.kernel.version = Some("known only now".to_owned());
        assert_eq!(other_machine(&before, &after), []);
        after.kernel.release = Some("6.2".to_owned());
        let facts = other_machine(&before, &after);
        let [fact] = &facts[..] else { panic!("{facts:?}") };
        assert_eq!((fact.group, fact.name), ("Kernel", "release"));
        assert_eq!((fact.before.as_str(), fact.after.as_str()), ("6.1", "6.2"));
    }
}
