//! What a device is: `NAME=SPEC`, as who starts the server writes it.

use std::fmt;
use std::str::FromStr;

use tactus_model::text::nearest;
use tactus_stream::message::{NAME_BYTES_MOST, is_name};

use crate::error::OpenError;
use crate::measure::Measure;
use crate::sink::Sink;

/// A device with the name by which clients open it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedDevice {
    /// Its name.
    pub name: String,
    /// What it is.
    pub spec: DeviceSpec,
}

/// What a device is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceSpec {
    /// The measuring device.
    Measure,
}

impl DeviceSpec {
    /// The forms of the text, each with its meaning.
    pub const FORMS: [(&str, &str); 1] =
        [("measure", "Takes any bytes, and shows the error against due times.")];

    /// Opens the device.
    ///
    /// # Errors
    /// It does not exist, or cannot be used.
    pub fn open(&self, _name: &str) -> Result<Box<dyn Sink>, OpenError> {
        Ok(match self {
            Self::Measure => Box::new(Measure),
        })
    }
}

/// Why a text is not a device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadDevice {
    /// It has no name.
    #[error("`{0}` is not NAME=SPEC, e.g. null=measure")]
    NoName(String),
    /// The name is not one.
    #[error("`{0}` is not the name of a device: 1 to {NAME_BYTES_MOST} bytes without white space")]
    Name(String),
    /// There are no such devices.
    #[error("there are no devices `{kind}`{}; possible: {}", hint(kind), forms())]
    Kind {
        /// What was given.
        kind: String,
    },
    /// Its details are wrong.
    #[error("`{spec}`: {reason}")]
    Details {
        /// What was given.
        spec: String,
        /// What is wrong with it.
        reason: String,
    },
}

fn kinds() -> impl Iterator<Item = &'static str> {
    DeviceSpec::FORMS.iter().map(|(form, _)| form.split([':', '[']).next().unwrap_or(form))
}

fn hint(kind: &str) -> String {
    let kinds: Vec<&str> = kinds().collect();
    nearest(kind, &kinds).map(|kind| format!(" (did you mean `{kind}`?)")).unwrap_or_default()
}

fn forms() -> String {
    DeviceSpec::FORMS.map(|(form, _)| form).join(", ")
}

impl FromStr for DeviceSpec {
    type Err = BadDevice;

    fn from_str(text: &str) -> Result<Self, BadDevice> {
        let (kind, details) = match text.split_once(':') {
            Some((kind, details)) => (kind, Some(details)),
            None => (text, None),
        };
        let wrong =
            |reason: &str| BadDevice::Details { spec: text.to_owned(), reason: reason.to_owned() };
        match (kind, details) {
            ("measure", None) => Ok(Self::Measure),
            ("measure", Some(_)) => Err(wrong("nothing follows `measure`")),
            _ => Err(BadDevice::Kind { kind: kind.to_owned() }),
        }
    }
}

impl fmt::Display for DeviceSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Measure => f.write_str("measure"),
        }
    }
}

impl FromStr for NamedDevice {
    type Err = BadDevice;

    fn from_str(text: &str) -> Result<Self, BadDevice> {
        let (name, spec) = text.split_once('=').ok_or(BadDevice::NoName(text.to_owned()))?;
        if !is_name(name) {
            return Err(BadDevice::Name(name.to_owned()));
        }
        Ok(Self { name: name.to_owned(), spec: spec.parse()? })
    }
}

impl fmt::Display for NamedDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.spec)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_has_a_text_and_bad_ones_are_explained() {
        for text in ["null=measure", "piano-1=measure"] {
            let device: NamedDevice = text.parse().unwrap();
            assert_eq!(device.to_string(), text);
        }
        let refused = |text: &str| text.parse::<NamedDevice>().unwrap_err().to_string();
        for (text, said) in [
            ("measure", "`measure` is not NAME=SPEC, e.g. null=measure"),
            ("a b=measure", "`a b` is not the name of a device: 1 to 64 bytes without white space"),
            ("a=measure:1", "`measure:1`: nothing follows `measure`"),
        ] {
            assert_eq!(refused(text), said);
        }
        assert!(refused("a=mesure").contains("(did you mean `measure`?)"));
    }
}
