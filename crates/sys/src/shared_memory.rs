//! Memory shared between processes, as words with atomic access.

use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64};

use rustix::fs::{MemfdFlags, SealFlags};
use rustix::io::FdFlags;
use rustix::mm::{MapFlags, ProtFlags};

use crate::error::{Errno, SysError};

/// Words in anonymous memory that is shared with the processes that inherit its file
/// descriptor:
/// [memfd_create(2)](https://man7.org/linux/man-pages/man2/memfd_create.2.html).
///
/// The size is sealed, so no process can truncate memory that another one uses. The
/// memory is freed when the last process that maps it ends.
#[doc(alias = "memfd_create")]
#[derive(Debug)]
pub struct SharedWords {
    file: OwnedFd,
    start: NonNull<AtomicU64>,
    count: usize,
}

/// Creates an empty file in memory, which no path names and which ends with its last descriptor:
/// [memfd_create(2)](https://man7.org/linux/man-pages/man2/memfd_create.2.html). It is closed on exec.
///
/// # Errors
/// `ENOMEM`, `EMFILE`, `ENFILE`.
pub fn file() -> Result<File, SysError> {
    rustix::fs::memfd_create("tactus-file", MemfdFlags::CLOEXEC)
        .map(File::from)
        .map_err(SysError::of("memfd_create"))
}

// SAFETY: the mapping belongs to the process, not to a thread, and its content is
// accessed only through `AtomicU64`, which any thread may access.
unsafe impl Send for SharedWords {}
// SAFETY: as above.
unsafe impl Sync for SharedWords {}

impl SharedWords {
    /// Allocates memory for `count` words, all zero. The file descriptor is closed on
    /// exec.
    pub fn create(count: usize) -> Result<Self, SysError> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = rustix::fs::memfd_create("tactus-shared", flags)
            .map_err(SysError::of("memfd_create"))?;
        let bytes = bytes_of(count)?;
        rustix::fs::ftruncate(&file, bytes as u64).map_err(SysError::of("ftruncate"))?;
        rustix::fs::fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW)
            .map_err(SysError::of("fcntl"))?;
        Self::map(file, count)
    }

    /// Takes over the memory that the parent process created as `file` and passed on.
    ///
    /// # Errors
    /// `EBADF`, `EINVAL`: `file` is not shared memory of `count` words.
    pub fn inherit(file: RawFd, count: usize) -> Result<Self, SysError> {
        if file <= libc::STDERR_FILENO {
            return Err(SysError::new("memfd_create", Errno::BADF));
        }
        // SAFETY: fcntl only returns whether the number is an open file.
        SysError::check("fcntl", unsafe { libc::fcntl(file, libc::F_GETFD) })?;
        // SAFETY: the file is open, and by the contract between parent and child the
        // number was left to this process for this purpose only.
        let file = unsafe { OwnedFd::from_raw_fd(file) };
        let seals = rustix::fs::fcntl_get_seals(&file).map_err(SysError::of("fcntl"))?;
        let size = rustix::fs::fstat(&file).map_err(SysError::of("fstat"))?.st_size;
        if !seals.contains(SealFlags::SHRINK) || size as u64 != bytes_of(count)? as u64 {
            return Err(SysError::new("fcntl", Errno::INVAL));
        }
        Self::map(file, count)
    }

    fn map(file: OwnedFd, count: usize) -> Result<Self, SysError> {
        // SAFETY: the kernel chooses a free address range; no other memory is touched.
        let start = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                bytes_of(count)?,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                &file,
                0,
            )
        }
        .map_err(SysError::of("mmap"))?;
        let start = NonNull::new(start.cast()).ok_or(SysError::new("mmap", Errno::FAULT))?;
        Ok(Self { file, start, count })
    }

    /// The words.
    pub fn words(&self) -> &[AtomicU64] {
        // SAFETY: `start` is a mapping of `count` words (page aligned, so word
        // aligned), which lives as long as `self` and cannot be truncated; any bits are
        // a valid `AtomicU64`, and every process accesses them atomically.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.count) }
    }

    /// The halves of the words, as futex(2) needs them; for memory that is not used as
    /// [words](Self::words) too.
    pub fn halves(&self) -> &[AtomicU32] {
        // SAFETY: as in `words`; an `AtomicU64` has the size of two `AtomicU32`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().cast(), self.count * 2) }
    }

    /// The number by which children find the memory, once it is inheritable.
    pub fn file(&self) -> RawFd {
        self.file.as_raw_fd()
    }

    /// Another descriptor of the memory, to send to another process.
    ///
    /// # Errors
    /// `EMFILE`: the process has too many files open.
    pub fn another_file(&self) -> Result<OwnedFd, SysError> {
        rustix::io::fcntl_dupfd_cloexec(&self.file, 0).map_err(SysError::of("fcntl"))
    }

    /// Sets whether programs that children execute inherit the open file:
    /// `FD_CLOEXEC` of [fcntl(2)](https://man7.org/linux/man-pages/man2/F_GETFD.2const.html).
    #[doc(alias = "FD_CLOEXEC")]
    pub fn set_inheritable(&self, inheritable: bool) -> Result<(), SysError> {
        let flags = if inheritable { FdFlags::empty() } else { FdFlags::CLOEXEC };
        rustix::io::fcntl_setfd(&self.file, flags).map_err(SysError::of("fcntl"))
    }
}

