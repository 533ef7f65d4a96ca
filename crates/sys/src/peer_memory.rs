//! Memory between this process and one that may be hostile.
//!
//! A process that may write to the file behind shared memory can stall every other process that
//! touches it: while it punches holes, page faults of others sleep uninterruptibly. So each side
//! writes only to memory of its own, which the other one cannot take away:
//!
//! | memory | written by | the peer cannot |
//! |---|---|---|
//! | [`Sealed`] | the process that creates it | write, truncate, punch holes, collapse pages |
//! | [`Secret`] | the peer | truncate, punch holes, collapse pages |

mod attack;

use std::hint::black_box;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use rustix::fs::{MemfdFlags, Mode, OFlags, SealFlags};
use rustix::mm::{Advice, MapFlags, ProtFlags};

use crate::error::{Errno, SysError};

/// `MADV_COLLAPSE` in `include/uapi/asm-generic/mman-common.h`; `libc` lacks it for musl.
const MADV_COLLAPSE: libc::c_int = 25;

/// The size of a huge page, in bytes. Sealed memory takes whole ones.
const HUGE_PAGE: usize = 2 << 20;

/// The words of the smallest page of any machine.
const PAGE_WORDS: usize = 4096 / size_of::<AtomicU64>();

/// `SECRETMEM_MAGIC`
const SECRET_MAGIC: rustix::fs::FsWord = 0x5345_434d;

/// Words that this process writes, and a peer may read.
#[derive(Debug)]
pub struct WritableWords(Words);

/// Words that a peer writes.
#[derive(Debug)]
pub struct ReadableWords(Words);

/// A mapping of shared memory.
#[derive(Debug)]
struct Words {
    start: NonNull<AtomicU64>,
    /// The number of words in use.
    count: usize,
    /// The length of the mapping, in bytes.
    length: usize,
}

// SAFETY: the mapping belongs to the process, not to a thread, and is accessed atomically.
unsafe impl Send for Words {}
// SAFETY: as above.
unsafe impl Sync for Words {}

impl WritableWords {
    /// Maps `count` words of a file that a peer has created for this process to write.
    ///
    /// # Errors
    /// `EINVAL`: its creator could truncate it, or it is smaller. `EPERM`: it is sealed.
    pub fn map(file: impl AsFd, count: usize) -> Result<Self, SysError> {
        require_constant_size(&file, count)?;
        let words = Words::map(&file, count, ProtFlags::READ | ProtFlags::WRITE)?;
        let words = Self(words);
        words.touch();
        Ok(words)
    }

    /// The words.
    pub const fn words(&self) -> &[AtomicU64] {
        // SAFETY: `start` is a mapping of at least `count` words, page aligned, which lives as
        // long as `self` and has a constant size; any bits are a valid `AtomicU64`, and every
        // process accesses them atomically.
        unsafe { std::slice::from_raw_parts(self.0.start.as_ptr(), self.0.count) }
    }

    /// Brings in all pages, and changes none. Secret memory refuses `MADV_POPULATE_WRITE`.
    ///
    /// The optimizer removes an operation that changes nothing, e.g. `fetch_or(0)`, if its result
    /// is not used.
    fn touch(&self) {
        for page in self.words().chunks(PAGE_WORDS) {
            let (from, to) = (Ordering::Relaxed, Ordering::Relaxed);
            let _ = black_box(page[0].compare_exchange(0, 0, from, to));
        }
    }

    /// Leaves writing to the peer from now on.
    pub fn into_readable(self) -> ReadableWords {
        ReadableWords(self.0)
    }
}

impl ReadableWords {
    /// Maps `count` words of a file that a peer writes.
    ///
    /// # Errors
    /// `EINVAL`: the peer could truncate it, or it is smaller.
    pub fn map(file: impl AsFd, count: usize) -> Result<Self, SysError> {
        require_constant_size(&file, count)?;
        let words = Words::map(&file, count, ProtFlags::READ)?;
        let words = Self(words);
        for page in (0..count).step_by(PAGE_WORDS) {
            black_box(words.load(page));
        }
        Ok(words)
    }

    /// Reads a word, which the peer may change at any time. What it wrote before it
    /// [released](Ordering::Release) this word is visible afterwards.
    ///
    /// # Panics
    /// There is no word `index`.
    pub fn load(&self, index: usize) -> u64 {
        assert!(index < self.0.count, "word {index} of {}", self.0.count);
        // SAFETY: the word lies within the mapping, which lives as long as `self`. A relaxed load
        // of this size never writes, so the memory may be read-only.
        let word = unsafe { self.0.start.add(index).as_ref() }.load(Ordering::Relaxed);
        fence(Ordering::Acquire);
        word
    }

