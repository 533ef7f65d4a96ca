//! The headers of kernels' files: the kernel's `Documentation/arch/x86/boot.rst` and
//! `Documentation/arch/arm64/booting.rst`.

use tactus_model::kernel::Architecture;

/// The offset of an x86 header's magic number, and the magic number.
const X86: (usize, &[u8]) = (0x202, b"HdrS");
/// The offset of the pointer to the version's text, which counts from the second sector.
const VERSION_POINTER: usize = 0x20e;
const SECTOR: usize = 0x200;
/// The offset of an arm64 header's magic number, and the magic number.
const ARM64: (usize, &[u8]) = (0x38, b"ARM\x64");
/// What precedes the release in an arm64 kernel, which is not compressed: the kernel's banner.
const BANNER: &[u8] = b"Linux version ";

/// The architecture of the kernel in a file: amd64 for a bzImage, arm64 for an Image.
pub(super) fn architecture(image: &[u8]) -> Option<Architecture> {
    let has = |(offset, magic): (usize, &[u8])| {
        image.get(offset..).is_some_and(|rest| rest.starts_with(magic))
    };
    match () {
        () if has(X86) => Some(Architecture::Amd64),
        () if has(ARM64) => Some(Architecture::Arm64),
        () => None,
    }
}

/// The release of the kernel in a file, if it contains one.
pub(super) fn release(image: &[u8]) -> Option<String> {
    let text = match architecture(image)? {
        Architecture::Amd64 => x86_version(image)?,
        // The bytes of the format come first; the banner follows with the release in its place.
        Architecture::Arm64 => banners(image).find(|text| !text.starts_with(b"%"))?,
    };
    let text = &text[..text.iter().position(|byte| [0, b' '].contains(byte))?];
    let release = std::str::from_utf8(text).ok()?;
    (!release.is_empty()).then(|| release.to_owned())
}

fn x86_version(image: &[u8]) -> Option<&[u8]> {
    let pointer = image.get(VERSION_POINTER..VERSION_POINTER + 2)?;
    let text = image.get(SECTOR + usize::from(u16::from_le_bytes([pointer[0], pointer[1]]))..)?;
    // Without its end it is not a text.
    text.contains(&0).then_some(text)
}

/// What follows each banner in an image.
fn banners(image: &[u8]) -> impl Iterator<Item = &[u8]> {
    let starts = image.windows(BANNER.len()).enumerate().filter(|(_, window)| *window == BANNER);
    starts.map(|(start, _)| &image[start + BANNER.len()..])
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A file that contains only the header of an x86 kernel.
    pub(crate) fn image(version: &str) -> Vec<u8> {
        let mut image = vec![0; 0x800];
        image[0x202..0x206].copy_from_slice(b"HdrS");
        image[0x20e..0x210].copy_from_slice(&0x400_u16.to_le_bytes());
        image[0x600..0x600 + version.len()].copy_from_slice(version.as_bytes());
        image
    }

    /// A file that contains only the header and the banner of an arm64 kernel.
    pub(crate) fn arm64_image(version: &str) -> Vec<u8> {
        let mut image = vec![0; 0x40];
        image[0x38..0x3c].copy_from_slice(b"ARMd");
        image.extend_from_slice(b"Linux version %s (%s)\0");
        image.extend_from_slice(format!("Linux version {version}\0").as_bytes());
        image
    }

    #[test]
    fn the_release_is_read_from_the_file() {
        let version = "6.1.0-56-rt-amd64 (debian-kernel@lists.debian.org) #1 SMP";
        for (image, expected) in
            [(image(version), Architecture::Amd64), (arm64_image(version), Architecture::Arm64)]
        {
            assert_eq!(architecture(&image), Some(expected));
            assert_eq!(release(&image).as_deref(), Some("6.1.0-56-rt-amd64"));
        }
    }

    #[test]
    fn a_truncated_file_is_not_a_kernel_or_has_no_release() {
        assert_eq!(architecture(b"\x7fELF"), None);
        assert_eq!(release(&image("6.1")[..0x602]), None);
        assert_eq!(release(&arm64_image("6.1 #1")[..0x60]), None);
        assert_eq!(release(&[]), None);
    }
}
