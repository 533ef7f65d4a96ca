//! Names of kernels that are built from Debian's source.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use crate::text::{UnknownWord, keywords};

keywords! {
    /// How a kernel's timers expire.
    pub enum Timers: "kind of timers" {
        /// The next timer programs the hardware, and an idle CPU has no tick:
        /// `CONFIG_HIGH_RES_TIMERS` and `CONFIG_NO_HZ_IDLE`.
        HighResolution = "high-resolution",
        /// Timers expire at ticks only, and the tick never stops: no `CONFIG_HIGH_RES_TIMERS`,
        /// and `CONFIG_HZ_PERIODIC`.
        Periodic = "periodic",
    }
}

keywords! {
    /// The preemption model a kernel is built with.
    pub enum BuiltPreemption: "preemption model to build" {
        /// Selected at boot (`:preempt=none`, `voluntary` or `full`); `full` by default:
        /// `CONFIG_PREEMPT_DYNAMIC`.
        Dynamic = "dynamic",
        /// No preemption in the kernel: `CONFIG_PREEMPT_NONE`.
        None = "none",
        /// Preemption at explicit points: `CONFIG_PREEMPT_VOLUNTARY`.
        Voluntary = "voluntary",
        /// Preemption wherever no lock is held: `CONFIG_PREEMPT`.
        Full = "full",
        /// Preemption nearly everywhere, with threaded interrupts: `CONFIG_PREEMPT_RT`.
        Realtime = "rt",
    }
}

/// The tick rate of a kernel in Hz: `CONFIG_HZ`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TickRate(u32);

impl TickRate {
    /// The slowest and the fastest rate: 100 Hz is Linux's minimum, the project's patch adds
    /// rates up to 20 kHz.
    pub const RANGE: std::ops::RangeInclusive<u32> = 100..=20_000;

    /// A rate in Hz; `None` outside [`Self::RANGE`].
    pub fn from_hertz(hertz: u32) -> Option<Self> {
        Self::RANGE.contains(&hertz).then_some(Self(hertz))
    }

    /// The rate in Hz.
    pub const fn as_hertz(self) -> u32 {
        self.0
    }
}

impl Default for TickRate {
    /// Debian's own rate.
    fn default() -> Self {
        Self(250)
    }
}

/// A kernel to build from Debian's source.
///
/// As text: `built`, then `@` and a version, then options, each after a `+`, in any order:
/// `built@6.12+hz=1000+timers=periodic+preempt=rt+DEBUG_LIST=y`. The last is an option of the
/// kernel's own configuration, without its `CONFIG_` prefix.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BuiltKernel {
    /// The version of the source, as in the name of Debian's package (`6.12`), or that
    /// package's own version (`6.12.117-1~deb12u1`); the lab's default version if absent.
    pub version: Option<String>,
    /// The tick rate.
    pub tick_rate: TickRate,
    /// How timers expire.
    pub timers: Timers,
    /// The preemption model.
    pub preemption: BuiltPreemption,
    /// Further options of its configuration, without the `CONFIG_` prefix: `y`, `n`, a number,
    /// or a text without quotes.
    pub options: BTreeMap<String, String>,
}

impl Default for BuiltKernel {
    fn default() -> Self {
        Self {
            version: None,
            tick_rate: TickRate::default(),
            timers: Timers::HighResolution,
            preemption: BuiltPreemption::Dynamic,
            options: BTreeMap::new(),
        }
    }
}

impl BuiltKernel {
    /// The word that begins the name.
    pub const WORD: &str = "built";

    /// The preemption model, if it is fixed at build time.
    pub const fn fixed_preemption(&self) -> Option<&'static str> {
        match self.preemption {
            BuiltPreemption::Dynamic => None,
            fixed => Some(fixed.word()),
        }
    }
}

impl fmt::Display for BuiltKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ordinary = Self::default();
        f.write_str(Self::WORD)?;
        if let Some(version) = &self.version {
            write!(f, "@{version}")?;
        }
        if self.tick_rate != ordinary.tick_rate {
            write!(f, "+hz={}", self.tick_rate.as_hertz())?;
        }
        if self.timers != ordinary.timers {
            write!(f, "+timers={}", self.timers)?;
        }
        if self.preemption != ordinary.preemption {
            write!(f, "+preempt={}", self.preemption)?;
        }
        self.options.iter().try_for_each(|(name, value)| write!(f, "+{name}={value}"))
    }
}

