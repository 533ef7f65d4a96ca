//! Reading a file block by block, by every way that programs do.
//!
//! A file is read from its beginning to its end, in *passes*. Before each pass of cold reads, its
//! pages are dropped from the page cache, and mincore(2) proves that none is left. What reading ahead
//! brings into the cache during a pass is part of what is measured. The caches of the disk, and of a
//! host that emulates it, are not dropped.

use std::fs::{self, File, OpenOptions};
use std::hint::black_box;
use std::io::{BufReader, ErrorKind, Read, Seek, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use tactus_model::bytes::Bytes;
use tactus_model::cost::{Advice, CostProbe, Operation};
use tactus_model::random::SplitMix64;
use tactus_model::result::Shortfall;
use tactus_sys::file_mapping::{FileMapping, Residency, advise, leave_cache, residency};
use tactus_sys::file_ring::FileRing;
use tactus_sys::mapping::Mapping;
use tactus_sys::owned_directory::OwnedDirectory;
use tactus_sys::{Errno, SysError, direct_file, filesystem, usage};

use super::memory::PAGE;
use super::{Repeatable, Unmeasurable};

/// The prefix of the names of our directories, which exist only while a file is made.
const DIRECTORY: &str = "tactus-file-";
/// The buffer of a file in the C library, and the window of a mapped file.
const STDIO_BUFFER: usize = 4 << 10;
const WINDOW: u64 = 1 << 20;
/// What is written at a time.
const WRITTEN: usize = 1 << 20;
/// How often pages are dropped until none is left: a page that the kernel is about to add to a list
/// cannot be dropped for a moment.
const DROPS_MAX: u32 = 10;

/// A file without a name, which the kernel removes when this process ends, for whatever reason.
pub(super) struct Scratch {
    file: File,
    directory: PathBuf,
    is_in_memory: bool,
}

impl Scratch {
    /// Makes the file that `cost` reads, written to the disk.
    pub(super) fn create(cost: &CostProbe) -> Result<Self, Unmeasurable> {
        let directory = cost.file.directory.path(std::env::temp_dir());
        let no_file = |error: &std::io::Error| Unmeasurable::NoFile {
            directory: directory.clone(),
            reason: error.to_string(),
        };
        let mut file = without_name(&directory).map_err(|error| no_file(&error))?;
        let is_in_memory = filesystem::is_in_memory(&directory)?;
        // Dropped pages of such a file would be lost.
        if is_in_memory && cost.is_cold() {
            return Err(Unmeasurable::InMemory(directory));
        }
        let size = cost.file.file_size;
        fill(&mut file, size).map_err(|error| match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                Unmeasurable::DiskFull { directory: directory.clone(), size }
            }
            _ => no_file(&error),
        })?;
        Ok(Self { file, directory, is_in_memory })
    }

    /// That the file is on no disk.
    pub(super) fn shortfall(&self) -> Option<Shortfall> {
        let directory = self.directory.display();
        self.is_in_memory.then(|| Shortfall {
            asked: "a file on a disk".to_owned(),
            granted: "a file in memory (tmpfs)".to_owned(),
            reason: format!("{directory} is on a filesystem in memory"),
            fix: Some(
                "use directory = \"/var/tmp\", or set TMPDIR to a directory on a disk".to_owned(),
            ),
        })
    }
}

/// Creates a file, and removes its name and its directory at once.
fn without_name(directory: &Path) -> std::io::Result<File> {
    let owned = OwnedDirectory::create(directory, DIRECTORY)?;
    let path = owned.path().join("file");
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
    fs::remove_file(&path)?;
    Ok(file)
}

/// Writes content that no filesystem can compress.
fn fill(file: &mut File, size: Bytes) -> std::io::Result<()> {
    let mut random = SplitMix64::new(size.get());
    let mut chunk = vec![0_u8; WRITTEN];
    chunk
        .as_chunks_mut::<8>()
        .0
        .iter_mut()
        .for_each(|word| *word = random.next_u64().to_ne_bytes());
    let mut left = size.get();
    while left > 0 {
        // Differs from the others, so that no filesystem stores it once.
        chunk[..8].copy_from_slice(&left.to_ne_bytes());
        let length = left.min(WRITTEN as u64);
        file.write_all(&chunk[..length as usize])?;
        left -= length;
    }
    file.sync_all()
}

