//! Values of a TOML document, with the line of each for errors.

use std::fmt::Display;
use std::str::FromStr;

use toml::de::DeValue;

/// A place in a document, and what is wrong there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct WrongAt {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong with it.
    pub reason: String,
}

/// A position in a document.
#[derive(Clone, Copy, Debug)]
pub struct Place<'t> {
    text: &'t str,
    offset: usize,
}

impl<'t> Place<'t> {
    /// The place of `offset` in a text.
    pub const fn new(text: &'t str, offset: usize) -> Self {
        Self { text, offset }
    }

    /// Another place in the same text.
    #[must_use]
    pub const fn at(self, offset: usize) -> Self {
        Self { offset, ..self }
    }

    /// The error for what is wrong at this place.
    pub fn error(&self, reason: impl Into<String>) -> WrongAt {
        let line = self.text[..self.offset].matches('\n').count() + 1;
        WrongAt { line, reason: reason.into() }
    }

    /// A string.
    ///
    /// # Errors
    /// The value has another type.
    pub fn string(&self, value: &DeValue<'_>) -> Result<String, WrongAt> {
        match value {
            DeValue::String(text) => Ok(text.to_string()),
            _ => Err(self.error("this value must be a string in double quotes")),
        }
    }

    /// A number that is not negative.
    ///
    /// # Errors
    /// The value has another type or does not fit.
    pub fn number<T: FromStr>(&self, value: &DeValue<'_>) -> Result<T, WrongAt> {
        scalar(value)
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| self.error("this value must be a non-negative integer"))
    }

    /// A value with a text form of its own.
    ///
    /// # Errors
    /// The value is not a string, or its text is wrong.
    pub fn written<T: FromStr<Err: Display>>(&self, value: &DeValue<'_>) -> Result<T, WrongAt> {
        self.string(value)?.parse().map_err(|error: T::Err| self.error(error.to_string()))
    }
}

/// The text of a string, number or boolean.
pub fn scalar(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        // TOML writes integers in several bases; settings use decimal.
        DeValue::Integer(number) => {
            i128::from_str_radix(number.as_str(), number.radix()).ok().map(|n| n.to_string())
        }
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        DeValue::Boolean(flag) => Some(flag.to_string()),
        _ => None,
    }
}
