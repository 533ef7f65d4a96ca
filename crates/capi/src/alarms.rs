//! Alarms: messages at their due times, on a descriptor.

use std::ffi::c_int;
use std::os::fd::{AsFd, AsRawFd};

use tactus_model::time::Monotonic;
use tactus_rt::{AlarmId, AlarmPort, Alarms, ClockService, NotSet};

use crate::clock::instant;
use crate::failure::{Failure, call};
use crate::handles::{Kind, Object, Slot, Slots};
use crate::text::put;
use crate::thread::signed;

/// The handle of an alarm port.
pub type trt_alarms = u64;

struct Port {
    alarms: Alarms<Monotonic>,
    port: AlarmPort<Monotonic>,
}

static PORTS: Slots<Object<Port>, 64> =
    Slots::new(Kind::Alarms, [const { Slot::new(Object::new(None)) }; 64]);

impl From<NotSet> for Failure {
    fn from(error: NotSet) -> Self {
        match error {
            NotSet::System(error) => error.into(),
            NotSet::Lock(error) => error.into(),
            NotSet::Full { .. } => Self::because(libc::EAGAIN, error),
            NotSet::Limit { .. } => Self::because(libc::EINVAL, error),
            NotSet::Memory(_) => Self::because(libc::ENOMEM, error),
        }
    }
}

/// Creates a port for up to `limit` pending alarms, from 1 to 65536.
///
/// # Safety
/// `alarms` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trt_alarms_create(alarms: *mut trt_alarms, limit: usize) -> c_int {
    call(|| {
        // SAFETY: the caller says so.
        unsafe { put(alarms, 0) }?;
        let (sets, port) = ClockService::<Monotonic>::new().alarms(limit)?;
        let handle = PORTS.keep(Port { alarms: sets, port })?;
        // SAFETY: the caller says so.
        unsafe { put(alarms, handle) }?;
        Ok(0)
    })
}

/// Sets an alarm at `due_ns` of the monotonic clock; any thread may. Returns the number of the alarm
/// for `trt_alarm_cancel`, 0 or more, or `-EAGAIN` if the limit is reached.
#[unsafe(no_mangle)]
pub extern "C" fn trt_alarm_set(alarms: trt_alarms, due_ns: i64, message: u64) -> i64 {
    call(|| {
        PORTS.with(alarms, |port| {
            let AlarmId(number) = port.alarms.set(instant(due_ns), message)?;
            Ok(signed(number))
        })
    })
}

/// Cancels an alarm by its number; any thread may. Returns 1, or 0 if it was taken or cancelled
/// before.
#[unsafe(no_mangle)]
pub extern "C" fn trt_alarm_cancel(alarms: trt_alarms, alarm: i64) -> c_int {
    call(|| {
        let id = AlarmId(u64::try_from(alarm).unwrap_or(u64::MAX));
        PORTS.with(alarms, |port| Ok(port.alarms.cancel(id)?.into()))
    })
}

/// Takes the earliest alarm that is due. Never waits: poll(2) the descriptor of the port for that.
/// Returns 1 with an alarm, or 0 without. `due_ns` may be NULL.
///
/// # Safety
/// `due_ns` is NULL or may be written; `message` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trt_alarm_take(
    alarms: trt_alarms,
    due_ns: *mut i64,
    message: *mut u64,
) -> c_int {
    call(|| {
        // SAFETY: the caller says so.
        unsafe { put(message, 0) }?;
        let Some(alarm) = PORTS.with(alarms, |port| Ok(port.port.take()?))? else { return Ok(0) };
        // SAFETY: the caller says so.
        unsafe {
            put(message, alarm.message)?;
            if !due_ns.is_null() {
                put(due_ns, signed(alarm.due.as_nanos()))?;
            }
        }
        Ok(1)
    })
}

/// Returns the descriptor that can be read when an alarm is due. It belongs to the port.
#[unsafe(no_mangle)]
pub extern "C" fn trt_alarms_pollfd(alarms: trt_alarms) -> c_int {
    call(|| PORTS.with(alarms, |port| Ok(port.port.as_fd().as_raw_fd())))
}

/// Closes a port.
#[unsafe(no_mangle)]
pub extern "C" fn trt_alarms_close(alarms: trt_alarms) -> c_int {
    call(|| {
        PORTS.take(alarms)?;
        Ok(0)
    })
}
