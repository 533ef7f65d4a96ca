//! What a C compiler does to the kernel, for guests, which have no compiler.
//!
//! A driver starts one pass after another, each a fresh process of our own static binary, like
//! `cc -pipe`:
//!
//! ```text
//! compile            the copy: the driver
//! ├─ compile/cc1       reads source and headers, writes assembly to a pipe
//! ├─ compile/as        reads the pipe, writes an object
//! └─ compile/collect
//!    └─ compile/ld     reads objects and libraries, writes a program
//! ```
//!
//! The amounts are those of `cc -O2` (GCC 12 on x86-64) for the program of the load `compile`,
//! measured with strace(1) and time(1): 4 800 page faults, about 170 files opened and as many
//! searched for in vain, a thousand readlink calls, 340 reads. It computes about a tenth of
//! what a compiler does, which spends three quarters of its time in user mode. So an emulated
//! CPU finishes more compiles, and most of their time is spent in the kernel.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tactus_model::random::SplitMix64;
use tactus_model::result::Shortfall;
use tactus_sys::mapping::Mapping;
use tactus_wire::{MESSAGE_LIMIT, Peer, Start};

use crate::error::{During, LoadError};
use crate::request::{Companion, Pass, Role, WorkerRequest};
use crate::site::Site;

/// The name of operations, in the plural.
pub(super) const UNIT: &str = "compile-like builds";

/// Headers that a source includes, directly or not, and the bytes of each.
const HEADERS: usize = 28;
const HEADER: usize = 3 << 10;
/// Directories that are searched for a header before it is found.
const SEARCHED: usize = 5;
/// Libraries and start files of a program, and the bytes of each.
const LIBRARIES: usize = 8;
const LIBRARY: usize = 64 << 10;
/// Calls of readlink(2) by which the linker finds out whether two paths are one file.
const LINKS: usize = 1000;

/// The bytes of a source's assembly and of its object.
const ASSEMBLY: usize = 40 << 10;
const OBJECT: usize = 12 << 10;
/// The bytes of a read or write, as in stdio(3).
const PIECE: usize = 4 << 10;

/// Bytes of memory that are mapped at once.
const ARENA: usize = 512 << 10;
/// The smallest page size of Linux.
const PAGE: usize = 4096;
/// Steps of arithmetic for each page that is touched; about 3 000 instructions.
const STEPS: usize = 400;

/// The memory of each pass, in arenas of 512 KiB.
const fn arenas(pass: Pass) -> usize {
    match pass {
        Pass::Compile => 24,
        Pass::Assemble => 4,
        Pass::Collect => 0,
        Pass::Link => 8,
    }
}

/// The imitated compiler of a copy. It keeps its headers and libraries, about 600 KiB.
#[derive(Debug)]
pub(super) struct Imitation {
    site: &'static Site,
    tree: PathBuf,
}

impl Imitation {
    /// Creates the headers and libraries, and reports the imitation as a shortfall.
    pub(super) fn prepare(site: &'static Site) -> Result<Self, LoadError> {
        site.shortfall(Shortfall {
            asked: "a C compiler for the load".to_owned(),
            granted: "compile-like work: the processes, memory, files and pipes of a compiler, \
                      and a tenth of its computing"
                .to_owned(),
            reason: "no compiler in the guest".to_owned(),
            fix: None,
        });
        let tree = site.path("compiler");
        const ACTION: &str = "create headers and libraries";
        for directory in 0..=SEARCHED {
            fs::create_dir_all(tree.join(directory.to_string())).during(ACTION)?;
        }
        for header in 0..HEADERS {
            fs::write(found(&tree, header), vec![b'h'; HEADER]).during(ACTION)?;
        }
        for number in 0..LIBRARIES {
            fs::write(library(&tree, number), vec![b'l'; LIBRARY]).during(ACTION)?;
        }
        Ok(Self { site, tree })
    }

    /// Does to the kernel what compiling and linking `sources` does.
    pub(super) fn build(&self, sources: &[PathBuf], output: &Path) -> Result<(), LoadError> {
        let objects: Vec<PathBuf> =
            sources.iter().map(|source| source.with_extension("o")).collect();
        for (source, object) in sources.iter().zip(&objects) {
            self.translate(source, object)?;
        }
        let request = self.request(Pass::Collect, objects, output);
        let mut collect = start(Pass::Collect, Stdio::null(), &request)?;
        end(&mut collect, Pass::Collect)
    }

    /// Compiles a source and assembles it in parallel.
    fn translate(&self, source: &Path, object: &Path) -> Result<(), LoadError> {
        let request = self.request(Pass::Assemble, Vec::new(), object);
        let mut assembler = start(Pass::Assemble, Stdio::null(), &request)?;
        let assembly =
            assembler.take_input().ok_or_else(|| LoadError::new("a pass has no input"))?;
        let request = self.request(Pass::Compile, vec![source.to_owned()], object);
        let mut compiler = start(Pass::Compile, assembly.into(), &request)?;
        end(&mut compiler, Pass::Compile)?;
        end(&mut assembler, Pass::Assemble)
    }

    fn request(&self, pass: Pass, inputs: Vec<PathBuf>, output: &Path) -> WorkerRequest {
        let (output, tree) = (output.to_owned(), self.tree.clone());
        self.site.request_for(Companion::Pass { pass, inputs, output, tree })
    }
}

/// Starts a pass and sends its request.
fn start(pass: Pass, stdout: Stdio, request: &WorkerRequest) -> Result<Peer, LoadError> {
    let action = format!("start {}", name(pass));
    let mut peer = Start::new(Role::Worker.of_this_binary()).start_into(stdout).during(&action)?;
    peer.send(request).during(&action)?;
    Ok(peer)
}

