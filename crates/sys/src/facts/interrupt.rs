//! Where interrupts of devices go.
//!
//! See the kernel's `Documentation/core-api/irq/irq-affinity.rst`.

use tactus_model::cpus::CpuList;

use super::Tree;

/// The processors to which interrupts go that have a handler; `None` where no
/// number of an interrupt is shown.
pub(super) fn cpus(tree: &Tree<'_>) -> Option<CpuList> {
    let interrupts = tree.numbered("proc/irq", "")?;
    let places: Vec<CpuList> = interrupts
        .iter()
        // A handler's directory stands below its interrupt's.
        .filter(|interrupt| tree.has_directory_in(interrupt))
        .filter_map(|interrupt| {
            let list = |file| tree.value(&format!("{interrupt}/{file}"));
            list("effective_affinity_list").or_else(|| list("smp_affinity_list"))
        })
        .collect();
    let all: CpuList = places.iter().flat_map(CpuList::iter).collect();
    (!all.is_empty()).then_some(all)
}
