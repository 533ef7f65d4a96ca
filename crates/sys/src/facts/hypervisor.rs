//! The hypervisor of the machine.

use super::Tree;
use super::cpu::field;

/// What a hypervisor calls itself, and our word for it; the most specific comes first.
const FIRMWARE_NAMES: [(&str, &str); 12] = [
    ("VMware", "vmware"),
    ("VirtualBox", "virtualbox"),
    ("innotek GmbH", "virtualbox"),
    ("Parallels", "parallels"),
    ("BHYVE", "bhyve"),
    ("Virtual Machine", "hyper-v"),
    ("HVM domU", "xen"),
    ("Xen", "xen"),
    ("Apple Virtualization", "apple"),
    ("Google Compute Engine", "kvm"),
    ("KVM", "kvm"),
    ("QEMU", "qemu"),
];

/// Clock sources that only a guest of the given hypervisor has.
const CLOCK_SOURCES: [(&str, &str); 4] =
    [("kvm-clock", "kvm"), ("hyperv", "hyper-v"), ("xen", "xen"), ("vmware", "vmware")];

/// The hypervisor's name; `unnamed` if there is one without a known name; `none` if the
/// CPU would show a hypervisor and does not.
pub(super) fn read(tree: &Tree<'_>, cpuinfo: Option<&str>) -> Option<String> {
    // Xen's first domain reports Xen here and has no CPU flag.
    if let Some(kind) = tree.words("sys/hypervisor/type") {
        return Some(kind);
    }
    let flags = cpuinfo.and_then(|text| field(text, "flags"));
    let flagged = flags.map(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor"));
    match flagged {
        // Machines of cloud vendors have the same firmware names whether they are
        // virtual or bare metal. The CPU flag distinguishes them.
        Some(false) => Some("none".to_owned()),
        Some(true) => Some(
            clock_source(tree)
                .or_else(|| firmware(tree))
                .or_else(|| device_tree(tree))
                .unwrap_or("unnamed")
                .to_owned(),
        ),
        None => firmware(tree).or_else(|| device_tree(tree)).map(str::to_owned),
    }
}

fn clock_source(tree: &Tree<'_>) -> Option<&'static str> {
    let available =
        tree.text("sys/devices/system/clocksource/clocksource0/available_clocksource")?;
    CLOCK_SOURCES
        .into_iter()
        .find(|(source, _)| available.split_whitespace().any(|name| name.starts_with(source)))
        .map(|(_, word)| word)
}

fn firmware(tree: &Tree<'_>) -> Option<&'static str> {
    let names: Vec<String> = ["product_name", "sys_vendor", "board_vendor", "bios_vendor"]
        .into_iter()
        .filter_map(|file| tree.text(&format!("sys/class/dmi/id/{file}")))
        .collect();
    FIRMWARE_NAMES
        .into_iter()
        .find(|(name, _)| names.iter().any(|text| text.contains(name)))
        .map(|(_, word)| word)
}

/// The hypervisor according to the device tree, which most other architectures use.
fn device_tree(tree: &Tree<'_>) -> Option<&'static str> {
    let hypervisor = tree.text("proc/device-tree/hypervisor/compatible").unwrap_or_default();
    let board = tree.text("proc/device-tree/compatible").unwrap_or_default();
    if hypervisor.contains("xen") {
        Some("xen")
    } else if hypervisor.contains("kvm") {
        Some("kvm")
    } else if board.contains("linux,dummy-virt") {
        Some("qemu")
    } else {
        None
    }
}
