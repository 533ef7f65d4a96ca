//! Recording what one thread does, with the stack that led to it.
//!
//! It needs no recording of the system and costs no other thread anything.

use tactus_model::recording::ThreadId;
use tactus_model::result::Shortfall;
use tactus_model::time::{Instant, Monotonic};
use tactus_permission::{Asked, Diagnosis};
use tactus_prepare::diagnose_here;
use tactus_sys::perf::{CallIds, OpenFileLimit, ThreadEvents, ThreadRecord};
use tactus_sys::section::Registers;
use tactus_sys::tracefs::Tracefs;
use tactus_sys::{Errno, SysError};

use crate::decode::{Field, Format, int};
use crate::live::RecordError;

/// The size of a thread's ring, if the kernel permits it: 250 records with copies of the stack.
const RING: usize = 4 << 20;

/// The least size.
const RING_MIN: usize = 1 << 17;

/// How to record threads: which tracepoints there are.
#[derive(Debug)]
pub struct ThreadRecording {
    calls: Option<Calls>,
    /// Why system calls are not recorded.
    refused: Option<Shortfall>,
}

/// The tracepoints of system calls.
#[derive(Clone, Copy, Debug)]
struct Calls {
    ids: CallIds,
    number: Field,
    arguments: Field,
}

/// Records one thread.
#[derive(Debug)]
pub struct ThreadRecorder {
    events: ThreadEvents,
    calls: Option<Calls>,
}

/// What a thread did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Did<'r> {
    /// It began a system call.
    Enter {
        /// The number of the call.
        number: i64,
        /// Its second argument: for `futex`, the operation.
        argument: u64,
        /// Where.
        point: Point<'r>,
    },
    /// A system call ended.
    Exit,
    /// It had a page fault.
    Fault {
        /// The address that it accessed.
        address: u64,
        /// Where.
        point: Point<'r>,
    },
    /// It left its CPU.
    Out {
        /// Whether it could have run on.
        preempted: bool,
    },
    /// It came to a CPU.
    In,
    /// The buffer was full for a while.
    Lost {
        /// The number of records that were lost.
        count: u64,
    },
}

/// A point of a thread's execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point<'r> {
    /// The registers.
    pub registers: Registers,
    /// The stack from the stack pointer upwards, as far as it was copied.
    pub stack: &'r [u8],
}

impl ThreadRecording {
    /// Finds out what this process may record of its own user's threads.
    pub fn prepare() -> Self {
        match Calls::find() {
            Ok(calls) => Self { calls: Some(calls), refused: None },
            Err(diagnosis) => Self { calls: None, refused: Some(no_calls(diagnosis)) },
        }
    }

    /// Whether system calls are recorded.
    pub const fn has_calls(&self) -> bool {
        self.calls.is_some()
    }

    /// Starts to record a thread; `None` if it has ended.
    ///
    /// # Errors
    /// The kernel permits no events of the thread, has no memory for them, or this process has too
    /// many open files.
    pub fn start(&mut self, thread: ThreadId) -> Result<Option<ThreadRecorder>, RecordError> {
        match self.open(thread) {
            Err(error)
                if is_refusal(error) && error.call == "perf_event_open" && self.has_calls() =>
            {
                let diagnosis = diagnose_here(&Asked::ThreadEvents, error.errno);
                (self.calls, self.refused) = (None, Some(no_calls(diagnosis)));
                self.start(thread)
            }
            Err(error) if error.errno == Errno::SRCH => Ok(None),
            Err(error) if error.call == "mmap" => {
                let what = "keep the records of a thread";
                Err(RecordError::refused(what, &Asked::EventRings, error.errno))
            }
            Err(SysError { errno: Errno::MFILE, .. }) => Err(too_many_files()),
            Err(error) if is_refusal(error) => {
                let what = "record what a thread does";
                Err(RecordError::refused(what, &Asked::ThreadEvents, error.errno))
            }
            opened => Ok(Some(ThreadRecorder { events: opened?, calls: self.calls })),
        }
    }

