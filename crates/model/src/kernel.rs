//! Names of kernels to boot as guests.

mod built;

use std::fmt;
use std::str::FromStr;

pub use built::{BuiltKernel, BuiltPreemption, NotABuiltKernel, TickRate, Timers};

use crate::text::{UnknownWord, keywords, nearest, serde_as_text};

keywords! {
    /// The kernel builds that Debian packages.
    pub enum Flavour: "flavour of Debian's kernels" {
        /// For every machine: `linux-image-amd64`.
        Generic = "debian",
        /// For virtual machines: `linux-image-cloud-amd64`.
        Cloud = "debian-cloud",
        /// With the real-time patches: `linux-image-rt-amd64`.
        Realtime = "debian-rt",
    }
}

keywords! {
    /// The architectures that guests can have, by Debian's names.
    pub enum Architecture: "architecture" {
        /// x86-64, which the kernel calls `x86_64`.
        Amd64 = "amd64",
        /// AArch64, which the kernel calls `arm64` or `aarch64`.
        Arm64 = "arm64",
    }
}

/// The suffix of the names of Debian's kernels for arm64, as in Debian's own names of packages.
const ARM64_SUFFIX: &str = "-arm64";

/// Where a kernel comes from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KernelSource {
    /// A Debian package, fetched by the system's package manager.
    Debian {
        /// Which build.
        flavour: Flavour,
        /// For which CPUs.
        architecture: Architecture,
        /// The version in the package's name, for example `6.1.0-56`; the current version if
        /// absent.
        version: Option<String>,
    },
    /// One of the kernels in `/boot`.
    Installed {
        /// Its release, as printed by `uname -r`; the running kernel if absent.
        release: Option<String>,
    },
    /// Built from Debian's source, with the project's patch and configuration.
    Built(BuiltKernel),
    /// A file.
    File(String),
}

/// A kernel to boot, with additional command-line parameters.
///
/// As text: `debian-rt`, `debian@6.1.0-56`, `debian-cloud-arm64`, `installed`, `installed@6.1.0-56-amd64`,
/// `built+hz=1000+timers=periodic`, `./bzImage`; parameters follow a colon, separated by
/// commas: `debian:preempt=none,threadirqs`. A parameter that contains a comma cannot be
/// written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GuestKernel {
    /// Where it comes from.
    pub source: KernelSource,
    /// Additional parameters for its command line.
    pub parameters: Vec<String>,
}

/// The preemption models that can be selected at boot.
const PREEMPTION_MODELS: [&str; 4] = ["none", "voluntary", "full", "lazy"];

impl GuestKernel {
    /// The requested preemption model, if there is one.
    pub fn preemption(&self) -> Option<&str> {
        let asked = self.parameters.iter().rev().find_map(|word| word.strip_prefix("preempt="));
        self.source.fixed_preemption().or(asked)
    }
}

impl KernelSource {
    /// The CPUs that the kernel is for, if its name says it. A file or an installed kernel has to
    /// be read.
    pub const fn architecture(&self) -> Option<Architecture> {
        match self {
            Self::Debian { architecture, .. } => Some(*architecture),
            Self::Built(_) => Some(Architecture::Amd64),
            Self::Installed { .. } | Self::File(_) => None,
        }
    }

    /// The fixed preemption model of the kernel, if its name determines it.
    fn fixed_preemption(&self) -> Option<&'static str> {
        match self {
            Self::Debian { flavour: Flavour::Realtime, .. } => Some("rt"),
            Self::Built(kernel) => kernel.fixed_preemption(),
            Self::Debian { .. } | Self::Installed { .. } | Self::File(_) => None,
        }
    }
}

impl fmt::Display for KernelSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, suffix, version) = match self {
            Self::Debian { flavour, architecture: Architecture::Amd64, version } => {
                (flavour.word(), "", version)
            }
            Self::Debian { flavour, architecture: Architecture::Arm64, version } => {
                (flavour.word(), ARM64_SUFFIX, version)
            }
            Self::Installed { release } => ("installed", "", release),
            Self::Built(kernel) => return kernel.fmt(f),
            Self::File(path) => return f.write_str(path),
        };
        match version {
            None => write!(f, "{word}{suffix}"),
            Some(version) => write!(f, "{word}{suffix}@{version}"),
        }
    }
}

