//! Timed delivery: items for the delivery server, and a receipt for each.

use std::ffi::{c_char, c_int, c_void};
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use tactus_model::time::Nanos;
use tactus_stream::{
    BranchId, Client, ConnectError, Draft, Ended, Evidence, Format, IfLate, Moment, Outcome,
    RequestError, SOCKET, StreamId, SubmitError, Wanted,
};
use tactus_sys::wait::wait_readable;

use crate::failure::{Failure, call, last_text};
use crate::handles::{Kind, Object, Slot, Slots};
use crate::text::{NULL, copy, optional, put, text};

/// The handle of a connection to the server.
pub type tactus_client = u64;

/// No limit for a wait.
pub const TACTUS_FOREVER: i64 = i64::MAX;

/// A late item is delivered all the same, as soon as possible.
pub const TACTUS_DELIVER: u32 = 0;

/// An item is dropped if it is later than `tolerance_ns`.
pub const TACTUS_DROP: u32 = 1;

/// The same, and its stream stops until `tactus_resume`.
pub const TACTUS_STOP: u32 = 2;

/// The device takes MIDI: one whole message, its status byte first.
pub const TACTUS_MIDI: u32 = 0;

/// The device takes audio: frames of `channels` samples, each a `float`.
pub const TACTUS_AUDIO: u32 = 1;

/// The device takes the values of a DMX512 universe, 1 to 512 bytes.
pub const TACTUS_DMX: u32 = 2;

/// The device takes any bytes.
pub const TACTUS_BYTES: u32 = 3;

/// The device took the item.
pub const TACTUS_DELIVERED: u32 = 0;

/// The device refused the item.
pub const TACTUS_FAILED: u32 = 1;

/// The item was later than its policy tolerates.
pub const TACTUS_LATE: u32 = 2;

/// The stream of the item had stopped for a late item.
pub const TACTUS_STOPPED: u32 = 3;

/// The branch of the item was cut before its time.
pub const TACTUS_CUT: u32 = 4;

/// The stream of the item was closed.
pub const TACTUS_CLOSED: u32 = 5;

/// The server ended first.
pub const TACTUS_ENDED: u32 = 6;

/// The item broke a rule.
pub const TACTUS_REFUSED: u32 = 7;

/// The delivery began, and its end was not seen: the item may have come out.
pub const TACTUS_UNKNOWN: u32 = 8;

/// The item was not delivered, so there are no times.
pub const TACTUS_EVIDENCE_NONE: u32 = 0;

/// The times are those of virtual time.
pub const TACTUS_EVIDENCE_VIRTUAL: u32 = 1;

/// The times are those of the clock right before and after the call that handed the item over.
pub const TACTUS_EVIDENCE_CALL: u32 = 2;

/// The times are stamps of the kernel.
pub const TACTUS_EVIDENCE_KERNEL: u32 = 3;

/// The times are positions of the device's own clock, converted.
pub const TACTUS_EVIDENCE_DEVICE_CLOCK: u32 = 4;

/// What belongs to an item; NULL for zeros.
#[repr(C)]
pub struct tactus_policy {
    /// What happens if it is late: `TACTUS_DELIVER`, `TACTUS_DROP` or `TACTUS_STOP`.
    pub if_late: u32,
    /// The branch that it belongs to, for `tactus_cut`.
    pub branch: u32,
    /// How late it may be, for `TACTUS_DROP` and `TACTUS_STOP`.
    pub tolerance_ns: i64,
}

/// What became of an item. Times are in nanoseconds of CLOCK_MONOTONIC.
#[repr(C)]
pub struct tactus_receipt {
    /// The number that `tactus_at` gave it.
    pub id: u64,
    /// When it was due.
    pub due_ns: i64,
    /// When its delivery began; -1 if it did not.
    pub began_ns: i64,
    /// When its delivery had ended; -1 if it did not.
    pub ended_ns: i64,
    /// The stream.
    pub stream: u32,
    /// What became of it: `TACTUS_DELIVERED` and so on.
    pub outcome: u32,
    /// How far the times can be trusted: `TACTUS_EVIDENCE_CALL` and so on.
    pub evidence: u32,
    /// 0.
    pub reserved: u32,
}