impl Drop for SharedWords {
    fn drop(&mut self) {
        // SAFETY: the mapping was made in `map`, has this size, and no borrow of it
        // outlives `self`. A failure cannot be handled.
        let _ = unsafe {
            rustix::mm::munmap(self.start.as_ptr().cast(), self.count * size_of::<AtomicU64>())
        };
    }
}

/// Bytes that one process writes, and others read at their own risk: an X server that draws from
/// them. The size is sealed, so that nobody truncates what others use.
#[doc(alias = "memfd_create")]
#[derive(Debug)]
pub struct SharedBytes {
    file: OwnedFd,
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: the mapping belongs to the process, not to a thread, and only this value accesses it.
unsafe impl Send for SharedBytes {}

/// Creates memory of `length` bytes, all zero, for [`SharedBytes::open`] of another process. Its size
/// is sealed, and the file descriptor is closed on exec.
///
/// # Errors
/// `ENOMEM`, `EMFILE`.
pub fn sized_file(length: usize) -> Result<OwnedFd, SysError> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file =
        rustix::fs::memfd_create("tactus-shared", flags).map_err(SysError::of("memfd_create"))?;
    rustix::fs::ftruncate(&file, length as u64).map_err(SysError::of("ftruncate"))?;
    let seals = SealFlags::SHRINK | SealFlags::GROW;
    rustix::fs::fcntl_add_seals(&file, seals).map_err(SysError::of("fcntl"))?;
    Ok(file)
}

impl SharedBytes {
    /// Allocates `length` bytes, all zero, to which nobody else can write
    /// ([`F_SEAL_FUTURE_WRITE`](https://man7.org/linux/man-pages/man2/F_GET_SEALS.2const.html)). The
    /// file descriptor is closed on exec.
    ///
    /// # Errors
    /// `ENOMEM`, `EMFILE`; `EINVAL` for a length of zero, and on kernels before 5.1.
    pub fn create(length: usize) -> Result<Self, SysError> {
        let bytes = Self::map(sized_file(length)?, length)?;
        let seals = SealFlags::FUTURE_WRITE;
        rustix::fs::fcntl_add_seals(&bytes.file, seals).map_err(SysError::of("fcntl"))?;
        Ok(bytes)
    }

    /// Maps `length` bytes that another process has made by [`sized_file`] and passed on. It must not
    /// write to them: they are this process's to write.
    ///
    /// # Errors
    /// `EINVAL`: the file has another size, or one that can change; `ENOMEM`.
    pub fn open(file: OwnedFd, length: usize) -> Result<Self, SysError> {
        let seals = rustix::fs::fcntl_get_seals(&file).map_err(SysError::of("fcntl"))?;
        let size = rustix::fs::fstat(&file).map_err(SysError::of("fstat"))?.st_size;
        if !seals.contains(SealFlags::SHRINK) || size as u64 != length as u64 {
            return Err(SysError::new("fcntl", Errno::INVAL));
        }
        Self::map(file, length)
    }

