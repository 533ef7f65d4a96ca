//! Real-time threads.

use std::ffi::{c_char, c_int, c_void};
use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};

use tactus_lint::Lint;
use tactus_model::time::{Instant, Nanos};
use tactus_rt::{
    Action, Ended, Flow, Interrupter, Overrun, Policy, Process, Restart, Shortfall, Source, Thread,
    ThreadBuilder, Waited,
};
use tactus_sys::SysError;

use crate::channel;
use crate::failure::{Failure, call};
use crate::handles::{Kind, Object, Slot, Slots};
use crate::own::{self, Own};
use crate::program::{self, hand_out};
use crate::text::{check_size, cpus, given, optional, put};

/// The handle of a thread.
pub type trt_thread = u64;

/// What a thread runs. What it returns is for `trt_thread_join`.
pub type trt_start = Option<unsafe extern "C" fn(*mut c_void) -> *mut c_void>;

/// Due times that have passed are skipped, and counted as missed.
pub const TRT_SKIP: u32 = 0;

/// Jobs for due times that have passed run back to back: for the last `catch_up` at most.
pub const TRT_CATCH_UP: u32 = 1;

/// The due times move to the end of a job that takes too long.
pub const TRT_SHIFT: u32 = 2;

/// The thread shall end when a job takes too long.
pub const TRT_STOP: u32 = 3;

/// Settings of a thread. Zeros and NULL are the defaults, except for `size`.
#[repr(C)]
pub struct trt_thread_options {
    /// `sizeof(struct trt_thread_options)`.
    pub size: u32,
    /// The priority of SCHED_FIFO, from 1 to 99; 0: an ordinary thread.
    pub priority: u32,
    /// Its name, of 1 to 15 bytes; NULL: `trt`.
    pub name: *const c_char,
    /// The CPUs on which it runs, e.g. `1` or `2-3`; NULL: those of the calling thread.
    pub cpus: *const c_char,
    /// CPU time instead of a priority, e.g. `1ms/10ms`; NULL: none.
    pub reserve: *const c_char,
    /// The bytes of stack that cause no page fault; 0: 64 KiB.
    pub stack: usize,
    /// A job that takes longer makes the thread an ordinary one, in nanoseconds; 0: no limit.
    pub limit_ns: i64,
    /// What happens when a job takes too long: `TRT_SKIP`, `TRT_CATCH_UP`, `TRT_SHIFT`, `TRT_STOP`.
    pub overrun: u32,
    /// For `TRT_CATCH_UP`.
    pub catch_up: u32,
    /// Not 0: `trt_violation_next` reports system calls and page faults between two waits, or of a
    /// handler.
    pub watch: u32,
    /// How often a handler continues, with its priority, after a call of it exceeded `limit_ns`; 0
    /// for other threads.
    pub restarts: u32,
}

/// Figures of a thread.
#[repr(C)]
pub struct trt_stats {
    /// Jobs that ran.
    pub run: u64,
    /// Due times or events without a job.
    pub missed: u64,
    /// How often a job exceeded `limit_ns`.
    pub hung: u64,
    /// Lateness of the jobs: the median, in nanoseconds.
    pub lateness_p50_ns: i64,
    /// The same: 99 % of the jobs began at most so late.
    pub lateness_p99_ns: i64,
    /// The worst lateness.
    pub lateness_max_ns: i64,
}

/// An open thread.
pub(crate) struct Started {
    thread: Thread,
    result: Arc<AtomicPtr<c_void>>,
}

/// The threads of the program.
pub(crate) static THREADS: Slots<Object<Arc<Started>>, 256> =
    Slots::new(Kind::Thread, [const { Slot::new(Object::new(None)) }; 256]);

/// A pointer of the program, for its own thread.
struct Argument(*mut c_void);

// SAFETY: the library only passes it on; the program knows what its threads share.
unsafe impl Send for Argument {}

impl Argument {
    const fn get(&self) -> *mut c_void {
        self.0
    }
}

/// What the settings of a thread mean.
struct Settings<'a> {
    name: &'a str,
    policy: Policy,
    cpus: Option<tactus_rt::CpuList>,
    stack: usize,
    limit: i64,
    overrun: Overrun,
    watches: bool,
    restarts: u32,
}

