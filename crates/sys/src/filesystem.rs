//! The kind of filesystem of a directory.

use std::path::Path;

use crate::error::SysError;

/// The numbers of tmpfs and ramfs in linux/magic.h.
const IN_MEMORY: [u32; 2] = [0x0102_1994, 0x8584_58f6];

/// Whether the files of a directory are in memory and not on a disk:
/// [statfs(2)](https://man7.org/linux/man-pages/man2/statfs.2.html).
#[doc(alias = "statfs")]
pub fn is_in_memory(directory: &Path) -> Result<bool, SysError> {
    let kind = rustix::fs::statfs(directory).map_err(SysError::of("statfs"))?.f_type;
    // The type of the field depends on the architecture; the numbers have 32 bits.
    Ok(IN_MEMORY.contains(&(kind as u32)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proc_is_not_in_memory_and_a_missing_directory_is_an_error() {
        assert_eq!(is_in_memory(Path::new("/proc")), Ok(false));
        assert!(is_in_memory(Path::new("/no/such/directory")).is_err());
    }
}