/// Sets up reads of the file.
pub(super) fn open(
    cost: &CostProbe,
    scratch: &Scratch,
) -> Result<Box<dyn Repeatable>, Unmeasurable> {
    let (size, advice) = (cost.size.get() as usize, cost.file.advice);
    let file = || scratch.file.try_clone().map_err(|error| failed("dup", &error));
    if is_direct(cost.operation) {
        leave_cache(&scratch.file)?;
        require_direct(cost, scratch)?;
    }
    match cost.operation {
        Operation::FileDirect => Reads::start(Blocks::new(file()?, size)?, cost, scratch),
        Operation::FileUringDirect => Reads::start(Queued::new(file()?, cost)?, cost, scratch),
        Operation::FileMmap => Reads::start(Mapped { file: file()?, size, advice }, cost, scratch),
        Operation::FileMappedStdio => Reads::start(Windows::new(file()?, cost), cost, scratch),
        Operation::FileStdio => {
            let buffered = BufReader::with_capacity(STDIO_BUFFER, file()?);
            let reader = Stdio { file: buffered, buffer: vec![0; size] };
            Reads::start(Advised { file: file()?, reader, advice }, cost, scratch)
        }
        Operation::FileUring => {
            let reader = Queued::new(file()?, cost)?;
            Reads::start(Advised { file: file()?, reader, advice }, cost, scratch)
        }
        Operation::FileRead => {
            let reader = Blocks::new(file()?, size)?;
            Reads::start(Advised { file: file()?, reader, advice }, cost, scratch)
        }
        Operation::FaultMajor => Reads::start(Faults::new(file()?), cost, scratch),
        other => Err(Unmeasurable::OtherFamily(other)),
    }
}

const fn is_direct(operation: Operation) -> bool {
    matches!(operation, Operation::FileDirect | Operation::FileUringDirect)
}

/// Lets all reads bypass the page cache, and tries one: some filesystems accept the flag and refuse
/// each transfer.
fn require_direct(cost: &CostProbe, scratch: &Scratch) -> Result<(), Unmeasurable> {
    let size = cost.size;
    let tried = direct_file::bypass_cache(&scratch.file).and_then(|()| {
        let mut buffer = Mapping::new(size.get() as usize)?;
        let read = scratch.file.read_at(buffer.bytes(), 0);
        read.map_err(|error| failed("read", &error))
    });
    match tried {
        Ok(_) => Ok(()),
        Err(error) if error.errno == Errno::INVAL => {
            Err(Unmeasurable::NoDirect { directory: scratch.directory.clone(), size })
        }
        Err(error) => Err(error.into()),
    }
}

fn failed(call: &'static str, error: &std::io::Error) -> SysError {
    SysError::from_io(call, error)
}

/// A way to read blocks in order.
trait Reader {
    /// Returns to the beginning of the file.
    fn begin(&mut self) -> Result<(), SysError>;

    /// Reads the block with this number, the one after the last that was read.
    fn read(&mut self, block: u64) -> Result<(), SysError>;

    /// Ends a pass, so that nothing keeps pages in the cache.
    fn end(&mut self) -> Result<(), Unmeasurable> {
        Ok(())
    }
}

/// Passes over a file.
struct Reads<R> {
    reader: R,
    blocks: u64,
    /// The block that is read next.
    next: u64,
    per_sample: u32,
    /// The file whose pages are dropped before each pass.
    cold: Option<File>,
}

/// The blocks of a pass: those of whole samples.
fn blocks(cost: &CostProbe) -> u64 {
    let per_sample = u64::from(cost.per_sample());
    let block = cost.touched().map_or(1, Bytes::get);
    cost.file.file_size.get() / (block * per_sample) * per_sample
}

