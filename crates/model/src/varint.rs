//! Variable-length integers: LEB128.
//!
//! Seven bits per byte, the lowest first; the highest bit of a byte marks that more bytes
//! follow (DWARF 5, section 7.6). Signed numbers use the zigzag form (0, −1, 1, −2, …), so that
//! small numbers of either sign stay short.

/// Why bytes are not a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadVarint {
    /// The bytes end within the number.
    #[error("it ends too early")]
    Short,
    /// The number has more than ten bytes.
    #[error("an integer is too long")]
    Long,
}

/// Appends `value`.
#[inline]
pub fn write_unsigned(bytes: &mut Vec<u8>, value: u64) {
    let mut rest = value;
    while rest >= 0x80 {
        bytes.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
}

/// Removes a number from the front of `bytes`.
#[inline]
pub fn read_unsigned(bytes: &mut &[u8]) -> Result<u64, BadVarint> {
    // Most numbers are small, and recordings contain many millions of them.
    if let Some((&byte, rest)) = bytes.split_first()
        && byte < 0x80
    {
        *bytes = rest;
        return Ok(u64::from(byte));
    }
    read_longer(bytes)
}

fn read_longer(bytes: &mut &[u8]) -> Result<u64, BadVarint> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first().ok_or(BadVarint::Short)?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(BadVarint::Long)
}

/// Appends `value` in zigzag form.
#[inline]
pub fn write_signed(bytes: &mut Vec<u8>, value: i64) {
    write_unsigned(bytes, ((value << 1) ^ (value >> 63)) as u64);
}

/// Removes a number in zigzag form from the front of `bytes`.
#[inline]
pub fn read_signed(bytes: &mut &[u8]) -> Result<i64, BadVarint> {
    let zigzag = read_unsigned(bytes)?;
    Ok((zigzag >> 1) as i64 ^ -((zigzag & 1) as i64))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_round_trip(unsigned in any::<u64>(), signed in any::<i64>()) {
            let mut bytes = Vec::new();
            write_unsigned(&mut bytes, unsigned);
            write_signed(&mut bytes, signed);
            let mut rest = bytes.as_slice();
            prop_assert_eq!(read_unsigned(&mut rest), Ok(unsigned));
            prop_assert_eq!(read_signed(&mut rest), Ok(signed));
            prop_assert!(rest.is_empty());
        }
    }

    #[test]
    fn truncated_or_endless_numbers_are_rejected() {
        assert_eq!(read_unsigned(&mut &[0x80_u8][..]), Err(BadVarint::Short));
        assert_eq!(read_unsigned(&mut &[0x80_u8; 11][..]), Err(BadVarint::Long));
    }
}
