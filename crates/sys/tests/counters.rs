//! The counters of a simulated machine, and of the machine that runs this test.

mod support;

use std::path::Path;

use support::FakeRoot;
use tactus_model::time::Nanos;
use tactus_sys::counters::MachineCounters;

#[test]
fn growth_is_the_difference() {
    let root = FakeRoot::new(
        r"
        proc/stat = cpu  100 0 50 1000 5 0 1 2 0 0\nintr 1000 1\nctxt 500\nprocesses 40\nsoftirq 90 1
        proc/vmstat = pgfault 7\npgmajfault 1
        proc/pressure/cpu = some avg10=0.00 total=100
        proc/loadavg = 1.00 0.50 0.25 1/80 42
        ",
    );
    let before = MachineCounters::read(root.path());
    root.write(
        "proc/stat",
        "cpu  130 0 60 1100 5 0 1 7 0 0\nintr 1400 1\nctxt 450\nprocesses 43\nsoftirq 95 1\n",
    );
    root.write("proc/vmstat", "pgfault 107\npgmajfault 1\n");
    root.write("proc/pressure/cpu", "some avg10=0.00 total=350\n");
    root.write("proc/pressure/io", "some avg10=0.00 total=5\n");
    root.write("proc/loadavg", "2.00 0.50 0.25 1/80 42\n");
    let rates = MachineCounters::read(root.path()).since(&before);
    assert_eq!(rates.interrupts, Some(400));
    assert_eq!(rates.softirqs, Some(5));
    assert_eq!(rates.forks, Some(3));
    assert_eq!(rates.context_switches, Some(0), "a counter that ran backwards");
    assert_eq!((rates.page_faults, rates.major_faults), (Some(100), Some(0)));
    assert_eq!(rates.busy, Some(Nanos::from_millis(400)));
    assert_eq!(rates.steal, Some(Nanos::from_millis(50)));
    assert_eq!(rates.cpu_pressure, Some(Nanos::from_micros(250)));
    assert_eq!(rates.io_pressure, None, "there was nothing to begin from");
    assert_eq!(rates.memory_pressure, None);
    assert_eq!(rates.load_average, Some(2.0));
    assert!(rates.over > Nanos::ZERO);
}

#[test]
fn an_empty_root_counts_nothing() {
    let root = FakeRoot::new("");
    let before = MachineCounters::read(root.path());
    let rates = MachineCounters::read(root.path()).since(&before);
    assert_eq!(rates.context_switches, None);
    assert_eq!(rates.busy, None);
    assert_eq!(rates.load_average, None);
}

#[test]
fn the_machine_that_runs_this() {
    let before = MachineCounters::read(Path::new("/"));
    std::thread::spawn(|| ()).join().expect("a thread that does nothing");
    let rates = MachineCounters::read(Path::new("/")).since(&before);
    assert!(rates.forks >= Some(1), "a thread was made: {rates:?}");
    assert!(rates.context_switches >= Some(1), "and was waited for: {rates:?}");
    assert!(rates.page_faults.is_some() && rates.interrupts.is_some());
    let online = tactus_sys::facts::read(Path::new("/")).cpu.online;
    let cpus = online.map_or(1, |list| list.len()) as u64;
    // Each of five kinds of busy time has whole ticks of 10 ms, and a CPU is charged
    // for its own tick at once.
    let most = (rates.over + Nanos::from_millis(100)).saturating_mul(cpus);
    assert!(rates.busy.is_some_and(|busy| busy <= most), "{rates:?}");
}
