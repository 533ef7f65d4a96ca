//! Which code of a process led to something.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use framehop::{
    CacheNative, FrameAddress, MayAllocateDuringUnwind, UnwindRegsNative, Unwinder as _,
    UnwinderNative,
};
use tactus_model::violation::CodePlace;
use tactus_sys::section::{Registers, STACK_MAX};

use crate::file::{Bytes, ObjectFile};
use crate::frame::{Frame, place};
use crate::maps::{Map, Maps};

/// The most frames that are unwound.
const FRAMES_MAX: usize = 128;

/// How many addresses are remembered with their functions; beyond it, all are forgotten.
const KNOWN_MAX: usize = 1 << 16;

/// The least time between two looks at the memory of a process.
const REFRESH: Duration = Duration::from_millis(20);

/// How far below a stack pointer the stack is brought in: calls may go as deep.
const BROUGHT_IN: u64 = 64 << 10;

/// The least size of a page.
const PAGE: usize = 4096;

/// Unwinds stacks of a process and names its functions and lines. It reads files: not for
/// real-time threads.
pub struct Code {
    process: String,
    maps: Maps,
    looked: Option<Instant>,
    /// The programs and libraries that were read.
    objects: Vec<ObjectFile>,
    /// Which of them a file is, by its path and number; `None` if it cannot be read. A program
    /// that is built again has a new number.
    files: HashMap<(String, u64), Option<usize>>,
    /// The mapped code by its first address: which object, and what the mapping adds to the
    /// addresses that its file states.
    mapped: HashMap<u64, (usize, u64)>,
    unwinder: UnwinderNative<Bytes, MayAllocateDuringUnwind>,
    cache: CacheNative<MayAllocateDuringUnwind>,
    known: HashMap<u64, Vec<Frame>>,
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Code").field("process", &self.process).finish_non_exhaustive()
    }
}

impl Code {
    /// The code of this process.
    pub fn of_this_process() -> Self {
        Self::of("/proc/self".to_owned())
    }

    /// The code of another process. It must be read by [`Self::look`] while the process lives.
    pub fn of_process(process: u32) -> Self {
        Self::of(format!("/proc/{process}"))
    }

    fn of(process: String) -> Self {
        Self {
            process,
            maps: Maps::default(),
            looked: None,
            objects: Vec::new(),
            files: HashMap::new(),
            mapped: HashMap::new(),
            unwinder: UnwinderNative::new(),
            cache: CacheNative::new(),
            known: HashMap::new(),
        }
    }

    /// Reads which files the process has mapped now. After the end of the process, what was read
    /// last stays.
    pub fn look(&mut self) {
        self.looked = Some(Instant::now());
        let text = std::fs::read_to_string(format!("{}/maps", self.process)).unwrap_or_default();
        let maps = Maps::parse(&text);
        if text.is_empty() || maps == self.maps {
            return;
        }
        for map in self.maps.iter().filter(|map| map.executable) {
            self.unwinder.remove_module(map.addresses.start);
        }
        self.mapped.clear();
        self.known.clear();
        for map in maps.iter().filter(|map| map.executable && map.name.starts_with('/')) {
            self.add(map);
        }
        self.cache = CacheNative::new();
        self.maps = maps;
    }

    fn add(&mut self, map: &Map) {
        let paths = self.paths(map);
        let number = *self.files.entry((map.name.clone(), map.inode)).or_insert_with(|| {
            let file = paths.iter().find_map(|path| ObjectFile::read(path, map.words()));
            self.objects.push(file?);
            Some(self.objects.len() - 1)
        });
        let object = number.map(|number| (number, &self.objects[number]));
        let Some((number, object)) = object else { return };
        let Some(bias) = object.bias(map) else { return };
        self.unwinder.add_module(object.module(map, bias));
        self.mapped.insert(map.addresses.start, (number, bias));
    }

    /// The paths at which the file of a mapping may be.
    fn paths(&self, map: &Map) -> Vec<PathBuf> {
        let process = &self.process;
        if !map.is_deleted() {
            // The process may have another root directory.
            return vec![format!("{process}/root{}", map.name).into(), (&map.name).into()];
        }
        // The kernel still has the file. That of a mapping needs rights, that of the program not.
        let program = PathBuf::from(format!("{process}/exe"));
        let is_program = program.read_link().is_ok_and(|name| name == Path::new(&map.name));
        let Range { start, end } = map.addresses;
        let mapped = format!("{process}/map_files/{start:x}-{end:x}").into();
        is_program.then_some(program).into_iter().chain([mapped]).collect()
    }

