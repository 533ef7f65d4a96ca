//! The affinity of device interrupts.
//!
//! See the kernel's `Documentation/core-api/irq/irq-affinity.rst`.

use tactus_model::cpus::CpuList;

use super::Tree;

/// The CPUs that receive interrupts with a handler; `None` if no interrupt number is
/// shown.
pub(super) fn cpus(tree: &Tree<'_>) -> Option<CpuList> {
    let interrupts = tree.numbered("proc/irq", "")?;
    let places: Vec<CpuList> = interrupts
        .iter()
        // A directory below the interrupt's directory belongs to its handler.
        .filter(|interrupt| tree.has_directory_in(interrupt))
        .filter_map(|interrupt| {
            let list = |file| tree.value(&format!("{interrupt}/{file}"));
            list("effective_affinity_list").or_else(|| list("smp_affinity_list"))
        })
        .collect();
    let all: CpuList = places.iter().flat_map(CpuList::iter).collect();
    (!all.is_empty()).then_some(all)
}

/// The CPUs to which the kernel assigns new interrupts: a mask of hexadecimal digits, in groups
/// of eight.
pub(super) fn default_cpus(tree: &Tree<'_>) -> Option<CpuList> {
    let mask = tree.words("proc/irq/default_smp_affinity")?;
    let digits = mask.chars().rev().filter(|digit| *digit != ',');
    let bits: Option<Vec<u32>> = digits.map(|digit| digit.to_digit(16)).collect();
    let cpus = (0_u32..).zip(bits?).flat_map(|(place, digit)| {
        (0..4).filter(move |bit| digit >> bit & 1 == 1).map(move |bit| 4 * place + bit)
    });
    Some(cpus.collect())
}
