//! Timed delivery: items for the delivery server, and a receipt for each.

// cbindgen starts here, and looks beside this file otherwise.
#[path = "delivery/values.rs"]
pub mod values;

use std::ffi::{c_char, c_int, c_void};
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use tactus_model::time::Nanos;
use tactus_stream::{BranchId, Client, Draft, IfLate, SOCKET, StreamId, Wanted};
use tactus_sys::wait::wait_readable;

use self::values::{moment, tactus_device, tactus_policy, tactus_receipt, tactus_slack};
use crate::channel::SLICE;
use crate::failure::{Failure, call, last_text};
use crate::handles::{Kind, Object, Slot, Slots};
use crate::text::{NULL, optional, put, text};

/// The handle of a connection to the server.
pub type tactus_client = u64;

static CLIENTS: Slots<Object<Client>, 64> =
    Slots::new(Kind::Client, [const { Slot::new(Object::new(None)) }; 64]);

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
            Ok(client.devices().get(number as usize).map(tactus_device::from))
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
                Ok((policy.branch(), policy.if_late()?))
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
                unsafe { put(receipt, (&found).into()) }?;
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
        // SAFETY: the caller says so.
        unsafe { put(slack, found.map(Into::into).unwrap_or_default()) }?;
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

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use tactus_stream::Outcome;

    use super::values::outcome;
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
