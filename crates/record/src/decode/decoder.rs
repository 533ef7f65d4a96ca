//! Decodes records of tracepoints whose formats are known.

use tactus_model::recording::{ChainId, Context, Event, ThreadId};
use tactus_model::time::Instant;

use super::format::{Field, Format, Place, int};
use super::names::Names;
use super::tracepoint::Tracepoint;

/// The maximum number of fields to read from a tracepoint.
const MOST_FIELDS: usize = 7;

/// Turns the records of known tracepoints into events.
#[derive(Debug, Default)]
pub struct Decoder {
    names: Names,
    /// The index into `layouts` for each tracepoint number.
    by_id: Vec<Option<u16>>,
    layouts: Vec<Layout>,
    /// What recording itself adds to the preemption count.
    own_preemption: u8,
}

/// The positions of the fields to read in the records of a tracepoint.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    id: u16,
    tracepoint: Tracepoint,
    common: [Field; 3],
    fields: [Field; MOST_FIELDS],
    /// The minimum length of a record with all fields.
    shortest: usize,
}

const NO_FIELD: Field = Field { offset: 0, size: 0, signed: false, place: Place::Here };

/// Why a tracepoint cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BindError {
    /// The kernel's record does not have the field.
    #[error("this kernel's record of it has no field `{0}`")]
    NoField(&'static str),
    /// The tracepoint's number is out of range.
    #[error("its number {0} is out of range")]
    Number(u32),
}

/// Why a record is not decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Undecoded {
    /// The record is shorter than its format says.
    #[error("a record is shorter than its format says")]
    Short,
    /// The record's tracepoint was not added.
    #[error("a record has the unknown type {0}")]
    Unknown(u16),
}

impl Layout {
    /// Finds the fields of `tracepoint` in its format.
    ///
    /// # Errors
    /// The format lacks a required field.
    pub fn new(tracepoint: Tracepoint, format: &Format) -> Result<Self, BindError> {
        let (id, find) = (Self::number(format)?, Self::finder(format));
        let common = [find("common_pid")?, find("common_flags")?, find("common_preempt_count")?];
        let mut fields = [NO_FIELD; MOST_FIELDS];
        for (slot, name) in fields.iter_mut().zip(tracepoint.fields()) {
            *slot = find(name)?;
        }
        let end = |field: &Field| usize::from(field.offset) + usize::from(field.size);
        let shortest = common.iter().chain(&fields).map(end).max().unwrap_or_default();
        Ok(Self { id, tracepoint, common, fields, shortest })
    }

    /// The tracepoint's number, as records carry it.
    pub(super) fn number(format: &Format) -> Result<u16, BindError> {
        u16::try_from(format.id).map_err(|_| BindError::Number(format.id))
    }

    /// Returns a function that finds the fields of `format`.
    pub(super) fn finder(
        format: &Format,
    ) -> impl Fn(&'static str) -> Result<Field, BindError> + use<'_> {
        |name| format.field(name).ok_or(BindError::NoField(name))
    }

    /// The tracepoint number of the record `raw`.
    ///
    /// `common_type` is the first field of every record of every kernel; it determines
    /// the format of the rest.
    pub(super) fn number_of(raw: &[u8]) -> Option<u16> {
        raw.first_chunk::<2>().map(|id| u16::from_ne_bytes(*id))
    }
}

impl Decoder {
    /// Makes a decoder for records whose `common_preempt_count` exceeds the thread's
    /// own by `own_preemption`.
    ///
    /// perf disables preemption once before it reads the count
    /// (`perf_trace_buf_update`); tracefs subtracts what it disabled itself
    /// (`tracing_gen_ctx_dec`).
    pub fn new(own_preemption: u8) -> Self {
        Self { own_preemption, ..Self::default() }
    }

    /// A decoder for the same tracepoints, which has found no names yet.
    pub(crate) fn anew(&self) -> Self {
        Self {
            names: Names::default(),
            by_id: self.by_id.clone(),
            layouts: self.layouts.clone(),
            own_preemption: self.own_preemption,
        }
    }

    /// Adds a tracepoint; returns its index, from 0.
    pub fn add(&mut self, layout: Layout) -> usize {
        let id = usize::from(layout.id);
        if self.by_id.len() <= id {
            self.by_id.resize(id + 1, None);
        }
        let index = self.layouts.len();
        self.by_id[id] = Some(index as u16);
        self.layouts.push(layout);
        index
    }

    /// The names found in records.
    pub fn names(&mut self) -> &mut Names {
        &mut self.names
    }

