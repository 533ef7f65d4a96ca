//! The operations of the cost probe, and the loop that measures them.

mod bench;
mod clocks;
mod display;
mod file;
mod idle;
mod ipc;
mod memory;
mod partner;
mod site;
mod switch;
mod trap;

use std::path::PathBuf;

use tactus_model::bytes::Bytes;
use tactus_model::cost::{CostProbe, Operation, Pages, ReadClock};
use tactus_model::cpus::CpuList;
use tactus_model::result::ClockFindings;
use tactus_model::time::Nanos;
use tactus_sys::doorbell::{EventfdPair, FutexPair, PipePair, YieldPair};
use tactus_sys::fork::Halt;
use tactus_sys::scheduling_record::Seat;
use tactus_sys::{Errno, SysError};

pub(crate) use self::bench::Bench;
pub use self::bench::system_call_ns;
pub(crate) use self::clocks::ShortestSleeps;
pub(crate) use self::site::Site;

/// An operation that can be repeated.
///
/// It has taken its memory and started its partner before the window opens.
pub(crate) trait Repeatable {
    /// Does what must precede a batch and is not part of it.
    fn prepare_batch(&mut self) -> Result<(), Unmeasurable> {
        Ok(())
    }

    /// How many samples can follow before a batch must be prepared again; `None` if any number can.
    /// Only then may an unmeasured sample precede a batch.
    fn left(&self) -> Option<u64> {
        None
    }

    /// Does what must precede a sample and is not part of it.
    fn prepare(&mut self) -> Result<(), SysError> {
        Ok(())
    }

    /// Does the operation this number of times.
    fn run(&mut self, times: u32) -> Result<(), SysError>;

    /// What the partner noted of the last operation, if samples begin or end there.
    fn noted(&self) -> Option<Noted> {
        None
    }

    /// What its clock showed, found after the window; `None` if it measures no clock.
    fn findings(&mut self) -> Option<ClockFindings> {
        None
    }

    /// Why the other process does not go on, after a failure of the operation; `None` if that did
    /// not cause it.
    fn halt_of_others(&mut self) -> Option<Halt> {
        None
    }

    /// The CPU time that others have used for the operation: its partner.
    fn time_of_others(&self) -> Nanos {
        Nanos::ZERO
    }

    /// The partner's thread and its CPU; `None` without a partner.
    fn partner(&self) -> Option<Seat> {
        None
    }
}

/// A moment that a partner noted, in nanoseconds of the probe's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Noted {
    /// It began to run: the sample ends.
    Arrival(u64),
    /// It was about to answer: the sample begins.
    Answer(u64),
}