/// The error for a text that does not name a kernel to build.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotABuiltKernel {
    /// The text does not begin with `built`.
    #[error(
        "`{0}` is not a kernel to build: write `built`, with a version after `@` and options after `+`"
    )]
    Word(String),
    /// The version would name another package or none.
    #[error("`{0}` is not a version of Linux; write it as in built@6.12")]
    Version(String),
    /// The option is unknown.
    #[error("{0}; or an option of the kernel's own configuration, in capitals: +DEBUG_LIST=y")]
    Option(UnknownWord),
    /// An option has no value.
    #[error("`{0}` has no value; write options with a value, e.g. +hz=1000")]
    NoValue(String),
    /// An option is given more than once.
    #[error("`{0}` is given more than once")]
    Twice(String),
    /// The tick rate is not a number, or out of range.
    #[error("`{given}` is not a supported tick rate; the range is {least} to {most} Hz{hint}")]
    TickRate {
        /// The given text.
        given: String,
        /// The slowest, in Hz.
        least: u32,
        /// The fastest, in Hz.
        most: u32,
        /// The nearest supported rate, if a number was given.
        hint: String,
    },
    /// The value is not a known word of the option.
    #[error(transparent)]
    Choice(#[from] UnknownWord),
    /// The value is not valid in a kernel configuration.
    #[error(
        "`{value}` cannot be the value of {name}; write y, n, a number, or a text of letters, \
         digits and _-./"
    )]
    Value {
        /// The option.
        name: String,
        /// The given value.
        value: String,
    },
    /// A guest cannot load modules.
    #[error("{0}=m: a guest cannot load modules; {0}=y builds it in")]
    Module(String),
    /// Another word of Tactus sets this option.
    #[error("{name} is set by {instead}")]
    Ours {
        /// The option.
        name: String,
        /// The word to use instead.
        instead: &'static str,
    },
}

impl FromStr for BuiltKernel {
    type Err = NotABuiltKernel;

    fn from_str(text: &str) -> Result<Self, NotABuiltKernel> {
        let mut parts = text.split('+');
        let head = parts.next().unwrap_or_default();
        let (word, version) = match head.split_once('@') {
            None => (head, None),
            Some((word, version)) => (word, Some(self::version(version)?)),
        };
        if word != Self::WORD {
            return Err(NotABuiltKernel::Word(text.to_owned()));
        }
        let mut kernel = Self { version, ..Self::default() };
        let mut given = Vec::new();
        for part in parts {
            let (name, value) =
                part.split_once('=').ok_or_else(|| NotABuiltKernel::NoValue(part.to_owned()))?;
            let name = name.strip_prefix("CONFIG_").unwrap_or(name);
            if given.contains(&name) {
                return Err(NotABuiltKernel::Twice(name.to_owned()));
            }
            given.push(name);
            kernel.set(name, value)?;
        }
        Ok(kernel)
    }
}

/// The options with words of their own.
const OPTIONS: [&str; 3] = ["hz", "timers", "preempt"];

impl BuiltKernel {
    fn set(&mut self, name: &str, value: &str) -> Result<(), NotABuiltKernel> {
        match name {
            "hz" => self.tick_rate = tick_rate(value)?,
            "timers" => self.timers = value.parse()?,
            "preempt" => self.preemption = value.parse()?,
            _ => {
                let value = configured(name, value)?;
                self.options.insert(name.to_owned(), value);
            }
        }
        Ok(())
    }
}

fn version(text: &str) -> Result<String, NotABuiltKernel> {
    // The version becomes part of package and directory names.
    let plain = |c: char| c.is_ascii_alphanumeric() || ".-~".contains(c);
    let is_version = text.starts_with(|c: char| c.is_ascii_digit()) && text.chars().all(plain);
    is_version.then(|| text.to_owned()).ok_or_else(|| NotABuiltKernel::Version(text.to_owned()))
}

fn tick_rate(given: &str) -> Result<TickRate, NotABuiltKernel> {
    let (least, most) = TickRate::RANGE.into_inner();
    let hertz = given.parse::<u32>().ok();
    hertz.and_then(TickRate::from_hertz).ok_or_else(|| {
        let hint = hertz.map(|hertz| format!(" (did you mean `{}`?)", hertz.clamp(least, most)));
        let hint = hint.unwrap_or_default();
        NotABuiltKernel::TickRate { given: given.to_owned(), least, most, hint }
    })
}

