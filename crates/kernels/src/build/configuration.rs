//! How a kernel is configured: what we ask for, and whether Linux took it.

use std::collections::BTreeMap;

use tactus_model::kernel::{BuiltKernel, BuiltPreemption, Timers};

/// What every kernel of the lab has.
const BASE: &str = include_str!("../../linux/lab.config");

/// A kernel's configuration as it is asked for. What it does not name is off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Configuration {
    /// All that is asked for, by name without `CONFIG_`.
    options: BTreeMap<String, String>,
    /// The names that this kernel's own options decided.
    own: Vec<String>,
}

impl Configuration {
    /// The configuration of `kernel`: what all have, and over it the kernel's own.
    pub(super) fn of(kernel: &BuiltKernel) -> Self {
        let mut options: BTreeMap<String, String> =
            assignments(BASE).map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let own = own(kernel);
        options.extend(own.clone());
        Self { options, own: own.into_keys().collect() }
    }

    /// The file that `make allnoconfig` takes as `KCONFIG_ALLCONFIG`.
    pub(super) fn text(&self) -> String {
        self.options
            .iter()
            .map(|(name, value)| format!("CONFIG_{name}={}\n", quoted(value)))
            .collect()
    }

    /// The kernel's own options that Linux has otherwise in its configuration `found`.
    pub(super) fn refused(&self, found: &str) -> Vec<Refused> {
        let found: BTreeMap<&str, &str> = assignments(found).collect();
        let differs = |name: &String| {
            let asked = self.options.get(name)?;
            // An option that is off is not written there.
            let found = found.get(name.as_str()).copied().unwrap_or("n");
            let same = found == asked || found == quoted(asked);
            (!same).then(|| Refused {
                name: name.clone(),
                asked: asked.clone(),
                found: found.to_owned(),
            })
        };
        self.own.iter().filter_map(differs).collect()
    }
}

/// An option that Linux's configuration has otherwise than it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Its name, without `CONFIG_`.
    pub name: String,
    /// What was asked for.
    pub asked: String,
    /// What it is.
    pub found: String,
}

/// What the options of `kernel` come to.
fn own(kernel: &BuiltKernel) -> BTreeMap<String, String> {
    let timers: &[(&str, &str)] = match kernel.timers {
        Timers::HighResolution => &[("HIGH_RES_TIMERS", "y"), ("NO_HZ_IDLE", "y")],
        Timers::Periodic => &[("HIGH_RES_TIMERS", "n"), ("HZ_PERIODIC", "y")],
    };
    let preemption: &[(&str, &str)] = match kernel.preemption {
        BuiltPreemption::Dynamic => &[("PREEMPT", "y"), ("PREEMPT_DYNAMIC", "y")],
        BuiltPreemption::None => &[("PREEMPT_NONE", "y"), ("PREEMPT_DYNAMIC", "n")],
        BuiltPreemption::Voluntary => &[("PREEMPT_VOLUNTARY", "y"), ("PREEMPT_DYNAMIC", "n")],
        BuiltPreemption::Full => &[("PREEMPT", "y"), ("PREEMPT_DYNAMIC", "n")],
        // Debian's real-time kernel boosts readers of RCU too.
        BuiltPreemption::Realtime => &[("PREEMPT_RT", "y"), ("RCU_BOOST", "y")],
    };
    let rate = kernel.tick_rate.as_hertz().to_string();
    let rate = [("HZ_CUSTOM", "y"), ("HZ_CUSTOM_VALUE", &rate), ("HZ", &rate)];
    let words = [timers, preemption, &rate].concat();
    let mut own: BTreeMap<String, String> =
        words.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    // Another idle tick may be asked for in place of the one that goes with the timers.
    if kernel.options.contains_key("NO_HZ_FULL") {
        own.remove("NO_HZ_IDLE");
    }
    own.extend(kernel.options.clone());
    own
}

/// The options of a configuration file that are set, without `CONFIG_`.
fn assignments(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter_map(|line| line.strip_prefix("CONFIG_")?.split_once('='))
}

/// A value as a configuration file writes it: texts have quotes, and what is none has not.
fn quoted(value: &str) -> String {
    let is_number = value.parse::<i64>().is_ok()
        || value.strip_prefix("0x").is_some_and(|rest| u64::from_str_radix(rest, 16).is_ok());
    if is_number || ["y", "n"].contains(&value) || value.starts_with('"') {
        value.to_owned()
    } else {
        format!("\"{value}\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn configuration(kernel: &str) -> Configuration {
        Configuration::of(&kernel.parse().unwrap())
    }

    #[test]
    fn a_kernels_own_options_go_before_those_that_all_have() {
        let text = configuration("built+hz=1000+timers=periodic+SMP=n+CMDLINE=ro").text();
        for line in [
            "CONFIG_HZ_CUSTOM_VALUE=1000",
            "CONFIG_HZ_PERIODIC=y",
            "CONFIG_HIGH_RES_TIMERS=n",
            "CONFIG_SMP=n",
            "CONFIG_CMDLINE=\"ro\"",
            "CONFIG_OSNOISE_TRACER=y",
            "CONFIG_LOCALVERSION=\"-tactus\"",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
        }
        assert!(!text.contains("CONFIG_SMP=y"), "{text}");
    }

    #[test]
    fn the_options_of_all_are_written_once_and_none_of_them_decides_about_time() {
        let names: Vec<&str> = assignments(BASE).map(|(name, _)| name).collect();
        let mut once = names.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(names.len(), once.len());
        assert!(names.iter().all(|name| !name.starts_with("HZ") && !name.starts_with("PREEMPT")));
    }

    #[test]
    fn what_linux_did_not_take_is_told() {
        let asked = configuration("built+hz=100+DEBUG_LIST=y+SMP=n+CMDLINE=ro+NR=0x10");
        let taken = "CONFIG_HZ=100\nCONFIG_HZ_CUSTOM=y\nCONFIG_HZ_CUSTOM_VALUE=100\n\
                     CONFIG_HIGH_RES_TIMERS=y\nCONFIG_NO_HZ_IDLE=y\nCONFIG_PREEMPT=y\n\
                     CONFIG_PREEMPT_DYNAMIC=y\nCONFIG_CMDLINE=\"ro\"\nCONFIG_NR=0x10\n";
        let list = format!("{taken}CONFIG_DEBUG_LIST=y\n# CONFIG_SMP is not set\n");
        assert_eq!(asked.refused(&list), []);
        let refused = asked.refused(&format!("{taken}CONFIG_SMP=y\n"));
        let told: Vec<_> = refused
            .iter()
            .map(|one| (one.name.as_str(), one.asked.as_str(), one.found.as_str()))
            .collect();
        assert_eq!(told, [("DEBUG_LIST", "y", "n"), ("SMP", "n", "y")]);
    }
}
