//! The explanation of late wakeups from the recording that was saved for the worst of them.

use tactus_explain::{Explanation, Options, ProbeTask, explain, saved_wakeup};
use tactus_model::recording::{EventSource, LateWakeup};
use tactus_model::sample::Sample;
use tactus_model::time::Nanos;
use tactus_record::file::RecordingFile;

/// The worst of the late wakeups that `wanted` accepts.
pub(crate) fn worst_of(
    waiting: &[LateWakeup],
    wanted: impl Fn(&LateWakeup) -> bool,
) -> Option<LateWakeup> {
    let wanted = waiting.iter().filter(|late| wanted(late));
    wanted.max_by_key(|late| late.latency()).copied()
}

/// Explains late wakeups, of which the worst is the one for which the recording was taken.
pub(crate) fn explain_all(file: &mut RecordingFile, waiting: &[LateWakeup]) -> Option<Explanation> {
    let worst = file.about().saved_for?;
    let earliest = waiting.iter().map(|late| late.due).min()?;
    let task = saved_wakeup(file.about(), &LateWakeup { due: earliest, ..worst });
    let opened = task.opened;
    // The worst comes first in the explanation, so those that were worse and are not in the time of
    // the recording are left out: they count as not explained.
    let those = waiting.iter().filter(|late| late.latency() <= worst.latency());
    let samples = those.map(|late| Sample { due: late.due - opened, came: late.came - opened });
    let task = ProbeTask { samples: samples.collect(), ..task };
    let options = Options { threshold: Nanos::ZERO, slowest: 1, timelines: 0 };
    explain(file, vec![task], options).ok()
}
