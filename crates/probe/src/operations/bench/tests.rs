use tactus_model::bytes::Bytes;
use tactus_model::cost::{Operation as Word, Pages, Partner, PartnerCpu, Sampling, Times, Way};
use tactus_model::experiment::{Experiment, Overrides};
use tactus_sys::affinity;

use super::*;

fn cost(settings: &str) -> CostProbe {
    let text = format!("[settings]\nprobe = \"cost\"\n{settings}");
    let plan = Experiment::parse(&text).unwrap().plan(&Overrides::default()).unwrap();
    plan.cells[0].probe.cost().unwrap().clone()
}

const WINDOW: Nanos = Nanos::from_millis(8);

fn measure(cost: &CostProbe) -> Result<(TakenSamples, Vec<Batch>), Unmeasurable> {
    let cpus = affinity::get()?;
    let cpu = cpus.iter().next().unwrap();
    let mut bench = Bench::open(cost, WINDOW, cpu, &cpus)?;
    let memory = SampleMemory::take(bench.repetition.at_most() as usize).unwrap();
    Ok(bench.measure::<Monotonic>(clock::now(), memory)?)
}

fn check(cost: &CostProbe) {
    let (taken, batches) = match measure(cost) {
        Err(Unmeasurable::OneCpu | Unmeasurable::NoHugePages) => return,
        found => found.unwrap_or_else(|error| panic!("{cost:?}: {error}")),
    };
    let in_batches: u64 = batches.iter().map(|batch| u64::from(batch.count)).sum();
    assert_eq!(in_batches, taken.samples.len() as u64);
    assert!(!batches.is_empty() && taken.dropped == 0, "{cost:?}");
    for batch in &batches {
        assert!(batch.count > 0 && batch.min <= batch.median, "{cost:?}: {batch:?}");
        assert!(batch.median <= batch.elapsed && batch.calibration > Nanos::ZERO);
    }
    assert!(taken.samples.is_sorted_by(|a, b| a.came <= b.due), "{cost:?}");
}

#[test]
fn every_operation_is_measured_in_batches() {
    for operation in Word::ALL {
        let base = cost(&format!("operation = \"{operation}\""));
        let base = CostProbe { size: Bytes::new(8 << 10), ..base };
        check(&base);
        if operation.takes("pages") {
            check(&CostProbe { pages: Pages::Huge, size: Bytes::new(2 << 20), ..base.clone() });
        }
        if operation.takes("working-set") {
            check(&CostProbe { working_set: Bytes::new(10_000), ..base.clone() });
            check(&CostProbe { partner: Partner::Thread, ..base.clone() });
        }
        if operation.takes("partner-cpu") {
            let other = CostProbe { partner_cpu: PartnerCpu::Other, ..base.clone() };
            check(&other);
            let sampling = Sampling { way: Way::OneWay, ..base.sampling };
            check(&CostProbe { sampling, ..other });
        }
        let (pause, times) = (Nanos::from_millis(1), Times::new(4).unwrap());
        check(&CostProbe { sampling: Sampling { pause, times, ..base.sampling }, ..base });
    }
}

#[test]
fn a_long_window_has_no_more_batches_than_memory_was_taken_for() {
    let getppid = cost("operation = \"getppid\"");
    assert_eq!(Repetition::new(&getppid, WINDOW).batches_at_most(), 9);
    let long = Repetition::new(&getppid, Nanos::from_secs(3600));
    assert!(long.batches_at_most() <= BATCHES_MAX as usize + 1);
}

#[test]
fn a_partner_needs_a_cpu_of_its_own_only_on_another_cpu() {
    let pipe = cost("operation = \"pipe\"\npartner-cpu = \"other\"");
    let cpu = affinity::get().unwrap().iter().next().unwrap();
    let only: CpuList = std::iter::once(cpu).collect();
    assert_eq!(Bench::open(&pipe, WINDOW, cpu, &only).err(), Some(Unmeasurable::OneCpu));
}