    /// Reads words in sequence, each at a time of its own, without waiting.
    ///
    /// # Panics
    /// There are fewer than `first + count` words.
    pub fn load_all(&self, first: usize, count: usize) -> impl Iterator<Item = u64> {
        let end = first.checked_add(count).filter(|end| *end <= self.0.count);
        assert!(end.is_some(), "{count} words from {first} of {}", self.0.count);
        // SAFETY: as in `load`; the range was checked.
        (first..first + count)
            .map(|index| unsafe { self.0.start.add(index).as_ref() }.load(Ordering::Relaxed))
    }
}

impl Words {
    fn map(file: impl AsFd, count: usize, access: ProtFlags) -> Result<Self, SysError> {
        let length = bytes_of(count)?;
        // SAFETY: the kernel chooses a free address range; no other memory is touched.
        let start = unsafe {
            rustix::mm::mmap(std::ptr::null_mut(), length, access, MapFlags::SHARED, file, 0)
        };
        let start = start.map_err(SysError::of("mmap"))?;
        let start = NonNull::new(start.cast()).ok_or(SysError::new("mmap", Errno::FAULT))?;
        Ok(Self { start, count, length })
    }

    /// Like [`map`](Self::map), writable, at an address that begins a huge page.
    fn map_at_huge_page(file: impl AsFd, count: usize, length: usize) -> Result<Self, SysError> {
        let reserved = length + HUGE_PAGE;
        let (access, flags) = (ProtFlags::empty(), MapFlags::PRIVATE | MapFlags::NORESERVE);
        // SAFETY: the kernel chooses a free address range; no other memory is touched.
        let hole =
            unsafe { rustix::mm::mmap_anonymous(std::ptr::null_mut(), reserved, access, flags) }
                .map_err(SysError::of("mmap"))?;
        let skipped = hole.align_offset(HUGE_PAGE).min(HUGE_PAGE);
        let start = hole.wrapping_byte_add(skipped);
        let (access, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: the range lies within the one that was just reserved, which nothing uses.
        let mapped =
            unsafe { rustix::mm::mmap(start, length, access, flags | MapFlags::FIXED, file, 0) };
        let behind = start.wrapping_byte_add(length);
        // SAFETY: both ranges are rests of the reserved one. A failure cannot be handled.
        unsafe {
            if skipped > 0 {
                let _ = rustix::mm::munmap(hole, skipped);
            }
            if skipped < HUGE_PAGE {
                let _ = rustix::mm::munmap(behind, HUGE_PAGE - skipped);
            }
        }
        let start = mapped.map_err(SysError::of("mmap"))?;
        let start = NonNull::new(start.cast()).ok_or(SysError::new("mmap", Errno::FAULT))?;
        Ok(Self { start, count, length })
    }

    fn advise(&self, advice: Advice) -> Result<(), SysError> {
        // SAFETY: the range is this mapping, and none of the advices changes the content.
        unsafe { rustix::mm::madvise(self.start.as_ptr().cast(), self.length, advice) }
            .map_err(SysError::of("madvise"))
    }

    fn collapse(&self) -> Result<(), SysError> {
        // SAFETY: the range is this mapping, and the advice does not change the content.
        let returned =
            unsafe { libc::madvise(self.start.as_ptr().cast(), self.length, MADV_COLLAPSE) };
        SysError::check("madvise", returned).map(drop)
    }

    fn lock(&self) -> Result<(), SysError> {
        // SAFETY: the range is this mapping.
        unsafe { rustix::mm::mlock(self.start.as_ptr().cast(), self.length) }
            .map_err(SysError::of("mlock"))
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        // SAFETY: the mapping has this length, and no borrow of it outlives `self`. A failure
        // cannot be handled.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.length) };
    }
}

/// Memory that only its creator writes:
/// [memfd_create(2)](https://man7.org/linux/man-pages/man2/memfd_create.2.html) with
/// `F_SEAL_FUTURE_WRITE`.
///
/// It is resident before it is used, in huge pages, so that no peer can collapse its pages, which
/// stalls those who use them.
#[doc(alias = "F_SEAL_FUTURE_WRITE")]
#[doc(alias = "MADV_COLLAPSE")]
#[derive(Debug)]
pub struct Sealed {
    /// The words, all zero.
    pub words: WritableWords,
    /// The file for peers, open for reading.
    pub file: OwnedFd,
    /// Why the memory has no huge pages, where the kernel has them: `ENOMEM` or `EAGAIN` if none
    /// is free.
    pub collapsed: Result<(), SysError>,
    /// Why the memory is not locked: `ENOMEM` or `EPERM` beyond `RLIMIT_MEMLOCK`.
    pub locked: Result<(), SysError>,
}

impl Sealed {
    /// Allocates `count` words.
    ///
    /// # Errors
    /// `EMFILE`, `ENFILE`, `ENOMEM`; `EINVAL`: the kernel is older than 5.14.
    pub fn create(count: usize) -> Result<Self, SysError> {
        let length = bytes_of(count)?.next_multiple_of(HUGE_PAGE);
        let (file, words) =
            memfd(length, SealFlags::empty(), |file| Words::map_at_huge_page(file, count, length))?;
        // A kernel without huge pages does not collapse for peers either.
        let collapsed = match words.collapse() {
            Err(error) if error.errno == Errno::INVAL => Ok(()),
            collapsed => collapsed,
        };
        let locked = words.lock();
        let named = SysError::of("fcntl");
        let seals = SealFlags::FUTURE_WRITE | SealFlags::SEAL;
        rustix::fs::fcntl_add_seals(&file, seals).map_err(named)?;
        // Peers get a file that cannot be opened for writing again.
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        let read_only = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
        let file = read_only.map_err(SysError::of("open"))?;
        let words = WritableWords(words);
        words.touch();
        Ok(Self { words, file, collapsed, locked })
    }
}

/// Memory that a peer writes and nobody takes away:
/// [memfd_secret(2)](https://man7.org/linux/man-pages/man2/memfd_secret.2.html).
///
/// Its pages are locked. No process can use a futex in it.
#[doc(alias = "memfd_secret")]
#[derive(Debug)]
pub struct Secret {
    /// The words, all zero.
    pub words: WritableWords,
    /// The file for the peer.
    pub file: OwnedFd,
    /// Why the memory is ordinary, so that a peer can take away its pages: `ENOSYS` if the kernel
    /// is older than 5.14 or secret memory is disabled, `EAGAIN` beyond `RLIMIT_MEMLOCK`.
    pub is_secret: Result<(), SysError>,
}

impl Secret {
    /// Allocates `count` words.
    ///
    /// # Errors
    /// `EMFILE`, `ENFILE`, `ENOMEM`.
    pub fn create(count: usize) -> Result<Self, SysError> {
        let length = bytes_of(count)?;
        let map = |file: &OwnedFd| Words::map(file, count, ProtFlags::READ | ProtFlags::WRITE);
        let made = secret(length, map).and_then(|(file, words)| {
            // An end of a ring maps it twice, and each mapping counts as locked memory.
            map(&file)?;
            Ok((file, words))
        });
        let ((file, words), is_secret) = match made {
            Ok(secret) => (secret, Ok(())),
            Err(reason) => (memfd(length, SealFlags::SEAL, map)?, Err(reason)),
        };
        let words = WritableWords(words);
        words.touch();
        Ok(Self { words, file, is_secret })
    }
}

/// Makes a file of secret memory, and maps it.
fn secret(
    length: usize,
    map: impl FnOnce(&OwnedFd) -> Result<Words, SysError>,
) -> Result<(OwnedFd, Words), SysError> {
    // SAFETY: memfd_secret accesses no memory.
    let file = unsafe { libc::syscall(libc::SYS_memfd_secret, libc::O_CLOEXEC as libc::c_uint) };
    let file = SysError::check("memfd_secret", file)?;
    // SAFETY: the kernel has just created this descriptor, and nothing else uses it.
    let file = unsafe { OwnedFd::from_raw_fd(file as i32) };
    rustix::fs::ftruncate(&file, length as u64).map_err(SysError::of("ftruncate"))?;
    let words = map(&file)?;
    Ok((file, words))
}

/// Makes a file of a constant size that only this user may open again, and maps it.
fn memfd(
    length: usize,
    more_seals: SealFlags,
    map: impl FnOnce(&OwnedFd) -> Result<Words, SysError>,
) -> Result<(OwnedFd, Words), SysError> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file =
        rustix::fs::memfd_create("tactus-peer", flags).map_err(SysError::of("memfd_create"))?;
    rustix::fs::fchmod(&file, Mode::RUSR).map_err(SysError::of("fchmod"))?;
    rustix::fs::ftruncate(&file, length as u64).map_err(SysError::of("ftruncate"))?;
    rustix::fs::fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | more_seals)
        .map_err(SysError::of("fcntl"))?;
    let words = map(&file)?;
    Ok((file, words))
}