/// Why an operation cannot be measured here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unmeasurable {
    /// The partner has no CPU of its own.
    #[error("the partner needs another CPU, and this process may use only one")]
    OneCpu,
    /// There is no such clock.
    #[error("this machine does not have the clock {0}")]
    NoClock(ReadClock),
    /// The table of operations and the code of their families disagree.
    #[error("{0} is not an operation of this family")]
    OtherFamily(Operation),
    /// A stage of a pipeline has no facility to sleep by.
    #[error("clock-sleep measures the sleeps of a task; a stage cannot do it")]
    NoFacility,
    /// The kernel gave normal pages.
    #[error("the kernel gave normal pages instead of huge ones")]
    NoHugePages,
    /// The memory is not there.
    #[error("the operation needs {needed} MB of memory, and {available} MB are available")]
    NoMemory {
        /// What it needs, in megabytes.
        needed: u64,
        /// What is available, in megabytes.
        available: u64,
    },
    /// The other process failed.
    #[error("the other process of {operation} failed: {errno}")]
    Partner {
        /// What it answers.
        operation: Operation,
        /// The error of its call.
        errno: Errno,
    },
    /// The other process does not go on.
    #[error("the other process {0}")]
    PartnerHalted(Halt),
    /// There is no place for a file.
    #[error("no file can be made in {}: {reason}", directory.display())]
    NoFile {
        /// Where it would be.
        directory: PathBuf,
        /// Why there is none.
        reason: String,
    },
    /// The file does not fit on the disk.
    #[error("the disk of {} is full: the file needs {size}", directory.display())]
    DiskFull {
        /// Where the file would be.
        directory: PathBuf,
        /// Its size.
        size: Bytes,
    },
    /// The file is on no disk.
    #[error("{} is on a filesystem in memory (tmpfs), so no read of a file there is cold", .0.display())]
    InMemory(PathBuf),
    /// The page cache keeps the file.
    #[error("{0} pages of the file stay in the page cache, so its reads would not be cold")]
    StaysCached(usize),
    /// The page cache does not keep the file.
    #[error(
        "the page cache keeps {resident} of {pages} pages of the file, so its reads would not be warm"
    )]
    NotCached {
        /// The pages in the cache.
        resident: usize,
        /// All pages of the file.
        pages: usize,
    },
    /// The kernel reads more of a file than the page that is touched.
    #[error(
        "{faults} of {pages} pages were read by a page fault of their own; others were read ahead"
    )]
    ReadAhead {
        /// The major page faults.
        faults: u64,
        /// The pages that were touched.
        pages: u64,
    },
    /// The filesystem has no direct transfers of this size.
    #[error("the filesystem of {} does not read blocks of {size} past the page cache (O_DIRECT)", directory.display())]
    NoDirect {
        /// Where the file is.
        directory: PathBuf,
        /// The size of a block.
        size: Bytes,
    },
    /// There is no display.
    #[error(transparent)]
    Display(#[from] display::NoDisplay),
    /// A call failed.
    #[error(transparent)]
    System(SysError),
}

impl From<SysError> for Unmeasurable {
    fn from(error: SysError) -> Self {
        match error {
            display::SERVER_ENDED => Self::Display(display::NoDisplay::Ended),
            other => Self::System(other),
        }
    }
}

impl Unmeasurable {
    /// What the user can do about it.
    pub(crate) fn hint(&self) -> Option<&'static str> {
        match self {
            Self::OneCpu => Some("use partner-cpu = \"same\", or more CPUs"),
            Self::NoClock(_) => Some(
                "the alarm clocks need a real-time clock that wakes the machine, tsc an x86 CPU with \
                 an invariant counter; use another read-clock",
            ),
            Self::OtherFamily(_) | Self::NoFacility => None,
            Self::NoHugePages => Some(
                "write madvise or always to /sys/kernel/mm/transparent_hugepage/enabled, or use \
                 pages = \"normal\"",
            ),
            Self::NoMemory { .. } => Some("use a smaller size"),
            Self::Partner { operation: Operation::IpcProcessVmReadv, errno: Errno::PERM } => {
                Some("run as root, or: sysctl -w kernel.yama.ptrace_scope=0")
            }
            Self::Partner { .. } | Self::PartnerHalted(_) => None,
            Self::System(SysError { call, errno }) => match (*call, *errno) {
                ("mq_open", Errno::MFILE) => Some("ulimit -q unlimited, or use a smaller size"),
                ("mq_open", Errno::INVAL) => {
                    Some("sysctl -w fs.mqueue.msgsize_max=16777216, or use a smaller size")
                }
                (_, Errno::NETUNREACH) => Some("ip link set lo up"),
                (_, Errno::MSGSIZE | Errno::NOBUFS) => {
                    Some("use a smaller size, or a transport without packets")
                }
                _ => None,
            },
            Self::NoFile { .. } => {
                Some("set directory or TMPDIR to a directory in which you may create files")
            }
            Self::DiskFull { .. } => {
                Some("use a smaller file-size, or set directory to one on another disk")
            }
            Self::InMemory(_) => Some("set directory to one on a disk, e.g. /var/tmp"),
            Self::StaysCached(_) | Self::ReadAhead { .. } => {
                Some("set directory to one on another filesystem")
            }
            Self::NotCached { .. } => Some("use a smaller file-size, or free memory"),
            Self::NoDirect { .. } => {
                Some("use a multiple of 4KiB, or set directory to one on another filesystem")
            }
            Self::Display(error) => error.hint(),
        }
    }
}

