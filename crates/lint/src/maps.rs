//! The memory of a process: its `maps` file in
//! [proc_pid_maps(5)](https://man7.org/linux/man-pages/man5/proc_pid_maps.5.html).

use std::ops::Range;

/// The most mappings that are read: the kernel's default limit (`vm.max_map_count`).
const MAPS_MAX: usize = 65_530;

/// A mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Map {
    pub(crate) addresses: Range<u64>,
    pub(crate) executable: bool,
    /// The offset in the file.
    pub(crate) offset: u64,
    /// The number of the file in its file system.
    pub(crate) inode: u64,
    /// The path of the file, or a name such as `[heap]`; empty for other memory.
    pub(crate) name: String,
}

impl Map {
    /// Parses a line: `START-END PERMISSIONS OFFSET DEVICE INODE NAME`.
    fn parse(line: &str) -> Option<Self> {
        let mut rest = line;
        let mut word = || {
            let (word, after) = rest.split_once(' ').unwrap_or((rest, ""));
            rest = after;
            word
        };
        let (start, end) = word().split_once('-')?;
        let (permissions, offset) = (word(), word());
        let (_device, inode) = (word(), word());
        let number = |text| u64::from_str_radix(text, 16).ok();
        Some(Self {
            addresses: number(start)?..number(end)?,
            executable: permissions.contains('x'),
            offset: number(offset)?,
            inode: inode.parse().ok()?,
            name: rest.trim_start().to_owned(),
        })
    }

    /// Whether the path no longer leads to the file.
    pub(crate) fn is_deleted(&self) -> bool {
        self.name.ends_with(" (deleted)")
    }

    /// What the memory is, in words.
    pub(crate) fn words(&self) -> &str {
        match self.name.as_str() {
            "" => ANONYMOUS,
            name => name.rsplit('/').next().unwrap_or(name),
        }
    }
}

/// The words for memory that is in no file.
const ANONYMOUS: &str = "anonymous memory";

/// The mappings of a process, in the order of their addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Maps(Vec<Map>);

impl Maps {
    pub(crate) fn parse(text: &str) -> Self {
        Self(text.lines().take(MAPS_MAX).filter_map(Map::parse).collect())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Map> {
        self.0.iter()
    }

    /// The mapping at an address.
    pub(crate) fn at(&self, address: u64) -> Option<&Map> {
        let after = self.0.partition_point(|map| map.addresses.start <= address);
        self.0[..after].last().filter(|map| map.addresses.contains(&address))
    }

    /// What the memory at an address is, in words.
    pub(crate) fn words(&self, address: u64) -> String {
        self.at(address).map_or(ANONYMOUS, Map::words).to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_are_read_with_spaces_in_their_names() {
        let maps = Maps::parse(
            "00400000-00401000 r-xp 00002000 08:01 77       /opt/my servo\n\
             00600000-00601000 rw-p 00000000 00:00 0 \n\
             garbage\n\
             7ff0-8000 rw-p 00000000 00:00 0                [stack]\n",
        );
        let servo = Map {
            addresses: 0x0040_0000..0x0040_1000,
            executable: true,
            offset: 0x2000,
            inode: 77,
            name: "/opt/my servo".to_owned(),
        };
        assert_eq!(maps.iter().next(), Some(&servo));
        assert_eq!(maps.iter().count(), 3);
    }

    #[test]
    fn memory_is_found_by_its_address() {
        let maps = Maps::parse(
            "1000-2000 r-xp 00000000 08:01 77 /usr/lib/libm.so.6\n\
             3000-4000 rw-p 00000000 00:00 0 [heap]\n5000-6000 rw-p 00000000 00:00 0 \n",
        );
        for (address, words) in [
            (0x0fff, "anonymous memory"),
            (0x1000, "libm.so.6"),
            (0x2000, "anonymous memory"),
            (0x3fff, "[heap]"),
            (0x5000, "anonymous memory"),
        ] {
            assert_eq!(maps.words(address), words, "{address:x}");
        }
    }
}