impl<'a> Settings<'a> {
    /// # Safety
    /// `options` is NULL or points to a structure whose pointers are NULL or texts.
    unsafe fn read(options: *const trt_thread_options) -> Result<Self, Failure> {
        if options.is_null() {
            return Ok(Self {
                name: "trt",
                policy: Policy::Ordinary,
                cpus: None,
                stack: 0,
                limit: 0,
                overrun: Overrun::Skip,
                watches: false,
                restarts: 0,
            });
        }
        // SAFETY: the caller says so.
        let options = unsafe { given(options) }?;
        check_size::<trt_thread_options>(options.size)?;
        // SAFETY: the caller says so.
        let (name, cpus, reserve) = unsafe {
            (
                optional(options.name, "the name of the thread")?,
                cpus(options.cpus, "the list of CPUs")?,
                optional(options.reserve, "the reserve")?,
            )
        };
        let policy = match (options.priority, reserve) {
            (0, None) => Policy::Ordinary,
            (0, Some(reserve)) => Policy::Reserve(reserve.parse().map_err(invalid)?),
            (priority, None) => Policy::Fifo(u8::try_from(priority).unwrap_or(u8::MAX)),
            (_, Some(_)) => {
                return Err(Failure::new(
                    libc::EINVAL,
                    c"a thread has a priority or a reserve, not both; fix: set priority to 0, or reserve to NULL",
                ));
            }
        };
        if options.limit_ns < 0 {
            return Err(Failure::new(libc::EINVAL, c"limit_ns is negative; fix: 0 for no limit"));
        }
        Ok(Self {
            name: name.unwrap_or("trt"),
            policy,
            cpus,
            stack: options.stack,
            limit: options.limit_ns,
            overrun: overrun(options.overrun, options.catch_up)?,
            watches: options.watch != 0,
            restarts: options.restarts,
        })
    }

    /// The program that gets the thread, and what watches it.
    fn place(&self) -> Result<(Process, Option<Arc<Lint>>), Failure> {
        program::with(|program| {
            let lint = self.watches.then(|| program.lint()).transpose()?;
            Ok((program.process.clone(), lint))
        })
    }

    /// The same settings for a thread of the library, which `lint` watches.
    fn apply<K>(self, mut builder: ThreadBuilder<K>, lint: Option<Arc<Lint>>) -> ThreadBuilder<K> {
        builder = builder.policy(self.policy).restart(Restart::Times(self.restarts));
        if let Some(lint) = lint {
            builder = builder.watched_by(lint);
        }
        if let Some(cpus) = self.cpus {
            builder = builder.cpus(cpus);
        }
        if self.stack > 0 {
            builder = builder.stack(self.stack);
        }
        if self.limit > 0 {
            builder = builder.supervise(nanos(self.limit), Action::Demote);
        }
        builder
    }
}

fn invalid(error: impl Display) -> Failure {
    Failure::because(libc::EINVAL, error)
}

fn overrun(word: u32, catch_up: u32) -> Result<Overrun, Failure> {
    match word {
        TRT_SKIP => Ok(Overrun::Skip),
        TRT_CATCH_UP => Ok(Overrun::CatchUp(catch_up)),
        TRT_SHIFT => Ok(Overrun::Shift),
        TRT_STOP => Ok(Overrun::Stop),
        _ => Err(Failure::new(
            libc::EINVAL,
            c"overrun is none of TRT_SKIP, TRT_CATCH_UP, TRT_SHIFT, TRT_STOP",
        )),
    }
}

/// Nanoseconds of C, where negative ones are zero.
pub(crate) fn nanos(count: i64) -> Nanos {
    Nanos::from_nanos(u64::try_from(count).unwrap_or(0))
}