    fn map(file: OwnedFd, length: usize) -> Result<Self, SysError> {
        let (protection, shared) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: the kernel chooses a free address range; no other memory is touched.
        let start =
            unsafe { rustix::mm::mmap(std::ptr::null_mut(), length, protection, shared, &file, 0) };
        let start = start.map_err(SysError::of("mmap"))?;
        let start = NonNull::new(start.cast()).ok_or(SysError::new("mmap", Errno::FAULT))?;
        Ok(Self { file, start, length })
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the mapping has this length, lives as long as `self`, and cannot be truncated;
        // nobody else writes to it.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }

    /// The bytes, to write.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above; `self` is borrowed exclusively, so no other slice of them exists.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }

    /// Another descriptor of the memory, to send to a process that reads it.
    ///
    /// # Errors
    /// `EMFILE`: the process has too many files open.
    pub fn another_file(&self) -> Result<OwnedFd, SysError> {
        rustix::io::fcntl_dupfd_cloexec(&self.file, 0).map_err(SysError::of("fcntl"))
    }
}

impl Drop for SharedBytes {
    fn drop(&mut self) {
        // SAFETY: the mapping was made in `map`, has this length, and no borrow of it outlives
        // `self`. A failure cannot be handled.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.length) };
    }
}

fn bytes_of(count: usize) -> Result<usize, SysError> {
    count.checked_mul(size_of::<AtomicU64>()).ok_or(SysError::new("mmap", Errno::NOMEM))
}

#[cfg(test)]
mod tests {
    use std::os::fd::IntoRawFd;
    use std::sync::atomic::Ordering;

    use super::*;

    #[test]
    fn an_inheriting_process_sees_the_same_words() {
        let ours = SharedWords::create(8).unwrap();
        let theirs = ours.file.try_clone().unwrap().into_raw_fd();
        let theirs = SharedWords::inherit(theirs, 8).unwrap();
        theirs.words()[7].store(5, Ordering::Relaxed);
        assert_eq!(ours.words()[7].load(Ordering::Relaxed), 5);
    }

    #[test]
    fn only_their_owner_writes_shared_bytes() {
        let mut ours = SharedBytes::create(5000).unwrap();
        ours.bytes_mut()[4999] = 7;
        let theirs = File::from(ours.another_file().unwrap());
        let mut read = [0];
        rustix::io::pread(&theirs, &mut read, 4999).unwrap();
        assert_eq!((read, ours.bytes()[4999]), ([7], 7));
        assert_eq!(rustix::io::pwrite(&theirs, &[8], 4999), Err(Errno::PERM));
    }

    #[test]
    fn shared_bytes_of_another_process_have_the_size_that_was_agreed() {
        let file = sized_file(5000).unwrap();
        let again = || file.try_clone().unwrap();
        let mut ours = SharedBytes::open(again(), 5000).unwrap();
        ours.bytes_mut()[4999] = 7;
        let mut read = [0];
        rustix::io::pread(&file, &mut read, 4999).unwrap();
        assert_eq!(read, [7]);
        assert_eq!(rustix::fs::ftruncate(&file, 1), Err(Errno::PERM));
        assert!(SharedBytes::open(again(), 4999).is_err(), "another size");
        let changing = super::file().unwrap();
        changing.set_len(5000).unwrap();
        assert!(SharedBytes::open(changing.into(), 5000).is_err(), "a size that can change");
    }

    #[test]
    fn other_files_are_refused() {
        let ours = SharedWords::create(8).unwrap();
        let copy = || ours.file.try_clone().unwrap().into_raw_fd();
        assert!(SharedWords::inherit(copy(), 9).is_err(), "another size");
        assert!(SharedWords::inherit(-1, 8).is_err());
        assert!(SharedWords::inherit(0, 8).is_err(), "a standard stream");
        assert!(SharedWords::inherit(9_999_999, 8).is_err(), "not open");
    }
}
