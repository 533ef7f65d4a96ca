//! The table of operations.

use super::Parameter;
use crate::bytes::Bytes;
use crate::text::keywords;

keywords! {
    /// What a group of operations shows.
    pub enum Family: "family" {
        /// Entering the kernel and returning.
        Trap = "trap",
        /// Handing a CPU, or a signal, to another thread.
        Switch = "switch",
        /// Moving data within memory.
        Memory = "memory",
        /// Handing data over to another process.
        Ipc = "ipc",
        /// Reading files.
        File = "file",
        /// Drawing on a display.
        Display = "display",
        /// Reading clocks, and sleeping by them.
        Clock = "clock",
    }
}

keywords! {
    /// A measured operation.
    pub enum Operation: "operation" {
        /// getppid(2), the cheapest system call that no library caches.
        Getppid = "getppid",
        /// read(2) of a byte from `/dev/zero`.
        ReadByte = "read-byte",
        /// clock_gettime(2) by the vDSO, without a system call.
        Gettime = "gettime",
        /// clock_gettime(2) as a system call.
        GettimeSyscall = "gettime-syscall",
        /// The first write to a page of private memory: a page fault without I/O.
        Fault = "fault",
        /// The first read of a page of a mapped file that is on the disk only: a major page fault.
        FaultMajor = "fault-major",
        /// A byte through a pipe and a byte back through another.
        Pipe = "pipe",
        /// A futex(2) wake and a wait, there and back.
        Futex = "futex",
        /// A write to an eventfd(2) and a read, there and back.
        Eventfd = "eventfd",
        /// sched_yield(2) until the partner has run, there and back.
        Yield = "yield",
        /// Reading a block in words of eight bytes.
        MemoryRead = "memory-read",
        /// Filling a block: memset(3).
        MemoryWrite = "memory-write",
        /// Copying a block: memcpy(3).
        MemoryCopy = "memory-copy",
        /// Copying a block of an odd length from an odd address.
        MemoryCopyUnaligned = "memory-copy-unaligned",
        /// Copying a block by stores that bypass the caches.
        MemoryCopyStreaming = "memory-copy-streaming",
        /// Mapping fresh memory, writing to each of its pages, and unmapping it.
        FirstTouch = "first-touch",
        /// Writing to each page of memory that is used again.
        Recycled = "recycled",
        /// A message through a pipe(7).
        IpcPipe = "ipc-pipe",
        /// A message whose pages vmsplice(2) puts into a pipe, where they are read.
        IpcVmsplice = "ipc-vmsplice",
        /// A message through a stream socket of unix(7).
        IpcUnixStream = "ipc-unix-stream",
        /// A datagram through a socket of unix(7).
        IpcUnixDatagram = "ipc-unix-datagram",
        /// A message through a sequenced-packet socket of unix(7).
        IpcUnixSeqpacket = "ipc-unix-seqpacket",
        /// A message through a connection of tcp(7) over the loopback interface.
        IpcTcp = "ipc-tcp",
        /// A datagram of udp(7) over the loopback interface.
        IpcUdp = "ipc-udp",
        /// A message through a POSIX message queue: mq_overview(7).
        IpcMessageQueue = "ipc-message-queue",
        /// A message in a memfd_create(2) file whose descriptor is passed through a socket.
        IpcMemfd = "ipc-memfd",
        /// A message that the receiver copies from the sender by process_vm_readv(2).
        IpcProcessVmReadv = "ipc-process-vm-readv",
        /// A message in shared memory, announced by futex(2); if it spins, by a word alone.
        IpcSharedMemory = "ipc-shared-memory",
        /// A message in shared memory, announced by eventfd(2).
        IpcSharedEventfd = "ipc-shared-eventfd",
        /// A message through a stream socket of unix(7), by requests of io_uring(7).
        IpcIoUring = "ipc-io-uring",
        /// Reading a block through a buffer of 4 KiB, like fread(3).
        FileStdio = "file-stdio",
        /// read(2) of a block.
        FileRead = "file-read",
        /// Mapping a block of a file, reading it, and unmapping it: mmap(2).
        FileMmap = "file-mmap",
        /// Copying a block from a file that is mapped in windows of 1 MiB.
        FileMappedStdio = "file-mapped-stdio",
        /// read(2) of a block past the page cache (O_DIRECT).
        FileDirect = "file-direct",
        /// Reading a block by io_uring(7).
        FileUring = "file-uring",
        /// Reading a block by io_uring(7), past the page cache (O_DIRECT).
        FileUringDirect = "file-uring-direct",
        /// Drawing an image that goes to the X server by a socket, until the server has drawn it.
        DisplaySocket = "display-socket",
        /// Drawing an image that is in memory shared with the X server (MIT-SHM), likewise.
        DisplayShared = "display-shared",
        /// Reading a clock.
        ClockRead = "clock-read",
        /// The shortest sleep: until a microsecond from now.
        ClockSleep = "clock-sleep",
    }
}

/// What is known of an operation besides its code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traits {
    /// Its group.
    pub family: Family,
    /// What is counted as one operation.
    pub unit: &'static str,
    /// The settings it has.
    pub takes: &'static [Parameter],
    /// The smallest and the largest size, if it has a size.
    pub sizes: [Bytes; 2],
    /// Whether it moves the bytes of its size, so that it has a rate.
    pub moves: bool,
    /// How much of it a sample has.
    pub amount: Amount,
}

/// How many operations a sample has. It is the same in every process, so that samples can be
/// pooled; a sample of a cheap operation lasts some microseconds, so that the clock, which is read
/// before and after, is a small part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// This number.
    Times(u32),
    /// As many as move this number of bytes, but at least one.
    Bytes(u64),
    /// As many as touch this number of pages, but at least one.
    Pages(u64),
}

