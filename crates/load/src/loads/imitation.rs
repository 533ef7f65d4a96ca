//! What a C compiler does to a kernel, where there is no compiler: in guests.
//!
//! A driver starts a pass after another, each a fresh process of our own static binary, as
//! `cc -pipe` does:
//!
//! ```text
//! compile            the copy: the driver
//! ├─ compile/cc1       reads source and headers, writes assembly to a pipe
//! ├─ compile/as        reads the pipe, writes an object
//! └─ compile/collect
//!    └─ compile/ld     reads objects and libraries, writes a program
//! ```
//!
//! The amounts are those of `cc -O2` (GCC 12 on x86-64) at the program of the load `compile`,
//! as strace(1) and time(1) tell them: 4 800 page faults, some 170 files opened and as many
//! looked for in vain, a thousand links read, 340 reads. Its computing is about a tenth of a
//! compiler's, which spends three quarters of its time in user mode, so that an emulated
//! CPU comes to more compiles and most of what they take is the kernel's.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tactus_model::random::SplitMix64;
use tactus_model::result::Shortfall;
use tactus_sys::mapping::Mapping;
use tactus_wire::{Peer, Start};

use crate::error::{During, LoadError};
use crate::order::{Companion, Pass, Role, WorkerOrder};
use crate::site::Site;

/// What one operation of it is.
pub(super) const UNIT: &str = "compile-like builds";

/// Headers that a source includes, directly or not, and how long each is.
const HEADERS: usize = 28;
const HEADER: usize = 3 << 10;
/// Directories in which a header is looked for before it is found.
const SEARCHED: usize = 5;
/// Libraries and start files that a program is linked with, and how long each is.
const LIBRARIES: usize = 8;
const LIBRARY: usize = 64 << 10;
/// Links that the linker reads, to know whether two paths are one file.
const LINKS: usize = 1000;

/// The assembly of a source and the object that is made of it.
const ASSEMBLY: usize = 40 << 10;
const OBJECT: usize = 12 << 10;
/// What is read or written at once, as stdio(3) does.
const PIECE: usize = 4 << 10;

/// Memory that is taken at once.
const ARENA: usize = 512 << 10;
/// The smallest page that Linux has.
const PAGE: usize = 4096;
/// Steps of arithmetic for each page that is touched; some 3 000 instructions.
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

/// The imitated compiler of a copy. It keeps its headers and libraries, some 600 KiB.
#[derive(Debug)]
pub(super) struct Imitation {
    site: &'static Site,
    tree: PathBuf,
}

impl Imitation {
    /// Makes the headers and libraries, and says that this is no compiler.
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
        const ACTION: &str = "make headers and libraries";
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

    /// Does to the kernel what compiling and linking `sources` would.
    pub(super) fn build(&self, sources: &[PathBuf], output: &Path) -> Result<(), LoadError> {
        let objects: Vec<PathBuf> =
            sources.iter().map(|source| source.with_extension("o")).collect();
        for (source, object) in sources.iter().zip(&objects) {
            self.translate(source, object)?;
        }
        let order = self.order(Pass::Collect, objects, output);
        let mut collect = start(Pass::Collect, Stdio::null(), &order)?;
        end(&mut collect, Pass::Collect)
    }

    /// Compiles a source and assembles it, side by side.
    fn translate(&self, source: &Path, object: &Path) -> Result<(), LoadError> {
        let order = self.order(Pass::Assemble, Vec::new(), object);
        let mut assembler = start(Pass::Assemble, Stdio::null(), &order)?;
        let assembly =
            assembler.take_input().ok_or_else(|| LoadError::new("a pass has no input"))?;
        let order = self.order(Pass::Compile, vec![source.to_owned()], object);
        let mut compiler = start(Pass::Compile, assembly.into(), &order)?;
        end(&mut compiler, Pass::Compile)?;
        end(&mut assembler, Pass::Assemble)
    }

    fn order(&self, pass: Pass, inputs: Vec<PathBuf>, output: &Path) -> WorkerOrder {
        let (output, tree) = (output.to_owned(), self.tree.clone());
        self.site.order_for(Companion::Pass { pass, inputs, output, tree })
    }
}

/// Starts a pass and gives it its order.
fn start(pass: Pass, stdout: Stdio, order: &WorkerOrder) -> Result<Peer, LoadError> {
    let action = format!("start {}", name(pass));
    let mut peer = Start::new(Role::Worker.of_this_binary()).start_into(stdout).during(&action)?;
    peer.send(order).during(&action)?;
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

/// Where a header lies: in the last directory that is searched.
fn found(tree: &Path, header: usize) -> PathBuf {
    tree.join(SEARCHED.to_string()).join(format!("{header}.h"))
}

fn library(tree: &Path, number: usize) -> PathBuf {
    tree.join(format!("{number}.a"))
}

/// The body of a pass.
pub(super) fn work(
    pass: Pass,
    inputs: &[PathBuf],
    output: &Path,
    tree: &Path,
    order: &WorkerOrder,
) -> Result<(), LoadError> {
    match pass {
        Pass::Compile => compile(inputs, tree),
        Pass::Assemble => assemble(output),
        Pass::Collect => {
            let (inputs, output, tree) = (inputs.to_vec(), output.to_owned(), tree.to_owned());
            let linker = Companion::Pass { pass: Pass::Link, inputs, output, tree };
            let mut linker = start(Pass::Link, Stdio::null(), &order.for_companion(linker))?;
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
            // It is not there; that it is looked for is what counts.
            let _ = File::open(tree.join(directory.to_string()).join(format!("{header}.h")));
        }
        read(&found(tree, header))?;
        // The memory grows with what has been read, and goes with the process.
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
    // The order was the first line; what follows is the assembly.
    let mut assembly = Vec::new();
    io::stdin().lock().read_to_end(&mut assembly).during("read the assembly")?;
    Memory::default().grow_to(arenas(Pass::Assemble))?;
    write(output, OBJECT)
}

fn link(inputs: &[PathBuf], output: &Path, tree: &Path) -> Result<(), LoadError> {
    for number in 0..LINKS {
        // None of them is a link, which is what the linker finds out.
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

    /// Takes an arena, and computes something for every page of it.
    fn grow(&mut self) -> Result<(), LoadError> {
        let mut arena = Mapping::new(ARENA).during("map memory")?;
        // A kernel without huge pages refuses, and need not be told.
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

/// Reads a file in pieces; tells its length.
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

/// Writes a file of this length in pieces, anew.
fn write(path: &Path, length: usize) -> Result<(), LoadError> {
    let action = format!("write {}", path.display());
    // A compiler takes away what was there.
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