/// Nanoseconds for C, which saturate.
pub(crate) fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Starts a thread that runs `start` with `argument`. It returns when the thread is prepared. What
/// the kernel does not permit is not an error: see `trt_thread_shortfall`.
///
/// # Safety
/// `thread` may be written. `options` is NULL or points to a structure whose pointers are NULL or
/// texts. `start` may be called with `argument` in another thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trt_thread_create(
    thread: *mut trt_thread,
    options: *const trt_thread_options,
    start: trt_start,
    argument: *mut c_void,
) -> c_int {
    call(|| {
        let start = start.ok_or(NO_FUNCTION)?;
        // SAFETY: the caller says so.
        let settings = unsafe {
            put(thread, 0)?;
            Settings::read(options)?
        };
        if settings.restarts > 0 {
            return Err(Failure::new(
                libc::EINVAL,
                c"only handlers are restarted; fix: set restarts to 0",
            ));
        }
        let (overrun, argument) = (settings.overrun, Argument(argument));
        let (process, lint) = settings.place()?;
        let result = Arc::new(AtomicPtr::default());
        let returned = Arc::clone(&result);
        let builder = process.thread(settings.name);
        let started = settings.apply(builder, lint).spawn(move |own| {
            let own = Own { thread: own, overrun, pace: None };
            // SAFETY: the caller of `trt_thread_create` says so.
            let value = own::run(own, || unsafe { start(argument.get()) });
            returned.store(value, Ordering::Release);
        });
        let started = Started { thread: started.map_err(invalid)?, result };
        let handle = THREADS.keep(Arc::new(started))?;
        // SAFETY: the caller says so.
        unsafe { put(thread, handle) }?;
        Ok(0)
    })
}

const NO_FUNCTION: Failure = Failure::new(libc::EFAULT, c"the function is NULL");

/// Begins periods for the calling thread, from 10 us to 24 h. The first due time is `first_ns` of
/// the monotonic clock; 0: a period from now.
#[unsafe(no_mangle)]
pub extern "C" fn trt_make_periodic(first_ns: i64, period_ns: i64) -> c_int {
    call(|| {
        own::with(|own| {
            let first = (first_ns > 0).then(|| Instant::from_nanos(first_ns.unsigned_abs()));
            let pace = own.thread.periodic(nanos(period_ns), own.overrun, first);
            own.pace = Some(pace.map_err(invalid)?);
            Ok(0)
        })
    })
}

/// Ends the present job of the calling thread and waits for its next due time. `missed` gets the
/// number of due times that were missed directly before; NULL is possible.
///
/// Returns 0, or: `-ECANCELED`, the thread was asked to end; `-ETIME`, a job took too long and the
/// policy is `TRT_STOP`; `-ETIMEDOUT`, a job exceeded `limit_ns` and the thread is an ordinary one
/// now.
///
/// # Safety
/// `missed` is NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trt_wait(missed: *mut u64) -> c_int {
    call(|| {
        own::with(|own| {
            let pace = own.pace.as_mut().ok_or(Failure::new(
                libc::EINVAL,
                c"the thread has no period; fix: call trt_make_periodic first",
            ))?;
            let tick = pace.wait().map_err(ended)?;
            if !missed.is_null() {
                // SAFETY: the caller says so.
                unsafe { put(missed, tick.missed) }?;
            }
            Ok(0)
        })
    })
}

fn ended(ended: Ended) -> Failure {
    match ended {
        Ended::Overrun { .. } => Failure::new(libc::ETIME, c"a job took longer than its period"),
        Ended::Hung => Failure::new(
            libc::ETIMEDOUT,
            c"a job exceeded its limit, and the thread is an ordinary one now; fix: return from the thread",
        ),
        Ended::Failed(error) => error.into(),
        _ => channel::CANCELED,
    }
}

/// Waits until a thread ends by itself, and closes its handle then. `result` gets what its function
/// returned; NULL is possible. Several threads can wait for one, and others can stop it meanwhile.
/// A thread that waits for itself gets `-EDEADLK`.
///
/// # Safety
/// `result` is NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trt_thread_join(thread: trt_thread, result: *mut *mut c_void) -> c_int {
    // SAFETY: the caller says so.
    unsafe { close(thread, result, |_| ()) }
}

/// Asks a thread to end, waits for that, and closes its handle then. The waits of the library return
/// `-ECANCELED` in the thread, at the latest 100 ms later. A thread that stops itself gets `-EDEADLK`.
///
/// # Safety
/// `result` is NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trt_thread_stop(thread: trt_thread, result: *mut *mut c_void) -> c_int {
    // SAFETY: the caller says so.
    unsafe { close(thread, result, Thread::request_end) }
}