/// Whoever opens an operation has prepared its site.
const NOT_PREPARED: SysError = SysError::new("open", Errno::BADF);

/// Sets up an operation in the calling thread, which runs on `cpu`; a partner runs there or on the
/// next of `cpus`.
pub(crate) fn open(
    cost: &CostProbe,
    site: &mut Site,
    cpu: u32,
    cpus: &CpuList,
) -> Result<Box<dyn Repeatable>, Unmeasurable> {
    require_memory(cost)?;
    Ok(match cost.operation {
        Operation::Getppid => Box::new(trap::Getppid),
        Operation::ReadByte => Box::new(trap::ReadByte::open()?),
        Operation::Gettime => Box::new(trap::Gettime),
        Operation::GettimeSyscall => Box::new(trap::GettimeSyscall),
        Operation::Fault => Box::new(trap::Fault::open(cost)?),
        Operation::Pipe => switch::start(PipePair::new()?, cost, cpu, cpus)?,
        Operation::Futex => switch::start(FutexPair::new()?, cost, cpu, cpus)?,
        Operation::Eventfd => switch::start(EventfdPair::new()?, cost, cpu, cpus)?,
        Operation::Yield => switch::start(YieldPair::new()?, cost, cpu, cpus)?,
        Operation::MemoryRead
        | Operation::MemoryWrite
        | Operation::MemoryCopy
        | Operation::MemoryCopyUnaligned
        | Operation::MemoryCopyStreaming
        | Operation::FirstTouch
        | Operation::Recycled => memory::open(cost)?,
        Operation::IpcPipe
        | Operation::IpcVmsplice
        | Operation::IpcUnixStream
        | Operation::IpcUnixDatagram
        | Operation::IpcUnixSeqpacket
        | Operation::IpcTcp
        | Operation::IpcUdp
        | Operation::IpcMessageQueue
        | Operation::IpcMemfd
        | Operation::IpcProcessVmReadv
        | Operation::IpcSharedMemory
        | Operation::IpcSharedEventfd
        | Operation::IpcIoUring => ipc::open(cost, cpu, cpus)?,
        Operation::FileStdio
        | Operation::FileRead
        | Operation::FileMmap
        | Operation::FileMappedStdio
        | Operation::FileDirect
        | Operation::FileUring
        | Operation::FileUringDirect
        | Operation::FaultMajor => file::open(cost, site.file.as_ref().ok_or(NOT_PREPARED)?)?,
        Operation::ClockRead => Box::new(clocks::Readings::open(cost.read_clock, cpu, cpus)?),
        Operation::ClockSleep => return Err(Unmeasurable::NoFacility),
        Operation::DisplaySocket | Operation::DisplayShared => {
            site.display.take().ok_or(NOT_PREPARED)?.open(cost)?
        }
    })
}

/// Does an operation this number of times. A failure that the end of the other process caused is
/// reported as that.
fn run(operation: &mut dyn Repeatable, times: u32) -> Result<(), Unmeasurable> {
    operation.run(times).map_err(|error| match operation.halt_of_others() {
        Some(halt) => Unmeasurable::PartnerHalted(halt),
        None => error.into(),
    })
}

/// Refuses blocks that the machine has no memory for, since touching them would end some process.
fn require_memory(cost: &CostProbe) -> Result<(), Unmeasurable> {
    let needed = cost.memory();
    match tactus_sys::memory::available() {
        Some(available) if needed > CostProbe::memory_max(available) => {
            let megabytes = |bytes: Bytes| bytes.get() / 1_000_000;
            let (needed, available) = (megabytes(needed), megabytes(available));
            Err(Unmeasurable::NoMemory { needed, available })
        }
        _ => Ok(()),
    }
}

/// Whether the pages are huge.
const fn is_huge(cost: &CostProbe) -> bool {
    matches!(cost.pages, Pages::Huge)
}
