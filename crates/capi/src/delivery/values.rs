//! Items, receipts and errors, between C and Rust.

use std::ffi::c_char;

use tactus_model::time::Nanos;
use tactus_stream::{
    BranchId, ConnectError, DeviceInfo, Ended, Evidence, Format, IfLate, Moment, Outcome, Receipt,
    RequestError, Slack, SubmitError,
};

use crate::failure::Failure;
use crate::text::copy;

/// No limit for a wait.
pub const TACTUS_FOREVER: i64 = i64::MAX;

/// A late item is delivered all the same, as soon as possible.
pub const TACTUS_DELIVER: u32 = 0;

/// An item is dropped if it is later than `tolerance_ns`. A device without a lead takes each item a
/// little after it is due, so with 0 it drops every item.
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

/// The device takes frames of pictures, for which this library has no memory.
pub const TACTUS_FRAME: u32 = 4;

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

/// The times of a receipt are not by the device's own clock.
pub const TACTUS_NO_CORRECTION: i32 = i32::MIN;

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
    /// How much faster than nominal the device's clock ran, in parts per billion;
    /// `TACTUS_NO_CORRECTION` if the times are not by that clock.
    pub correction_ppb: i32,
}

/// A device of the server.
#[repr(C)]
pub struct tactus_device {
    /// Its name, with a NUL.
    pub name: [c_char; 65],
    /// What it takes: `TACTUS_MIDI`, `TACTUS_AUDIO`, `TACTUS_DMX`, `TACTUS_BYTES` or `TACTUS_FRAME`.
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

impl tactus_policy {
    /// What happens if an item is late.
    pub(crate) fn if_late(&self) -> Result<IfLate, Failure> {
        let tolerance =
            || u64::try_from(self.tolerance_ns).map(Nanos::from_nanos).map_err(|_| TOLERANCE);
        match self.if_late {
            TACTUS_DELIVER => Ok(IfLate::Deliver),
            TACTUS_DROP => Ok(IfLate::Drop(tolerance()?)),
            TACTUS_STOP => Ok(IfLate::Stop(tolerance()?)),
            _ => Err(UNKNOWN_POLICY),
        }
    }

    /// The branch of an item.
    pub(crate) const fn branch(&self) -> BranchId {
        BranchId(self.branch)
    }
}

const TOLERANCE: Failure = Failure::new(libc::EINVAL, c"`tolerance_ns` is negative");
const UNKNOWN_POLICY: Failure = Failure::new(
    libc::EINVAL,
    c"`if_late` is not TACTUS_DELIVER, TACTUS_DROP or TACTUS_STOP; fix: set every member of struct tactus_policy",
);
const NEGATIVE: Failure =
    Failure::new(libc::EINVAL, c"a negative instant; fix: add to tactus_now(), in nanoseconds");

/// The instant of a number of nanoseconds.
pub(crate) fn moment(nanos: i64) -> Result<Moment, Failure> {
    u64::try_from(nanos).map(Moment::from_nanos).map_err(|_| NEGATIVE)
}

fn signed(length: Nanos) -> i64 {
    i64::try_from(length.as_nanos()).unwrap_or(i64::MAX)
}

impl From<&Receipt> for tactus_receipt {
    fn from(receipt: &Receipt) -> Self {
        let nanos = |moment: Moment| i64::try_from(moment.as_nanos()).unwrap_or(i64::MAX);
        Self {
            id: receipt.sequence,
            due_ns: nanos(receipt.due),
            began_ns: receipt.began.map_or(-1, nanos),
            ended_ns: receipt.ended.map_or(-1, nanos),
            stream: receipt.stream.0,
            outcome: outcome(receipt.outcome),
            evidence: evidence(receipt.evidence),
            correction_ppb: receipt
                .correction
                .map_or(TACTUS_NO_CORRECTION, |correction| correction.0),
        }
    }
}

impl From<&DeviceInfo> for tactus_device {
    fn from(info: &DeviceInfo) -> Self {
        let (format, size) = match info.format {
            Format::Midi => (TACTUS_MIDI, 0),
            Format::Audio { channels } => (TACTUS_AUDIO, channels.into()),
            Format::Dmx => (TACTUS_DMX, 0),
            Format::Bytes { most } => (TACTUS_BYTES, most),
            // Its frames are not reached from C.
            Format::Frame { .. } => (TACTUS_FRAME, 0),
        };
        let mut name = [0; 65];
        copy(&info.name, &mut name);
        Self { name, format, size, lead_ns: signed(info.lead) }
    }
}

impl From<Slack> for tactus_slack {
    fn from(slack: Slack) -> Self {
        Self {
            items: slack.items,
            late: slack.late,
            p1_ns: signed(slack.p1),
            least_ns: signed(slack.least),
            lead_ns: signed(slack.recommended_lead()),
        }
    }
}

/// The constant of an outcome.
pub(crate) const fn outcome(outcome: Outcome) -> u32 {
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
