//! What the real-time threads of a program share: its settings and its broker.

use std::ffi::{c_char, c_int};
use std::sync::Arc;

use tactus_fifo::{Broker, Builder};
use tactus_lint::{Lint, Options};
use tactus_model::policy::RealtimePriority;
use tactus_rt::Process;
use tactus_sys::pi_mutex::PiMutex;

use crate::failure::{Failure, call};
use crate::text::{check_size, copy, cpus, given, optional};
use crate::thread::THREADS;

/// What is mapped when a thread is ready stays in memory.
pub const TRT_LOCK_MEMORY: u32 = 1;

/// Refuses peers of the same user and of root, who could stop the program.
pub const TRT_REQUIRE_OTHER_USER: u32 = 2;

/// Settings of the program.
#[repr(C)]
pub struct trt_options {
    /// `sizeof(struct trt_options)`.
    pub size: u32,
    /// `TRT_LOCK_MEMORY`, `TRT_REQUIRE_OTHER_USER`, or both.
    pub flags: u32,
    /// The path at which the broker listens, or NULL without channels.
    pub socket: *const c_char,
    /// Users who may open channels, beside the own one; `user_count` of them.
    pub users: *const u32,
    /// The number of users, at most 1024.
    pub user_count: u32,
    /// The priority of the broker: one below that of the threads, from 1 to 99; 0: an ordinary
    /// program.
    pub broker_priority: u32,
    /// The CPUs of the broker, others than those of the threads, e.g. `0`; NULL: all.
    pub broker_cpus: *const c_char,
    /// The CPUs of the threads, where a relay wakes the broker for them: a put costs a quarter, and
    /// arrives later. NULL: no relay.
    pub relay_cpus: *const c_char,
}

/// The most users of a program.
const USERS_MOST: u32 = 1024;

/// A program between `trt_init` and `trt_exit`.
pub(crate) struct Program {
    pub(crate) process: Process,
    /// Until the broker serves.
    builder: Option<Builder>,
    broker: Option<Broker>,
    lint: Option<Arc<Lint>>,
}

static PROGRAM: PiMutex<Option<Program>> = PiMutex::new(None);

/// Uses the program.
pub(crate) fn with<R>(body: impl FnOnce(&mut Program) -> Result<R, Failure>) -> Result<R, Failure> {
    let mut program = PROGRAM.lock()?;
    body(program.as_mut().ok_or(Failure::new(
        libc::EPERM,
        c"the library was not initialized; fix: call trt_init first",
    ))?)
}

impl Program {
    /// The channels that it will offer.
    pub(crate) fn offers(&mut self) -> Result<&mut Builder, Failure> {
        self.builder.as_mut().ok_or(Failure::new(
            libc::EPERM,
            c"no broker takes channels; fix: name a socket in trt_init, and create channels before trt_serve",
        ))
    }

    /// The watcher of real-time sections, which starts with the first thread that asks for it.
    pub(crate) fn lint(&mut self) -> Result<Arc<Lint>, Failure> {
        if self.lint.is_none() {
            let lint = Lint::start(Options { allocations: false, ..Options::default() })
                .map_err(|error| Failure::because(libc::EAGAIN, error))?;
            self.lint = Some(Arc::new(lint));
        }
        self.lint.clone().ok_or(Failure::new(libc::EAGAIN, c"no thread watches"))
    }

    /// The watcher, if a thread asked for it.
    pub(crate) fn running_lint(&self) -> Option<Arc<Lint>> {
        self.lint.clone()
    }
}

/// Initializes the library for the real-time side. NULL: the defaults, without channels.
///
/// # Safety
/// `options` is NULL or points to a structure whose pointers are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trt_init(options: *const trt_options) -> c_int {
    call(|| {
        let mut builder = Process::builder();
        let mut offers = None;
        if !options.is_null() {
            // SAFETY: the caller says so.
            let options = unsafe { given(options) }?;
            check_size::<trt_options>(options.size)?;
            if options.flags & !(TRT_LOCK_MEMORY | TRT_REQUIRE_OTHER_USER) != 0 {
                return Err(Failure::new(libc::EINVAL, c"the flags contain an unknown one"));
            }
            if options.flags & TRT_LOCK_MEMORY != 0 {
                builder = builder.lock_memory();
            }
            // SAFETY: the caller says so.
            offers = unsafe { offers_of(options) }?;
        }
        let mut program = PROGRAM.lock()?;
        if program.is_some() {
            return Err(Failure::new(
                libc::EALREADY,
                c"the library is initialized; fix: call trt_exit first",
            ));
        }
        let process = builder.start().map_err(|error| Failure::because(libc::EINVAL, error))?;
        *program = Some(Program { process, builder: offers, broker: None, lint: None });
        Ok(0)
    })
}