/// Checks that nobody can truncate a file of at least `count` words.
fn require_constant_size(file: impl AsFd, count: usize) -> Result<(), SysError> {
    let size = rustix::fs::fstat(&file).map_err(SysError::of("fstat"))?.st_size;
    let is_secret = || rustix::fs::fstatfs(&file).is_ok_and(|fs| fs.f_type == SECRET_MAGIC);
    let is_sealed =
        rustix::fs::fcntl_get_seals(&file).is_ok_and(|seals| seals.contains(SealFlags::SHRINK));
    if size.cast_unsigned() < bytes_of(count)? as u64 || !(is_sealed || is_secret()) {
        return Err(SysError::new("mmap", Errno::INVAL));
    }
    Ok(())
}

fn bytes_of(count: usize) -> Result<usize, SysError> {
    count
        .checked_mul(size_of::<AtomicU64>())
        .filter(|bytes| (1..1 << 40).contains(bytes))
        .ok_or(SysError::new("mmap", Errno::INVAL))
}

#[cfg(test)]
mod tests {
    use rustix::fs::{FallocateFlags, fallocate};

    use super::*;

    fn writable(file: &OwnedFd) -> Result<WritableWords, SysError> {
        WritableWords::map(file, 1)
    }

    fn punch(file: &OwnedFd) -> Result<(), Errno> {
        fallocate(file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, 0, 4096)
    }