/// # Safety
/// `result` is NULL or may be written.
unsafe fn close(handle: trt_thread, result: *mut *mut c_void, before: fn(&Thread)) -> c_int {
    call(|| {
        let started = THREADS.with(handle, |started| Ok(Arc::clone(started)))?;
        if started.thread.is_current() {
            return Err(Failure::new(
                libc::EDEADLK,
                c"a thread cannot wait for its own end; fix: return from it, or let another thread wait for it",
            ));
        }
        before(&started.thread);
        started.thread.wait();
        // Of several threads that waited, the first closes the handle.
        let _ = THREADS.take_later(handle);
        if !result.is_null() {
            // SAFETY: the caller says so.
            unsafe { put(result, started.result.load(Ordering::Acquire)) }?;
        }
        Ok(0)
    })
}

/// Writes the figures of a thread. That does not delay it.
///
/// # Safety
/// `stats` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trt_thread_stats(thread: trt_thread, stats: *mut trt_stats) -> c_int {
    call(|| {
        let found = THREADS.with(thread, |started| Ok(started.thread.stats()))?;
        let lateness = &found.lateness;
        let at = |share| lateness.quantile(share).map_or(0, |late: Nanos| signed(late.as_nanos()));
        let figures = trt_stats {
            run: found.run,
            missed: found.missed,
            hung: found.hung,
            lateness_p50_ns: at(0.5),
            lateness_p99_ns: at(0.99),
            lateness_max_ns: at(1.0),
        };
        // SAFETY: the caller says so.
        unsafe { put(stats, figures) }?;
        Ok(0)
    })
}

/// Writes the sentence number `index`, from 0, about what a thread was not granted. Returns 1, or
/// 0 if there are no more.
///
/// # Safety
/// `text` may be written for `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trt_thread_shortfall(
    thread: trt_thread,
    index: u32,
    text: *mut c_char,
    size: usize,
) -> c_int {
    call(|| {
        let found = THREADS.with(thread, |started| {
            Ok(started.thread.shortfalls().get(index as usize).map(Shortfall::to_string))
        })?;
        // SAFETY: the caller says so.
        unsafe { hand_out(found, text, size) }
    })
}

/// What a handler does when something arrived in a channel. It ends if it returns anything but 0.
pub type trt_handler =
    Option<unsafe extern "C" fn(channel: channel::trt_channel, argument: *mut c_void) -> c_int>;

/// Starts a thread that calls `handler` when something may have arrived in a FIFO that this process
/// reads. The handler takes it by `trt_get` until that returns 0; no other thread may read the FIFO.
///
/// # Safety
/// `thread` may be written. `options` is NULL or points to a structure whose pointers are NULL or
/// texts. `handler` may be called with `argument` in another thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trt_create_handler(
    thread: *mut trt_thread,
    options: *const trt_thread_options,
    channel: channel::trt_channel,
    handler: trt_handler,
    argument: *mut c_void,
) -> c_int {
    call(|| {
        let handler = handler.ok_or(NO_FUNCTION)?;
        // SAFETY: the caller says so.
        let settings = unsafe {
            put(thread, 0)?;
            Settings::read(options)?
        };
        channel::check_readable(channel)?;
        let argument = Argument(argument);
        let (process, lint) = settings.place()?;
        let builder = process.event(settings.name, Arrivals(channel));
        let started = settings.apply(builder, lint).spawn(move |_| {
            // SAFETY: the caller of `trt_create_handler` says so.
            match unsafe { handler(channel, argument.get()) } {
                0 => Flow::Continue,
                _ => Flow::Stop,
            }
        });
        let started = Started { thread: started.map_err(invalid)?, result: Arc::default() };
        let handle = THREADS.keep(Arc::new(started))?;
        // SAFETY: the caller says so.
        unsafe { put(thread, handle) }?;
        Ok(0)
    })
}

/// Arrivals in a channel.
struct Arrivals(channel::trt_channel);

impl Source for Arrivals {
    type Event = ();

    fn wait(&mut self) -> Result<Waited<()>, SysError> {
        Ok(match channel::await_arrival(self.0) {
            Ok(true) => Waited::Event { event: (), at: None, missed: 0 },
            Ok(false) => Waited::Interrupted,
            Err(_) => Waited::Closed,
        })
    }

    fn interrupter(&self) -> Interrupter {
        // No wait takes longer than 100 ms.
        Interrupter::new(|| {})
    }
}
