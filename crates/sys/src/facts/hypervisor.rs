//! The hypervisor below the kernel.

use super::Tree;
use super::processor::field;

/// What a hypervisor calls itself, and the word for it, the most particular first.
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

/// Clock sources that only a guest of that hypervisor is offered.
const CLOCK_SOURCES: [(&str, &str); 4] =
    [("kvm-clock", "kvm"), ("hyperv", "hyper-v"), ("xen", "xen"), ("vmware", "vmware")];

/// The hypervisor's name, `unnamed` where one is there that does not tell it,
/// `none` where the processor would show one.
pub(super) fn read(tree: &Tree<'_>, cpuinfo: Option<&str>) -> Option<String> {
    // Xen's own first domain says so here and has no flag.
    if let Some(kind) = tree.words("sys/hypervisor/type") {
        return Some(kind);
    }
    let flags = cpuinfo.and_then(|text| field(text, "flags"));
    let flagged = flags.map(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor"));
    match flagged {
        // Machines of cloud vendors bear the same firmware names, rented whole or
        // in part. The flag tells them apart.
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

/// What a device tree says, which is how most other architectures tell.
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
