//! The new entries of a dictionary, in a block.

use tactus_model::limits::{CHAIN_FRAMES, RECORDED_NAME_BYTES};
use tactus_model::recording::{Dictionary, FunctionId, NameId, ProcessId, ThreadId};
use tactus_model::varint::{read_signed, read_unsigned, write_signed, write_unsigned};

use super::block::{BadBlock, Block, BlockKind};

/// How much of a dictionary is already written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DictionaryMark {
    names: usize,
    functions: usize,
    chains: usize,
    processes: usize,
}

impl Default for DictionaryMark {
    fn default() -> Self {
        Self::of(&Dictionary::new())
    }
}

impl DictionaryMark {
    /// Marks everything that `dictionary` holds.
    pub fn of(dictionary: &Dictionary) -> Self {
        Self {
            names: dictionary.names().len(),
            functions: dictionary.functions().len(),
            chains: dictionary.chains().len(),
            processes: dictionary.processes().len(),
        }
    }
}

/// The number of entries of one kind in a block, so that no block exceeds the maximum
/// length.
const MOST_ENTRIES: usize = 1 << 14;

/// Packs the entries that `dictionary` has gained since `mark` into blocks, and moves
/// the mark.
pub fn encode_dictionary(dictionary: &Dictionary, mark: &mut DictionaryMark) -> Vec<Block> {
    let mut blocks = Vec::new();
    let end = DictionaryMark::of(dictionary);
    while *mark != end {
        let next = |from: usize, end: usize| end.min(from + MOST_ENTRIES);
        let until = DictionaryMark {
            names: next(mark.names, end.names),
            functions: next(mark.functions, end.functions),
            chains: next(mark.chains, end.chains),
            processes: next(mark.processes, end.processes),
        };
        blocks.push(encode_part(dictionary, *mark, until));
        *mark = until;
    }
    blocks
}

fn encode_part(dictionary: &Dictionary, from: DictionaryMark, until: DictionaryMark) -> Block {
    Block::build(BlockKind::Dictionary, |bytes| {
        let count = |bytes: &mut Vec<u8>, from: usize, until: usize| {
            write_unsigned(bytes, (until - from) as u64);
        };
        count(bytes, from.names, until.names);
        for name in dictionary.names().take(until.names).skip(from.names) {
            write_unsigned(bytes, name.len() as u64);
            bytes.extend_from_slice(name.as_bytes());
        }
        count(bytes, from.functions, until.functions);
        for function in &dictionary.functions()[from.functions..until.functions] {
            write_unsigned(bytes, function.address);
            write_unsigned(bytes, u64::from(function.name.index()));
        }
        count(bytes, from.chains, until.chains);
        for chain in dictionary.chains().take(until.chains).skip(from.chains) {
            write_unsigned(bytes, chain.len() as u64);
            for frame in chain {
                write_unsigned(bytes, u64::from(frame.index()));
            }
        }
        count(bytes, from.processes, until.processes);
        for (thread, process) in &dictionary.processes()[from.processes..until.processes] {
            write_signed(bytes, i64::from(thread.0));
            write_signed(bytes, i64::from(process.0));
        }
    })
}

/// Adds the entries of a block's payload to `dictionary`, which must hold the entries
/// of all blocks before it.
///
/// # Errors
/// The payload is invalid, or it repeats an entry.
pub fn decode_dictionary(payload: &[u8], dictionary: &mut Dictionary) -> Result<(), BadBlock> {
    const CUT_OFF: BadBlock = BadBlock::Payload("a dictionary is truncated");
    const TWICE: BadBlock = BadBlock::Payload("a dictionary has an entry twice");
    let rest = &mut &*payload;
    let number = |rest: &mut &[u8]| read_unsigned(rest).map_err(|_| CUT_OFF);
    let signed = |rest: &mut &[u8]| read_signed(rest).map_err(|_| CUT_OFF);
    for _ in 0..number(rest)? {
        let length = usize::try_from(number(rest)?).map_err(|_| CUT_OFF)?;
        if length > RECORDED_NAME_BYTES {
            return Err(BadBlock::Payload("a name is longer than the limit"));
        }
        let (text, after) = rest.split_at_checked(length).ok_or(CUT_OFF)?;
        *rest = after;
        let expected = dictionary.names().len();
        let name = dictionary.intern(&String::from_utf8_lossy(text));
        if name.index() as usize != expected {
            return Err(TWICE);
        }
    }
    for _ in 0..number(rest)? {
        let (address, name) = (number(rest)?, number(rest)?);
        let expected = dictionary.functions().len();
        let function = dictionary.intern_function(address);
        if function.index() as usize != expected {
            return Err(TWICE);
        }
        let name = dictionary.name(NameId::from_index(name as u32)).to_owned();
        dictionary.name_function(function, &name);
    }
    for _ in 0..number(rest)? {
        let mut frames = Vec::new();
        for _ in 0..number(rest)? {
            if frames.len() >= CHAIN_FRAMES {
                return Err(BadBlock::Payload("a call chain is longer than the limit"));
            }
            frames.push(FunctionId::from_index(number(rest)? as u32));
        }
        let expected = dictionary.chains().len();
        let chain = dictionary.intern_chain(&frames).ok_or(TWICE)?;
        if chain.index() as usize != expected {
            return Err(TWICE);
        }
    }
    for _ in 0..number(rest)? {
        let (thread, process) = (signed(rest)?, signed(rest)?);
        dictionary.set_process(ThreadId(thread as i32), ProcessId(process as i32));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_dictionary_is_restored_part_by_part() {
        let mut original = Dictionary::new();
        let mut mark = DictionaryMark::default();
        assert!(encode_dictionary(&original, &mut mark).is_empty());
        let tick = original.intern_function(0xffff_ffff_8100_0000);
        original.name_function(tick, "tick_nohz_handler");
        let mut copy = Dictionary::new();
        let mut send = |original: &Dictionary, mark: &mut DictionaryMark| {
            for block in encode_dictionary(original, mark) {
                decode_dictionary(block.payload(), &mut copy).unwrap();
            }
            copy.clone()
        };
        send(&original, &mut mark);
        for number in 0..40_000 {
            original.intern(&format!("worker/{number}"));
        }
        let chain = original.intern_chain(&[tick]).unwrap();
        original.set_process(ThreadId(7), ProcessId(5));
        let copy = send(&original, &mut mark);
        assert!(original.names().eq(copy.names()));
        assert_eq!(original.functions(), copy.functions());
        assert_eq!(copy.chain(chain), [tick]);
        assert_eq!(copy.process_of(ThreadId(7)), Some(ProcessId(5)));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode_dictionary(&bytes, &mut Dictionary::new());
        }
    }
}
