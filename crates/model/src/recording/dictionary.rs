//! The data that events refer to by number: names, functions, call chains, processes.

use std::collections::HashMap;
use std::sync::Arc;

use super::thread::{ProcessId, ThreadId};

/// A name in a [`Dictionary`]: of a thread, an interrupt handler or a function.
///
/// Within one dictionary, equal numbers mean equal names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NameId(u32);

impl NameId {
    /// The placeholder for a missing name: `?`.
    pub const UNKNOWN: Self = Self(0);

    /// Makes the number `index`.
    pub const fn from_index(index: u32) -> Self {
        Self(index)
    }

    /// The number.
    pub const fn index(self) -> u32 {
        self.0
    }
}

/// A function in a [`Dictionary`], or a location within one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FunctionId(u32);

impl FunctionId {
    /// The unknown function.
    pub const UNKNOWN: Self = Self(0);

    /// Makes the number `index`.
    pub const fn from_index(index: u32) -> Self {
        Self(index)
    }

    /// The number.
    pub const fn index(self) -> u32 {
        self.0
    }
}

/// A call chain in a [`Dictionary`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChainId(std::num::NonZeroU32);

impl ChainId {
    /// Makes the number of the chain at `index`, counted from 0; `None` at the end of the
    /// range.
    pub const fn from_index(index: u32) -> Option<Self> {
        match std::num::NonZeroU32::new(index.wrapping_add(1)) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }

    /// The number, counted from 0.
    pub const fn index(self) -> u32 {
        self.0.get() - 1
    }
}

/// A location in the kernel's code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Function {
    /// Its address; zero where the kernel hides addresses.
    pub address: u64,
    /// The function that contains it; [`NameId::UNKNOWN`] if `/proc/kallsyms` does not list it.
    pub name: NameId,
}

/// Names, functions, call chains and processes of one recording.
///
/// Memory is bounded: beyond [`Dictionary::LIMIT`] entries of a kind, new entries are rejected,
/// appear as unknown in the events, and are counted.
///
/// ```
/// use tactus_model::recording::{Dictionary, NameId};
///
/// let mut dictionary = Dictionary::new();
/// let name = dictionary.intern("ksoftirqd/0");
/// assert_eq!(dictionary.intern("ksoftirqd/0"), name);
/// assert_eq!(dictionary.name(name), "ksoftirqd/0");
/// assert_eq!(dictionary.name(NameId::UNKNOWN), "?");
/// ```
#[derive(Clone, Debug)]
pub struct Dictionary {
    names: Vec<Arc<str>>,
    functions: Vec<Function>,
    chains: Vec<Arc<[FunctionId]>>,
    processes: Vec<(ThreadId, ProcessId)>,
    name_ids: HashMap<Arc<str>, NameId>,
    function_ids: HashMap<u64, FunctionId>,
    chain_ids: HashMap<Arc<[FunctionId]>, ChainId>,
    process_of: HashMap<ThreadId, ProcessId>,
    refused: u64,
}

impl Default for Dictionary {
    fn default() -> Self {
        Self::new()
    }
}

impl Dictionary {
    /// The maximum number of entries of each kind.
    pub const LIMIT: usize = 1 << 20;

    /// The text of a name that is not known.
    pub const UNKNOWN_NAME: &str = "?";

    /// Makes a dictionary with the placeholders only.
    pub fn new() -> Self {
        let mut dictionary = Self {
            names: Vec::new(),
            functions: Vec::new(),
            chains: Vec::new(),
            processes: Vec::new(),
            name_ids: HashMap::new(),
            function_ids: HashMap::new(),
            chain_ids: HashMap::new(),
            process_of: HashMap::new(),
            refused: 0,
        };
        dictionary.intern(Self::UNKNOWN_NAME);
        dictionary.intern_function(0);
        dictionary
    }

    /// The text of a name; [`Self::UNKNOWN_NAME`] for a number that is not in the dictionary.
    pub fn name(&self, name: NameId) -> &str {
        self.names.get(name.0 as usize).map_or(Self::UNKNOWN_NAME, |text| text)
    }

    /// The number of an existing name.
    pub fn find_name(&self, text: &str) -> Option<NameId> {
        self.name_ids.get(text).copied()
    }

    /// The number of `text`, which is added if it is new.
    pub fn intern(&mut self, text: &str) -> NameId {
        if let Some(&name) = self.name_ids.get(text) {
            return name;
        }
        if self.names.len() >= Self::LIMIT {
            self.refused += 1;
            return NameId::UNKNOWN;
        }
        let name = NameId(self.names.len() as u32);
        let text: Arc<str> = text.into();
        self.names.push(Arc::clone(&text));
        self.name_ids.insert(text, name);
        name
    }

