//! Floating-point numbers that survive JSON to the last bit.
//!
//! `serde_json` prints a number so that it can be read exactly, but reads some numbers one unit in
//! the last place off (its feature `float_roundtrip` changes that, for all programs of a build). A
//! merged run has the same bytes as that of one machine only if numbers are exact, so a result
//! file has their bits too.

use serde_json::{Number, Value};

/// The bits of all floating-point numbers of `value`, in the order of its text.
pub(crate) fn bits(value: &Value) -> Vec<u64> {
    let mut found = Vec::new();
    collect(value, &mut found);
    found
}

fn collect(value: &Value, found: &mut Vec<u64>) {
    match value {
        Value::Number(number) if number.is_f64() => {
            found.extend(number.as_f64().map(f64::to_bits));
        }
        Value::Array(values) => values.iter().for_each(|value| collect(value, found)),
        Value::Object(entries) => entries.values().for_each(|value| collect(value, found)),
        _ => {}
    }
}

/// Replaces all floating-point numbers of `value` by those of `bits`; false if their number differs,
/// or one of them is not close to what it replaces.
pub(crate) fn restore(value: &mut Value, bits: &[u64]) -> bool {
    let mut rest = bits.iter().copied();
    replace(value, &mut rest) && rest.next().is_none()
}

fn replace(value: &mut Value, bits: &mut impl Iterator<Item = u64>) -> bool {
    match value {
        Value::Number(number) if number.is_f64() => {
            let exact = bits.next().map(f64::from_bits);
            let near = |exact: &f64| {
                let read = number.as_f64().unwrap_or(f64::NAN);
                (exact - read).abs() <= 4.0 * f64::EPSILON * read.abs()
            };
            match exact.filter(near).and_then(Number::from_f64) {
                Some(exact) => {
                    *number = exact;
                    true
                }
                None => false,
            }
        }
        Value::Array(values) => values.iter_mut().all(|value| replace(value, bits)),
        Value::Object(entries) => entries.values_mut().all(|value| replace(value, bits)),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use tactus_model::random::SplitMix64;

    use super::*;

    #[test]
    fn numbers_have_the_same_bits_after_text() {
        let mut random = SplitMix64::new(7);
        let numbers: Vec<f64> = (0..10_000)
            .map(|_| random.next_u64() as f64 / (1 + random.below(1 << 40)) as f64)
            .collect();
        let value = serde_json::json!({ "b": numbers, "a": { "x": 1, "y": [0.1, -2.5] } });
        let bits = bits(&value);
        let mut read: Value = serde_json::from_str(&value.to_string()).unwrap();
        assert!(restore(&mut read, &bits));
        assert_eq!(read, value);
    }

    #[test]
    fn other_numbers_are_refused() {
        let value = serde_json::json!([0.5, 1, 0.25]);
        let bits = bits(&value);
        assert_eq!(bits.len(), 2);
        for wrong in [&bits[..1], &[bits[0], bits[1], 0], &[bits[0], 3.0_f64.to_bits()]] {
            assert!(!restore(&mut value.clone(), wrong), "{wrong:?}");
        }
    }
}
