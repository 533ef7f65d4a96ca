//! One program or library: its unwinding tables, functions and lines.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use addr2line::Loader;
use framehop::{ExplicitModuleSectionInfo, Module};
use object::elf::PF_X;
use object::read::ReadCache;
use object::{CompressionFormat, Object, ObjectSection, ObjectSegment as _, SegmentFlags};
use tactus_model::violation::CodePlace;

use crate::frame::Frame;
use crate::maps::Map;

/// The most bytes of unwinding tables that are read of one file.
const TABLES_MAX: u64 = 256 << 20;

/// The most bytes that the compressed sections of one file may expand to: a small file can claim
/// any number.
const EXPANDED_MAX: u64 = 512 << 20;

/// The most functions that the compiler has put into each other at one address.
const INLINED_MAX: usize = 64;

/// The bytes of a section, shared by the mappings of its file.
pub(crate) type Bytes = Arc<[u8]>;

/// A program or library that a process has mapped.
pub(crate) struct ObjectFile {
    name: String,
    /// Those with code.
    segments: Vec<Segment>,
    sections: ExplicitModuleSectionInfo<Bytes>,
    /// Functions and lines; absent if they cannot be read.
    loader: Option<Loader>,
}

/// A part of the file that is mapped as a whole, with the address that the file states.
struct Segment {
    address: u64,
    offset: u64,
    size: u64,
}

impl ObjectFile {
    /// Reads a file that is called `name`; `None` if it is no program and no library.
    pub(crate) fn read(path: &Path, name: &str) -> Option<Self> {
        // A pipe can have taken the place of the program.
        if !path.metadata().ok()?.is_file() {
            return None;
        }
        let cache = ReadCache::new(File::open(path).ok()?);
        let file = object::File::parse(&cache).ok()?;
        let range = |name: &str| {
            let section = file.section_by_name(name)?;
            Some(section.address()..section.address().checked_add(section.size())?)
        };
        let data = |name: &str| {
            let section =
                file.section_by_name(name).filter(|found| expanded(found) <= TABLES_MAX)?;
            Some(Bytes::from(section.uncompressed_data().ok()?.into_owned()))
        };
        let sections = ExplicitModuleSectionInfo {
            text_svma: range(".text"),
            got_svma: range(".got"),
            eh_frame_svma: range(".eh_frame"),
            eh_frame: data(".eh_frame"),
            eh_frame_hdr_svma: range(".eh_frame_hdr"),
            eh_frame_hdr: data(".eh_frame_hdr"),
            debug_frame: data(".debug_frame"),
            ..ExplicitModuleSectionInfo::default()
        };
        // The last page of one segment can be the first of the next in the file: only those with
        // code are mapped as such.
        let code = file.segments().filter(|segment| {
            matches!(segment.flags(), SegmentFlags::Elf { p_flags } if p_flags & PF_X != 0)
        });
        let segments = code.map(|segment| {
            let (offset, size) = segment.file_range();
            Segment { address: segment.address(), offset, size }
        });
        Some(Self {
            name: name.to_owned(),
            segments: segments.collect(),
            sections,
            loader: is_moderate(&file, EXPANDED_MAX).then(|| Loader::new(path).ok()).flatten(),
        })
    }

    /// What the mapping adds to the addresses that the file states.
    pub(crate) fn bias(&self, map: &Map) -> Option<u64> {
        const PAGES: u64 = !0xfff;
        let segment = self.segments.iter().find(|segment| {
            let end = segment.offset.saturating_add(segment.size);
            (segment.offset & PAGES..end).contains(&map.offset)
        })?;
        let start = segment.address.wrapping_sub(segment.offset).wrapping_add(map.offset);
        Some(map.addresses.start.wrapping_sub(start))
    }

    /// The mapping as framehop takes it.
    pub(crate) fn module(&self, map: &Map, bias: u64) -> Module<Bytes> {
        Module::new(self.name.clone(), map.addresses.clone(), bias, self.sections.clone())
    }

