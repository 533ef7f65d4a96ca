use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use tactus_model::bytes::Bytes;
use tactus_model::cost::{
    Advice, Cache, Family, FileReads, Operation, Pages, Parameter, Partner, PartnerCpu, ReadClock,
    Sampling, Times, Wait, Way,
};
use tactus_model::experiment::{Experiment, Overrides};
use tactus_model::time::Monotonic;
use tactus_sys::affinity;
use tactus_sys::sleep::Nanosleep;
use tactus_testing::{Need, skip};

use super::*;
use crate::operations::ShortestSleeps;

fn cost(settings: &str) -> CostProbe {
    let text = format!("[settings]\nprobe = \"cost\"\n{settings}");
    let plan = Experiment::parse(&text).unwrap().plan(&Overrides::default()).unwrap();
    plan.cells[0].probe.cost().unwrap().clone()
}

const WINDOW: Nanos = Nanos::from_millis(8);

/// Measures on the first CPU, as a task does: on another than its partner's, a task that yields would
/// not yield to it.
fn measure(cost: &CostProbe) -> Result<Measured, Unmeasurable> {
    measure_for(WINDOW, cost)
}

fn measure_for(window: Nanos, cost: &CostProbe) -> Result<Measured, Unmeasurable> {
    let cpus = affinity::get()?;
    let cpu = cpus.iter().next().unwrap();
    affinity::set(&std::iter::once(cpu).collect())?;
    let site = Site::prepare(cost, cpu);
    let bench = site.and_then(|site| Bench::open(cost, site, window, cpu, &cpus));
    let measured = bench.and_then(|mut bench| {
        let memory = SampleMemory::take(bench.repetition.at_most() as usize).unwrap();
        let (mut sleeper, now) = (Nanosleep, clock::now::<Monotonic>());
        let mut sleeps = ShortestSleeps::<Monotonic, _>::by(&mut sleeper);
        bench.measure(now, memory, &mut sleeps)
    });
    affinity::set(&cpus)?;
    measured
}

fn check(cost: &CostProbe) {
    let Measured { taken, batches, clock, .. } = match measure(cost) {
        Err(Unmeasurable::OneCpu | Unmeasurable::NoHugePages) => return,
        // Some machines lack the alarm clocks or the counter.
        Err(Unmeasurable::NoClock(_)) if cost.read_clock != ReadClock::Monotonic => return,
        Err(error @ Unmeasurable::Display(_)) => return skip(Need::Display, error),
        // A filesystem in memory.
        Err(error @ (Unmeasurable::InMemory(_) | Unmeasurable::NoDirect { .. })) => {
            return skip(Need::Machine, error);
        }
        // Containers forbid these.
        Err(Unmeasurable::System(error @ SysError { call: "io_uring_setup" | "mq_open", .. })) => {
            return skip(Need::Machine, error);
        }
        found => found.unwrap_or_else(|error| panic!("{cost:?}: {error}")),
    };
    let in_batches: u64 = batches.iter().map(|batch| u64::from(batch.count)).sum();
    assert_eq!(in_batches, taken.samples.len() as u64);
    assert!(!batches.is_empty() && taken.dropped == 0, "{cost:?}");
    for batch in &batches {
        assert!(batch.count > 0 && batch.min <= batch.median, "{cost:?}: {batch:?}");
        assert_eq!(batch.idle.is_some(), cost.idle_count, "{cost:?}");
        let is_elsewhere =
            cost.operation.takes(Parameter::PartnerCpu) && cost.partner_cpu == PartnerCpu::Other;
        assert_eq!(batch.sides.is_some(), is_elsewhere, "{cost:?}");
        assert!(batch.median <= batch.elapsed && batch.calibration > Nanos::ZERO);
    }
    assert!(taken.samples.is_sorted_by(|a, b| a.came <= b.due), "{cost:?}");
    let is_of_clock = cost.operation.traits().family == Family::Clock;
    assert_eq!(clock.is_some(), is_of_clock, "{cost:?}");
    assert!(clock.is_none_or(|clock| clock.on_one_cpu.compared > 0), "{cost:?}: {clock:?}");
}

