//! Numbers for names and addresses, found without hashing text for each event.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use tactus_model::limits::{MARK_BYTES, MARKS};
use tactus_model::recording::{ChainId, Dictionary, FunctionId, NameId};

/// A dictionary with fast look-up of the numbers of names and addresses in records.
///
/// The kernel repeats few names millions of times; a thread's name has 16 bytes, which
/// serve as the key directly.
#[derive(Debug, Default)]
pub struct Names {
    dictionary: Dictionary,
    thread_names: HashMap<u128, NameId, Mixing>,
    functions: HashMap<u64, FunctionId, Mixing>,
    system_calls: HashMap<u64, NameId, Mixing>,
    /// The number of different marks.
    marks: usize,
    frames: Vec<FunctionId>,
}

type Mixing = BuildHasherDefault<Mixer>;

/// A multiplicative hash. The keys come from the kernel; the worst attack is naming
/// threads, and the tables are bounded.
#[derive(Debug, Default)]
pub struct Mixer(u64);

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, word: u64) {
        // The constant of SplitMix64; the fold brings the well-mixed high half down.
        let product = u128::from(self.0 ^ word) * 0x9e37_79b9_7f4a_7c15;
        self.0 = (product >> 64) as u64 ^ product as u64;
    }

    fn write_u128(&mut self, word: u128) {
        self.write_u64(word as u64);
        self.write_u64((word >> 64) as u64);
    }
}

impl Names {
    /// The names so far.
    pub fn dictionary(&self) -> &Dictionary {
        &self.dictionary
    }

    /// The dictionary, for adding names.
    pub fn dictionary_mut(&mut self) -> &mut Dictionary {
        &mut self.dictionary
    }

    /// The number of a thread's name as in records: up to 16 bytes, terminated by NUL.
    pub fn thread_name(&mut self, bytes: &[u8]) -> NameId {
        let mut key = [0_u8; 16];
        for (slot, &byte) in key.iter_mut().zip(bytes.iter().take_while(|byte| **byte != 0)) {
            *slot = byte;
        }
        let key = u128::from_le_bytes(key);
        if let Some(&name) = self.thread_names.get(&key) {
            return name;
        }
        let name = self.text(bytes);
        if self.thread_names.len() < Dictionary::LIMIT {
            self.thread_names.insert(key, name);
        }
        name
    }

    /// The number of a text, which ends at its first NUL; invalid UTF-8 is replaced.
    pub fn text(&mut self, bytes: &[u8]) -> NameId {
        let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
        self.dictionary.intern(&String::from_utf8_lossy(text))
    }

    /// The number of the name of a system call of this machine.
    pub fn system_call(&mut self, number: i64) -> NameId {
        if let Some(&name) = self.system_calls.get(&(number as u64)) {
            return name;
        }
        let name = match tactus_sys::system_call::name(number) {
            Some(name) => self.dictionary.intern(name),
            None => self.dictionary.intern(&format!("system call {number}")),
        };
        if self.system_calls.len() < Dictionary::LIMIT {
            self.system_calls.insert(number as u64, name);
        }
        name
    }

    /// The number of a program's mark: one line, cut after [`MARK_BYTES`]. Beyond [`MARKS`]
    /// different ones a new mark has no text.
    pub fn mark(&mut self, bytes: &[u8]) -> NameId {
        let line = bytes.split(|byte| matches!(byte, 0 | b'\n')).next().unwrap_or_default();
        let text = String::from_utf8_lossy(&line[..line.len().min(MARK_BYTES)]);
        if let Some(known) = self.dictionary.find_name(&text) {
            return known;
        }
        if self.marks >= MARKS {
            return NameId::UNKNOWN;
        }
        self.marks += 1;
        self.dictionary.intern(&text)
    }

    /// The number of the place at `address` in the kernel's code.
    pub fn function(&mut self, address: u64) -> FunctionId {
        if let Some(&function) = self.functions.get(&address) {
            return function;
        }
        let function = self.dictionary.intern_function(address);
        if self.functions.len() < Dictionary::LIMIT {
            self.functions.insert(address, function);
        }
        function
    }

    /// The number of the call chain with these addresses, the innermost first.
    pub fn chain(&mut self, addresses: impl Iterator<Item = u64>) -> Option<ChainId> {
        let mut frames = std::mem::take(&mut self.frames);
        frames.clear();
        frames.extend(addresses.map(|address| self.function(address)));
        let chain = if frames.is_empty() { None } else { self.dictionary.intern_chain(&frames) };
        self.frames = frames;
        chain
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_name_ends_at_its_first_nul() {
        let mut names = Names::default();
        let one = names.thread_name(b"cc1\0rubbish\0\0\0\0\0");
        let other = names.thread_name(b"cc1\0\0\0\0\0\0\0\0\0\0\0\0\0");
        assert_eq!(one, other);
        assert_eq!(names.dictionary().name(one), "cc1");
        let full = names.thread_name(b"sixteen-bytes-ab");
        assert_eq!(names.dictionary().name(full), "sixteen-bytes-ab");
        let odd = names.thread_name(&[0xff, b'x', 0]);
        assert_eq!(names.dictionary().name(odd), "\u{fffd}x");
    }

    #[test]
    fn a_mark_is_one_bounded_line() {
        let mut names = Names::default();
        let mut check = |bytes: &[u8], text: &str| {
            let mark = names.mark(bytes);
            assert_eq!(names.dictionary().name(mark), text);
        };
        check(b"done\n\0\0", "done");
        check(b"done", "done");
        check(b"", "");
        check(&[b'x'; 1000], &"x".repeat(MARK_BYTES));
    }

    #[test]
    fn marks_leave_space_for_names_of_threads() {
        let mut names = Names { marks: MARKS - 1, ..Names::default() };
        let last = names.mark(b"last");
        assert_eq!(names.dictionary().name(last), "last");
        assert_eq!(names.mark(b"one too many"), NameId::UNKNOWN);
        assert_eq!(names.mark(b"last"), last);
    }

    #[test]
    fn a_system_call_has_its_name_or_its_number() {
        let mut names = Names::default();
        let mut check = |number, text: &str| {
            let call = names.system_call(number);
            assert_eq!(names.dictionary().name(call), text);
        };
        check(tactus_sys::system_call::number("futex").unwrap(), "futex");
        check(-1, "system call -1");
    }
}
