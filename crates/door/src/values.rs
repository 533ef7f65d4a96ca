//! Values of messages as the payload that a device takes, and words for lateness.

use tactus_midi::message::data_bytes;
use tactus_model::text::UnknownWord;
use tactus_model::time::{Nanos, NotALength};
use tactus_stream::{Format, IfLate};

/// A value as a door gets it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// A whole number.
    Int(i64),
    /// Another number.
    Float(f64),
    /// A text.
    Text(&'a str),
    /// Bytes.
    Bytes(&'a [u8]),
    /// A status byte and two bytes of data, of which a message may need fewer.
    Midi([u8; 3]),
}

/// The most bytes of the payload of an item.
pub const PAYLOAD_BYTES: u32 = 1024;

/// Why values are not a payload.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadValue {
    /// One of them.
    #[error("value {place}: {what}")]
    Value {
        /// The place of the value, from 1.
        place: usize,
        /// What is wrong with it.
        what: String,
    },
    /// They are too many.
    #[error("the values have {0} bytes, more than {PAYLOAD_BYTES}; fix: several items")]
    Length(usize),
}

/// The payload of these values for a device; whether it is a whole message is checked when it is
/// submitted.
///
/// | device | values |
/// |---|---|
/// | MIDI | the bytes of a message as numbers, a MIDI value, or bytes |
/// | DMX512 | the channels from the first on, as numbers from 0 to 255, or bytes |
/// | bytes | numbers from 0 to 255, texts as UTF-8, and bytes, one after the other |
/// | audio | samples as numbers, channel after channel |
///
/// # Errors
/// A value is not possible for the device, or they are more than [`PAYLOAD_BYTES`].
pub fn payload<'a>(
    format: Format,
    values: impl IntoIterator<Item = Value<'a>>,
) -> Result<Vec<u8>, BadValue> {
    let mut bytes = Vec::new();
    for (index, value) in values.into_iter().enumerate() {
        let wrong = |what: String| BadValue::Value { place: index + 1, what };
        match (format, value) {
            (Format::Audio { .. }, Value::Float(sample)) => put_sample(&mut bytes, sample),
            (Format::Audio { .. }, Value::Int(sample)) => put_sample(&mut bytes, sample as f64),
            (Format::Audio { .. }, _) => return Err(wrong("it is not a number".to_owned())),
            (_, Value::Int(number)) => {
                let byte = u8::try_from(number);
                let byte = byte.map_err(|_| wrong(format!("{number} is not within 0 to 255")))?;
                bytes.push(byte);
            }
            (_, Value::Bytes(more)) => bytes.extend_from_slice(more),
            (Format::Midi, Value::Midi(message)) => {
                let length = 1 + data_bytes(message[0]).unwrap_or(2);
                bytes.extend_from_slice(&message[..length]);
            }
            (Format::Bytes { .. }, Value::Text(text)) => bytes.extend_from_slice(text.as_bytes()),
            (_, Value::Float(number)) => {
                return Err(wrong(format!("{number} is not a whole number")));
            }
            (_, Value::Text(_)) => return Err(wrong("a text is not possible here".to_owned())),
            (_, Value::Midi(_)) => return Err(wrong("the device takes no MIDI".to_owned())),
        }
    }
    match bytes.len() <= PAYLOAD_BYTES as usize {
        true => Ok(bytes),
        false => Err(BadValue::Length(bytes.len())),
    }
}

fn put_sample(bytes: &mut Vec<u8>, sample: f64) {
    bytes.extend((sample as f32).to_ne_bytes());
}

/// The words for lateness.
const IF_LATE: [&str; 3] = ["deliver", "drop", "stop"];

/// Why a text is no policy for late items.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadIfLate {
    /// The word.
    #[error(transparent)]
    Word(#[from] UnknownWord),
    /// The tolerance.
    #[error("tolerance of `{word}`: {error}")]
    Tolerance {
        /// The word.
        word: String,
        /// What is wrong.
        error: NotALength,
    },
    /// A tolerance where none is possible.
    #[error("`deliver` has no tolerance; fix: `drop:{0}` or `stop:{0}`")]
    NoTolerance(String),
}

/// The tolerance of `drop` and `stop` without one. Every device takes an item a little later than
/// it is due, so with a tolerance of zero none would be delivered.
const TOLERANCE: Nanos = Nanos::from_millis(5);