    #[test]
    fn sealed_memory_is_read_by_the_peer_and_nothing_else() {
        let sealed = Sealed::create(1000).unwrap();
        let peer = ReadableWords::map(&sealed.file, 1000).unwrap();
        sealed.words.words()[999].store(7, Ordering::Release);
        assert_eq!((peer.load(999), peer.load(0)), (7, 0));
        assert!(writable(&sealed.file).is_err());
        assert!(punch(&sealed.file).is_err());
        assert!(rustix::fs::ftruncate(&sealed.file, 0).is_err());
        assert_eq!(peer.load(999), 7);
    }

    #[test]
    fn secret_memory_is_written_by_the_peer_and_stays() {
        let secret = Secret::create(600).unwrap();
        if let Err(error) = secret.is_secret {
            return tactus_testing::skip(tactus_testing::Need::Machine, error);
        }
        let peer = WritableWords::map(&secret.file, 600).unwrap();
        peer.words()[599].store(7, Ordering::Release);
        assert!(punch(&secret.file).is_err());
        assert!(rustix::fs::ftruncate(&secret.file, 0).is_err());
        assert!(peer.attempt_removal().is_err());
        assert_eq!(secret.words.into_readable().load(599), 7);
    }

    /// How much of a mapping has page table entries, in bytes.
    fn resident(words: &Words) -> usize {
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let start = format!("{:x}-", words.start.as_ptr() as usize);
        let mut lines = maps.lines().skip_while(|line| !line.starts_with(&start));
        let line = lines.find_map(|line| line.strip_prefix("Rss:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
    }

    /// Holds in optimized builds too, where it failed once.
    #[test]
    fn all_memory_is_resident_before_it_is_used() {
        const COUNT: usize = 100 * PAGE_WORDS;
        let bytes = COUNT * size_of::<AtomicU64>();
        let sealed = Sealed::create(COUNT).unwrap();
        let reader = ReadableWords::map(&sealed.file, COUNT).unwrap();
        let secret = Secret::create(COUNT).unwrap();
        let writer = WritableWords::map(&secret.file, COUNT).unwrap();
        for words in [&sealed.words.0, &reader.0, &secret.words.0, &writer.0] {
            assert!(resident(words) >= bytes, "{} of {bytes}", resident(words));
        }
    }

    #[test]
    fn memory_that_a_peer_could_truncate_is_refused() {
        let file = rustix::fs::memfd_create("test", MemfdFlags::CLOEXEC).unwrap();
        rustix::fs::ftruncate(&file, 4096).unwrap();
        assert!(ReadableWords::map(&file, 1).is_err());
        let sealed = Sealed::create(1).unwrap();
        assert!(ReadableWords::map(&sealed.file, 1 << 40).is_err(), "smaller");
        assert!(Sealed::create(0).is_err() && Sealed::create(usize::MAX).is_err());
    }
}
