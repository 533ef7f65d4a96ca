//! How many copies a load has on this machine.

use tactus_model::cpus::CpuChoice;
use tactus_model::load::{Load, LoadPlan};

use crate::error::{During, LoadError};

/// How many copies `plan` requests of each load that runs side by side. `cpus` copies are
/// one for each CPU of the plan.
pub(crate) fn wanted(plan: &LoadPlan) -> Result<Vec<u32>, LoadError> {
    let cpus = match &plan.cpus {
        CpuChoice::These(cpus) => cpus.len(),
        CpuChoice::All => {
            tactus_sys::affinity::get().during("read the CPUs that may be used")?.len()
        }
    };
    let cpus = u32::try_from(cpus).unwrap_or(u32::MAX);
    let copies: Vec<u32> = plan
        .load
        .parts()
        .iter()
        .map(|part| part.copies.on(cpus).clamp(1, Load::MAX_COPIES))
        .collect();
    let total: u64 = copies.iter().map(|copies| u64::from(*copies)).sum();
    if total > u64::from(Load::MAX_COPIES) {
        let most = Load::MAX_COPIES;
        return Err(LoadError::new(format!("the load {} has {total} copies", plan.load))
            .hint(format!("request at most {most} copies of all loads together")));
    }
    Ok(copies)
}