/// A device of the server.
#[repr(C)]
pub struct tactus_device {
    /// Its name, with a NUL.
    pub name: [c_char; 65],
    /// What it takes: `TACTUS_MIDI`, `TACTUS_AUDIO`, `TACTUS_DMX` or `TACTUS_BYTES`.
    pub format: u32,
    /// The channels of `TACTUS_AUDIO`, the most bytes of `TACTUS_BYTES`; otherwise 0.
    pub size: u32,
    /// How long before its time it must have an item, in nanoseconds.
    pub lead_ns: i64,
}

/// How early the items of the last minute arrived at the queues of their devices.
#[repr(C)]
#[derive(Default)]
pub struct tactus_slack {
    /// The items; 0: the rest is 0 too.
    pub items: u64,
    /// Those that arrived too late to be delivered in time.
    pub late: u64,
    /// 99 % of the items had at least this slack, in nanoseconds.
    pub p1_ns: i64,
    /// The smallest slack.
    pub least_ns: i64,
    /// How long before its time an item should be passed to `tactus_at`.
    pub lead_ns: i64,
}

static CLIENTS: Slots<Object<Client>, 64> =
    Slots::new(Kind::Client, [const { Slot::new(Object::new(None)) }; 64]);

impl From<Ended> for Failure {
    fn from(error: Ended) -> Self {
        Self::because(libc::EPIPE, error)
    }
}

impl From<RequestError> for Failure {
    fn from(error: RequestError) -> Self {
        let errno = match &error {
            RequestError::Refused(_) => libc::EINVAL,
            RequestError::Ended(_) => libc::EPIPE,
            RequestError::NoDevice { .. } => libc::ENODEV,
            RequestError::Protocol(_) => libc::EPROTO,
        };
        Self::because(errno, error)
    }
}

impl From<ConnectError> for Failure {
    fn from(error: ConnectError) -> Self {
        let errno = match &error {
            ConnectError::Socket { error, .. } => {
                error.raw_os_error().unwrap_or(libc::ECONNREFUSED)
            }
            ConnectError::Memory(error) => error.errno.raw_os_error(),
            ConnectError::Request(_) => libc::EACCES,
        };
        Self::because(errno, error)
    }
}

impl From<SubmitError> for Failure {
    fn from(error: SubmitError) -> Self {
        let errno = match &error {
            SubmitError::Full { .. } => libc::EAGAIN,
            SubmitError::TooFarAhead { .. } => libc::ERANGE,
            SubmitError::NoStream(_) => libc::ENOENT,
            SubmitError::Unfit(_) => libc::EINVAL,
            SubmitError::TooLong { .. } => libc::EMSGSIZE,
            SubmitError::Ended(_) => libc::EPIPE,
        };
        Self::because(errno, error)
    }
}

/// Connects to the delivery server at `socket`; NULL: the usual one. `name` is for people. `items`
/// is how many items may be without a receipt that was read (0: 1024), `payload_bytes` the most
/// bytes of an item (0: 64). Threads may share the connection.
///
/// # Safety
/// `client` may be written; `socket` and `name` are NULL or texts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_connect(
    client: *mut tactus_client,
    socket: *const c_char,
    name: *const c_char,
    items: u32,
    payload_bytes: u32,
) -> c_int {
    call(|| {
        // SAFETY: the caller says so.
        let (socket, name) = unsafe {
            put(client, 0)?;
            (optional(socket, "the socket")?, text(name, "the name")?)
        };
        let mut wanted = Wanted::named(name);
        if items != 0 {
            wanted.items = items;
        }
        if payload_bytes != 0 {
            wanted.payload_bytes = payload_bytes;
        }
        let connected = Client::connect(socket.unwrap_or(SOCKET), &wanted)?;
        let handle = CLIENTS.keep(connected)?;
        // SAFETY: the caller says so.
        unsafe { put(client, handle) }?;
        Ok(0)
    })
}

