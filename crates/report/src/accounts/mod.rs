//! Where CPU time went, for people: quanta, why they ended, and billing.
//!
//! `tactus_explain::account` draws the conclusions, as [`Accounts`]; this module only puts them
//! into words and tables.

mod content;
pub(crate) mod section;
mod text;
mod words;

use tactus_explain::account::{Account, Accounts};

pub use text::accounts_text;

/// The accounts of a recording, with its name.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedAccounts {
    /// The name of the file, or the cell's name within its run.
    pub label: String,
    /// Where its CPU time went.
    pub accounts: Accounts,
}

/// The grouping of the rows of accounts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AccountsBy {
    /// By program: processes of one name together.
    #[default]
    Program,
    /// By thread.
    Thread,
}

impl AccountsBy {
    /// The rows, the greatest user first.
    pub(crate) fn rows(self, accounts: &Accounts) -> &[Account] {
        match self {
            Self::Program => &accounts.programs,
            Self::Thread => &accounts.threads,
        }
    }

    /// The head of the column of names.
    pub(crate) fn head(self) -> &'static str {
        match self {
            Self::Program => "program",
            Self::Thread => "thread",
        }
    }

    pub(crate) fn name(self, account: &Account) -> String {
        match (self, account.thread) {
            (Self::Thread, Some(thread)) => format!("{} ({thread})", account.name),
            _ => account.name.clone(),
        }
    }
}
