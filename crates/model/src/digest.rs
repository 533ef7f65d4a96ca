//! The digest that identifies kernels, programs, and the output of guests.

use std::io::{self, Read};

use base64::{Engine, prelude::BASE64_STANDARD};
use sha2::{Digest, Sha256};

/// The SHA-256 digest of `parts`, one after another, in lower-case hexadecimal digits: what
/// `sha256sum` prints for them.
pub fn sha256<P: AsRef<[u8]>>(parts: impl IntoIterator<Item = P>) -> String {
    let mut digest = Sha256::new();
    parts.into_iter().for_each(|part| digest.update(part));
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The [`sha256`] of all that `reader` returns.
///
/// # Errors
/// Those of the reader.
pub fn sha256_of(mut reader: impl Read) -> io::Result<String> {
    let mut failure = None;
    let digest = sha256(std::iter::from_fn(|| {
        let mut part = vec![0; 1 << 16];
        let read = reader.read(&mut part).unwrap_or_else(|error| {
            failure = Some(error);
            0
        });
        part.truncate(read);
        (read > 0).then_some(part)
    }));
    failure.map_or(Ok(digest), Err)
}

/// The hash by which a content security policy names an inline script or style:
/// `'sha256-…'` ([CSP 3, hash-source](https://www.w3.org/TR/CSP3/#grammardef-hash-source)).
pub fn policy_hash(content: &str) -> String {
    format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(content)))
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
        assert_eq!(sha256_of("a\nb\n".as_bytes()).unwrap(), expected);
        // From `printf 'alert(1)' | openssl dgst -sha256 -binary | base64`.
        let expected = "'sha256-bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI='";
        assert_eq!(policy_hash("alert(1)"), expected);
    }
}
