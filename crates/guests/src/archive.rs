//! The archive from which a guest boots: cpio in the "newc" format, with the same bytes for
//! the same content.
//!
//! The kernel unpacks it into its first filesystem; the kernel's
//! `Documentation/driver-api/early-userspace/buffer-format.rst` describes the format. Every
//! entry belongs to root and has the modification time 0.

/// An archive under construction. A directory precedes its entries.
#[derive(Clone, Debug)]
pub struct Archive {
    bytes: Vec<u8>,
    entries: u32,
}

/// The kinds of file in an entry's mode, after inode(7).
const DIRECTORY: u32 = 0o040_000;
const REGULAR: u32 = 0o100_000;
const LINK: u32 = 0o120_000;
const CHARACTER_DEVICE: u32 = 0o020_000;

/// The fields of an entry besides its name and its content.
#[derive(Clone, Copy, Default)]
struct Kind {
    mode: u32,
    device: (u32, u32),
}

impl Archive {
    /// An empty archive.
    pub const fn new() -> Self {
        Self { bytes: Vec::new(), entries: 0 }
    }

    /// Adds a directory that everyone may read.
    #[must_use]
    pub fn directory(self, path: &str) -> Self {
        self.entry(path, Kind { mode: DIRECTORY | 0o755, ..Kind::default() }, &[])
    }

    /// Adds a character device with these numbers.
    #[must_use]
    pub fn device(self, path: &str, major: u32, minor: u32) -> Self {
        self.entry(path, Kind { mode: CHARACTER_DEVICE | 0o600, device: (major, minor) }, &[])
    }

    /// Adds a readable file.
    #[must_use]
    pub fn file(self, path: &str, content: &[u8]) -> Self {
        self.entry(path, Kind { mode: REGULAR | 0o644, ..Kind::default() }, content)
    }

    /// Adds an executable file.
    #[must_use]
    pub fn program(self, path: &str, content: &[u8]) -> Self {
        self.entry(path, Kind { mode: REGULAR | 0o755, ..Kind::default() }, content)
    }

    /// Adds a symbolic link.
    #[must_use]
    pub fn link(self, path: &str, target: &str) -> Self {
        self.entry(path, Kind { mode: LINK | 0o777, ..Kind::default() }, target.as_bytes())
    }

    /// Finishes the archive and returns its bytes.
    pub fn finish(self) -> Vec<u8> {
        // This name marks the end; the kernel ignores its inode and mode.
        self.entry("TRAILER!!!", Kind::default(), &[]).bytes
    }

    /// # Panics
    /// The file has 4 GiB or more, which the format cannot represent; files of guests are far
    /// smaller.
    fn entry(mut self, path: &str, kind: Kind, content: &[u8]) -> Self {
        self.entries += 1;
        let size = u32::try_from(content.len()).expect("a guest's files are small");
        let name = u32::try_from(path.len() + 1).expect("a guest's paths are short");
        let (links, (major, minor)) = (1, kind.device);
        // inode, mode, user, group, links, time, size, device of the archive (2), device
        // of the entry (2), length of the name with its zero, checksum.
        let fields = [self.entries, kind.mode, 0, 0, links, 0, size, 0, 0, major, minor, name, 0];
        self.bytes.extend_from_slice(b"070701");
        for field in fields {
            self.bytes.extend_from_slice(format!("{field:08X}").as_bytes());
        }
        self.bytes.extend_from_slice(path.as_bytes());
        self.bytes.push(0);
        self.align();
        self.bytes.extend_from_slice(content);
        self.align();
        self
    }

    /// Pads to a multiple of four bytes, where headers and contents begin.
    fn align(&mut self) {
        let length = self.bytes.len().next_multiple_of(4);
        self.bytes.resize(length, 0);
    }
}

impl Default for Archive {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An entry as an unpacker reads it: mode, device, name, content.
    type Entry = (u32, (u32, u32), String, Vec<u8>);

    /// Reads an archive by its own lengths, as the kernel does.
    fn unpack(mut bytes: &[u8]) -> Vec<Entry> {
        let mut entries = Vec::new();
        let mut inodes = Vec::new();
        loop {
            assert_eq!(&bytes[..6], b"070701");
            let field = |number: usize| {
                let text = std::str::from_utf8(&bytes[6 + 8 * number..14 + 8 * number]).unwrap();
                u32::from_str_radix(text, 16).unwrap()
            };
            let (name_length, size) = (field(11) as usize, field(6) as usize);
            let name = String::from_utf8(bytes[110..110 + name_length - 1].to_vec()).unwrap();
            assert_eq!(bytes[110 + name_length - 1], 0);
            assert_eq!([field(2), field(3), field(5)], [0, 0, 0], "owner, group and time");
            let content = (110 + name_length).next_multiple_of(4);
            if name == "TRAILER!!!" {
                return entries;
            }
            inodes.push(field(0));
            assert!(inodes.windows(2).all(|two| two[0] < two[1]), "an inode of its own");
            let data = bytes[content..content + size].to_vec();
            entries.push((field(1), (field(9), field(10)), name, data));
            bytes = &bytes[(content + size).next_multiple_of(4)..];
        }
    }

    #[test]
    fn a_packed_archive_is_unpacked() {
        let packed = Archive::new()
            .directory("dev")
            .device("dev/console", 5, 1)
            .program("init", b"\x7fELF.")
            .link("bin/true", "../init")
            .file("request.json", b"{}\n")
            .finish();
        let expected: Vec<Entry> = [
            (0o040_755, (0, 0), "dev", b"".as_slice()),
            (0o020_600, (5, 1), "dev/console", b""),
            (0o100_755, (0, 0), "init", b"\x7fELF."),
            (0o120_777, (0, 0), "bin/true", b"../init"),
            (0o100_644, (0, 0), "request.json", b"{}\n"),
        ]
        .into_iter()
        .map(|(mode, device, name, data)| (mode, device, name.to_owned(), data.to_vec()))
        .collect();
        assert_eq!(unpack(&packed), expected);
    }

    #[test]
    fn names_and_contents_of_any_length_are_aligned() {
        for length in 0..9 {
            let (name, content) = ("n".repeat(length + 1), vec![b'c'; length]);
            let packed = Archive::new().file(&name, &content).finish();
            assert_eq!(unpack(&packed), [(0o100_644, (0, 0), name, content)]);
            assert!(packed.len().is_multiple_of(4));
        }
    }

    #[test]
    fn the_header_has_the_documented_format() {
        let packed = Archive::new().file("a", b"b").finish();
        let header = "070701\
            00000001000081A40000000000000000000000010000000000000001\
            000000000000000000000000000000000000000200000000a\0";
        assert_eq!(std::str::from_utf8(&packed[..112]).unwrap(), header);
    }
}
