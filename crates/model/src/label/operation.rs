//! Names of measured operations.

use crate::cell::Cell;
use crate::cost::{Advice, Buffers, CostProbe, Pages, Parameter, PartnerCpu, Touch};
use crate::settings::SETTINGS;
use crate::time::ClockName;

/// The operation with what distinguishes it: `pipe, process, other CPU`. Without a CPU in its name,
/// it stays on one. The load, the policy and the kernel stand there if the run has several.
///
/// `cells` are those of the run. Empty if there is no such cell, or it measures no operation.
pub fn operation_label(cells: &[Cell], number: usize) -> String {
    let Some(cell) = cells.get(number) else { return String::new() };
    let Some(cost) = cell.probe.cost() else { return String::new() };
    let takes = |parameter: Parameter| cost.operation.takes(parameter);
    let mut parts = vec![cost.operation.to_string()];
    if takes(Parameter::Size) {
        parts[0].push_str(&format!(" {}", cost.size));
    }
    if takes(Parameter::ReadClock) {
        parts[0].push_str(&format!(" {}", cost.read_clock));
    }
    if takes(Parameter::Sleep) {
        parts[0].push_str(&format!(" {}", cost.timer.sleep));
        if cost.timer.clock != ClockName::Monotonic {
            parts.push(cost.timer.clock.to_string());
        }
    }
    if takes(Parameter::Pages) && cost.pages == Pages::Huge {
        parts.push("huge pages".to_owned());
    }
    if takes(Parameter::Partner) {
        parts.push(cost.partner.to_string());
    }
    if takes(Parameter::PartnerCpu) && cost.partner_cpu == PartnerCpu::Other {
        parts.push("other CPU".to_owned());
    }
    if takes(Parameter::WorkingSet) && cost.working_set.get() > 0 {
        parts.push(format!("reads {}", cost.working_set));
    }
    parts.extend(of_messages(cost));
    parts.extend(source(cost));
    parts.extend(condition_labels(cells, cell));
    parts.join(", ")
}

/// What distinguishes messages that not both sides touch, that have fresh buffers, or whose sides
/// spin; empty for other operations.
fn of_messages(cost: &CostProbe) -> Vec<String> {
    let takes = |parameter: Parameter| cost.operation.takes(parameter);
    let touched = match cost.touch {
        Touch::None => Some("untouched"),
        Touch::Write => Some("written only"),
        Touch::Read => Some("read only"),
        Touch::Both => None,
    };
    let fresh = (cost.buffers == Buffers::Fresh).then_some("fresh buffers");
    [
        touched.filter(|_| takes(Parameter::Touch)),
        fresh.filter(|_| takes(Parameter::Buffers)),
        cost.spins().then_some("spinning"),
    ]
    .into_iter()
    .flatten()
    .map(str::to_owned)
    .collect()
}

/// What is read, and how, or what is drawn.
fn source(cost: &CostProbe) -> Vec<String> {
    let takes = |parameter: Parameter| cost.operation.takes(parameter);
    let file = &cost.file;
    let parts = [
        takes(Parameter::Image).then(|| cost.image.to_string()),
        takes(Parameter::Cache).then(|| file.cache.to_string()),
        (takes(Parameter::Advice) && file.advice != Advice::None)
            .then(|| format!("{} advice", file.advice)),
        takes(Parameter::QueueDepth).then(|| format!("depth {}", file.queue_depth)),
        (takes(Parameter::IdleCount) && cost.idle_count).then(|| "idle time counted".to_owned()),
    ];
    parts.into_iter().flatten().collect()
}

/// Settings that no other part of a label names.
const NAMED: [&str; 10] = [
    "lock-memory",
    "timer-slack",
    "cpu-dma-latency",
    "pause",
    "times",
    "way",
    "tasks",
    "file-size",
    "directory",
    "block-requests",
];

/// The load, the policy, the CPUs and the kernel of a cell, where they differ from those of the first
/// of `cells` with the same probe; and its other settings with their names, where they differ from
/// those of the first with the same operation.
pub fn condition_labels(cells: &[Cell], cell: &Cell) -> Vec<String> {
    let first = cells.iter().find(|other| other.probe.kind() == cell.probe.kind());
    let texts: [fn(&Cell) -> String; 4] = [
        |cell| cell.load.load.to_string(),
        |cell| cell.policy.scheduling.to_string(),
        |cell| format!("CPUs {}", cell.policy.cpus),
        |cell| cell.target.guest().map_or("host".to_owned(), |guest| guest.kernel.to_string()),
    ];
    let differs = |of: &&fn(&Cell) -> String| first.is_some_and(|first| of(first) != of(cell));
    let operation = |cell: &Cell| cell.probe.cost().map(|cost| cost.operation);
    let is_alike = |other: &&Cell| {
        other.probe.kind() == cell.probe.kind() && operation(other) == operation(cell)
    };
    let alike = cells.iter().find(is_alike);
    let named = SETTINGS.iter().filter(|setting| {
        let applies = NAMED.contains(&setting.name) && setting.applies_to(&cell.probe);
        applies && alike.is_some_and(|first| first.value_of(setting) != cell.value_of(setting))
    });
    let named = named.map(|setting| format!("{} {}", setting.name, cell.value_of(setting)));
    texts.iter().filter(differs).map(|of| of(cell)).chain(named).collect()
}
