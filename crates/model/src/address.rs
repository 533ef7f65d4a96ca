//! The names of runs and cells, as a person writes them.
//!
//! A person counts cells from 1. In code, plans and exported runs, a cell is an index from 0.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use crate::run::Run;
use crate::text::nearest;

/// A run, or one cell of it: `RUN` or `RUN#CELL`.
///
/// The name of a run contains no `#`, but that of a file may.
///
/// ```
/// use tactus_model::address::Address;
///
/// let address: Address = "last#2".parse().unwrap();
/// assert_eq!((address.run(), address.cell()), ("last", Some("2")));
/// let address: Address = "last".parse().unwrap();
/// assert_eq!((address.run(), address.cell()), ("last", None));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address(String);

/// The error for a cell where a whole run is needed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{address}` is one cell; this needs a whole run: write `{run}`", run = address.run())]
pub struct NotAWholeRun {
    /// The address of the cell.
    pub address: Address,
}

impl Address {
    /// The last run.
    pub fn last() -> Self {
        Self("last".to_owned())
    }

    /// The whole text, which may be the path of a file.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The run.
    pub fn run(&self) -> &str {
        self.0.split_once('#').map_or(&self.0, |(run, _)| run)
    }

    /// The cell, if there is one: its label, a part of its label, or its number from 1.
    pub fn cell(&self) -> Option<&str> {
        self.0.split_once('#').map(|(_, cell)| cell)
    }

    /// The same run with the cell that an option names.
    ///
    /// # Errors
    /// The address contains a cell already.
    pub fn with_cell(&self, cell: &str) -> Result<Self, NotAWholeRun> {
        self.whole_run().map(|run| Self(format!("{run}#{cell}")))
    }

    /// The run, of which no cell is chosen.
    ///
    /// # Errors
    /// It is the address of a cell.
    pub fn whole_run(&self) -> Result<&str, NotAWholeRun> {
        match self.cell() {
            None => Ok(&self.0),
            Some(_) => Err(NotAWholeRun { address: self.clone() }),
        }
    }
}

impl FromStr for Address {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// The error for a text that does not name exactly one cell of a run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} of {run}{hint}; its cells are: {known}")]
pub struct UnknownCell {
    /// What is wrong with the text.
    what: String,
    /// The run.
    pub run: String,
    /// The cells of the run, each with its number.
    pub known: String,
    /// " (did you mean …?)", or empty if no label is near.
    hint: String,
}

/// Finds the cell that `text` names: by its label, by its number from 1, or by a part
/// of its label that no other label contains. Returns its index.
///
/// # Errors
/// No cell or several cells fit.
pub fn find_cell(run: &Run, text: &str) -> Result<usize, UnknownCell> {
    let labels = run.header.plan.labels();
    let number = text.parse::<usize>().ok();
    let by_part = || {
        let mut holding = labels.iter().enumerate().filter(|(_, label)| label.contains(text));
        let first = holding.next().filter(|_| !text.is_empty())?;
        holding.next().is_none().then_some(first.0)
    };
    let by_label = labels.iter().position(|label| label == text);
    let found = by_label.or_else(|| match number {
        Some(number) => number.checked_sub(1).filter(|index| *index < labels.len()),
        None => by_part(),
    });
    found.ok_or_else(|| {
        let names: Vec<&str> = labels.iter().map(String::as_str).collect();
        let near = nearest(text, &names).map(|label| format!(" (did you mean `{label}`?)"));
        let known = labels.iter().zip(1..).map(|(label, number)| format!("{number} ({label})"));
        let what = match number {
            _ if text.is_empty() => "the address ends with `#` and names no cell".to_owned(),
            Some(number) => format!("there is no cell {number}"),
            None => format!("`{text}` does not name exactly one cell"),
        };
        UnknownCell {
            what,
            run: run.header.id.to_string(),
            known: known.collect::<Vec<_>>().join(", "),
            hint: near.unwrap_or_default(),
        }
    })
}

/// Serializes the index of a cell as its number from 1, by which a person names it.
///
/// # Errors
/// Those of the serializer.
pub fn counted_from_one<S: Serializer>(index: &usize, serializer: S) -> Result<S::Ok, S::Error> {
    (index + 1).serialize(serializer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_what_follows_the_first_number_sign() {
        let address = |text: &str| text.parse::<Address>().unwrap();
        assert_eq!(address("last#cmd:\"a#b\"").cell(), Some("cmd:\"a#b\""));
        assert_eq!(address("last#").cell(), Some(""));
        assert_eq!(address("last").whole_run(), Ok("last"));
        let error = address("last#2").whole_run().unwrap_err().to_string();
        assert_eq!(error, "`last#2` is one cell; this needs a whole run: write `last`");
    }
}