/// Ends a connection. Its items that wait are not delivered.
#[unsafe(no_mangle)]
pub extern "C" fn tactus_disconnect(client: tactus_client) -> c_int {
    call(|| {
        CLIENTS.take_later(client)?;
        Ok(0)
    })
}

/// Writes the device with this number, from 0 on. Returns 1, or 0 if there is none.
///
/// # Safety
/// `device` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_device_at(
    client: tactus_client,
    number: u32,
    device: *mut tactus_device,
) -> c_int {
    call(|| {
        let found = CLIENTS.with(client, |client| {
            Ok(client.devices().get(number as usize).map(|info| {
                let (format, size) = match info.format {
                    Format::Midi => (TACTUS_MIDI, 0),
                    Format::Audio { channels } => (TACTUS_AUDIO, channels.into()),
                    Format::Dmx => (TACTUS_DMX, 0),
                    Format::Bytes { most } => (TACTUS_BYTES, most),
                };
                let mut name = [0; 65];
                copy(&info.name, &mut name);
                tactus_device { name, format, size, lead_ns: signed(info.lead) }
            }))
        })?;
        let Some(found) = found else { return Ok(0) };
        // SAFETY: the caller says so.
        unsafe { put(device, found) }?;
        Ok(1)
    })
}

/// Opens a stream to a device.
///
/// # Safety
/// `stream` may be written; `device` is NULL or a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_open(
    client: tactus_client,
    device: *const c_char,
    stream: *mut u32,
) -> c_int {
    call(|| {
        // SAFETY: the caller says so.
        let device = unsafe { text(device, "the device") }?;
        if stream.is_null() {
            return Err(NULL);
        }
        let opened = CLIENTS.with(client, |client| Ok(client.open(device)?))?;
        // SAFETY: the caller says so.
        unsafe { put(stream, opened.0) }?;
        Ok(0)
    })
}

/// Closes a stream. Its items that wait are not delivered; each gets its receipt.
#[unsafe(no_mangle)]
pub extern "C" fn tactus_close(client: tactus_client, stream: u32) -> c_int {
    call(|| {
        CLIENTS.with(client, |client| Ok(client.close(StreamId(stream))?))?;
        Ok(0)
    })
}

/// Submits an item that is due at `due_ns` of the monotonic clock. Never waits. `id`, which may be
/// NULL, gets the number that comes back in its receipt.
///
/// Returns 0, or: `-EAGAIN`, read receipts first; `-ERANGE`, it is due too far ahead, try later. An
/// item that is refused gets no receipt.
///
/// # Safety
/// `data` may be read for `length` bytes; `policy` is NULL or a policy; `id` is NULL or may be
/// written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_at(
    client: tactus_client,
    stream: u32,
    due_ns: i64,
    data: *const c_void,
    length: usize,
    policy: *const tactus_policy,
    id: *mut u64,
) -> c_int {
    call(|| {
        // SAFETY: the caller says so.
        let (branch, if_late) = unsafe { policy.as_ref() }
            .map_or(Ok::<_, Failure>((BranchId(0), IfLate::Deliver)), |policy| {
                Ok((BranchId(policy.branch), if_late(policy)?))
            })?;
        let payload: &[u8] = match (data.is_null(), length) {
            (_, 0) => &[],
            (true, _) => return Err(NULL),
            // SAFETY: the caller says so, and no object is larger than `isize::MAX`.
            _ if length <= isize::MAX as usize => unsafe {
                std::slice::from_raw_parts(data.cast(), length)
            },
            _ => return Err(TOO_LONG),
        };
        let (stream, due) = (StreamId(stream), moment(due_ns)?);
        let draft = Draft { stream, branch, due, if_late, payload };
        let sequence = CLIENTS.with(client, |client| Ok(client.submit(&draft)?))?;
        if !id.is_null() {
            // SAFETY: the caller says so.
            unsafe { put(id, sequence) }?;
        }
        Ok(0)
    })
}