/// Parses what happens to a late item: `deliver`, `drop` or `stop`, the latter two with a tolerance
/// such as `drop:10ms`, or with one of 5 ms.
///
/// # Errors
/// The word is unknown, or the tolerance is no duration.
pub fn if_late(text: &str) -> Result<IfLate, BadIfLate> {
    let (word, tolerance) =
        text.split_once(':').map_or((text, None), |(word, tolerance)| (word, Some(tolerance)));
    let length = || {
        tolerance
            .map_or(Ok(TOLERANCE), str::parse)
            .map_err(|error| BadIfLate::Tolerance { word: word.to_owned(), error })
    };
    match word {
        "deliver" => match tolerance {
            None => Ok(IfLate::Deliver),
            Some(tolerance) => Err(BadIfLate::NoTolerance(tolerance.to_owned())),
        },
        "drop" => Ok(IfLate::Drop(length()?)),
        "stop" => Ok(IfLate::Stop(length()?)),
        other => Err(UnknownWord::new("policy for late items", other, &IF_LATE).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload_of(format: Format, values: &[Value<'_>]) -> Result<Vec<u8>, String> {
        payload(format, values.iter().copied()).map_err(|error| error.to_string())
    }

    #[test]
    fn values_become_what_the_device_takes() {
        let numbers = [Value::Int(0x90), Value::Int(60), Value::Int(100)];
        for (format, values, wanted) in [
            (Format::Midi, numbers.as_slice(), vec![0x90, 60, 100]),
            (Format::Midi, &[Value::Midi([0xC0, 5, 9])], vec![0xC0, 5]),
            (Format::Midi, &[Value::Bytes(&[0xF0, 1, 0xF7])], vec![0xF0, 1, 0xF7]),
            (Format::Dmx, &[Value::Int(255), Value::Int(0)], vec![255, 0]),
            (
                Format::Bytes { most: 9 },
                &[Value::Text("a"), Value::Int(1), Value::Bytes(b"b")],
                b"a\x01b".to_vec(),
            ),
            (
                Format::Audio { channels: 1 },
                &[Value::Float(0.5), Value::Int(1)],
                [0.5_f32, 1.0].iter().flat_map(|sample| sample.to_ne_bytes()).collect(),
            ),
        ] {
            assert_eq!(payload_of(format, values), Ok(wanted));
        }
    }

    #[test]
    fn impossible_values_are_named() {
        for (format, values, wanted) in [
            (Format::Midi, [Value::Int(1), Value::Int(256)], "value 2: 256 is not within 0 to 255"),
            (
                Format::Midi,
                [Value::Int(1), Value::Float(0.5)],
                "value 2: 0.5 is not a whole number",
            ),
            (
                Format::Midi,
                [Value::Text("a"), Value::Int(1)],
                "value 1: a text is not possible here",
            ),
            (
                Format::Dmx,
                [Value::Midi([0x90, 1, 1]), Value::Int(1)],
                "value 1: the device takes no MIDI",
            ),
            (
                Format::Audio { channels: 1 },
                [Value::Float(0.0), Value::Text("a")],
                "value 2: it is not a number",
            ),
        ] {
            assert_eq!(payload_of(format, &values), Err(wanted.to_owned()));
        }
    }

    #[test]
    fn policies_are_words() {
        assert_eq!(if_late("deliver"), Ok(IfLate::Deliver));
        assert_eq!(if_late("drop"), Ok(IfLate::Drop(Nanos::from_millis(5))));
        assert_eq!(if_late("stop"), if_late("stop:5ms"));
        assert_eq!(if_late("drop:0ms"), Ok(IfLate::Drop(Nanos::ZERO)));
        assert_eq!(if_late("stop:5ms"), Ok(IfLate::Stop(Nanos::from_millis(5))));
        let said = |text| if_late(text).unwrap_err().to_string();
        assert_eq!(
            said("dropp:1ms"),
            "unknown policy for late items `dropp` (did you mean `drop`?); it is one of: deliver, drop, stop"
        );
        assert!(said("drop:5").starts_with("tolerance of `drop`: "));
        assert_eq!(
            said("deliver:5ms"),
            "`deliver` has no tolerance; fix: `drop:5ms` or `stop:5ms`"
        );
    }
}
