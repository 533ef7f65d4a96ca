//! The clock interrupts that a cell adds to those of its CPUs.

use tactus_model::cell::Cell;
use tactus_model::cpus::CpuChoice;
use tactus_model::result::Shortfall;
use tactus_model::time::Nanos;
use tactus_permission::{Asked, Diagnosis};
use tactus_prepare::diagnose_here;
use tactus_sys::perf::ExtraInterrupts;
use tactus_sys::{SysError, affinity};

/// Starts what `cell` requests, on each of its CPUs; nothing without a request. They end when they
/// are dropped, and with this process.
pub(super) fn start(cell: &Cell) -> (Vec<ExtraInterrupts>, Option<Shortfall>) {
    match all(cell) {
        Ok(started) => (started, None),
        Err(error) => (Vec::new(), Some(refused(cell, error))),
    }
}

fn all(cell: &Cell) -> Result<Vec<ExtraInterrupts>, SysError> {
    let Some(period) = 1_000_000_000_u64.checked_div(cell.extra_interrupts.into()) else {
        return Ok(Vec::new());
    };
    let cpus = match &cell.policy.cpus {
        CpuChoice::All => affinity::get()?,
        CpuChoice::These(cpus) => cpus.clone(),
    };
    cpus.iter().map(|cpu| ExtraInterrupts::start(cpu, Nanos::from_nanos(period))).collect()
}

fn refused(cell: &Cell, error: SysError) -> Shortfall {
    let Diagnosis { reason, fix } = diagnose_here(&Asked::KernelEvents, error.errno);
    Shortfall {
        asked: format!("extra-interrupts {}", cell.extra_interrupts),
        granted: "extra-interrupts 0".to_owned(),
        reason,
        fix,
    }
}

#[cfg(test)]
mod tests {
    use tactus_model::experiment::{Experiment, Overrides};
    use tactus_testing::{Need, require};

    use super::*;

    fn cell(settings: &str) -> Cell {
        let experiment = Experiment::parse(&format!("[settings]\n{settings}")).unwrap();
        experiment.plan(&Overrides::default()).unwrap().cells.remove(0)
    }

    #[test]
    fn each_cpu_gets_its_own_and_without_a_request_none() {
        let (none, shortfall) = start(&cell(""));
        assert!(none.is_empty() && shortfall.is_none());
        let (started, shortfall) = start(&cell("extra-interrupts = 1000"));
        let result = shortfall.map_or(Ok(started), |shortfall| Err(shortfall.reason));
        let Some(started) = require(Need::Perf, result) else { return };
        assert_eq!(started.len(), affinity::get().unwrap().len());
    }

    #[test]
    fn a_cpu_that_is_not_there_is_a_shortfall() {
        let (none, shortfall) = start(&cell("extra-interrupts = 1000\ncpus = \"4095\""));
        assert!(none.is_empty());
        assert_eq!(shortfall.unwrap().granted, "extra-interrupts 0");
    }
}
