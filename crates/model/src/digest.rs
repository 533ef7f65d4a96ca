//! The digest that identifies kernels, programs, and the output of guests.

use sha2::{Digest, Sha256};

/// The SHA-256 digest of `parts`, one after another, in lower-case hexadecimal digits: what
/// `sha256sum` prints for them.
pub fn sha256<P: AsRef<[u8]>>(parts: impl IntoIterator<Item = P>) -> String {
    let mut digest = Sha256::new();
    parts.into_iter().for_each(|part| digest.update(part));
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_equals_sha256sum_for_any_division_of_the_bytes() {
        // From `printf 'a\nb\n' | sha256sum`.
        let expected = "911169ddaaf146aff539f58c26c489af3b892dff0fe283c1c264c65ae5aa59a2";
        assert_eq!(sha256(["a\nb\n"]), expected);
        assert_eq!(sha256(["a", "\n", "b\n", ""]), expected);
    }
}
