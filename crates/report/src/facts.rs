//! What became of the machine's facts during a run.

use tactus_model::facts::FactRow;
use tactus_model::run::RunHeader;

/// A fact that was another after the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChangedFact {
    pub(crate) group: &'static str,
    pub(crate) name: &'static str,
    pub(crate) before: String,
    pub(crate) after: String,
}

/// The facts that differ, without the load averages and the like, which always do.
pub(crate) fn changed_facts(header: &RunHeader) -> Vec<ChangedFact> {
    let Some(after) = &header.facts_after else { return Vec::new() };
    let steady = |row: &FactRow| row.group != "Load";
    let after: Vec<FactRow> = after.rows();
    header
        .facts_before
        .rows()
        .into_iter()
        .filter(steady)
        .filter_map(|before| {
            let now =
                after.iter().find(|row| row.group == before.group && row.name == before.name)?;
            (now.value != before.value).then(|| ChangedFact {
                group: before.group,
                name: before.name,
                before: before.value.clone(),
                after: now.value.clone(),
            })
        })
        .collect()
}