impl fmt::Display for GuestKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.parameters.as_slice() {
            [] => self.source.to_string(),
            parameters => format!("{}:{}", self.source, parameters.join(",")),
        };
        f.pad(&text)
    }
}

/// The error for a text that does not name a kernel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAKernel {
    /// The source is unknown.
    #[error("{0}; or a file, with a path that begins with `/` or `.`")]
    Source(UnknownWord),
    /// The version would name another package or none.
    #[error(
        "`{0}` is not a version; write it as in the package's name or in `uname -r`, e.g. 6.1.0-56"
    )]
    Version(String),
    /// A colon has no parameters after it.
    #[error(
        "nothing follows the colon of `{0}:`; write parameters after it, e.g. {0}:preempt=none,threadirqs, or leave it out"
    )]
    NoParameter(String),
    /// The text is not a parameter, or the lab sets the parameter.
    #[error(
        "`{0}` cannot be added to a guest's command line; write parameters after a colon, e.g. :preempt=none,threadirqs"
    )]
    Parameter(String),
    /// The preemption model is unknown.
    #[error("`{given}` is not a preemption model{hint}; it is one of: none, voluntary, full, lazy")]
    Preemption {
        /// The given text.
        given: String,
        /// " (did you mean …?)", or empty.
        hint: String,
    },
    /// The kernel has a fixed preemption model, whatever its command line says.
    #[error("{source_text} is always preempted as `{model}`; remove preempt=, or use {instead}")]
    FixedPreemption {
        /// The kernel, without parameters.
        source_text: String,
        /// Its model.
        model: &'static str,
        /// A kernel with a choice of models.
        instead: &'static str,
    },
    /// The kernel cannot be built.
    #[error(transparent)]
    Built(#[from] NotABuiltKernel),
}

/// Parameters that the lab sets itself, to boot the guest and to receive its output.
const OURS: [&str; 6] = ["console", "rdinit", "init", "panic", "root", "quiet"];

impl FromStr for GuestKernel {
    type Err = NotAKernel;

    fn from_str(text: &str) -> Result<Self, NotAKernel> {
        let (source, parameters) = match text.split_once(':') {
            None => (text, Vec::new()),
            Some((source, "")) => return Err(NotAKernel::NoParameter(source.to_owned())),
            Some((source, parameters)) => {
                let read: Result<Vec<_>, _> = parameters.split(',').map(parameter).collect();
                (source, read?)
            }
        };
        let kernel = Self { source: self::source(source)?, parameters };
        if let Some(model) = kernel.source.fixed_preemption()
            && kernel.parameters.iter().any(|word| word.starts_with("preempt="))
        {
            let instead = match kernel.source {
                KernelSource::Built(_) => "`built` without +preempt=",
                _ => "`debian`",
            };
            let source_text = kernel.source.to_string();
            return Err(NotAKernel::FixedPreemption { source_text, model, instead });
        }
        Ok(kernel)
    }
}

fn source(text: &str) -> Result<KernelSource, NotAKernel> {
    if text.starts_with(['/', '.']) {
        return Ok(KernelSource::File(text.to_owned()));
    }
    let begin = text.split(['@', '+']).next().unwrap_or_default();
    if begin == BuiltKernel::WORD {
        return Ok(KernelSource::Built(text.parse()?));
    }
    let (word, version) = match text.split_once('@') {
        None => (text, None),
        Some((word, version)) => {
            let allowed = |c: char| c.is_ascii_alphanumeric() || ".-+~_".contains(c);
            if version.is_empty() || !version.chars().all(allowed) {
                return Err(NotAKernel::Version(version.to_owned()));
            }
            (word, Some(version.to_owned()))
        }
    };
    if word == "installed" {
        return Ok(KernelSource::Installed { release: version });
    }
    let (flavour, architecture) = match word.strip_suffix(ARM64_SUFFIX) {
        Some(flavour) => (flavour, Architecture::Arm64),
        None => (word, Architecture::Amd64),
    };
    let flavour = flavour.parse().map_err(|_| {
        let arm64: Vec<String> =
            Flavour::ALL.iter().map(|flavour| format!("{flavour}{ARM64_SUFFIX}")).collect();
        let known: Vec<&str> = Flavour::ALL
            .iter()
            .map(|flavour| flavour.word())
            .chain(arm64.iter().map(String::as_str))
            .chain(["installed", BuiltKernel::WORD])
            .collect();
        NotAKernel::Source(UnknownWord::new("kernel", begin, &known))
    })?;
    Ok(KernelSource::Debian { flavour, architecture, version })
}

