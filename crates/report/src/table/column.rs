//! The content of a table, apart from how a terminal or a page sets it.

use tactus_model::time::Nanos;

use crate::format;
use crate::summary::CellResult;

/// Which side of its column a text keeps to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// A column: its head, its entries, and how readily a narrow terminal gives it up.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) head: String,
    /// What the head means, in a sentence; empty where the word says it.
    pub(crate) meaning: &'static str,
    pub(crate) align: Align,
    /// Columns of a higher number are left out first; 0 is never left out.
    pub(crate) dispensable: u8,
    pub(crate) entries: Vec<Entry>,
}

/// An entry of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) text: String,
    /// What rows are ordered by; `None` for texts, which are ordered as they stand.
    pub(crate) order: Option<u64>,
}

impl Entry {
    /// Nothing to say.
    pub(crate) fn empty() -> Self {
        Self::default()
    }

    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), order: None }
    }

    /// A text, or nothing.
    pub(crate) fn optional(text: Option<String>) -> Self {
        text.map_or_else(Self::empty, Self::text)
    }

    pub(crate) fn number(text: String, order: u64) -> Self {
        Self { text, order: Some(order) }
    }

    pub(crate) fn count(count: u64) -> Self {
        Self::number(format::count(count), count)
    }

    /// A length of a cell as exactly as the cell tells it, or a dash.
    pub(crate) fn told(result: &CellResult<'_>, length: Option<Nanos>) -> Self {
        Self::number(result.told(length), length.map_or(0, Nanos::as_nanos))
    }

    /// A length, or a dash where the samples do not tell one.
    pub(crate) fn latency(length: Option<Nanos>) -> Self {
        let order = length.map_or(0, Nanos::as_nanos);
        Self::number(format::latency_or_nothing(length), order)
    }
}

impl Column {
    /// A column of names, set to the left.
    pub(crate) fn names<T>(head: &str, rows: &[T], entry: impl Fn(&T) -> Entry) -> Self {
        Self { align: Align::Left, ..Self::of(head, rows, entry) }
    }

    /// A column of figures, set to the right.
    pub(crate) fn of<T>(head: &str, rows: &[T], entry: impl Fn(&T) -> Entry) -> Self {
        Self {
            head: head.to_owned(),
            meaning: "",
            align: Align::Right,
            dispensable: 0,
            entries: rows.iter().map(entry).collect(),
        }
    }

    /// Says what the head means.
    pub(crate) fn meaning(self, meaning: &'static str) -> Self {
        Self { meaning, ..self }
    }

    /// Lets a narrow terminal leave the column out; those of a higher `rank` go first.
    ///
    /// A dispensable column in which no row says anything is not shown at all.
    pub(crate) fn dispensable(self, rank: u8) -> Self {
        Self { dispensable: rank, ..self }
    }

    /// Whether the column is worth its place.
    pub(crate) fn is_shown(&self) -> bool {
        self.dispensable == 0 || self.entries.iter().any(|entry| !entry.text.is_empty())
    }
}