#[test]
fn every_operation_is_measured_in_batches() {
    for operation in Operation::ALL {
        let base = cost(&format!("operation = \"{operation}\""));
        let file = FileReads { file_size: Bytes::new(1 << 20), ..base.file.clone() };
        let base = CostProbe { size: Bytes::new(8 << 10), file, ..base };
        check(&base);
        if operation.takes(Parameter::Pages) {
            check(&CostProbe { pages: Pages::Huge, size: Bytes::new(2 << 20), ..base.clone() });
        }
        if operation.takes(Parameter::WorkingSet) {
            check(&CostProbe { working_set: Bytes::new(10_000), ..base.clone() });
            check(&CostProbe { partner: Partner::Thread, ..base.clone() });
        }
        if operation.takes(Parameter::ReadClock) {
            let of = |&read_clock| check(&CostProbe { read_clock, ..base.clone() });
            let some = [ReadClock::Monotonic, ReadClock::OtherThreadCpu, ReadClock::Tsc];
            some.iter().for_each(of);
        }
        if operation.takes(Parameter::Wait) {
            let (wait, partner_cpu) = (Wait::Spin, PartnerCpu::Other);
            check(&CostProbe { wait, partner_cpu, ..base.clone() });
        }
        if operation.takes(Parameter::PartnerCpu) {
            let other = CostProbe { partner_cpu: PartnerCpu::Other, ..base.clone() };
            check(&other);
            if operation.takes(Parameter::Way) {
                for way in [Way::OneWay, Way::Back] {
                    let sampling = Sampling { way, ..base.sampling };
                    check(&CostProbe { sampling, ..other.clone() });
                }
            }
        }
        let file = base.file.clone();
        if operation.takes(Parameter::Cache) {
            let cold = FileReads { cache: Cache::Cold, advice: Advice::WillNeed, ..file.clone() };
            check(&CostProbe { file: cold, ..base.clone() });
        }
        if operation.takes(Parameter::QueueDepth) {
            let deep = FileReads { queue_depth: "8".parse().unwrap(), ..file };
            check(&CostProbe { file: deep, ..base.clone() });
        }
        if operation.takes(Parameter::IdleCount) {
            check(&CostProbe { idle_count: true, ..base.clone() });
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

/// Ends a thread when dropped.
struct Spinner(Arc<AtomicBool>, Option<JoinHandle<()>>);

impl Spinner {
    fn on(cpu: u32) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let spin = move || {
            affinity::set(&std::iter::once(cpu).collect()).unwrap();
            while !stopped.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        };
        Self(stop, Some(std::thread::spawn(spin)))
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
        let _ = self.1.take().map(JoinHandle::join);
    }
}

#[test]
fn work_of_others_on_the_partners_cpu_is_in_the_batches() {
    let cpus = affinity::get().unwrap();
    let [_, partner] = [cpus.iter().next(), cpus.iter().nth(1)];
    let Some(partner) = partner else {
        return skip(Need::Machine, "the partner needs another CPU");
    };
    let pipe = cost("operation = \"pipe\"\npartner-cpu = \"other\"");
    let _spinner = Spinner::on(partner);
    let Measured { batches, .. } = measure_for(Nanos::from_millis(200), &pipe).unwrap();
    let sides = batches.iter().map(|batch| batch.sides.unwrap()[1]);
    let [mut elapsed, mut ran, mut idle] = [Nanos::ZERO; 3];
    for side in sides {
        elapsed = elapsed + side.elapsed;
        ran = ran + side.ran;
        idle = idle + side.idle.unwrap();
    }
    let foreign = elapsed.saturating_sub(ran).saturating_sub(idle);
    assert!(foreign > Nanos::from_nanos(elapsed.as_nanos() / 4), "{foreign} of {elapsed}");
}

#[test]
fn a_partner_needs_a_cpu_of_its_own_only_on_another_cpu() {
    let pipe = cost("operation = \"pipe\"\npartner-cpu = \"other\"");
    let cpu = affinity::get().unwrap().iter().next().unwrap();
    let only: CpuList = std::iter::once(cpu).collect();
    assert_eq!(
        Bench::open(&pipe, Site::default(), WINDOW, cpu, &only).err(),
        Some(Unmeasurable::OneCpu)
    );
}
