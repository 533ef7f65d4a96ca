use tactus_model::bytes::Bytes;
use tactus_model::cost::{
    Advice, Cache, Family, FileReads, Operation as Word, Pages, Partner, PartnerCpu, ReadClock,
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
fn measure(cost: &CostProbe) -> Result<Repeated, Unmeasurable> {
    let cpus = affinity::get()?;
    let cpu = cpus.iter().next().unwrap();
    affinity::set(&std::iter::once(cpu).collect())?;
    let site = Site::prepare(cost, cpu);
    let bench = site.and_then(|site| Bench::open(cost, site, WINDOW, cpu, &cpus));
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
    let Repeated { taken, batches, clock } = match measure(cost) {
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
        assert!(batch.median <= batch.elapsed && batch.calibration > Nanos::ZERO);
    }
    assert!(taken.samples.is_sorted_by(|a, b| a.came <= b.due), "{cost:?}");
    let is_of_clock = cost.operation.traits().family == Family::Clock;
    assert_eq!(clock.is_some(), is_of_clock, "{cost:?}");
    assert!(clock.is_none_or(|clock| clock.on_one_cpu.compared > 0), "{cost:?}: {clock:?}");
}

#[test]
fn every_operation_is_measured_in_batches() {
    for operation in Word::ALL {
        let base = cost(&format!("operation = \"{operation}\""));
        let file = FileReads { file_size: Bytes::new(1 << 20), ..base.file.clone() };
        let base = CostProbe { size: Bytes::new(8 << 10), file, ..base };
        check(&base);
        if operation.takes("pages") {
            check(&CostProbe { pages: Pages::Huge, size: Bytes::new(2 << 20), ..base.clone() });
        }
        if operation.takes("working-set") {
            check(&CostProbe { working_set: Bytes::new(10_000), ..base.clone() });
            check(&CostProbe { partner: Partner::Thread, ..base.clone() });
        }
        if operation.takes("read-clock") {
            let of = |&read_clock| check(&CostProbe { read_clock, ..base.clone() });
            let some = [ReadClock::Monotonic, ReadClock::OtherThreadCpu, ReadClock::Tsc];
            some.iter().for_each(of);
        }
        if operation.takes("wait") {
            let (wait, partner_cpu) = (Wait::Spin, PartnerCpu::Other);
            check(&CostProbe { wait, partner_cpu, ..base.clone() });
        }
        if operation.takes("partner-cpu") {
            let other = CostProbe { partner_cpu: PartnerCpu::Other, ..base.clone() };
            check(&other);
            if operation.takes("way") {
                for way in [Way::OneWay, Way::Back] {
                    let sampling = Sampling { way, ..base.sampling };
                    check(&CostProbe { sampling, ..other.clone() });
                }
            }
        }
        let file = base.file.clone();
        if operation.takes("cache") {
            let cold = FileReads { cache: Cache::Cold, advice: Advice::WillNeed, ..file.clone() };
            check(&CostProbe { file: cold, ..base.clone() });
        }
        if operation.takes("queue-depth") {
            let deep = FileReads { queue_depth: "8".parse().unwrap(), ..file };
            check(&CostProbe { file: deep, ..base.clone() });
        }
        if operation.takes("idle-count") {
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
