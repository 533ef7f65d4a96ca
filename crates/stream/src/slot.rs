//! Items and receipts as they lie in shared memory, in the byte order of the machine.

use bytemuck::{Pod, Zeroable};
use tactus_delivery::device_clock::Correction;
use tactus_delivery::item::{BranchId, ClientId, Epoch, IfLate, Item, Moment, StreamId};
use tactus_delivery::receipt::{Evidence, Outcome, Receipt};
use tactus_model::time::Nanos;

/// What precedes the payload of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct ItemHeader {
    sequence: u64,
    /// In nanoseconds of the monotonic clock.
    due: u64,
    /// The same, when the client submitted it.
    submitted: u64,
    tolerance: u64,
    stream: u32,
    branch: u32,
    epoch: u32,
    /// Bytes of the payload.
    length: u16,
    policy: u16,
}

/// Bytes of an [`ItemHeader`].
pub const HEADER_BYTES: usize = size_of::<ItemHeader>();

/// A rule that an honest client never breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The payload does not fit its slot.
    #[error("the payload of an item has {length} bytes; its slot has room for {room}")]
    Length {
        /// Its length.
        length: usize,
        /// The room.
        room: usize,
    },
    /// There is no such policy.
    #[error("an item has the unknown lateness policy {0}")]
    Policy(u16),
}

/// An item with the instant at which its client submitted it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Submitted<P> {
    /// The item.
    pub item: Item<P>,
    /// When, by the client's word.
    pub at: Moment,
}

impl Submitted<&[u8]> {
    /// Writes the item into a slot.
    ///
    /// # Errors
    /// The payload does not fit.
    pub fn write(&self, slot: &mut [u8]) -> Result<(), Malformed> {
        let Item { sequence, stream, branch, epoch, due, if_late, payload, .. } = self.item;
        let room = slot.len() - HEADER_BYTES;
        let too_long = Malformed::Length { length: payload.len(), room };
        let length = u16::try_from(payload.len()).map_err(|_| too_long)?;
        let (header, rest) = slot.split_at_mut(HEADER_BYTES);
        rest.get_mut(..payload.len()).ok_or(too_long)?.copy_from_slice(payload);
        let (policy, tolerance) = match if_late {
            IfLate::Deliver => (0, Nanos::ZERO),
            IfLate::Drop(tolerance) => (1, tolerance),
            IfLate::Stop(tolerance) => (2, tolerance),
        };
        header.copy_from_slice(bytemuck::bytes_of(&ItemHeader {
            sequence,
            due: due.as_nanos(),
            submitted: self.at.as_nanos(),
            tolerance: tolerance.as_nanos(),
            stream: stream.0,
            branch: branch.0,
            epoch: epoch.0,
            length,
            policy,
        }));
        Ok(())
    }
}

impl<'a> Submitted<&'a [u8]> {
    /// Reads the item of a client from a copy of its slot.
    ///
    /// # Errors
    /// It breaks a rule.
    ///
    /// # Panics
    /// The slot has no room for a header.
    pub fn read(client: ClientId, slot: &'a [u8]) -> Result<Self, Malformed> {
        let (header, rest) = slot.split_at(HEADER_BYTES);
        let header: ItemHeader = bytemuck::pod_read_unaligned(header);
        let length = usize::from(header.length);
        let payload = rest.get(..length).ok_or(Malformed::Length { length, room: rest.len() })?;
        let tolerance = Nanos::from_nanos(header.tolerance);
        let if_late = match header.policy {
            0 => IfLate::Deliver,
            1 => IfLate::Drop(tolerance),
            2 => IfLate::Stop(tolerance),
            policy => return Err(Malformed::Policy(policy)),
        };
        let item = Item {
            client,
            sequence: header.sequence,
            stream: StreamId(header.stream),
            branch: BranchId(header.branch),
            epoch: Epoch(header.epoch),
            due: Moment::from_nanos(header.due),
            if_late,
            payload,
        };
        Ok(Self { item, at: Moment::from_nanos(header.submitted) })
    }
}

/// A receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct ReceiptSlot {
    sequence: u64,
    due: u64,
    /// 0 for none, as in `ended`.
    began: u64,
    ended: u64,
    /// When the item arrived at the queue of its device; 0 for never.
    arrived: u64,
    /// How long that took from its submission, with the lead of its device.
    needed: u64,
    stream: u32,
    outcome: u16,
    evidence: u16,
    /// `NO_CORRECTION` for none.
    correction: i32,
    unused: u32,
    /// `NO_REFRESH` for none.
    msc: u64,
}

const NO_CORRECTION: i32 = i32::MIN;
const NO_REFRESH: u64 = u64::MAX;

/// Bytes of a [`ReceiptSlot`].
pub const RECEIPT_BYTES: usize = size_of::<ReceiptSlot>();

/// A receipt, and how early its item arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answered {
    /// The receipt.
    pub receipt: Receipt,
    /// When the item arrived at the queue of its device; `None` if it never did.
    pub arrival: Option<Arrival>,
}

