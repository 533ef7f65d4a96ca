//! How many copies a load has on this machine.

use tactus_model::cpus::CpuChoice;
use tactus_model::load::{Load, LoadPlan};

use crate::error::{During, LoadError};

/// How many copies `plan` asks for, where each processor may count as one.
pub(crate) fn wanted(plan: &LoadPlan) -> Result<u32, LoadError> {
    let cpus = match &plan.cpus {
        CpuChoice::These(cpus) => cpus.len(),
        CpuChoice::All => {
            tactus_sys::affinity::get().during("find the processors that may be used")?.len()
        }
    };
    let cpus = u32::try_from(cpus).unwrap_or(u32::MAX);
    Ok(plan.load.copies.on(cpus).clamp(1, Load::MAX_COPIES))
}
