//! The names of the kernel's functions, from `/proc/kallsyms`.

use std::fmt;

use tactus_model::recording::{Dictionary, FunctionId};
use tactus_sys::capability::{Reading, with};

/// The kernel's functions in the order of their addresses.
#[derive(Clone, Default)]
pub struct Symbols {
    /// The address, and the position of the name in `names`.
    starts: Vec<(u64, u32)>,
    /// All names, each terminated by a newline.
    names: String,
}

impl fmt::Debug for Symbols {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Symbols({})", self.starts.len())
    }
}

impl Symbols {
    /// Reads `/proc/kallsyms`. If the kernel hides its addresses
    /// (`kernel.kptr_restrict`) or does not have the file, there are no symbols.
    pub fn read() -> Self {
        with(Reading::KernelAddresses, || std::fs::read("/proc/kallsyms"))
            .map(|text| Self::parse(&String::from_utf8_lossy(&text)))
            .unwrap_or_default()
    }

    /// Reads lines such as `ffffffff81000000 T _text [module]`; symbols other than
    /// functions are left out.
    pub fn parse(text: &str) -> Self {
        let mut symbols = Self::default();
        for line in text.lines() {
            let mut words = line.split_whitespace();
            let address = words.next().and_then(|word| u64::from_str_radix(word, 16).ok());
            let kind = words.next().unwrap_or_default();
            let (Some(address @ 1..), "t" | "T" | "w" | "W", Some(name)) =
                (address, kind, words.next())
            else {
                continue;
            };
            let Ok(place) = u32::try_from(symbols.names.len()) else { break };
            symbols.starts.push((address, place));
            symbols.names.push_str(name);
            symbols.names.push('\n');
        }
        // If an address has several names, the first in the kernel's list counts.
        symbols.starts.sort_by_key(|(address, _)| *address);
        symbols.starts.dedup_by_key(|(address, _)| *address);
        symbols
    }

    /// Names the functions of a dictionary from the one with the index `first`.
    pub(super) fn name_functions(&self, dictionary: &mut Dictionary, first: usize) {
        for index in first..dictionary.functions().len() {
            let function = FunctionId::from_index(index as u32);
            if let Some(name) = self.name(dictionary.function(function).address) {
                dictionary.name_function(function, name);
            }
        }
    }

    /// The name of the function that contains `address`.
    pub fn name(&self, address: u64) -> Option<&str> {
        let after = self.starts.partition_point(|(start, _)| *start <= address);
        let (_, place) = self.starts.get(after.checked_sub(1)?)?;
        // An address far behind the last symbol has no name.
        if after == self.starts.len() && address - self.starts[after - 1].0 > 1 << 20 {
            return None;
        }
        self.names.get(*place as usize..)?.lines().next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_belongs_to_the_function_that_starts_before_it() {
        let symbols = Symbols::parse(
            "ffffffff81000000 T _text\nffffffff81000200 t tick_nohz_handler\n\
             ffffffff81000200 T its_alias\nffffffff81000300 d data\n\
             ffffffffc0000010 t of_a_module\t[virtio]\n",
        );
        let check = |address, name| assert_eq!(symbols.name(address), name, "{address:x}");
        check(0xffff_ffff_8100_0000, Some("_text"));
        check(0xffff_ffff_8100_02ff, Some("tick_nohz_handler"));
        check(0xffff_ffff_c000_0011, Some("of_a_module"));
        check(0xffff_ffff_0000_0000, None);
        check(u64::MAX, None);
        assert_eq!(symbols.starts.len(), 3);
    }

    #[test]
    fn hidden_addresses_name_nothing() {
        assert!(Symbols::parse("0000000000000000 T _text\n").starts.is_empty());
        assert_eq!(Symbols::default().name(5), None);
    }
}