impl<R: Reader + 'static> Reads<R> {
    fn start(
        reader: R,
        cost: &CostProbe,
        scratch: &Scratch,
    ) -> Result<Box<dyn Repeatable>, Unmeasurable> {
        let per_sample = cost.per_sample();
        let cold = cost.is_cold().then(|| scratch.file.try_clone()).transpose();
        let mut reads = Self {
            reader,
            blocks: blocks(cost),
            next: 0,
            per_sample,
            cold: cold.map_err(|error| failed("dup", &error))?,
        };
        match (cost.is_cold(), is_direct(cost.operation)) {
            (true, _) => reads.drop_pages()?,
            (false, true) => {}
            (false, false) => warm(&scratch.file)?,
        }
        Ok(Box::new(reads))
    }

    /// Drops all pages of the file from the page cache, and proves it.
    fn drop_pages(&mut self) -> Result<(), Unmeasurable> {
        let Some(file) = &self.cold else { return Ok(()) };
        self.reader.end()?;
        self.next = 0;
        let mut left = 0;
        for _ in 0..DROPS_MAX {
            leave_cache(file)?;
            left = residency(file)?.resident;
            if left == 0 {
                return Ok(());
            }
        }
        Err(Unmeasurable::StaysCached(left))
    }
}

/// Reads a file into the page cache, and proves that all of it is there.
fn warm(mut file: &File) -> Result<(), Unmeasurable> {
    let unread = |error: std::io::Error| failed("read", &error);
    file.rewind().map_err(unread)?;
    std::io::copy(&mut file, &mut std::io::sink()).map_err(unread)?;
    let Residency { resident, pages } = residency(file)?;
    match resident == pages {
        true => Ok(()),
        false => Err(Unmeasurable::NotCached { resident, pages }),
    }
}

impl<R: Reader + 'static> Repeatable for Reads<R> {
    fn prepare_batch(&mut self) -> Result<(), Unmeasurable> {
        // The next batch reads what is left of a pass.
        match self.left() {
            Some(0) => self.drop_pages(),
            _ => Ok(()),
        }
    }

    fn left(&self) -> Option<u64> {
        self.cold.as_ref().map(|_| (self.blocks - self.next) / u64::from(self.per_sample))
    }

    fn run(&mut self, times: u32) -> Result<(), SysError> {
        for _ in 0..times {
            if self.next == self.blocks {
                self.next = 0;
            }
            if self.next == 0 {
                self.reader.begin()?;
            }
            self.reader.read(self.next)?;
            self.next += 1;
        }
        Ok(())
    }
}

/// A reader that gives the kernel advice at the beginning of each pass.
struct Advised<R> {
    file: File,
    reader: R,
    advice: Advice,
}

impl<R: Reader> Reader for Advised<R> {
    fn begin(&mut self) -> Result<(), SysError> {
        if self.advice != Advice::None {
            advise(&self.file, self.advice)?;
        }
        self.reader.begin()
    }

    fn read(&mut self, block: u64) -> Result<(), SysError> {
        self.reader.read(block)
    }

    fn end(&mut self) -> Result<(), Unmeasurable> {
        self.reader.end()
    }
}

/// read(2) into memory that direct transfers can use.
struct Blocks {
    file: File,
    buffer: Mapping,
}

impl Blocks {
    fn new(file: File, size: usize) -> Result<Self, SysError> {
        let mut buffer = Mapping::new(size)?;
        buffer.bytes().fill(0);
        Ok(Self { file, buffer })
    }
}

impl Reader for Blocks {
    fn begin(&mut self) -> Result<(), SysError> {
        Ok(())
    }

    fn read(&mut self, block: u64) -> Result<(), SysError> {
        let buffer = self.buffer.bytes();
        let read = self.file.read_exact_at(buffer, block * buffer.len() as u64);
        read.map_err(|error| failed("pread", &error))
    }
}

/// fread(3) with the buffer of the C library: a block of less than the buffer is copied from there.
struct Stdio {
    file: BufReader<File>,
    buffer: Vec<u8>,
}

impl Reader for Stdio {
    fn begin(&mut self) -> Result<(), SysError> {
        self.file.rewind().map_err(|error| failed("lseek", &error))
    }

    fn read(&mut self, _block: u64) -> Result<(), SysError> {
        let read = self.file.read_exact(&mut self.buffer);
        black_box(&mut self.buffer);
        read.map_err(|error| failed("read", &error))
    }
}

/// A mapping for each block, which is read in words.
struct Mapped {
    file: File,
    size: usize,
    advice: Advice,
}

impl Reader for Mapped {
    fn begin(&mut self) -> Result<(), SysError> {
        Ok(())
    }

    fn read(&mut self, block: u64) -> Result<(), SysError> {
        let mapping = FileMapping::part(&self.file, block * self.size as u64, self.size)?;
        if self.advice != Advice::None {
            mapping.advise(self.advice)?;
        }
        black_box(mapping.sum());
        Ok(())
    }
}