/// Waits for the end of a pass.
fn end(peer: &mut Peer, pass: Pass) -> Result<(), LoadError> {
    let status = peer.wait().during(&format!("wait for {}", name(pass)))?;
    if status.success() {
        return Ok(());
    }
    Err(LoadError::new(format!("{} ended with {status}", name(pass))))
}

const fn name(pass: Pass) -> &'static str {
    match pass {
        Pass::Compile => "the compiling pass",
        Pass::Assemble => "the assembling pass",
        Pass::Collect => "the collecting pass",
        Pass::Link => "the linking pass",
    }
}

/// The path of a header: in the last directory that is searched.
fn found(tree: &Path, header: usize) -> PathBuf {
    tree.join(SEARCHED.to_string()).join(format!("{header}.h"))
}

fn library(tree: &Path, number: usize) -> PathBuf {
    tree.join(format!("{number}.a"))
}

/// The work of a pass.
pub(super) fn work(
    pass: Pass,
    inputs: &[PathBuf],
    output: &Path,
    tree: &Path,
    request: &WorkerRequest,
) -> Result<(), LoadError> {
    match pass {
        Pass::Compile => compile(inputs, tree),
        Pass::Assemble => assemble(output),
        Pass::Collect => {
            let (inputs, output, tree) = (inputs.to_vec(), output.to_owned(), tree.to_owned());
            let linker = Companion::Pass { pass: Pass::Link, inputs, output, tree };
            let mut linker = start(Pass::Link, Stdio::null(), &request.for_companion(linker))?;
            end(&mut linker, Pass::Link)
        }
        Pass::Link => link(inputs, output, tree),
    }
    .map_err(|error| LoadError::new(format!("{}: {}", name(pass), error.reason)))
}

fn compile(inputs: &[PathBuf], tree: &Path) -> Result<(), LoadError> {
    for source in inputs {
        read(source)?;
    }
    let mut memory = Memory::default();
    let arenas = arenas(Pass::Compile);
    for header in 0..HEADERS {
        for directory in 0..SEARCHED {
            // The header is not there; the search is what counts.
            let _ = File::open(tree.join(directory.to_string()).join(format!("{header}.h")));
        }
        read(&found(tree, header))?;
        // The memory grows with the number of headers read; the process frees it at its end.
        while memory.arenas.len() * HEADERS < arenas * (header + 1) {
            memory.grow()?;
        }
    }
    let assembly = [b'a'; PIECE];
    let mut stdout = io::stdout().lock();
    for _ in 0..ASSEMBLY / PIECE {
        stdout.write_all(&assembly).during("write the assembly")?;
    }
    stdout.flush().during("write the assembly")
}

fn assemble(output: &Path) -> Result<(), LoadError> {
    // The request was the first line; what follows is the assembly.
    let mut assembly = Vec::new();
    let mut input = io::stdin().lock().take(MESSAGE_LIMIT as u64);
    input.read_to_end(&mut assembly).during("read the assembly")?;
    Memory::default().grow_to(arenas(Pass::Assemble))?;
    write(output, OBJECT)
}

fn link(inputs: &[PathBuf], output: &Path, tree: &Path) -> Result<(), LoadError> {
    for number in 0..LINKS {
        // These files are not links, and the call finds that out.
        let _ = fs::read_link(library(tree, number % LIBRARIES));
    }
    let mut memory = Memory::default();
    let mut size = 0;
    for input in inputs.iter().cloned().chain((0..LIBRARIES).map(|n| library(tree, n))) {
        size += read(&input)?;
    }
    memory.grow_to(arenas(Pass::Link))?;
    // A program is a fraction of what it is linked from.
    write(output, size / 16)
}

/// The memory of a pass, which grows until the process ends.
#[derive(Default)]
struct Memory {
    arenas: Vec<Mapping>,
}

impl Memory {
    fn grow_to(&mut self, arenas: usize) -> Result<(), LoadError> {
        while self.arenas.len() < arenas {
            self.grow()?;
        }
        Ok(())
    }

    /// Maps an arena and computes something for each of its pages.
    fn grow(&mut self) -> Result<(), LoadError> {
        let mut arena = Mapping::new(ARENA).during("map memory")?;
        // A kernel without huge pages refuses, which has no effect here.
        let _ = arena.forbid_huge_pages();
        let mut random = SplitMix64::new(self.arenas.len() as u64);
        for page in arena.bytes().chunks_exact_mut(PAGE) {
            let sum = (0..STEPS).fold(0_u64, |sum, _| sum ^ random.next_u64());
            page[..8].copy_from_slice(&sum.to_ne_bytes());
        }
        self.arenas.push(arena);
        Ok(())
    }
}

/// Reads a file in pieces; returns its length.
fn read(path: &Path) -> Result<usize, LoadError> {
    let action = format!("read {}", path.display());
    let mut file = File::open(path).during(&action)?;
    let mut piece = [0; PIECE];
    let mut length = 0;
    loop {
        match file.read(&mut piece).during(&action)? {
            0 => return Ok(length),
            read => length += read,
        }
    }
}

/// Writes a new file of this length in pieces.
fn write(path: &Path, length: usize) -> Result<(), LoadError> {
    let action = format!("write {}", path.display());
    // A compiler removes the old file first.
    let _ = fs::remove_file(path);
    let mut file = File::create(path).during(&action)?;
    let piece = [b'o'; PIECE];
    let mut left = length;
    while left > 0 {
        let now = left.min(PIECE);
        file.write_all(&piece[..now]).during(&action)?;
        left -= now;
    }
    Ok(())
}
