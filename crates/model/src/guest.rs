//! Guests: kernels that are booted to measure in, how time passes there, and what a
//! measurement from one carries so that it can be judged and repeated.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::facts::MachineFacts;
use crate::kernel::GuestKernel;
use crate::text::{nearest, serde_as_text};

/// The port by which a guest says its messages: QEMU's debug console.
pub const MESSAGE_PORT: u16 = 0xe9;
/// The port by which a guest ends: QEMU's `isa-debug-exit`.
pub const EXIT_PORT: u16 = 0xf4;
/// What a guest that did what it was asked writes to [`EXIT_PORT`].
pub const DONE: u8 = 0x20;
/// The port by which a guest that has booted asks to be stopped, so that its state can be
/// kept: the watchdog `ib700`, which stops a machine two seconds after [`PAUSE`] is written
/// to it.
pub const PAUSE_PORT: u16 = 0x443;
/// What a guest that has booted writes to [`PAUSE_PORT`].
pub const PAUSE: u8 = 0x0e;
/// How long the guest sleeps then, in seconds: it is stopped while it is idle, since a
/// stop in the midst of instructions is at none in particular.
pub const PAUSE_SECONDS: u64 = 3;
/// The ports of the emulator's `fw_cfg`, by which a guest reads its request: which item is
/// read, and its bytes.
pub const ITEM_PORTS: (u16, u16) = (0x510, 0x511);
/// The name of the request among the emulator's items: a line of JSON. It is part of the
/// command lines in results, so it stays what it was when a request was called an order.
pub const REQUEST_ITEM: &str = "opt/tactus/order";

/// With what exit code QEMU ends when the guest writes `status` to its exit device.
///
/// The device shifts it, so that no guest can end QEMU with the code 0.
pub const fn exit_code(status: u8) -> i32 {
    (status as i32) << 1 | 1
}

/// A kernel as a place to measure in.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Guest {
    /// The kernel.
    pub kernel: GuestKernel,
    /// How time passes there.
    pub time: GuestTime,
}

/// How time passes in a guest. The two never stand in one table.
///
/// As text: `wall`; `exact`, `exact:125`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GuestTime {
    /// As on the host: by hardware virtualization where it works, else by emulation, and
    /// with all that the host does to it.
    Wall,
    /// By instructions executed: a run repeats to the byte.
    Exact(Speed),
}

/// How fast a machine is whose time is its instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Speed {
    shift: u8,
}

impl Speed {
    /// A nanosecond an instruction.
    pub const FASTEST: Self = Self { shift: 0 };
    /// The speeds there are, in millions of instructions a second.
    const MIPS: [u32; 4] = [1000, 500, 250, 125];

    /// A speed in millions of instructions a second: 1000, 500, 250 or 125.
    ///
    /// # Errors
    /// It is none of these; QEMU's clock counts 2ⁿ ns for each instruction.
    pub fn from_mips(mips: u32) -> Result<Self, NotAGuestTime> {
        let shift = Self::MIPS.iter().position(|&known| known == mips);
        let shift = shift.ok_or(NotAGuestTime::Speed(mips.to_string()))?;
        Ok(Self { shift: shift as u8 })
    }

    /// Millions of instructions a second.
    pub const fn mips(self) -> u32 {
        1000 >> self.shift
    }

    /// The binary logarithm of the nanoseconds that an instruction takes: `-icount shift=`.
    pub const fn shift(self) -> u8 {
        self.shift
    }
}

impl GuestTime {
    /// Whether runs repeat to the byte.
    pub const fn is_exact(self) -> bool {
        matches!(self, Self::Exact(_))
    }
}

impl fmt::Display for GuestTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wall => f.pad("wall"),
            Self::Exact(Speed::FASTEST) => f.pad("exact"),
            Self::Exact(speed) => f.pad(&format!("exact:{}", speed.mips())),
        }
    }
}