    /// Opens the events with the largest ring that the kernel permits.
    fn open(&self, thread: ThreadId) -> Result<ThreadEvents, SysError> {
        let ids = self.calls.map(|calls| calls.ids);
        let mut size = RING;
        loop {
            match ThreadEvents::start(thread, ids, size) {
                Err(error) if error.call == "mmap" && size > RING_MIN => size /= 2,
                opened => return opened,
            }
        }
    }

    /// What is not recorded, and why.
    pub fn unseen(&self) -> impl Iterator<Item = &Shortfall> {
        self.refused.iter()
    }
}

fn is_refusal(error: SysError) -> bool {
    [Errno::ACCESS, Errno::PERM].contains(&error.errno)
}

fn too_many_files() -> RecordError {
    let limit = OpenFileLimit::present();
    let diagnosis = Diagnosis {
        reason: format!("each thread needs 4 open files, and the limit is {limit} (RLIMIT_NOFILE)"),
        fix: Some("ulimit -n 4096".to_owned()),
    };
    RecordError::Refused { what: "record what a thread does", diagnosis }
}

fn no_calls(Diagnosis { reason, fix }: Diagnosis) -> Shortfall {
    Shortfall {
        asked: "system calls and contended locks".to_owned(),
        granted: "page faults in user mode only".to_owned(),
        reason,
        fix,
    }
}

impl Calls {
    fn find() -> Result<Self, Diagnosis> {
        let refused = |error: std::io::Error| {
            let errno = Errno::from_io_error(&error).unwrap_or(Errno::IO);
            diagnose_here(&Asked::ThreadCalls, errno)
        };
        let tracefs = Tracefs::find().map_err(refused)?;
        let format = |event: &str| -> Result<Format, Diagnosis> {
            let text = tracefs.format(&format!("raw_syscalls/{event}")).map_err(refused)?;
            text.parse().map_err(|error| Diagnosis { reason: format!("{error}"), fix: None })
        };
        let (enter, exit) = (format("sys_enter")?, format("sys_exit")?);
        let field = |name: &str| {
            let reason = || format!("the tracepoint raw_syscalls/sys_enter has no field `{name}`");
            enter.field(name).ok_or_else(|| Diagnosis { reason: reason(), fix: None })
        };
        Ok(Self {
            ids: CallIds { enter: enter.id, exit: exit.id },
            number: field("id")?,
            arguments: field("args")?,
        })
    }

    /// The number and the second argument of a call.
    fn read(self, raw: &[u8]) -> (i64, u64) {
        const WORD: u16 = 8;
        let second = Field {
            offset: self.arguments.offset.saturating_add(WORD),
            size: WORD,
            ..self.arguments
        };
        (int(raw, self.number), int(raw, second) as u64)
    }
}

impl ThreadRecorder {
    /// Whether page faults within system calls are recorded too.
    pub fn has_faults_in_kernel(&self) -> bool {
        self.events.has_faults_in_kernel()
    }

    /// Passes what the thread did since the last call to `take`, in the order of time.
    pub fn drain(&mut self, mut take: impl FnMut(Instant<Monotonic>, Did<'_>)) {
        let calls = self.calls;
        self.events.drain(|time, record| {
            let did = match record {
                ThreadRecord::Enter { raw, registers, stack } => {
                    let Some((number, argument)) = calls.map(|calls| calls.read(raw)) else {
                        return;
                    };
                    Did::Enter { number, argument, point: Point { registers, stack } }
                }
                ThreadRecord::Exit => Did::Exit,
                ThreadRecord::Fault { address, registers, stack } => {
                    Did::Fault { address, point: Point { registers, stack } }
                }
                ThreadRecord::Out { preempted } => Did::Out { preempted },
                ThreadRecord::In => Did::In,
                ThreadRecord::Lost { count } => Did::Lost { count },
            };
            take(Instant::from_nanos(time), did);
        });
    }
}
