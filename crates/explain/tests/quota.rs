//! Recordings of control groups with and without a quota: what the events show of throttling
//! agrees with the kernel's own account.

use std::path::Path;

use tactus_explain::{Options, waits};
use tactus_model::recording::EventSource;
use tactus_model::time::Nanos;
use tactus_record::file::RecordingFile;

/// The throttling of the threads `spinner` in a recording of half a second, by the events and by
/// the kernel's account.
fn throttled(name: &str) -> (Nanos, Nanos) {
    let path = format!("{}/../../tests/data/quota/{name}.tactusrec", env!("CARGO_MANIFEST_DIR"));
    let mut source = RecordingFile::open(Path::new(&path)).expect("a golden recording opens");
    let groups = source.about().quotas.clone().expect("it shows the groups with a quota");
    let counted = groups.iter().map(|group| group.throttled).sum();
    let options = Options { threshold: Nanos::from_micros(100), slowest: 1, timelines: 0 };
    let found = waits(&mut source, options, |_, name| name == "spinner").expect("it is whole");
    (found.names[0].explanation.throttled_by_quota(), counted)
}

#[test]
fn throttling_of_a_group_with_one_thread_is_what_the_kernel_counted() {
    let (found, counted) = throttled("one");
    println!("{found} of {counted}");
    // The recording cuts the first and the last wait, up to 80 ms each.
    assert!(found <= counted && found + Nanos::from_millis(160) >= counted, "{found} {counted}");
}

#[test]
fn throttling_of_a_group_with_four_threads_is_named_for_each_of_them() {
    let (found, counted) = throttled("four");
    println!("{found} of {counted}");
    // Two threads wait on each of the two CPUs.
    assert!(found >= counted && found <= counted.saturating_mul(3), "{found} {counted}");
}

#[test]
fn without_a_quota_or_within_it_nobody_is_throttled() {
    for name in ["none", "unreached"] {
        assert_eq!(throttled(name), (Nanos::ZERO, Nanos::ZERO), "{name}");
    }
}