const TOO_LONG: Failure = Failure::new(libc::EMSGSIZE, c"no item has so many bytes");

/// Cuts a branch: of the items that were submitted so far, none that is due at `at_ns` or later is
/// delivered, in any stream; each gets its receipt.
#[unsafe(no_mangle)]
pub extern "C" fn tactus_cut(client: tactus_client, branch: u32, at_ns: i64) -> c_int {
    call(|| {
        let at = moment(at_ns)?;
        CLIENTS.with(client, |client| Ok(client.cut(BranchId(branch), at)?))?;
        Ok(0)
    })
}

/// Lets items of a stream be delivered again that a late item with `TACTUS_STOP` had stopped.
#[unsafe(no_mangle)]
pub extern "C" fn tactus_resume(client: tactus_client, stream: u32) -> c_int {
    call(|| {
        CLIENTS.with(client, |client| Ok(client.resume(StreamId(stream))?))?;
        Ok(0)
    })
}

/// Takes the next receipt; waits for it for `timeout_ns`; 0: not at all; `TACTUS_FOREVER`: without a
/// limit. Other threads may use the connection meanwhile.
///
/// Returns 1 with a receipt, 0 without, or `-EPIPE`: the server has ended, and every receipt was
/// read.
///
/// # Safety
/// `receipt` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_receipt_next(
    client: tactus_client,
    receipt: *mut tactus_receipt,
    timeout_ns: i64,
) -> c_int {
    call(|| {
        if receipt.is_null() {
            return Err(NULL);
        }
        let timeout = Nanos::from_nanos(u64::try_from(timeout_ns).unwrap_or(0));
        let end = Client::now() + timeout;
        loop {
            let (found, bell) = CLIENTS.with(client, |client| {
                let found = client.receipt(Some(Duration::ZERO))?;
                // Its own descriptor: another thread may end the connection meanwhile.
                let bell = found.is_none().then(|| client.as_fd().try_clone_to_owned());
                Ok((found, bell.transpose()))
            })?;
            if let Some(found) = found {
                // SAFETY: the caller says so.
                unsafe { put(receipt, of(&found)) }?;
                return Ok(1);
            }
            let left = end - Client::now();
            if left == Nanos::ZERO {
                return Ok(0);
            }
            let bell = bell.map_err(|error| Failure::because(libc::EMFILE, error))?;
            if let Some(bell) = bell {
                // In slices: another thread may take the notice of a receipt that it does not take.
                wait_readable(bell.as_fd(), left.min(SLICE).into())?;
            }
        }
    })
}

/// The longest wait after which a thread looks again.
const SLICE: Nanos = Nanos::from_millis(100);

/// Returns a descriptor for poll(2): after `tactus_receipt_next` has returned 0, it can be read when
/// receipts may have come. It belongs to the connection.
#[unsafe(no_mangle)]
pub extern "C" fn tactus_pollfd(client: tactus_client) -> c_int {
    call(|| CLIENTS.with(client, |client| Ok(client.as_fd().as_raw_fd())))
}

/// Writes how early the items of the last minute arrived, by the receipts that were read.
///
/// # Safety
/// `slack` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_slack_of(client: tactus_client, slack: *mut tactus_slack) -> c_int {
    call(|| {
        let found = CLIENTS.with(client, |client| Ok(client.slack()))?;
        let found = found.map(|found| tactus_slack {
            items: found.items,
            late: found.late,
            p1_ns: signed(found.p1),
            least_ns: signed(found.least),
            lead_ns: signed(found.recommended_lead()),
        });
        // SAFETY: the caller says so.
        unsafe { put(slack, found.unwrap_or_default()) }?;
        Ok(0)
    })
}

/// Returns the monotonic clock, in nanoseconds: the clock of due times.
#[unsafe(no_mangle)]
pub extern "C" fn tactus_now() -> i64 {
    Client::now().as_nanos().cast_signed()
}