/// The broker that the options describe.
///
/// # Safety
/// The pointers of `options` are NULL or valid.
unsafe fn offers_of(options: &trt_options) -> Result<Option<Builder>, Failure> {
    // SAFETY: the caller says so.
    let Some(socket) = (unsafe { optional(options.socket, "the socket") })? else {
        return Ok(None);
    };
    let mut offers = Broker::builder(socket);
    if options.flags & TRT_REQUIRE_OTHER_USER != 0 {
        offers = offers.require_other_user();
    }
    if options.user_count > USERS_MOST || (options.users.is_null() && options.user_count > 0) {
        return Err(Failure::new(libc::EINVAL, c"the users are NULL, or more than 1024"));
    }
    for index in 0..options.user_count as usize {
        // SAFETY: the array has as many members.
        offers = offers.allow_user(unsafe { options.users.add(index).read() });
    }
    if options.broker_priority > 0 {
        let priority = u8::try_from(options.broker_priority).ok().and_then(RealtimePriority::new);
        offers = offers.priority(priority.ok_or(Failure::new(
            libc::EINVAL,
            c"the priority of the broker is out of range 0 to 99",
        ))?);
    }
    // SAFETY: the caller says so.
    let (own, relay) = unsafe {
        (
            cpus(options.broker_cpus, "the list of the broker's CPUs")?,
            cpus(options.relay_cpus, "the list of the relay's CPUs")?,
        )
    };
    if let Some(own) = own {
        offers = offers.cpus(own);
    }
    if let Some(relay) = relay {
        offers = offers.relay(relay);
    }
    Ok(Some(offers))
}

/// Starts the broker: from now on, other processes can open the channels.
#[unsafe(no_mangle)]
pub extern "C" fn trt_serve() -> c_int {
    call(|| {
        with(|program| {
            program.offers()?;
            if let Some(builder) = program.builder.take() {
                let started = builder.start();
                let failed = |error| Failure::because(libc::EADDRINUSE, error);
                program.broker = Some(started.map_err(failed)?);
            }
            Ok(0)
        })
    })
}

/// Ends the broker and forgets the settings. All threads must have been joined or stopped before.
/// Channels remain until they are closed.
#[unsafe(no_mangle)]
pub extern "C" fn trt_exit() -> c_int {
    call(|| {
        let running = THREADS.open();
        if running > 0 {
            return Err(Failure::because(
                libc::EBUSY,
                format_args!("{running} threads are open; fix: trt_thread_join or trt_thread_stop"),
            ));
        }
        with(|_| Ok(()))?;
        let program = PROGRAM.lock()?.take();
        drop(program);
        Ok(0)
    })
}

/// Writes the sentence number `index`, from 0, about what the program or its broker was not
/// granted. Returns 1, or 0 if there are no more.
///
/// # Safety
/// `text` may be written for `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trt_shortfall(index: u32, text: *mut c_char, size: usize) -> c_int {
    call(|| {
        let found = with(|program| {
            let own = program.process.shortfalls().iter();
            let broker = program.broker.iter().flat_map(Broker::shortfalls);
            Ok(own.chain(broker).nth(index as usize).map(ToString::to_string))
        })?;
        // SAFETY: the caller says so.
        unsafe { hand_out(found, text, size) }
    })
}

/// Writes a sentence, if there is one.
///
/// # Safety
/// `text` may be written for `size` bytes.
pub(crate) unsafe fn hand_out(
    found: Option<String>,
    text: *mut c_char,
    size: usize,
) -> Result<c_int, Failure> {
    if text.is_null() || size == 0 {
        return Err(Failure::new(libc::EFAULT, c"there is no room for a text"));
    }
    let Some(found) = found else { return Ok(0) };
    // SAFETY: the caller says so. Bytes of an array of char may have any value; those not yet
    // written are written first.
    let place = unsafe {
        text.write_bytes(0, size);
        std::slice::from_raw_parts_mut(text, size)
    };
    copy(&found, place);
    Ok(1)
}
