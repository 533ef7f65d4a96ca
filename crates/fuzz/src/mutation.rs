//! Small changes to inputs that keep most of their form.

use serde_json::Value;
use tactus_model::random::SplitMix64;

/// The maximum size of an input in bytes, to keep each fast.
const LONGEST: usize = 1 << 17;

/// The maximum number of changes to an input.
const MOST_CHANGES: u64 = 6;

/// Numbers at the limits of integer types.
const NUMBERS: [u64; 16] = [
    0,
    1,
    2,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0xffff,
    0x0100_0000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    1 << 53,
    i64::MAX as u64,
    i64::MIN as u64,
    u64::MAX,
];

/// The same for texts, with some that are not integers.
const WRITTEN: [&str; 16] = [
    "0",
    "1",
    "-1",
    "255",
    "65536",
    "2147483648",
    "4294967295",
    "9007199254740993",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "340282366920938463463374607431768211456",
    "0.0000000001",
    "1e308",
    "-1e-308",
    "1e19",
];

/// Makes an input from `seeds`: one of them with some changes.
pub fn mutated(seeds: &[Vec<u8>], random: &mut SplitMix64) -> Vec<u8> {
    let Some(seed) = pick(seeds, random) else { return Vec::new() };
    let mut bytes = seed.clone();
    let changes = 1 + random.below(MOST_CHANGES);
    if random.below(2) == 0
        && let Ok(mut document) = serde_json::from_slice::<Value>(&bytes)
    {
        for _ in 0..changes {
            change_value(&mut document, random);
        }
        return document.to_string().into_bytes();
    }
    for _ in 0..changes {
        change_bytes(&mut bytes, seeds, random);
    }
    bytes.truncate(LONGEST);
    bytes
}

fn pick<'t, T>(items: &'t [T], random: &mut SplitMix64) -> Option<&'t T> {
    items.get(random.below(items.len() as u64) as usize)
}

/// A length below two to the power of `most`; every order of magnitude is equally likely.
fn length(most: u64, random: &mut SplitMix64) -> usize {
    let limit = 1 << random.below(most + 1);
    random.below(limit) as usize
}

/// Makes a change to bytes, without regard to their meaning.
fn change_bytes(bytes: &mut Vec<u8>, seeds: &[Vec<u8>], random: &mut SplitMix64) {
    let place = random.below(bytes.len() as u64 + 1) as usize;
    let end = place + length(8, random).min(bytes.len() - place);
    let number = NUMBERS[random.below(NUMBERS.len() as u64) as usize];
    match random.below(11) {
        0 => bytes[place.saturating_sub(1)..end.max(place)]
            .iter_mut()
            .take(1)
            .for_each(|byte| *byte ^= 1 << random.below(8)),
        1 => bytes[place..end].iter_mut().take(1).for_each(|byte| *byte = number as u8),
        2 => bytes[place..end].fill(random.next_u64() as u8),
        3 => drop(bytes.drain(place..end)),
        4 => {
            let part = bytes[place..end].to_vec();
            bytes.splice(place..place, part);
        }
        5 => {
            let count = end - place;
            let from = random.below((bytes.len() - count) as u64 + 1) as usize;
            bytes.copy_within(from..from + count, place);
        }
        6 => {
            // A number of 1, 2, 4 or 8 bytes, in native byte order.
            let word = number.to_ne_bytes();
            let size = 1 << random.below(4);
            let word =
                if cfg!(target_endian = "little") { &word[..size] } else { &word[8 - size..] };
            let end = (place + size).min(bytes.len());
            bytes.splice(place..end, word.iter().copied());
        }
        7 | 8 => change_number(bytes, place, random),
        9 => {
            if let Some(other) = pick(seeds, random) {
                let from = random.below(other.len() as u64 + 1) as usize;
                let until = from + length(11, random).min(other.len() - from);
                let part = &other[from..until];
                bytes.splice(place..end, part.iter().copied());
            }
        }
        _ if random.below(8) == 0 => bytes.truncate(place),
        _ => {}
    }
}

/// Replaces the next decimal number.
fn change_number(bytes: &mut Vec<u8>, from: usize, random: &mut SplitMix64) {
    let Some(begin) = bytes[from..].iter().position(u8::is_ascii_digit) else { return };
    let begin = from + begin;
    let digits = bytes[begin..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let written = WRITTEN[random.below(WRITTEN.len() as u64) as usize];
    bytes.splice(begin..begin + digits, written.bytes());
}

/// Replaces a random value in a document.
fn change_value(document: &mut Value, random: &mut SplitMix64) {
    let mut place = document;
    loop {
        // Most values are deep, so the descent rarely stops early.
        let children = match place {
            Value::Array(items) => items.len(),
            Value::Object(items) => items.len(),
            _ => 0,
        };
        if children == 0 || random.below(8) == 0 {
            break;
        }
        let chosen = random.below(children as u64) as usize;
        let child = match place {
            Value::Array(items) => items.get_mut(chosen),
            Value::Object(items) => items.values_mut().nth(chosen),
            _ => None,
        };
        let Some(child) = child else { return };
        place = child;
    }
    change_leaf(place, random);
}

fn change_leaf(place: &mut Value, random: &mut SplitMix64) {
    let written = WRITTEN[random.below(WRITTEN.len() as u64) as usize];
    let number = || serde_json::from_str(written).unwrap_or(Value::Null);
    match (random.below(12), &mut *place) {
        (0, _) => *place = Value::Null,
        (1, _) => *place = Value::Bool(random.below(2) == 0),
        (2, _) => *place = Value::Array(Vec::new()),
        (3, _) => *place = Value::Object(serde_json::Map::new()),
        (4, Value::Array(items)) => items.clear(),
        (5, Value::Array(items)) => {
            if let Some(item) = pick(items, random).cloned() {
                items.push(item);
            }
        }
        (6, Value::Array(items)) => items.truncate(1),
        (7, Value::Object(items)) => {
            let key = items.keys().nth(random.below(items.len() as u64) as usize).cloned();
            key.map(|key| items.remove(&key));
        }
        (_, Value::String(text)) => {
            let mut bytes = std::mem::take(text).into_bytes();
            change_bytes(&mut bytes, &[], random);
            *text = String::from_utf8_lossy(&bytes).into_owned();
        }
        _ => *place = number(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_differ_and_a_seed_repeats_them() {
        let seeds =
            [b"{\"rounds\": 12, \"cells\": [1, 2]}".to_vec(), b"ID: 7\n".to_vec(), Vec::new()];
        let inputs = |seed| {
            let mut random = SplitMix64::new(seed);
            (0..200).map(|_| mutated(&seeds, &mut random)).collect::<Vec<_>>()
        };
        assert_eq!(inputs(1), inputs(1));
        let mut distinct = inputs(1);
        distinct.sort();
        distinct.dedup();
        assert!(distinct.len() > 100, "{}", distinct.len());
    }
}