fn parameter(word: &str) -> Result<String, NotAKernel> {
    let name = word.split('=').next().unwrap_or_default();
    let is_plain = word.chars().all(|c| c.is_ascii_graphic() && !"\"'".contains(c));
    if name.is_empty() || !is_plain || name.starts_with('-') || OURS.contains(&name) {
        return Err(NotAKernel::Parameter(word.to_owned()));
    }
    match word.strip_prefix("preempt=") {
        Some(model) if !PREEMPTION_MODELS.contains(&model) => {
            let hint = nearest(model, &PREEMPTION_MODELS)
                .map(|near| format!(" (did you mean `{near}`?)"))
                .unwrap_or_default();
            Err(NotAKernel::Preemption { given: model.to_owned(), hint })
        }
        _ => Ok(word.to_owned()),
    }
}

serde_as_text!(GuestKernel);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_read_and_written() {
        for text in [
            "debian",
            "debian-rt@6.1.0-56",
            "debian-arm64",
            "debian-cloud-arm64@6.1.0-56:preempt=none",
            "debian-cloud:preempt=none,threadirqs",
            "installed",
            "installed@6.18.44",
            "built+hz=1000+timers=periodic:preempt=none",
            "./bzImage",
            "/boot/vmlinuz-6.1:nosmt",
        ] {
            assert_eq!(text.parse::<GuestKernel>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn the_requested_preemption_model_is_known() {
        let asked =
            |text: &str| text.parse::<GuestKernel>().unwrap().preemption().map(str::to_owned);
        assert_eq!(asked("debian:preempt=full,nosmt"), Some("full".to_owned()));
        assert_eq!(asked("debian-rt"), Some("rt".to_owned()));
        assert_eq!(asked("debian-rt-arm64"), Some("rt".to_owned()));
        assert_eq!(asked("built+preempt=rt"), Some("rt".to_owned()));
        assert_eq!(asked("built:preempt=none"), Some("none".to_owned()));
        assert_eq!(asked("built"), None);
        assert_eq!(asked("debian"), None);
    }

    fn check_refused(text: &str, part: &str) {
        let error = text.parse::<GuestKernel>().unwrap_err().to_string();
        assert!(error.contains(part), "{text}: {error}");
    }

    #[test]
    fn an_unknown_kernel_is_rejected_with_the_nearest_choice() {
        check_refused("debain-rt", "did you mean `debian-rt`?");
        check_refused("debian-cluod-arm64", "did you mean `debian-cloud-arm64`?");
        check_refused("bzImage", "begins with `/` or `.`");
        check_refused("debian@", "is not a version");
        check_refused("debian@6.1 rm", "is not a version");
        check_refused("debian:preempt=ful", "did you mean `full`?");
        check_refused("debian-rt:preempt=none", "always preempted");
        check_refused("built+preempt=rt:preempt=none", "use `built` without +preempt=");
        check_refused("bult+hz=100", "did you mean `built`?");
        check_refused("built+hz=20", "did you mean `100`?");
        check_refused("debian:console=ttyS0", "cannot be added");
        check_refused("debian:", "nothing follows the colon of `debian:`");
        check_refused("debian:nosmt,", "cannot be added");
        check_refused("debian:a b", "cannot be added");
        check_refused("debian:--", "cannot be added");
    }
}
