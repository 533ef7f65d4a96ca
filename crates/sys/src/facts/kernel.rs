//! The running kernel.

use tactus_model::facts::KernelFacts;
use tactus_model::time::Nanos;

use super::{CallFacts, Tree, preemption};

pub(super) fn read(tree: &Tree<'_>, calls: &CallFacts) -> KernelFacts {
    let release = tree.words("proc/sys/kernel/osrelease");
    let version = tree.words("proc/sys/kernel/version");
    let command_line = tree.text("proc/cmdline");
    let config = Config::read(tree, release.as_deref());
    KernelFacts {
        preemption: preemption::read(tree, version.as_deref(), command_line.as_deref(), &config),
        tick_rate_hz: calls
            .tick
            .and_then(tick_rate)
            .or_else(|| config.value("HZ").and_then(|rate| rate.parse().ok())),
        high_resolution_timers: high_resolution(tree, calls),
        rt_group_scheduling: rt_groups(command_line.as_deref(), &config),
        nmi_watchdog: watchdog(tree, "nmi_watchdog"),
        soft_watchdog: watchdog(tree, "soft_watchdog"),
        debugging_options: config.is_set("HZ").map(|_| {
            let set = DEBUGGING.iter().filter(|option| config.is_set(option) == Some(true));
            set.map(|option| (*option).to_owned()).collect()
        }),
        lockdown: lockdown(tree),
        machine: tree.words("proc/sys/kernel/arch").or_else(|| calls.machine.clone()),
        release,
        version,
        command_line,
    }
}

/// The lockdown in force; without the file in a mounted securityfs, the kernel has none.
fn lockdown(tree: &Tree<'_>) -> Option<String> {
    const SECURITY: &str = "sys/kernel/security";
    match tree.text(&format!("{SECURITY}/lockdown")) {
        Some(text) => chosen(&text),
        // Every security module is listed there.
        None => tree.words(&format!("{SECURITY}/lsm")).map(|_| "none".to_owned()),
    }
}

/// The word in brackets of `always [madvise] never`.
pub(super) fn chosen(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('[')?;
    Some(rest.split_once(']')?.0.to_owned())
}

/// Options of debug kernels; each of them slows the whole kernel.
const DEBUGGING: [&str; 9] = [
    "PROVE_LOCKING",
    "LOCK_STAT",
    "KASAN",
    "KCSAN",
    "KMSAN",
    "DEBUG_OBJECTS",
    "SLUB_DEBUG_ON",
    "DEBUG_KMEMLEAK",
    "KCOV",
];

/// Whether a watchdog runs; `/proc/sys/kernel/watchdog` is the switch for both.
fn watchdog(tree: &Tree<'_>, name: &str) -> Option<bool> {
    let on = tree.flag(&format!("proc/sys/kernel/{name}"))?;
    Some(on && tree.flag("proc/sys/kernel/watchdog") != Some(false))
}

/// More ticks per second than any kernel has: a resolution of 1 ns is not a tick.
const TICK_RATE_MAX: u32 = 100_000;

/// Ticks per second, from the length of a tick as the kernel rounds it.
fn tick_rate(tick: Nanos) -> Option<u32> {
    let rate = 1_000_000_000_u64.checked_add(tick.as_nanos() / 2)?.checked_div(tick.as_nanos())?;
    u32::try_from(rate).ok().filter(|rate| (1..=TICK_RATE_MAX).contains(rate))
}

fn high_resolution(tree: &Tree<'_>, calls: &CallFacts) -> Option<bool> {
    let from_list = || {
        let list = tree.text("proc/timer_list")?;
        let (_, active) = list.lines().find_map(|line| {
            line.split_once(':').filter(|(name, _)| name.trim() == ".hres_active")
        })?;
        Some(active.trim() == "1")
    };
    calls.timer_resolution.map(|length| length == Nanos::from_nanos(1)).or_else(from_list)
}

fn rt_groups(command_line: Option<&str>, config: &Config) -> Option<bool> {
    match parameter(command_line, "rt_group_sched") {
        // The parameter has an effect only where the kernel was built with budgets.
        Some("0") => Some(false),
        Some("1") if config.is_set("RT_GROUP_SCHED") == Some(true) => Some(true),
        _ if config.is_set("RT_GROUP_SCHED_DEFAULT_DISABLED") == Some(true) => Some(false),
        _ => config.is_set("RT_GROUP_SCHED"),
    }
}

/// The last value of `name=` on the command line, because a later one overrides it.
pub(super) fn parameter<'l>(command_line: Option<&'l str>, name: &str) -> Option<&'l str> {
    command_line?
        .split_whitespace()
        // Arguments after a bare `--` belong to init.
        .take_while(|word| *word != "--")
        .filter_map(|word| word.split_once('=').filter(|(key, _)| *key == name))
        .last()
        .map(|(_, value)| value)
}

/// The kernel's configuration, if there is a readable plain text file.
#[derive(Default)]
pub(super) struct Config(Option<String>);

impl Config {
    fn read(tree: &Tree<'_>, release: Option<&str>) -> Self {
        // A release that leads out of the directory is not valid.
        let Some(release) = release.filter(|release| !release.contains('/')) else {
            return Self(None);
        };
        let places = [
            format!("boot/config-{release}"),
            format!("lib/modules/{release}/config"),
            format!("usr/lib/modules/{release}/config"),
        ];
        Self(places.iter().find_map(|place| tree.words(place)))
    }

    /// The value of an option that is set.
    pub(super) fn value(&self, option: &str) -> Option<&str> {
        self.0.as_deref()?.lines().find_map(|line| {
            line.strip_prefix("CONFIG_")?.strip_prefix(option)?.strip_prefix('=').map(str::trim)
        })
    }

    /// Whether a yes-or-no option is set; `None` where no configuration was found.
    pub(super) fn is_set(&self, option: &str) -> Option<bool> {
        self.0.as_ref().map(|_| self.value(option) == Some("y"))
    }
}
