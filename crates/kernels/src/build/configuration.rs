//! A kernel's configuration: our request, and whether Linux accepted it.

use std::collections::BTreeMap;

use tactus_model::kernel::{BuiltKernel, BuiltPreemption, Timers};

/// The options of every kernel of the lab.
const BASE: &str = include_str!("../../linux/lab.config");

/// A requested configuration. Options that it does not name are off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Configuration {
    /// All requested options, by name without `CONFIG_`.
    options: BTreeMap<String, String>,
    /// The names that come from this kernel's own options.
    own: Vec<String>,
}

impl Configuration {
    /// The configuration of `kernel`: the common options, overridden by its own.
    pub(super) fn of(kernel: &BuiltKernel) -> Self {
        let mut options: BTreeMap<String, String> =
            assignments(BASE).map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let own = own(kernel);
        options.extend(own.clone());
        Self { options, own: own.into_keys().collect() }
    }

    /// The file for `KCONFIG_ALLCONFIG` of `make allnoconfig`.
    pub(super) fn text(&self) -> String {
        self.options
            .iter()
            .map(|(name, value)| format!("CONFIG_{name}={}\n", quoted(value)))
            .collect()
    }

    /// The kernel's own options that differ in Linux's configuration `found`.
    pub(super) fn refused(&self, found: &str) -> Vec<Refused> {
        let found: BTreeMap<&str, &str> = assignments(found).collect();
        let differs = |name: &String| {
            let requested = self.options.get(name)?;
            // The file omits options that are off.
            let found = found.get(name.as_str()).copied().unwrap_or("n");
            let same = found == requested || found == quoted(requested);
            (!same).then(|| Refused {
                name: name.clone(),
                requested: requested.clone(),
                found: found.to_owned(),
            })
        };
        self.own.iter().filter_map(differs).collect()
    }
}

/// An option whose value in Linux's configuration differs from the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Its name, without `CONFIG_`.
    pub name: String,
    /// The requested value.
    pub requested: String,
    /// Its value.
    pub found: String,
}

/// The configuration options that result from those of `kernel`.
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
        // Debian's real-time kernel boosts RCU readers too.
        BuiltPreemption::Realtime => &[("PREEMPT_RT", "y"), ("RCU_BOOST", "y")],
    };
    let rate = kernel.tick_rate.as_hertz().to_string();
    let rate = [("HZ_CUSTOM", "y"), ("HZ_CUSTOM_VALUE", &rate), ("HZ", &rate)];
    let words = [timers, preemption, &rate].concat();
    let mut own: BTreeMap<String, String> =
        words.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    // A request for full tickless operation replaces the idle tick of the timers.
    if kernel.options.contains_key("NO_HZ_FULL") {
        own.remove("NO_HZ_IDLE");
    }
    own.extend(kernel.options.clone());
    own
}

/// The options set in a configuration file, without `CONFIG_`.
fn assignments(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter_map(|line| line.strip_prefix("CONFIG_")?.split_once('='))
}

/// A value in the form of a configuration file: only texts have quotes.
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
    fn a_kernels_own_options_override_the_common_options() {
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
    fn the_common_options_occur_once_and_do_not_affect_timing() {
        let names: Vec<&str> = assignments(BASE).map(|(name, _)| name).collect();
        let mut once = names.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(names.len(), once.len());
        assert!(names.iter().all(|name| !name.starts_with("HZ") && !name.starts_with("PREEMPT")));
    }

    #[test]
    fn an_option_that_linux_rejects_is_reported() {
        let requested = configuration("built+hz=100+DEBUG_LIST=y+SMP=n+CMDLINE=ro+NR=0x10");
        let accepted = "CONFIG_HZ=100\nCONFIG_HZ_CUSTOM=y\nCONFIG_HZ_CUSTOM_VALUE=100\n\
                     CONFIG_HIGH_RES_TIMERS=y\nCONFIG_NO_HZ_IDLE=y\nCONFIG_PREEMPT=y\n\
                     CONFIG_PREEMPT_DYNAMIC=y\nCONFIG_CMDLINE=\"ro\"\nCONFIG_NR=0x10\n";
        let list = format!("{accepted}CONFIG_DEBUG_LIST=y\n# CONFIG_SMP is not set\n");
        assert_eq!(requested.refused(&list), []);
        let refused = requested.refused(&format!("{accepted}CONFIG_SMP=y\n"));
        let refused: Vec<_> = refused
            .iter()
            .map(|option| (option.name.as_str(), option.requested.as_str(), option.found.as_str()))
            .collect();
        assert_eq!(refused, [("DEBUG_LIST", "y", "n"), ("SMP", "n", "y")]);
    }
}