    /// The functions at an address that the file states, innermost first; at least one.
    pub(crate) fn frames(&self, address: u64) -> Vec<Frame> {
        let mut found = self.with_lines(address);
        if found.is_empty() {
            found.push(Frame::default());
        }
        let symbol = self.loader.as_ref().and_then(|loader| loader.find_symbol(address));
        let symbol = symbol.map(demangled);
        for frame in &mut found {
            frame.object.clone_from(&self.name);
            frame.symbol.clone_from(&symbol);
            frame.place.code = Some(format!("{}+{address:#x}", self.name));
        }
        // The outermost is the function of the symbol table, which may be all that is known.
        if let Some(last) = found.last_mut() {
            last.place.function = last.place.function.take().or(symbol);
        }
        found
    }

    fn with_lines(&self, address: u64) -> Vec<Frame> {
        let mut found = Vec::new();
        let frames = self.loader.as_ref().and_then(|loader| loader.find_frames(address).ok());
        let Some(mut frames) = frames else { return found };
        while let Ok(Some(frame)) = frames.next()
            && found.len() < INLINED_MAX
        {
            let location = frame.location.as_ref();
            let function = frame.function.as_ref().and_then(|function| function.demangle().ok());
            let place = CodePlace {
                function: function.map(String::from),
                file: location.and_then(|location| location.file.map(str::to_owned)),
                line: location.and_then(|location| location.line),
                code: None,
            };
            found.push(Frame { place, ..Frame::default() });
        }
        found
    }
}

/// The name of a function. The short name of a C function can be a word of C++ mangling: `w` is
/// not `wchar_t`.
fn demangled(symbol: &str) -> String {
    match symbol.starts_with('_') {
        true => addr2line::demangle_auto(symbol.into(), None).into_owned(),
        false => symbol.to_owned(),
    }
}

/// Whether the compressed sections of a file expand to at most `limit` bytes in all.
fn is_moderate<'d>(file: &impl Object<'d>, limit: u64) -> bool {
    let is_compressed = |format: CompressionFormat| format != CompressionFormat::None;
    let compressed = file.sections().filter(|section| {
        section.compressed_file_range().is_ok_and(|range| is_compressed(range.format))
    });
    let sizes = compressed.map(|section| expanded(&section));
    sizes.fold(0, u64::saturating_add) <= limit
}

/// The size of a section after decompression.
fn expanded<'d>(section: &impl ObjectSection<'d>) -> u64 {
    section.compressed_file_range().map_or(u64::MAX, |range| range.uncompressed_size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_mangled_names_are_demangled() {
        assert_eq!(demangled("w"), "w");
        assert_eq!(demangled("_ZN5servo4stepEv"), "servo::step()");
    }

    fn bytes(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// An ELF file whose sections claim to expand to these sizes. It has a header, the headers of
    /// no section, of an empty table of names and of these, and the beginnings of their contents.
    fn claiming(sizes: &[u64]) -> Vec<u8> {
        const HEADER: u64 = 64;
        const MAGIC: u64 = 0x0001_0102_464c_457f;
        const X86_64_PROGRAM: u64 = 0x0001_003e_0002;
        const PROGBITS: u64 = 1 << 32;
        const STRTAB: u64 = 3 << 32;
        const COMPRESSED: u64 = 1 << 11;
        const ZLIB: u64 = 1;
        const CONTENT: u64 = 24;
        let count = sizes.len() as u64 + 2;
        let names = 1;
        let table = HEADER << 16 | count << 32 | names << 48;
        let mut file = bytes(&[MAGIC, 0, X86_64_PROGRAM, 0, 0, HEADER, HEADER << 32, table]);
        let contents = HEADER * (count + 1);
        file.extend(bytes(&[0; 8]));
        file.extend(bytes(&[STRTAB, 0, 0, contents, 0, 0, 1, 0]));
        for number in 0..count - 2 {
            let at = contents + CONTENT * number;
            file.extend(bytes(&[PROGBITS, COMPRESSED, 0, at, CONTENT, 0, 1, 0]));
        }
        file.extend(sizes.iter().flat_map(|size| bytes(&[ZLIB, *size, 1])));
        file
    }

    #[test]
    fn a_small_file_that_claims_to_expand_beyond_the_limit_has_no_lines() {
        let is_below = |sizes: &[u64], limit| {
            is_moderate(&object::File::parse(&*claiming(sizes)).unwrap(), limit)
        };
        assert!(is_below(&[600, 424], 1024) && !is_below(&[600, 425], 1024));
        assert!(!is_below(&[u64::MAX, u64::MAX], EXPANDED_MAX));
        assert!(is_below(&[], 0));
    }
}