/// Returns why the last call of this thread that failed did, in a sentence, with the fix. The text
/// is valid until the next call of this thread fails.
#[unsafe(no_mangle)]
pub extern "C" fn tactus_error() -> *const c_char {
    last_text()
}

/// Returns the word for an outcome, such as `delivered`.
#[unsafe(no_mangle)]
pub extern "C" fn tactus_outcome(outcome: u32) -> *const c_char {
    let words = [
        c"delivered",
        c"failed",
        c"late",
        c"stopped",
        c"cut",
        c"closed",
        c"ended",
        c"refused",
        c"unknown",
    ];
    words.get(outcome as usize).unwrap_or(&c"no such outcome").as_ptr()
}

fn if_late(policy: &tactus_policy) -> Result<IfLate, Failure> {
    let tolerance = u64::try_from(policy.tolerance_ns).map_err(|_| TOLERANCE);
    match policy.if_late {
        TACTUS_DELIVER => Ok(IfLate::Deliver),
        TACTUS_DROP => Ok(IfLate::Drop(Nanos::from_nanos(tolerance?))),
        TACTUS_STOP => Ok(IfLate::Stop(Nanos::from_nanos(tolerance?))),
        _ => Err(UNKNOWN_POLICY),
    }
}

const TOLERANCE: Failure = Failure::new(libc::EINVAL, c"`tolerance_ns` is negative");
const UNKNOWN_POLICY: Failure = Failure::new(
    libc::EINVAL,
    c"`if_late` is not TACTUS_DELIVER, TACTUS_DROP or TACTUS_STOP; fix: set every member of struct tactus_policy",
);

fn moment(nanos: i64) -> Result<Moment, Failure> {
    let negative =
        Failure::new(libc::EINVAL, c"a negative instant; fix: add to tactus_now(), in nanoseconds");
    u64::try_from(nanos).map(Moment::from_nanos).map_err(|_| negative)
}

fn signed(length: Nanos) -> i64 {
    i64::try_from(length.as_nanos()).unwrap_or(i64::MAX)
}

fn of(receipt: &tactus_stream::Receipt) -> tactus_receipt {
    let nanos = |moment: Moment| i64::try_from(moment.as_nanos()).unwrap_or(i64::MAX);
    tactus_receipt {
        id: receipt.sequence,
        due_ns: nanos(receipt.due),
        began_ns: receipt.began.map_or(-1, nanos),
        ended_ns: receipt.ended.map_or(-1, nanos),
        stream: receipt.stream.0,
        outcome: outcome(receipt.outcome),
        evidence: evidence(receipt.evidence),
        reserved: 0,
    }
}

const fn outcome(outcome: Outcome) -> u32 {
    match outcome {
        Outcome::Delivered => TACTUS_DELIVERED,
        Outcome::Failed => TACTUS_FAILED,
        Outcome::Late => TACTUS_LATE,
        Outcome::Stopped => TACTUS_STOPPED,
        Outcome::Cut => TACTUS_CUT,
        Outcome::Closed => TACTUS_CLOSED,
        Outcome::Ended => TACTUS_ENDED,
        Outcome::Refused => TACTUS_REFUSED,
        Outcome::Unknown => TACTUS_UNKNOWN,
    }
}

const fn evidence(evidence: Evidence) -> u32 {
    match evidence {
        Evidence::None => TACTUS_EVIDENCE_NONE,
        Evidence::Virtual => TACTUS_EVIDENCE_VIRTUAL,
        Evidence::Call => TACTUS_EVIDENCE_CALL,
        Evidence::Kernel => TACTUS_EVIDENCE_KERNEL,
        Evidence::DeviceClock => TACTUS_EVIDENCE_DEVICE_CLOCK,
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use super::*;

    #[test]
    fn the_words_for_outcomes_are_those_of_receipts() {
        for known in Outcome::ALL {
            // SAFETY: the function returns a constant text.
            let word = unsafe { CStr::from_ptr(tactus_outcome(outcome(known))) };
            assert_eq!(word.to_str(), Ok(known.word()));
        }
    }
}
