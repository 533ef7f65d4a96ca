//! The header of a kernel's file, after the kernel's `Documentation/arch/x86/boot.rst`.

/// Where the mark of the header stands, and the mark.
const MARK: (usize, &[u8]) = (0x202, b"HdrS");
/// Where the place of the version's text is told, counted from the second sector on.
const VERSION_PLACE: usize = 0x20e;
const SECTOR: usize = 0x200;

/// Whether a file is a kernel that x86 CPUs boot (a bzImage).
pub(super) fn is_kernel(image: &[u8]) -> bool {
    let (place, mark) = MARK;
    image.get(place..).is_some_and(|rest| rest.starts_with(mark))
}

/// The release of the kernel in a file, where its header tells it.
pub(super) fn release(image: &[u8]) -> Option<String> {
    let place = image.get(VERSION_PLACE..VERSION_PLACE + 2)?;
    let place = SECTOR + usize::from(u16::from_le_bytes([place[0], place[1]]));
    let text = image.get(place..)?;
    let text = &text[..text.iter().position(|&byte| byte == 0)?];
    let release = std::str::from_utf8(text).ok()?.split_whitespace().next()?;
    Some(release.to_owned())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A file that has nothing of a kernel but its header.
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
    fn what_is_cut_off_is_no_kernel_or_has_no_release() {
        assert!(!is_kernel(b"\x7fELF"));
        assert_eq!(release(&image("6.1")[..0x602]), None);
        assert_eq!(release(&[]), None);
    }
}