    /// A function; the unknown function for a number that is not in the dictionary.
    pub fn function(&self, function: FunctionId) -> Function {
        self.functions.get(function.0 as usize).copied().unwrap_or_default()
    }

    /// The name of the function, `?` if it is unknown.
    pub fn function_name(&self, function: FunctionId) -> &str {
        self.name(self.function(function).name)
    }

    /// The number of the location at `address`, which is added without a name if it is new.
    pub fn intern_function(&mut self, address: u64) -> FunctionId {
        if let Some(&function) = self.function_ids.get(&address) {
            return function;
        }
        if self.functions.len() >= Self::LIMIT {
            self.refused += 1;
            return FunctionId::UNKNOWN;
        }
        let function = FunctionId(self.functions.len() as u32);
        self.functions.push(Function { address, name: NameId::UNKNOWN });
        self.function_ids.insert(address, function);
        function
    }

    /// Sets the name of the function that contains a location.
    pub fn name_function(&mut self, function: FunctionId, text: &str) {
        let name = self.intern(text);
        if let Some(function) = self.functions.get_mut(function.0 as usize) {
            function.name = name;
        }
    }

    /// The frames of a call chain, innermost first.
    pub fn chain(&self, chain: ChainId) -> &[FunctionId] {
        self.chains.get(chain.index() as usize).map_or(&[], |frames| frames)
    }

    /// The number of a call chain, which is added if it is new; `None` if the dictionary is
    /// full.
    pub fn intern_chain(&mut self, frames: &[FunctionId]) -> Option<ChainId> {
        if let Some(&chain) = self.chain_ids.get(frames) {
            return Some(chain);
        }
        if self.chains.len() >= Self::LIMIT {
            self.refused += 1;
            return None;
        }
        let chain = ChainId::from_index(self.chains.len() as u32)?;
        let frames: Arc<[FunctionId]> = frames.into();
        self.chains.push(Arc::clone(&frames));
        self.chain_ids.insert(frames, chain);
        Some(chain)
    }

    /// The process of a thread, if known.
    pub fn process_of(&self, thread: ThreadId) -> Option<ProcessId> {
        self.process_of.get(&thread).copied()
    }

    /// Sets the process of a thread; if a thread number is reused, the latest process counts.
    pub fn set_process(&mut self, thread: ThreadId, process: ProcessId) {
        if self.process_of.get(&thread) == Some(&process) {
            return;
        }
        if self.processes.len() >= Self::LIMIT {
            self.refused += 1;
            return;
        }
        self.processes.push((thread, process));
        self.process_of.insert(thread, process);
    }

    /// All names in the order of their numbers.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.names.iter().map(|name| &**name)
    }

    /// All functions in the order of their numbers.
    pub fn functions(&self) -> &[Function] {
        &self.functions
    }

    /// All call chains in the order of their numbers.
    pub fn chains(&self) -> impl ExactSizeIterator<Item = &[FunctionId]> {
        self.chains.iter().map(|chain| &**chain)
    }

    /// The known processes of threads, in the order in which they were set.
    pub fn processes(&self) -> &[(ThreadId, ProcessId)] {
        &self.processes
    }

    /// How many new entries were rejected.
    pub fn refused(&self) -> u64 {
        self.refused
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_placeholders_have_a_number_and_a_name() {
        let dictionary = Dictionary::new();
        assert_eq!(dictionary.name(NameId::from_index(77)), "?");
        assert_eq!(dictionary.function_name(FunctionId::from_index(77)), "?");
        assert_eq!(dictionary.function(FunctionId::UNKNOWN), Function::default());
    }

    #[test]
    fn a_function_can_be_named_later() {
        let mut dictionary = Dictionary::new();
        let tick = dictionary.intern_function(0xffff_ffff_8100_0000);
        assert_eq!(dictionary.function_name(tick), "?");
        dictionary.name_function(tick, "tick_nohz_handler");
        assert_eq!(dictionary.function_name(tick), "tick_nohz_handler");
        assert_eq!(dictionary.intern_function(0xffff_ffff_8100_0000), tick);
    }

    #[test]
    fn equal_chains_have_the_same_number() {
        let mut dictionary = Dictionary::new();
        let frames = [dictionary.intern_function(1), dictionary.intern_function(2)];
        let chain = dictionary.intern_chain(&frames).unwrap();
        assert_eq!(dictionary.intern_chain(&frames), Some(chain));
        assert_eq!(dictionary.chain(chain), frames);
    }

    #[test]
    fn a_reused_thread_number_maps_to_the_last_process() {
        let mut dictionary = Dictionary::new();
        dictionary.set_process(ThreadId(7), ProcessId(5));
        dictionary.set_process(ThreadId(7), ProcessId(6));
        assert_eq!(dictionary.process_of(ThreadId(7)), Some(ProcessId(6)));
        assert_eq!(dictionary.processes().len(), 2);
    }
}
