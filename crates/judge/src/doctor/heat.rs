//! Heat and the firmware: what takes CPUs away without a trace in the scheduler.

use tactus_model::facts::{MachineFacts, ThermalZone};

use super::{hypervisor, on_machine};
use crate::finding::{Check, Finding};

pub(crate) const HEAT: Check = Check {
    name: "heat",
    why: "A CPU that is too hot is slowed, by itself or by the kernel, until it has cooled down.",
};

pub(crate) const FIRMWARE: Check = Check {
    name: "firmware interrupts",
    why: "A system management interrupt stops all CPUs for work of the firmware, and the kernel cannot tell.",
};

/// A zone that is nearer than this to where it slows CPUs may get there under load.
const MARGIN_MILLIDEGREES: i64 = 5_000;

pub(super) fn examine(facts: &MachineFacts) -> Vec<Finding> {
    vec![heat(facts), firmware(facts)]
}

fn heat(facts: &MachineFacts) -> Finding {
    let thermal = &facts.thermal;
    if let Some(devices @ [_, ..]) = thermal.cooling.as_deref() {
        return slowed(format!("CPUs are slowed now: {}", devices.join(", ")));
    }
    let zones = thermal.zones.as_deref().unwrap_or_default();
    if let Some(zone) = zones.iter().find(|zone| is_near(zone)) {
        return slowed(in_words(zone));
    }
    let events = thermal.throttle_count.map(|count| match count {
        0 => "no CPU was slowed since boot".to_owned(),
        1 => "a CPU was slowed once since boot".to_owned(),
        _ => format!("CPUs were slowed {count} times since boot"),
    });
    let hottest = zones.iter().max_by_key(|zone| zone.millidegrees).map(in_words);
    let told: Vec<String> = hottest.into_iter().chain(events).collect();
    if told.is_empty() {
        return HEAT.unknown(match hypervisor(facts) {
            Some(_) => "a guest is not shown its host's",
            None => "the kernel shows no thermal zone and counts no throttling",
        });
    }
    HEAT.fine(told.join("; "))
}

fn slowed(fact: String) -> Finding {
    HEAT.warning(
        fact,
        "Figures depend on how long the machine has been busy, and those of later cells are worse.",
    )
    .fixed_by("let it cool down; clean its fan, or give it a better one".to_owned())
}

fn is_near(zone: &ThermalZone) -> bool {
    zone.slows_from_millidegrees
        .is_some_and(|limit| zone.millidegrees >= limit.saturating_sub(MARGIN_MILLIDEGREES))
}

fn in_words(zone: &ThermalZone) -> String {
    let degrees = |millidegrees: i64| format!("{} °C", millidegrees / 1000);
    let limit = zone
        .slows_from_millidegrees
        .map_or_else(String::new, |limit| format!(", slowed from {}", degrees(limit)));
    format!("{} {}{limit}", zone.kind, degrees(zone.millidegrees))
}

fn firmware(facts: &MachineFacts) -> Finding {
    let cpu = &facts.cpu;
    let model = cpu.model.as_deref().unwrap_or_default();
    match (hypervisor(facts), cpu.smi_count) {
        (Some(_), _) => FIRMWARE.unknown("a guest is not shown its host's"),
        (None, Some(count)) => FIRMWARE.fine(format!(
            "{count} since boot; tactus doctor --look 10s counts those of ten seconds"
        )),
        (None, None) if model.contains("Intel") => FIRMWARE
            .unknown("MSR 0x34 counts them and cannot be read; it takes root and modprobe msr")
            .fixed_by(on_machine(facts, "sudo modprobe msr, then run tactus as root")),
        (None, None) => FIRMWARE.unknown("CPUs of Intel alone count them"),
    }
}

/// What heat and the firmware did between two looks at one machine; nothing where
/// neither did anything, or it was not counted.
pub(super) fn meanwhile(before: &MachineFacts, after: &MachineFacts) -> Vec<Finding> {
    let growth = |of: fn(&MachineFacts) -> Option<u64>| {
        Some(of(after)?.saturating_sub(of(before)?)).filter(|count| *count > 0)
    };
    let times = |count| if count == 1 { "once".to_owned() } else { format!("{count} times") };
    let throttled = growth(|facts| facts.thermal.throttle_count)
        .map(|count| slowed(format!("CPUs were slowed {} meanwhile", times(count))));
    // A guest's counter is not the machine's.
    let firmware = growth(|facts| facts.cpu.smi_count)
        .filter(|_| hypervisor(after).is_none())
        .map(|count| {
            FIRMWARE
                .warning(
                    format!("it stopped all CPUs {} meanwhile", times(count)),
                    "Wakeups that fell into such a stop came late by its whole length, tens of \
                     microseconds to milliseconds, whatever their policy.",
                )
                .fixed_by(
                    "switch off in the firmware's settings what causes them: legacy USB, power \
                     capping, error reporting"
                        .to_owned(),
                )
        });
    throttled.into_iter().chain(firmware).collect()
}