/// What most operations that enter the kernel have in common.
const TRAP: Traits = Traits {
    family: Family::Trap,
    unit: "call",
    takes: &[],
    sizes: [Bytes::ZERO; 2],
    moves: false,
    amount: Amount::Times(128),
};

/// What most round trips have in common.
const SWITCH: Traits = Traits {
    family: Family::Switch,
    unit: "round trip",
    takes: &[Parameter::Partner, Parameter::PartnerCpu, Parameter::WorkingSet, Parameter::Way],
    amount: Amount::Times(1),
    ..TRAP
};

/// What most operations on blocks of memory have in common.
const MEMORY: Traits = Traits {
    family: Family::Memory,
    unit: "block",
    takes: &[Parameter::Size, Parameter::Pages],
    // The least that a store past the caches writes.
    sizes: [Bytes::new(16), Bytes::MAX],
    moves: true,
    amount: Amount::Bytes(1 << 20),
};

/// What all ways of handing a message over have in common. Both sides send in turn, so a sample is
/// half of one or several round trips: what sockperf and iceoryx2's benchmarks call one way.
const IPC: Traits = Traits {
    family: Family::Ipc,
    unit: "message",
    takes: &[
        Parameter::Size,
        Parameter::Touch,
        Parameter::Buffers,
        Parameter::Wait,
        Parameter::PartnerCpu,
    ],
    sizes: [Bytes::new(1), Bytes::MAX],
    moves: true,
    amount: Amount::Times(2),
};

/// What most reads of files have in common.
const FILE: Traits = Traits {
    family: Family::File,
    unit: "block",
    takes: &[
        Parameter::Size,
        Parameter::FileSize,
        Parameter::Directory,
        Parameter::Cache,
        Parameter::Advice,
        Parameter::IdleCount,
    ],
    sizes: [Bytes::new(512), Bytes::new(64 << 20)],
    moves: true,
    amount: Amount::Bytes(16 << 10),
};

/// Images on a display.
const DISPLAY: Traits = Traits {
    family: Family::Display,
    unit: "image",
    takes: &[Parameter::Image, Parameter::IdleCount],
    moves: true,
    amount: Amount::Times(1),
    ..TRAP
};

/// What the operations of clocks have in common.
const fn clock(unit: &'static str) -> Traits {
    Traits { family: Family::Clock, unit, amount: Amount::Times(1), ..TRAP }
}

impl Operation {
    /// The operation's row of the table.
    pub const fn traits(self) -> Traits {
        use Parameter::{
            Advice, Cache, Directory, FileSize, IdleCount, Pages, Partner, QueueDepth, Size, Way,
            WorkingSet,
        };
        match self {
            Self::Getppid | Self::ReadByte | Self::GettimeSyscall => TRAP,
            Self::Gettime => Traits { amount: Amount::Times(512), ..TRAP },
            Self::Fault => {
                Traits { unit: "page", takes: &[Pages], amount: Amount::Times(8), ..TRAP }
            }
            Self::FaultMajor => Traits {
                unit: "page",
                takes: &[FileSize, Directory],
                amount: Amount::Times(1),
                ..TRAP
            },

            Self::Pipe | Self::Futex | Self::Eventfd => SWITCH,
            Self::Yield => Traits { takes: &[Partner, WorkingSet, Way], ..SWITCH },

            Self::MemoryRead
            | Self::MemoryWrite
            | Self::MemoryCopy
            | Self::MemoryCopyUnaligned
            | Self::MemoryCopyStreaming => MEMORY,
            Self::FirstTouch => Traits { moves: false, amount: Amount::Times(1), ..MEMORY },
            Self::Recycled => Traits { moves: false, amount: Amount::Pages(1024), ..MEMORY },

            Self::IpcPipe
            | Self::IpcVmsplice
            | Self::IpcUnixStream
            | Self::IpcUnixDatagram
            | Self::IpcUnixSeqpacket
            | Self::IpcTcp
            | Self::IpcUdp
            | Self::IpcMemfd
            | Self::IpcProcessVmReadv
            | Self::IpcSharedMemory
            | Self::IpcSharedEventfd
            | Self::IpcIoUring => IPC,
            // The kernel's own limit of fs.mqueue.msgsize_max: HARD_MSGSIZEMAX.
            Self::IpcMessageQueue => Traits { sizes: [Bytes::new(1), Bytes::new(16 << 20)], ..IPC },
            Self::FileStdio | Self::FileRead | Self::FileMmap | Self::FileMappedStdio => FILE,
            Self::FileUring => Traits {
                takes: &[Size, FileSize, Directory, Cache, Advice, QueueDepth, IdleCount],
                ..FILE
            },
            // Nothing of it is cached or read ahead, so each block is a sample.
            Self::FileDirect => Traits {
                takes: &[Size, FileSize, Directory, IdleCount],
                amount: Amount::Times(1),
                ..FILE
            },
            Self::FileUringDirect => Traits {
                takes: &[Size, FileSize, Directory, QueueDepth, IdleCount],
                amount: Amount::Times(1),
                ..FILE
            },

            Self::DisplaySocket | Self::DisplayShared => DISPLAY,

            Self::ClockRead => Traits {
                takes: &[Parameter::ReadClock],
                amount: Amount::Times(512),
                ..clock("reading")
            },
            Self::ClockSleep => Traits { takes: &[Parameter::Sleep], ..clock("sleep") },
        }
    }

    /// Whether it has this setting.
    pub fn takes(self, parameter: Parameter) -> bool {
        self.traits().takes.contains(&parameter)
    }

    /// Whether it has a partner.
    pub fn has_partner(self) -> bool {
        matches!(self.traits().family, Family::Switch | Family::Ipc)
    }
}
