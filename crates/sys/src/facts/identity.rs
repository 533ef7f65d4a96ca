//! The identity of the machine.

use tactus_model::digest::sha256;

use super::tree::Tree;

/// Where a machine's identity is: that of its installation
/// ([machine-id(5)](https://man7.org/linux/man-pages/man5/machine-id.5.html)), else that of its
/// boot ([proc_sys_kernel(5)](https://man7.org/linux/man-pages/man5/proc_sys_kernel.5.html)).
const SOURCES: [&str; 2] = ["etc/machine-id", "proc/sys/kernel/random/boot_id"];

/// Reads a digest of the machine's identity.
///
/// A program must not show the identity itself, by machine-id(5), and a digest for this purpose
/// alone cannot be compared with that of another program.
pub(super) fn read(tree: &Tree<'_>) -> Option<String> {
    let mut found = SOURCES.iter().filter_map(|source| tree.text(source));
    Some(sha256(["tactus run\n", &found.find(|id| is_identity(id))?]))
}

/// Whether a text is 128 bits in hexadecimal digits: an image that has never booted has an
/// empty identity or the word `uninitialized`.
fn is_identity(text: &str) -> bool {
    let digits = text.chars().filter(|c| *c != '-');
    digits.clone().all(|c| c.is_ascii_hexdigit()) && digits.count() == 32
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_installation_identifies_a_machine_else_its_boot() {
        let root = tempfile::tempdir().unwrap();
        let id = || read(&Tree::new(root.path()));
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        assert_eq!(id(), None);
        write(SOURCES[1], "9c3f0a0e-3c5e-4a6e-8a53-0a5b7b6d3a10\n");
        let boot = id();
        assert_eq!(boot.as_ref().map(String::len), Some(64));
        write(SOURCES[0], "uninitialized\n");
        assert_eq!(id(), boot);
        write(SOURCES[0], "0123456789abcdef0123456789abcdef\n");
        let installed = id().unwrap();
        assert_ne!(Some(&installed), boot.as_ref());
        assert!(!installed.contains("0123456789abcdef"), "the identity itself is not shown");
    }
}
