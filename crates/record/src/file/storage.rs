//! The storage of a recording's bytes.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// The bytes of a recording.
#[derive(Debug)]
pub(super) enum Storage {
    /// In a file, which is read only where needed.
    File(File),
    /// In memory.
    Memory(Vec<u8>),
}

impl Storage {
    /// The present number of bytes.
    pub(super) fn length(&self) -> io::Result<u64> {
        match self {
            Self::File(file) => Ok(file.metadata()?.len()),
            Self::Memory(bytes) => Ok(bytes.len() as u64),
        }
    }

    /// Exactly `length` bytes starting at `offset`.
    pub(super) fn read(&self, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        match self {
            Self::File(file) => {
                let mut bytes = vec![0; length];
                file.read_exact_at(&mut bytes, offset)?;
                Ok(bytes)
            }
            Self::Memory(all) => usize::try_from(offset)
                .ok()
                .and_then(|offset| all.get(offset..offset.checked_add(length)?))
                .map(<[u8]>::to_vec)
                .ok_or_else(|| io::ErrorKind::UnexpectedEof.into()),
        }
    }
}
