//! Temperatures and thermal throttling.
//!
//! See the kernel's `Documentation/ABI/testing/sysfs-class-thermal` and, for the
//! counters of Intel CPUs, `arch/x86/kernel/cpu/mce/therm_throt.c`.

use tactus_model::facts::{ThermalFacts, ThermalZone};

use super::Tree;

const CPUS: &str = "sys/devices/system/cpu";
const THERMAL: &str = "sys/class/thermal";

pub(super) fn read(tree: &Tree<'_>) -> ThermalFacts {
    ThermalFacts {
        throttle_count: throttle_count(tree),
        zones: known(tree.numbered(THERMAL, "thermal_zone"))
            .map(|zones| zones.iter().filter_map(|zone| thermal_zone(tree, zone)).collect()),
        cooling: known(tree.numbered(THERMAL, "cooling_device"))
            .map(|devices| devices.iter().filter_map(|device| cooling(tree, device)).collect()),
    }
}

/// A machine without entries does not report its temperatures.
fn known(entries: Option<Vec<String>>) -> Option<Vec<String>> {
    entries.filter(|entries| !entries.is_empty())
}

/// The throttling events of all CPUs; package events count once for each CPU.
fn throttle_count(tree: &Tree<'_>) -> Option<u64> {
    let counts: Vec<u64> = tree
        .numbered(CPUS, "cpu")?
        .iter()
        .flat_map(|cpu| {
            ["core_throttle_count", "package_throttle_count"]
                .map(|file| tree.value(&format!("{cpu}/thermal_throttle/{file}")))
        })
        .flatten()
        .collect();
    (!counts.is_empty()).then(|| counts.into_iter().fold(0, u64::saturating_add))
}

fn thermal_zone(tree: &Tree<'_>, zone: &str) -> Option<ThermalZone> {
    let slowing = |kind: &str| matches!(kind, "passive" | "hot" | "critical");
    let slows_from_millidegrees = (0..TRIP_POINTS)
        .map_while(|number| {
            let kind = tree.words(&format!("{zone}/trip_point_{number}_type"))?;
            let degrees: Option<i64> = tree.value(&format!("{zone}/trip_point_{number}_temp"));
            Some(degrees.filter(|_| slowing(&kind)))
        })
        .flatten()
        // An unused trip point is below any temperature a machine runs at.
        .filter(|millidegrees| *millidegrees > 0)
        .min();
    Some(ThermalZone {
        kind: tree.words(&format!("{zone}/type"))?,
        millidegrees: tree.value(&format!("{zone}/temp"))?,
        slows_from_millidegrees,
    })
}

/// The maximum number of trip points of a zone (`THERMAL_MAX_TRIPS` of kernels with a
/// limit).
const TRIP_POINTS: u32 = 12;

/// A device that slows CPUs and is active, for example `thermal-cpufreq-0 3 of 7`.
fn cooling(tree: &Tree<'_>, device: &str) -> Option<String> {
    let kind = tree.words(&format!("{device}/type"))?;
    let slows = ["CPU", "thermal-cpufreq", "thermal-cpuidle", "cpufreq", "intel_powerclamp"];
    let state: i64 = tree.value(&format!("{device}/cur_state"))?;
    let most: i64 = tree.value(&format!("{device}/max_state"))?;
    (slows.iter().any(|name| kind.starts_with(name)) && state > 0)
        .then(|| format!("{kind} {state} of {most}"))
}
