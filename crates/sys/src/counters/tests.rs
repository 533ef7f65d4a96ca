//! Valid and invalid inputs of the counters.

use proptest::prelude::*;

use super::*;

const STAT: &str = "\
cpu  6191 7 3287 259378 504 1 68 12 40 2
cpu0 2482 0 1197 130980 40 0 14 3 0 0
intr 243081 0 0 25 1
ctxt 466323
btime 1795260785
processes 8843
procs_running 2
softirq 181215 0 20777
";

const PRESSURE: &str = "\
some avg10=0.04 avg60=0.38 avg300=0.35 total=8385572
full avg10=0.00 avg60=0.00 avg300=0.00 total=17
";

#[test]
fn the_lines_of_stat() {
    assert_eq!(
        EventCounts::parse(STAT),
        EventCounts {
            context_switches: Some(466_323),
            interrupts: Some(243_081),
            softirqs: Some(181_215),
            forks: Some(8843),
        }
    );
    let times = CpuTimes::parse(STAT);
    assert_eq!(times.busy, Some(Nanos::from_millis((6191 + 7 + 3287 + 1 + 68) * 10)));
    assert_eq!(times.steal, Some(Nanos::from_millis(120)));
}

#[test]
fn a_kernel_that_does_not_count_steal() {
    let times = CpuTimes::parse("cpu  1 0 1 5 0 0 0\n");
    assert_eq!(times, CpuTimes { busy: Some(Nanos::from_millis(20)), steal: None });
    assert_eq!(CpuTimes::parse("cpu  1 0 1 5\n"), CpuTimes::default());
}

#[test]
fn faults_pressure_and_load() {
    let faults = FaultCounts::parse("pgfault_of_another 5\npgfault 12\npgmajfault 3\n");
    assert_eq!(faults, FaultCounts { all: Some(12), major: Some(3) });
    assert_eq!(some_pressure(PRESSURE), Some(Nanos::from_micros(8_385_572)));
    assert_eq!(some_pressure("full total=3\n"), None);
    assert_eq!(load_averages("0.52 0.58 0.59 1/830 4242\n"), Some([0.52, 0.58, 0.59]));
    assert_eq!(load_averages("0.52 nan 0.59 1/830 4242\n"), None);
    assert_eq!(load_averages("0.52"), None);
}

proptest! {
    #[test]
    fn garbage_is_read_without_a_panic(text in "(cpu |intr |ctxt |some |total=|pgfault |[0-9]{1,25}|-| |\n|\\PC){0,40}") {
        let _ = EventCounts::parse(&text);
        let _ = CpuTimes::parse(&text);
        let _ = FaultCounts::parse(&text);
        let _ = some_pressure(&text);
        let _ = load_averages(&text);
    }

    #[test]
    fn times_of_any_size_saturate(ticks in prop::collection::vec(any::<u64>(), 10)) {
        let words: Vec<String> = ticks.iter().map(u64::to_string).collect();
        let times = CpuTimes::parse(&format!("cpu  {}\n", words.join(" ")));
        prop_assert_eq!(times.steal, Some(Nanos::from_millis(10).saturating_mul(ticks[7])));
        prop_assert!(times.busy >= Some(Nanos::from_millis(10).saturating_mul(ticks[0])));
    }
}
