//! The CPUs, and what slows or stops them.

use tactus_model::cpus::CpuList;
use tactus_model::facts::CpuFacts;

use super::{Tree, hypervisor, interrupt};

const CPUS: &str = "sys/devices/system/cpu";
const CLOCK_SOURCES: &str = "sys/devices/system/clocksource/clocksource0";

pub(super) fn read(tree: &Tree<'_>) -> CpuFacts {
    let cpuinfo = tree.text("proc/cpuinfo");
    let online: Option<CpuList> = tree.value(&format!("{CPUS}/online"));
    let isolated = list(tree, "isolated");
    let nohz_full = list(tree, "nohz_full")
        // Linux 4.2 introduced both files; the second one exists only if the kernel supports
        // nohz_full.
        .or_else(|| isolated.as_ref().map(|_| CpuList::default()));
    CpuFacts {
        model: model(tree, cpuinfo.as_deref()),
        present: tree.value(&format!("{CPUS}/present")),
        smt: smt(tree, online.as_ref()),
        last_level_cache: last_level_cache(tree, online.as_ref()),
        governors: frequency_words(tree, "scaling_governor"),
        frequency_drivers: frequency_words(tree, "scaling_driver"),
        idle_states: idle_states(tree),
        idle_exit_latency_us_max: idle_exit_latency_us_max(tree),
        idle_exit_latency_limit_us: tree
            .bytes_at("dev/cpu_dma_latency", 0)
            .and_then(|limit| u64::try_from(i32::from_ne_bytes(limit)).ok()),
        smi_count: smi_count(tree, cpuinfo.as_deref(), online.as_ref()),
        virtualization: hypervisor::read(tree, cpuinfo.as_deref()),
        clock_source: tree.words(&format!("{CLOCK_SOURCES}/current_clocksource")),
        available_clock_sources: tree
            .words(&format!("{CLOCK_SOURCES}/available_clocksource"))
            .map(|words| words.split_whitespace().map(str::to_owned).collect()),
        interrupt_cpus: interrupt::cpus(tree),
        default_interrupt_cpus: interrupt::default_cpus(tree),
        vulnerabilities: vulnerabilities(tree),
        online,
        isolated,
        nohz_full,
    }
}

fn list(tree: &Tree<'_>, name: &str) -> Option<CpuList> {
    let text = tree.text(&format!("{CPUS}/{name}"))?;
    // Some kernels print a mask that was never allocated this way.
    if text == "(null)" { Some(CpuList::default()) } else { text.parse().ok() }
}

/// The value of the first line of `/proc/cpuinfo` with this name.
pub(super) fn field<'t>(cpuinfo: &'t str, name: &str) -> Option<&'t str> {
    cpuinfo
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(key, _)| key.trim() == name)
        .map(|(_, value)| value.trim())
        .filter(|value| !value.is_empty())
}

/// The name of the CPU, or of the board if the CPU does not report one.
fn model(tree: &Tree<'_>, cpuinfo: Option<&str>) -> Option<String> {
    let named = |name| cpuinfo.and_then(|text| field(text, name)).map(str::to_owned);
    named("model name")
        .or_else(|| tree.words("proc/device-tree/model"))
        .or_else(|| ["Model", "Hardware", "cpu model", "uarch"].into_iter().find_map(named))
}

/// The vulnerabilities that affect this CPU, each with its state.
fn vulnerabilities(tree: &Tree<'_>) -> Option<Vec<String>> {
    let directory = format!("{CPUS}/vulnerabilities");
    let mut names = tree.names_in(&directory)?;
    names.sort_unstable();
    let affecting = names.into_iter().filter_map(|name| {
        let state = tree.words(&format!("{directory}/{name}"))?;
        let state = state.strip_prefix("Mitigation: ").unwrap_or(&state);
        (state != "Not affected").then(|| format!("{name}: {state}"))
    });
    Some(affecting.collect())
}

fn smt(tree: &Tree<'_>, online: Option<&CpuList>) -> Option<bool> {
    tree.flag(&format!("{CPUS}/smt/active")).or_else(|| {
        let siblings: Vec<CpuList> = online?
            .iter()
            .filter_map(|cpu| tree.value(&format!("{CPUS}/cpu{cpu}/topology/thread_siblings_list")))
            .collect();
        (!siblings.is_empty()).then(|| siblings.iter().any(|list| list.len() > 1))
    })
}

/// The size of the highest-level cache of the first online CPU.
fn last_level_cache(tree: &Tree<'_>, online: Option<&CpuList>) -> Option<u64> {
    let cpu = online.and_then(|list| list.iter().next()).unwrap_or(0);
    let caches = tree.numbered(&format!("{CPUS}/cpu{cpu}/cache"), "index")?;
    let (_, size) = caches
        .into_iter()
        .filter_map(|cache| {
            let level: u32 = tree.value(&format!("{cache}/level"))?;
            Some((level, bytes(&tree.text(&format!("{cache}/size"))?)?))
        })
        .max()?;
    Some(size)
}

/// A size as the kernel writes cache sizes: `32768K`.
fn bytes(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit: u64 = match &text[digits.len()..] {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

/// The words in `file` over all frequency domains; `None` if the kernel has no frequency
/// driver.
fn frequency_words(tree: &Tree<'_>, file: &str) -> Option<Vec<String>> {
    let policies = tree.numbered(&format!("{CPUS}/cpufreq"), "policy")?;
    let mut words: Vec<String> =
        policies.iter().filter_map(|policy| tree.words(&format!("{policy}/{file}"))).collect();
    words.sort();
    words.dedup();
    Some(words)
}

/// The idle states; an empty list if the kernel supports them but has no driver.
fn idle_states(tree: &Tree<'_>) -> Option<Vec<String>> {
    let states = tree.numbered(&format!("{CPUS}/cpu0/cpuidle"), "state");
    let no_driver =
        || tree.text(&format!("{CPUS}/cpuidle/current_driver")).filter(|driver| driver == "none");
    match states {
        Some(states) => {
            Some(states.iter().filter_map(|state| tree.words(&format!("{state}/name"))).collect())
        }
        None => no_driver().map(|_| Vec::new()),
    }
}

/// The longest exit latency of the enabled idle states.
fn idle_exit_latency_us_max(tree: &Tree<'_>) -> Option<u64> {
    let states = tree.numbered(&format!("{CPUS}/cpu0/cpuidle"), "state")?;
    states
        .iter()
        .filter(|state| tree.flag(&format!("{state}/disable")) != Some(true))
        .filter_map(|state| tree.value(&format!("{state}/latency")))
        .max()
}

/// The register in which Intel CPUs count SMIs (`MSR_SMI_COUNT`; Intel 64 and IA-32
/// Architectures Software Developer's Manual, volume 4).
const MSR_SMI_COUNT: u64 = 0x34;

/// SMIs since boot, as counted by the first online CPU: an SMI stops all CPUs.
///
/// See [msr(4)](https://man7.org/linux/man-pages/man4/msr.4.html).
fn smi_count(tree: &Tree<'_>, cpuinfo: Option<&str>, online: Option<&CpuList>) -> Option<u64> {
    let counts = field(cpuinfo?, "vendor_id") == Some("GenuineIntel");
    let cpu = online.and_then(|list| list.iter().next()).unwrap_or(0);
    let register =
        tree.bytes_at(&format!("dev/cpu/{cpu}/msr"), MSR_SMI_COUNT).filter(|_| counts)?;
    // The counter has 32 bits.
    Some(u64::from_le_bytes(register) & u64::from(u32::MAX))
}
