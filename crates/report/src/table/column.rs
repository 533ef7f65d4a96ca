//! The content of a table, independent of its layout in a terminal or on a page.

use std::borrow::Cow;

use tactus_model::time::Nanos;

use crate::format;
use crate::summary::CellResult;

/// Alignment of a text in its column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// A column: its head, its entries, and its priority on a narrow terminal.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) head: String,
    /// The heading above it and its neighbours of the same group; empty for none.
    pub(crate) group: &'static str,
    /// The meaning of the head, shown as a tooltip; empty if the head is enough.
    pub(crate) meaning: Cow<'static, str>,
    pub(crate) align: Align,
    /// Columns of a higher number are omitted first; 0 is never omitted.
    pub(crate) dispensable: u8,
    pub(crate) entries: Vec<Entry>,
}

/// The name of a column outside its table: its head with the heading of its group.
pub(crate) fn name_in_group(head: &str, group: &str) -> String {
    format!("{head} {group}").trim_end().to_owned()
}

/// An entry of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) text: String,
    /// The sort key; `None` for texts, which sort alphabetically.
    pub(crate) order: Option<u64>,
    /// The value without rounding, for programs.
    pub(crate) exact: Exact,
}

/// The value of an entry for programs that read the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Exact {
    /// The text of the entry.
    #[default]
    Text,
    /// A number.
    Count(u64),
    /// A duration; `None` if it is unknown.
    Length(Option<Nanos>),
    /// The ends of an interval of durations.
    Interval(Nanos, Nanos),
}

impl Entry {
    /// An empty entry.
    pub(crate) fn empty() -> Self {
        Self::default()
    }

    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// A text, or an empty entry.
    pub(crate) fn optional(text: Option<String>) -> Self {
        text.map_or_else(Self::empty, Self::text)
    }

    pub(crate) fn number(text: String, order: u64) -> Self {
        Self { text, order: Some(order), exact: Exact::Text }
    }

    pub(crate) fn count(count: u64) -> Self {
        Self::counted(format::count(count), count)
    }

    /// A text that contains a count.
    pub(crate) fn counted(text: String, count: u64) -> Self {
        Self { exact: Exact::Count(count), ..Self::number(text, count) }
    }

    /// A text that contains an interval.
    pub(crate) fn interval(text: String, low: Nanos, high: Nanos) -> Self {
        Self { exact: Exact::Interval(low, high), ..Self::text(text) }
    }

    /// A latency of a cell in the precision it was measured with, or a dash.
    pub(crate) fn latency_of(result: &CellResult<'_>, length: Option<Nanos>) -> Self {
        let order = length.map_or(0, Nanos::as_nanos);
        Self { exact: Exact::Length(length), ..Self::number(result.latency_text(length), order) }
    }

    /// A latency, or a dash if there is none.
    pub(crate) fn latency(length: Option<Nanos>) -> Self {
        let order = length.map_or(0, Nanos::as_nanos);
        let text = format::latency_or_nothing(length);
        Self { exact: Exact::Length(length), ..Self::number(text, order) }
    }
}

impl Column {
    /// A column of names, aligned left.
    pub(crate) fn names<T>(head: &str, rows: &[T], entry: impl Fn(&T) -> Entry) -> Self {
        Self { align: Align::Left, ..Self::of(head, rows, entry) }
    }

    /// A column of figures, aligned right.
    pub(crate) fn of<T>(head: &str, rows: &[T], entry: impl Fn(&T) -> Entry) -> Self {
        Self {
            head: head.to_owned(),
            group: "",
            meaning: Cow::Borrowed(""),
            align: Align::Right,
            dispensable: 0,
            entries: rows.iter().map(entry).collect(),
        }
    }

    /// Keeps the entries of some rows.
    pub(crate) fn only(mut self, is_kept: &[bool]) -> Self {
        let mut rows = is_kept.iter();
        self.entries.retain(|_| rows.next().is_none_or(|kept| *kept));
        self
    }

    /// Sets the heading that it shares with its neighbours.
    pub(crate) fn grouped(self, group: &'static str) -> Self {
        Self { group, ..self }
    }

    /// Sets the meaning of the head.
    pub(crate) fn meaning(self, meaning: impl Into<Cow<'static, str>>) -> Self {
        Self { meaning: meaning.into(), ..self }
    }

    /// Lets a narrow terminal omit the column; columns of a higher `rank` go first.
    ///
    /// A dispensable column without a non-empty entry is never shown.
    pub(crate) fn dispensable(self, rank: u8) -> Self {
        Self { dispensable: rank, ..self }
    }

    /// Whether its entries name the rows, if no column before it does.
    pub(crate) fn is_of_names(&self) -> bool {
        self.align == Align::Left
    }

    /// Whether the column is shown.
    pub(crate) fn is_shown(&self) -> bool {
        self.dispensable == 0 || self.entries.iter().any(|entry| !entry.text.is_empty())
    }
}
