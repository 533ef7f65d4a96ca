//! The kernel's preemption model.

use super::Tree;
use super::kernel::{Config, parameter};

/// `none`, `voluntary`, `full`, `lazy` or `rt`.
///
/// The running mode takes precedence over the boot parameter, and that over the
/// configuration.
pub(super) fn read(
    tree: &Tree<'_>,
    version: Option<&str>,
    command_line: Option<&str>,
    config: &Config,
) -> Option<String> {
    let built = version.map(Built::parse);
    let found = if tree.flag("sys/kernel/realtime") == Some(true) || built == Some(Built::Realtime)
    {
        Some("rt")
    } else if let Some(now) = running(tree) {
        Some(now)
    } else {
        match built {
            Some(Built::Dynamic) => booted(command_line).or_else(|| configured(config)),
            Some(Built::Full) => Some("full"),
            Some(Built::Lazy) => Some("lazy"),
            // The version string does not distinguish none from voluntary.
            Some(Built::Without) | None => configured(config),
            Some(Built::Realtime) => Some("rt"),
        }
    };
    found.map(str::to_owned)
}

/// What `uname -v` says about the kernel's configuration.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Built {
    Realtime,
    Dynamic,
    Full,
    Lazy,
    Without,
}

impl Built {
    fn parse(version: &str) -> Self {
        // The first real-time patches wrote two words; newer kernels write PREEMPT_{RT,…}.
        if version.contains("PREEMPT_RT")
            || version.contains("PREEMPT RT")
            || version.contains("PREEMPT_{RT")
        {
            return Self::Realtime;
        }
        let word = version.split_whitespace().find(|word| word.starts_with("PREEMPT"));
        match word {
            Some("PREEMPT_DYNAMIC") => Self::Dynamic,
            Some("PREEMPT") => Self::Full,
            Some("PREEMPT_LAZY") => Self::Lazy,
            _ => Self::Without,
        }
    }
}

/// The running mode of a kernel with a choice: `none voluntary (full)`.
fn running(tree: &Tree<'_>) -> Option<&'static str> {
    let choices = tree.text("sys/kernel/debug/sched/preempt")?;
    let (_, rest) = choices.split_once('(')?;
    model(rest.split_once(')')?.0)
}

fn booted(command_line: Option<&str>) -> Option<&'static str> {
    parameter(command_line, "preempt").and_then(model)
}

fn configured(config: &Config) -> Option<&'static str> {
    [
        ("PREEMPT_RT", "rt"),
        ("PREEMPT_LAZY", "lazy"),
        ("PREEMPT", "full"),
        ("PREEMPT_VOLUNTARY", "voluntary"),
        ("PREEMPT_NONE", "none"),
    ]
    .into_iter()
    .find(|(option, _)| config.is_set(option) == Some(true))
    .map(|(_, model)| model)
}

fn model(word: &str) -> Option<&'static str> {
    ["none", "voluntary", "full", "lazy"].into_iter().find(|known| *known == word)
}