/// The arrival of an item at the queue of its device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When.
    pub at: Moment,
    /// How long that took from its submission, and the lead of its device: an item that is
    /// submitted so long before its time arrives just in time.
    pub needed: Nanos,
}

impl Arrival {
    /// Whether that was too late for an item that is due at `due`, at a device that must have it
    /// `lead` earlier.
    pub fn is_late(&self, due: Moment, lead: Nanos) -> bool {
        self.at > due - lead
    }
}

impl From<&Answered> for ReceiptSlot {
    fn from(answered: &Answered) -> Self {
        let Receipt { sequence, stream, due, began, ended, outcome, evidence, .. } =
            answered.receipt;
        let correction = answered.receipt.correction;
        let nanos = |moment: Option<Moment>| moment.map_or(0, Moment::as_nanos);
        let number = |found: Option<usize>| found.and_then(|at| u16::try_from(at).ok());
        Self {
            sequence,
            due: due.as_nanos(),
            began: nanos(began),
            ended: nanos(ended),
            arrived: nanos(answered.arrival.map(|arrival| arrival.at)),
            needed: answered.arrival.map_or(0, |arrival| arrival.needed.as_nanos()),
            stream: stream.0,
            outcome: number(Outcome::ALL.iter().position(|other| *other == outcome))
                .unwrap_or(u16::MAX),
            evidence: number(Evidence::ALL.iter().position(|other| *other == evidence))
                .unwrap_or(u16::MAX),
            correction: correction.map_or(NO_CORRECTION, |correction| correction.0),
            unused: 0,
            msc: answered.receipt.msc.unwrap_or(NO_REFRESH),
        }
    }
}

impl ReceiptSlot {
    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        bytemuck::bytes_of(self)
    }

    /// Reads a receipt of a client; `None` if the server wrote numbers without a meaning.
    pub fn read(client: ClientId, bytes: &[u8; RECEIPT_BYTES]) -> Option<Answered> {
        let slot: Self = bytemuck::pod_read_unaligned(bytes);
        let moment = |nanos: u64| (nanos != 0).then(|| Moment::from_nanos(nanos));
        let receipt = Receipt {
            client,
            sequence: slot.sequence,
            stream: StreamId(slot.stream),
            due: Moment::from_nanos(slot.due),
            began: moment(slot.began),
            ended: moment(slot.ended),
            outcome: *Outcome::ALL.get(usize::from(slot.outcome))?,
            evidence: *Evidence::ALL.get(usize::from(slot.evidence))?,
            correction: (slot.correction != NO_CORRECTION).then_some(Correction(slot.correction)),
            msc: (slot.msc != NO_REFRESH).then_some(slot.msc),
        };
        let needed = Nanos::from_nanos(slot.needed);
        let arrival = moment(slot.arrived).map(|at| Arrival { at, needed });
        Some(Answered { receipt, arrival })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_and_receipts_come_back() {
        let item = Item {
            client: ClientId(3),
            sequence: 1,
            stream: StreamId(2),
            branch: BranchId(4),
            epoch: Epoch(5),
            due: Moment::from_nanos(6),
            if_late: IfLate::Stop(Nanos::from_nanos(7)),
            payload: &b"abc"[..],
        };
        let submitted = Submitted { item, at: Moment::from_nanos(8) };
        let mut slot = [0; HEADER_BYTES + 3];
        submitted.write(&mut slot).unwrap();
        assert_eq!(Submitted::read(ClientId(3), &slot), Ok(submitted));
        let refused = submitted.write(&mut [0; HEADER_BYTES + 2]).unwrap_err();
        assert_eq!(refused, Malformed::Length { length: 3, room: 2 });
        let cut_off = Submitted::read(ClientId(3), &slot[..HEADER_BYTES + 2]).unwrap_err();
        assert_eq!(cut_off, refused);
        slot[HEADER_BYTES - 2] = 9;
        assert_eq!(Submitted::read(ClientId(3), &slot), Err(Malformed::Policy(9)));
        for outcome in Outcome::ALL {
            let receipt = Receipt {
                began: Some(Moment::from_nanos(9)),
                ended: Some(Moment::from_nanos(10)),
                evidence: Evidence::Kernel,
                correction: Some(Correction(-7)),
                msc: Some(11),
                ..Receipt::undelivered(&item, outcome)
            };
            let arrival = Arrival { at: Moment::from_nanos(2), needed: Nanos::from_nanos(4) };
            let answered = Answered { receipt, arrival: Some(arrival) };
            let slot = ReceiptSlot::from(&answered);
            let bytes = slot.bytes().try_into().unwrap();
            assert_eq!(ReceiptSlot::read(ClientId(3), &bytes), Some(answered));
        }
        assert_eq!(ReceiptSlot::read(ClientId(3), &[0xff; RECEIPT_BYTES]), None);
    }
}
