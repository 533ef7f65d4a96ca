//! What the agent counts, as metrics.

use tactus_model::time::Nanos;

use crate::budget::Stage;
use crate::causes::Causes;
use crate::exposition::{Family, Labelled, Metrics};
use crate::histogram::Histogram;

/// What the watcher counts; the probe counts for itself.
#[derive(Clone, Debug)]
pub(crate) struct Status {
    pub(crate) causes: Causes,
    pub(crate) saved: u64,
    pub(crate) removed: u64,
    pub(crate) not_saved: u64,
    pub(crate) kept_bytes: u64,
    /// The events that the kernel recorded.
    pub(crate) events: u64,
    /// What an event costs.
    pub(crate) price: Nanos,
    /// How long nothing was recorded since the start.
    pub(crate) unrecorded: Nanos,
    pub(crate) is_recording: bool,
    pub(crate) share: f64,
    pub(crate) stage: Stage,
    pub(crate) reductions: u64,
    /// The CPU time of this process until it watched.
    pub(crate) starting: Nanos,
    /// The CPU time of this process since then.
    pub(crate) own: Nanos,
    /// The CPU time of the kernel for recording, estimated.
    pub(crate) recording: Nanos,
}

/// The counts of the probe.
pub(crate) struct Probed {
    pub(crate) latency: Histogram,
    pub(crate) missed: u64,
    pub(crate) interval: Nanos,
}

/// All metrics.
pub(crate) fn families(status: &Status, probed: Probed, refused: u64) -> Vec<Family> {
    let Probed { latency, missed, interval } = probed;
    let several = |name, help, metrics| Family { name, help, metrics };
    let counter = |name, help, value: u64| Family::counter(name, help, value as f64);
    let flag = |is_so: bool| f64::from(u8::from(is_so));
    let causes =
        status.causes.iter().map(|(name, count)| Labelled::one("cause", name, count as f64));
    let stages = [Stage::Full, Stage::Unrecorded, Stage::Slow(1)].map(|stage| {
        Labelled::one("stage", stage.word(), flag(stage.word() == status.stage.word()))
    });
    let cpu = [("start", status.starting), ("own", status.own), ("recording", status.recording)];
    let cpu = cpu.map(|(part, time)| Labelled::one("part", part, time.as_secs_f64()));
    let build = Labelled::one("version", env!("CARGO_PKG_VERSION"), 1.0);
    let max = latency.max.as_secs_f64();
    vec![
        several("tactus_agent_build_info", "The version of Tactus.", Metrics::Gauge(vec![build])),
        counter("tactus_agent_wakeups_total", "Wakeups of the probe.", latency.count),
        counter(
            "tactus_agent_missed_total",
            "Due times that had passed before the probe could sleep for them.",
            missed,
        ),
        Family::gauge(
            "tactus_agent_wakeup_latency_max_seconds",
            "The longest latency since the agent started.",
            max,
        ),
        several(
            "tactus_agent_wakeup_latency_seconds",
            "The time from when a wakeup was due to its arrival in user mode.",
            Metrics::Histogram(latency),
        ),
        several(
            "tactus_agent_late_wakeups_total",
            "Late wakeups by their main causes.",
            Metrics::Counter(causes.collect()),
        ),
        counter("tactus_agent_recordings_saved_total", "Recordings that were saved.", status.saved),
        counter(
            "tactus_agent_recordings_removed_total",
            "Recordings that were removed to make room for newer ones.",
            status.removed,
        ),
        counter(
            "tactus_agent_recordings_failed_total",
            "Recordings that could not be saved, e.g. because the disk is full.",
            status.not_saved,
        ),
        Family::gauge(
            "tactus_agent_recordings_bytes",
            "The size of all saved recordings.",
            status.kept_bytes as f64,
        ),
        counter(
            "tactus_agent_events_total",
            "Kernel events that were recorded; most are overwritten unread.",
            status.events,
        ),
        Family::counter(
            "tactus_agent_unrecorded_seconds_total",
            "The time in which no kernel events were recorded.",
            status.unrecorded.as_secs_f64(),
        ),
        Family::gauge(
            "tactus_agent_recording",
            "Whether kernel events are recorded.",
            flag(status.is_recording),
        ),
        Family::gauge(
            "tactus_agent_interval_seconds",
            "The probe's interval.",
            interval.as_secs_f64(),
        ),
        Family::gauge("tactus_agent_budget_ratio", "The budget: CPU time per time.", status.share),
        several(
            "tactus_agent_stage",
            "What runs within the budget: full, unrecorded (no recorder), or slow (a slower probe too).",
            Metrics::Gauge(stages.into()),
        ),
        counter(
            "tactus_agent_reductions_total",
            "How many times the budget was exceeded, and less runs since then.",
            status.reductions,
        ),
        several(
            "tactus_agent_cpu_seconds_total",
            "CPU time: of the start, of the agent's own threads since, and of the kernel for recording (an estimate).",
            Metrics::Counter(cpu.into()),
        ),
        Family::gauge(
            "tactus_agent_event_price_seconds",
            "The CPU time of recording an event, measured when recording started.",
            status.price.as_secs_f64(),
        ),
        counter(
            "tactus_agent_requests_refused_total",
            "Requests that were refused because too many came.",
            refused,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_units_follow_the_conventions() {
        let status = Status {
            causes: Causes::default(),
            saved: 0,
            removed: 0,
            not_saved: 0,
            kept_bytes: 0,
            events: 0,
            price: Nanos::ZERO,
            unrecorded: Nanos::ZERO,
            is_recording: true,
            share: 0.005,
            stage: Stage::Slow(3),
            reductions: 0,
            starting: Nanos::ZERO,
            own: Nanos::ZERO,
            recording: Nanos::ZERO,
        };
        let latency = Histogram { classic: vec![0; 17], ..Histogram::default() };
        let probed = Probed { latency, missed: 0, interval: Nanos::from_millis(10) };
        for Family { name, metrics, .. } in families(&status, probed, 0) {
            let is_counter = matches!(metrics, Metrics::Counter(_));
            assert_eq!(name.ends_with("_total"), is_counter, "{name}");
            if name == "tactus_agent_stage" {
                let Metrics::Gauge(stages) = metrics else { panic!("{metrics:?}") };
                assert_eq!(
                    stages.iter().map(|stage| stage.value).collect::<Vec<_>>(),
                    [0.0, 0.0, 1.0]
                );
            }
        }
    }
}