/// Checks the value of an option of the kernel's own configuration.
fn configured(name: &str, value: &str) -> Result<String, NotABuiltKernel> {
    let capital = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    if name.is_empty() || !name.chars().all(capital) {
        return Err(NotABuiltKernel::Option(unknown(name)));
    }
    if let Some(instead) = word_for(name) {
        return Err(NotABuiltKernel::Ours { name: name.to_owned(), instead });
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    match value {
        "m" => Err(NotABuiltKernel::Module(name.to_owned())),
        value if !value.is_empty() && value.chars().all(plain) => Ok(value.to_owned()),
        value => Err(NotABuiltKernel::Value { name: name.to_owned(), value: value.to_owned() }),
    }
}

/// A name that is neither a word of Tactus nor in capitals.
fn unknown(name: &str) -> UnknownWord {
    // A kernel option in lower case is reported as such, unless it is close to a word of
    // Tactus.
    UnknownWord::new("option of built kernels", name, &OPTIONS)
}

/// The word of Tactus that sets an option of the kernel's configuration.
fn word_for(name: &str) -> Option<&'static str> {
    match name {
        "HIGH_RES_TIMERS" | "HZ_PERIODIC" | "NO_HZ_IDLE" => {
            Some("timers=high-resolution or timers=periodic")
        }
        "PREEMPT" | "PREEMPT_NONE" | "PREEMPT_VOLUNTARY" | "PREEMPT_RT" | "PREEMPT_DYNAMIC" => {
            Some("preempt=dynamic, none, voluntary, full or rt")
        }
        _ if name == "HZ" || name.starts_with("HZ_") => Some("hz=, from 100 to 20000"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(text: &str) -> String {
        text.parse::<BuiltKernel>().unwrap().to_string()
    }

    #[test]
    fn options_are_parsed_in_any_order_and_written_in_a_fixed_one() {
        for (given, expected) in [
            ("built", "built"),
            ("built+hz=250+timers=high-resolution+preempt=dynamic", "built"),
            ("built@6.12+preempt=rt+hz=1000", "built@6.12+hz=1000+preempt=rt"),
            ("built+DEBUG_LIST=y+CONFIG_ACPI=n", "built+ACPI=n+DEBUG_LIST=y"),
            (
                "built+PANIC_TIMEOUT=5+timers=periodic+hz=20000",
                "built+hz=20000+timers=periodic+PANIC_TIMEOUT=5",
            ),
        ] {
            assert_eq!(written(given), expected, "{given}");
        }
    }

    fn check_refused(text: &str, part: &str) {
        let error = text.parse::<BuiltKernel>().unwrap_err().to_string();
        assert!(error.contains(part), "{text}: {error}");
    }

    #[test]
    fn an_unsupported_kernel_is_rejected_with_the_nearest_choice() {
        check_refused("built+hz=50", "did you mean `100`?");
        check_refused("built+hz=48000", "did you mean `20000`?");
        check_refused("built+hz=often", "100 to 20000 Hz");
        check_refused("built+timers=periodc", "did you mean `periodic`?");
        check_refused("built+preempt=rtt", "did you mean `rt`?");
        check_refused("built+timer=periodic", "did you mean `timers`?");
        check_refused("built+debug_list=y", "in capitals");
        check_refused("built+DEBUG_LIST", "has no value");
        check_refused("built+DEBUG_LIST=", "cannot be the value of DEBUG_LIST");
        check_refused("built+EXT4_FS=m", "EXT4_FS=y builds it in");
        check_refused("built+hz=100+hz=100", "`hz` is given more than once");
        check_refused("built+SMP=n+CONFIG_SMP=y", "`SMP` is given more than once");
        check_refused("built+HZ_1000=y", "set by hz=");
        check_refused("built+PREEMPT_RT=y", "set by preempt=");
        check_refused("built+NO_HZ_IDLE=y", "set by timers=");
        check_refused("built@latest", "is not a version");
        check_refused("built@6.12/..", "is not a version");
        check_refused("builtin", "write `built`");
    }

    #[test]
    fn a_model_not_selected_at_boot_is_fixed() {
        let fixed = |text: &str| text.parse::<BuiltKernel>().unwrap().fixed_preemption();
        assert_eq!(fixed("built"), None);
        assert_eq!(fixed("built+preempt=none"), Some("none"));
        assert_eq!(fixed("built+preempt=rt"), Some("rt"));
    }

    proptest! {
        #[test]
        fn every_kernel_to_build_round_trips(
            hertz in 100_u32..=20_000,
            timers in prop::sample::select(Timers::ALL),
            preemption in prop::sample::select(BuiltPreemption::ALL),
            version in prop::option::of("[1-9][0-9.~-]{0,8}"),
            options in prop::collection::btree_map("X[A-Z0-9_]{0,12}", "[yn]|[a-z0-9./]{2,9}", 0..4),
        ) {
            let tick_rate = TickRate::from_hertz(hertz).unwrap();
            let kernel = BuiltKernel { version, tick_rate, timers, preemption, options };
            prop_assert_eq!(kernel.to_string().parse::<BuiltKernel>().unwrap(), kernel);
        }
    }
}