    /// Looks again if nothing is known of an address, but not too often.
    fn look_for(&mut self, address: u64) {
        let is_due = self.looked.is_none_or(|looked| looked.elapsed() >= REFRESH);
        if is_due && self.maps.at(address).is_none() {
            self.look();
        }
    }

    /// What the memory at an address is: the name of a file, `[heap]`, `[stack]`, or `anonymous
    /// memory`.
    pub fn memory(&mut self, address: u64) -> String {
        self.look_for(address);
        self.maps.words(address)
    }

    /// The line of the program that led to a point of its execution, which may be in a library.
    /// `stack` is a copy of the stack from the stack pointer upwards.
    pub fn place(&mut self, registers: Registers, stack: &[u8]) -> CodePlace {
        self.look_for(registers.ip);
        let mut frames = Vec::new();
        for address in self.unwind(registers, stack) {
            frames.extend_from_slice(self.frames(address));
        }
        place(&frames)
    }

    /// Brings the stack around a stack pointer into memory. perf copies a stack only up to the first
    /// page that was never touched, which can lie within a large frame.
    ///
    /// It changes nothing for the process: the first write to such a page is a page fault as before.
    pub fn bring_stack_in(&self, sp: u64) {
        let Some(map) = self.maps.at(sp) else { return };
        let Ok(memory) = File::open(format!("{}/mem", self.process)) else { return };
        let start = map.addresses.start.max(sp.saturating_sub(BROUGHT_IN));
        let end = map.addresses.end.min(sp.saturating_add(STACK_MAX as u64));
        for page in (start..end).step_by(PAGE) {
            // What cannot be read will not be copied either.
            let _ = memory.read_at(&mut [0], page);
        }
    }

    /// The addresses of a call chain, innermost first, each inside of the instruction that calls.
    fn unwind(&mut self, registers: Registers, stack: &[u8]) -> Vec<u64> {
        let mut read = |address: u64| {
            let offset = address.checked_sub(registers.sp).ok_or(())?;
            let offset = usize::try_from(offset).map_err(|_| ())?;
            let word = stack.get(offset..).and_then(|rest| rest.first_chunk()).ok_or(())?;
            Ok(u64::from_ne_bytes(*word))
        };
        let (ip, native) = (registers.ip, native(registers));
        let mut frames = self.unwinder.iter_frames(ip, native, &mut self.cache, &mut read);
        let mut found = Vec::new();
        // An error ends a chain as its outermost frame does.
        while let Ok(Some(frame)) = frames.next()
            && found.len() < FRAMES_MAX
        {
            found.push(FrameAddress::address_for_lookup(frame));
        }
        found
    }

    fn frames(&mut self, address: u64) -> &[Frame] {
        if self.known.len() >= KNOWN_MAX {
            self.known.clear();
        }
        let (maps, mapped, objects) = (&self.maps, &self.mapped, &self.objects);
        self.known.entry(address).or_insert_with(|| {
            let Some(map) = maps.at(address) else { return Vec::new() };
            match mapped.get(&map.addresses.start) {
                Some((number, bias)) => objects[*number].frames(address.wrapping_sub(*bias)),
                None => {
                    let object = map.words().to_owned();
                    let offset = (address - map.addresses.start).wrapping_add(map.offset);
                    let code = Some(format!("{object}+{offset:#x}"));
                    let place = CodePlace { code, ..CodePlace::default() };
                    vec![Frame { place, object, symbol: None }]
                }
            }
        })
    }
}

#[cfg(target_arch = "x86_64")]
fn native(Registers { ip, sp, fp, .. }: Registers) -> UnwindRegsNative {
    UnwindRegsNative::new(ip, sp, fp)
}

#[cfg(target_arch = "aarch64")]
fn native(Registers { sp, fp, lr, .. }: Registers) -> UnwindRegsNative {
    UnwindRegsNative::new(lr, sp, fp)
}