    /// Decodes the record `raw`, made at `time` on `cpu`; returns the tracepoint's
    /// index and the event.
    ///
    /// # Errors
    /// The tracepoint was not added, or the record is too short.
    pub fn decode(
        &mut self,
        time: u64,
        cpu: u32,
        chain: Option<ChainId>,
        raw: &[u8],
    ) -> Result<(usize, Event), Undecoded> {
        let id = Layout::number_of(raw).ok_or(Undecoded::Short)?;
        let index = self.by_id.get(usize::from(id)).copied().flatten();
        let index = usize::from(index.ok_or(Undecoded::Unknown(id))?);
        let layout = &self.layouts[index];
        if raw.len() < layout.shortest {
            return Err(Undecoded::Short);
        }
        let [thread, flags, preempt_count] = layout.common.each_ref().map(|field| int(raw, *field));
        let preempt_count = without(preempt_count as u8, self.own_preemption);
        let values = Values { raw, fields: &layout.fields };
        let kind = layout.tracepoint.event(&values, &mut self.names);
        let event = Event {
            at: Instant::from_nanos(time),
            cpu,
            thread: ThreadId(thread as i32),
            context: Context { flags: flags as u8, preempt_count },
            chain,
            kind,
        };
        Ok((index, event))
    }
}

/// Subtracts `own` from the low half of a preemption count, which counts how often
/// preemption is disabled; a kernel that does not count it has 0.
const fn without(count: u8, own: u8) -> u8 {
    let (high, low) = (count & 0xf0, count & 0x0f);
    high | low.saturating_sub(own)
}

/// The fields of one record that are read.
#[derive(Debug)]
pub(super) struct Values<'a> {
    raw: &'a [u8],
    fields: &'a [Field; MOST_FIELDS],
}

impl<'a> Values<'a> {
    /// The number in field `index`.
    pub(super) fn int(&self, index: usize) -> i64 {
        int(self.raw, self.fields[index])
    }

    /// The number in the eight bytes at place `word` of field `index`, which is an array.
    pub(super) fn word(&self, index: usize, word: u16) -> u64 {
        let array = self.fields[index];
        let offset = array.offset.saturating_add(8 * word);
        int(self.raw, Field { offset, size: 8, ..array }) as u64
    }

    /// The bytes of field `index`, or the bytes that it points to; empty if it points
    /// outside the record. A field without a length is the rest of the record.
    pub(super) fn bytes(&self, index: usize) -> &'a [u8] {
        let field = self.fields[index];
        let (offset, length) = match field.place {
            Place::Here if field.size == 0 => {
                return self.raw.get(usize::from(field.offset)..).unwrap_or_default();
            }
            Place::Here => (usize::from(field.offset), usize::from(field.size)),
            Place::Elsewhere | Place::After => {
                let location = self.int(index) as u32;
                let base = if field.place == Place::After {
                    usize::from(field.offset) + usize::from(field.size)
                } else {
                    0
                };
                (base + (location & 0xffff) as usize, (location >> 16) as usize)
            }
        };
        self.raw.get(offset..offset + length).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tactus_model::recording::{EventKind, TaskState};

    use super::*;

    const COMMON: &str = "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
        \tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n";

    const SWITCH: &str = "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
        \tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n\
        \tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n\
        \tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n\
        \tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n\
        \tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n\
        \tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n";

    const IRQ: &str = "\tfield:int irq;\toffset:8;\tsize:4;\tsigned:1;\n\
        \tfield:__data_loc char[] name;\toffset:12;\tsize:4;\tsigned:0;\n";

    fn format(id: u32, fields: &str) -> Format {
        format!("ID: {id}\nformat:\n{COMMON}{fields}").parse().unwrap()
    }

    fn decoder() -> Decoder {
        let mut decoder = Decoder::default();
        decoder.add(Layout::new(Tracepoint::Switch, &format(372, SWITCH)).unwrap());
        decoder.add(Layout::new(Tracepoint::IrqEntry, &format(225, IRQ)).unwrap());
        decoder
    }

    fn common(id: u16) -> Vec<u8> {
        let mut raw = id.to_ne_bytes().to_vec();
        raw.extend_from_slice(&[0x05, 1]);
        raw.extend_from_slice(&42_i32.to_ne_bytes());
        raw
    }

    #[test]
    fn a_switch_is_decoded_by_its_description() {
        let mut raw = common(372);
        raw.extend_from_slice(b"cc1\0\0\0\0\0\0\0\0\0\0\0\0\0");
        raw.extend_from_slice(&42_i32.to_ne_bytes());
        raw.extend_from_slice(&120_i32.to_ne_bytes());
        raw.extend_from_slice(&0x100_i64.to_ne_bytes());
        raw.extend_from_slice(b"probe\0\0\0\0\0\0\0\0\0\0\0");
        raw.extend_from_slice(&7_i32.to_ne_bytes());
        raw.extend_from_slice(&9_i32.to_ne_bytes());
        let mut decoder = decoder();
        let (index, event) = decoder.decode(1000, 1, None, &raw).unwrap();
        assert_eq!((index, event.thread, event.cpu), (0, ThreadId(42), 1));
        assert!(event.context.irqs_off() && event.context.need_resched());
        let EventKind::Switch { prev_state, next, next_name, next_priority, .. } = event.kind
        else {
            panic!("{event:?}")
        };
        assert_eq!((prev_state, next), (TaskState::PREEMPTED, ThreadId(7)));
        assert_eq!(next_priority.class().to_string(), "rt:90");
        assert_eq!(decoder.names().dictionary().name(next_name), "probe");
        assert_eq!(decoder.decode(1000, 1, None, &raw[..60]), Err(Undecoded::Short));
    }