/// Why a text does not say how time passes in a guest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAGuestTime {
    /// There is no such way.
    #[error("`{given}` is not a time of guests{hint}; it is one of: wall, exact, exact:MIPS")]
    Word {
        /// What was given.
        given: String,
        /// " (did you mean …?)", or nothing.
        hint: String,
    },
    /// QEMU cannot count at this speed.
    #[error(
        "{0} is not a speed of exact time; it is one of: 1000, 500, 250, 125 (million instructions a second)"
    )]
    Speed(String),
}

impl FromStr for GuestTime {
    type Err = NotAGuestTime;

    fn from_str(text: &str) -> Result<Self, NotAGuestTime> {
        match text.split_once(':') {
            None if text == "wall" => Ok(Self::Wall),
            None if text == "exact" => Ok(Self::Exact(Speed::FASTEST)),
            Some(("exact", speed)) => {
                let mips = speed.parse().map_err(|_| NotAGuestTime::Speed(speed.to_owned()))?;
                Speed::from_mips(mips).map(Self::Exact)
            }
            _ => {
                let hint = nearest(text, &["wall", "exact"])
                    .map(|word| format!(" (did you mean `{word}`?)"))
                    .unwrap_or_default();
                Err(NotAGuestTime::Word { given: text.to_owned(), hint })
            }
        }
    }
}

serde_as_text!(GuestTime);

/// What a measurement from a guest was measured in, in full.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GuestAccount {
    /// The release in the header of the kernel's file, as `6.1.0-56-rt-amd64`.
    pub kernel_release: Option<String>,
    /// The SHA-256 digest of the kernel's file.
    pub kernel_sha256: String,
    /// The SHA-256 digest of the program that runs in the guest.
    pub program_sha256: String,
    /// The SHA-256 digest of the archive that holds the program; the request is in the plan.
    pub archive_sha256: String,
    /// The emulator's own word for its version.
    pub emulator: String,
    /// `kvm` or `tcg`.
    pub accelerator: String,
    /// The emulator's arguments in the measured turn; files are named as they stand in its
    /// working directory.
    pub command_line: Vec<String>,
    /// The seed of all random numbers that the emulator gives the guest; in exact time the
    /// turns of a round share it.
    pub seed: u32,
    /// How the run was proved to repeat; `None` in wall time, where none does.
    pub proof: Option<Proof>,
    /// The guest's own facts, after it had booted.
    pub facts: MachineFacts,
}

/// That a run repeats: what it said was the same when it was booted again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    /// How many times it was booted.
    pub runs: u32,
    /// How many bytes each of them said.
    pub bytes: u64,
    /// The SHA-256 digest of these bytes.
    pub sha256: String,
}

/// What exact time leaves out, in words for a reader who knows no emulator.
pub const EXACT_LIMITS: &str = "Exact time counts instructions, one as long as another. It does not \
    know caches, TLBs, pipelines or the cost of mitigations, has one processor, and devices answer at \
    once. It tells how long the kernel's paths are and where they cannot be interrupted, not how long \
    a machine takes.";

/// What holds of figures from a guest in wall time.
pub const WALL_LIMITS: &str = "These figures are virtual: the guest's processors, timers and interrupts \
    are the host's work, and what delays the host delays the guest. They compare kernels on one host; \
    they are not those of a machine.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_written() {
        for text in ["wall", "exact", "exact:500", "exact:125"] {
            assert_eq!(text.parse::<GuestTime>().unwrap().to_string(), text);
        }
        assert_eq!("exact:1000".parse(), Ok(GuestTime::Exact(Speed::FASTEST)));
        assert_eq!(Speed::from_mips(125).unwrap().shift(), 3);
    }

    #[test]
    fn a_wrong_time_names_the_choices() {
        let message = |text: &str| text.parse::<GuestTime>().unwrap_err().to_string();
        assert!(message("exakt").contains("did you mean `exact`?"));
        assert!(message("exact:300").contains("1000, 500, 250, 125"));
        assert!(message("exact:fast").contains("1000, 500, 250, 125"));
    }

    #[test]
    fn the_emulator_never_ends_well_by_the_guests_word() {
        assert_eq!(exit_code(0), 1);
        assert_eq!(exit_code(DONE), 65);
    }
}
