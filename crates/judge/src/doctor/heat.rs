//! Heat and firmware: delays that the scheduler does not see.

use tactus_model::facts::{MachineFacts, ThermalZone};

use super::{hypervisor, on_machine};
use crate::finding::{Check, Finding};

pub(crate) const HEAT: Check =
    Check { name: "heat", why: "A CPU that is too hot runs slower until it has cooled down." };

pub(crate) const FIRMWARE: Check = Check {
    name: "firmware interrupts",
    why: "A system management interrupt (SMI) stops all CPUs for the firmware, unseen by the kernel.",
};

/// A zone this near to its throttling limit may reach the limit under load.
const MARGIN_MILLIDEGREES: i64 = 5_000;

pub(super) fn examine(facts: &MachineFacts) -> Vec<Finding> {
    vec![heat(facts), firmware(facts)]
}

fn heat(facts: &MachineFacts) -> Finding {
    let thermal = &facts.thermal;
    if let Some(devices @ [_, ..]) = thermal.cooling.as_deref() {
        return throttled(format!("CPUs are throttled now: {}", devices.join(", ")));
    }
    let zones = thermal.zones.as_deref().unwrap_or_default();
    if let Some(zone) = zones.iter().find(|zone| is_near(zone)) {
        return throttled(in_words(zone));
    }
    let events = thermal.throttle_count.map(|count| match count {
        0 => "no throttling since boot".to_owned(),
        1 => "throttled once since boot".to_owned(),
        _ => format!("throttled {count} times since boot"),
    });
    let hottest = zones.iter().max_by_key(|zone| zone.millidegrees).map(in_words);
    let known: Vec<String> = hottest.into_iter().chain(events).collect();
    if known.is_empty() {
        return HEAT.unknown(match hypervisor(facts) {
            Some(_) => "a guest cannot see the host's temperatures",
            None => "the kernel shows no thermal zone and no count of throttling",
        });
    }
    HEAT.fine(known.join("; "))
}

fn throttled(fact: String) -> Finding {
    HEAT.warning(
        fact,
        "Figures depend on how long the machine has been busy: later cells are slower.",
    )
    .fixed_by("let the machine cool down; clean or replace its fan".to_owned())
}

fn is_near(zone: &ThermalZone) -> bool {
    zone.slows_from_millidegrees
        .is_some_and(|limit| zone.millidegrees >= limit.saturating_sub(MARGIN_MILLIDEGREES))
}

fn in_words(zone: &ThermalZone) -> String {
    let degrees = |millidegrees: i64| format!("{} °C", millidegrees / 1000);
    let limit = zone
        .slows_from_millidegrees
        .map_or_else(String::new, |limit| format!(", throttled from {}", degrees(limit)));
    format!("{} {}{limit}", zone.kind, degrees(zone.millidegrees))
}

fn firmware(facts: &MachineFacts) -> Finding {
    let cpu = &facts.cpu;
    let model = cpu.model.as_deref().unwrap_or_default();
    match (hypervisor(facts), cpu.smi_count) {
        (Some(_), _) => FIRMWARE.unknown("a guest cannot see the host's SMIs"),
        (None, Some(count)) => FIRMWARE.fine(format!(
            "{count} since boot; `tactus doctor --look 10s` counts them for ten seconds"
        )),
        (None, None) if model.contains("Intel") => FIRMWARE
            .unknown("MSR 0x34 counts them, but reading it needs root and the module msr")
            .fixed_by(on_machine(facts, "sudo modprobe msr, then run tactus as root")),
        (None, None) => FIRMWARE.unknown("only Intel CPUs count them"),
    }
}

/// Throttling and system management interrupts between two readings of one machine;
/// nothing if there were none or they are not counted.
pub(super) fn events_between(before: &MachineFacts, after: &MachineFacts) -> Vec<Finding> {
    let growth = |of: fn(&MachineFacts) -> Option<u64>| {
        Some(of(after)?.saturating_sub(of(before)?)).filter(|count| *count > 0)
    };
    let times = |count| if count == 1 { "once".to_owned() } else { format!("{count} times") };
    let heat = growth(|facts| facts.thermal.throttle_count)
        .map(|count| throttled(format!("CPUs were throttled {}", times(count))));
    // A guest's counter does not count the SMIs of the host.
    let firmware =
        growth(|facts| facts.cpu.smi_count).filter(|_| hypervisor(after).is_none()).map(|count| {
            FIRMWARE
                .warning(
                    format!("SMIs stopped all CPUs {}", times(count)),
                    "A wakeup during an SMI is late by its duration, tens of microseconds to \
                     milliseconds, under every policy.",
                )
                .fixed_by(
                    "disable their causes in the firmware's settings: legacy USB, power capping, \
                     error reporting"
                        .to_owned(),
                )
        });
    heat.into_iter().chain(firmware).collect()
}