    #[test]
    fn recordings_own_preemption_count_is_subtracted() {
        let check = |count, own, expected| assert_eq!(without(count, own), expected, "{count:x}");
        check(0x01, 1, 0x00);
        check(0x12, 1, 0x11);
        check(0x10, 1, 0x10);
        check(0x12, 0, 0x12);
    }

    #[test]
    fn a_name_elsewhere_in_the_record_is_found() {
        let mut raw = common(225);
        raw.extend_from_slice(&11_i32.to_ne_bytes());
        raw.extend_from_slice(&(16_u32 | 7 << 16).to_ne_bytes());
        raw.extend_from_slice(b"virtio\0");
        let mut decoder = decoder();
        let (_, event) = decoder.decode(0, 0, None, &raw).unwrap();
        let EventKind::IrqEntry { irq: 11, name } = event.kind else { panic!("{event:?}") };
        assert_eq!(decoder.names().dictionary().name(name), "virtio");
    }

    #[test]
    fn the_first_arguments_of_a_system_call_are_decoded() {
        let fields = "\tfield:long id;\toffset:8;\tsize:8;\tsigned:1;\n\
            \tfield:unsigned long args[6];\toffset:16;\tsize:48;\tsigned:0;\n";
        let mut decoder = Decoder::default();
        decoder.add(Layout::new(Tracepoint::SystemCallEnter, &format(443, fields)).unwrap());
        let mut raw = common(443);
        let read = tactus_sys::system_call::number("read").unwrap();
        raw.extend_from_slice(&read.to_ne_bytes());
        raw.extend([3_u64, u64::MAX, 512, 4, 5, 6].into_iter().flat_map(u64::to_ne_bytes));
        let (_, event) = decoder.decode(0, 0, None, &raw).unwrap();
        let EventKind::SystemCallEnter { call, arguments } = event.kind else {
            panic!("{event:?}")
        };
        assert_eq!(arguments, [3, u64::MAX, 512]);
        assert_eq!(decoder.names().dictionary().name(call), "read");
    }

    #[test]
    fn a_field_without_a_length_is_the_rest_of_the_record() {
        let fields = "\tfield:char buf[];\toffset:16;\tsize:0;\tsigned:0;\n";
        let mut decoder = Decoder::default();
        decoder.add(Layout::new(Tracepoint::Mark, &format(5, fields)).unwrap());
        let mut raw = common(5);
        raw.extend_from_slice(&[0; 8]);
        raw.extend_from_slice(b"job 7 done\n\0\0\0");
        let (_, event) = decoder.decode(0, 0, None, &raw).unwrap();
        let EventKind::Mark { text } = event.kind else { panic!("{event:?}") };
        assert_eq!(decoder.names().dictionary().name(text), "job 7 done");
    }

    #[test]
    fn a_missing_field_is_an_error() {
        let lacking = SWITCH.replace("prev_state", "other");
        let error = Layout::new(Tracepoint::Switch, &format(1, &lacking)).unwrap_err();
        assert_eq!(error, BindError::NoField("prev_state"));
    }

    proptest! {
        #[test]
        fn any_record_is_decoded_or_refused(
            id in prop::sample::select(vec![372_u16, 225, 9]),
            rest in prop::collection::vec(any::<u8>(), 0..90),
        ) {
            let mut raw = id.to_ne_bytes().to_vec();
            raw.extend(rest);
            let _ = decoder().decode(1, 0, None, &raw);
        }

        #[test]
        fn any_description_gives_a_decoder_that_does_not_panic(
            offset in any::<u16>(), size in any::<u16>(), rest in prop::collection::vec(any::<u8>(), 0..90),
        ) {
            let fields = IRQ.replace("offset:12", &format!("offset:{offset}"));
            let fields = fields.replace("size:4;\tsigned:0", &format!("size:{size};\tsigned:0"));
            let mut decoder = Decoder::default();
            decoder.add(Layout::new(Tracepoint::IrqEntry, &format(225, &fields)).unwrap());
            let mut raw = common(225);
            raw.extend(rest);
            let _ = decoder.decode(1, 0, None, &raw);
        }
    }
}
