//! The header of a kernel's file (the kernel's `Documentation/arch/x86/boot.rst`).

/// The offset of the header's magic number, and the magic number.
const MAGIC: (usize, &[u8]) = (0x202, b"HdrS");
/// The offset of the pointer to the version's text, which counts from the second sector.
const VERSION_POINTER: usize = 0x20e;
const SECTOR: usize = 0x200;

/// Whether a file is a kernel for x86 CPUs (a bzImage).
pub(super) fn is_kernel(image: &[u8]) -> bool {
    let (offset, magic) = MAGIC;
    image.get(offset..).is_some_and(|rest| rest.starts_with(magic))
}

/// The release of the kernel in a file, if its header has one.
pub(super) fn release(image: &[u8]) -> Option<String> {
    let pointer = image.get(VERSION_POINTER..VERSION_POINTER + 2)?;
    let offset = SECTOR + usize::from(u16::from_le_bytes([pointer[0], pointer[1]]));
    let text = image.get(offset..)?;
    let text = &text[..text.iter().position(|&byte| byte == 0)?];
    let release = std::str::from_utf8(text).ok()?.split_whitespace().next()?;
    Some(release.to_owned())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A file that contains only the header of a kernel.
    pub(crate) fn image(version: &str) -> Vec<u8> {
        let mut image = vec![0; 0x800];
        image[0x202..0x206].copy_from_slice(b"HdrS");
        image[0x20e..0x210].copy_from_slice(&0x400_u16.to_le_bytes());
        image[0x600..0x600 + version.len()].copy_from_slice(version.as_bytes());
        image
    }

    #[test]
    fn the_release_is_read_from_the_header() {
        let image = image("6.1.0-56-rt-amd64 (debian-kernel@lists.debian.org) #1 SMP");
        assert!(is_kernel(&image));
        assert_eq!(release(&image).as_deref(), Some("6.1.0-56-rt-amd64"));
    }

    #[test]
    fn a_truncated_file_is_not_a_kernel_or_has_no_release() {
        assert!(!is_kernel(b"\x7fELF"));
        assert_eq!(release(&image("6.1")[..0x602]), None);
        assert_eq!(release(&[]), None);
    }
}