/// A page fault for each page of a mapped file, without reading ahead.
struct Faults {
    file: File,
    mapping: Option<FileMapping>,
    /// The pages of this pass so far.
    touched: u64,
    /// The major page faults of the thread before this pass.
    before: u64,
}

impl Faults {
    const fn new(file: File) -> Self {
        Self { file, mapping: None, touched: 0, before: 0 }
    }
}

impl Reader for Faults {
    fn begin(&mut self) -> Result<(), SysError> {
        self.mapping = Some(FileMapping::new(&self.file)?);
        self.before = usage::of_this_thread()?.major_faults;
        Ok(())
    }

    fn read(&mut self, page: u64) -> Result<(), SysError> {
        let mapping = self.mapping.as_ref();
        black_box(mapping.and_then(|mapping| mapping.byte(page as usize * PAGE)));
        self.touched += 1;
        Ok(())
    }

    /// Proves that each page was read by a fault of its own. The mapping would keep pages in the cache.
    fn end(&mut self) -> Result<(), Unmeasurable> {
        self.mapping = None;
        let faults = usage::of_this_thread()?.major_faults - self.before;
        let pages = std::mem::take(&mut self.touched);
        match faults < pages {
            true => Err(Unmeasurable::ReadAhead { faults, pages }),
            false => Ok(()),
        }
    }
}

/// Blocks copied from a window of the file, which moves on when it has been read.
struct Windows {
    file: File,
    buffer: Vec<u8>,
    advice: Advice,
    /// Whole blocks.
    window: u64,
    length: u64,
    /// Where the window begins in the file.
    mapped: Option<(u64, FileMapping)>,
}

impl Windows {
    fn new(file: File, cost: &CostProbe) -> Self {
        let size = cost.size.get();
        Self {
            file,
            buffer: vec![0; size as usize],
            advice: cost.file.advice,
            window: (WINDOW / size).max(1) * size,
            length: cost.file.file_size.get(),
            mapped: None,
        }
    }

    /// The window with the bytes from `place` on, and where they are in it.
    fn window(&mut self, place: u64) -> Result<(&FileMapping, usize), SysError> {
        let start = place - place % self.window;
        let mapped = match self.mapped.take().filter(|(known, _)| *known == start) {
            Some(mapped) => mapped,
            None => {
                let length = self.window.min(self.length - start) as usize;
                let mapping = FileMapping::part(&self.file, start, length)?;
                if self.advice != Advice::None {
                    mapping.advise(self.advice)?;
                }
                (start, mapping)
            }
        };
        let (_, mapping) = self.mapped.insert(mapped);
        Ok((mapping, (place - start) as usize))
    }
}

impl Reader for Windows {
    fn begin(&mut self) -> Result<(), SysError> {
        Ok(())
    }

    fn read(&mut self, block: u64) -> Result<(), SysError> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let found = self.window(block * buffer.len() as u64);
        let copied = found.map(|(mapping, place)| mapping.copy(place, &mut buffer));
        black_box(&mut buffer);
        self.buffer = buffer;
        copied
    }

    /// Pages that are mapped cannot be dropped from the cache.
    fn end(&mut self) -> Result<(), Unmeasurable> {
        self.mapped = None;
        Ok(())
    }
}

/// io_uring(7): as many reads are on their way as its queue holds.
struct Queued {
    ring: FileRing,
    size: u64,
    blocks: u64,
    /// The block whose read begins next.
    next: u64,
}

impl Queued {
    fn new(file: File, cost: &CostProbe) -> Result<Self, SysError> {
        let ring = FileRing::new(file, cost.size.get() as usize, cost.file.queue_depth.get())?;
        Ok(Self { ring, size: cost.size.get(), blocks: blocks(cost), next: 0 })
    }
}

impl Reader for Queued {
    fn begin(&mut self) -> Result<(), SysError> {
        self.next = 0;
        Ok(())
    }

    fn read(&mut self, _block: u64) -> Result<(), SysError> {
        while self.ring.room() > 0 && self.next < self.blocks {
            self.ring.begin(self.next * self.size)?;
            self.next += 1;
        }
        match self.ring.wait()? as u64 == self.size {
            true => Ok(()),
            false => Err(SysError::new("IORING_OP_READ", Errno::NODATA)),
        }
    }
}

#[cfg(test)]
mod tests;
