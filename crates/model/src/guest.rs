//! Guests: kernels booted for measurement, how time passes in them, and the data needed to
//! judge and repeat a measurement from one.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::facts::MachineFacts;
use crate::kernel::GuestKernel;
use crate::text::{nearest, serde_as_text};

/// The I/O port on which a guest writes its messages: QEMU's debug console.
pub const MESSAGE_PORT: u16 = 0xe9;
/// The I/O port that ends a guest: QEMU's `isa-debug-exit`.
pub const EXIT_PORT: u16 = 0xf4;
/// The value a guest writes to [`EXIT_PORT`] on success.
pub const DONE: u8 = 0x20;
/// The I/O port with which a booted guest requests a pause, so that its state can be saved: the
/// watchdog `ib700`, which stops the machine two seconds after a write of [`PAUSE`].
pub const PAUSE_PORT: u16 = 0x443;
/// The value a booted guest writes to [`PAUSE_PORT`].
pub const PAUSE: u8 = 0x0e;
/// How long the guest then sleeps, in seconds, so that it is stopped while idle: a stop between
/// two arbitrary instructions would not be reproducible.
pub const PAUSE_SECONDS: u64 = 3;
/// The I/O ports of the emulator's `fw_cfg`, from which a guest reads its request: the item
/// selector and the data.
pub const ITEM_PORTS: (u16, u16) = (0x510, 0x511);
/// The name of the request among the emulator's items: a line of JSON. It is part of the
/// command lines in stored results, so it keeps its former name.
pub const REQUEST_ITEM: &str = "opt/tactus/order";
/// The file with the request in the working directory of the emulator. On x86, the emulator reads
/// it for the item; on Arm, the guest reads it by semihosting.
pub const REQUEST_FILE: &str = "request";

/// The exit code of QEMU after the guest writes `status` to its exit device.
///
/// The device shifts the status, so that no guest can end QEMU with code 0.
pub const fn exit_code(status: u8) -> i32 {
    (status as i32) << 1 | 1
}

/// A kernel as a measurement target.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Guest {
    /// The kernel.
    pub kernel: GuestKernel,
    /// How time passes in the guest.
    pub time: GuestTime,
}

/// How time passes in a guest. Figures of the two kinds never appear in one table.
///
/// As text: `wall`; `exact`, `exact:125`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GuestTime {
    /// Wall time, by hardware virtualization if it works, else by emulation; the host disturbs
    /// it.
    Wall,
    /// Deterministic (instruction-counted) time: a run repeats to the byte.
    Exact(Speed),
}

/// The speed of a machine in instruction-counted time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Speed {
    shift: u8,
}

impl Speed {
    /// One instruction per nanosecond.
    pub const FASTEST: Self = Self { shift: 0 };
    /// The supported speeds, in million instructions per second.
    const MIPS: [u32; 4] = [1000, 500, 250, 125];

    /// A speed in million instructions per second: 1000, 500, 250 or 125.
    ///
    /// # Errors
    /// Any other speed; QEMU's clock counts 2ⁿ ns per instruction.
    pub fn from_mips(mips: u32) -> Result<Self, NotAGuestTime> {
        let shift = Self::MIPS.iter().position(|&known| known == mips);
        let shift = shift.ok_or(NotAGuestTime::Speed(mips.to_string()))?;
        Ok(Self { shift: shift as u8 })
    }

    /// Million instructions per second.
    pub const fn mips(self) -> u32 {
        1000 >> self.shift
    }

    /// The binary logarithm of the nanoseconds per instruction: `-icount shift=`.
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

/// The error for a text that is not a guest time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAGuestTime {
    /// The word is unknown.
    #[error("`{given}` is not a guest time{hint}; it is one of: wall, exact, exact:MIPS")]
    Word {
        /// What was given.
        given: String,
        /// " (did you mean …?)", or empty.
        hint: String,
    },
    /// QEMU does not support this speed.
    #[error(
        "{0} is not a speed of deterministic time; it is one of: 1000, 500, 250, 125 (million instructions a second)"
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

/// The complete description of the guest of a measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GuestAccount {
    /// The release in the header of the kernel file, for example `6.1.0-56-rt-amd64`.
    pub kernel_release: Option<String>,
    /// The SHA-256 digest of the kernel file.
    pub kernel_sha256: String,
    /// The SHA-256 digest of the program that runs in the guest.
    pub program_sha256: String,
    /// The SHA-256 digest of the archive that holds the program; the request is in the plan.
    pub archive_sha256: String,
    /// The version that the emulator reports.
    pub emulator: String,
    /// `kvm` or `tcg`.
    pub accelerator: String,
    /// The emulator's arguments in the measured turn; file names are relative to its working
    /// directory.
    pub command_line: Vec<String>,
    /// The seed of all random numbers that the emulator provides to the guest; in exact time
    /// the turns of a round share it.
    pub seed: u32,
    /// The proof that the run repeats; `None` in wall time, which does not repeat.
    pub proof: Option<Proof>,
    /// The guest's own facts, read after boot.
    pub facts: MachineFacts,
}

/// The proof that a run repeats: its output was the same after another boot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    /// How many separately booted machines had this output.
    pub runs: u32,
    /// How many other machines had another output and were outvoted; at most one, beside two equal
    /// ones.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub outvoted: u32,
    /// The size of each output in bytes.
    pub bytes: u64,
    /// The SHA-256 digest of the output.
    pub sha256: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// The limits of exact time, for readers who do not know emulators.
pub const EXACT_LIMITS: &str = "Deterministic time counts instructions, all of equal length. It does not \
    model caches, TLBs, pipelines or the cost of mitigations, has one CPU, and devices respond at \
    once. It measures how long the kernel's paths are and where they cannot be interrupted, not how long \
    a machine takes.";

/// The limits of figures from a guest in wall time.
pub const WALL_LIMITS: &str = "These figures are virtual: the guest's CPUs, timers and interrupts \
    are provided by the host, so every delay of the host delays the guest. They compare kernels on one host; \
    they do not apply to a physical machine.";

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
    fn a_wrong_guest_time_lists_the_choices() {
        let message = |text: &str| text.parse::<GuestTime>().unwrap_err().to_string();
        assert!(message("exakt").contains("did you mean `exact`?"));
        assert!(message("exact:300").contains("1000, 500, 250, 125"));
        assert!(message("exact:fast").contains("1000, 500, 250, 125"));
    }

    #[test]
    fn the_guest_cannot_end_the_emulator_with_code_zero() {
        assert_eq!(exit_code(0), 1);
        assert_eq!(exit_code(DONE), 65);
    }
}
